//! The table of dialled methods in `status`.

use super::slowest_calls;
use super::wording::{name, state};
use crate::copy_locations::LocationColumns;
use crate::output::page::{self, LEAST_ROWS, Page};
use crate::output::table::{self, Table, number, text, wide};
use crate::times::{self, StoppedCopies, TimeColumns};
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::state::CopyState;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::words;

/// Formats as many dials as the page takes, and says how many more there are. If reasons do not fit beside the other
/// columns, each follows below its row.
pub fn fitted(rows: &[&DialledCopy], dials: &DialledCopies, calls: bool, page: &Page) -> Vec<String> {
    let most = page.limit.unwrap_or(usize::MAX);
    let most = page.lines.map_or(most, |lines| lines.max(LEAST_ROWS));
    let candidates = rows.get(..most.min(rows.len())).unwrap_or(rows);
    let drawn = drawn(candidates, dials, calls, page);
    let all: usize = drawn.rows.iter().map(Vec::len).sum();
    let fitting = match page.lines.map(|lines| lines.saturating_sub(1 + drawn.notes.len())) {
        Some(room) if all > room || candidates.len() < rows.len() => {
            let mut left = room.saturating_sub(1);
            let fits = |(at, row): &(usize, &Vec<String>)| {
                let fits = left.checked_sub(row.len());
                left = fits.unwrap_or(0);
                fits.is_some() || *at < LEAST_ROWS
            };
            drawn.rows.iter().enumerate().take_while(fits).count()
        }
        _ => candidates.len(),
    };
    let mut lines = vec![page.paint.heading(drawn.heading)];
    for (dial, row) in rows.iter().zip(drawn.rows.into_iter().take(fitting)) {
        let has_problem = matches!(dial.row.state, CopyState::Refused | CopyState::Failed);
        lines.extend(row.into_iter().map(|line| if has_problem { page.paint.problem(line) } else { line }));
    }
    lines.extend(page::left_out(rows.len() - fitting));
    lines.extend(drawn.notes.into_iter().map(|note| page.paint.dim(note)));
    lines
}

/// A table before it is cut to the page.
struct DrawnTable {
    heading: String,
    /// The lines of each row.
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

fn drawn(rows: &[&DialledCopy], dials: &DialledCopies, calls: bool, page: &Page) -> DrawnTable {
    let stopped = StoppedCopies::of(dials);
    let beside = rows_table(rows, (dials, &stopped), true);
    let (fitting, below) = match page.columns.filter(|columns| !beside.fits(*columns)) {
        Some(columns) => (rows_table(rows, (dials, &stopped), false), Some(columns)),
        None => (beside, None),
    };
    let mut drawn = fitting.lines(page.columns).into_iter();
    let heading = drawn.next().unwrap_or_default();
    let rows_lines = rows.iter().zip(drawn).map(|(dial, line)| {
        let mut lines = vec![line];
        if let Some((columns, reason)) = below.zip(reason(dial)) {
            let reason = table::wrapped(&words::printable(&reason), columns.saturating_sub(INDENT.len()));
            lines.extend(reason.into_iter().map(|part| format!("{INDENT}{part}")));
        }
        lines.extend(slowest_calls::lines(dial, calls).into_iter().map(|line| format!("{INDENT}{line}")));
        lines
    });
    let rows_lines = rows_lines.collect();
    let remarks = times::remarks(rows.iter().copied(), &stopped);
    let mut notes = beneath(&fitting.left_out(page.columns), &remarks, page.columns);
    notes.extend(slowest_calls::none_yet(rows).into_iter().flat_map(|line| wrapped(line, page.columns)));
    DrawnTable { heading, rows: rows_lines, notes }
}

/// Returns the lines below a table: hidden columns and remarks.
pub(super) fn beneath(left_out: &[&str], remarks: &[&str], columns: Option<usize>) -> Vec<String> {
    let remarks = remarks.iter().map(|remark| (*remark).to_owned());
    let notes = times::no_room(left_out).into_iter().chain(remarks);
    notes.flat_map(|note| wrapped(note, columns)).collect()
}

/// Wraps a line to the terminal's width, if there is a terminal.
pub(super) fn wrapped(line: String, columns: Option<usize>) -> Vec<String> {
    match columns {
        Some(columns) => table::wrapped(&line, columns),
        None => vec![line],
    }
}

/// The indentation of a reason below its row.
const INDENT: &str = "    ";

fn rows_table(
    rows: &[&DialledCopy],
    (dials, stopped): (&DialledCopies, &StoppedCopies),
    reasons: bool,
) -> Table {
    let reasons = reasons && rows.iter().any(|dial| reason(dial).is_some());
    let places = LocationColumns::of(dials);
    let mut headings = vec![number("CALLS"), text("WANTED"), text("STATE")];
    let times = TimeColumns::of(rows.iter().copied(), stopped);
    headings.extend(times.headings());
    headings.extend(places.headings());
    headings.push(table::name("METHOD"));
    headings.extend(reasons.then(|| wide("REASON")));
    let mut table = Table::new(&headings);
    for dial in rows {
        let row = &dial.row;
        let mut cells = vec![words::grouped(row.calls), row.wanted.to_string(), state(dial)];
        cells.extend(times.cells(dial));
        cells.extend(places.cells(dial));
        let body = words::body_of(&row.method).map(|of| format!(" ({of})")).unwrap_or_default();
        cells.extend([name(dial) + &body, reason(dial).unwrap_or_default()]);
        table.row(cells);
    }
    table
}

/// Returns why a dial was refused or failed, or which calls its numbers miss.
fn reason(dial: &DialledCopy) -> Option<String> {
    row_notes::notes(dial.row.note, dial.row.times_note.as_ref(), Reader::CommandLine)
}
