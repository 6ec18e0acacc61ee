//! Prepares everything that bodies need before the CLR asks for them.
#![forbid(unsafe_code)]

use super::async_detection;
use super::body_size;
use super::conditions;
use super::enum_types::EnumTypes;
use super::inlined_callers;
use super::loaded_methods::{RequestItem, take_back_gone};
use super::request_outcome::refused;
use super::row_request::{RowRequest, TimingRequest, TraceRequest};
use super::trace_requests::{self, NewTrace};
use crate::catalogue::names::ModuleNames;
use crate::context::Context;
use crate::inlining::Method;
use crate::instrument::timed_body;
use crate::instrument::tokens;
use crate::ledger::AccountStart;
use crate::ledger::recompiled_callers::DiscoveredBy;
use crate::ledger::request_state::{RequestProgress, RequestState};
use crate::ledger::turn_off_plan;
use crate::probes::{blocks, clock, frame_size, stack_pages};
use redial_protocol::diagnostics::UntimedReason;
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The next elements to request.
#[derive(Default)]
pub(super) struct PreparedRequest {
    /// Rows.
    pub(super) rows: Vec<RequestItem>,
    /// Rows whose inliners the runtime will find, too.
    pub(super) by_runtime: Vec<RequestItem>,
    /// The inliners of any of these rows.
    pub(super) recompiled_callers: HashSet<Method>,
}

/// Prepares everything that a body needs before the CLR asks for it: the call site's token, the inlining veto,
/// counters. Returns the prepared rows and their inliners; refuses the others.
pub(super) fn prepare(
    context: &'static Context,
    rows: Vec<RowId>,
    requested: &HashSet<Method>,
) -> PreparedRequest {
    let copies: Vec<RowRequest> = {
        let ledger = context.ledger.lock();
        rows.into_iter()
            .filter_map(|id| ledger.row(id).map(RowRequest::of))
            .filter(|request| !request.module.is_gone())
            .collect()
    };
    // Rows without an instrumented body can still be recompiled for others.
    let mut left_out = HashSet::new();
    // Make a module's token outside the lock, since that calls the CLR.
    let Context { info, modules, instrumentation, .. } = context;
    let with_site = copies.into_iter().filter(|request| {
        match instrumentation.call_sites(info, modules, &request.module) {
            Ok(_) => true,
            Err(e) => {
                refused(context, request.id, Reason::Metadata, e.hresult.0 as u32);
                left_out.insert(request.method());
                false
            }
        }
    });
    let mut copies: Vec<_> = with_site.collect();
    for request in &mut copies {
        request.tokens = instrumentation.tokens(request.module.key);
    }
    add_local_sigs(context, &mut copies);
    let (copies, misfits): (Vec<RowRequest>, Vec<RowRequest>) =
        copies.into_iter().partition(|request| !matches!(request.trace, TraceRequest::Misfit(_)));
    for request in misfits {
        left_out.insert(request.method());
        misfit(context, request);
    }
    let (without_memory, copies): (Vec<RowRequest>, Vec<RowRequest>) =
        copies.into_iter().partition(|request| matches!(request.trace, TraceRequest::NoMemory));
    for request in without_memory {
        left_out.insert(request.method());
        refused(context, request.id, Reason::Budget, 0);
    }
    let (too_large, copies): (Vec<RowRequest>, Vec<RowRequest>) =
        copies.into_iter().partition(|request| body_size::loses_optimization(context, request));
    for request in too_large {
        left_out.insert(request.method());
        refused(context, request.id, Reason::NotOptimized, 0);
    }
    let holders = context.inlining.veto(copies.iter().map(RowRequest::method));
    let inliners = inlined_callers::find(context, &copies, holders, requested);
    let has_room = make_room(context, &copies);
    if copies.iter().any(|request| request.stack) {
        frame_size::prepare();
    }
    let mut ready = PreparedRequest::default();
    let mut accounts: Vec<AccountStart> = Vec::new();
    let (mut conditioned, mut lost, mut traced) = (Vec::new(), Vec::new(), Vec::new());
    let no_room: Vec<RowId> = context.ledger.change(|ledger, now| {
        let (mut no_room, mut requested_inliners) = (Vec::new(), HashSet::<Method>::new());
        let mut newly_timed = false;
        for (request, found) in copies.iter().zip(inliners) {
            let item = RequestItem {
                method: request.method(),
                module: Some(Arc::clone(&request.module)),
                row: Some(request.id),
            };
            // Its module has unloaded since.
            if ledger.row(request.id).is_none_or(|row| row.state == RequestState::Lost) {
                lost.push(item);
                continue;
            }
            let is_new = ledger.row(request.id).is_some_and(|row| row.counters.slot().is_none());
            let has_slot = (has_room || !is_new) && ledger.assign_slot(request.id);
            if !has_slot {
                no_room.push(request.id);
                left_out.insert(request.method());
                continue;
            }
            let was = ledger.recompiled_callers.remove(request.method());
            let Some(row) = ledger.row_mut(request.id) else { continue };
            row.inlining.inlined = found.missed;
            requested_inliners.extend(found.inliners.iter().filter(|method| requested.contains(method)));
            row.inlining.inliners = found.inliners.into();
            row.inlining.searched_by_runtime = found.by_runtime;
            row.inlining.found_by_runtime |= was == Some(DiscoveredBy::Runtime);
            row.reason = None;
            row.ignored_request = None;
            row.progress = RequestProgress::Requesting;
            row.bodies.expect();
            let was_on = row.is_on();
            if was_on {
                row.bodies.supersede_body();
            }
            let body = request.timing();
            row.timing.body = body;
            let options = row.wanted.options;
            traced.extend(body.trace().map(|body| NewTrace {
                row: request.id,
                plan: body.method.plan,
                options,
                is_anew: !was_on,
            }));
            let is_timed = body.timing().is_some();
            newly_timed |= is_timed && !row.counters.recorded().times;
            row.counters.will_record(is_timed, body.counts_callers());
            let options = if is_timed { row.wanted.options } else { TimeOptions::default() };
            let new_slot = row.counters.slot().filter(|_| is_new);
            conditioned.extend(new_slot.map(|slot| (request.id, slot, options)));
            accounts.extend(ledger.open_account(request.id, request.async_role.clone(), now));
            ready.recompiled_callers.extend(found.recompiled_callers);
            if found.by_runtime { ready.by_runtime.push(item) } else { ready.rows.push(item) }
        }
        if newly_timed {
            ledger.note_timed();
        }
        ready.recompiled_callers.extend(left_out.intersection(&requested_inliners));
        turn_off_plan::mark_for_recompilation(
            ledger,
            &ready.recompiled_callers,
            !ready.by_runtime.is_empty(),
        );
        no_room
    });
    accounts.into_iter().for_each(|(account, slots)| account.begin(slots));
    conditions::set(context, &conditioned);
    trace_requests::begin(context, &traced);
    take_back_gone(context, &lost);
    no_room.into_iter().for_each(|id| refused(context, id, Reason::Budget, 0));
    ready
}

/// Refuses a row whose wanted condition does not fit its method.
fn misfit(context: &Context, request: RowRequest) {
    if let TraceRequest::Misfit(why) = request.trace
        && let Some(row) = context.ledger.lock().row_mut(request.id)
    {
        row.misfit = Some(why);
    }
    refused(context, request.id, Reason::Condition, 0);
}

/// Makes room for the counters of these rows, whatever slots they get; false if the system refuses memory.
fn make_room(context: &Context, copies: &[RowRequest]) -> bool {
    let of_runs = copies.iter().filter(|request| request.async_role.is_some()).count();
    let (slots, at_end) = context.ledger.lock().slots.room_with(copies.len(), of_runs);
    blocks::make_room(slots, at_end)
}

/// Makes the signatures for bodies with additional variables, module by module.
fn add_local_sigs(context: &Context, copies: &mut [RowRequest]) {
    // Made here, so that no host thread has to make it when it asks for a body.
    let counts_inline = stack_pages::table().is_some();
    for of_module in copies.chunk_by_mut(|a, b| Arc::ptr_eq(&a.module, &b.module)) {
        read_results(context, of_module);
        let (mut counting, mut timed) = (BTreeSet::new(), HashSet::new());
        for request in of_module.iter() {
            match request.timed_sig() {
                Some(wanted) => {
                    timed.insert(wanted);
                }
                None if counts_inline => {
                    counting.insert(request.local_sig);
                }
                None => {}
            }
        }
        if let Some((first, tokens)) =
            of_module.first().and_then(|first| Some((first, first.tokens.as_deref()?)))
        {
            tokens::add_local_sigs(&context.info, &first.module, tokens, counting, timed);
            let traced = of_module.iter().filter_map(|request| request.trace.body());
            let types = traced.flat_map(|body| body.plan.values());
            let types = types.filter_map(|value| value.capture.token_type().cloned()).collect();
            tokens::add_type_specs(&context.info, &first.module, tokens, types);
        }
    }
}

/// Reads the result types of the methods to time; all are of one module.
fn read_results(context: &Context, of_module: &mut [RowRequest]) {
    let is_timed = |request: &RowRequest| matches!(request.timing, TimingRequest::Yes(Ok(_)));
    let Some(module) =
        of_module.iter().find(|request| is_timed(request)).map(|request| Arc::clone(&request.module))
    else {
        return;
    };
    clock::begin();
    let read = module.with_metadata(&context.info, |import| {
        let (names, enums) = (ModuleNames::default(), EnumTypes::new(context));
        for request in of_module.iter_mut().filter(|request| is_timed(request)) {
            let method = import.method(request.token).map_err(|_| UntimedReason::Signature);
            if let Ok(method) = &method {
                request.async_role = async_detection::recognise(
                    &context.info,
                    &module,
                    (import, &names),
                    request.token,
                    method,
                );
            }
            if let (Ok(method), TraceRequest::Wanted) = (&method, &request.trace) {
                request.trace = trace_requests::plan(context, (import, &names, &enums), request, method);
            }
            request.timing =
                TimingRequest::Yes(method.and_then(|method| timed_body::result_variable(&method.signature)));
        }
    });
    if read.is_none() {
        // An unread signature must not count as one without a result.
        for request in of_module.iter_mut().filter(|request| is_timed(request)) {
            request.timing = TimingRequest::Yes(Err(UntimedReason::Signature));
        }
    }
}
