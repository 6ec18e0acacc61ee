//! Plans which values a traced body captures, and keeps the list of traced methods in step with the ledger.
#![forbid(unsafe_code)]

use super::async_traces;
use super::enum_types::EnumTypes;
use super::exceptions;
use super::row_request::{RowRequest, TraceRequest};
use crate::capture::{CallCondition, CapturePlan, Parameters};
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::instrument::traced_body;
use crate::instrument::traced_method::{TracedPart, TracingOptions};
use crate::ledger::row::Row;
use crate::signature::{Passing, Type, may_pass_by_reference, parse_method};
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;
use std::collections::HashSet;

/// Plans the values to capture of a method that is about to be traced. A method whose signature cannot be read is only
/// timed.
pub(super) fn plan(
    context: &Context,
    (import, names, enums): (&Import, &ModuleNames, &EnumTypes<'_>),
    request: &RowRequest,
    method: &MethodDef,
) -> TraceRequest {
    let Ok(signature) = parse_method(&method.signature) else { return TraceRequest::No };
    let of_type = names.generic_parameters(import, method.type_def);
    let of_method = import.generic_parameters(request.token);
    let type_name = |ty: &_| names.display_signature_type(import, ty, &of_type, &of_method);
    let parameters = import.parameter_names(request.token);
    let passing =
        if may_pass_by_reference(&method.signature) { import.passing(request.token) } else { vec![] };
    let out: Vec<u32> =
        passing.iter().filter(|(_, passing)| *passing == Passing::Out).map(|(number, _)| *number).collect();
    // At the beginning of a constructor there is nothing to see yet.
    let has_this = signature.has_this && !signature.explicit_this && method.name != ".ctor";
    let this = has_this.then(|| type_of_this(import, method.type_def, of_type.len()));
    let of = Parameters { method: &signature, names: &parameters, out: &out, this: this.as_ref() };
    let rules = &context.settings.capture;
    let metadata = (import, names, enums);
    if let Some((plan, part)) =
        async_traces::completion(context, metadata, (method, request.async_role.as_ref()))
    {
        let condition = request.condition.clone();
        let condition = condition.map(|written| CallCondition::decided_elsewhere(written, plan.clone()));
        return body(context, request, plan, TracingOptions { condition, stack: request.stack, part });
    }
    let plan = CapturePlan::new(of, type_name, |token| enums.get(import, token), rules);
    let part = async_traces::part_of_start(context, import, request.async_role.as_ref());
    let condition = match &request.condition {
        Some(written) => {
            // Its result is that of the whole call.
            let known = match part {
                TracedPart::Starts(_) => CapturePlan {
                    result: async_traces::promised_result(context, metadata, method),
                    ..plan.clone()
                },
                TracedPart::None | TracedPart::Completes(..) => plan.clone(),
            };
            match traced_body::condition(written, &known) {
                Ok(condition) => Some(condition),
                Err(misfit) => return TraceRequest::Misfit(Box::new(misfit)),
            }
        }
        None => None,
    };
    body(context, request, plan, TracingOptions { condition, stack: request.stack, part })
}

fn body(context: &Context, request: &RowRequest, plan: CapturePlan, options: TracingOptions) -> TraceRequest {
    if let Some(layout) = context.info.string_layout() {
        crate::probes::trace::set_string_layout(layout);
    }
    let identity = context.ledger.lock().row(request.id).map(|row| row.identity.clone());
    match identity {
        Some(identity) => TraceRequest::Yes(context.traces.body(request.id, identity, plan, options)),
        None => TraceRequest::No,
    }
}

/// Returns a type with this many type parameters, as its own methods see it.
fn type_of_this(import: &Import, type_def: u32, parameters: usize) -> Type {
    let value_type = import.is_value_type(type_def);
    match (parameters, value_type) {
        (0, true) => Type::ValueType(type_def),
        (0, false) => Type::Class(type_def),
        (count, value_type) => {
            let arguments = (0..count as u32).map(Type::Var).collect();
            Type::Generic { value_type, token: type_def, arguments }
        }
    }
}

/// A row that is about to be traced.
pub(super) struct NewTrace {
    pub(super) row: RowId,
    pub(super) plan: u32,
    pub(super) options: TimeOptions,
    /// Whether it was off before.
    pub(super) is_anew: bool,
}

/// Adds rows that are about to be traced, with their plans and options, to the list of traced methods.
pub(super) fn begin(context: &'static Context, traced: &[NewTrace]) {
    if !traced.is_empty() {
        // Those that were off may still be on the list, with their earlier calls.
        let anew: HashSet<u32> = traced.iter().filter(|one| one.is_anew).map(|one| one.plan).collect();
        let stale: Vec<u32> = context
            .traces
            .active()
            .into_iter()
            .map(|(_, plan)| plan)
            .filter(|plan| anew.contains(plan))
            .collect();
        if !stale.is_empty() {
            context.traces.remove_active(&stale);
        }
        traced.iter().for_each(|one| context.traces.set_limits(one.row, one.options));
        context.traces.add_active(traced.iter().map(|one| one.plan));
        context.classes.follow(&context.info, &context.modules, &context.settings.capture);
        exceptions::follow(context);
        if traced.iter().any(|one| one.options.stack) {
            crate::probes::trace::prepare_stacks();
        }
    }
}

/// Removes rows from the list of traced methods that are not traced any more.
pub(super) fn follow(context: &Context) {
    let active = context.traces.active();
    let ended: Vec<u32> = {
        let ledger = context.ledger.lock();
        let is_traced = |row: &Row, plan: u32| {
            (row.is_on() || row.is_requesting())
                && row.timing.body.trace().is_some_and(|body| body.method.plan == plan)
        };
        let has_ended = |id: RowId, plan| !ledger.row(id).is_some_and(|row| is_traced(row, plan));
        active.into_iter().filter(|(id, plan)| has_ended(*id, *plan)).map(|(_, plan)| plan).collect()
    };
    if !ended.is_empty() {
        context.traces.remove_active(&ended);
    }
}
