//! Finds the enums that a module's signatures name, in the module itself or where it refers to.
#![forbid(unsafe_code)]

use crate::capture::{EnumType, Primitive};
use crate::catalogue::Module;
use crate::clr::enums::EnumDefinition;
use crate::clr::metadata::Import;
use crate::context::Context;
use crate::signature::parse_field;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Table number of AssemblyRef (ECMA-335 II.22.5).
const ASSEMBLY_REF: u32 = 0x23;

/// The enums that one module's signatures name, each found once.
pub(super) struct EnumTypes<'a> {
    context: &'a Context,
    known: RefCell<HashMap<u32, Option<Arc<EnumType>>>>,
    loaded: RefCell<Option<Vec<Arc<Module>>>>,
}

impl<'a> EnumTypes<'a> {
    pub(super) fn new(context: &'a Context) -> EnumTypes<'a> {
        EnumTypes { context, known: RefCell::default(), loaded: RefCell::default() }
    }

    /// Returns the enum that a TypeDef or TypeRef names; None for other types, and if it is not loaded.
    pub(super) fn get(&self, import: &Import, token: u32) -> Option<Arc<EnumType>> {
        if let Some(known) = self.known.borrow().get(&token) {
            return known.clone();
        }
        let definition = match token >> 24 {
            0x02 => import.enum_definition(token),
            0x01 => self.referenced(import, token),
            _ => None,
        };
        let found = definition.and_then(enum_type).map(Arc::new);
        self.known.borrow_mut().insert(token, found.clone());
        found
    }

    fn referenced(&self, import: &Import, token: u32) -> Option<EnumDefinition> {
        let (scope, name) = import.type_ref(token).ok()?;
        if scope >> 24 != ASSEMBLY_REF {
            // Nested in another type.
            return None;
        }
        let assembly = import.assembly_ref(scope).ok()?;
        let mut loaded = self.loaded.borrow_mut();
        let modules = loaded.get_or_insert_with(|| self.context.modules.all());
        // Facades forward most of their types to the core library.
        let named = modules.iter().filter(|module| module.name == assembly);
        let candidates = named.chain(modules.iter().filter(|module| module.is_core_library()));
        let find = |module: &Arc<Module>| {
            let read =
                |import: &Import| import.find_type_def(&name).map(|token| import.enum_definition(token));
            module.with_metadata(&self.context.info, read).flatten()
        };
        candidates.filter_map(find).next().flatten()
    }
}

fn enum_type(definition: EnumDefinition) -> Option<EnumType> {
    let underlying = Primitive::of(&parse_field(&definition.field).ok()?)?;
    Some(EnumType { underlying, names: definition.names })
}
