//! Keeps modules loaded while the CLR is asked about their methods.
#![forbid(unsafe_code)]

use crate::catalogue::{Module, Modules};
use crate::clr::LoadedModule;
use crate::clr::profiler_info::LoadedMethod;
use crate::context::Context;
use crate::inlining::Method;
use crate::known_bad::RuntimeIssue;
use crate::ledger::request_state::RequestProgress;
use crate::ledger::row::Row;
use crate::ledger::state::LedgerState;
use redial_protocol::ids::{ModuleKey, RowId};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the number of copies per request or revert. A module waits for no more than one of them before it unloads,
/// and a cancelled change for no more than one before it is taken back. Few, where each stops the program.
pub(super) fn at_once(context: &Context) -> usize {
    if context.runtime.does(RuntimeIssue::StopsForRequests) { 8192 } else { 1024 }
}

/// An element of a request or revert: a row, or a recompiled caller.
#[derive(Clone)]
pub(super) struct RequestItem {
    pub(super) method: Method,
    /// Its module; None if it was no longer loaded.
    pub(super) module: Option<Arc<Module>>,
    pub(super) row: Option<RowId>,
}

impl RequestItem {
    /// Returns an element for a row.
    pub(super) fn of_row(row: &Row) -> RequestItem {
        let module = Some(Arc::clone(&row.identity.module));
        RequestItem { method: row.method(), module, row: Some(row.id) }
    }

    /// Whether its module unloads or has unloaded.
    pub(super) fn is_gone(&self) -> bool {
        self.module.as_ref().is_none_or(|module| module.is_gone())
    }
}

/// Returns elements for methods that are known by ModuleID only.
pub(super) fn items_of_methods(
    modules: &Modules,
    methods: impl IntoIterator<Item = Method>,
) -> Vec<RequestItem> {
    let mut known: HashMap<usize, Option<Arc<Module>>> = HashMap::new();
    let item = |method: Method| {
        let module = known.entry(method.0).or_insert_with(|| modules.get(method.0)).clone();
        RequestItem { method, module, row: None }
    };
    methods.into_iter().map(item).collect()
}

/// Runs `call` with those methods whose modules are loaded, and with their indices in `items`. None of these
/// modules can finish unloading before it returns (within the bound of an unload). Also returns the indices of the
/// other methods, in order.
pub(super) fn with_loaded<T>(
    items: &[RequestItem],
    call: impl FnOnce(&[LoadedMethod<'_>], &[usize]) -> T,
) -> (T, Vec<usize>) {
    let mut loaded: HashMap<ModuleKey, Option<LoadedModule<'_>>> = HashMap::new();
    for module in items.iter().filter_map(|item| item.module.as_deref()) {
        loaded.entry(module.key).or_insert_with(|| module.loaded());
    }
    let (mut present, mut places, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for (place, item) in items.iter().enumerate() {
        let module = item.module.as_ref().and_then(|module| loaded.get(&module.key)?.as_ref());
        match module {
            Some(module) => {
                present.push((module, item.method.1));
                places.push(place);
            }
            None => skipped.push(place),
        }
    }
    (call(&present, &places), skipped)
}

/// Splits into elements with these indices, which are in order, and the others.
pub(super) fn split_at_places(
    items: Vec<RequestItem>,
    places: &[usize],
) -> (Vec<RequestItem>, Vec<RequestItem>) {
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for (place, item) in items.into_iter().enumerate() {
        let to = if places.binary_search(&place).is_ok() { &mut chosen } else { &mut others };
        to.push(item);
    }
    (chosen, others)
}

/// Splits into elements whose modules unload or have unloaded, and the others.
pub(super) fn split_gone(items: &[RequestItem]) -> (Vec<RequestItem>, Vec<RequestItem>) {
    items.iter().cloned().partition(RequestItem::is_gone)
}

/// Takes back the preparation of elements that an unload made void.
pub(super) fn take_back_gone(context: &Context, gone: &[RequestItem]) {
    if gone.is_empty() {
        return;
    }
    let methods = take_back(&mut context.ledger.lock(), gone);
    context.inlining.allow(methods);
    if gone.iter().any(|item| item.row.is_some()) {
        // Callers may have been recompiled for these rows only.
        context.inbox.request_caller_check();
    }
}

/// Returns the methods that may be inlined again; not those of a module that has got the same ModuleID since.
fn take_back(ledger: &mut LedgerState, gone: &[RequestItem]) -> Vec<Method> {
    let mut methods = Vec::new();
    for item in gone {
        if let Some(row) = item.row.and_then(|id| ledger.row_mut(id)) {
            row.progress = RequestProgress::Idle;
        }
        let present = ledger.find(item.method.0, item.method.1).and_then(|id| ledger.row(id));
        if present.is_none_or(|row| row.identity.module.is_gone()) {
            ledger.recompiled_callers.remove(item.method);
            methods.push(item.method);
        }
    }
    methods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::ledger::copy_identity::CopyIdentity;
    use crate::ledger::recompiled_callers::DiscoveredBy;

    const TOKEN: u32 = 0x0600_0001;

    fn module(modules: &Modules, id: u64, generation: u32) -> Arc<Module> {
        let module = Arc::new(Module::sample(ModuleKey { module_id: id, generation }, "Sample"));
        assert!(modules.publish(&module));
        module
    }

    fn requesting_row(ledger: &Ledger, module: &Arc<Module>) -> RequestItem {
        let mut ledger = ledger.lock();
        let id = ledger.add_row(CopyIdentity::sample(Arc::clone(module), TOKEN), None).unwrap();
        let row = ledger.row_mut(id).unwrap();
        row.progress = RequestProgress::Requesting;
        RequestItem::of_row(row)
    }

    #[test]
    fn reports_methods_of_unloaded_modules_as_skipped() {
        let modules = Modules::default();
        let kept = module(&modules, 1, 1);
        let unloaded = module(&modules, 2, 2);
        let mut items = items_of_methods(&modules, [(2, TOKEN), (1, TOKEN), (3, TOKEN)]);
        modules.unload(2);
        assert!(unloaded.is_gone() && !kept.is_gone());
        let seen = |methods: &[LoadedMethod<'_>], places: &[usize]| {
            (methods.iter().map(|(module, token)| (module.id(), *token)).collect::<Vec<_>>(), places.to_vec())
        };
        assert_eq!(with_loaded(&items, seen), ((vec![(1, TOKEN)], vec![1]), vec![0, 2]));
        let (gone, others) = split_gone(&items);
        assert_eq!((gone.len(), others.len(), others[0].method), (2, 1, (1, TOKEN)));
        let (skipped, others) = split_at_places(std::mem::take(&mut items), &[0, 2]);
        let methods = |items: &[RequestItem]| items.iter().map(|item| item.method.0).collect::<Vec<_>>();
        assert_eq!((methods(&skipped), methods(&others)), (vec![2, 3], vec![1]));
    }

    #[test]
    fn takes_back_requests_that_an_unload_made_void() {
        let (modules, ledger) = (Modules::default(), Ledger::default());
        let row = requesting_row(&ledger, &module(&modules, 1, 1));
        let caller = items_of_methods(&modules, [(9, TOKEN)]).remove(0);
        ledger.lock().recompiled_callers.add(caller.method, DiscoveredBy::Agent);
        modules.unload(1);
        let mut locked = ledger.lock();
        assert_eq!(take_back(&mut locked, &[row.clone(), caller]), [(1, TOKEN), (9, TOKEN)]);
        assert!(!locked.row(row.row.unwrap()).unwrap().is_requesting());
        assert_eq!(locked.recompiled_callers.count(), 0);
    }

    #[test]
    fn keeps_the_veto_of_a_module_with_the_same_id() {
        let (modules, ledger) = (Modules::default(), Ledger::default());
        let old = module(&modules, 1, 1);
        let gone = requesting_row(&ledger, &old);
        modules.unload(1);
        ledger.unload(old.key);
        let newer = requesting_row(&ledger, &module(&modules, 1, 2));
        let mut locked = ledger.lock();
        locked.recompiled_callers.add(newer.method, DiscoveredBy::Agent);
        assert!(take_back(&mut locked, std::slice::from_ref(&gone)).is_empty());
        assert!(locked.recompiled_callers.has(newer.method));
        assert!(!locked.row(gone.row.unwrap()).unwrap().is_requesting());
        assert!(locked.row(newer.row.unwrap()).unwrap().is_requesting());
    }
}
