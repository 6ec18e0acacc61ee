//! Records the inlinings that were allowed in active compilations. Until its compilation ends, the JIT may still
//! report an inlining to the runtime, and some runtimes crash if the callee's recompilation was requested meanwhile
//! (`RuntimeIssue::InlinedMeanwhile`). So a request waits for the compilations that contain its methods.
#![forbid(unsafe_code)]

use super::method::Method;
use crate::sync::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Callees remembered per compilation; one with more counts as inlining every method.
const MAX_CALLEES: usize = 1024;
/// Compilations remembered: one per thread, plus failed ones.
const MAX_COMPILATIONS: usize = 4096;
/// A compilation still active after this time has failed, which the runtime does not report. (Or a resolver of the
/// host delayed it that long.)
const COMPILATION_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a waiting request checks whether it should stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Allowed inlinings, by compilation number.
#[derive(Default)]
pub struct ActiveCompilations {
    allowed: Mutex<HashMap<u64, Compilation>>,
    ended: Condvar,
    /// Since when a request has been waiting for compilations to end.
    waits_since: Mutex<Option<Instant>>,
}

/// A compilation in which inlinings were allowed.
struct Compilation {
    since: Instant,
    callees: HashSet<Method>,
}

impl Compilation {
    fn may_hold(&self, wanted: &AwaitedCompilations) -> bool {
        !self.has_failed()
            && match wanted {
                AwaitedCompilations::Holding(methods) => {
                    self.callees.len() >= MAX_CALLEES || !self.callees.is_disjoint(methods)
                }
                AwaitedCompilations::All => true,
            }
    }

    fn has_failed(&self) -> bool {
        self.since.elapsed() >= COMPILATION_TIMEOUT
    }
}

impl ActiveCompilations {
    /// Records that a compilation may inline a callee. Returns false if there is no room, and then it must not.
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

    /// Records that a compilation has ended.
    pub fn end(&self, compilation: u64) {
        if lock(&self.allowed).remove(&compilation).is_some() {
            self.ended.notify_all();
        }
    }

    /// Waits until no active compilation can inline the wanted methods, at most for `longest` or until `stop`.
    /// Returns whether none can. The caller must have forbidden further inlining.
    pub fn wait_for(&self, wanted: &AwaitedCompilations, longest: Duration, stop: impl Fn() -> bool) -> bool {
        let mut allowed = lock(&self.allowed);
        allowed.retain(|_, one| !one.has_failed());
        if allowed.is_empty() {
            return true;
        }
        let deadline = Instant::now() + longest;
        let _waiting = WaitMark::begin(&self.waits_since);
        while allowed.values().any(|one| one.may_hold(wanted)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                return false;
            }
            let next = left.min(STOP_CHECK_INTERVAL);
            allowed = self.ended.wait_timeout(allowed, next).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Returns the methods that active compilations may inline.
    pub fn held(&self, methods: &HashSet<Method>) -> HashSet<Method> {
        let allowed = lock(&self.allowed);
        let active = || allowed.values().filter(|one| !one.has_failed());
        if active().any(|one| one.callees.len() >= MAX_CALLEES) {
            return methods.clone();
        }
        active().flat_map(|one| one.callees.intersection(methods).copied()).collect()
    }

    /// Returns how long a request has been waiting for compilations to end; zero if none is.
    pub fn waits_for(&self) -> Duration {
        lock(&self.waits_since).map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// The compilations that a request must wait for.
pub enum AwaitedCompilations {
    /// Those that may inline one of these methods.
    Holding(HashSet<Method>),
    /// All in which anything was inlined.
    All,
}

/// Marks that a request is waiting, until dropped.
struct WaitMark<'a>(&'a Mutex<Option<Instant>>);

impl<'a> WaitMark<'a> {
    fn begin(since: &'a Mutex<Option<Instant>>) -> WaitMark<'a> {
        *lock(since) = Some(Instant::now());
        WaitMark(since)
    }
}

impl Drop for WaitMark<'_> {
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

    fn wanted<const N: usize>(methods: [Method; N]) -> AwaitedCompilations {
        AwaitedCompilations::Holding(HashSet::from(methods))
    }

    #[test]
    fn request_waits_for_compilations_with_its_methods() {
        let active = ActiveCompilations::default();
        let never = || false;
        assert!(active.wait_for(&wanted([CALLEE]), LONG, never));
        assert!(active.allow(7, CALLEE) && active.allow(8, (1, 2)));
        let began = Instant::now();
        assert!(active.wait_for(&wanted([(1, 3)]), LONG, never));
        assert!(began.elapsed() < LONG, "it ignores unrelated compilations");
        for waits_for in [wanted([CALLEE, (9, 9)]), AwaitedCompilations::All] {
            active.allow(7, CALLEE);
            active.allow(8, (1, 2));
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| active.wait_for(&waits_for, LONG, never));
                while active.waits_for().is_zero() {
                    std::thread::yield_now();
                }
                active.end(8);
                active.end(7);
                assert!(waiting.join().expect("it waited"));
            });
        }
        assert!(active.waits_for().is_zero());
        assert!(lock(&active.allowed).is_empty());
    }

    #[test]
    fn settle_gives_up_and_names_the_methods() {
        let active = ActiveCompilations::default();
        active.allow(7, CALLEE);
        active.allow(7, (1, 4));
        let began = Instant::now();
        assert!(!active.wait_for(&wanted([CALLEE, (1, 5)]), SHORT, || false));
        assert!(began.elapsed() >= SHORT);
        assert!(!active.wait_for(&wanted([CALLEE]), LONG, || true), "told to stop");
        assert!(began.elapsed() < LONG);
        assert_eq!(active.held(&HashSet::from([CALLEE, (1, 5)])), HashSet::from([CALLEE]));
        lock(&active.allowed).values_mut().for_each(|one| one.since -= COMPILATION_TIMEOUT);
        assert!(active.wait_for(&wanted([CALLEE]), LONG, || false), "it failed long ago");
    }

    #[test]
    fn too_many_callees_count_as_every_method() {
        let active = ActiveCompilations::default();
        for token in 0..MAX_CALLEES as u32 + 10 {
            active.allow(7, (2, token));
            active.allow(7, (2, 0));
        }
        assert_eq!(lock(&active.allowed)[&7].callees.len(), MAX_CALLEES);
        assert!(!active.wait_for(&wanted([CALLEE]), SHORT, || false));
        assert_eq!(active.held(&HashSet::from([CALLEE])), HashSet::from([CALLEE]));
    }

    #[test]
    fn full_table_allows_no_inlining() {
        let active = ActiveCompilations::default();
        for compilation in 0..MAX_COMPILATIONS as u64 {
            assert!(active.allow(compilation, CALLEE));
        }
        assert!(!active.allow(MAX_COMPILATIONS as u64, CALLEE));
        assert!(active.allow(0, CALLEE), "it is known");
        lock(&active.allowed).values_mut().for_each(|one| one.since -= COMPILATION_TIMEOUT);
        assert!(active.allow(MAX_COMPILATIONS as u64, CALLEE), "those that failed made room");
    }
}
