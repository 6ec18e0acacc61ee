//! Plans which values a traced body captures, and keeps the list of traced methods in step with the ledger.
#![forbid(unsafe_code)]

use super::enum_types::EnumTypes;
use super::exceptions;
use super::row_request::{RowRequest, TraceRequest};
use crate::capture::CapturePlan;
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::ledger::row::Row;
use crate::signature::parse_method;
use redial_protocol::ids::RowId;

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
    let rules = &context.settings.capture;
    let enum_type = |token| enums.get(import, token);
    let plan = CapturePlan::new(&signature, &parameters, type_name, enum_type, rules);
    if let Some(layout) = context.info.string_layout() {
        crate::probes::trace::set_string_layout(layout);
    }
    let identity = context.ledger.lock().row(request.id).map(|row| row.identity.clone());
    match identity {
        Some(identity) => TraceRequest::Yes(context.traces.body(request.id, identity, plan)),
        None => TraceRequest::No,
    }
}

/// Adds rows that are about to be traced to the list of traced methods.
pub(super) fn begin(context: &Context, traced: &[u32]) {
    if !traced.is_empty() {
        context.traces.add_active(traced.iter().copied());
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
