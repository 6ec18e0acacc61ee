//! What the JIT inlines. A copy whose dial is on must not be inlined (such code would not count); of every other it is
//! remembered where it was, so that a dial knows which compiled callers are to be recompiled without it.
#![forbid(unsafe_code)]

pub mod compiling;
mod record;
mod underway;

pub use record::Holders;

use crate::sync::lock;
use record::Pairs;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};
use underway::{Underway, Wanted};

/// A copy as callbacks name it: ModuleID and MethodDef token.
pub type Method = (usize, u32);

/// `CorMethodImpl::miNoInlining`, `miNoOptimization` and `miAggressiveInlining` (ECMA-335 II.23.1.11).
const NO_INLINING: u32 = 0x0008;
const NO_OPTIMIZATION: u32 = 0x0040;
const AGGRESSIVE_INLINING: u32 = 0x0100;
/// Bytes of IL that the JIT inlines at most without being asked to: `DEFAULT_MAX_INLINE_SIZE` in its inline.h, and since
/// .NET 6 `JitExtDefaultPolicyMaxILProf` in its jitconfigvalues.h.
const MOST_INLINED: u32 = 100;
const MOST_INLINED_FROM_6: u32 = 1024;

/// Longest wait for a compilation to end. On a busy machine one may take a second; and it may run code of the host, a
/// resolver for example, that takes as long as it likes. Where the runtime crashes if it is asked before, it is asked later.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long what was asked for without a body of ours may not be inlined yet: the runtime looks at its versions before it
/// calls `JITInlining`, so a thread may be past that look.
const GRACE: Duration = Duration::from_secs(2);

/// Who may be inlined where while a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// The runtime copes with what was inlined meanwhile; a call may be missed until the inliner is compiled anew.
    Little,
    /// It crashes, so nothing is asked that may be inlined at the time.
    Methods,
    /// The same, and it may ask for inliners that only it knows.
    Everything,
}

/// Whether compiled callers hold a copy's code from before it was dialled, and are not recompiled without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inlined {
    /// None that we know of.
    #[default]
    No,
    /// They may: it was there before the agent was, and the JIT inlines such methods.
    Perhaps,
    /// They do.
    Yes,
}

/// Whether the JIT of a runtime of this major version may inline a method with these flags (`CorMethodImpl`) and so much
/// code.
pub fn may_be_inlined(runtime_major: u16, impl_flags: u32, code_size: u32) -> bool {
    let forbidden = impl_flags & (NO_INLINING | NO_OPTIMIZATION) != 0;
    let most = if runtime_major >= 6 { MOST_INLINED_FROM_6 } else { MOST_INLINED };
    !forbidden && (code_size <= most || impl_flags & AGGRESSIVE_INLINING != 0)
}

/// What must not be inlined.
#[derive(Default)]
struct Vetoed {
    /// Copies that are dialled.
    dialled: HashSet<Method>,
    /// Copies that were asked for otherwise, and until when they may not be inlined; None while they are asked for.
    asked: HashMap<Method, Option<Instant>>,
    /// Nothing may be inlined.
    everything: bool,
}

impl Vetoed {
    fn contains(&self, callee: Method) -> bool {
        self.everything || self.dialled.contains(&callee) || self.asked.contains_key(&callee)
    }
}

/// Inlinings seen and forbidden.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<Vetoed>,
    /// Compiled with the callee in them, or about to be: the JIT asks before it decides.
    held: Mutex<Pairs>,
    underway: Underway,
    /// Compilations that ended while something was forbidden.
    restrained: AtomicU64,
}

impl Inlining {
    /// `JITInlining`: whether the callee may be inlined into what `inliner` names (None where it has no token). If so,
    /// remembers it. (From .NET Core 3.0 on nobody asks about a callee that is dialled: the runtime itself refuses.)
    /// `crashes`: the runtime would, were the callee asked for meanwhile; so what cannot be remembered is not inlined.
    pub fn may_inline(&self, callee: Method, inliner: Option<Method>, crashes: bool) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.contains(callee) {
            return false;
        }
        // `vetoed` stays locked: a veto that comes now must find what was allowed just before it.
        let noted = compiling::number().is_some_and(|compilation| self.underway.allow(compilation, callee));
        if crashes && !noted {
            return false;
        }
        lock(&self.held).note(callee, inliner);
        true
    }

    /// A compilation begins on this thread.
    pub fn compiling(&self, function: usize) {
        compiling::begin(function, |compilation| self.underway.end(compilation));
    }

    /// A compilation of a dynamic method begins on this thread.
    pub fn compiling_dynamic(&self, function: usize) {
        compiling::begin_dynamic(function, |compilation| self.underway.end(compilation));
    }

    /// A compilation of original code has ended on this thread.
    pub fn jit_finished(&self, function: usize) {
        self.compiled(function);
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !vetoed.dialled.is_empty() {
            self.restrained.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Compilations of original code that ended while a copy was dialled: who calls it there keeps the call. (From .NET Core
    /// 3.0 on nobody says which those are.)
    pub fn restrained(&self) -> u64 {
        self.restrained.load(Ordering::Relaxed)
    }

    /// A compilation has ended on this thread.
    pub fn compiled(&self, function: usize) {
        compiling::end(function, |compilation| self.underway.end(compilation));
    }

    /// Carries out a request for these methods, with care that none of them is being inlined anywhere: lets no inlining
    /// begin, and waits for compilations that may hold them, until `stop` at most.
    ///
    /// # Errors
    /// Those of the methods that a compilation may still inline, or may have until a moment ago; then nothing was asked for.
    pub fn apart<T>(
        &self,
        methods: &[Method],
        care: Care,
        stop: impl Fn() -> bool,
        request: impl FnOnce() -> T,
    ) -> Result<T, HashSet<Method>> {
        let all: HashSet<Method> = methods.iter().copied().collect();
        self.change(|vetoed| {
            vetoed.everything = care == Care::Everything;
            vetoed.asked.extend(all.iter().map(|method| (*method, None)));
        });
        let wanted = if care == Care::Everything { Wanted::Any } else { Wanted::Some(all.clone()) };
        let settled = self.underway.settle(&wanted, PATIENCE, &stop);
        let answer = match care {
            _ if stop() => Err(all.clone()),
            _ if settled || care == Care::Little => Ok(request()),
            Care::Everything => Err(all.clone()),
            // Who held one when time was up may have ended since.
            _ => Err(self.underway.held(&all)),
        };
        let until = Instant::now() + GRACE;
        self.change(|vetoed| {
            vetoed.everything = false;
            vetoed.asked.retain(|_, until| until.is_none_or(|until| until > Instant::now()));
            vetoed.asked.extend(all.into_iter().map(|method| (method, Some(until))));
        });
        answer
    }

    /// Lets those be inlined again that were asked for long enough ago.
    pub fn lapse(&self) {
        let now = Instant::now();
        self.change(|vetoed| {
            vetoed.asked.retain(|_, until| until.is_none_or(|until| until > now));
            if vetoed.asked.is_empty() {
                vetoed.asked = HashMap::new();
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vetoed)) {
        change(&mut self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    /// How long a request has waited for compilations to end; zero when none does.
    pub fn waits_for(&self) -> Duration {
        self.underway.waits_for()
    }

    /// Forbids inlining of callees from now on; answers for each which compiled methods may hold it already.
    pub fn veto(&self, callees: impl Iterator<Item = Method> + Clone) -> Vec<Holders> {
        self.change(|vetoed| vetoed.dialled.extend(callees.clone()));
        // Looked up after the veto stands, so that no inlining falls between the two. The JIT waits for one callee at most.
        callees.map(|callee| lock(&self.held).holders(callee)).collect()
    }

    /// Which compiled methods are known to hold any of these callees, sorted ones; nothing is forbidden. In no order, some
    /// perhaps twice.
    pub fn inliners_of(&self, callees: &[Method]) -> Vec<Method> {
        let mut inliners = Vec::new();
        let mut from = Some(0);
        while let Some(at) = from {
            // Locked anew for each part: the JIT waits for one of them at most.
            from = lock(&self.held).inliners_of(callees, at, &mut inliners);
        }
        inliners
    }

    /// Allows them again.
    pub fn allow(&self, callees: impl IntoIterator<Item = Method>) {
        self.change(|vetoed| {
            for callee in callees {
                vetoed.dialled.remove(&callee);
            }
            if vetoed.dialled.is_empty() {
                vetoed.dialled = HashSet::new();
            }
        });
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.change(|vetoed| {
            vetoed.dialled.retain(|(of, _)| *of != module);
            vetoed.asked.retain(|(of, _), _| *of != module);
        });
        lock(&self.held).forget(module);
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        let dialled = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner()).dialled.len();
        // An entry has 16 bytes and one of control; one in eight stays empty. What was asked for a moment ago is left out.
        dialled * 17 * 8 / 7 + lock(&self.held).bytes() + self.underway.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 1);
    const CALLER: Method = (1, 2);

    #[test]
    fn what_the_jit_may_inline() {
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
    fn nothing_is_inlined_while_it_is_asked_for() {
        let inlining = Inlining::default();
        let other = (1, 3);
        inlining.veto([CALLEE].into_iter());
        inlining.compiling(10);
        assert!(inlining.may_inline(other, Some(CALLER), true));
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let ask = || inlining.may_inline(other, None, false);
                inlining.apart(&[CALLEE, other], Care::Methods, || false, ask)
            });
            inlining.compiled(10);
            assert_eq!(asking.join().expect("it asked"), Ok(false), "not while it is asked for");
        });
        assert!(!inlining.may_inline(other, None, false), "nor a moment later");
        inlining.change(|vetoed| vetoed.asked.values_mut().for_each(|until| *until = Some(Instant::now())));
        inlining.lapse();
        assert!(inlining.may_inline(other, None, false), "it was forbidden for that long only");
        assert!(!inlining.may_inline(other, None, true), "nobody knows what is compiled");
        assert!(!inlining.may_inline(CALLEE, None, false), "the veto of a dial stays");
    }

    #[test]
    fn what_stays_under_way_is_asked_for_where_the_runtime_copes_only() {
        let inlining = Inlining::default();
        inlining.compiling(10);
        assert!(inlining.may_inline(CALLEE, Some(CALLER), true));
        let ask = |care| inlining.apart(&[CALLEE, CALLER], care, || false, || ());
        assert_eq!(ask(Care::Little), Ok(()));
        assert_eq!(ask(Care::Methods), Err(HashSet::from([CALLEE])));
        assert_eq!(ask(Care::Everything), Err(HashSet::from([CALLEE, CALLER])));
        assert_eq!(inlining.apart(&[CALLER], Care::Methods, || false, || ()), Ok(()), "nobody holds it");
        assert_eq!(inlining.apart(&[CALLER], Care::Methods, || true, || ()), Err(HashSet::from([CALLER])));
        inlining.compiled(10);
        assert_eq!(ask(Care::Everything), Ok(()));
    }

    #[test]
    fn inliners_are_found_in_every_part() {
        let inlining = Inlining::default();
        let callees: Vec<Method> = (0..5_000).map(|token| (1, token)).collect();
        callees.iter().for_each(|callee| assert!(inlining.may_inline(*callee, Some((2, callee.1)), false)));
        let mut found = inlining.inliners_of(&callees);
        found.sort_unstable();
        assert_eq!(found, (0..5_000).map(|token| (2, token)).collect::<Vec<Method>>());
        assert_eq!(inlining.inliners_of(&[(1, 4_999)]), [(2, 4_999)]);
    }

    #[test]
    fn a_veto_finds_who_holds_the_callee() {
        let inlining = Inlining::default();
        assert!(inlining.may_inline(CALLEE, Some(CALLER), false));
        let held = inlining.veto([CALLEE].into_iter());
        assert_eq!(held, [Holders { inliners: vec![CALLER], incomplete: false }]);
        assert!(!inlining.may_inline(CALLEE, Some((1, 3)), false));
        inlining.allow([CALLEE]);
        assert!(inlining.may_inline(CALLEE, None, false));
        assert!(inlining.veto([CALLEE].into_iter()).iter().all(|holders| holders.incomplete));
    }
}
