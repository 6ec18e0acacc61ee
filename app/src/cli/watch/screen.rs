//! What `redial watch` shows: a table drawn over itself on a terminal, else lines of what changed, or JSON.

use super::super::arguments;
use super::super::order::{ByRate, Over, on_first};
use super::super::places::Places;
use super::super::status;
use super::super::times::{self, TimeColumns};
use super::notes::Notes;
use crate::exit::Failure;
use crate::model::dials::{Dial, Dials};
use crate::output::json::{CostBudgetJson, DialJson, WatchJson};
use crate::output::table::{Table, cut_middle, name, number, printable, text};
use crate::output::{Out, budget, json_line, terminal, words};
use redial_protocol::cost::SteppedDown;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use redial_protocol::times::Times;
use std::collections::HashMap;
use std::time::Instant;

/// Before a number that leaves calls out.
pub const AT_LEAST: char = '≥';
/// What that says.
pub const EXPLAINED: &str = "≥ at least: some calls cannot be counted (`redial status` says why)";

/// The output of one watch.
pub struct Screen {
    out: Out,
    view: View,
    drawn: Drawn,
}

impl Screen {
    /// The output that was asked for.
    pub fn new(pid: u32, arguments: &arguments::Watch) -> Screen {
        let mut view = View::new(pid, format!("process {pid}"), arguments);
        view.plain.headed = false;
        Screen { out: Out::new(), view, drawn: Drawn(0) }
    }

    /// Shows the numbers of a fold.
    pub fn show(&mut self, dials: &Dials) -> Result<(), Failure> {
        let size = terminal().filter(|_| !self.view.json);
        let lines = self.view.lines(dials, size)?;
        match size {
            Some(_) => self.drawn.over(&mut self.out, &lines),
            None => lines.iter().try_for_each(|line| self.out.line(line)),
        }?;
        self.out.flush()
    }
}

/// Lines of a terminal that is low.
const LEAST: usize = 6;

/// Lines on the terminal that are drawn over.
pub struct Drawn(pub usize);

impl Drawn {
    /// Draws lines where the last ones stand.
    pub fn over(&mut self, out: &mut Out, lines: &[String]) -> Result<(), Failure> {
        // Up to the first line of the old ones, and clear from there (ECMA-48 CUU, ED).
        if self.0 > 0 {
            out.text(&format!("\x1b[{}A\x1b[J", self.0))?;
        }
        self.0 = lines.len();
        lines.iter().try_for_each(|line| out.line(line))
    }
}

/// What is shown of one process.
pub struct View {
    pid: u32,
    title: String,
    json: bool,
    began: Instant,
    order: ByRate,
    plain: Plain,
    /// The last step of the budget that was told, by its change.
    stepped: Option<u64>,
}

impl View {
    /// Of a process with this title. What is no table stands under [`heading`], which somebody else writes.
    pub fn new(pid: u32, title: String, arguments: &arguments::Watch) -> View {
        let limited = arguments.pattern.is_some();
        let plain = Plain { limited, all: arguments.all, headed: true, ..Plain::default() };
        let order = ByRate::default();
        View { pid, title, json: arguments.json, began: Instant::now(), order, plain, stepped: None }
    }

    /// The lines for a fold: a table for a terminal of so many columns and lines; else what changed, or one of JSON.
    pub fn lines(&mut self, dials: &Dials, size: Option<(usize, usize)>) -> Result<Vec<String>, Failure> {
        let t_ms = self.began.elapsed().as_millis() as u64;
        if self.json {
            let rows = dials.iter().map(|dial| DialJson::new(self.pid, dial)).collect();
            let (dropped, cost_percent) = (dials.dropped(), dials.cost_percent());
            let cost_budget = dials.budget().map(CostBudgetJson::from);
            let line = WatchJson { pid: self.pid, t_ms, dials: rows, dropped, cost_percent, cost_budget };
            return Ok(vec![json_line(&line)?]);
        }
        let ordered = self.order.order(dials);
        let places = Places::of(dials);
        Ok(match size {
            Some((columns, rows)) => {
                let (shown, over) = on_first(ordered, self.plain.all);
                let mut head = vec![self.head(dials, &shown, over, columns)];
                // Nothing that the table needs.
                head.extend(stepped(dials).filter(|_| rows > 2 * LEAST));
                table(head, &shown, places, columns, rows)
            }
            None => {
                let mut lines = self.plain.lines(t_ms, &ordered, places);
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

/// What the budget did last, as long as that stands.
fn step(dials: &Dials) -> Option<&SteppedDown> {
    let last = dials.budget()?.last.as_ref()?;
    let wanted = dials.get(last.costliest.0).map(|dial| dial.row.wanted);
    budget::stands(last, wanted).then_some(last)
}

/// The same in words.
fn stepped(dials: &Dials) -> Option<String> {
    let last = step(dials)?;
    let name = dials.get(last.costliest.0).map(status::name);
    Some(format!("{}; `redial undo` takes that back", budget::stepped(last, name.as_deref())))
}

impl View {
    /// The first line, on which what can be said elsewhere gives way to numbers.
    fn head(&self, dials: &Dials, shown: &[&Dial], over: Over, columns: usize) -> String {
        let head = |hint| self.head_with(hint, dials, shown, over);
        let whole = head(true);
        if whole.chars().count() <= columns { whole } else { head(false) }
    }

    fn head_with(&self, hint: bool, dials: &Dials, shown: &[&Dial], over: Over) -> String {
        let mut head = format!("{}: {}", self.title, words::count(shown.len() as u64, "dial", "dials"));
        if over.methods > 0 {
            head.push_str(&format!(", {} off again", words::grouped(over.methods)));
            if hint {
                head.push_str(&format!(" (--all lists {})", words::them(over.methods)));
            }
        }
        if let Some(percent) = dials.cost_percent().filter(|percent| *percent > 0.0) {
            head.push_str(&format!(", cost about {} of a processor", words::percent(percent)));
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

/// The table for a terminal under its first lines, never larger than it.
fn table(head: Vec<String>, ordered: &[&Dial], places: Places, columns: usize, rows: usize) -> Vec<String> {
    let times = TimeColumns::of(ordered.iter().copied());
    let mut remarks = times::remarks(ordered.iter().copied());
    remarks.extend(marked(ordered));
    let notes = Notes::new(&remarks, times.are_there(), (columns, rows));
    let most = rows.saturating_sub(3 + head.len() + notes.lines()).max(1);
    let mut headings = vec![number("CALLS"), number("PER SECOND").or("PER S"), text("STATE")];
    headings.extend(times.headings());
    headings.extend(places.headings());
    headings.push(name("METHOD"));
    let mut table = Table::new(&headings);
    for dial in ordered.iter().take(most) {
        let mut cells = vec![calls(dial), rate_of(dial), status::state(dial)];
        cells.extend(times.cells(dial));
        cells.extend(places.cells(dial));
        cells.push(status::name(dial));
        table.row(cells);
    }
    let mut lines = head;
    lines.extend(table.lines(Some(columns)));
    if ordered.len() > most {
        lines.push(format!("… and {} called less often", words::grouped((ordered.len() - most) as u64)));
    }
    lines.extend(notes.beneath(&table.left_out(Some(columns))));
    lines.iter().map(|line| cut_middle(line, columns)).collect()
}

/// What the sign before numbers that leave calls out says, where one has it.
fn marked(dials: &[&Dial]) -> Option<&'static str> {
    dials.iter().any(|dial| leaves_out(dial)).then_some(EXPLAINED)
}

/// Lines for a file or another program: headings, every dial once, and from then on what changed.
#[derive(Default)]
struct Plain {
    /// Only methods that match a pattern are shown.
    limited: bool,
    /// Those that are off again are listed, too.
    all: bool,
    /// The headings are there.
    headed: bool,
    began: bool,
    explained: Vec<&'static str>,
    said: HashMap<RowId, Said>,
}

/// What of a dial was printed last.
#[derive(PartialEq)]
struct Said {
    calls: u64,
    called: bool,
    state: State,
    version: Option<u32>,
    leaves_out: bool,
    times: Option<Times>,
    times_are_last: bool,
}

impl Said {
    fn of(dial: &Dial) -> Said {
        Said {
            calls: dial.row.calls,
            called: dial.rate.is_some_and(|rate| rate > 0.0),
            state: dial.row.state,
            version: dial.row.version,
            leaves_out: leaves_out(dial),
            times: dial.times,
            times_are_last: times::are_last(dial),
        }
    }
}

impl Plain {
    fn lines(&mut self, t_ms: u64, ordered: &[&Dial], places: Places) -> Vec<String> {
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
        let timed = TimeColumns::of(ordered.iter().copied()).are_there().then_some(times::TIMED);
        for remark in marked(ordered).into_iter().chain(timed) {
            if !self.explained.contains(&remark) {
                self.explained.push(remark);
                lines.push(remark.to_owned());
            }
        }
        for dial in ordered {
            let now = Said::of(dial);
            let before = self.said.get(&dial.row.row);
            // What was listed is told to go off; what never was needs not be.
            let told = before.is_some() || self.all || !dial.is_over();
            if told && before != Some(&now) {
                let name = printable(&(status::name(dial) + &places.suffix(dial) + &times::suffix(dial)));
                let state = status::state(dial);
                lines.push(columns(&time, &calls(dial), &rate_of(dial), &state, &name));
                self.said.insert(dial.row.row, now);
            }
        }
        lines
    }
}

/// Headings of lines that are no table.
pub fn heading() -> String {
    columns("TIME", "CALLS", "PER SECOND", "STATE", "METHOD")
}

/// Cells of a line that is no table's.
pub fn columns(time: &str, calls: &str, rate: &str, state: &str, method: &str) -> String {
    format!("{time:>11}  {calls:>15}  {rate:>12}  {state:<13}  {method}")
}

/// The time of a line that is no table's: milliseconds since the watch began, as seconds.
pub fn time(ms: u64) -> String {
    format!("{:.3} s", ms as f64 / 1000.0)
}

/// Whether the number of calls is known to leave some out. A dial that is not on has a note for another reason.
pub fn leaves_out(dial: &Dial) -> bool {
    dial.row.note.is_some() && matches!(dial.row.state, State::Asked | State::Live)
}

fn calls(dial: &Dial) -> String {
    let calls = words::grouped(dial.row.calls);
    if leaves_out(dial) { format!("{AT_LEAST}{calls}") } else { calls }
}

/// Of what is off nobody knows how often it is called.
fn rate_of(dial: &Dial) -> String {
    rate(dial.rate.filter(|_| !dial.is_over()))
}

/// Calls a second, where they are known.
pub fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), words::rate)
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
