//! The output of `redial watch`: a table redrawn in place on a terminal, otherwise lines with changes, or JSON.

use super::super::arguments;
use super::super::copy_locations::LocationColumns;
use super::super::number_cells::{AT_LEAST, EXPLAINED, leaves_out, rate};
use super::super::row_order::{ByRate, OffTotals, on_first};
use super::super::status::wording;
use super::super::times::{self, StoppedCopies, TimeColumns};
use super::notes::Notes;
use crate::output::json::{CostBudgetJson, DialsJson, WatchJson};
use crate::output::page::{self, Paint};
use crate::output::table::{Table, name, number, text};
use crate::output::{Out, json_line, terminal};
use redial_link::exit::Failure;
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::cost::BudgetStep;
use redial_protocol::ids::RowId;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::budget;
use redial_text::width::{cut_middle, width};
use redial_text::words;
use redial_text::words::printable;
use std::collections::HashMap;
use std::time::Instant;

/// The output of one watch.
pub struct Screen {
    out: Out,
    view: View,
    drawn: DrawnLines,
}

impl Screen {
    /// Makes the output that the arguments request.
    pub fn new(pid: u32, arguments: &arguments::WatchArguments) -> Screen {
        let mut view = View::new(pid, format!("process {pid}"), arguments);
        view.plain.headed = false;
        Screen { out: Out::new(), view, drawn: DrawnLines(0) }
    }

    /// Shows the numbers of one counter snapshot.
    pub fn show(&mut self, dials: &DialledCopies) -> Result<(), Failure> {
        let size = terminal().filter(|_| !self.view.json);
        let lines = self.view.lines(dials, size)?;
        match size {
            Some(_) => self.drawn.over(&mut self.out, &lines),
            None => lines.iter().try_for_each(|line| self.out.line(line)),
        }?;
        self.out.flush()
    }
}

/// The height of a low terminal, in lines.
const LEAST: usize = 6;

/// The number of lines on the terminal to overwrite.
pub struct DrawnLines(pub usize);

impl DrawnLines {
    /// Replaces the lines drawn last.
    pub fn over(&mut self, out: &mut Out, lines: &[String]) -> Result<(), Failure> {
        // Move up to the first old line and clear from there (ECMA-48 CUU, ED).
        if self.0 > 0 {
            out.text(&format!("\x1b[{}A\x1b[J", self.0))?;
        }
        self.0 = lines.len();
        lines.iter().try_for_each(|line| out.line(line))
    }
}

/// The view of one process.
pub struct View {
    pid: u32,
    title: String,
    json: bool,
    began: Instant,
    order: ByRate,
    /// The number of rows that the user asked for.
    limit: Option<usize>,
    paint: Paint,
    plain: PlainLines,
    /// The change number of the budget's last reported step.
    stepped: Option<u64>,
}

impl View {
    /// Makes the view of a process with this title. For lines without a table, the caller writes [`heading`].
    pub fn new(pid: u32, title: String, arguments: &arguments::WatchArguments) -> View {
        let limited = arguments.pattern.is_some();
        let plain = PlainLines { limited, all: arguments.all, headed: true, ..PlainLines::default() };
        View {
            pid,
            title,
            json: arguments.json,
            began: Instant::now(),
            order: ByRate::default(),
            limit: arguments.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            paint: Paint::of_stdout(),
            plain,
            stepped: None,
        }
    }

    /// Returns the lines for a counter snapshot: a table for a terminal of `size` (columns, lines), otherwise the
    /// changes or one line of JSON.
    pub fn lines(
        &mut self,
        dials: &DialledCopies,
        size: Option<(usize, usize)>,
    ) -> Result<Vec<String>, Failure> {
        let t_ms = self.began.elapsed().as_millis() as u64;
        if self.json {
            let rows = match self.limit {
                Some(limit) => {
                    let mut rows = self.order.order(dials);
                    rows.truncate(limit);
                    DialsJson::of(self.pid, rows)
                }
                None => DialsJson::new(self.pid, dials),
            };
            let (dropped, cost_percent) = (dials.dropped(), dials.cost_percent());
            let cost_budget = dials.budget().map(CostBudgetJson::from);
            let line = WatchJson { pid: self.pid, t_ms, dials: rows, dropped, cost_percent, cost_budget };
            return Ok(vec![json_line(&line)?]);
        }
        let ordered = self.order.order(dials);
        Ok(match size {
            Some((columns, rows)) => {
                let (shown, over) = on_first(ordered, self.plain.all);
                let mut head = vec![self.head(dials, &shown, over, columns)];
                // Only if the table does not need the line.
                head.extend(stepped(dials).filter(|_| rows > 2 * LEAST));
                let mut lines = table(&head, &shown, dials, (columns, rows), self.limit);
                if let Some(headings) = lines.get_mut(head.len()) {
                    *headings = self.paint.heading(std::mem::take(headings));
                }
                lines
            }
            None => {
                let mut ordered = ordered;
                ordered.truncate(self.limit.unwrap_or(usize::MAX));
                let mut lines = self.plain.lines(t_ms, &ordered, dials);
                let last = step(dials).map(|last| last.change);
                if last.is_some() && std::mem::replace(&mut self.stepped, last) != last {
                    let time = time(t_ms);
                    lines.extend(stepped(dials).map(|text| format!("{time:>11}  {text}")));
                }
                lines
            }
        })
    }
}

/// Returns the last step of the budget, while it applies.
fn step(dials: &DialledCopies) -> Option<&BudgetStep> {
    let last = dials.budget()?.last.as_ref()?;
    let wanted = dials.get(last.costliest.0).map(|dial| dial.row.wanted);
    budget::still_applies(last, wanted).then_some(last)
}

/// Returns the sentence about that step.
fn stepped(dials: &DialledCopies) -> Option<String> {
    let last = step(dials)?;
    let name = dials.get(last.costliest.0).map(wording::name);
    Some(format!("{}; `redial undo` undoes that", budget::stepped(last, name.as_deref())))
}

impl View {
    /// Returns the first line, without the hint if it is too long.
    fn head(&self, dials: &DialledCopies, shown: &[&DialledCopy], over: OffTotals, columns: usize) -> String {
        let head = |hint| self.head_with(hint, dials, shown, over);
        let whole = head(true);
        if width(&whole) <= columns { whole } else { head(false) }
    }

    fn head_with(
        &self,
        hint: bool,
        dials: &DialledCopies,
        shown: &[&DialledCopy],
        over: OffTotals,
    ) -> String {
        let mut head = format!("{}: {}", self.title, words::count(shown.len() as u64, "dial", "dials"));
        if over.methods > 0 {
            head.push_str(&format!(", {} off again", words::grouped(over.methods)));
            if hint {
                head.push_str(&format!(" (--all lists {})", words::them(over.methods)));
            }
        }
        if let Some(percent) = dials.cost_percent().filter(|percent| *percent > 0.0) {
            head.push_str(&format!(", cost {} of a processor", words::about_percent(percent)));
            if let Some(limit) = dials.budget().and_then(|budget| budget.limit) {
                head.push_str(&format!(" of {limit}"));
            }
        }
        if dials.late() {
            head.push_str(", numbers are late");
        }
        head
    }
}

/// Returns the head and the table, never larger than the terminal.
fn table(
    head: &[String],
    ordered: &[&DialledCopy],
    dials: &DialledCopies,
    (columns, rows): (usize, usize),
    limit: Option<usize>,
) -> Vec<String> {
    let (places, stopped) = (LocationColumns::of(dials), &StoppedCopies::of(dials));
    let times = TimeColumns::of(ordered.iter().copied(), stopped);
    let mut remarks = times::remarks(ordered.iter().copied(), stopped);
    remarks.extend(marked(ordered));
    let notes = Notes::new(&remarks, times.are_there(), (columns, rows));
    let most = rows.saturating_sub(3 + head.len() + notes.lines()).max(1).min(limit.unwrap_or(usize::MAX));
    let mut headings = vec![number("CALLS"), number("PER SECOND").or("PER S"), text("STATE")];
    headings.extend(times.headings());
    headings.extend(places.headings());
    headings.push(name("METHOD"));
    let mut table = Table::new(&headings);
    for dial in ordered.iter().take(most) {
        let mut cells = vec![calls(dial), rate_of(dial), wording::state(dial)];
        cells.extend(times.cells(dial));
        cells.extend(places.cells(dial));
        cells.push(wording::name(dial));
        table.row(cells);
    }
    let mut lines = head.to_vec();
    lines.extend(table.lines(Some(columns)));
    lines.extend(page::left_out(ordered.len().saturating_sub(most)));
    lines.extend(notes.beneath(&table.left_out(Some(columns))));
    lines.iter().map(|line| cut_middle(line, columns)).collect()
}

/// Returns the explanation of the [`AT_LEAST`] sign if a number has it.
fn marked(dials: &[&DialledCopy]) -> Option<&'static str> {
    dials.iter().any(|dial| leaves_out(dial)).then_some(EXPLAINED)
}

/// Lines for a file or another program: headings, every dial once, then the changes.
#[derive(Default)]
struct PlainLines {
    /// Whether a pattern limits the methods.
    limited: bool,
    /// Whether methods that are off again are listed, too.
    all: bool,
    /// Whether the headings are written.
    headed: bool,
    began: bool,
    explained: Vec<&'static str>,
    printed: HashMap<RowId, PrintedDial>,
}

/// The state of a dial that was printed last.
#[derive(PartialEq)]
struct PrintedDial {
    calls: u64,
    called: bool,
    state: CopyState,
    version: Option<u32>,
    leaves_out: bool,
    times: Option<Times>,
    times_are_last: bool,
}

impl PrintedDial {
    fn of(dial: &DialledCopy, stopped: &StoppedCopies) -> PrintedDial {
        PrintedDial {
            calls: dial.row.calls,
            called: dial.rate.is_some_and(|rate| rate > 0.0),
            state: dial.row.state,
            version: dial.row.version,
            leaves_out: leaves_out(dial),
            times: dial.times,
            times_are_last: stopped.some_are_last(dial),
        }
    }
}

impl PlainLines {
    fn lines(&mut self, t_ms: u64, ordered: &[&DialledCopy], dials: &DialledCopies) -> Vec<String> {
        let (places, stopped) = (LocationColumns::of(dials), &StoppedCopies::of(dials));
        let time = time(t_ms);
        let mut lines = Vec::new();
        let begins = !std::mem::replace(&mut self.began, true);
        if !std::mem::replace(&mut self.headed, true) {
            lines.push(heading());
        }
        let (on, over) = on_first(ordered.to_vec(), self.all);
        if begins && on.is_empty() {
            let which = match self.limited {
                true if over.methods == 0 => "no dialled method matches",
                _ => "no method is dialled",
            };
            lines.push(format!("{time:>11}  {which}"));
        }
        if begins && let Some(over) = over.line() {
            lines.push(format!("{time:>11}  {over}"));
        }
        let timed = TimeColumns::of(ordered.iter().copied(), stopped).are_there().then_some(times::TIMED);
        for remark in marked(ordered).into_iter().chain(timed) {
            if !self.explained.contains(&remark) {
                self.explained.push(remark);
                lines.push(remark.to_owned());
            }
        }
        for dial in ordered {
            let now = PrintedDial::of(dial, stopped);
            let before = self.printed.get(&dial.row.row);
            // Report that a listed method goes off, but not methods that were never listed.
            let listed = before.is_some() || self.all || !dial.is_over();
            if listed && before != Some(&now) {
                let name =
                    printable(&(wording::name(dial) + &places.suffix(dial) + &times::suffix(dial, stopped)));
                let state = wording::state(dial);
                lines.push(columns(&time, &calls(dial), &rate_of(dial), &state, &name));
                self.printed.insert(dial.row.row, now);
            }
        }
        lines
    }
}

/// Returns the headings of lines outside a table.
pub fn heading() -> String {
    columns("TIME", "CALLS", "PER SECOND", "STATE", "METHOD")
}

/// Formats the cells of a line outside a table.
pub fn columns(time: &str, calls: &str, rate: &str, state: &str, method: &str) -> String {
    format!("{time:>11}  {calls:>15}  {rate:>12}  {state:<13}  {method}")
}

/// Formats milliseconds since the watch began as seconds.
pub fn time(ms: u64) -> String {
    format!("{:.3} s", ms as f64 / 1000.0)
}

fn calls(dial: &DialledCopy) -> String {
    let calls = words::grouped(dial.row.calls);
    if leaves_out(dial) { format!("{AT_LEAST}{calls}") } else { calls }
}

/// Formats the rate; a method that is off has none.
fn rate_of(dial: &DialledCopy) -> String {
    rate(dial.rate.filter(|_| !dial.is_over()))
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
