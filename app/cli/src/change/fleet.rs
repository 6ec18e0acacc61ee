//! Changes dials in several processes. Each process has a thread with its own session, which stays open to hold dials
//! or with `--follow`. One thread reports the results and looks for processes that start later.

mod member_session;
mod report;
mod retry_schedule;
mod shared;
mod stop_flag;

use super::execution::{CompletedChange, release};
use super::request::ChangeRequest;
use crate::multi_process::{ProcessResult, combined};
use crate::output::{Out, sentence};
use crate::target::{Target, TargetProcess};
use member_session::{MemberEnd, still_runs};
use redial_link::backoff::Backoff;
use redial_link::discover::Census;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_protocol::ids::ProcessKey;
use report::FleetReporter;
use retry_schedule::RetrySchedule;
use shared::{FleetChange, MemberMessage};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use stop_flag::StopFlag;

/// How often to look for processes that start later.
const LOOK: Duration = Duration::from_secs(1);

/// Turns dials in every process of the target and, with `--follow`, in later ones.
pub fn run(wanted: &ChangeRequest<'_>, interrupts: &Interrupts) -> Result<Exit, Failure> {
    let follow = wanted.options.follow;
    let members = match (wanted.target.find_some()?, follow) {
        ((members, None), _) => members,
        ((members, Some(missing)), true) => {
            sentence(format!("{missing} yet; waiting for one until Ctrl-C"));
            members
        }
        ((_, Some(_)), false) => wanted.target.find()?,
    };
    let (sender, messages) = channel();
    let stop = StopFlag::default();
    let (interrupted, stopping) = (sender.clone(), stop.clone());
    interrupts.deliver_to(move || {
        stopping.set();
        // The receiver is gone once everything is reported.
        let _ = interrupted.send(MemberMessage::Stopped);
    });
    let fleet = FleetChange { wanted, interrupts, stop, sender };
    std::thread::scope(|scope| {
        let mut watch = FleetWatcher::new(&fleet, scope, messages);
        let outcome = watch.run(members);
        // End the threads that still run: nobody receives their messages.
        fleet.stop.set();
        if outcome.is_err() {
            interrupts.stop();
        }
        outcome
    })
}

impl FleetChange<'_> {
    /// Runs a member's thread. With `later`, also sets orders that match nothing yet.
    fn serve(&self, member: &TargetProcess, later: bool) {
        self.change_and_stay(member, later);
        self.send(MemberMessage::Done);
    }

    fn change_and_stay(&self, member: &TargetProcess, mut later: bool) {
        let mut backoff = Backoff::default();
        let mut again = false;
        loop {
            let mut out = Out::memory(1);
            let done = self.wanted.carry_out(member.key.pid, self.interrupts, later, &mut out);
            match done {
                Ok(done) => {
                    let CompletedChange { exit, session, interrupted, .. } = done;
                    self.send(MemberMessage::Turned(
                        ProcessResult::new(member.clone(), out, Ok(exit)),
                        again,
                    ));
                    let stays_connected = self.wanted.options.hold || self.wanted.options.follow;
                    if !stays_connected || interrupted || self.stop.is_set() || exit == Exit::Failed {
                        // If this fails, the end of the session releases control.
                        let _ = release(session);
                        return;
                    }
                    backoff.worked();
                    match self.stay(session, member) {
                        MemberEnd::Stopped => return,
                        MemberEnd::Ended => return self.send(MemberMessage::Ended(member.clone())),
                        MemberEnd::Lost(error) if !self.wanted.options.follow => {
                            let report =
                                ProcessResult::new(member.clone(), Out::memory(1), Err(error.into()));
                            return self.send(MemberMessage::Turned(report, true));
                        }
                        MemberEnd::Lost(error) => {
                            self.send(MemberMessage::Lost(member.clone(), error.to_string()))
                        }
                    }
                }
                Err(failure) if !again => {
                    return self.send(MemberMessage::Turned(
                        ProcessResult::new(member.clone(), out, Err(failure)),
                        false,
                    ));
                }
                // The lost connection is already reported.
                Err(_) => {}
            }
            (again, later) = (true, true);
            if !self.stop.pause(backoff.failed()) {
                return;
            }
            if !still_runs(member.key) {
                return self.send(MemberMessage::Ended(member.clone()));
            }
        }
    }
}

/// The thread that reports and starts new members.
struct FleetWatcher<'f, 's, 'e> {
    fleet: &'e FleetChange<'f>,
    scope: &'s Scope<'s, 'e>,
    messages: Receiver<MemberMessage>,
    reporter: FleetReporter,
    /// The last exit code of each process.
    exits: BTreeMap<ProcessKey, Exit>,
    waiting: RetrySchedule,
    running: usize,
    stopped: bool,
}

impl<'f, 's, 'e> FleetWatcher<'f, 's, 'e> {
    fn new(fleet: &'e FleetChange<'f>, scope: &'s Scope<'s, 'e>, messages: Receiver<MemberMessage>) -> Self {
        let reporter = FleetReporter::new(fleet.wanted.options.json, fleet.wanted.options.follow);
        let exits = BTreeMap::new();
        FleetWatcher {
            fleet,
            scope,
            messages,
            reporter,
            exits,
            waiting: RetrySchedule::default(),
            running: 0,
            stopped: false,
        }
    }

    fn start(&mut self, member: TargetProcess, later: bool) {
        self.running += 1;
        let fleet = self.fleet;
        self.waiting.served(member.key);
        self.scope.spawn(move || fleet.serve(&member, later));
    }

    fn run(&mut self, members: Vec<TargetProcess>) -> Result<Exit, Failure> {
        let wanted = self.fleet.wanted;
        let (expected, later) = (members.len(), wanted.options.later);
        members.into_iter().for_each(|member| self.start(member, later));
        // Report the first results together, in order.
        let (mut reports, mut queue) = (Vec::with_capacity(expected), Vec::new());
        while reports.len() < expected {
            match self.messages.recv() {
                Ok(MemberMessage::Turned(report, false)) => reports.push(report),
                Ok(other) => queue.push(other),
                Err(_) => break,
            }
        }
        reports.sort_by(|a, b| a.member.cmp(&b.member));
        for report in &reports {
            self.exits.insert(report.member.key, report.exit());
            if report.outcome.is_err() {
                self.waiting.failed(report.member.key, report.exit(), Instant::now());
                self.waiting.reported(report.member.key);
            }
        }
        self.reporter.first(&reports)?;
        let done = self.exits.values().filter(|exit| matches!(exit, Exit::Done | Exit::Partly)).count();
        self.reporter.lifetime(wanted, done)?;
        queue.into_iter().try_for_each(|message| self.take(message))?;
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
            match self.messages.recv_timeout(patience) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {
                    self.look(&mut census, target);
                    look = Instant::now() + LOOK;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Starts every process that is new or due for a retry.
    fn look(&mut self, census: &mut Census, target: &Target) {
        // If listing fails, try again a second later.
        if census.refresh().is_err() {
            return;
        }
        let there: Vec<TargetProcess> =
            census.processes().filter_map(|process| target.member(process)).collect();
        for member in self.waiting.due(there, Instant::now()) {
            self.start(member, true);
        }
    }

    fn take(&mut self, message: MemberMessage) -> Result<(), Failure> {
        match message {
            MemberMessage::Turned(report, again) => {
                let key = report.member.key;
                let first = !self.exits.contains_key(&key);
                if report.outcome.is_err() {
                    self.waiting.failed(key, report.exit(), Instant::now());
                    // A process that has just started has no agent yet; report that only if it persists.
                    if !again && !self.waiting.should_report(key) {
                        return Ok(());
                    }
                    self.waiting.reported(key);
                }
                self.exits.insert(key, report.exit());
                self.reporter.one(&report, first, again)
            }
            MemberMessage::Said(member, text) => self.reporter.notice(&member, &text),
            MemberMessage::Lost(member, why) => self.reporter.lost(&member, &why),
            MemberMessage::Ended(member) => {
                self.waiting.forget(member.key);
                if !self.fleet.wanted.options.follow {
                    self.exits.insert(member.key, Exit::NoProcess);
                }
                self.reporter.ended(&member)
            }
            MemberMessage::Done => {
                self.running -= 1;
                Ok(())
            }
            MemberMessage::Stopped => {
                self.stopped = true;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
