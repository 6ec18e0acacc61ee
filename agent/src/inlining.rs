//! What the JIT inlines: a copy whose dial is on must not be (the inlined code would not count); of every other the
//! callers that hold it are counted, so that a later dial can say what it misses.

use crate::sync::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, RwLock};

/// Callees remembered. Past it counting stops: a note may then be missing, never wrong in the other direction.
const MAX_CALLEES: usize = 200_000;

/// Inlinings seen and forbidden, by ModuleID and MethodDef token of the callee.
#[derive(Default)]
pub struct Inlining {
    vetoed: RwLock<HashSet<(usize, u32)>>,
    seen: Mutex<HashMap<(usize, u32), u32>>,
}

impl Inlining {
    /// `JITInlining`: whether the callee may be inlined; remembers it if so.
    pub fn may_inline(&self, module: usize, token: u32) -> bool {
        let vetoed = self.vetoed.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if vetoed.contains(&(module, token)) {
            return false;
        }
        drop(vetoed);
        let mut seen = lock(&self.seen);
        if let Some(callers) = seen.get_mut(&(module, token)) {
            *callers = callers.saturating_add(1);
        } else if seen.len() < MAX_CALLEES {
            seen.insert((module, token), 1);
        }
        true
    }

    /// Forbids inlining of a callee from now on; answers how many compiled callers hold it already.
    pub fn veto(&self, module: usize, token: u32) -> u32 {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).insert((module, token));
        lock(&self.seen).get(&(module, token)).copied().unwrap_or(0)
    }

    /// Allows it again.
    pub fn allow(&self, module: usize, token: u32) {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&(module, token));
    }

    /// Forgets an unloaded module.
    pub fn forget(&self, module: usize) {
        self.vetoed.write().unwrap_or_else(|poisoned| poisoned.into_inner()).retain(|(m, _)| *m != module);
        lock(&self.seen).retain(|(m, _), _| *m != module);
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        lock(&self.seen).capacity() * 24
    }
}
