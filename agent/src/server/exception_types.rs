//! Names of the types of exceptions.
#![forbid(unsafe_code)]

use crate::catalogue::names::ModuleNames;
use crate::context::Context;
use crate::probes::exception_stack::ExceptionClass;
use redial_protocol::limits::MAX_WORD;
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
        let context = self.context;
        let read = || {
            let module = context.modules.get(class.module)?;
            if module.key.generation > class.generation {
                // Another module has its ModuleID now.
                return None;
            }
            let name = module.with_metadata(&context.info, |import| {
                let names = ModuleNames::default();
                let name = names.type_name(import, class.token)?;
                Some(names.display_type(import, class.token, &name))
            });
            name.flatten().filter(|name| name.len() <= MAX_WORD)
        };
        self.known.entry((class.module, class.token, class.generation)).or_insert_with(read).clone()
    }
}
