//! What the JIT inlines: a copy whose dial is on must not be (the inlined code would not count); of every other the
//! fact is remembered, so that a later dial can say what it misses.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Mutex, RwLock};

/// `CorMethodImpl::miNoInlining`, `miNoOptimization` and `miAggressiveInlining` (ECMA-335 II.23.1.11).
const NO_INLINING: u32 = 0x0008;
const NO_OPTIMIZATION: u32 = 0x0040;
const AGGRESSIVE_INLINING: u32 = 0x0100;
/// Bytes of IL that the JIT inlines at most without being asked to (`DEFAULT_MAX_INLINE_SIZE` in its inline.h).
const MOST_INLINED: u32 = 100;

/// Whether compiled callers hold a copy's code from before it was dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inlined {
    /// None that we know of.
    #[default]
    No,
    /// They may: it was there before the agent was, and the JIT inlines such methods.
    Perhaps,
    /// They do, or the JIT was about to.
    Yes,
}

/// Whether the JIT may inline a method with these flags (`CorMethodImpl`) and so much code.
pub fn may_be_inlined(impl_flags: u32, code_size: u32) -> bool {
    let forbidden = impl_flags & (NO_INLINING | NO_OPTIMIZATION) != 0;
    !forbidden && (code_size <= MOST_INLINED || impl_flags & AGGRESSIVE_INLINING != 0)
}

/// Callees remembered. Past it no more are: a note may then be missing, never wrong in the other direction.
const MAX_CALLEES: usize = 200_000;

/// Inlinings seen and forbidden, by ModuleID and MethodDef token of the callee.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<HashSet<(usize, u32)>>,
    seen: Mutex<HashSet<(usize, u32)>>,
}

impl Inlining {
    /// `JITInlining`: whether the callee may be inlined; remembers it if so.
    pub fn may_inline(&self, module: usize, token: u32) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.contains(&(module, token)) {
            return false;
        }
        // `vetoed` stays locked: a veto that comes now must find what was allowed just before it.
        let mut seen = lock(&self.seen);
        if seen.len() < MAX_CALLEES {
            seen.insert((module, token));
        }
        true
    }

    /// Forbids inlining of callees from now on; answers for each whether compiled callers may hold it already.
    pub fn veto(&self, callees: impl Iterator<Item = (usize, u32)> + Clone) -> Vec<bool> {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(callees.clone());
        // Looked up after the veto stands, so that no inlining falls between the two.
        let seen = lock(&self.seen);
        callees.map(|callee| seen.contains(&callee)).collect()
    }

    /// Allows them again.
    pub fn allow(&self, callees: impl IntoIterator<Item = (usize, u32)>) {
        let mut vetoed = self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        for callee in callees {
            vetoed.remove(&callee);
        }
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).retain(|(m, _)| *m != module);
        lock(&self.seen).retain(|(m, _)| *m != module);
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner()).capacity();
        // An entry has 16 bytes and one of control; one in eight stays empty.
        (lock(&self.seen).capacity() + vetoed) * 17 * 8 / 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
