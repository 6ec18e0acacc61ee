//! What the classes of modules inherit for interfaces that they list, kept until the modules unload
//! ([`super::inherited`] reads it).
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::ids::ModuleKey;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// A method that implements a member of an interface for derived classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InheritedImplementation {
    /// TypeDef token of its class.
    pub type_def: u32,
    /// MethodDef token.
    pub method: u32,
    /// Full metadata name of the interface.
    pub interface: Arc<str>,
    /// Metadata name of the member, which is also the method's.
    pub member: String,
    /// Number of the method's own type parameters.
    pub arity: u32,
    /// Its canonical parameters.
    pub parameters: String,
}

/// What the classes of one module inherit.
#[derive(Debug, Default)]
pub struct ModuleInheritance {
    /// The implementations, by the module that they are in.
    pub by_module: HashMap<ModuleKey, HashSet<InheritedImplementation>>,
    /// Assemblies, not loaded, that define interfaces or base classes of these classes.
    pub missing: BTreeSet<Arc<str>>,
}

/// What was read, by the module of the classes that inherit.
pub type InheritanceByModule = HashMap<ModuleKey, Arc<ModuleInheritance>>;

/// What the classes of loaded modules inherit, as far as it was read.
#[derive(Default)]
pub struct InheritanceCache(Mutex<InheritanceByModule>);

impl InheritanceCache {
    /// Returns what was read of modules that lacked none of the loaded assemblies.
    pub fn current(&self, loaded: &HashSet<&str>) -> InheritanceByModule {
        let mut known = lock(&self.0).clone();
        known.retain(|_, one| !one.missing.iter().any(|assembly| loaded.contains(&**assembly)));
        known
    }

    /// Replaces what was read, so that nothing of unloaded modules stays.
    pub fn set(&self, all: InheritanceByModule) {
        *lock(&self.0) = all;
    }
}
