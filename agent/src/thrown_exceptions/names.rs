//! Names of exceptions' classes and of the methods that throw them, each read once while its module is loaded.

use crate::caller_names::CallerNames;
use crate::catalogue::Modules;
use crate::catalogue::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::thrown::Counter;
use redial_protocol::callers::CallOrigin;
use redial_protocol::exceptions::ThrowingMethod;
use redial_protocol::limits::MAX_WORD;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::sync::Arc;

/// Classes of inner exceptions whose names are kept.
const MAX_INNER: usize = 1024;

/// Where the names of classes and methods come from.
#[derive(Clone, Copy)]
pub struct Sources {
    /// The profiling API.
    pub info: &'static ProfilerInfo,
    /// The loaded modules.
    pub modules: &'static Modules,
    /// Names of methods.
    pub callers: &'static CallerNames,
}

/// Names of a class.
#[derive(Debug)]
pub struct TypeNames {
    /// The assembly's simple name.
    assembly: String,
    /// As patterns compare it.
    metadata: String,
    /// In C# form.
    pub display: Arc<str>,
}

impl TypeNames {
    /// Whether a pattern `[ASSEMBLY!]TYPE.*` matches.
    pub fn matches(&self, types: &Pattern) -> bool {
        types.matches_assembly(&self.assembly)
            && types.for_type(&self.metadata).is_some_and(|of| of.matches("", 0, String::new))
    }
}

/// Returns the names of a class; None if its module has been unloaded since.
pub fn type_names(info: &ProfilerInfo, modules: &Modules, class: ExceptionClass) -> Option<TypeNames> {
    let module = modules.get(class.module)?;
    if module.key.generation > class.generation {
        // Another module has its ModuleID now.
        return None;
    }
    let (metadata, display) = module.with_metadata(info, |import| {
        let names = ModuleNames::default();
        let name = names.type_name(import, class.token)?;
        let display = names.display_type(import, class.token, &name);
        Some((name.to_string(), display))
    })??;
    (display.len() <= MAX_WORD).then(|| TypeNames {
        assembly: module.name.clone(),
        metadata,
        display: display.into(),
    })
}

/// The names that were read. None: the module was unloaded before.
#[derive(Default)]
pub(super) struct Names {
    classes: HashMap<u32, Option<Arc<TypeNames>>>,
    methods: HashMap<u32, Option<Arc<ThrowingMethod>>>,
    inner: HashMap<(usize, u32, u32), Option<Arc<TypeNames>>>,
}

impl Names {
    /// Returns the names of the class with an index, if they were read.
    pub(super) fn class(&self, index: u32) -> Option<Arc<TypeNames>> {
        self.classes.get(&index).cloned().flatten()
    }

    /// Reads the names of a class; false if they were read before.
    pub(super) fn read_class(&mut self, of: Sources, index: u32, counter: &Counter) -> bool {
        if self.classes.contains_key(&index) {
            return false;
        }
        let key = counter.key();
        let class = ExceptionClass { module: key.module, token: key.token, generation: counter.generation() };
        self.classes.insert(index, type_names(of.info, of.modules, class).map(Arc::new));
        true
    }

    /// Returns the method with an index.
    pub(super) fn method(
        &mut self,
        of: Sources,
        index: u32,
        counter: &Counter,
    ) -> Option<Arc<ThrowingMethod>> {
        let read = || {
            let key = counter.key();
            match (*of.callers.method(of.info, of.modules, key.module, key.token)).clone() {
                CallOrigin::Method { copy, module, method, signature }
                    if copy.module.generation <= counter.generation() =>
                {
                    Some(Arc::new(ThrowingMethod { module, method, signature }))
                }
                _ => None,
            }
        };
        self.methods.entry(index).or_insert_with(read).clone()
    }

    /// Returns the display name of an inner exception's class.
    pub(super) fn inner(&mut self, of: Sources, class: ExceptionClass) -> Option<String> {
        if self.inner.len() >= MAX_INNER {
            self.inner.clear();
        }
        let read = || type_names(of.info, of.modules, class).map(Arc::new);
        let names = self.inner.entry((class.module, class.token, class.generation)).or_insert_with(read);
        names.as_ref().map(|names| names.display.to_string())
    }

    /// Forgets a class whose counter is given back.
    pub(super) fn forget_class(&mut self, index: u32) {
        self.classes.remove(&index);
    }

    /// Forgets a method whose counter is given back.
    pub(super) fn forget_method(&mut self, index: u32) {
        self.methods.remove(&index);
    }
}
