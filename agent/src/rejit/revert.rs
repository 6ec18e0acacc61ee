//! `RequestRevert`: rows that are turned off run their original code again, as do the callers recompiled for them.
#![forbid(unsafe_code)]

use super::inlining_barrier::with_barrier;
use super::loaded_methods::{TargetMethod, targets, with_loaded};
use super::reverting_check::in_flight;
use crate::clr::hresult::CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND;
use crate::context::Context;
use crate::inlining::Method;
use crate::ledger::recompiled_callers::DiscoveredBy;
use crate::ledger::row::Row;
use crate::ledger::turn_off_plan::{self, TurnOffPlan};
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use std::collections::HashSet;
use std::sync::Arc;
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
    let (mut methods, mut asked): (Vec<Method>, Vec<TargetMethod>) = {
        let ledger = context.ledger.lock();
        let of_row = |row: &Row| (row.method(), (Some(Arc::clone(&row.identity.module)), row.identity.token));
        rows.iter().filter_map(|id| ledger.row(*id)).map(of_row).unzip()
    };
    methods.extend(dismissed);
    asked.extend(targets(&context.modules, dismissed.iter().copied()));
    if methods.is_empty() || context.ledger.is_stopping() {
        return;
    }
    // None: the module is unloading, which makes the request void.
    let mut each: Vec<Option<HRESULT>> = vec![None; methods.len()];
    let whole = with_loaded(&asked, |loaded, places| {
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
    let in_flight = in_flight(context, rows);
    context.ledger.change(|ledger, now| {
        for (id, status) in rows.iter().zip(&each) {
            let Some(status) = status else { continue };
            let Some(row) = ledger.row_mut(*id).filter(|row| row.state != CopyState::Lost) else { continue };
            row.changed_at = Some(Instant::now());
            if (whole.is_ok() && status.is_ok()) || was_not_requested(*status) {
                ledger.mark_off(*id, in_flight.contains(id), now);
            } else {
                let hresult = whole.err().map_or(*status, |e| e.hresult);
                row.reason = Some((Reason::Hresult, hresult.0 as u32));
                ledger.record_transition(*id, now);
            }
        }
        for (method, status) in methods.iter().zip(&each) {
            if status.is_some_and(|status| (whole.is_ok() && status.is_ok()) || was_not_requested(status)) {
                ledger.recompiled_callers.remove(*method);
            }
        }
    });
}

fn was_not_requested(status: HRESULT) -> bool {
    status == CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND
}

/// Turns rows that others need recompiled into recompiled callers.
fn mark_for_recompilation(
    context: &Context,
    stay: Vec<(RowId, Method, DiscoveredBy)>,
) -> Vec<(RowId, Method)> {
    let mut ledger = context.ledger.lock();
    stay.into_iter()
        .map(|(id, method, found)| {
            ledger.recompiled_callers.add(method, found);
            (id, method)
        })
        .collect()
}

/// Requests versions with the original IL: of rows that stay as recompiled callers, and of recompiled callers that
/// may inline again the methods turned off.
fn recompile_originals(context: &Context, stay: Vec<(RowId, Method)>, recompile: Vec<Method>) {
    let mut methods: Vec<Method> = stay.iter().map(|(_, method)| *method).collect();
    methods.extend(recompile);
    if methods.is_empty() {
        return;
    }
    let asked = targets(&context.modules, methods.iter().copied());
    let request = || {
        with_loaded(
            &asked,
            |loaded, _| if loaded.is_empty() { Ok(()) } else { context.info.request_rejit(loaded) },
        )
    };
    match with_barrier(context, &methods, false, request) {
        Ok(Ok(())) => {
            let rows: Vec<RowId> = stay.into_iter().map(|(id, _)| id).collect();
            let in_flight = in_flight(context, &rows);
            context.ledger.change(|ledger, now| {
                for id in rows {
                    if let Some(row) = ledger.row_mut(id).filter(|row| row.state != CopyState::Lost) {
                        row.changed_at = Some(Instant::now());
                        ledger.mark_off(id, in_flight.contains(&id), now);
                    }
                }
            });
        }
        // They keep their present code, and are changed a moment later.
        Err(_) => {
            let mut ledger = context.ledger.lock();
            ledger.deferred.rows.extend(stay.iter().map(|(id, _)| *id));
            let rows: HashSet<Method> = stay.iter().map(|(_, method)| *method).collect();
            ledger.deferred.recompiled_callers.extend(methods.iter().filter(|method| !rows.contains(method)));
            for method in rows {
                ledger.recompiled_callers.remove(method);
            }
        }
        Ok(Err(_)) => {
            // Better off, with calls from where it is inlined not counted, than on.
            let (rows, methods): (Vec<RowId>, Vec<Method>) = stay.into_iter().unzip();
            turn_off(context, &rows, &[]);
            let mut ledger = context.ledger.lock();
            turn_off_plan::mark_unrecompilable(&mut ledger, &methods.iter().copied().collect());
        }
    }
}
