//! Records the outcome for each element of a request: accepted, refused, or deferred.
#![forbid(unsafe_code)]

use super::loaded_methods::RequestItem;
use super::revert::revert;
use crate::context::Context;
use crate::inlining::Inlined;
use crate::ledger::request_state::{ActiveRequest, RequestProgress, RequestState};
use crate::ledger::row::Row;
use crate::ledger::turn_off_plan::mark_unrecompilable;
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use std::collections::HashSet;
use std::time::Instant;

/// Records that the runtime cannot find the inliners of these rows.
pub(super) fn give_up_inliners(context: &Context, items: &[RequestItem]) {
    let mut ledger = context.ledger.lock();
    for id in items.iter().filter_map(|item| item.row) {
        if let Some(row) = ledger.row_mut(id) {
            row.inlining.searched_by_runtime = false;
            row.inlining.inlined = Inlined::Perhaps;
        }
    }
}

/// Defers these, until the thread next retries.
pub(super) fn defer(context: &Context, items: &[RequestItem]) {
    context.ledger.change(|ledger, now| {
        for item in items {
            let Some(id) = item.row else {
                ledger.deferred.recompiled_callers.insert(item.method);
                continue;
            };
            let Some(row) = ledger.row_mut(id) else { continue };
            row.progress = RequestProgress::Idle;
            row.reason = Some((Reason::BeingCompiled, 0));
            ledger.deferred.rows.insert(id);
            ledger.record_transition(id, now);
        }
    });
}

/// Records that the CLR rejected this.
pub(super) fn unable(context: &Context, item: &RequestItem, hresult: u32) {
    match item.row {
        Some(id) => refused(context, id, Reason::Hresult, hresult),
        None => mark_unrecompilable(&mut context.ledger.lock(), &HashSet::from([item.method])),
    }
}

pub(super) fn accepted(context: &Context, items: &[RequestItem]) {
    let changed_at = Some(Instant::now());
    context.ledger.change(|ledger, now| {
        for item in items {
            let Some(row) = item.row.and_then(|id| ledger.row_mut(id)) else { continue };
            let progress = std::mem::take(&mut row.progress);
            if item.is_gone() {
                // Its module unloads: the row is lost.
                continue;
            }
            row.changed_at = changed_at;
            // ReJITError may have come during the request.
            if !row.is_dialable() {
                continue;
            }
            let request = ActiveRequest { level: row.wanted.level, body: row.timing.body };
            row.state = RequestState::Asked { request, live_version: row.state.live_version() };
            let (id, is_noted) = (row.id, row.probe().is_noted());
            if !is_noted {
                ledger.close_account(id, now);
            }
            ledger.record_transition(id, now);
            if progress == RequestProgress::CompiledEarly {
                ledger.go_live(id, now);
            }
        }
    });
}

pub(super) fn refused(context: &Context, id: RowId, reason: Reason, hresult: u32) {
    let was_on = context.ledger.lock().row(id).is_some_and(Row::is_on);
    if was_on {
        // It was on at another level, and that goes as well.
        revert(context, &[id]);
    }
    let state = if reason == Reason::Hresult { RequestState::Failed } else { RequestState::Refused };
    let copy = context.ledger.change(|ledger, now| {
        ledger.fail(id, state, reason, hresult, now);
        let row = ledger.row_mut(id)?;
        row.progress = RequestProgress::Idle;
        Some(row.method())
    });
    context.inlining.allow(copy);
    context.inbox.request_caller_check();
}
