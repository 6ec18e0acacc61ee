//! The sums of each method over several processes.

use super::number_cells::{AT_LEAST, EXPLAINED, leaves_out, rate};
use super::status::wording;
use super::times;
use crate::output::json::SumJson;
use crate::output::table::{Table, name, number, text};
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_model::live::time_sums::add;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_protocol::times::{Completions, Times};
use redial_text::words;
use redial_text::words::printable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A method: `Shop!Shop.Cart.Add(int)`, and in parts module, method, signature.
/// The totals of several processes share it.
type MethodName = Arc<(String, [String; 3])>;

/// The numbers of a method in one process or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MethodTotal {
    /// Calls.
    pub calls: u64,
    /// Calls per second; `None` until a process knows its rate.
    pub rate: Option<f64>,
    /// The number of processes in which it is or was dialled.
    pub processes: u64,
    /// The number of processes in which it should be on.
    pub wanted: u64,
    /// The number of processes in which it is live.
    pub live: u64,
    /// The number of processes in which it is on or still reverting.
    pub on: u64,
    /// The number of processes whose count misses calls.
    pub at_least: u64,
    /// Its times, without percentiles; `None` if no process timed it.
    pub times: Option<Times>,
    /// The number of processes in which it is timed now.
    pub timed: u64,
}

/// The sums of all methods.
#[derive(Clone, Debug, Default)]
pub struct MethodTotals {
    methods: BTreeMap<MethodName, Box<MethodTotal>>,
    /// The number of processes that send numbers, with or without dialled methods.
    processes: usize,
}

/// The table of sums.
pub struct TotalsTable {
    /// The lines, headings first; empty if nothing is dialled.
    pub lines: Vec<String>,
    /// The hidden columns.
    pub left_out: Vec<&'static str>,
    /// The number of rows beyond those of the table.
    pub more: usize,
}

impl MethodTotals {
    /// Returns the numbers of one process. A method with several copies counts as live if one copy is.
    pub fn of(dials: &DialledCopies) -> MethodTotals {
        let mut sums = MethodTotals { processes: 1, ..MethodTotals::default() };
        for dial in dials.iter() {
            let one = MethodTotal::of(dial);
            let row = &dial.row;
            let parts = [row.module.clone(), row.method.clone(), row.signature.clone()];
            let sum = sums.methods.entry(Arc::new((wording::name(dial), parts))).or_default();
            sum.add(&one);
            sum.processes = 1;
            let numbers = [&mut sum.wanted, &mut sum.live, &mut sum.on, &mut sum.at_least, &mut sum.timed];
            for number in numbers {
                *number = 1.min(*number);
            }
        }
        sums
    }

    /// Adds the numbers of another process.
    pub fn add(&mut self, other: &MethodTotals) {
        self.processes += other.processes;
        for (name, one) in &other.methods {
            self.methods.entry(Arc::clone(name)).or_default().add(one);
        }
    }

    /// Notes that the process has ended: only its calls and their times stay.
    pub fn end(&mut self) {
        self.processes = 0;
        for sum in self.methods.values_mut() {
            (sum.rate, sum.wanted, sum.live, sum.on, sum.timed) = (None, 0, 0, 0, 0);
            sum.times = sum.times.map(Times::at_rest);
        }
    }

    /// Returns the notes on counts that miss calls and on times.
    pub fn about_numbers(&self, all: bool) -> Vec<&'static str> {
        let marked = self.any(all, |sum| sum.at_least > 0).then_some(EXPLAINED);
        let timed = self.is_timed(all).then_some([times::TIMED, times::WITHOUT_PERCENTILES]);
        marked.into_iter().chain(timed.into_iter().flatten()).collect()
    }

    /// Returns the notes for a table, including the one on times in brackets if a row has them.
    pub fn remarks(&self, all: bool) -> Vec<&'static str> {
        let mut remarks = self.about_numbers(all);
        remarks.extend(self.any(all, MethodTotal::times_are_last).then_some(times::LAST));
        remarks
    }

    /// Returns whether a row has times.
    pub fn is_timed(&self, all: bool) -> bool {
        self.any(all, |sum| sum.times.is_some())
    }

    fn any(&self, all: bool, is: impl Fn(&MethodTotal) -> bool) -> bool {
        self.methods.values().any(|sum| (all || !sum.is_over()) && is(sum))
    }

    /// Returns the number of processes that send numbers.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Returns whether nothing is or was dialled.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    /// Returns the rows: methods that are on somewhere first, then by descending calls. Methods that are off everywhere
    /// appear only with `all`.
    pub fn rows(&self, all: bool) -> Vec<(&str, &MethodTotal)> {
        let mut rows: Vec<(&str, &MethodTotal)> =
            self.methods.iter().map(|(name, sum)| (name.0.as_str(), &**sum)).collect();
        rows.retain(|(_, sum)| all || !sum.is_over());
        // The sort is stable: equal rows stay in the order of their names.
        rows.sort_by_key(|(_, sum)| (sum.is_over(), std::cmp::Reverse(sum.calls)));
        rows
    }

    /// Returns the rows for JSON: all by name, or the `limit` most called ones.
    pub fn json(&self, limit: Option<usize>) -> Vec<SumJson<'_>> {
        let mut parts: Vec<_> = self.methods.iter().map(|(name, sum)| (&name.1, sum)).collect();
        if let Some(limit) = limit {
            parts.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.calls));
            parts.truncate(limit);
        }
        let rows = parts.into_iter().map(|([module, method, signature], sum)| SumJson {
            method,
            signature,
            module,
            processes: sum.processes,
            wanted: sum.wanted,
            live: sum.live,
            calls: sum.calls,
            rate: sum.rate,
            in_flight: sum.times.map(|times| times.in_flight),
            exceptions: sum.times.map(|times| times.exceptions),
            total_ns: sum.times.map(|times| times.total_ns),
            self_ns: sum.times.map(|times| times.self_ns),
            max_ns: sum.times.filter(|times| times.exits > 0).map(|times| times.max_ns),
            async_starts: sum.completions().map(|of| of.starts),
            async_completions: sum.completions().map(|of| of.completions),
            async_in_flight: sum.completions().map(|of| of.in_flight),
            async_mean_ns: sum.completions().and_then(|of| of.mean_ns()),
        });
        rows.collect()
    }

    /// Returns the summary line: `3 processes, 1 ended: 2 methods dialled, 1,234 calls, 56 per second; 4 methods off
    /// again after 78 calls (--all lists them)`.
    pub fn line(&self, ended: usize, all: bool) -> String {
        let (on, over): (Vec<&MethodTotal>, Vec<&MethodTotal>) =
            self.methods.values().map(Box::as_ref).partition(|sum| !sum.is_over());
        let total = |of: &[&MethodTotal]| {
            let mut total = MethodTotal::default();
            of.iter().for_each(|sum| total.add(sum));
            (words::count(total.calls, "call", "calls"), total.rate)
        };
        let mut processes = words::count(self.processes as u64, "process", "processes");
        if ended > 0 {
            processes.push_str(&format!(", {} ended", words::grouped(ended as u64)));
        }
        let (calls, per_second) = total(&on);
        let mut line = match on.len() {
            0 => format!("{processes}: no method dialled"),
            methods => format!("{processes}: {} dialled, {calls}", words::methods(methods as u64)),
        };
        if let Some(per_second) = per_second {
            line.push_str(&format!(", {} per second", words::rate(per_second)));
        }
        if !over.is_empty() && !all {
            let (methods, them) = (words::methods(over.len() as u64), words::them(over.len() as u64));
            let (calls, _) = total(&over);
            line.push_str(&format!("; {methods} off again after {calls} (--all lists {them})"));
        }
        line
    }

    /// Returns a table of at most `most` rows, for a terminal of `columns`; with `rates`, it has calls per second.
    pub fn table(&self, all: bool, rates: bool, most: usize, columns: Option<usize>) -> TotalsTable {
        let rows = self.rows(all);
        if rows.is_empty() {
            return TotalsTable { lines: Vec::new(), left_out: Vec::new(), more: 0 };
        }
        let mut headings = vec![number("CALLS")];
        headings.extend(rates.then(|| number("PER SECOND").or("PER S")));
        headings.push(text("STATE"));
        let timed = self.is_timed(all);
        if timed {
            headings.extend(times::summed_headings());
        }
        headings.push(name("METHOD"));
        let mut table = Table::new(&headings);
        for (method, sum) in rows.iter().take(most) {
            let mut cells = vec![sum.calls()];
            cells.extend(rates.then(|| rate(sum.rate)));
            cells.push(sum.state(self.processes));
            if timed {
                cells.extend(times::summed_cells(sum.times.as_ref(), sum.times_are_last()));
            }
            cells.push(printable(method));
            table.row(cells);
        }
        let more = rows.len().saturating_sub(most);
        TotalsTable { lines: table.lines(columns), left_out: table.left_out(columns), more }
    }
}

impl MethodTotal {
    fn completions(&self) -> Option<Completions> {
        self.times.and_then(|times| times.completions)
    }

    fn of(dial: &DialledCopy) -> MethodTotal {
        let mut times = None;
        dial.times.iter().for_each(|one| add(&mut times, one));
        MethodTotal {
            calls: dial.row.calls,
            rate: dial.rate,
            processes: 1,
            wanted: u64::from(dial.row.wanted != Level::Off),
            live: u64::from(dial.row.state == CopyState::Live),
            on: u64::from(!dial.is_over()),
            at_least: u64::from(leaves_out(dial)),
            times,
            timed: u64::from(dial.times.is_some() && !times::are_last(dial)),
        }
    }

    fn add(&mut self, other: &MethodTotal) {
        self.calls = self.calls.saturating_add(other.calls);
        self.rate = match (self.rate, other.rate) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.processes += other.processes;
        self.wanted += other.wanted;
        self.live += other.live;
        self.on += other.on;
        self.at_least += other.at_least;
        self.timed += other.timed;
        other.times.iter().for_each(|times| add(&mut self.times, times));
    }

    /// Returns whether it is off everywhere.
    pub fn is_over(&self) -> bool {
        self.on == 0
    }

    /// Returns whether it is wanted nowhere, but some process has not reverted it yet.
    pub fn is_reverting(&self) -> bool {
        !self.is_over() && self.wanted.max(self.live) == 0
    }

    /// Returns whether its times are the last ones because no process times it any more.
    pub fn times_are_last(&self) -> bool {
        self.times.is_some() && self.timed == 0
    }

    /// Formats its calls, with a mark if some are missing.
    pub fn calls(&self) -> String {
        let calls = words::grouped(self.calls);
        if self.at_least > 0 { format!("{AT_LEAST}{calls}") } else { calls }
    }

    /// Formats its state: `18 of 20 live`. The total includes processes without the method.
    pub fn state(&self, processes: usize) -> String {
        match self.is_reverting() {
            true => CopyState::Reverting.to_string(),
            false if self.is_over() => "off".to_owned(),
            false => words::live_of(self.live, processes as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::{counters, row};
    use redial_protocol::diagnostics::RowNote;
    use redial_protocol::message::StatusRow;
    use redial_text::fixtures::times;

    fn live(index: u32, method: &str, calls: u64) -> StatusRow {
        StatusRow { state: CopyState::Live, ..row(index, method, calls) }
    }

    fn sums(processes: &[Vec<StatusRow>]) -> MethodTotals {
        let mut sums = MethodTotals::default();
        for rows in processes {
            let mut dials = DialledCopies::default();
            dials.rows(rows.clone());
            sums.add(&MethodTotals::of(&dials));
        }
        sums
    }

    #[test]
    fn a_method_is_one_row_over_all_processes() {
        let off = StatusRow { wanted: Level::Off, state: CopyState::Off, ..row(1, "Shop.Cart.Take", 50) };
        let sums = sums(&[
            vec![live(0, "Shop.Cart.Add", 1_000), off],
            vec![live(4, "Shop.Cart.Add", 234), live(5, "Shop.Cart.Clear", 2_000)],
            vec![row(0, "Shop.Cart.Add", 0)],
        ]);
        assert_eq!(
            sums.table(false, false, 10, None).lines,
            [
                "CALLS  STATE        METHOD",
                "2,000  1 of 3 live  Shop!Shop.Cart.Clear()",
                "1,234  2 of 3 live  Shop!Shop.Cart.Add()",
            ],
            "the total includes processes without the dial"
        );
        assert_eq!(
            sums.line(0, false),
            "3 processes: 2 methods dialled, 3,234 calls; 1 method off again after 50 calls (--all lists it)"
        );
        assert_eq!(sums.line(0, true), "3 processes: 2 methods dialled, 3,234 calls");
        let all = sums.table(true, false, 10, None).lines;
        assert_eq!(all.last().map(String::as_str), Some("   50  off          Shop!Shop.Cart.Take()"));
        assert_eq!(sums.table(false, true, 1, Some(40)).more, 1);
        let json = serde_json::to_value(sums.json(None)).expect("JSON");
        assert_eq!(
            json[0],
            serde_json::json!({
                "method": "Shop.Cart.Add", "signature": "()", "module": "Shop", "processes": 3, "wanted": 3, "live": 2,
                "calls": 1234, "rate": null, "in_flight": null, "exceptions": null, "total_ns": null, "self_ns": null,
                "max_ns": null, "async_starts": null, "async_completions": null, "async_in_flight": null,
                "async_mean_ns": null,
            })
        );
    }

    #[test]
    fn copies_in_one_process_count_as_one() {
        let mut other = live(1, "Shop.Cart.Add", 7);
        other.copy.module.module_id = 5;
        let sums = sums(&[vec![live(0, "Shop.Cart.Add", 1), other]]);
        assert_eq!(sums.table(false, false, 10, None).lines[1], "    8  1 of 1 live  Shop!Shop.Cart.Add()");
        assert!(
            MethodTotals::default().is_empty()
                && MethodTotals::default().table(true, true, 10, None).lines.is_empty()
        );
    }

    #[test]
    fn sums_known_rates() {
        let mut dials = DialledCopies::default();
        dials.rows(vec![live(0, "Shop.Cart.Add", 1)]);
        let mut sums = MethodTotals::of(&dials);
        dials.first_interval_covers(1_000);
        dials.apply(counters(1_000, &[(0, 40)]));
        sums.add(&MethodTotals::of(&dials));
        assert_eq!(sums.line(0, false), "2 processes: 1 method dialled, 42 calls, 40 per second");
        assert_eq!(
            sums.table(false, true, 9, None).lines[1],
            "   42          40  2 of 2 live  Shop!Shop.Cart.Add()"
        );
    }

    #[test]
    fn sums_times_but_not_percentiles() {
        let process = |max_ns| {
            let mut dials = DialledCopies::default();
            dials.rows(vec![
                StatusRow { wanted: Level::Time, ..live(0, "Shop.Cart.Add", 1_000) },
                live(1, "Shop.Cart.Take", 5),
            ]);
            dials.times(vec![Times { max_ns, ..times(0) }]);
            MethodTotals::of(&dials)
        };
        let mut sums = process(20_000_000_000);
        sums.add(&process(1_000));
        assert_eq!(
            sums.table(false, false, 9, None).lines,
            [
                "CALLS  STATE            MAX    TOTAL     SELF  EXCEPTIONS  IN FLIGHT  METHOD",
                "2,000  2 of 2 live   20.0 s  2,200 s  1,100 s          40          6  Shop!Shop.Cart.Add()",
                "   10  2 of 2 live        -        -        -           -          -  Shop!Shop.Cart.Take()",
            ]
        );
        assert_eq!(sums.remarks(false), [times::TIMED, times::WITHOUT_PERCENTILES]);
        let json = serde_json::to_value(sums.json(None)).expect("JSON");
        assert_eq!(
            (&json[0]["total_ns"], &json[0]["max_ns"]),
            (&2_200_000_000_000_u64.into(), &20_000_000_000_u64.into())
        );
        assert!(json[1]["total_ns"].is_null() && json[0].get("p50_ns").is_none());
        let narrow = sums.table(false, true, 9, Some(80));
        assert!(
            narrow.lines[1].ends_with("Shop!Shop.Cart.Add()") && narrow.left_out.contains(&"IN FLIGHT"),
            "{:?}: {:#?}",
            narrow.left_out,
            narrow.lines
        );
        // Calls in flight end with their process.
        sums.end();
        assert!(sums.table(true, false, 9, None).lines[1].contains(" (0)  Shop!Shop.Cart.Add()"));
        assert_eq!(sums.remarks(true).last(), Some(&times::LAST));
    }

    #[test]
    fn a_reverting_method_is_not_off_yet() {
        let reverting =
            StatusRow { wanted: Level::Off, state: CopyState::Reverting, ..row(0, "Shop.Cart.Add", 5) };
        let sums = sums(&[vec![reverting]]);
        assert_eq!(sums.line(0, false), "1 process: 1 method dialled, 5 calls");
        assert_eq!(sums.table(false, false, 9, None).lines[1], "    5  reverting  Shop!Shop.Cart.Add()");
    }

    #[test]
    fn explains_the_mark_of_counts_that_miss_calls() {
        let note = Some(RowNote::Inlined);
        let sums = sums(&[vec![StatusRow { note, ..live(0, "Shop.Cart.Add", 5) }]]);
        assert!(sums.table(false, false, 9, None).lines[1].trim_start().starts_with("≥5"));
        assert_eq!(sums.remarks(false), [EXPLAINED]);
        assert!(MethodTotals::default().remarks(true).is_empty());
    }
}
