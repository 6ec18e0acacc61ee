//! `RequestRevert`: rows that are turned off run their original code again, as do the callers recompiled for them.
#![forbid(unsafe_code)]

use super::inlining_barrier::with_barrier;
use super::loaded_methods::{
    AT_ONCE, RequestItem, items_of_methods, split_at_places, split_gone, take_back_gone, with_loaded,
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

/// Restores the original IL of these rows, except lost ones.
pub fn revert(context: &Context, rows: &[RowId]) {
    let (plan_turn_off, methods) = {
        let ledger = context.ledger.lock();
        let stands = |id: &RowId| ledger.row(*id).is_some_and(|row| !row.identity.module.is_gone());
        let rows: Vec<RowId> = rows.iter().copied().filter(stands).collect();
        let methods: Vec<Method> = rows.iter().filter_map(|id| ledger.row(*id)).map(Row::method).collect();
        (turn_off_plan::plan_turn_off(&ledger, &rows), methods)
    };
    let TurnOffPlan { off, stay, dismissed, recompile } = plan_turn_off;
    turn_off(context, &off, &dismissed);
    context.inlining.allow(methods);
    let stay = mark_for_recompilation(context, stay);
    recompile_originals(context, stay, recompile);
}

/// Reverts the recompiled callers that no row needs any more.
pub fn dismiss_unneeded(context: &Context) {
    revert(context, &[]);
}

fn turn_off(context: &Context, rows: &[RowId], dismissed: &[Method]) {
    let mut items = items_of_rows(&context.ledger.lock(), rows);
    items.extend(items_of_methods(&context.modules, dismissed.iter().copied()));
    let (gone, items) = split_gone(&items);
    take_back_gone(context, &gone);
    // "All off" turns off every row: no module has to wait for all of them before it unloads.
    for part in items.chunks(AT_ONCE) {
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
    for part in items.chunks(AT_ONCE) {
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
