//! What the JIT inlines: a copy whose dial is on must not be (the inlined code would not count); of every other the
//! fact is remembered, so that a later dial can say what it misses.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Mutex, RwLock};

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
