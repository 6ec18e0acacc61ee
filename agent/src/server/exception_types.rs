//! Names of the types of exceptions.
#![forbid(unsafe_code)]

use crate::context::Context;
use crate::probes::exception_stack::ExceptionClass;
use crate::thrown_exceptions::type_names;
use std::collections::HashMap;

/// Names of exceptions' types, each read once.
pub(super) struct ExceptionTypes {
    context: &'static Context,
    known: HashMap<(usize, u32, u32), Option<String>>,
}

impl ExceptionTypes {
    pub(super) fn new(context: &'static Context) -> ExceptionTypes {
        ExceptionTypes { context, known: HashMap::new() }
    }

    /// Returns a type's display name; None if its module has been unloaded since.
    pub(super) fn name(&mut self, class: ExceptionClass) -> Option<String> {
        let Context { info, modules, .. } = self.context;
        let read = || type_names(info, modules, class).map(|names| names.display.to_string());
        self.known.entry((class.module, class.token, class.generation)).or_insert_with(read).clone()
    }
}
