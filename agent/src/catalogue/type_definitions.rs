//! Finds where the types are defined that a module's metadata names.
#![forbid(unsafe_code)]

use super::{Module, Modules};
use crate::clr::ProfilerInfo;
use crate::clr::metadata::Import;
use std::cell::RefCell;
use std::sync::Arc;

/// Table numbers of TypeRef, TypeDef and AssemblyRef (ECMA-335 II.22).
const TYPE_REF: u32 = 0x01;
const TYPE_DEF: u32 = 0x02;
const ASSEMBLY_REF: u32 = 0x23;
/// Deepest nesting of types to follow.
const MAX_NESTING: usize = 16;

/// The modules loaded at one time, to find definitions in.
pub struct TypeDefinitions<'a> {
    info: &'a ProfilerInfo,
    modules: &'a Modules,
    loaded: RefCell<Option<Vec<Arc<Module>>>>,
}

impl<'a> TypeDefinitions<'a> {
    /// Returns a finder; it reads the list of modules when it first needs it.
    pub fn new(info: &'a ProfilerInfo, modules: &'a Modules) -> TypeDefinitions<'a> {
        TypeDefinitions { info, modules, loaded: RefCell::default() }
    }

    /// Returns the module and TypeDef of the type that a TypeDef or TypeRef names; None if it is not loaded.
    pub fn find(&self, import: &Import, token: u32) -> Option<(Arc<Module>, u32)> {
        match token >> 24 {
            TYPE_DEF => Some((self.modules.get(import.module().id())?, token)),
            TYPE_REF => self.referenced(import, token),
            _ => None,
        }
    }

    /// Whether no other loaded module has the name of this one.
    pub fn is_unique(&self, module: &Module) -> bool {
        let mut loaded = self.loaded.borrow_mut();
        let modules = loaded.get_or_insert_with(|| self.modules.all());
        modules.iter().filter(|other| other.name == module.name).count() <= 1
    }

    fn referenced(&self, import: &Import, token: u32) -> Option<(Arc<Module>, u32)> {
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
        let assembly = import.assembly_ref(scope).ok()?;
        let mut loaded = self.loaded.borrow_mut();
        let modules = loaded.get_or_insert_with(|| self.modules.all());
        // Facades forward most of their types to the core library.
        let named = modules.iter().filter(|module| module.name == assembly);
        let candidates = named.chain(modules.iter().filter(|module| module.is_core_library()));
        let find = |module: &Arc<Module>| {
            let nested = |import: &Import| {
                names.iter().try_fold(0, |enclosing, name| import.find_nested_type_def(name, enclosing))
            };
            let token = module.with_metadata(self.info, nested).flatten()?;
            Some((Arc::clone(module), token))
        };
        candidates.filter_map(find).next()
    }
}
