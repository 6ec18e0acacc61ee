//! The exceptions of one process: counts by type and method, the latest messages, and lines for all of them.

use crate::output::json_line;
use crate::output::table::{Table, name, number, wide};
use redial_link::exit::Failure;
use redial_link::machine;
use redial_protocol::exceptions::{ThrownCount, ThrownException, ThrownRow, ThrownTotals};
use redial_protocol::limits::MAX_THROWN_ROWS;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::Value;
use redial_text::json::{ExceptionJson, ExceptionRowJson, ExceptionTotalsJson};
use redial_text::traced_calls::time_of_day;
use redial_text::width::{cut_end, pad_left};
use redial_text::words::{grouped, printable};
use redial_text::{exceptions, values};

/// The most memory for names and messages, bytes.
const MAX_MEMORY: usize = 32 << 20;

const GAP: &str = "  ";
const TIME: usize = 13;
const THREAD: usize = 7;

/// The heading above the lines of exceptions.
pub(super) fn heading() -> String {
    format!("{:<TIME$}{GAP}{:>THREAD$}{GAP}EXCEPTION", "TIME", "THREAD")
}

/// The rows of one process.
pub(super) struct ThrownRows {
    pid: u32,
    host: Option<String>,
    json: bool,
    /// Columns of a line of text.
    columns: Option<usize>,
    rows: Vec<RowState>,
    totals: ThrownTotals,
    memory: usize,
    /// Exceptions received.
    received: u64,
}

/// A row with its numbers.
struct RowState {
    row: ThrownRow,
    thrown: u64,
    rethrown: u64,
    latest: Option<Value>,
}

impl ThrownRows {
    pub(super) fn new(pid: u32, json: bool, columns: Option<usize>) -> ThrownRows {
        ThrownRows {
            pid,
            host: machine::host_name().filter(|_| json),
            json,
            columns,
            rows: Vec::new(),
            totals: ThrownTotals::default(),
            memory: 0,
            received: 0,
        }
    }

    /// Takes a page, and returns the lines of its exceptions. Ignores rows beyond the limits.
    pub(super) fn take(
        &mut self,
        rows: Vec<ThrownRow>,
        counts: &[ThrownCount],
        exceptions: &[ThrownException],
        totals: ThrownTotals,
    ) -> Result<Vec<String>, Failure> {
        for row in rows {
            self.memory += memory(&row);
            if row.row as usize == self.rows.len()
                && self.rows.len() < MAX_THROWN_ROWS
                && self.memory <= MAX_MEMORY
            {
                self.rows.push(RowState { row, thrown: 0, rethrown: 0, latest: None });
            }
        }
        for count in counts {
            if let Some(state) = self.rows.get_mut(count.row as usize) {
                (state.thrown, state.rethrown) = (count.thrown, count.rethrown);
            }
        }
        self.totals = totals;
        self.received = self.received.saturating_add(exceptions.len() as u64);
        let mut lines = Vec::new();
        for exception in exceptions {
            if let Some(state) = self.rows.get_mut(exception.row as usize) {
                state.latest = Some(exception.message.clone());
            }
            if let Some(state) = self.rows.get(exception.row as usize) {
                lines.push(self.line(&state.row, exception)?);
            }
        }
        Ok(lines)
    }

    fn process(&self) -> (Option<&str>, u32) {
        (self.host.as_deref(), self.pid)
    }

    fn line(&self, row: &ThrownRow, exception: &ThrownException) -> Result<String, Failure> {
        if self.json {
            return json_line(&ExceptionJson::new(self.process(), row, exception));
        }
        let thread = if exception.thread == 0 { "-".to_owned() } else { exception.thread.to_string() };
        let text = clean(&exceptions::exception(row, exception)).into_owned();
        let before = format!("{}{GAP}{}{GAP}", time_of_day(exception.unix_ns), pad_left(&thread, THREAD));
        let room = self.columns.map(|columns| columns.saturating_sub(TIME + THREAD + 2 * GAP.len()));
        Ok(format!("{before}{}", room.map_or(text.clone(), |room| cut_end(&text, room))))
    }

    /// Returns the lines at the end: a table, or a JSON object for each row and one for all. `printed`: lines of exceptions.
    pub(super) fn summary(&self, printed: u64) -> Result<Vec<String>, Failure> {
        let mut rows: Vec<&RowState> = self.rows.iter().filter(|state| state.thrown > 0).collect();
        rows.sort_by(|one, other| {
            let names =
                |state: &RowState| (exceptions::type_name(&state.row), exceptions::method(&state.row));
            other.thrown.cmp(&one.thrown).then_with(|| names(one).cmp(&names(other)))
        });
        if self.json {
            let line = |state: &&RowState| {
                let numbers = (state.thrown, state.rethrown);
                let latest = state.latest.as_ref();
                json_line(&ExceptionRowJson::new(self.process(), &state.row, numbers, latest))
            };
            let mut lines = rows.iter().map(line).collect::<Result<Vec<_>, _>>()?;
            let dropped = self.unprinted(printed);
            lines.push(json_line(&ExceptionTotalsJson::new(self.process(), &self.totals, dropped))?);
            return Ok(lines);
        }
        if rows.is_empty() && self.totals.others == 0 {
            return Ok(vec!["no exception was thrown".to_owned()]);
        }
        let headings = [
            number("COUNT"),
            number("RETHROWN").goes(1),
            name("TYPE"),
            wide("METHOD"),
            wide("LATEST MESSAGE"),
        ];
        let mut table = Table::new(&headings);
        for state in rows {
            let message = match &state.latest {
                None | Some(Value::Null) => String::new(),
                Some(message) => values::unquoted(message),
            };
            table.row(vec![
                grouped(state.thrown),
                grouped(state.rethrown),
                printable(&exceptions::type_name(&state.row)),
                printable(&exceptions::method(&state.row)),
                message,
            ]);
        }
        if self.totals.others > 0 {
            table.row(vec![grouped(self.totals.others), String::new(), "(others)".to_owned()]);
        }
        Ok(table.lines(self.columns))
    }

    /// Returns the number of exceptions that were counted but not printed.
    pub(super) fn unprinted(&self, printed: u64) -> u64 {
        self.totals.thrown.saturating_sub(printed)
    }
}

/// Estimates the memory of a row with its latest message, bytes.
fn memory(row: &ThrownRow) -> usize {
    let method = row.method.as_ref();
    let method = method.map_or(0, |of| of.module.len() + of.method.len() + of.signature.len());
    2 * size_of::<RowState>() + row.type_name.as_ref().map_or(0, String::len) + method + 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::exceptions::ThrowingMethod;

    fn row(row: u32) -> ThrownRow {
        let method = ThrowingMethod {
            module: "Shop".into(),
            method: format!("Shop.Cart.Add{row}"),
            signature: "(int)".into(),
        };
        ThrownRow { row, type_name: Some("Shop.Full".into()), method: Some(method) }
    }

    fn exception(row: u32, message: &str) -> ThrownException {
        let units: Vec<u16> = message.encode_utf16().collect();
        ThrownException {
            row,
            unix_ns: 1_795_153_561_123_456_789,
            thread: 4711,
            rethrown: false,
            message: Value::String { length: units.len() as u32, units },
            inner: vec![],
        }
    }

    fn taken(json: bool, columns: Option<usize>) -> (ThrownRows, Vec<String>) {
        let mut rows = ThrownRows::new(7, json, columns);
        let counts = [ThrownCount { row: 0, thrown: 1_200, rethrown: 3 }];
        let totals = ThrownTotals { thrown: 1_205, rethrown: 3, others: 5, unsent: 1_203 };
        let exceptions = [exception(0, "no room"), exception(0, "\u{1b}[2J"), exception(9, "unknown row")];
        let lines = rows.take(vec![row(0), row(1), row(7)], &counts, &exceptions, totals).expect("lines");
        (rows, lines)
    }

    #[test]
    fn prints_exceptions_and_a_table() {
        let (rows, lines) = taken(false, None);
        let first = "05:46:01.123Z     4711  Shop!Shop.Cart.Add0 threw Shop.Full: no room";
        assert_eq!((lines.len(), lines[0].as_str()), (2, first));
        assert_eq!(heading(), "TIME            THREAD  EXCEPTION");
        assert!(!lines[1].contains('\u{1b}'), "{lines:?}");
        let table = rows.summary(2).expect("a table");
        assert_eq!(table.len(), 3, "rows that threw nothing are left out: {table:#?}");
        assert!(table[0].starts_with("COUNT  RETHROWN  TYPE"), "{table:#?}");
        assert!(table[1].starts_with("1,200         3  Shop.Full  Shop!Shop.Cart.Add0  "), "{table:#?}");
        assert!(table[2].starts_with("    5            (others)"), "{table:#?}");
        assert_eq!(rows.unprinted(2), 1_203);
        let none = ThrownRows::new(7, false, None);
        assert_eq!(none.summary(0).expect("a line"), ["no exception was thrown"]);
    }

    #[test]
    fn fits_lines_to_the_terminal() {
        let (_, lines) = taken(false, Some(50));
        assert!(lines[0].ends_with('…') && lines[0].chars().count() == 50, "{lines:?}");
    }

    #[test]
    fn prints_json_for_exceptions_rows_and_totals() {
        let (rows, lines) = taken(true, None);
        let parsed = |line: &String| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        let first = parsed(&lines[0]);
        assert_eq!((&first["event"], &first["type"]), (&"exception".into(), &"Shop.Full".into()));
        assert_eq!(first["start"], "2026-11-20T05:46:01.123456789Z");
        assert_eq!((&first["method"], &first["message"]), (&"Shop.Cart.Add0".into(), &"no room".into()));
        let summary: Vec<_> = rows.summary(2).expect("lines").iter().map(parsed).collect();
        assert_eq!((&summary[0]["event"], &summary[0]["thrown"]), (&"count".into(), &1_200.into()));
        assert_eq!((&summary[1]["event"], &summary[1]["others"]), (&"total".into(), &5.into()));
        assert_eq!(summary[1]["dropped"], 1_203);
    }
}
