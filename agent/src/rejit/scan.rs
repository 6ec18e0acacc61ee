//! Finds the copies that orders match in a module and records them in the ledger, including refused ones.
#![forbid(unsafe_code)]

use super::async_bodies::{self, BodyOrders};
use crate::catalogue::Module;
use crate::catalogue::implementation_search::ImplementationSearch;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::methods::{MethodMatcher, matching};
use crate::catalogue::names::ModuleNames;
use crate::catalogue::self_recursion::ends_in_itself;
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::eligibility::{self, MethodFacts};
use crate::il;
use crate::inlining::may_be_inlined;
use crate::instrument::timed_body;
use crate::ledger::copy_identity::CopyIdentity;
use crate::ledger::request_state::RequestState;
use crate::planner::scope::{self, ModulePlace, ScopedOrders};
use crate::planner::{OrderSeq, Standing};
use redial_protocol::diagnostics::UntimedReason;
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::reason::Reason;
use redial_protocol::report::{RefusedMethod, SharedModule};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Limit of rows that wildcards may add for dynamic and collectible modules: such rows stay after their module is
/// gone.
const MAX_FLEETING_ROWS: usize = 20_000;

/// The result of a scan, over all modules so far.
#[derive(Default)]
pub struct ScanResult {
    /// Rows matched.
    pub rows: BTreeSet<RowId>,
    /// Copies without a row that should be off, and are.
    pub off_already: u64,
    /// Copies without a body that only wildcards matched.
    pub bodyless: u64,
    /// Copies that got no row (of shared modules, and beyond [`MAX_FLEETING_ROWS`]), by reason.
    pub not_entered: BTreeMap<Reason, u64>,
    /// The first of them by name.
    pub not_entered_names: Vec<RefusedMethod>,
    /// Number of matches of each order that applies to something.
    pub per_order: BTreeMap<OrderSeq, u64>,
    /// Orders that were refused for some copy because it also serves other domains.
    pub refused_as_shared: BTreeSet<OrderSeq>,
    /// Modules with one copy for several domains, if an order names some of them.
    pub shared: BTreeMap<(u32, bool), SharedModule>,
    /// Matches for which the ledger had no room.
    pub no_room: u64,
    /// Whether some `MoveNext` is no longer traced because of its async method. Earlier orders may decide its level now.
    pub left_bodies: bool,
    /// The assemblies, by module, that define interfaces or base classes of its types and are not loaded. Orders by
    /// interface may match more once they are.
    pub missing: Vec<(ModuleKey, BTreeSet<Arc<str>>)>,
}

/// The orders that concern a module.
pub struct ModuleOrders<'a> {
    /// The module.
    pub module: &'a Arc<Module>,
    /// The orders.
    pub aimed: ScopedOrders<'a>,
    /// Its AppDomains, if an order has a scope.
    place: Option<ModulePlace>,
}

impl<'a> ModuleOrders<'a> {
    /// Sorts orders with an assembly part that matches the module.
    pub fn new(
        context: &Context,
        module: &'a Arc<Module>,
        orders: impl Iterator<Item = &'a Standing>,
    ) -> ModuleOrders<'a> {
        let mut known = None;
        let aimed =
            ScopedOrders::at(orders, || known.insert(context.modules.place(&context.info, module)).clone());
        ModuleOrders { module, aimed, place: known }
    }

    /// Visits every method that the orders match, with the orders that apply to it and those that are refused, each
    /// oldest first. If `only` is not empty, visits only methods that one of these orders matches, regardless of
    /// scope and whether it stands. Stops soon after the search is stopped.
    pub fn each(
        &self,
        context: &Context,
        search: &ImplementationSearch,
        only: &[&Standing],
        mut visit: impl FnMut((&Import, &ModuleNames), &MatchedMethod, &BodyOrders<'a>, &[&'a Standing]),
    ) {
        if self.aimed.is_empty() && only.is_empty() {
            return;
        }
        let all: Vec<&Standing> = self.aimed.here.iter().chain(&self.aimed.refused).copied().collect();
        let patterns: Vec<_> = all.iter().chain(only).map(|standing| &*standing.pattern).collect();
        let (mut here, mut refused) = (BodyOrders::default(), Vec::new());
        let traces =
            |orders: &[&Standing]| orders.iter().any(|standing| standing.order.level >= Level::Trace);
        let follows = traces(&self.aimed.here) || context.ledger.lock().follows_bodies();
        search.prepare(&patterns);
        self.module.with_metadata(&context.info, |import| {
            let names = ModuleNames::default();
            let mut single = follows.then(|| MethodMatcher::new((import, &names), search, &patterns));
            matching((import, &names), search, &patterns, |method, hits| {
                // Hits are ascending, so that those of `only` come last.
                if !only.is_empty() && hits.last().is_none_or(|hit| *hit < all.len()) {
                    return ControlFlow::Continue(());
                }
                here.orders.clear();
                here.is_inherited = false;
                refused.clear();
                for hit in hits {
                    let list = if *hit < self.aimed.here.len() { &mut here.orders } else { &mut refused };
                    list.extend(all.get(*hit).copied());
                }
                if let Some(single) = &mut single
                    && async_bodies::may_be_body(method)
                {
                    let direct = std::mem::take(&mut here.orders);
                    here = async_bodies::with_inherited(
                        (self.module, import, &self.aimed.here),
                        single,
                        method.token,
                        direct,
                    );
                }
                visit((import, &names), method, &here, &refused);
                let visits = |hits: &[usize]| match only {
                    [] => !hits.is_empty(),
                    _ => hits.last().is_some_and(|hit| *hit >= all.len()),
                };
                if let Some(single) = &mut single
                    && let Some((body, orders)) = async_bodies::body_to_follow(
                        context,
                        (self.module, import, &self.aimed.here),
                        single,
                        (method.token, &here),
                        visits,
                    )
                {
                    async_bodies::with_method((import, &names), body, |body| {
                        visit((import, &names), body, &orders, &refused);
                    });
                }
                if self.module.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
    }

    /// Records a match of orders that name only some of the domains that share the module.
    pub fn note_shared(
        &self,
        here: &[&Standing],
        refused: &[&Standing],
        shared: &mut BTreeMap<(u32, bool), SharedModule>,
    ) {
        let Some(place) = self.place.as_ref().filter(|place| place.shared) else { return };
        let accepted = here.iter().any(|standing| {
            let prefix = standing.order.domain.as_deref();
            standing.order.all_domains
                && prefix.is_some_and(|prefix| place.domains.iter().any(|name| !name.starts_with(prefix)))
        });
        for (noted, accepted) in [(accepted, true), (!refused.is_empty(), false)] {
            if noted {
                shared
                    .entry((place.key.generation, accepted))
                    .or_insert_with(|| scope::shared(&self.module.name, place, 0, accepted))
                    .methods += 1;
            }
        }
    }
}

/// Adds the copies that the orders match in their module. The orders are either all standing ones, or later than
/// all others. Reads metadata only; requests nothing from the CLR. Gives up once the search is stopped.
pub fn scan(context: &Context, target: &ModuleOrders, search: &ImplementationSearch, found: &mut ScanResult) {
    let now = context.ledger.now_ms();
    target.each(context, search, &[], |metadata, method, here, refused| {
        target.note_shared(&here.orders, refused, &mut found.shared);
        found.refused_as_shared.extend(refused.iter().map(|standing| standing.seq));
        if here.orders.is_empty() {
            if async_bodies::is_inherited(context, target.module.id(), method.token) {
                found.left_bodies = true;
                return;
            }
            leave_out(target.module, metadata, method, refused, found);
        } else {
            enter(context, target.module, metadata, method, here, now, found);
        }
    });
    found.note_missing(target.module, search);
}

/// Reviews the copies of a module that the changed orders match: finds the deciding order among all standing ones.
/// Changed orders came, went, or apply to other domains now. `target` has all standing orders.
pub fn review(
    context: &Context,
    target: &ModuleOrders,
    search: &ImplementationSearch,
    changed: &[&Standing],
    found: &mut ScanResult,
) {
    let now = context.ledger.now_ms();
    let mut changed_refusals = Vec::new();
    target.each(context, search, changed, |metadata, method, here, refused| {
        changed_refusals.clear();
        changed_refusals
            .extend(refused.iter().copied().filter(|one| changed.iter().any(|other| other.seq == one.seq)));
        target.note_shared(&here.orders, &changed_refusals, &mut found.shared);
        found.refused_as_shared.extend(changed_refusals.iter().map(|standing| standing.seq));
        if !here.orders.is_empty() {
            enter(context, target.module, metadata, method, here, now, found);
            return;
        }
        let mut ledger = context.ledger.lock();
        let known = ledger.find(target.module.id(), method.token);
        if let Some(row) = known.and_then(|id| ledger.row_mut(id)) {
            row.wanted.deciding_order = None;
            row.wanted.is_inherited = false;
            found.rows.insert(row.id);
        }
        drop(ledger);
        if !changed_refusals.is_empty() {
            leave_out(target.module, metadata, method, &changed_refusals, found);
        }
    });
    found.note_missing(target.module, search);
}

/// Counts a method of a shared module when the orders name only some of its domains; it gets no row.
fn leave_out(
    module: &Arc<Module>,
    (import, names): (&Import, &ModuleNames),
    method: &MatchedMethod,
    orders: &[&Standing],
    found: &mut ScanResult,
) {
    let by_name = orders.iter().any(|standing| !standing.pattern.has_wildcard());
    if method.without_body(module.dynamic).is_some() && !by_name {
        found.bodyless += 1;
        return;
    }
    found.leave_out(Reason::Shared, || names.display(import, method).full_name(&module.name));
}

impl ScanResult {
    /// Returns the orders that matched something, even if it was refused.
    pub fn matched(&self) -> impl Iterator<Item = OrderSeq> {
        self.per_order.keys().chain(&self.refused_as_shared).copied()
    }

    /// Records the assemblies that types of a module need and that are not loaded.
    fn note_missing(&mut self, module: &Module, search: &ImplementationSearch) {
        let missing = search.supertypes.take_missing();
        if !missing.is_empty() {
            self.missing.push((module.key, missing));
        }
    }

    /// Counts a copy that gets no row.
    fn leave_out(&mut self, reason: Reason, name: impl FnOnce() -> String) {
        *self.not_entered.entry(reason).or_default() += 1;
        if self.not_entered_names.len() < MAX_REFUSALS {
            self.not_entered_names.push(RefusedMethod {
                method: name(),
                reason,
                hresult: 0,
                condition: None,
            });
        }
    }
}

fn enter(
    context: &Context,
    module: &Arc<Module>,
    (import, names): (&Import, &ModuleNames),
    method: &MatchedMethod,
    BodyOrders { orders, is_inherited }: &BodyOrders<'_>,
    now: u64,
    found: &mut ScanResult,
) {
    for standing in orders {
        *found.per_order.entry(standing.seq).or_default() += 1;
    }
    let known = {
        let ledger = context.ledger.lock();
        ledger.find(module.id(), method.token).and_then(|id| Some((id, ledger.row(id)?.ineligible)))
    };
    let deciding_order = orders.last().map(|standing| standing.seq);
    let wants = orders.last().is_some_and(|standing| standing.order.level > Level::Off);
    let by_name = orders.iter().any(|standing| !standing.pattern.has_wildcard());
    if known.is_none() && !wants {
        // It gets a row when an order turns it on, or when the order that keeps it off goes.
        let bodyless = refusal_of(context, module, import, method, orders).is_some_and(Reason::is_bodyless);
        *if bodyless && !by_name { &mut found.bodyless } else { &mut found.off_already } += 1;
        return;
    }
    // A body does not change, so each copy is judged once.
    let (ineligible, body) = match known {
        Some((_, ineligible)) => (ineligible, Body::default()),
        None => match judge(context, module, import, method) {
            Ok(body) => {
                let expanded = may_be_expanded(module, import, method);
                (None, Body { expanded, ..body })
            }
            Err(reason) => (Some(reason), Body::default()),
        },
    };
    if !by_name && ineligible.is_some_and(Reason::is_bodyless) {
        found.bodyless += 1;
        return;
    }
    // Such modules may come and go a thousand times, so beyond the limit wildcard matches are only counted.
    let crowded = known.is_none() && context.ledger.lock().rows().fleeting() >= MAX_FLEETING_ROWS;
    if let (true, false, Some(reason @ (Reason::Dynamic | Reason::Collectible))) =
        (crowded, by_name, ineligible)
    {
        found.leave_out(reason, || names.display(import, method).full_name(&module.name));
        return;
    }
    // Make the names before taking the lock: they read metadata.
    let fresh = known.is_none().then(|| names.display(import, method));
    let mut ledger = context.ledger.lock();
    let id = match (known, fresh) {
        (Some((id, _)), _) => Some(id),
        (None, Some(names)) => {
            let Body { local_sig, inlinable, ends_in_itself, expanded, nearly_too_large, untimed } = body;
            let module = Arc::clone(module);
            let token = method.token;
            let identity = CopyIdentity {
                module,
                token,
                local_sig,
                inlinable,
                ends_in_itself,
                expanded,
                nearly_too_large,
                untimed,
                names,
            };
            ledger.add_row(identity, ineligible)
        }
        (None, None) => None,
    };
    let Some(row) = id.and_then(|id| ledger.row_mut(id)) else {
        found.no_room += 1;
        return;
    };
    row.wanted.deciding_order = deciding_order;
    row.wanted.is_inherited = *is_inherited;
    let id = row.id;
    if *is_inherited {
        ledger.note_inherited();
    }
    let Some(row) = ledger.row_mut(id) else { return };
    if let (Some(reason), true, true) = (ineligible, row.is_dialable(), wants) {
        ledger.fail(id, RequestState::Refused, reason, 0, now);
    }
    found.rows.insert(id);
}

/// The facts to keep about a body that can be dialled.
#[derive(Default)]
struct Body {
    /// The StandAloneSig token of its variables; 0 if it has none.
    local_sig: u32,
    /// Whether the JIT may inline it.
    inlinable: bool,
    /// Whether its last call is to itself.
    ends_in_itself: bool,
    /// Whether other code may replace calls of it.
    expanded: bool,
    /// Whether the code of a level may take it above the size up to which the JIT optimizes.
    nearly_too_large: bool,
    /// Why it cannot be timed, if so.
    untimed: Option<UntimedReason>,
}

/// Whether other code may replace a method's calls. Only the core library has the attributes for that, which are
/// its own.
pub(super) fn may_be_expanded(module: &Module, import: &Import, method: &MatchedMethod) -> bool {
    module.is_core_library() && module.expands(import, method.type_token, method.token)
}

/// Returns why a method without a row cannot be dialled, if so. Examines its body only if the latest order turns it
/// on.
pub(super) fn refusal_of(
    context: &Context,
    module: &Module,
    import: &Import,
    method: &MatchedMethod,
    orders: &[&Standing],
) -> Option<Reason> {
    match orders.last().is_some_and(|standing| standing.order.level > Level::Off) {
        true => judge(context, module, import, method).err(),
        false => check(context, module, method.type_name, method.method).err(),
    }
}

/// Judges a method, including its body: returns the facts to keep about the body, or why the method cannot be
/// dialled.
fn judge(
    context: &Context,
    module: &Module,
    import: &Import,
    method: &MatchedMethod,
) -> Result<Body, Reason> {
    check(context, module, method.type_name, method.method)?;
    let read = |original: &[u8]| {
        il::decode(original).map(|body| {
            let ends_in_itself = ends_in_itself(import, &body, method.token, method.method);
            Body {
                local_sig: body.local_sig,
                inlinable: may_be_inlined(
                    context.runtime.major,
                    method.method.impl_flags,
                    body.old_code_size,
                ),
                ends_in_itself,
                expanded: false,
                nearly_too_large: eligibility::is_nearly_too_large(body.old_code_size),
                untimed: timed_body::untimed(&body, ends_in_itself),
            }
        })
    };
    match context.info.il_body(import.module(), method.token, read) {
        Err(_) => Err(Reason::NoBody),
        Ok(Err(_)) => Err(Reason::BadIl),
        Ok(Ok(body)) => Ok(body),
    }
}

/// Checks whether a method can be recompiled, ignoring its body.
///
/// # Errors
/// The reason.
pub fn check(context: &Context, module: &Module, type_name: &str, method: &MethodDef) -> Result<(), Reason> {
    eligibility::check(&MethodFacts {
        attributes: method.attributes,
        impl_flags: method.impl_flags,
        rva: method.rva,
        dynamic: module.dynamic,
        collectible: module.collectible,
        editable: module.is_editable(&context.info, context.hot_reload),
        type_name,
        method: &method.name,
        core_library: module.is_core_library(),
        runtime_major: context.runtime.major,
    })
}

/// Whether a method without a row may be recompiled with its original IL.
pub(super) fn may_be_recompiled(context: &Context, (module, token): (usize, u32)) -> bool {
    let Some(module) = context.modules.get(module) else { return false };
    let judged = module.with_metadata(&context.info, |import| {
        let method = import.method(token).ok()?;
        let type_name = ModuleNames::default().type_name(import, method.type_def)?;
        check(context, &module, &type_name, &method).ok()
    });
    judged.flatten().is_some()
}
