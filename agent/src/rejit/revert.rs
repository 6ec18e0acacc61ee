//! `RequestRevert`: rows that are turned off run their original code again, as do the callers recompiled for them.
#![forbid(unsafe_code)]

use super::inlining_barrier::with_barrier;
use super::loaded_methods::{
    RequestItem, at_once, items_of_methods, split_at_places, split_gone, take_back_gone, with_loaded,
};
use super::reverting_check::in_flight;
use crate::clr::hresult::CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND;
use crate::context::Context;
use crate::inlining::Method;
use crate::ledger::recompiled_callers::DiscoveredBy;
use crate::ledger::request_state::RequestState;
use crate::ledger::row::Row;
use crate::ledger::state::LedgerState;
use crate::ledger::turn_off_plan::{self, TurnOffPlan};
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use std::collections::HashSet;
use std::time::Instant;
use windows_core::HRESULT;

/// Most requests without a body that are reverted before their rows count as off. For each generic method the runtime
/// walks through all generic types that it has loaded, so tens of thousands of reverts take seconds.
const CANCELLED_AT_ONCE: usize = 1024;

/// Restores the original IL of these rows, except lost ones. Rows whose body the CLR has not asked for run none: if they
/// are many, they are off at once, and a later job reverts their requests.
pub fn revert(context: &Context, rows: &[RowId]) {
    revert_with(context, rows, 0);
}

/// Reverts all recompiled callers and cancelled requests that no row needs any more.
pub fn dismiss_unneeded(context: &Context) {
    revert_with(context, &[], usize::MAX);
}

/// Does the same, but leaves most of the cancelled requests to a later job: other jobs may wait.
pub fn dismiss_some(context: &Context) {
    revert_with(context, &[], at_once(context));
}

/// Reverts rows, the recompiled callers that no row needs, and at most `most` of the cancelled requests.
fn revert_with(context: &Context, rows: &[RowId], most: usize) {
    let plan_turn_off = {
        let ledger = context.ledger.lock();
        let stands = |id: &RowId| ledger.row(*id).is_some_and(|row| !row.identity.module.is_gone());
        let rows: Vec<RowId> = rows.iter().copied().filter(stands).collect();
        turn_off_plan::plan_turn_off(&ledger, &rows)
    };
    let TurnOffPlan { mut off, stay, mut dismissed, mut cancelled, recompile } = plan_turn_off;
    cancel_requests(context, &mut off);
    cancelled.truncate(most);
    let before = context.ledger.lock().recompiled_callers.cancelled();
    dismissed.extend(&cancelled);
    turn_off(context, &off, &dismissed);
    let (methods, left) = {
        let ledger = context.ledger.lock();
        let rows = off.iter().chain(stay.iter().map(|(id, ..)| id));
        let methods: Vec<Method> = rows.filter_map(|id| ledger.row(*id)).map(Row::method).collect();
        (methods, ledger.recompiled_callers.cancelled())
    };
    context.inlining.allow(methods.into_iter().chain(cancelled));
    // Not again and again for requests that the runtime does not revert.
    if left > 0 && (most == 0 || left < before) {
        context.inbox.request_caller_check();
    }
    let stay = mark_for_recompilation(context, stay);
    recompile_originals(context, stay, recompile);
}

/// Turns off those of these rows that run no instrumented code although they are requested, if they are many; leaves
/// the others.
fn cancel_requests(context: &Context, rows: &mut Vec<RowId>) {
    if rows.len() <= CANCELLED_AT_ONCE {
        return;
    }
    let in_flight = in_flight(context, rows);
    let cancel =
        |ledger: &mut LedgerState, now| turn_off_plan::cancel_requests(ledger, rows, &in_flight, now);
    let cancelled = context.ledger.change(cancel);
    rows.retain(|id| !cancelled.contains(id));
}

fn turn_off(context: &Context, rows: &[RowId], dismissed: &[Method]) {
    let mut items = items_of_rows(&context.ledger.lock(), rows);
    items.extend(items_of_methods(&context.modules, dismissed.iter().copied()));
    let (gone, items) = split_gone(&items);
    take_back_gone(context, &gone);
    // "All off" turns off every row: no module has to wait for all of them before it unloads.
    for part in items.chunks(at_once(context)) {
        if context.ledger.is_stopping() {
            return;
        }
        turn_off_part(context, part);
    }
}

fn turn_off_part(context: &Context, items: &[RequestItem]) {
    // None: the module is unloading, which makes the request void.
    let mut each: Vec<Option<HRESULT>> = vec![None; items.len()];
    let (whole, skipped) = with_loaded(items, |loaded, places| {
        if loaded.is_empty() {
            return Ok(());
        }
        let (whole, statuses) = context.info.request_revert(loaded);
        for (place, status) in places.iter().zip(statuses) {
            if let Some(each) = each.get_mut(*place) {
                *each = Some(status);
            }
        }
        whole
    });
    let gone: Vec<RequestItem> = skipped.iter().filter_map(|place| items.get(*place)).cloned().collect();
    take_back_gone(context, &gone);
    if gone.len() == items.len() {
        return;
    }
    let rows: Vec<RowId> = items.iter().filter_map(|item| item.row).collect();
    let in_flight = in_flight(context, &rows);
    let changed_at = Some(Instant::now());
    context.ledger.change(|ledger, now| {
        for (item, status) in items.iter().zip(&each) {
            let Some(status) = status else { continue };
            let is_off = (whole.is_ok() && status.is_ok()) || was_not_requested(*status);
            if is_off {
                ledger.recompiled_callers.remove(item.method);
            }
            let Some(id) = item.row else { continue };
            let Some(row) = ledger.row_mut(id).filter(|row| row.state != RequestState::Lost) else {
                continue;
            };
            row.changed_at = changed_at;
            if is_off {
                ledger.mark_off(id, in_flight.contains(&id), now);
            } else {
                let hresult = whole.as_ref().err().map_or(*status, |e| e.hresult);
                row.reason = Some((Reason::Hresult, hresult.0 as u32));
                ledger.record_transition(id, now);
            }
        }
    });
}

fn was_not_requested(status: HRESULT) -> bool {
    status == CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND
}

/// Turns rows that others need recompiled into recompiled callers.
fn mark_for_recompilation(context: &Context, stay: Vec<(RowId, Method, DiscoveredBy)>) -> Vec<RequestItem> {
    let mut ledger = context.ledger.lock();
    let rows: Vec<RowId> = stay.iter().map(|(id, ..)| *id).collect();
    for (_, method, found) in stay {
        ledger.recompiled_callers.add(method, found);
    }
    items_of_rows(&ledger, &rows)
}

fn items_of_rows(ledger: &LedgerState, rows: &[RowId]) -> Vec<RequestItem> {
    rows.iter().filter_map(|id| ledger.row(*id)).map(RequestItem::of_row).collect()
}

/// Requests versions with the original IL: of rows that stay as recompiled callers, and of recompiled callers that
/// may inline again the methods turned off.
fn recompile_originals(context: &Context, stay: Vec<RequestItem>, recompile: Vec<Method>) {
    let mut items = stay;
    items.extend(items_of_methods(&context.modules, recompile));
    let (gone, items) = split_gone(&items);
    take_back_gone(context, &gone);
    for part in items.chunks(at_once(context)) {
        recompile_part(context, part);
    }
}

fn recompile_part(context: &Context, items: &[RequestItem]) {
    let methods: Vec<Method> = items.iter().map(|item| item.method).collect();
    let request = || {
        with_loaded(
            items,
            |loaded, _| if loaded.is_empty() { Ok(()) } else { context.info.request_rejit(loaded) },
        )
    };
    match with_barrier(context, &methods, false, request) {
        Ok((answer, skipped)) => {
            let (gone, requested) = split_at_places(items.to_vec(), &skipped);
            take_back_gone(context, &gone);
            let rows: Vec<RowId> = requested.iter().filter_map(|item| item.row).collect();
            if answer.is_err() {
                // Better off, with calls from where it is inlined not counted, than on.
                turn_off(context, &rows, &[]);
                let of_rows = requested.iter().filter(|item| item.row.is_some());
                let methods: HashSet<Method> = of_rows.map(|item| item.method).collect();
                turn_off_plan::mark_unrecompilable(&mut context.ledger.lock(), &methods);
            } else if !rows.is_empty() {
                mark_off(context, &rows);
            }
        }
        // They keep their present code, and are changed a moment later.
        Err(_) => {
            let mut ledger = context.ledger.lock();
            for item in items {
                match item.row {
                    Some(id) => {
                        ledger.deferred.rows.insert(id);
                        ledger.recompiled_callers.remove(item.method);
                    }
                    None => {
                        ledger.deferred.recompiled_callers.insert(item.method);
                    }
                }
            }
        }
    }
}

fn mark_off(context: &Context, rows: &[RowId]) {
    let in_flight = in_flight(context, rows);
    let changed_at = Some(Instant::now());
    context.ledger.change(|ledger, now| {
        for id in rows {
            if let Some(row) = ledger.row_mut(*id).filter(|row| row.state != RequestState::Lost) {
                row.changed_at = changed_at;
                ledger.mark_off(*id, in_flight.contains(id), now);
            }
        }
    });
}
