//! Methods that classes inherit to implement interfaces, by module; kept until the module unloads or no order stands.
//! [`super::inherited`] reads them.
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

/// Methods that the classes of one module inherit to implement interfaces.
#[derive(Debug, Default)]
pub struct ModuleInheritance {
    /// The implementations, by the module that they are in.
    pub by_module: HashMap<ModuleKey, HashSet<InheritedImplementation>>,
    /// Assemblies, not loaded, that define interfaces or base classes of these classes.
    pub missing: BTreeSet<Arc<str>>,
}

/// Inherited implementations, by the module of the classes that inherit them.
pub type InheritanceByModule = HashMap<ModuleKey, Arc<ModuleInheritance>>;

/// Inherited implementations of those loaded modules that were read.
#[derive(Default)]
pub struct InheritanceCache(Mutex<InheritanceByModule>);

impl InheritanceCache {
    /// Returns the entries of modules that lacked none of the loaded assemblies.
    pub fn current(&self, loaded: &HashSet<&str>) -> InheritanceByModule {
        let mut known = lock(&self.0).clone();
        known.retain(|_, one| !one.missing.iter().any(|assembly| loaded.contains(&**assembly)));
        known
    }

    /// Replaces all entries, so that none of an unloaded module stays.
    pub fn set(&self, all: InheritanceByModule) {
        *lock(&self.0) = all;
    }

    /// Forgets all entries.
    pub fn clear(&self) {
        self.set(InheritanceByModule::new());
    }
}
