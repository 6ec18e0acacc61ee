//! What the JIT inlines. A copy whose dial is on must not be inlined (such code would not count); of every other it is
//! remembered where it was, so that a dial knows which compiled callers are to be recompiled without it.
#![forbid(unsafe_code)]

pub mod compiling;
mod record;

pub use record::Holders;

use crate::sync::lock;
use record::Pairs;
use std::collections::HashSet;
use std::sync::{Mutex, RwLock};

/// A copy as callbacks name it: ModuleID and MethodDef token.
pub type Method = (usize, u32);

/// `CorMethodImpl::miNoInlining`, `miNoOptimization` and `miAggressiveInlining` (ECMA-335 II.23.1.11).
const NO_INLINING: u32 = 0x0008;
const NO_OPTIMIZATION: u32 = 0x0040;
const AGGRESSIVE_INLINING: u32 = 0x0100;
/// Bytes of IL that the JIT inlines at most without being asked to (`DEFAULT_MAX_INLINE_SIZE` in its inline.h).
const MOST_INLINED: u32 = 100;
/// Callers remembered that keep a call for good.
const MAX_CALLERS: usize = 50_000;

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

/// Whether the JIT may inline a method with these flags (`CorMethodImpl`) and so much code.
pub fn may_be_inlined(impl_flags: u32, code_size: u32) -> bool {
    let forbidden = impl_flags & (NO_INLINING | NO_OPTIMIZATION) != 0;
    !forbidden && (code_size <= MOST_INLINED || impl_flags & AGGRESSIVE_INLINING != 0)
}

/// Inlinings seen and forbidden.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<HashSet<Method>>,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    /// Compiled with the callee in them, or about to be: the JIT asks before it decides.
    held: Pairs,
    /// Recompiled at our request, without a callee because it was forbidden.
    went_without: Pairs,
    /// Callers that the runtime itself compiled without some callee because it was forbidden: they keep the call.
    keep_their_call: HashSet<Method>,
}

impl Inlining {
    /// `JITInlining`: whether the callee may be inlined into what `inliner` names (None where it has no token; `rejit`: a
    /// version that we asked for). Remembers it either way.
    pub fn may_inline(&self, callee: Method, inliner: Option<Method>, rejit: bool) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        // `vetoed` stays locked: a veto that comes now must find what was allowed just before it.
        let allowed = !vetoed.contains(&callee);
        let mut record = lock(&self.record);
        match inliner {
            _ if allowed => record.held.note(callee, inliner),
            Some(_) if rejit => record.went_without.note(callee, inliner),
            Some(inliner) if record.keep_their_call.len() < MAX_CALLERS => {
                record.keep_their_call.insert(inliner);
            }
            _ => {}
        }
        allowed
    }

    /// Forbids inlining of callees from now on; answers for each which compiled methods may hold it already.
    pub fn veto(&self, callees: impl Iterator<Item = Method> + Clone) -> Vec<Holders> {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(callees.clone());
        // Looked up after the veto stands, so that no inlining falls between the two.
        let record = lock(&self.record);
        callees.map(|callee| record.held.holders(callee)).collect()
    }

    /// Allows them again; answers which recompiled methods went without any of them.
    pub fn allow(&self, callees: impl IntoIterator<Item = Method>) -> HashSet<Method> {
        let mut vetoed = self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut record = lock(&self.record);
        let mut went_without = HashSet::new();
        for callee in callees {
            if vetoed.remove(&callee) {
                went_without.extend(record.went_without.take(callee));
            }
        }
        went_without
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).retain(|(m, _)| *m != module);
        let mut record = lock(&self.record);
        record.held.forget(module);
        record.went_without.forget(module);
        record.keep_their_call.retain(|(m, _)| *m != module);
    }

    /// Callers that the runtime compiled while something they call was dialled: they keep the call.
    pub fn callers_that_keep_their_call(&self) -> usize {
        lock(&self.record).keep_their_call.len()
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner()).capacity();
        let record = lock(&self.record);
        // An entry has 16 bytes and one of control; one in eight stays empty.
        (vetoed + record.keep_their_call.capacity()) * 17 * 8 / 7
            + record.held.bytes()
            + record.went_without.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 1);
    const CALLER: Method = (1, 2);

    #[test]
    fn what_the_jit_may_inline() {
        for (flags, size, expected) in [
            (0, 100, true),
            (0, 101, false),
            (AGGRESSIVE_INLINING, 5000, true),
            (NO_INLINING, 1, false),
            (NO_INLINING | AGGRESSIVE_INLINING, 1, false),
            (NO_OPTIMIZATION, 1, false),
        ] {
            assert_eq!(may_be_inlined(flags, size), expected, "{flags:#x}, {size} bytes");
        }
    }

    #[test]
    fn a_veto_finds_who_holds_the_callee_and_its_end_who_went_without() {
        let inlining = Inlining::default();
        assert!(inlining.may_inline(CALLEE, Some(CALLER), false));
        let held = inlining.veto([CALLEE].into_iter());
        assert_eq!(held, [Holders { inliners: vec![CALLER], incomplete: false }]);
        assert!(!inlining.may_inline(CALLEE, Some(CALLER), true));
        assert!(!inlining.may_inline(CALLEE, Some((1, 3)), false));
        assert_eq!(inlining.callers_that_keep_their_call(), 1);
        assert_eq!(inlining.allow([CALLEE]), HashSet::from([CALLER]));
        assert_eq!(inlining.allow([CALLEE]), HashSet::new());
        assert!(inlining.may_inline(CALLEE, None, false));
        assert!(inlining.veto([CALLEE].into_iter()).iter().all(|holders| holders.incomplete));
    }
}
