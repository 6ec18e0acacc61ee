//! Inlinings that were allowed, in compilations that have not ended. Until then the JIT may still report one to the
//! runtime, and some runtimes crash where the callee was asked to be recompiled meanwhile (`Known::InlinedMeanwhile`): so
//! a request waits for those that its methods are in.
#![forbid(unsafe_code)]

use super::Method;
use crate::sync::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Callees remembered of one compilation; of one with more every method is taken for inlined in it.
const MAX_CALLEES: usize = 1024;
/// Compilations remembered. There is one a thread, and those that failed.
const MAX_COMPILATIONS: usize = 4096;
/// What has not ended by then failed, of which nobody is told. (Or a resolver of the host has kept it as long as that.)
const FAILED: Duration = Duration::from_secs(120);
/// How often one that waits looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);

/// Allowed inlinings by the number of their compilation.
#[derive(Default)]
pub struct Underway {
    allowed: Mutex<HashMap<u64, Compilation>>,
    ended: Condvar,
    /// Since when a request waits for compilations to end.
    waits_since: Mutex<Option<Instant>>,
}

/// A compilation in which inlinings were allowed.
struct Compilation {
    since: Instant,
    callees: HashSet<Method>,
}

impl Compilation {
    fn may_hold(&self, wanted: &Wanted) -> bool {
        !self.has_failed()
            && match wanted {
                Wanted::Some(methods) => {
                    self.callees.len() >= MAX_CALLEES || !self.callees.is_disjoint(methods)
                }
                Wanted::Any => true,
            }
    }

    fn has_failed(&self) -> bool {
        self.since.elapsed() >= FAILED
    }
}

impl Underway {
    /// Notes that a compilation may inline a callee. False when there is no room to: then it must not.
    pub fn allow(&self, compilation: u64, callee: Method) -> bool {
        let mut allowed = lock(&self.allowed);
        if allowed.len() >= MAX_COMPILATIONS && !allowed.contains_key(&compilation) {
            allowed.retain(|_, one| !one.has_failed());
            if allowed.len() >= MAX_COMPILATIONS {
                return false;
            }
        }
        let begun = || Compilation { since: Instant::now(), callees: HashSet::new() };
        let callees = &mut allowed.entry(compilation).or_insert_with(begun).callees;
        if callees.len() < MAX_CALLEES {
            callees.insert(callee);
        }
        true
    }

    /// A compilation has ended.
    pub fn end(&self, compilation: u64) {
        if lock(&self.allowed).remove(&compilation).is_some() {
            self.ended.notify_all();
        }
    }

    /// Waits until no compilation is under way that may inline what is wanted, `longest` at most, or until `stop`. Whether
    /// there is none. Further inlining must be forbidden by now.
    pub fn settle(&self, wanted: &Wanted, longest: Duration, stop: impl Fn() -> bool) -> bool {
        let mut allowed = lock(&self.allowed);
        allowed.retain(|_, one| !one.has_failed());
        if allowed.is_empty() {
            return true;
        }
        let deadline = Instant::now() + longest;
        let _waiting = Waiting::begin(&self.waits_since);
        while allowed.values().any(|one| one.may_hold(wanted)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                return false;
            }
            let next = left.min(LOOK);
            allowed = self.ended.wait_timeout(allowed, next).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Which of these methods compilations under way may inline.
    pub fn held(&self, methods: &HashSet<Method>) -> HashSet<Method> {
        let allowed = lock(&self.allowed);
        let under_way = || allowed.values().filter(|one| !one.has_failed());
        if under_way().any(|one| one.callees.len() >= MAX_CALLEES) {
            return methods.clone();
        }
        under_way().flat_map(|one| one.callees.intersection(methods).copied()).collect()
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        // An entry has 16 bytes and one of control; one in eight stays empty.
        lock(&self.allowed).values().map(|one| one.callees.capacity() * 17 * 8 / 7).sum()
    }

    /// How long a request has waited for compilations to end; zero when none does.
    pub fn waits_for(&self) -> Duration {
        lock(&self.waits_since).map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Which compilations a request must wait for.
pub enum Wanted {
    /// Those that may inline one of these.
    Some(HashSet<Method>),
    /// All in which anything was inlined.
    Any,
}

/// A request that waits.
struct Waiting<'a>(&'a Mutex<Option<Instant>>);

impl<'a> Waiting<'a> {
    fn begin(since: &'a Mutex<Option<Instant>>) -> Waiting<'a> {
        *lock(since) = Some(Instant::now());
        Waiting(since)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 1);
    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(20);

    fn wanted<const N: usize>(methods: [Method; N]) -> Wanted {
        Wanted::Some(HashSet::from(methods))
    }

    #[test]
    fn a_request_waits_for_compilations_that_hold_its_methods() {
        let underway = Underway::default();
        let never = || false;
        assert!(underway.settle(&wanted([CALLEE]), LONG, never));
        assert!(underway.allow(7, CALLEE) && underway.allow(8, (1, 2)));
        let began = Instant::now();
        assert!(underway.settle(&wanted([(1, 3)]), LONG, never));
        assert!(began.elapsed() < LONG, "others are none of its business");
        for waits_for in [wanted([CALLEE, (9, 9)]), Wanted::Any] {
            underway.allow(7, CALLEE);
            underway.allow(8, (1, 2));
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| underway.settle(&waits_for, LONG, never));
                while underway.waits_for().is_zero() {
                    std::thread::yield_now();
                }
                underway.end(8);
                underway.end(7);
                assert!(waiting.join().expect("it waited"));
            });
        }
        assert!(underway.waits_for().is_zero());
        assert!(lock(&underway.allowed).is_empty());
    }

    #[test]
    fn what_does_not_end_is_told() {
        let underway = Underway::default();
        underway.allow(7, CALLEE);
        underway.allow(7, (1, 4));
        let began = Instant::now();
        assert!(!underway.settle(&wanted([CALLEE, (1, 5)]), SHORT, || false));
        assert!(began.elapsed() >= SHORT);
        assert!(!underway.settle(&wanted([CALLEE]), LONG, || true), "told to stop");
        assert!(began.elapsed() < LONG);
        assert_eq!(underway.held(&HashSet::from([CALLEE, (1, 5)])), HashSet::from([CALLEE]));
        lock(&underway.allowed).values_mut().for_each(|one| one.since -= FAILED);
        assert!(underway.settle(&wanted([CALLEE]), LONG, || false), "it failed long ago");
    }

    #[test]
    fn a_compilation_with_very_many_callees_may_hold_anything() {
        let underway = Underway::default();
        for token in 0..MAX_CALLEES as u32 + 10 {
            underway.allow(7, (2, token));
            underway.allow(7, (2, 0));
        }
        assert_eq!(lock(&underway.allowed)[&7].callees.len(), MAX_CALLEES);
        assert!(!underway.settle(&wanted([CALLEE]), SHORT, || false));
        assert_eq!(underway.held(&HashSet::from([CALLEE])), HashSet::from([CALLEE]));
    }

    #[test]
    fn where_no_more_can_be_remembered_nothing_is_allowed() {
        let underway = Underway::default();
        for compilation in 0..MAX_COMPILATIONS as u64 {
            assert!(underway.allow(compilation, CALLEE));
        }
        assert!(!underway.allow(MAX_COMPILATIONS as u64, CALLEE));
        assert!(underway.allow(0, CALLEE), "it is known");
        lock(&underway.allowed).values_mut().for_each(|one| one.since -= FAILED);
        assert!(underway.allow(MAX_COMPILATIONS as u64, CALLEE), "those that failed made room");
    }
}
