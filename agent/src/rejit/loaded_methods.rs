//! Keeps modules loaded while the CLR is asked about their methods.
#![forbid(unsafe_code)]

use crate::catalogue::{Module, Modules};
use crate::clr::LoadedModule;
use crate::clr::profiler_info::LoadedMethod;
use crate::inlining::Method;
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;
use std::sync::Arc;

/// A method to request, with its module if that is known.
pub(super) type TargetMethod = (Option<Arc<Module>>, u32);

/// The loaded modules of methods that are known by ModuleID only.
pub(super) fn targets(modules: &Modules, methods: impl IntoIterator<Item = Method>) -> Vec<TargetMethod> {
    let mut known: HashMap<usize, Option<Arc<Module>>> = HashMap::new();
    let target = |(id, token)| (known.entry(id).or_insert_with(|| modules.get(id)).clone(), token);
    methods.into_iter().map(target).collect()
}

/// Runs `call` with those methods whose modules are loaded, and with their indices in `methods`. None of these
/// modules can finish unloading before it returns.
pub(super) fn with_loaded<T>(
    methods: &[TargetMethod],
    call: impl FnOnce(&[LoadedMethod<'_>], &[usize]) -> T,
) -> T {
    let mut loaded: HashMap<ModuleKey, Option<LoadedModule<'_>>> = HashMap::new();
    for module in methods.iter().filter_map(|(module, _)| module.as_deref()) {
        loaded.entry(module.key).or_insert_with(|| module.loaded());
    }
    let (mut present, mut places) = (Vec::new(), Vec::new());
    for (place, (module, token)) in methods.iter().enumerate() {
        let module = module.as_ref().and_then(|module| loaded.get(&module.key)?.as_ref());
        if let Some(module) = module {
            present.push((module, *token));
            places.push(place);
        }
    }
    call(&present, &places)
}
