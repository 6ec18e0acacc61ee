//! Plans which values a traced body captures, and keeps the list of traced methods in step with the ledger.
#![forbid(unsafe_code)]

use super::async_detection;
use super::async_traces;
use super::enum_types::EnumTypes;
use super::exceptions;
use super::row_request::{RowRequest, TraceRequest};
use crate::capture::{CallCondition, CapturePlan, Parameters};
use crate::catalogue::Module;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::instrument::traced_body;
use crate::instrument::traced_method::{TracedPart, TracingOptions};
use crate::ledger::async_role::AsyncRole;
use crate::ledger::row::Row;
use crate::signature::{Passing, Type, may_pass_by_reference, parse_method};
use redial_protocol::condition::{Condition, ConditionError};
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;
use std::collections::HashSet;
use std::sync::Arc;

/// Plans the values to capture of a method that is about to be traced. A method whose signature cannot be read is only
/// timed.
pub(super) fn plan(
    context: &Context,
    metadata: (&Import, &ModuleNames, &EnumTypes<'_>),
    request: &RowRequest,
    method: &MethodDef,
) -> TraceRequest {
    let role = request.async_role.as_ref();
    if let Some((plan, part)) = async_traces::completion(context, metadata, (method, role)) {
        let condition = request.condition.clone();
        let condition = condition.map(|written| CallCondition::decided_elsewhere(written, plan.clone()));
        return body(context, request, plan, TracingOptions { condition, stack: request.stack, part });
    }
    let Some(plan) = capture_plan(context, metadata, request.token, method) else { return TraceRequest::No };
    let part = async_traces::part_of_start(context, metadata.0, role);
    let condition = match &request.condition {
        Some(written) => {
            let known = as_conditions_see_it(context, metadata, method, (plan.clone(), &part));
            match traced_body::condition(written, &known) {
                Ok(condition) => Some(condition),
                Err(misfit) => return TraceRequest::Misfit(Box::new(misfit)),
            }
        }
        None => None,
    };
    body(context, request, plan, TracingOptions { condition, stack: request.stack, part })
}

/// Returns why a condition does not fit a method that would be traced, if it does not.
pub(super) fn misfit(
    context: &Context,
    module: &Module,
    (import, names, enums): (&Import, &ModuleNames, &EnumTypes<'_>),
    method: &MatchedMethod,
    written: &Arc<Condition>,
) -> Option<ConditionError> {
    let (token, method, metadata) = (method.token, method.method, (import, names, enums));
    let role = async_detection::recognise(&context.info, module, (import, names), token, method);
    if matches!(role, Some(AsyncRole::Completes(_))) {
        return None;
    }
    let plan = capture_plan(context, metadata, token, method)?;
    let part = async_traces::part_of_start(context, import, role.as_ref());
    let known = as_conditions_see_it(context, metadata, method, (plan, &part));
    traced_body::condition(written, &known).err()
}

/// Returns the values to capture of a method; None if its signature cannot be read.
fn capture_plan(
    context: &Context,
    (import, names, enums): (&Import, &ModuleNames, &EnumTypes<'_>),
    token: u32,
    method: &MethodDef,
) -> Option<CapturePlan> {
    let signature = parse_method(&method.signature).ok()?;
    let of_type = names.generic_parameters(import, method.type_def);
    let of_method = import.generic_parameters(token);
    let type_name = |ty: &_| names.display_signature_type(import, ty, &of_type, &of_method);
    let parameters = import.parameter_names(token);
    let passing = if may_pass_by_reference(&method.signature) { import.passing(token) } else { vec![] };
    let out: Vec<u32> =
        passing.iter().filter(|(_, passing)| *passing == Passing::Out).map(|(number, _)| *number).collect();
    // At the beginning of a constructor there is nothing to see yet.
    let has_this = signature.has_this && !signature.explicit_this && method.name != ".ctor";
    let this = has_this.then(|| type_of_this(import, method.type_def, of_type.len()));
    let of = Parameters { method: &signature, names: &parameters, out: &out, this: this.as_ref() };
    Some(CapturePlan::new(of, type_name, |token| enums.get(import, token), &context.settings.capture))
}

/// Returns the plan for conditions: the result of an async call that is followed is that of the whole call.
fn as_conditions_see_it(
    context: &Context,
    metadata: (&Import, &ModuleNames, &EnumTypes<'_>),
    method: &MethodDef,
    (plan, part): (CapturePlan, &TracedPart),
) -> CapturePlan {
    match part {
        TracedPart::Starts(_) => {
            CapturePlan { result: async_traces::promised_result(context, metadata, method), ..plan }
        }
        TracedPart::None | TracedPart::Completes(..) => plan,
    }
}

fn body(context: &Context, request: &RowRequest, plan: CapturePlan, options: TracingOptions) -> TraceRequest {
    if let Some(layout) = context.info.string_layout() {
        crate::probes::trace::set_string_layout(layout);
    }
    let identity = context.ledger.lock().row(request.id).map(|row| row.identity.clone());
    match identity {
        Some(identity) => context
            .traces
            .body(request.id, identity, plan, options)
            .map_or(TraceRequest::NoMemory, TraceRequest::Yes),
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
