//! The numbers of several processes as they change, added up: a thread each that asks, and one that adds up and writes
//! once an interval.

use super::screen::{Drawn, EXPLAINED, columns, heading, rate, time};
use super::{PROGRAM, arguments, ended, watch};
use crate::cli::several::{about, combined};
use crate::cli::sums::{Sum, Sums};
use crate::cli::target::Member;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::output::json::WatchSumJson;
use crate::output::table::{cut_middle, printable};
use crate::output::{Out, json_line, sentence, terminal};
use crate::signals::Interrupts;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Folds that wait to be added up.
const WAITING: usize = 64;

/// What a process's thread has to tell: its place among all, and what.
type News = (usize, What);

enum What {
    Numbers(Sums, u64),
    Ended(Result<Exit, Failure>),
}

/// Watches all of them, until each has ended, so many sums were written, or Ctrl-C.
pub fn run(arguments: &arguments::Watch, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    // How often is counted where sums are written.
    let each = arguments::Watch { count: None, ..arguments.clone() };
    let (sender, news) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        for (place, member) in members.iter().enumerate() {
            let (sender, each) = (sender.clone(), &each);
            scope.spawn(move || {
                let outcome = one(member, each, interrupts, place, &sender);
                // Nobody listens any more when enough was written.
                let _ = sender.send((place, What::Ended(outcome)));
            });
        }
        drop(sender);
        let written = Writer::new(&members, arguments).run(&news);
        drop(news);
        interrupts.stop();
        written
    })
}

fn one(
    member: &Member,
    arguments: &arguments::Watch,
    interrupts: &Interrupts,
    place: usize,
    sender: &SyncSender<News>,
) -> Result<Exit, Failure> {
    let mut session = connect::open(member.key.pid, PROGRAM)?;
    interrupts.deliver_to(session.interrupter());
    let show = &mut |dials: &_| {
        let numbers = What::Numbers(Sums::of(dials), dials.dropped());
        sender.send((place, numbers)).map_err(|_| Failure::ClosedPipe)
    };
    ended(watch(&mut session, arguments, show, &|text| sentence(about(member, &text))))
}

/// Adds up and writes.
struct Writer<'a> {
    members: &'a [Member],
    arguments: &'a arguments::Watch,
    began: Instant,
    /// The last numbers of each, and what its agent dropped: also of those that have ended.
    last: Vec<(Sums, u64)>,
    running: usize,
    exits: Vec<Exit>,
    drawn: Drawn,
    headed: bool,
    said: HashMap<String, Said>,
}

/// What of a method was printed last.
#[derive(PartialEq)]
struct Said {
    calls: u64,
    called: bool,
    state: String,
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
            headed: false,
            said: HashMap::new(),
        }
    }

    fn run(mut self, news: &Receiver<News>) -> Result<Exit, Failure> {
        let interval = Duration::from_millis(self.arguments.interval.into());
        let mut left = self.arguments.count.unwrap_or(u64::MAX);
        let mut due = self.began + interval;
        while left > 0 {
            match news.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok((place, what)) => self.take(place, what),
                Err(RecvTimeoutError::Timeout) => {
                    self.write()?;
                    (left, due) = (left - 1, due + interval);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.write()?;
                    break;
                }
            }
        }
        let nothing = self.last.iter().all(|(sums, _)| sums.is_empty());
        if let Some(pattern) = self.arguments.pattern.as_deref().filter(|_| left == 0 && nothing) {
            let why = format!("no dialled method matched '{}' in all that time", printable(pattern));
            return Err(Failure::new(Exit::NothingMatched, why));
        }
        let still = std::iter::repeat_n(Exit::Done, self.running);
        Ok(combined(self.exits.into_iter().chain(still)))
    }

    fn take(&mut self, place: usize, what: What) {
        match what {
            What::Numbers(sums, dropped) => {
                if let Some(last) = self.last.get_mut(place) {
                    *last = (sums, dropped);
                }
            }
            What::Ended(outcome) => {
                self.running -= 1;
                self.exits.push(outcome.as_ref().map_or_else(Failure::exit, |exit| *exit));
                if let (Err(failure @ Failure::Sentence { .. }), Some(member)) =
                    (outcome, self.members.get(place))
                {
                    // What stood on the terminal stays above the sentence.
                    self.drawn = Drawn(0);
                    sentence(about(member, &failure.to_string()));
                }
            }
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let mut sums = Sums::default();
        self.last.iter().for_each(|(one, _)| sums.add(one));
        let t_ms = self.began.elapsed().as_millis() as u64;
        let mut out = Out::new();
        match terminal().filter(|_| !self.arguments.json) {
            Some(size) => self.drawn.over(&mut out, &self.table(&sums, size))?,
            None if self.arguments.json => {
                let dropped = self.last.iter().map(|(_, dropped)| dropped).sum();
                let processes = self.members.len() as u64;
                out.line(&json_line(&WatchSumJson { t_ms, processes, dials: sums.json(), dropped })?)?;
            }
            None => self.changes(&sums, t_ms).iter().try_for_each(|line| out.line(line))?,
        }
        out.flush()
    }

    fn table(&self, sums: &Sums, (columns, rows): (usize, usize)) -> Vec<String> {
        let all = self.arguments.all;
        let explained = rows >= 8 && sums.rows(all).iter().any(|(_, sum)| sum.at_least > 0);
        let most = rows.saturating_sub(4 + usize::from(explained)).max(1);
        let mut lines = vec![sums.line(self.members.len(), all)];
        lines.extend(sums.table(all, true, most, Some(columns)));
        lines.extend(explained.then(|| EXPLAINED.to_owned()));
        lines.iter().map(|line| cut_middle(line, columns)).collect()
    }

    /// Lines for a file or another program: headings, every method once, and from then on what changed.
    fn changes(&mut self, sums: &Sums, t_ms: u64) -> Vec<String> {
        let time = time(t_ms);
        let mut lines = Vec::new();
        if !std::mem::replace(&mut self.headed, true) {
            lines.push(heading().replace("STATE", "LIVE "));
            lines.push(format!("{time:>11}  {}", sums.line(self.members.len(), self.arguments.all)));
        }
        for (name, sum) in sums.rows(true) {
            let now = said(sum);
            let before = self.said.get(name);
            let told = before.is_some() || self.arguments.all || now.state != "off";
            if told && before != Some(&now) {
                lines.push(columns(&time, &sum.calls(), &rate(sum.rate), &now.state, &printable(name)));
                self.said.insert(name.to_owned(), now);
            }
        }
        lines
    }
}

fn said(sum: &Sum) -> Said {
    Said { calls: sum.calls, called: sum.rate.is_some_and(|rate| rate > 0.0), state: sum.state() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::target::Target;
    use crate::model::dials::Dials;
    use crate::model::dials::tests::{counters, row};
    use redial_protocol::ids::ProcessKey;

    #[test]
    fn a_file_gets_what_changed_of_the_sums() {
        let member = |pid| Member { key: ProcessKey { pid, start: 1 }, name: String::new() };
        let members = [member(1), member(2)];
        let target = Target::parse("1,2").expect("a list");
        let arguments = arguments::Watch {
            target,
            pattern: None,
            all: false,
            sum: true,
            interval: 1_000,
            count: None,
            json: false,
        };
        let mut writer = Writer::new(&members, &arguments);
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
        assert_eq!(lines, ["    3.000 s               46            40  0 of 2     Shop!Shop.Cart.Take()"]);
    }
}
