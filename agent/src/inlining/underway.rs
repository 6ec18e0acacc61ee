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
/// Longest wait: more than a thread that loads a module waits for ours, and more than a compilation takes. What has not
/// ended by then failed, of which nobody is told.
const PATIENCE: Duration = Duration::from_millis(250);

/// Allowed inlinings by the number of their compilation.
#[derive(Default)]
pub struct Underway {
    allowed: Mutex<HashMap<u64, Vec<Method>>>,
    ended: Condvar,
}

impl Underway {
    /// Notes that a compilation may inline a callee.
    pub fn allow(&self, compilation: u64, callee: Method) {
        let mut allowed = lock(&self.allowed);
        if allowed.len() >= MAX_COMPILATIONS && !allowed.contains_key(&compilation) {
            return;
        }
        let callees = allowed.entry(compilation).or_default();
        if callees.len() < MAX_CALLEES {
            callees.push(callee);
        }
    }

    /// A compilation has ended.
    pub fn end(&self, compilation: u64) {
        if lock(&self.allowed).remove(&compilation).is_some() {
            self.ended.notify_all();
        }
    }

    /// Waits until no compilation is under way that may inline any of these; a while at most. Further inlining of them
    /// must be forbidden by now.
    pub fn settle(&self, methods: impl Iterator<Item = Method>) {
        let mut allowed = lock(&self.allowed);
        if allowed.is_empty() {
            return;
        }
        let methods: HashSet<Method> = methods.collect();
        let holds = |callees: &Vec<Method>| {
            callees.len() >= MAX_CALLEES || callees.iter().any(|callee| methods.contains(callee))
        };
        let deadline = Instant::now() + PATIENCE;
        while allowed.values().any(holds) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Nobody is to wait for these again.
                allowed.retain(|_, callees| !holds(callees));
                return;
            }
            allowed = self.ended.wait_timeout(allowed, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 1);

    #[test]
    fn a_request_waits_for_compilations_that_hold_its_methods() {
        let underway = Underway::default();
        underway.settle([CALLEE].into_iter());
        underway.allow(7, CALLEE);
        underway.allow(8, (1, 2));
        let began = Instant::now();
        underway.settle([(1, 3)].into_iter());
        assert!(began.elapsed() < PATIENCE, "others are none of its business");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| underway.settle([CALLEE, (9, 9)].into_iter()));
            underway.end(8);
            underway.end(7);
            waiting.join().expect("it waited");
        });
        assert!(lock(&underway.allowed).is_empty());
    }

    #[test]
    fn what_never_ends_is_waited_for_once() {
        let underway = Underway::default();
        underway.allow(7, CALLEE);
        let began = Instant::now();
        underway.settle([CALLEE].into_iter());
        assert!(began.elapsed() >= PATIENCE);
        assert!(lock(&underway.allowed).is_empty(), "it is forgotten");
    }

    #[test]
    fn a_compilation_with_very_many_callees_may_hold_anything() {
        let underway = Underway::default();
        for token in 0..MAX_CALLEES as u32 + 10 {
            underway.allow(7, (2, token));
        }
        assert_eq!(lock(&underway.allowed)[&7].len(), MAX_CALLEES);
        let began = Instant::now();
        underway.settle([CALLEE].into_iter());
        assert!(began.elapsed() >= PATIENCE);
    }
}
