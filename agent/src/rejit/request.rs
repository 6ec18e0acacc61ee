//! Brings rows whose actual level differs from the wanted one in line: `RequestReJIT` here, `RequestRevert` in
//! `revert`.
#![forbid(unsafe_code)]

use super::conditions;
use super::inlining_barrier::with_barrier;
use super::loaded_methods::{
    RequestItem, at_once, items_of_methods, split_at_places, split_gone, take_back_gone, with_loaded,
};
use super::prepare::{PreparedRequest, prepare};
use super::request_outcome::{accepted, defer, give_up_inliners, unable};
use super::revert::revert;
use crate::clr::hresult::CORPROF_E_REJIT_NOT_ENABLED;
use crate::context::Context;
use crate::inbox::Progress;
use crate::inlining::Method;
use crate::ledger::request_state::RequestState;
use crate::ledger::row::Row;
use crate::ledger::row_timing::BodyTiming;
use crate::ledger::state::DeferredRequests;
use crate::ledger::wanted_dial::WantedDial;
use crate::planner::Orders;
use crate::planner::plan::{RequiredAction, required_action};
use crate::planted_fault;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// A token that no module has: the CLR answers it with a `ReJITError` during the request.
const NO_SUCH_METHOD: u32 = 0x06FF_FF00;

/// The result of bringing rows in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Number of copies requested from the CLR.
    pub asked: usize,
    /// False if it stopped half-way.
    pub complete: bool,
}

/// Brings these rows in line with the orders, unless `progress` is cancelled or "all off" waits.
pub fn apply(
    context: &'static Context,
    orders: &Orders,
    rows: &BTreeSet<RowId>,
    progress: &Progress,
) -> Applied {
    let (mut up, mut down, mut adjusted) = (Vec::new(), Vec::new(), Vec::new());
    if rows.is_empty() {
        return Applied { asked: 0, complete: true };
    }
    context.ledger.change(|ledger, now| {
        for id in rows {
            let Some(row) = ledger.row_mut(*id) else { continue };
            let deciding_order = row.wanted.deciding_order.filter(|seq| orders.stands(*seq));
            let (wanted, owner) = orders.wanted(deciding_order);
            let stepped =
                deciding_order.and_then(|seq| orders.get(seq)).and_then(|standing| standing.stepped);
            // An earlier step applies again if a user undid a later step, or "all off".
            let stays_spared = stepped.is_none() || wanted == Level::Off || wanted >= row.wanted.level;
            let options = orders.options(deciding_order);
            let options_changed = row.wanted.options != options;
            let condition = orders.condition(deciding_order);
            let condition_changed = row.wanted.condition != condition;
            let changed = row.wanted.level != wanted || options_changed || condition_changed;
            let spared = row.wanted.spared && stays_spared;
            let is_inherited = row.wanted.is_inherited;
            let level = wanted;
            row.wanted = WantedDial {
                deciding_order,
                is_inherited,
                level,
                options,
                condition,
                owner,
                stepped,
                spared,
            };
            let quarantined = row.reason.is_some_and(|(reason, _)| reason == Reason::Quarantined);
            let was_misfit = row.refusal_depends_on_order();
            if matches!(row.state, RequestState::Refused | RequestState::Failed)
                && (wanted == Level::Off || was_misfit && changed)
                && !quarantined
            {
                // That was the answer to an order that no longer stands; a new order may succeed.
                row.state = RequestState::Off;
                row.reason = None;
            }
            if options_changed {
                let kept = if row.is_dialable() { options } else { TimeOptions::default() };
                adjusted.extend(row.counters.slot().map(|slot| (*id, slot, kept)));
            }
            let due = required_action(wanted, row.is_dialable(), row.runs(), row.fits());
            let is_deferred = row.reason.is_some_and(|(reason, _)| reason == Reason::BeingCompiled);
            if is_deferred && (wanted == Level::Off || due == RequiredAction::Nothing) {
                row.reason = None;
                // It keeps the body that it has, whatever was prepared for it.
                row.timing.body = row.state.active().map_or(BodyTiming::NotWanted, |active| active.body);
                if !row.probe().is_noted() {
                    ledger.close_account(*id, now);
                }
                ledger.deferred.rows.remove(id);
            }
            match due {
                RequiredAction::Request => up.push(*id),
                RequiredAction::Revert => down.push(*id),
                RequiredAction::Nothing if changed => ledger.record_transition(*id, now),
                RequiredAction::Nothing => {}
            }
        }
    });
    conditions::set(context, &adjusted);
    revert(context, &down);
    let asked = up.len() + down.len();
    // Between two requests a larger change reports progress, and can be cancelled.
    let at_once = at_once(context);
    let mut requested: HashSet<Method> = methods_of(context, &up).collect();
    for (part, rows) in up.chunks(at_once).enumerate() {
        if part > 0 {
            if progress.is_cancelled() || context.inbox.all_off_pending() {
                return Applied { asked, complete: false };
            }
            progress.report(down.len() + part * at_once, asked);
        }
        request(context, rows.to_vec(), &requested);
        // Copies of this part may have been compiled with copies of later parts inlined.
        methods_of(context, rows).for_each(|method| {
            requested.remove(&method);
        });
    }
    Applied { asked, complete: true }
}

fn methods_of(context: &'static Context, rows: &[RowId]) -> impl Iterator<Item = Method> + use<> {
    let ledger = context.ledger.lock();
    let methods: Vec<Method> = rows.iter().filter_map(|id| ledger.row(*id)).map(Row::method).collect();
    methods.into_iter()
}

/// Requests the recompilation of these rows with instrumented bodies, and of their inliners outside `requested`
/// without them.
fn request(context: &'static Context, rows: Vec<RowId>, requested: &HashSet<Method>) {
    let PreparedRequest { rows: mut items, by_runtime, recompiled_callers } =
        prepare(context, rows, requested);
    items.extend(items_of_methods(&context.modules, recompiled_callers));
    send_request(context, &by_runtime, InlinedCallerSearch::ByRuntime);
    send_request(context, &items, InlinedCallerSearch::ByAgent);
}

/// The side that finds the inliners of the requested copies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InlinedCallerSearch {
    ByAgent,
    ByRuntime,
}

/// Sends a request. One bad copy fails a whole batch; halving isolates it, so that the others succeed.
fn send_request(context: &'static Context, items: &[RequestItem], inliners: InlinedCallerSearch) {
    if items.is_empty() {
        return;
    }
    if let Some(file) = context.settings.provoke_hang.as_ref().filter(|_| cfg!(debug_assertions)) {
        while file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    planted_fault::at_request();
    // Compilations need not be waited for where an unload has made the request void.
    let (gone, items) = split_gone(items);
    take_back_gone(context, &gone);
    if items.is_empty() {
        return;
    }
    let methods: Vec<Method> = items.iter().map(|item| item.method).collect();
    let request = || {
        with_loaded(&items, |loaded, _| {
            let mut loaded = loaded.to_vec();
            if cfg!(debug_assertions) && context.settings.provoke_rejit_error {
                loaded.extend(loaded.first().map(|(module, _)| (*module, NO_SUCH_METHOD)));
            }
            match inliners {
                // The unload of their modules makes these requests void.
                _ if loaded.is_empty() => Ok(()),
                InlinedCallerSearch::ByAgent => context.info.request_rejit(&loaded),
                InlinedCallerSearch::ByRuntime => context.info.request_rejit_with_inliners(&loaded),
            }
        })
    };
    let answer = with_barrier(context, &methods, inliners == InlinedCallerSearch::ByRuntime, request);
    let (answer, skipped) = match answer {
        Ok(answer) => answer,
        Err(held) => {
            let (busy, free): (Vec<RequestItem>, Vec<RequestItem>) =
                items.iter().cloned().partition(|item| held.contains(&item.method));
            defer(context, &busy);
            // If none is named, all may succeed the next time.
            return if busy.is_empty() {
                defer(context, &items)
            } else {
                send_request(context, &free, inliners)
            };
        }
    };
    let (gone, items) = split_at_places(items, &skipped);
    take_back_gone(context, &gone);
    match answer {
        _ if items.is_empty() => {}
        Ok(()) => accepted(context, &items),
        Err(_) if items.len() == 1 && inliners == InlinedCallerSearch::ByRuntime => {
            give_up_inliners(context, &items);
            send_request(context, &items, InlinedCallerSearch::ByAgent);
        }
        Err(e) if items.len() == 1 || e.hresult == CORPROF_E_REJIT_NOT_ENABLED => {
            items.iter().for_each(|item| unable(context, item, e.hresult.0 as u32));
        }
        Err(_) => {
            let (first, second) = items.split_at(items.len() / 2);
            send_request(context, first, inliners);
            send_request(context, second, inliners);
        }
    }
}

/// Defers again those rows whose request would fail at once because of a pause, without preparing it.
fn without_paused(context: &'static Context, rows: BTreeSet<RowId>) -> BTreeSet<RowId> {
    if !context.inlining.is_paused() {
        return rows;
    }
    let mut ledger = context.ledger.lock();
    let is_paused = |id: &RowId| ledger.row(*id).is_some_and(|row| row.inlining.searched_by_runtime);
    let (paused, others): (BTreeSet<RowId>, BTreeSet<RowId>) = rows.into_iter().partition(is_paused);
    ledger.deferred.rows.extend(paused);
    others
}

/// Retries the deferred requests.
pub fn retry_deferred(context: &'static Context, orders: &Orders) {
    let DeferredRequests { rows, recompiled_callers } = std::mem::take(&mut context.ledger.lock().deferred);
    let still: Vec<Method> = {
        let ledger = context.ledger.lock();
        recompiled_callers.into_iter().filter(|method| ledger.recompiled_callers.has(*method)).collect()
    };
    let again = items_of_methods(&context.modules, still);
    send_request(context, &again, InlinedCallerSearch::ByAgent);
    apply(context, orders, &without_paused(context, rows), &Progress::silent());
}
