//! Inlinings that were allowed, in compilations that have not ended. Until then the JIT may still report one to the
//! runtime, and runtimes before 8.0 crash where the callee was asked to be recompiled meanwhile (dotnet/runtime 95653):
//! so a request waits for those that its methods are in.
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
/// What has not ended by then failed, of which nobody is told.
const FAILED: Duration = Duration::from_secs(60);

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
    callees: Vec<Method>,
}

impl Compilation {
    fn may_hold(&self, methods: &HashSet<Method>) -> bool {
        let many = self.callees.len() >= MAX_CALLEES;
        !self.has_failed() && (many || self.callees.iter().any(|callee| methods.contains(callee)))
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
        let begun = || Compilation { since: Instant::now(), callees: Vec::new() };
        let callees = &mut allowed.entry(compilation).or_insert_with(begun).callees;
        if callees.len() < MAX_CALLEES {
            callees.push(callee);
        }
        true
    }

    /// A compilation has ended.
    pub fn end(&self, compilation: u64) {
        if lock(&self.allowed).remove(&compilation).is_some() {
            self.ended.notify_all();
        }
    }

    /// Waits until no compilation is under way that may inline any of these, `longest` at most. Answers those that may be
    /// inlined all the same. Further inlining of them must be forbidden by now.
    pub fn settle(&self, methods: impl Iterator<Item = Method>, longest: Duration) -> HashSet<Method> {
        let mut allowed = lock(&self.allowed);
        if allowed.is_empty() {
            return HashSet::new();
        }
        let methods: HashSet<Method> = methods.collect();
        let deadline = Instant::now() + longest;
        let _waiting = Waiting::begin(&self.waits_since);
        while allowed.values().any(|one| one.may_hold(&methods)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let holding: Vec<&Compilation> =
                    allowed.values().filter(|one| one.may_hold(&methods)).collect();
                if holding.iter().any(|one| one.callees.len() >= MAX_CALLEES) {
                    return methods;
                }
                let held: HashSet<Method> =
                    holding.iter().flat_map(|one| one.callees.iter().copied()).collect();
                return held.intersection(&methods).copied().collect();
            }
            allowed = self.ended.wait_timeout(allowed, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        HashSet::new()
    }

    /// How long a request has waited for compilations to end; zero when none does.
    pub fn waits_for(&self) -> Duration {
        lock(&self.waits_since).map_or(Duration::ZERO, |since| since.elapsed())
    }
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

    #[test]
    fn a_request_waits_for_compilations_that_hold_its_methods() {
        let underway = Underway::default();
        assert!(underway.settle([CALLEE].into_iter(), LONG).is_empty());
        assert!(underway.allow(7, CALLEE) && underway.allow(8, (1, 2)));
        let began = Instant::now();
        assert!(underway.settle([(1, 3)].into_iter(), LONG).is_empty());
        assert!(began.elapsed() < LONG, "others are none of its business");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| underway.settle([CALLEE, (9, 9)].into_iter(), LONG));
            while underway.waits_for().is_zero() {
                std::thread::yield_now();
            }
            underway.end(8);
            underway.end(7);
            assert!(waiting.join().expect("it waited").is_empty());
        });
        assert!(underway.waits_for().is_zero());
        assert!(lock(&underway.allowed).is_empty());
    }

    #[test]
    fn what_does_not_end_is_told() {
        let underway = Underway::default();
        underway.allow(7, CALLEE);
        underway.allow(7, (1, 4));
        let began = Instant::now();
        assert_eq!(underway.settle([CALLEE, (1, 5)].into_iter(), SHORT), HashSet::from([CALLEE]));
        assert!(began.elapsed() >= SHORT);
        lock(&underway.allowed).values_mut().for_each(|one| one.since -= FAILED);
        assert!(underway.settle([CALLEE].into_iter(), LONG).is_empty(), "it failed long ago");
    }

    #[test]
    fn a_compilation_with_very_many_callees_may_hold_anything() {
        let underway = Underway::default();
        for token in 0..MAX_CALLEES as u32 + 10 {
            underway.allow(7, (2, token));
        }
        assert_eq!(lock(&underway.allowed)[&7].callees.len(), MAX_CALLEES);
        assert_eq!(underway.settle([CALLEE].into_iter(), SHORT), HashSet::from([CALLEE]));
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
