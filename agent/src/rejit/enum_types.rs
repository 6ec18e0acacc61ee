//! Finds the enums that a module's signatures name, in the module itself or where it refers to.
#![forbid(unsafe_code)]

use crate::capture::EnumType;
use crate::catalogue::type_definitions::TypeDefinitions;
use crate::classes::enum_type;
use crate::clr::metadata::Import;
use crate::context::Context;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The enums that one module's signatures name, each found once.
pub(super) struct EnumTypes<'a> {
    context: &'a Context,
    definitions: TypeDefinitions<'a>,
    known: RefCell<HashMap<u32, Option<Arc<EnumType>>>>,
}

impl<'a> EnumTypes<'a> {
    pub(super) fn new(context: &'a Context) -> EnumTypes<'a> {
        let definitions = TypeDefinitions::new(&context.info, &context.modules);
        EnumTypes { context, definitions, known: RefCell::default() }
    }

    /// Returns the enum that a TypeDef or TypeRef names; None for other types, and if it is not loaded.
    pub(super) fn get(&self, import: &Import, token: u32) -> Option<Arc<EnumType>> {
        if let Some(known) = self.known.borrow().get(&token) {
            return known.clone();
        }
        let read = || {
            let (module, token) = self.definitions.find(import, token)?;
            module.with_metadata(&self.context.info, |import| enum_type(import, token)).flatten()
        };
        let found = read().map(Arc::new);
        self.known.borrow_mut().insert(token, found.clone());
        found
    }
}
