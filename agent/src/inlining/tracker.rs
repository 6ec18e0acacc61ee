//! Tracks inlining by the JIT. A dialled copy must not be inlined, because inlined code does not count. For every
//! other copy it remembers the compiled callers that contain it, so that a dial knows which of them to recompile.
#![forbid(unsafe_code)]

use super::active_compilations::{ActiveCompilations, AwaitedCompilations};
use super::barrier_pause::BarrierPause;
use super::compilation_stack;
use super::method::Method;
use super::record::{InlinedPairs, KnownInliners};
use crate::sync::lock;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

/// `CorMethodImpl::miNoInlining`, `miNoOptimization` and `miAggressiveInlining` (ECMA-335 II.23.1.11).
const NO_INLINING: u32 = 0x0008;
const NO_OPTIMIZATION: u32 = 0x0040;
const AGGRESSIVE_INLINING: u32 = 0x0100;
/// Largest IL body, in bytes, that the JIT inlines by default: `DEFAULT_MAX_INLINE_SIZE` in its inline.h, and since
/// .NET 6 `JitExtDefaultPolicyMaxILProf` in its jitconfigvalues.h.
const MOST_INLINED: u32 = 100;
const MOST_INLINED_FROM_6: u32 = 1024;

/// Longest wait for compilations to end. On a busy machine one may take a second, and it may run code of the host,
/// such as a resolver, that takes any time. If the runtime would crash before that, the request is deferred.
const COMPILATION_WAIT: Duration = Duration::from_secs(1);
/// How long methods requested without an instrumented body stay forbidden to inline: the runtime checks its
/// versions before it calls `JITInlining`, so a thread may be past that check.
const INLINING_GRACE: Duration = Duration::from_secs(2);

/// How careful a request must be about concurrent inlining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierStrength {
    /// The runtime handles methods that were inlined meanwhile; it may miss calls until it recompiles the inliner.
    Lenient,
    /// The runtime crashes, so never request a method that may be being inlined.
    Methods,
    /// As `Methods`, and the runtime may also request inliners that only it knows.
    Everything,
}

/// Whether compiled callers contain a copy's code from before it was dialled, and will not be recompiled without
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inlined {
    /// None known.
    #[default]
    No,
    /// Possibly: the method was there before the agent, and the JIT inlines such methods.
    Perhaps,
    /// Certainly.
    Yes,
}

/// Whether the JIT of a runtime of this major version may inline a method with these flags (`CorMethodImpl`) and
/// this code size.
pub fn may_be_inlined(runtime_major: u16, impl_flags: u32, code_size: u32) -> bool {
    let forbidden = impl_flags & (NO_INLINING | NO_OPTIMIZATION) != 0;
    let most = if runtime_major >= 6 { MOST_INLINED_FROM_6 } else { MOST_INLINED };
    !forbidden && (code_size <= most || impl_flags & AGGRESSIVE_INLINING != 0)
}

/// The methods that must not be inlined.
#[derive(Default)]
struct Vetoed {
    /// Dialled copies.
    dialled: HashSet<Method>,
    /// Copies in other requests, and when they may be inlined again; None while the request runs.
    asked: HashMap<Method, Option<Instant>>,
    /// Nothing may be inlined.
    everything: bool,
}

impl Vetoed {
    fn contains(&self, callee: Method) -> bool {
        self.everything || self.dialled.contains(&callee) || self.asked.contains_key(&callee)
    }
}

/// The inlinings seen, and those forbidden.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<Vetoed>,
    /// Pairs of callee and compiled (or soon compiled) inliner: the JIT asks before it decides.
    held: Mutex<InlinedPairs>,
    active: ActiveCompilations,
    /// Limits how much of the time everything is forbidden.
    pause: Mutex<BarrierPause>,
    /// Compilations that ended while something was forbidden.
    restrained: AtomicU64,
}

impl Inlining {
    /// `JITInlining`: returns whether the callee may be inlined into `inliner` (None if it has no token), and if
    /// so, remembers it. (From .NET Core 3.0 on, the runtime itself refuses for dialled callees and does not ask.)
    /// `crashes`: the runtime would crash if the callee were requested meanwhile, so an inlining that cannot be
    /// remembered is refused.
    pub fn may_inline(&self, callee: Method, inliner: Option<Method>, crashes: bool) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.contains(callee) {
            return false;
        }
        // Keep `vetoed` locked: a veto that comes now must find the inlining allowed just before it.
        let noted =
            compilation_stack::number().is_some_and(|compilation| self.active.allow(compilation, callee));
        if crashes && !noted {
            return false;
        }
        lock(&self.held).note(callee, inliner);
        true
    }

    /// A compilation begins on this thread.
    pub fn compiling(&self, function: usize) {
        compilation_stack::begin(function, |compilation| self.active.end(compilation));
    }

    /// A compilation of a dynamic method begins on this thread.
    pub fn compiling_dynamic(&self, function: usize) {
        compilation_stack::begin_dynamic(function, |compilation| self.active.end(compilation));
    }

    /// A compilation of original code has ended on this thread.
    pub fn jit_finished(&self, function: usize) {
        self.compiled(function);
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.everything || !vetoed.dialled.is_empty() {
            self.restrained.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of compilations of original code that ended while a copy was dialled, so that their calls
    /// to it were not inlined, or while a request forbade all inlining, so that none of their calls were. (From .NET
    /// Core 3.0 on the runtime does not report which those are.)
    pub fn restrained(&self) -> u64 {
        self.restrained.load(Ordering::Relaxed)
    }

    /// A compilation has ended on this thread.
    pub fn compiled(&self, function: usize) {
        compilation_stack::end(function, |compilation| self.active.end(compilation));
    }

    /// Runs a request for these methods while none of them is being inlined: forbids new inlining of them, and
    /// waits for compilations that may contain them, at most until `stop`. With [`BarrierStrength::Everything`]
    /// this forbids all inlining in the process; after a vain wait there is a pause, in which such requests fail at
    /// once.
    ///
    /// # Errors
    /// The methods that a compilation may still inline, or may have inlined until just now; then the request did
    /// not run.
    pub fn with_barrier<T>(
        &self,
        methods: &[Method],
        strength: BarrierStrength,
        stop: impl Fn() -> bool,
        request: impl FnOnce() -> T,
    ) -> Result<T, HashSet<Method>> {
        let all: HashSet<Method> = methods.iter().copied().collect();
        let everything = strength == BarrierStrength::Everything;
        if everything && self.is_paused() {
            return Err(all);
        }
        self.change(|vetoed| {
            vetoed.everything = everything;
            vetoed.asked.extend(all.iter().map(|method| (*method, None)));
        });
        let wanted =
            if everything { AwaitedCompilations::All } else { AwaitedCompilations::Holding(all.clone()) };
        let is_free = self.active.wait_for(&wanted, COMPILATION_WAIT, &stop);
        let answer = match strength {
            _ if stop() => Err(all.clone()),
            _ if is_free || strength == BarrierStrength::Lenient => Ok(request()),
            BarrierStrength::Everything => Err(all.clone()),
            // Compilations that contained one at the timeout may have ended since.
            _ => Err(self.active.held(&all)),
        };
        let until = Instant::now() + INLINING_GRACE;
        self.change(|vetoed| {
            vetoed.everything = false;
            vetoed.asked.retain(|_, until| until.is_none_or(|until| until > Instant::now()));
            vetoed.asked.extend(all.into_iter().map(|method| (method, Some(until))));
        });
        if everything {
            let mut pause = lock(&self.pause);
            if is_free { pause.end() } else { pause.begin(Instant::now()) }
        }
        answer
    }

    /// Whether requests that forbid all inlining fail at once, because of recent vain waits.
    pub fn is_paused(&self) -> bool {
        lock(&self.pause).is_on(Instant::now())
    }

    /// Allows inlining again for methods requested long enough ago.
    pub fn lapse(&self) {
        let now = Instant::now();
        self.change(|vetoed| {
            vetoed.asked.retain(|_, until| until.is_none_or(|until| until > now));
            // A change of everything leaves room for all methods of the process.
            if vetoed.asked.len() < vetoed.asked.capacity() / 4 {
                vetoed.asked.shrink_to_fit();
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vetoed)) {
        change(&mut self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    /// Returns how long a request has been waiting for compilations to end; zero if none is.
    pub fn waits_for(&self) -> Duration {
        self.active.waits_for()
    }

    /// Forbids inlining of these callees from now on; returns for each the compiled methods that may already
    /// contain it.
    pub fn veto(&self, callees: impl Iterator<Item = Method> + Clone) -> Vec<KnownInliners> {
        self.change(|vetoed| vetoed.dialled.extend(callees.clone()));
        // Look up after the veto stands, so that no inlining falls between the two. The JIT waits for one callee at
        // most.
        callees.map(|callee| lock(&self.held).holders(callee)).collect()
    }

    /// Returns the compiled methods known to contain any of these callees, which must be sorted. Forbids nothing.
    /// The result is unordered and may contain duplicates.
    pub fn inliners_of(&self, callees: &[Method]) -> Vec<Method> {
        let mut inliners = Vec::new();
        self.in_parts(|pairs, from| pairs.inliners_of(callees, from, &mut inliners));
        inliners
    }

    /// Allows inlining of these callees again.
    pub fn allow(&self, callees: impl IntoIterator<Item = Method>) {
        self.change(|vetoed| {
            for callee in callees {
                vetoed.dialled.remove(&callee);
            }
            if vetoed.dialled.len() < vetoed.dialled.capacity() / 4 {
                vetoed.dialled.shrink_to_fit();
            }
        });
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.change(|vetoed| {
            vetoed.dialled.retain(|(of, _)| *of != module);
            vetoed.asked.retain(|(of, _), _| *of != module);
        });
        let mut gone = Vec::new();
        self.in_parts(|pairs, from| pairs.remove_methods(module, from, &mut gone));
        if !gone.is_empty() {
            self.in_parts(InlinedPairs::remove_pairs);
            lock(&self.held).reuse(gone);
        }
    }

    /// Goes through the entries in parts, locking anew for each: the JIT waits for one of them at most. `part` returns
    /// where the following part begins.
    fn in_parts(&self, mut part: impl FnMut(&mut InlinedPairs, usize) -> Option<usize>) {
        let mut from = Some(0);
        while let Some(at) = from {
            from = part(&mut lock(&self.held), at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 1);
    const CALLER: Method = (1, 2);

    #[test]
    fn knows_the_jits_inlining_limits() {
        for (major, flags, size, expected) in [
            (3, 0, 100, true),
            (3, 0, 101, false),
            (8, 0, 1024, true),
            (8, 0, 1025, false),
            (3, AGGRESSIVE_INLINING, 5000, true),
            (8, NO_INLINING, 1, false),
            (3, NO_INLINING | AGGRESSIVE_INLINING, 1, false),
            (8, NO_OPTIMIZATION, 1, false),
        ] {
            assert_eq!(may_be_inlined(major, flags, size), expected, "{major}: {flags:#x}, {size} bytes");
        }
    }

    #[test]
    fn requested_methods_are_not_inlined() {
        let inlining = Inlining::default();
        let other = (1, 3);
        inlining.veto([CALLEE].into_iter());
        inlining.compiling(10);
        assert!(inlining.may_inline(other, Some(CALLER), true));
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let ask = || inlining.may_inline(other, None, false);
                inlining.with_barrier(&[CALLEE, other], BarrierStrength::Methods, || false, ask)
            });
            inlining.compiled(10);
            assert_eq!(asking.join().expect("it asked"), Ok(false), "not during the request");
        });
        assert!(!inlining.may_inline(other, None, false), "nor a moment later");
        inlining.change(|vetoed| vetoed.asked.values_mut().for_each(|until| *until = Some(Instant::now())));
        inlining.lapse();
        assert!(inlining.may_inline(other, None, false), "it was forbidden for that long only");
        assert!(!inlining.may_inline(other, None, true), "no compilation is known");
        assert!(!inlining.may_inline(CALLEE, None, false), "the veto of a dial stays");
    }

    #[test]
    fn active_inlinings_block_requests_unless_care_is_little() {
        let inlining = Inlining::default();
        inlining.compiling(10);
        assert!(inlining.may_inline(CALLEE, Some(CALLER), true));
        let ask = |strength| inlining.with_barrier(&[CALLEE, CALLER], strength, || false, || ());
        assert_eq!(ask(BarrierStrength::Lenient), Ok(()));
        assert_eq!(ask(BarrierStrength::Methods), Err(HashSet::from([CALLEE])));
        assert_eq!(ask(BarrierStrength::Everything), Err(HashSet::from([CALLEE, CALLER])));
        inlining.change(|vetoed| vetoed.asked.clear());
        assert_eq!(ask(BarrierStrength::Everything), Err(HashSet::from([CALLEE, CALLER])));
        assert!(inlining.vetoed.read().unwrap().asked.is_empty(), "in the pause it forbids nothing");
        assert_eq!(
            inlining.with_barrier(&[CALLER], BarrierStrength::Methods, || false, || ()),
            Ok(()),
            "no compilation contains it"
        );
        assert_eq!(
            inlining.with_barrier(&[CALLER], BarrierStrength::Methods, || true, || ()),
            Err(HashSet::from([CALLER]))
        );
        inlining.compiled(10);
        while inlining.is_paused() {
            std::thread::yield_now();
        }
        assert_eq!(ask(BarrierStrength::Everything), Ok(()));
    }

    #[test]
    fn finds_inliners_in_every_part() {
        let inlining = Inlining::default();
        let callees: Vec<Method> = (0..5_000).map(|token| (1, token)).collect();
        callees.iter().for_each(|callee| assert!(inlining.may_inline(*callee, Some((2, callee.1)), false)));
        let mut found = inlining.inliners_of(&callees);
        found.sort_unstable();
        assert_eq!(found, (0..5_000).map(|token| (2, token)).collect::<Vec<Method>>());
        assert_eq!(inlining.inliners_of(&[(1, 4_999)]), [(2, 4_999)]);
    }

    #[test]
    fn returns_memory_of_large_changes() {
        const MANY: u32 = 40_000;
        let inlining = Inlining::default();
        let methods: Vec<Method> = (0..MANY).map(|token| (1, token)).collect();
        inlining.veto(methods.iter().copied());
        assert_eq!(inlining.with_barrier(&methods, BarrierStrength::Methods, || false, || ()), Ok(()));
        // One method is dialled anew, and stays on.
        inlining.change(|vetoed| {
            vetoed.asked.values_mut().for_each(|until| *until = Some(Instant::now()));
            vetoed.asked.insert((2, 1), None);
        });
        inlining.lapse();
        inlining.allow(methods.iter().copied().skip(1));
        let vetoed = inlining.vetoed.read().unwrap();
        assert_eq!((vetoed.asked.len(), vetoed.dialled.len()), (1, 1));
        assert!(vetoed.asked.capacity() < 100 && vetoed.dialled.capacity() < 100);
    }

    #[test]
    fn veto_finds_inliners_of_the_callee() {
        let inlining = Inlining::default();
        assert!(inlining.may_inline(CALLEE, Some(CALLER), false));
        let held = inlining.veto([CALLEE].into_iter());
        assert_eq!(held, [KnownInliners { inliners: vec![CALLER], incomplete: false }]);
        assert!(!inlining.may_inline(CALLEE, Some((1, 3)), false));
        inlining.allow([CALLEE]);
        assert!(inlining.may_inline(CALLEE, None, false));
        assert!(inlining.veto([CALLEE].into_iter()).iter().all(|holders| holders.incomplete));
    }
}
