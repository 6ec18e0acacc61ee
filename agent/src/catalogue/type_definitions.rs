//! Finds where the types are defined that a module's metadata names.
#![forbid(unsafe_code)]

use super::{Module, Modules};
use crate::clr::ProfilerInfo;
use crate::clr::metadata::Import;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Table numbers of TypeRef, TypeDef and AssemblyRef (ECMA-335 II.22).
const TYPE_REF: u32 = 0x01;
const TYPE_DEF: u32 = 0x02;
const ASSEMBLY_REF: u32 = 0x23;
/// Deepest nesting of types to follow.
const MAX_NESTING: usize = 16;
/// Facades to follow from one to the next.
const MAX_FORWARDS: usize = 4;

/// The definition of a type that metadata names.
#[derive(Clone)]
pub enum Definition {
    /// Its module and TypeDef token.
    Loaded(Arc<Module>, u32),
    /// The assembly with this simple name, which defines it, is not loaded.
    Missing(Arc<str>),
    /// No loaded module defines it.
    Unknown,
}

/// The modules loaded at one time, to find definitions in.
pub struct TypeDefinitions<'a> {
    info: &'a ProfilerInfo,
    modules: &'a Modules,
    loaded: RefCell<Option<Vec<Arc<Module>>>>,
    /// By assembly and full metadata name: to find a name, the runtime may compare it with all of a module.
    known: RefCell<HashMap<(String, String), Definition>>,
}

impl<'a> TypeDefinitions<'a> {
    /// Returns a finder; it reads the list of modules when it first needs it.
    pub fn new(info: &'a ProfilerInfo, modules: &'a Modules) -> TypeDefinitions<'a> {
        TypeDefinitions { info, modules, loaded: RefCell::default(), known: RefCell::default() }
    }

    /// Returns the module and TypeDef of the type that a TypeDef or TypeRef names; None if it is not loaded.
    pub fn find(&self, import: &Import, token: u32) -> Option<(Arc<Module>, u32)> {
        match self.locate(import, token) {
            Definition::Loaded(module, token) => Some((module, token)),
            Definition::Missing(_) | Definition::Unknown => None,
        }
    }

    /// Returns the definition of the type that a TypeDef or TypeRef names.
    pub fn locate(&self, import: &Import, token: u32) -> Definition {
        let found = match token >> 24 {
            TYPE_DEF => {
                self.modules.get(import.module().id()).map(|module| Definition::Loaded(module, token))
            }
            TYPE_REF => self.referenced(import, token),
            _ => None,
        };
        found.unwrap_or(Definition::Unknown)
    }

    /// Runs `body` with a module's metadata, as [`Module::with_metadata`].
    pub fn with_metadata<T>(&self, module: &Module, body: impl FnOnce(&Import) -> T) -> Option<T> {
        module.with_metadata(self.info, body)
    }

    /// Whether no other loaded module has the name of this one.
    pub fn is_unique(&self, module: &Module) -> bool {
        self.loaded(|modules| modules.iter().filter(|other| other.name == module.name).count() <= 1)
    }

    fn loaded<T>(&self, read: impl FnOnce(&[Arc<Module>]) -> T) -> T {
        let mut loaded = self.loaded.borrow_mut();
        read(loaded.get_or_insert_with(|| self.modules.all()))
    }

    fn referenced(&self, import: &Import, token: u32) -> Option<Definition> {
        // Outermost first.
        let mut names = Vec::new();
        let mut scope = token;
        while scope >> 24 == TYPE_REF && names.len() < MAX_NESTING {
            let (outer, name) = import.type_ref(scope).ok()?;
            names.insert(0, name);
            scope = outer;
        }
        if scope >> 24 != ASSEMBLY_REF {
            return None;
        }
        let key = (import.assembly_ref(scope).ok()?, names.join("+"));
        if let Some(known) = self.known.borrow().get(&key) {
            return Some(known.clone());
        }
        let found = self.loaded(|modules| self.in_assembly(modules, &key.0, &names));
        self.known.borrow_mut().insert(key, found.clone());
        Some(found)
    }

    /// Finds a type in an assembly, or where that forwards it to.
    fn in_assembly(&self, modules: &[Arc<Module>], assembly: &str, names: &[String]) -> Definition {
        let mut assembly = assembly.to_owned();
        for _ in 0..MAX_FORWARDS {
            let named = || modules.iter().filter(|module| module.name == assembly);
            // Facades forward most of their types to the core library.
            let candidates = named().chain(modules.iter().filter(|module| module.is_core_library()));
            if let Some(found) = candidates.filter_map(|module| self.in_module(module, names)).next() {
                return found;
            }
            if named().next().is_none() {
                return Definition::Missing(assembly.into());
            }
            let forwarded = |module: &Arc<Module>| {
                self.with_metadata(module, |import| import.forwarded_to(names.first()?)).flatten()
            };
            match named().find_map(forwarded) {
                Some(next) => assembly = next,
                None => return Definition::Unknown,
            }
        }
        Definition::Unknown
    }

    fn in_module(&self, module: &Arc<Module>, names: &[String]) -> Option<Definition> {
        let nested = |import: &Import| {
            names.iter().try_fold(0, |enclosing, name| import.find_nested_type_def(name, enclosing))
        };
        let token = self.with_metadata(module, nested).flatten()?;
        Some(Definition::Loaded(Arc::clone(module), token))
    }
}
