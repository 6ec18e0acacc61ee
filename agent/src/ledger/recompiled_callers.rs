//! Recompiled callers: copies recompiled with their original IL because their previous code had inlined dialled
//! methods. They get that code back when those dials are off.
#![forbid(unsafe_code)]

use crate::inlining::Method;
use std::collections::HashMap;

/// Limit for recompiled callers found by the runtime.
const MAX_STRAYS: usize = 100_000;

/// How a recompiled caller was found. A later one counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiscoveredBy {
    /// It is none: it was dialled, and turned off before the runtime asked for its body. The runtime still has the
    /// request, and compiles the original IL if the method is called before the revert.
    Cancellation,
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
        *entry = found.max(*entry);
    }

    /// Removes one and returns how it was found.
    pub fn remove(&mut self, method: Method) -> Option<DiscoveredBy> {
        self.0.remove(&method)
    }

    /// Whether this copy is a recompiled caller.
    pub fn has(&self, method: Method) -> bool {
        self.0.contains_key(&method)
    }

    /// Returns their number, without cancelled requests.
    pub fn count(&self) -> usize {
        self.0.len() - self.cancelled()
    }

    /// Returns the number of cancelled requests that the runtime still has.
    pub fn cancelled(&self) -> usize {
        self.0.values().filter(|found| **found == DiscoveredBy::Cancellation).count()
    }

    /// Forgets those of an unloaded module.
    pub fn forget(&mut self, module: usize) {
        self.0.retain(|(of, _), _| *of != module);
    }
}
