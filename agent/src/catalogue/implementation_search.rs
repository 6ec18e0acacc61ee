//! Supertypes and inherited implementations that one search has read, across modules.
#![forbid(unsafe_code)]

use super::Modules;
use super::inheritance::{InheritanceByModule, InheritedImplementation};
use super::inherited::read_inheritance;
use super::supertypes::Supertypes;
use crate::clr::ProfilerInfo;
use redial_protocol::ids::ModuleKey;
use redial_protocol::pattern::Pattern;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// The implementations in one module, by type.
type ByType = HashMap<u32, Vec<InheritedImplementation>>;

/// The supertypes of types, and the methods that derived classes inherit for their interfaces. Lives as long as one search.
pub struct ImplementationSearch<'a> {
    info: &'a ProfilerInfo,
    modules: &'a Modules,
    /// The supertypes.
    pub supertypes: Supertypes<'a>,
    stop: &'a dyn Fn() -> bool,
    inheritance: OnceCell<InheritanceByModule>,
    inherited: RefCell<HashMap<usize, Rc<ByType>>>,
}

impl<'a> ImplementationSearch<'a> {
    /// Returns a search that has read nothing yet. Once `stop` returns true, it soon ends and finds only a part.
    pub fn new(
        info: &'a ProfilerInfo,
        modules: &'a Modules,
        stop: &'a dyn Fn() -> bool,
    ) -> ImplementationSearch<'a> {
        ImplementationSearch {
            info,
            modules,
            supertypes: Supertypes::new(info, modules),
            stop,
            inheritance: OnceCell::new(),
            inherited: RefCell::default(),
        }
    }

    /// Whether nobody needs the rest of the result.
    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Reads the inherited implementations of all modules, if a pattern names an interface or base class. Call it before
    /// reading a module's metadata: that module's unload would wait for the reading of all others.
    pub fn prepare(&self, patterns: &[&Pattern]) {
        if patterns.iter().any(|pattern| pattern.names_supertype()) {
            self.inheritance();
        }
    }

    /// Returns the methods of types of a module that implement members of interfaces for derived classes, in any loaded
    /// module, by type.
    pub fn inherited_from(&self, module: usize) -> Rc<ByType> {
        if let Some(known) = self.inherited.borrow().get(&module) {
            return Rc::clone(known);
        }
        let mut by_type = ByType::new();
        if let Some(key) = self.modules.get(module).map(|module| module.key) {
            let of_module = self.inheritance().values().filter_map(|one| one.by_module.get(&key));
            for one in of_module.flatten() {
                by_type.entry(one.type_def).or_default().push(one.clone());
            }
        }
        let by_type = Rc::new(by_type);
        self.inherited.borrow_mut().insert(module, Rc::clone(&by_type));
        by_type
    }

    /// Returns the other modules with methods that classes of a module inherit for interfaces with names that `is_meant`
    /// accepts.
    pub fn inherits_from(&self, module: ModuleKey, is_meant: &dyn Fn(&str) -> bool) -> BTreeSet<ModuleKey> {
        let mut bases = BTreeSet::new();
        if let Some(of_module) = self.inheritance().get(&module) {
            for (base, inherited) in &of_module.by_module {
                if *base != module && inherited.iter().any(|one| is_meant(&one.interface)) {
                    bases.insert(*base);
                }
            }
        }
        bases
    }

    /// Returns the assemblies, by module, that define interfaces or base classes of its classes and are not loaded.
    pub fn missing(&self) -> impl Iterator<Item = (ModuleKey, BTreeSet<Arc<str>>)> {
        let all = self.inheritance().iter().filter(|(_, one)| !one.missing.is_empty());
        all.map(|(module, one)| (*module, one.missing.clone()))
    }

    fn inheritance(&self) -> &InheritanceByModule {
        self.inheritance.get_or_init(|| read_inheritance(self.info, self.modules, self.stop))
    }
}
