//! Processes of a followed name in which nothing could be turned yet: when each is tried again. Pure.
#![forbid(unsafe_code)]

use crate::cli::target::Member;
use crate::exit::Exit;
use crate::model::fleet::NEWCOMER;
use redial_protocol::ids::ProcessKey;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Failures of a new process that are kept to oneself: it may only just have started.
const QUIET: usize = 3;

/// What is known of them.
#[derive(Debug, Default)]
pub struct Waiting {
    known: BTreeMap<ProcessKey, Try>,
}

#[derive(Debug, Default)]
struct Try {
    failed: usize,
    /// None: a thread is with it, or nothing will come of it.
    next: Option<Instant>,
    /// Whether nothing will.
    is_final: bool,
    told: bool,
}

impl Waiting {
    /// A thread is with it.
    pub fn served(&mut self, key: ProcessKey) {
        self.known.entry(key).or_default().next = None;
    }

    /// Nothing could be turned in it.
    pub fn failed(&mut self, key: ProcessKey, exit: Exit, now: Instant) {
        let known = self.known.entry(key).or_default();
        let wait = NEWCOMER.get(known.failed).or(NEWCOMER.last()).copied().unwrap_or_default();
        // These do not change by waiting.
        known.is_final = matches!(exit, Exit::Usage | Exit::ControlHeld | Exit::NothingMatched);
        known.next = (!known.is_final).then(|| now + wait);
        known.failed += 1;
    }

    /// Its failure was told.
    pub fn told(&mut self, key: ProcessKey) {
        self.known.entry(key).or_default().told = true;
    }

    /// Whether its failure is to be told now.
    pub fn is_worth_telling(&self, key: ProcessKey) -> bool {
        let worth = |known: &Try| !known.told && (known.is_final || known.failed >= QUIET);
        self.known.get(&key).is_some_and(worth)
    }

    /// It has ended.
    pub fn forget(&mut self, key: ProcessKey) {
        self.known.remove(&key);
    }

    /// Of the processes that are there, those that are new or whose time has come. What is not there any more is
    /// forgotten.
    pub fn due(&mut self, there: Vec<Member>, now: Instant) -> Vec<Member> {
        let keys: BTreeSet<ProcessKey> = there.iter().map(|member| member.key).collect();
        // Those that a thread is with are forgotten when it says so.
        self.known.retain(|key, known| keys.contains(key) || known.next.is_none());
        let is_due = |member: &Member| match self.known.get(&member.key) {
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

    fn member(pid: u32) -> Member {
        Member { key: ProcessKey { pid, start: 1 }, name: "Shop".into() }
    }

    fn pids(members: Vec<Member>) -> Vec<u32> {
        members.iter().map(|member| member.key.pid).collect()
    }

    #[test]
    fn new_processes_are_due_until_a_thread_is_with_them() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        assert_eq!(pids(waiting.due(vec![member(1), member(2)], now)), [1, 2]);
        waiting.served(member(1).key);
        assert_eq!(pids(waiting.due(vec![member(1), member(2)], now)), [2]);
        waiting.forget(member(1).key);
        assert_eq!(pids(waiting.due(vec![member(1)], now)), [1], "another life");
    }

    #[test]
    fn failures_are_tried_again_rarer_and_told_once() {
        let mut waiting = Waiting::default();
        let began = Instant::now();
        let key = member(1).key;
        let mut told = Vec::new();
        let mut now = began;
        for _ in 0..8 {
            assert_eq!(pids(waiting.due(vec![member(1)], now)), [1]);
            waiting.served(key);
            assert!(waiting.due(vec![member(1)], now + Duration::from_secs(3600)).is_empty());
            waiting.failed(key, Exit::NoAgent, now);
            told.push(waiting.is_worth_telling(key));
            if waiting.is_worth_telling(key) {
                waiting.told(key);
            }
            now = waiting.known[&key].next.expect("it is tried again");
        }
        assert_eq!(told, [false, false, true, false, false, false, false, false]);
        assert_eq!((now - began).as_secs(), 1 + 1 + 2 + 5 + 10 + 10 + 10);
        assert!(waiting.due(vec![], now).is_empty() && waiting.known.is_empty(), "it is gone");
    }

    #[test]
    fn what_waiting_does_not_change_is_told_and_left() {
        let mut waiting = Waiting::default();
        let key = member(1).key;
        waiting.failed(key, Exit::ControlHeld, Instant::now());
        assert!(waiting.is_worth_telling(key));
        assert!(waiting.due(vec![member(1)], Instant::now() + Duration::from_secs(3600)).is_empty());
    }
}
