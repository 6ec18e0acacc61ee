//! Orders on async methods that also apply to the `MoveNext` that does their work: at level *trace* a call is followed to its
//! completion there.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::catalogue::async_methods::AsyncMethod;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::methods::MethodMatcher;
use crate::catalogue::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::clr::attributes::AsyncKind;
use crate::clr::metadata::Import;
use crate::context::Context;
use crate::il;
use crate::planner::Standing;
use redial_protocol::level::Level;

/// The orders that apply to a method.
#[derive(Default)]
pub struct BodyOrders<'a> {
    /// Those that match it, and for the `MoveNext` of an async method those that match that method; oldest first.
    pub orders: Vec<&'a Standing>,
    /// Whether the latest matches the async method only.
    pub is_inherited: bool,
}

/// Returns the orders for a `MoveNext` that orders match, and that other orders may match through its async method.
pub(super) fn combined<'a>(direct: &[&'a Standing], inherited: &[&'a Standing]) -> BodyOrders<'a> {
    let seq = |orders: &[&Standing]| orders.last().map(|standing| standing.seq);
    let is_inherited = seq(inherited) > seq(direct);
    // Other levels concern the method's own body only.
    if is_inherited && inherited.last().is_some_and(|standing| standing.order.level < Level::Trace) {
        return BodyOrders { orders: direct.to_vec(), is_inherited: false };
    }
    let mut orders: Vec<&Standing> = direct.iter().chain(inherited).copied().collect();
    orders.sort_by_key(|standing| standing.seq);
    orders.dedup_by_key(|standing| standing.seq);
    BodyOrders { orders, is_inherited }
}

/// Adds to the orders that match a `MoveNext` those of `all` that match its async method.
pub(super) fn with_inherited<'a>(
    (module, import, all): (&Module, &Import, &[&'a Standing]),
    matcher: &mut MethodMatcher<'_>,
    move_next: u32,
    direct: Vec<&'a Standing>,
) -> BodyOrders<'a> {
    match method_of(module, import, move_next) {
        Some(start) => combined(&direct, &matching_orders(matcher, start, all)),
        None => BodyOrders { orders: direct, is_inherited: false },
    }
}

/// Returns the `MoveNext` to visit after its async method, and the orders that apply to it: one that is to be traced, or was
/// because of this method. None if it is visited by itself; `visits` decides that by the indices of the patterns that match it.
pub(super) fn body_to_follow<'a>(
    context: &Context,
    (module, import, all): (&Module, &Import, &[&'a Standing]),
    matcher: &mut MethodMatcher<'_>,
    (method, here): (u32, &BodyOrders<'a>),
    visits: impl FnOnce(&[usize]) -> bool,
) -> Option<(u32, BodyOrders<'a>)> {
    let traces = traces(&here.orders);
    if !traces && !context.ledger.lock().follows_bodies() {
        return None;
    }
    let body = body_of(&context.info, module, import, method)?;
    if !traces && !is_inherited(context, module.id(), body) {
        return None;
    }
    let hits = matcher.hits_of(body);
    let direct: Vec<&Standing> = hits.iter().filter_map(|hit| all.get(*hit).copied()).collect();
    (!visits(&hits)).then(|| (body, combined(&direct, &here.orders)))
}

/// Whether the latest order of a `MoveNext` matches its async method only.
pub(super) fn is_inherited(context: &Context, module: usize, move_next: u32) -> bool {
    let ledger = context.ledger.lock();
    let row = ledger.find(module, move_next).and_then(|id| ledger.row(id));
    row.is_some_and(|row| row.wanted.is_inherited)
}

/// Whether the latest order traces.
fn traces(orders: &[&Standing]) -> bool {
    orders.last().is_some_and(|standing| standing.order.level >= Level::Trace)
}

/// Whether a method may be the `MoveNext` of an async method.
pub(super) fn may_be_body(method: &MatchedMethod) -> bool {
    method.method.name == "MoveNext" && method.type_name.contains('<')
}

/// Returns the async method whose `MoveNext` has a token.
fn method_of(module: &Module, import: &Import, move_next: u32) -> Option<u32> {
    module.async_methods(import).by_move_next(move_next).filter(|one| is_followed(one)).map(|one| one.method)
}

/// Returns the `MoveNext` of an async method, if calls can be followed in it.
fn body_of(info: &ProfilerInfo, module: &Module, import: &Import, method: u32) -> Option<u32> {
    let move_next = module.async_methods(import).of(method).filter(|one| is_followed(one))?.move_next?;
    let is_known = |body: &[u8]| {
        let body = il::decode(body).ok()?;
        il::completion_calls(&body, &il::state_machine(&body)?).map(drop)
    };
    info.il_body(import.module(), move_next, is_known).ok()?.map(|()| move_next)
}

fn is_followed(method: &AsyncMethod) -> bool {
    method.kind == AsyncKind::Async
}

/// Returns the orders that match a method, oldest first. `matcher` has their patterns first.
fn matching_orders<'a>(
    matcher: &mut MethodMatcher<'_>,
    token: u32,
    orders: &[&'a Standing],
) -> Vec<&'a Standing> {
    matcher.hits_of(token).into_iter().filter_map(|hit| orders.get(hit).copied()).collect()
}

/// Reads a method as if a pattern had matched it.
pub(super) fn with_method<T>(
    (import, names): (&Import, &ModuleNames),
    token: u32,
    read: impl FnOnce(&MatchedMethod) -> T,
) -> Option<T> {
    let method = import.method(token).ok()?;
    let type_name = names.type_name(import, method.type_def)?;
    let type_token = method.type_def;
    Some(read(&MatchedMethod { token, type_token, type_place: 0, type_name: &type_name, method: &method }))
}
