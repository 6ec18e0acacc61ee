//! Shows the live sums over several processes, once per interval.

use super::notes::Notes;
use super::screen::{DrawnLines, columns, heading, time};
use super::threads::{WatchEvent, exit, watch_each};
use crate::arguments;
use crate::method_totals::{MethodTotal, MethodTotals};
use crate::multi_process::combined;
use crate::number_cells::rate;
use crate::output::json::WatchSumJson;
use crate::output::page;
use crate::output::{Out, terminal};
use crate::target::TargetProcess;
use crate::times;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_model::dials::DialledCopies;
use redial_protocol::report::total;
use redial_protocol::times::Times;
use redial_text::width::cut_middle;
use redial_text::words::printable;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The sums of a process, and the number of updates that its agent dropped.
type ProcessTotals = (MethodTotals, u64);
type TotalsMessage = super::threads::WatchMessage<ProcessTotals>;

/// Watches all processes until each has ended, the count is reached, or Ctrl-C.
pub fn run(arguments: &arguments::WatchArguments, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    // The writer applies the count.
    let each = arguments::WatchArguments { count: None, ..arguments.clone() };
    let sums = |_: &TargetProcess| |dials: &DialledCopies| Ok((MethodTotals::of(dials), dials.dropped()));
    watch_each(&members, &each, interrupts, sums, |messages| {
        TotalsWriter::new(&members, arguments).run(messages)
    })
}

/// Adds up the numbers and writes them.
struct TotalsWriter<'a> {
    members: &'a [TargetProcess],
    arguments: &'a arguments::WatchArguments,
    began: Instant,
    last: Vec<LastTotals>,
    running: usize,
    exits: Vec<Exit>,
    drawn: DrawnLines,
    /// The number of processes in the last summary line.
    headed: Option<usize>,
    explained: Vec<&'static str>,
    printed: HashMap<String, PrintedMethod>,
}

/// The last numbers of a process.
#[derive(Clone, Default)]
struct LastTotals {
    sums: MethodTotals,
    /// The number of updates that its agent dropped.
    dropped: u64,
    /// Whether it has sent numbers.
    answered: bool,
    /// Whether the numbers are not written yet.
    is_new: bool,
    ended: bool,
}

/// The state of a method that was printed last.
#[derive(PartialEq)]
struct PrintedMethod {
    calls: u64,
    called: bool,
    live: u64,
    is_over: bool,
    is_reverting: bool,
    times: Option<Times>,
    times_are_last: bool,
}

impl PrintedMethod {
    fn of(sum: &MethodTotal) -> PrintedMethod {
        PrintedMethod {
            calls: sum.calls,
            called: sum.rate.is_some_and(|rate| rate > 0.0),
            live: sum.live,
            is_over: sum.is_over(),
            is_reverting: sum.is_reverting(),
            times: sum.times,
            times_are_last: sum.times_are_last(),
        }
    }
}

impl<'a> TotalsWriter<'a> {
    fn new(members: &'a [TargetProcess], arguments: &'a arguments::WatchArguments) -> Self {
        TotalsWriter {
            members,
            arguments,
            began: Instant::now(),
            last: vec![Default::default(); members.len()],
            running: members.len(),
            exits: Vec::new(),
            drawn: DrawnLines(0),
            headed: None,
            explained: Vec::new(),
            printed: HashMap::new(),
        }
    }

    /// Writes one update whenever each process has sent new numbers. The first update waits until each process has
    /// sent some or failed to connect. Later updates wait at most half an interval longer than the interval.
    fn run(mut self, messages: &Receiver<TotalsMessage>) -> Result<Exit, Failure> {
        let interval = Duration::from_millis(self.arguments.interval.into());
        let mut left = self.arguments.count.unwrap_or(u64::MAX);
        let mut latest: Option<Instant> = None;
        while left > 0 {
            let next = match latest {
                Some(latest) => messages.recv_timeout(latest.saturating_duration_since(Instant::now())),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok((place, what)) => {
                    self.take(place, what);
                    if !self.is_complete() {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.write()?;
                    break;
                }
            }
            self.write()?;
            self.last.iter_mut().for_each(|one| one.is_new = false);
            (left, latest) = (left - 1, Some(Instant::now() + interval + interval / 2));
        }
        let nothing =
            self.last.iter().any(|one| one.answered) && self.last.iter().all(|one| one.sums.is_empty());
        if let Some(pattern) = self.arguments.pattern.as_deref().filter(|_| left == 0 && nothing) {
            let why = format!("no dialled method matched '{}' while watching", printable(pattern));
            return Err(Failure::new(Exit::NothingMatched, why));
        }
        let still = std::iter::repeat_n(Exit::Done, self.running);
        Ok(combined(self.exits.into_iter().chain(still)))
    }

    /// Returns whether each running process has sent new numbers.
    fn is_complete(&self) -> bool {
        self.running > 0 && self.last.iter().all(|one| one.is_new || one.ended)
    }

    fn take(&mut self, place: usize, what: WatchEvent<ProcessTotals>) {
        let Some((member, last)) = self.members.get(place).zip(self.last.get_mut(place)) else { return };
        match what {
            WatchEvent::Numbers((sums, dropped)) => {
                *last = LastTotals { sums, dropped, answered: true, is_new: true, ended: false };
            }
            WatchEvent::Ended(outcome) => {
                last.ended = true;
                for (name, sum) in last.sums.rows(true) {
                    if let Some(printed) = self.printed.get_mut(name) {
                        printed.live = printed.live.saturating_sub(sum.live);
                    }
                }
                last.sums.end();
                self.running -= 1;
                self.exits.push(exit(member, outcome, &mut self.drawn));
            }
        }
    }

    /// Returns the number of processes that sent numbers and have ended.
    fn ended(&self) -> usize {
        self.last.iter().filter(|one| one.answered && one.ended).count()
    }

    /// Returns the sums over all processes.
    fn sums(&self) -> MethodTotals {
        let mut sums = MethodTotals::default();
        self.last.iter().for_each(|one| sums.add(&one.sums));
        sums
    }

    fn write(&mut self) -> Result<(), Failure> {
        // Processes that were never reached are reported separately.
        if !self.last.iter().any(|one| one.answered) {
            return Ok(());
        }
        let sums = self.sums();
        let t_ms = self.began.elapsed().as_millis() as u64;
        let mut out = Out::new();
        match terminal().filter(|_| !self.arguments.json) {
            Some(size) => self.drawn.over(&mut out, &self.table(&sums, size))?,
            None if self.arguments.json => {
                let dropped = total(self.last.iter().map(|one| one.dropped));
                let (processes, ended) = (sums.processes() as u64, self.ended() as u64);
                out.json(&WatchSumJson { t_ms, processes, ended, dials: sums.json(self.limit()), dropped })?;
            }
            None => self.changes(&sums, t_ms).iter().try_for_each(|line| out.line(line))?,
        }
        out.flush()
    }

    fn table(&self, sums: &MethodTotals, (columns, rows): (usize, usize)) -> Vec<String> {
        let all = self.arguments.all;
        let remarks = sums.remarks(all);
        let notes = Notes::new(&remarks, sums.is_timed(all), (columns, rows));
        let most = rows.saturating_sub(4 + notes.lines()).max(1);
        let most = most.min(self.limit().unwrap_or(usize::MAX));
        let mut lines = vec![sums.line(self.ended(), all)];
        let table = sums.table(all, true, most, Some(columns));
        lines.extend(table.lines);
        lines.extend(page::left_out(table.more));
        lines.extend(notes.beneath(&table.left_out));
        lines.iter().map(|line| cut_middle(line, columns)).collect()
    }

    /// Returns the number of rows that the user asked for.
    fn limit(&self) -> Option<usize> {
        self.arguments.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Returns lines for a file or another program: headings, every method once, then the changes. The end of a
    /// process is one line.
    fn changes(&mut self, sums: &MethodTotals, t_ms: u64) -> Vec<String> {
        let time = time(t_ms);
        let mut lines = Vec::new();
        let before = self.headed.replace(sums.processes());
        if before.is_none() {
            lines.push(heading());
        }
        if before != self.headed {
            lines.push(format!("{time:>11}  {}", sums.line(self.ended(), self.arguments.all)));
        }
        for remark in sums.about_numbers(true) {
            if !self.explained.contains(&remark) {
                self.explained.push(remark);
                lines.push(remark.to_owned());
            }
        }
        for (name, sum) in sums.rows(true).into_iter().take(self.limit().unwrap_or(usize::MAX)) {
            let now = PrintedMethod::of(sum);
            let before = self.printed.get(name);
            let listed = before.is_some() || self.arguments.all || !now.is_over;
            if listed && before != Some(&now) {
                let times = times::summed_suffix(sum.times.as_ref(), sum.times_are_last());
                let name_and_times = printable(name) + &times;
                let state = sum.state(sums.processes());
                lines.push(columns(&time, &sum.calls(), &rate(sum.rate), &state, &name_and_times));
                self.printed.insert(name.to_owned(), now);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use redial_model::fixtures::{counters, row};
    use redial_protocol::diagnostics::RowNote;
    use redial_protocol::ids::ProcessKey;
    use redial_protocol::level::Level;
    use redial_protocol::message::StatusRow;
    use redial_protocol::state::CopyState;
    use redial_text::fixtures::times;

    fn members() -> [TargetProcess; 2] {
        [1, 2].map(|pid| TargetProcess { key: ProcessKey { pid, start: 1 }, name: String::new() })
    }

    fn arguments(pattern: Option<&str>, count: Option<u64>) -> arguments::WatchArguments {
        let target = Target::parse("1,2").expect("a list");
        let pattern = pattern.map(str::to_owned);
        arguments::WatchArguments {
            target,
            pattern,
            all: false,
            sum: true,
            interval: 1,
            count,
            limit: None,
            json: false,
        }
    }

    fn numbers(calls: u64) -> WatchEvent<ProcessTotals> {
        let mut dials = DialledCopies::default();
        dials.rows(vec![StatusRow { state: CopyState::Live, ..row(0, "Shop.Cart.Add", calls) }]);
        dials.first_interval_covers(1_000);
        dials.apply(counters(1_000, &[(0, 40)]));
        WatchEvent::Numbers((MethodTotals::of(&dials), 0))
    }

    fn unreachable() -> WatchEvent<ProcessTotals> {
        WatchEvent::Ended(Err(Failure::new(Exit::NoProcess, "there is no such process")))
    }

    #[test]
    fn a_file_gets_the_changes_of_the_sums() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = TotalsWriter::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, WatchEvent::Numbers((MethodTotals::default(), 0))));
        let mut dials = DialledCopies::default();
        dials.rows(vec![row(0, "Shop.Cart.Add", 5), row(1, "Shop.Cart.Take", 3)]);
        let sums = |dials: &DialledCopies| {
            let mut sums = MethodTotals::of(dials);
            sums.add(&MethodTotals::of(dials));
            sums
        };
        let lines = writer.changes(&sums(&dials), 1_000);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[1].ends_with("2 processes: 2 methods dialled, 16 calls"), "{lines:#?}");
        assert!(writer.changes(&sums(&dials), 2_000).is_empty());
        dials.first_interval_covers(1_000);
        dials.apply(counters(1_000, &[(1, 20)]));
        let lines = writer.changes(&sums(&dials), 3_000);
        assert_eq!(
            lines,
            ["    3.000 s               46            40  0 of 2 live    Shop!Shop.Cart.Take()"]
        );
    }

    #[test]
    fn the_end_of_a_process_is_one_line_in_a_file() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = TotalsWriter::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, numbers(100)));
        let lines = writer.changes(&writer.sums(), 1_000);
        assert!(lines.len() == 3 && lines[2].contains("  2 of 2 live  "), "{lines:#?}");
        writer.take(1, WatchEvent::Ended(Ok(Exit::Done)));
        let lines = writer.changes(&writer.sums(), 2_000);
        assert!(
            lines.len() == 1 && lines[0].contains("  1 process, 1 ended: 1 method dialled"),
            "{lines:#?}"
        );
        writer.take(0, numbers(101));
        let lines = writer.changes(&writer.sums(), 3_000);
        assert!(lines.len() == 1 && lines[0].contains("  1 of 1 live  "), "{lines:#?}");
    }

    #[test]
    fn explains_once_that_a_number_misses_calls() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = TotalsWriter::new(&members, &arguments);
        let mut dials = DialledCopies::default();
        let note = Some(RowNote::Inlined);
        dials.rows(vec![StatusRow { state: CopyState::Live, note, ..row(0, "Shop.Cart.Add", 5) }]);
        let sums = MethodTotals::of(&dials);
        let lines = writer.changes(&sums, 1_000);
        assert!(lines[2].starts_with('≥') && lines[3].contains("≥5 "), "{lines:#?}");
        assert!(writer.changes(&sums, 2_000).is_empty());
    }

    #[test]
    fn writes_changed_times_and_explains_sums_once() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = TotalsWriter::new(&members, &arguments);
        let mut dials = DialledCopies::default();
        let timed = |wanted| StatusRow { wanted, state: CopyState::Live, ..row(0, "Shop.Cart.Add", 5) };
        dials.rows(vec![timed(Level::Time)]);
        dials.times(vec![times(0)]);
        let lines = writer.changes(&MethodTotals::of(&dials), 1_000);
        assert_eq!(lines[2..4], [times::TIMED, times::WITHOUT_PERCENTILES]);
        assert!(
            lines[4].ends_with("Add()  max 17.2 s, total 1,100 s, self 550 s, exceptions 20, in flight 3"),
            "{lines:#?}"
        );
        assert!(writer.changes(&MethodTotals::of(&dials), 2_000).is_empty());
        dials.times(vec![Times { in_flight: 0, exits: 1_003, ..times(0) }]);
        let lines = writer.changes(&MethodTotals::of(&dials), 3_000);
        assert!(lines.len() == 1 && lines[0].ends_with("in flight 0"), "{lines:#?}");
        dials.rows(vec![timed(Level::Count)]);
        let lines = writer.changes(&MethodTotals::of(&dials), 4_000);
        assert!(lines.len() == 1 && lines[0].contains("Add()  last times: max 17.2 s"), "{lines:#?}");
    }

    #[test]
    fn an_update_waits_for_each_running_process() {
        let (members, arguments) = (members(), arguments(Some("Nope.*"), Some(1)));
        let mut writer = TotalsWriter::new(&members, &arguments);
        writer.take(0, WatchEvent::Numbers((MethodTotals::default(), 0)));
        assert!(!writer.is_complete(), "the other may still answer");
        writer.take(1, unreachable());
        assert!(writer.is_complete());
        let run = |whats: [WatchEvent<ProcessTotals>; 2]| {
            let (sender, messages) = std::sync::mpsc::sync_channel(2);
            for (place, what) in whats.into_iter().enumerate() {
                sender.send((place, what)).expect("there is room");
            }
            drop(sender);
            TotalsWriter::new(&members, &arguments).run(&messages)
        };
        let nothing = || WatchEvent::Numbers((MethodTotals::default(), 0));
        let nobody = run([unreachable(), unreachable()]).expect("each failure was reported separately");
        assert_eq!(nobody, Exit::NoProcess, "no process reported that nothing matched");
        let matched = run([nothing(), unreachable()]).map_err(|failure| failure.exit());
        assert_eq!(matched, Err(Exit::NothingMatched));
    }

    #[test]
    fn no_update_repeats_old_numbers() {
        let (members, arguments) =
            (members(), arguments::WatchArguments { interval: 60_000, ..arguments(Some("Nope.*"), Some(2)) });
        // Two updates from each process, the second ones late.
        let (sender, messages) = std::sync::mpsc::sync_channel(0);
        let sent = std::thread::scope(|scope| {
            let sending = scope.spawn(move || {
                let nothing = || WatchEvent::Numbers((MethodTotals::default(), 0));
                let places = [0, 1, 0, 0, 1, 1];
                places.into_iter().take_while(|place| sender.send((*place, nothing())).is_ok()).count()
            });
            assert!(
                TotalsWriter::new(&members, &arguments).run(&messages).is_err(),
                "two lines, and nothing matched"
            );
            drop(messages);
            sending.join().expect("it sends")
        });
        assert_eq!(sent, 5, "the second update waits for the last process");
    }

    #[test]
    fn only_the_calls_of_an_ended_process_stay() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = TotalsWriter::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, numbers(100)));
        let text = |writer: &TotalsWriter<'_>| {
            let sums = writer.sums();
            sums.line(writer.ended(), false) + &sums.table(false, true, 9, None).lines.join("\n")
        };
        let both = text(&writer);
        assert!(both.starts_with("2 processes: 1 method dialled, 280 calls, 80 per second"), "{both}");
        writer.take(1, WatchEvent::Ended(Ok(Exit::Done)));
        let one = text(&writer);
        assert!(one.starts_with("1 process, 1 ended: 1 method dialled, 280 calls, 40 per second"), "{one}");
        assert!(one.contains("1 of 1 live  Shop!Shop.Cart.Add()"), "{one}");
    }
}
