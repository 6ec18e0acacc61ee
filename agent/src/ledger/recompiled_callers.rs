//! Recompiled callers: copies recompiled with their original IL because their previous code had inlined dialled
//! methods. They get that code back when those dials are off.
#![forbid(unsafe_code)]

use crate::inlining::Method;
use std::collections::HashMap;

/// Limit for recompiled callers found by the runtime.
const MAX_STRAYS: usize = 100_000;

/// How a recompiled caller was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveredBy {
    /// By the agent: the rows that need it list it.
    Agent,
    /// By the runtime, which does not say for which row: some row that is on and was requested with its inliners.
    Runtime,
}

/// The recompiled callers.
#[derive(Default)]
pub struct RecompiledCallers(pub(super) HashMap<Method, DiscoveredBy>);

impl RecompiledCallers {
    /// Whether this is a recompiled caller. If not, the runtime found it, and it is added.
    pub fn is_known_or_add(&mut self, method: Method) -> bool {
        let is_known = self.0.contains_key(&method);
        if !is_known && self.0.len() < MAX_STRAYS {
            self.0.insert(method, DiscoveredBy::Runtime);
        }
        is_known
    }

    /// Adds one. If it was found both ways, the runtime's finding counts, because the runtime needs it longer.
    pub fn add(&mut self, method: Method, found: DiscoveredBy) {
        let entry = self.0.entry(method).or_insert(found);
        if found == DiscoveredBy::Runtime {
            *entry = found;
        }
    }

    /// Removes one and returns how it was found.
    pub fn remove(&mut self, method: Method) -> Option<DiscoveredBy> {
        self.0.remove(&method)
    }

    /// Whether this copy is a recompiled caller.
    pub fn has(&self, method: Method) -> bool {
        self.0.contains_key(&method)
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets those of an unloaded module.
    pub fn forget(&mut self, module: usize) {
        self.0.retain(|(of, _), _| *of != module);
    }
}
