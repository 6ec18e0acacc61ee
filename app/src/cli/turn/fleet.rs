//! A turn in several processes: each has a thread of its own, with a session that it keeps where dials are held or more
//! processes are to follow. One thread tells what came of it, and looks for processes that start later.

mod stay;
mod tell;
mod waiting;

use super::{Turned, Wanted};
use crate::cli::several::{Report, combined};
use crate::cli::target::{Member, Target};
use crate::exit::{Exit, Failure};
use crate::link::backoff::Backoff;
use crate::link::discover::Census;
use crate::output::{Out, sentence};
use crate::signals::Interrupts;
use redial_protocol::ids::ProcessKey;
use stay::{Stayed, Stop, still_runs};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use tell::Teller;
use waiting::Waiting;

/// How often it is looked for processes that start later.
const LOOK: Duration = Duration::from_secs(1);

/// What a member's thread has to tell.
enum News {
    /// What came of a turn; whether it was done there before.
    Turned(Report, bool),
    /// A sentence about it.
    Said(Member, String),
    /// Its connection was lost; it is tried again.
    Lost(Member, String),
    /// The process has ended.
    Ended(Member),
    /// Its thread ends.
    Done,
    /// Ctrl-C.
    Stopped,
}

/// Turns dials in every process meant, and in those that follow.
pub fn run(wanted: &Wanted<'_>, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let follow = wanted.options.follow;
    let members = match (wanted.target.find_some()?, follow) {
        ((members, None), _) => members,
        ((members, Some(missing)), true) => {
            sentence(format!("{missing} yet: waiting for one, until Ctrl-C"));
            members
        }
        ((_, Some(_)), false) => wanted.target.find()?,
    };
    let (sender, news) = channel();
    let stop = Stop::default();
    let (told, stopping) = (sender.clone(), stop.clone());
    interrupts.deliver_to(move || {
        stopping.set();
        // Nobody listens any more when all is told.
        let _ = told.send(News::Stopped);
    });
    let fleet = Fleet { wanted, interrupts, stop, sender };
    std::thread::scope(|scope| {
        let mut watch = Watch::new(&fleet, scope, news);
        let told = watch.run(members);
        // Whoever stays has nobody to tell any more.
        fleet.stop.set();
        if told.is_err() {
            interrupts.stop();
        }
        told
    })
}

/// What the members' threads share.
struct Fleet<'a> {
    wanted: &'a Wanted<'a>,
    interrupts: &'a Interrupts,
    stop: Stop,
    sender: Sender<News>,
}

impl Fleet<'_> {
    fn tell(&self, news: News) {
        // The telling thread is gone only when the program ends.
        let _ = self.sender.send(news);
    }

    /// The life of a member's thread. With `later` it also sets what matches nothing yet.
    fn serve(&self, member: &Member, later: bool) {
        self.turn_and_stay(member, later);
        self.tell(News::Done);
    }

    fn turn_and_stay(&self, member: &Member, mut later: bool) {
        let mut backoff = Backoff::default();
        let mut again = false;
        loop {
            let mut out = Out::memory();
            let turned = self.wanted.turn(member.key.pid, self.interrupts, later, &mut out);
            match turned {
                Ok(turned) => {
                    let Turned { exit, session, interrupted, .. } = turned;
                    self.tell(News::Turned(Report::new(member.clone(), out, Ok(exit)), again));
                    let stays = self.wanted.options.hold || self.wanted.options.follow;
                    if !stays || interrupted || self.stop.is_set() || exit == Exit::Failed {
                        // It gives control back at once; if it cannot, the end of the session does.
                        let _ = super::release(session);
                        return;
                    }
                    backoff.worked();
                    match self.stay(session, member) {
                        Stayed::Stopped => return,
                        Stayed::Ended => return self.tell(News::Ended(member.clone())),
                        Stayed::Lost(error) if !self.wanted.options.follow => {
                            let report = Report::new(member.clone(), Out::memory(), Err(error.into()));
                            return self.tell(News::Turned(report, true));
                        }
                        Stayed::Lost(error) => self.tell(News::Lost(member.clone(), error.to_string())),
                    }
                }
                Err(failure) if !again => {
                    return self.tell(News::Turned(Report::new(member.clone(), out, Err(failure)), false));
                }
                // That the connection is lost was told.
                Err(_) => {}
            }
            (again, later) = (true, true);
            if !self.stop.pause(backoff.failed()) {
                return;
            }
            if !still_runs(member.key) {
                return self.tell(News::Ended(member.clone()));
            }
        }
    }
}

/// The thread that tells.
struct Watch<'f, 's, 'e> {
    fleet: &'e Fleet<'f>,
    scope: &'s Scope<'s, 'e>,
    news: Receiver<News>,
    teller: Teller,
    /// How each process that was turned stands.
    exits: BTreeMap<ProcessKey, Exit>,
    waiting: Waiting,
    running: usize,
    stopped: bool,
}

impl<'f, 's, 'e> Watch<'f, 's, 'e> {
    fn new(fleet: &'e Fleet<'f>, scope: &'s Scope<'s, 'e>, news: Receiver<News>) -> Self {
        let teller = Teller::new(fleet.wanted.options.json, fleet.wanted.options.follow);
        let exits = BTreeMap::new();
        Watch { fleet, scope, news, teller, exits, waiting: Waiting::default(), running: 0, stopped: false }
    }

    fn start(&mut self, member: Member, later: bool) {
        self.running += 1;
        let fleet = self.fleet;
        self.waiting.served(member.key);
        self.scope.spawn(move || fleet.serve(&member, later));
    }

    fn run(&mut self, members: Vec<Member>) -> Result<Exit, Failure> {
        let wanted = self.fleet.wanted;
        let (expected, later) = (members.len(), wanted.options.later);
        members.into_iter().for_each(|member| self.start(member, later));
        // What came of the first of it is told together, in order.
        let (mut reports, mut queue) = (Vec::with_capacity(expected), Vec::new());
        while reports.len() < expected {
            match self.news.recv() {
                Ok(News::Turned(report, false)) => reports.push(report),
                Ok(other) => queue.push(other),
                Err(_) => break,
            }
        }
        reports.sort_by(|a, b| a.member.cmp(&b.member));
        for report in &reports {
            self.exits.insert(report.member.key, report.exit());
            if report.outcome.is_err() {
                self.waiting.failed(report.member.key, report.exit(), Instant::now());
                self.waiting.told(report.member.key);
            }
        }
        self.teller.first(&reports)?;
        let done = self.exits.values().filter(|exit| matches!(exit, Exit::Done | Exit::Partly)).count();
        self.teller.standing(wanted, done)?;
        queue.into_iter().try_for_each(|news| self.take(news))?;
        self.go_on(wanted.target)?;
        Ok(combined(self.exits.values().copied()))
    }

    fn go_on(&mut self, target: &Target) -> Result<(), Failure> {
        let follow = self.fleet.wanted.options.follow;
        let mut census = Census::default();
        let mut look = Instant::now();
        while self.running > 0 || (follow && !self.stopped) {
            let patience = match follow && !self.stopped {
                true => look.saturating_duration_since(Instant::now()),
                false => Duration::MAX,
            };
            match self.news.recv_timeout(patience) {
                Ok(news) => self.take(news)?,
                Err(RecvTimeoutError::Timeout) => {
                    self.look(&mut census, target);
                    look = Instant::now() + LOOK;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Starts with every process that is new, or whose time to be tried again has come.
    fn look(&mut self, census: &mut Census, target: &Target) {
        // What cannot be listed now can be a second later.
        if census.refresh().is_err() {
            return;
        }
        let there: Vec<Member> = census.processes().filter_map(|process| target.member(process)).collect();
        for member in self.waiting.due(there, Instant::now()) {
            self.start(member, true);
        }
    }

    fn take(&mut self, news: News) -> Result<(), Failure> {
        match news {
            News::Turned(report, again) => {
                let key = report.member.key;
                let first = !self.exits.contains_key(&key);
                if report.outcome.is_err() {
                    self.waiting.failed(key, report.exit(), Instant::now());
                    // A process that only just starts has no agent yet: that is told when it stays so.
                    if !again && !self.waiting.is_worth_telling(key) {
                        return Ok(());
                    }
                    self.waiting.told(key);
                }
                self.exits.insert(key, report.exit());
                self.teller.one(&report, first, again)
            }
            News::Said(member, text) => self.teller.said(&member, &text),
            News::Lost(member, why) => self.teller.lost(&member, &why),
            News::Ended(member) => {
                self.waiting.forget(member.key);
                if !self.fleet.wanted.options.follow {
                    self.exits.insert(member.key, Exit::NoProcess);
                }
                self.teller.ended(&member)
            }
            News::Done => {
                self.running -= 1;
                Ok(())
            }
            News::Stopped => {
                self.stopped = true;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
