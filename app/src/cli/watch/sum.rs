//! The numbers of several processes as they change, added up, written once an interval.

use super::arguments;
use super::notes::Notes;
use super::screen::{Drawn, columns, heading, rate, time};
use super::threads::{What, exit, watch_each};
use crate::cli::several::combined;
use crate::cli::sums::{Sum, Sums};
use crate::cli::target::Member;
use crate::cli::times;
use crate::exit::{Exit, Failure};
use crate::model::dials::Dials;
use crate::output::json::WatchSumJson;
use crate::output::table::{cut_middle, printable};
use crate::output::{Out, json_line, terminal};
use crate::signals::Interrupts;
use redial_protocol::times::Times;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The sums of a process, and the updates that its agent dropped.
type Numbers = (Sums, u64);
type News = super::threads::News<Numbers>;

/// Watches all of them, until each has ended, so many sums were written, or Ctrl-C.
pub fn run(arguments: &arguments::Watch, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    // How often is counted where sums are written.
    let each = arguments::Watch { count: None, ..arguments.clone() };
    let sums = |_: &Member| |dials: &Dials| Ok((Sums::of(dials), dials.dropped()));
    watch_each(&members, &each, interrupts, sums, |news| Writer::new(&members, arguments).run(news))
}

/// Adds up and writes.
struct Writer<'a> {
    members: &'a [Member],
    arguments: &'a arguments::Watch,
    began: Instant,
    last: Vec<Last>,
    running: usize,
    exits: Vec<Exit>,
    drawn: Drawn,
    /// Processes that the last line on all of them counted.
    headed: Option<usize>,
    explained: Vec<&'static str>,
    said: HashMap<String, Said>,
}

/// What was heard of a process last.
#[derive(Clone, Default)]
struct Last {
    sums: Sums,
    /// Updates that its agent dropped.
    dropped: u64,
    /// It has sent numbers.
    answered: bool,
    /// They were not written yet.
    is_new: bool,
    ended: bool,
}

/// What of a method was printed last.
#[derive(PartialEq)]
struct Said {
    calls: u64,
    called: bool,
    live: u64,
    is_over: bool,
    is_reverting: bool,
    times: Option<Times>,
    times_are_last: bool,
}

impl Said {
    fn of(sum: &Sum) -> Said {
        Said {
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

impl<'a> Writer<'a> {
    fn new(members: &'a [Member], arguments: &'a arguments::Watch) -> Self {
        Writer {
            members,
            arguments,
            began: Instant::now(),
            last: vec![Default::default(); members.len()],
            running: members.len(),
            exits: Vec::new(),
            drawn: Drawn(0),
            headed: None,
            explained: Vec::new(),
            said: HashMap::new(),
        }
    }

    /// Writes, and counts a line, whenever each has sent numbers since the last one. Nothing is written before each has sent
    /// some or could not be reached: connecting gives up by itself. Later nobody is waited for longer than half an interval
    /// over its time.
    fn run(mut self, news: &Receiver<News>) -> Result<Exit, Failure> {
        let interval = Duration::from_millis(self.arguments.interval.into());
        let mut left = self.arguments.count.unwrap_or(u64::MAX);
        let mut latest: Option<Instant> = None;
        while left > 0 {
            let next = match latest {
                Some(latest) => news.recv_timeout(latest.saturating_duration_since(Instant::now())),
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
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
            let why = format!("no dialled method matched '{}' in all that time", printable(pattern));
            return Err(Failure::new(Exit::NothingMatched, why));
        }
        let still = std::iter::repeat_n(Exit::Done, self.running);
        Ok(combined(self.exits.into_iter().chain(still)))
    }

    /// Whether each that runs has sent numbers that were not written yet.
    fn is_complete(&self) -> bool {
        self.running > 0 && self.last.iter().all(|one| one.is_new || one.ended)
    }

    fn take(&mut self, place: usize, what: What<Numbers>) {
        let Some((member, last)) = self.members.get(place).zip(self.last.get_mut(place)) else { return };
        match what {
            What::Numbers((sums, dropped)) => {
                *last = Last { sums, dropped, answered: true, is_new: true, ended: false };
            }
            What::Ended(outcome) => {
                last.ended = true;
                for (name, sum) in last.sums.rows(true) {
                    if let Some(said) = self.said.get_mut(name) {
                        said.live = said.live.saturating_sub(sum.live);
                    }
                }
                last.sums.end();
                self.running -= 1;
                self.exits.push(exit(member, outcome, &mut self.drawn));
            }
        }
    }

    /// Processes that sent numbers and have ended.
    fn ended(&self) -> usize {
        self.last.iter().filter(|one| one.answered && one.ended).count()
    }

    /// What all of them say.
    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        self.last.iter().for_each(|one| sums.add(&one.sums));
        sums
    }

    fn write(&mut self) -> Result<(), Failure> {
        // Who was never reached says so in its own sentence.
        if !self.last.iter().any(|one| one.answered) {
            return Ok(());
        }
        let sums = self.sums();
        let t_ms = self.began.elapsed().as_millis() as u64;
        let mut out = Out::new();
        match terminal().filter(|_| !self.arguments.json) {
            Some(size) => self.drawn.over(&mut out, &self.table(&sums, size))?,
            None if self.arguments.json => {
                let dropped = self.last.iter().map(|one| one.dropped).sum();
                let (processes, ended) = (sums.processes() as u64, self.ended() as u64);
                out.line(&json_line(&WatchSumJson { t_ms, processes, ended, dials: sums.json(), dropped })?)?;
            }
            None => self.changes(&sums, t_ms).iter().try_for_each(|line| out.line(line))?,
        }
        out.flush()
    }

    fn table(&self, sums: &Sums, (columns, rows): (usize, usize)) -> Vec<String> {
        let all = self.arguments.all;
        let remarks = sums.remarks(all);
        let notes = Notes::new(&remarks, sums.is_timed(all), (columns, rows));
        let most = rows.saturating_sub(4 + notes.lines()).max(1);
        let mut lines = vec![sums.line(self.ended(), all)];
        let table = sums.table(all, true, most, Some(columns));
        lines.extend(table.lines);
        lines.extend(notes.beneath(&table.left_out));
        lines.iter().map(|line| cut_middle(line, columns)).collect()
    }

    /// Lines for a file or another program: headings, every method once, and from then on what changed. That a process has
    /// ended is one line.
    fn changes(&mut self, sums: &Sums, t_ms: u64) -> Vec<String> {
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
        for (name, sum) in sums.rows(true) {
            let now = Said::of(sum);
            let before = self.said.get(name);
            let told = before.is_some() || self.arguments.all || !now.is_over;
            if told && before != Some(&now) {
                let times = times::summed_suffix(sum.times.as_ref(), sum.times_are_last());
                let name_and_times = printable(name) + &times;
                let state = sum.state(sums.processes());
                lines.push(columns(&time, &sum.calls(), &rate(sum.rate), &state, &name_and_times));
                self.said.insert(name.to_owned(), now);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::target::Target;
    use crate::model::dials::tests::{counters, row, times};
    use redial_protocol::ids::ProcessKey;
    use redial_protocol::level::Level;
    use redial_protocol::message::StatusRow;
    use redial_protocol::state::State;

    fn members() -> [Member; 2] {
        [1, 2].map(|pid| Member { key: ProcessKey { pid, start: 1 }, name: String::new() })
    }

    fn arguments(pattern: Option<&str>, count: Option<u64>) -> arguments::Watch {
        let target = Target::parse("1,2").expect("a list");
        let pattern = pattern.map(str::to_owned);
        arguments::Watch { target, pattern, all: false, sum: true, interval: 1, count, json: false }
    }

    fn numbers(calls: u64) -> What<Numbers> {
        let mut dials = Dials::default();
        dials.rows(vec![StatusRow { state: State::Live, ..row(0, "Shop.Cart.Add", calls) }]);
        dials.first_fold_covers(1_000);
        dials.apply(counters(1_000, &[(0, 40)]));
        What::Numbers((Sums::of(&dials), 0))
    }

    fn unreachable() -> What<Numbers> {
        What::Ended(Err(Failure::new(Exit::NoProcess, "there is no such process")))
    }

    #[test]
    fn a_file_gets_what_changed_of_the_sums() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = Writer::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, What::Numbers((Sums::default(), 0))));
        let mut dials = Dials::default();
        dials.rows(vec![row(0, "Shop.Cart.Add", 5), row(1, "Shop.Cart.Take", 3)]);
        let sums = |dials: &Dials| {
            let mut sums = Sums::of(dials);
            sums.add(&Sums::of(dials));
            sums
        };
        let lines = writer.changes(&sums(&dials), 1_000);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[1].ends_with("2 processes: 2 methods dialled, 16 calls"), "{lines:#?}");
        assert!(writer.changes(&sums(&dials), 2_000).is_empty());
        dials.first_fold_covers(1_000);
        dials.apply(counters(1_000, &[(1, 20)]));
        let lines = writer.changes(&sums(&dials), 3_000);
        assert_eq!(
            lines,
            ["    3.000 s               46            40  0 of 2 live    Shop!Shop.Cart.Take()"]
        );
    }

    #[test]
    fn that_a_process_has_ended_is_one_line_in_a_file() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = Writer::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, numbers(100)));
        let lines = writer.changes(&writer.sums(), 1_000);
        assert!(lines.len() == 3 && lines[2].contains("  2 of 2 live  "), "{lines:#?}");
        writer.take(1, What::Ended(Ok(Exit::Done)));
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
    fn a_number_that_leaves_calls_out_is_explained_once() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = Writer::new(&members, &arguments);
        let mut dials = Dials::default();
        let note = Some("1 caller was inlined".to_owned());
        dials.rows(vec![StatusRow { state: State::Live, note, ..row(0, "Shop.Cart.Add", 5) }]);
        let sums = Sums::of(&dials);
        let lines = writer.changes(&sums, 1_000);
        assert!(lines[2].starts_with('≥') && lines[3].contains("≥5 "), "{lines:#?}");
        assert!(writer.changes(&sums, 2_000).is_empty());
    }

    #[test]
    fn a_file_gets_the_times_that_changed_and_hears_once_what_is_not_added_up() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = Writer::new(&members, &arguments);
        let mut dials = Dials::default();
        let timed = |wanted| StatusRow { wanted, state: State::Live, ..row(0, "Shop.Cart.Add", 5) };
        dials.rows(vec![timed(Level::Time)]);
        dials.times(vec![times(0)]);
        let lines = writer.changes(&Sums::of(&dials), 1_000);
        assert_eq!(lines[2..4], [times::TIMED, times::WITHOUT_PERCENTILES]);
        assert!(
            lines[4].ends_with("Add()  max 17.2 s, total 1,100 s, self 550 s, exceptions 20, in flight 3"),
            "{lines:#?}"
        );
        assert!(writer.changes(&Sums::of(&dials), 2_000).is_empty());
        dials.times(vec![Times { in_flight: 0, exits: 1_003, ..times(0) }]);
        let lines = writer.changes(&Sums::of(&dials), 3_000);
        assert!(lines.len() == 1 && lines[0].ends_with("in flight 0"), "{lines:#?}");
        dials.rows(vec![timed(Level::Count)]);
        let lines = writer.changes(&Sums::of(&dials), 4_000);
        assert!(lines.len() == 1 && lines[0].contains("Add()  last times: max 17.2 s"), "{lines:#?}");
    }

    #[test]
    fn a_line_waits_for_numbers_of_each_that_runs() {
        let (members, arguments) = (members(), arguments(Some("Nope.*"), Some(1)));
        let mut writer = Writer::new(&members, &arguments);
        writer.take(0, What::Numbers((Sums::default(), 0)));
        assert!(!writer.is_complete(), "the other may still answer");
        writer.take(1, unreachable());
        assert!(writer.is_complete());
        let run = |whats: [What<Numbers>; 2]| {
            let (sender, news) = std::sync::mpsc::sync_channel(2);
            for (place, what) in whats.into_iter().enumerate() {
                sender.send((place, what)).expect("there is room");
            }
            drop(sender);
            Writer::new(&members, &arguments).run(&news)
        };
        let nothing = || What::Numbers((Sums::default(), 0));
        let nobody = run([unreachable(), unreachable()]).expect("each was told of by itself");
        assert_eq!(nobody, Exit::NoProcess, "nobody said that nothing matched");
        let matched = run([nothing(), unreachable()]).map_err(|failure| failure.exit());
        assert_eq!(matched, Err(Exit::NothingMatched));
    }

    #[test]
    fn no_line_repeats_the_last_one_before_the_next_numbers_come() {
        let (members, arguments) =
            (members(), arguments::Watch { interval: 60_000, ..arguments(Some("Nope.*"), Some(2)) });
        // Two from each, the second ones late.
        let (sender, news) = std::sync::mpsc::sync_channel(0);
        let sent = std::thread::scope(|scope| {
            let sending = scope.spawn(move || {
                let nothing = || What::Numbers((Sums::default(), 0));
                let places = [0, 1, 0, 0, 1, 1];
                places.into_iter().take_while(|place| sender.send((*place, nothing())).is_ok()).count()
            });
            assert!(Writer::new(&members, &arguments).run(&news).is_err(), "two lines, and nothing matched");
            drop(news);
            sending.join().expect("it sends")
        });
        assert_eq!(sent, 5, "the second line is written at the second numbers of the last");
    }

    #[test]
    fn of_a_process_that_has_ended_only_its_calls_stay() {
        let (members, arguments) = (members(), arguments(None, None));
        let mut writer = Writer::new(&members, &arguments);
        (0..2).for_each(|place| writer.take(place, numbers(100)));
        let told = |writer: &Writer<'_>| {
            let sums = writer.sums();
            sums.line(writer.ended(), false) + &sums.table(false, true, 9, None).lines.join("\n")
        };
        let both = told(&writer);
        assert!(both.starts_with("2 processes: 1 method dialled, 280 calls, 80 per second"), "{both}");
        writer.take(1, What::Ended(Ok(Exit::Done)));
        let one = told(&writer);
        assert!(one.starts_with("1 process, 1 ended: 1 method dialled, 280 calls, 40 per second"), "{one}");
        assert!(one.contains("1 of 1 live  Shop!Shop.Cart.Add()"), "{one}");
    }
}
