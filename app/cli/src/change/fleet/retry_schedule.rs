//! The retry schedule for followed processes in which the change failed. Pure.

use crate::target::TargetProcess;
use redial_link::exit::Exit;
use redial_model::fleet::NEWCOMER;
use redial_protocol::ids::ProcessKey;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The number of failures of a new process before one is reported: it may have just started.
const QUIET: usize = 3;

/// The processes and their next attempts.
#[derive(Debug, Default)]
pub struct RetrySchedule {
    known: BTreeMap<ProcessKey, Attempt>,
}

#[derive(Debug, Default)]
struct Attempt {
    failed: usize,
    /// The next attempt; `None` while a thread serves the process, or if a retry is pointless.
    next: Option<Instant>,
    /// Whether a retry is pointless.
    is_final: bool,
    reported: bool,
}

impl RetrySchedule {
    /// Notes that a thread serves the process.
    pub fn served(&mut self, key: ProcessKey) {
        self.known.entry(key).or_default().next = None;
    }

    /// Notes a failure and schedules the next attempt.
    pub fn failed(&mut self, key: ProcessKey, exit: Exit, now: Instant) {
        let known = self.known.entry(key).or_default();
        let wait = NEWCOMER.get(known.failed).or(NEWCOMER.last()).copied().unwrap_or_default();
        // Waiting does not resolve these.
        known.is_final = matches!(exit, Exit::Usage | Exit::ControlHeld | Exit::NothingMatched);
        known.next = (!known.is_final).then(|| now + wait);
        known.failed += 1;
    }

    /// Notes that the failure was reported.
    pub fn reported(&mut self, key: ProcessKey) {
        self.known.entry(key).or_default().reported = true;
    }

    /// Returns whether the failure should be reported now.
    pub fn should_report(&self, key: ProcessKey) -> bool {
        let worth = |known: &Attempt| !known.reported && (known.is_final || known.failed >= QUIET);
        self.known.get(&key).is_some_and(worth)
    }

    /// Removes a process that has ended.
    pub fn forget(&mut self, key: ProcessKey) {
        self.known.remove(&key);
    }

    /// Returns the running processes that are new or due for a retry, and removes those that are gone.
    pub fn due(&mut self, there: Vec<TargetProcess>, now: Instant) -> Vec<TargetProcess> {
        let keys: BTreeSet<ProcessKey> = there.iter().map(|member| member.key).collect();
        // A served process is removed when its thread reports the end.
        self.known.retain(|key, known| keys.contains(key) || known.next.is_none());
        let is_due = |member: &TargetProcess| match self.known.get(&member.key) {
            None => true,
            Some(known) => known.next.is_some_and(|next| next <= now),
        };
        there.into_iter().filter(is_due).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn member(pid: u32) -> TargetProcess {
        TargetProcess { key: ProcessKey { pid, start: 1 }, name: "Shop".into() }
    }

    fn pids(members: Vec<TargetProcess>) -> Vec<u32> {
        members.iter().map(|member| member.key.pid).collect()
    }

    #[test]
    fn new_processes_are_due_until_served() {
        let mut waiting = RetrySchedule::default();
        let now = Instant::now();
        assert_eq!(pids(waiting.due(vec![member(1), member(2)], now)), [1, 2]);
        waiting.served(member(1).key);
        assert_eq!(pids(waiting.due(vec![member(1), member(2)], now)), [2]);
        waiting.forget(member(1).key);
        assert_eq!(pids(waiting.due(vec![member(1)], now)), [1], "another process");
    }

    #[test]
    fn retries_with_growing_delays_and_reports_once() {
        let mut waiting = RetrySchedule::default();
        let began = Instant::now();
        let key = member(1).key;
        let mut reports = Vec::new();
        let mut now = began;
        for _ in 0..8 {
            assert_eq!(pids(waiting.due(vec![member(1)], now)), [1]);
            waiting.served(key);
            assert!(waiting.due(vec![member(1)], now + Duration::from_secs(3600)).is_empty());
            waiting.failed(key, Exit::NoAgent, now);
            reports.push(waiting.should_report(key));
            if waiting.should_report(key) {
                waiting.reported(key);
            }
            now = waiting.known[&key].next.expect("a retry is scheduled");
        }
        assert_eq!(reports, [false, false, true, false, false, false, false, false]);
        assert_eq!((now - began).as_secs(), 1 + 1 + 2 + 5 + 10 + 10 + 10);
        assert!(waiting.due(vec![], now).is_empty() && waiting.known.is_empty(), "it is gone");
    }

    #[test]
    fn reports_final_failures_at_once_without_retry() {
        let mut waiting = RetrySchedule::default();
        let key = member(1).key;
        waiting.failed(key, Exit::ControlHeld, Instant::now());
        assert!(waiting.should_report(key));
        assert!(waiting.due(vec![member(1)], Instant::now() + Duration::from_secs(3600)).is_empty());
    }
}
