//! Filters rows by a pattern. Names are in the rows; patterns by interface and attribute are matched with the metadata of
//! a row's module, as orders are, so rows of unloaded modules do not match them.
#![forbid(unsafe_code)]

use super::copy_identity::CopyIdentity;
use crate::catalogue::implementation_search::ImplementationSearch;
use crate::catalogue::methods::matching;
use crate::catalogue::names::ModuleNames;
use crate::catalogue::{Module, Modules};
use crate::clr::ProfilerInfo;
use crate::sync::lock;
use redial_protocol::ids::ModuleKey;
use redial_protocol::pattern::Pattern;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// A pattern, with what was read to match it.
pub struct RowFilter {
    pattern: Pattern,
    info: &'static ProfilerInfo,
    modules: &'static Modules,
    /// Of patterns that need metadata, the matches by module.
    read: Mutex<HashMap<ModuleKey, Arc<ModuleMatches>>>,
}

/// The methods of a module that match.
struct ModuleMatches {
    tokens: HashSet<u32>,
    /// The catalogue's revision, if more may match once other modules load.
    incomplete_at: Option<u64>,
}

impl RowFilter {
    /// Makes a filter that has read nothing yet.
    pub fn new(pattern: Pattern, info: &'static ProfilerInfo, modules: &'static Modules) -> RowFilter {
        RowFilter { pattern, info, modules, read: Mutex::default() }
    }

    /// Whether a copy matches. Reads the metadata of its module if it must, once.
    pub fn matches(&self, identity: &CopyIdentity) -> bool {
        if !self.pattern.needs_metadata() {
            return identity.matches(&self.pattern);
        }
        let module = &identity.module;
        self.pattern.matches_assembly(&module.name) && self.of_module(module).tokens.contains(&identity.token)
    }

    fn of_module(&self, module: &Module) -> Arc<ModuleMatches> {
        let revision = self.modules.revision();
        let is_current = |known: &&Arc<ModuleMatches>| known.incomplete_at.is_none_or(|at| at == revision);
        if let Some(known) = lock(&self.read).get(&module.key).filter(is_current) {
            return Arc::clone(known);
        }
        // Hold no lock: this reads metadata.
        let read = Arc::new(self.read(module, revision));
        lock(&self.read).insert(module.key, Arc::clone(&read));
        read
    }

    fn read(&self, module: &Module, revision: u64) -> ModuleMatches {
        let search = ImplementationSearch::new(self.info, self.modules, &|| false);
        search.prepare(&[&self.pattern]);
        let mut tokens = HashSet::new();
        module.with_metadata(self.info, |import| {
            let metadata = (import, &ModuleNames::default());
            matching(metadata, &search, &[&self.pattern], |method, _| {
                tokens.insert(method.token);
                ControlFlow::Continue(())
            });
        });
        // A class of a later module may inherit a method of this one for its interface.
        let is_complete = !self.pattern.names_supertype() && search.supertypes.take_missing().is_empty();
        ModuleMatches { tokens, incomplete_at: (!is_complete).then_some(revision) }
    }
}
