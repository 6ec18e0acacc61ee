//! What the JIT inlines. A copy whose dial is on must not be inlined (such code would not count); of every other it is
//! remembered where it was, so that a dial knows which compiled callers are to be recompiled without it.
#![forbid(unsafe_code)]

pub mod compiling;
mod record;
mod underway;

pub use record::Holders;

use crate::sync::lock;
use record::Pairs;
use std::collections::HashSet;
use std::sync::{Mutex, RwLock};
use std::time::Duration;
use underway::Underway;

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

/// Longest wait for a compilation to end, where the runtime crashes if it is asked before. On a busy machine one may take a
/// second; and it may run code of the host, a resolver for example, that takes as long as it likes.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where it does not: then calls may be missed until the inliner is compiled anew.
const SHORT_PATIENCE: Duration = Duration::from_millis(250);

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

/// Inlinings seen and forbidden.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<HashSet<Method>>,
    /// Compiled with the callee in them, or about to be: the JIT asks before it decides.
    held: Mutex<Pairs>,
    underway: Underway,
}

impl Inlining {
    /// `JITInlining`: whether the callee may be inlined into what `inliner` names (None where it has no token). If so,
    /// remembers it. (From .NET Core 3.0 on nobody asks about a callee that is dialled: the runtime itself refuses.)
    pub fn may_inline(&self, callee: Method, inliner: Option<Method>) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.contains(&callee) {
            return false;
        }
        // `vetoed` stays locked: a veto that comes now must find what was allowed just before it.
        if let Some(compilation) = compiling::number()
            && !self.underway.allow(compilation, callee)
        {
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

    /// A compilation has ended on this thread.
    pub fn compiled(&self, function: usize) {
        compiling::end(function, |compilation| self.underway.end(compilation));
    }

    /// Carries out a request for these methods while none of them is being inlined anywhere: waits for compilations that
    /// may do so, and lets none begin to. `crashes`: the runtime would, so after a long wait it is not asked; else it is
    /// asked after a short one.
    ///
    /// # Errors
    /// Those of the methods that a compilation may still inline; then nothing was asked for.
    pub fn apart<T>(
        &self,
        methods: &[Method],
        crashes: bool,
        request: impl FnOnce() -> T,
    ) -> Result<T, HashSet<Method>> {
        let mut added = Vec::new();
        {
            let mut vetoed = self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            added.extend(methods.iter().copied().filter(|method| vetoed.insert(*method)));
        }
        let longest = if crashes { PATIENCE } else { SHORT_PATIENCE };
        let held = self.underway.settle(methods.iter().copied(), longest);
        let answer = if held.is_empty() || !crashes { Ok(request()) } else { Err(held) };
        // Of what runs a body of ours the runtime itself refuses it from now on.
        self.allow(added);
        answer
    }

    /// How long a request has waited for compilations to end; zero when none does.
    pub fn waits_for(&self) -> Duration {
        self.underway.waits_for()
    }

    /// Forbids inlining of callees from now on; answers for each which compiled methods may hold it already.
    pub fn veto(&self, callees: impl Iterator<Item = Method> + Clone) -> Vec<Holders> {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(callees.clone());
        // Looked up after the veto stands, so that no inlining falls between the two.
        let held = lock(&self.held);
        callees.map(|callee| held.holders(callee)).collect()
    }

    /// Allows them again.
    pub fn allow(&self, callees: impl IntoIterator<Item = Method>) {
        let mut vetoed = self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        for callee in callees {
            vetoed.remove(&callee);
        }
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).retain(|(m, _)| *m != module);
        lock(&self.held).forget(module);
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner()).capacity();
        // An entry has 16 bytes and one of control; one in eight stays empty.
        vetoed * 17 * 8 / 7 + lock(&self.held).bytes()
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
        assert!(inlining.may_inline(other, Some(CALLER)));
        std::thread::scope(|scope| {
            let asking =
                scope.spawn(|| inlining.apart(&[CALLEE, other], true, || inlining.may_inline(other, None)));
            inlining.compiled(10);
            assert_eq!(asking.join().expect("it asked"), Ok(false), "not while it is asked for");
        });
        assert!(inlining.may_inline(other, None), "it was forbidden for that long only");
        assert!(!inlining.may_inline(CALLEE, None), "the veto of a dial stays");
    }

    #[test]
    fn a_veto_finds_who_holds_the_callee() {
        let inlining = Inlining::default();
        assert!(inlining.may_inline(CALLEE, Some(CALLER)));
        let held = inlining.veto([CALLEE].into_iter());
        assert_eq!(held, [Holders { inliners: vec![CALLER], incomplete: false }]);
        assert!(!inlining.may_inline(CALLEE, Some((1, 3))));
        inlining.allow([CALLEE]);
        assert!(inlining.may_inline(CALLEE, None));
        assert!(inlining.veto([CALLEE].into_iter()).iter().all(|holders| holders.incomplete));
    }
}
