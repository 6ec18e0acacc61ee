//! The code of a traced `MoveNext`: it follows calls of the async method from step to step, and captures what completes them.
#![forbid(unsafe_code)]

use super::call_form::{CallSites, call, local_address, numbered};
use super::timed_body::{Timing, local};
use super::traced_body::Tracer;
use super::traced_method::{TracedBody, TracedPart};
use super::traced_variables::CompletionVariables;
use crate::capture::Capture;
use crate::il::{BEGINS, BodyWrapper, CompletionCall, CompletionValue, Insn, Opcode, Operand, StateMachine};
use crate::probes::trace::async_calls;
use crate::signature::Type;

/// IL stack slots of the code within a body.
const STACK: u16 = 6;

/// Adds the code to the code around a timed `MoveNext`. `token` returns a type's token in the module.
pub fn add(
    wrapper: &mut BodyWrapper,
    traced: &'static TracedBody,
    (machine, calls): (&StateMachine, &[CompletionCall]),
    (sites, timing): (CallSites, Timing),
    token: &dyn Fn(&Type) -> Option<u32>,
) {
    let TracedPart::Completes(link, result) = &traced.part else { return };
    let Some(builder) = calls.first().map(|call| call.builder) else { return };
    let variables = CompletionVariables::of(&traced.plan, link.is_class(), result.clone());
    let (helpers, site) = (async_calls::helpers(), sites.seldom);
    let CompletionVariables { values, step, machine: carrier, result } = variables;
    let entry = timing.local.saturating_add(1 + u16::from(timing.returns));
    let body = Tracer::new(site, entry, timing.local, values, token);
    let (step, carrier) = (body.number(step), body.number(carrier));
    let address = |variable| [local_address(variable), Insn::ConvU];

    // Where the machine is, for the helpers.
    let mut before = vec![plain(Opcode::LDARG_0)];
    if !link.is_class() {
        before.push(Insn::Any(Opcode::LDFLDA, Operand::Token(builder)));
    }
    before.push(body.store(carrier));
    before.extend(address(carrier));
    before.push(body.store(step));
    before.extend([Insn::LdcI8(std::ptr::from_ref(*link).expose_provenance() as i64), Insn::ConvI]);
    before.extend(address(step));
    before.extend([
        plain(Opcode::LDARG_0),
        Insn::Any(Opcode::LDFLD, Operand::Token(machine.state)),
        Insn::LdcI4(BEGINS),
        plain(Opcode::SUB),
    ]);
    let (first, next) = (call(helpers.first, site), call(helpers.next, site));
    before.push(Insn::Brtrue(first.len() + 1));
    before.extend(first);
    before.push(Insn::Br(next.len()));
    before.extend(next);
    before.append(&mut wrapper.before);
    wrapper.before = before;

    let mut ends = vec![local(step)];
    ends.extend(address(timing.local));
    ends.extend(call(helpers.ended, site));
    ends.push(local(step));
    ends.extend(address(carrier));
    ends.extend(call(helpers.first_ended, site));
    for part in [&mut wrapper.after, &mut wrapper.fault] {
        let mut code = ends.clone();
        code.append(part);
        *part = code;
    }

    for completion in calls {
        let result =
            result.filter(|_| completion.with == CompletionValue::Result).map(|result| body.number(result));
        let mut code = Vec::new();
        if let Some(result) = result {
            code.extend([Insn::Dup, body.store(result)]);
        }
        code.extend(address(step));
        code.push(body.store(entry));
        code.extend([
            Insn::LdcI8(std::ptr::from_ref(&traced.method).expose_provenance() as i64),
            Insn::ConvI,
        ]);
        code.extend(address(entry));
        code.extend(call(helpers.completes, site));
        let mut captured = Vec::new();
        if let (Some(result), Some(value)) = (result, &traced.plan.result) {
            let place = traced.plan.result_place();
            captured.extend(match &value.capture {
                Capture::Typed(ty) => body.typed(place, ty, local_address(result)),
                _ => body.capture(place, value, local(result)),
            });
            if matches!(value.capture, Capture::String | Capture::Object) {
                captured.extend(body.clear_object());
            }
        }
        let end = match completion.with {
            CompletionValue::Exception => helpers.failed,
            CompletionValue::Nothing | CompletionValue::Result => helpers.completed,
        };
        captured.extend(body.report(end));
        code.extend(body.if_captured(captured));
        code.extend(result.and_then(|result| clear(traced, result, token)).into_iter().flatten());
        wrapper.within.push((completion.at, code));
    }
    wrapper.stack = wrapper.stack.max(STACK);
}

/// Returns code that clears the variable with a result that may refer to objects: continuations run while it lives.
fn clear(traced: &TracedBody, variable: u16, token: &dyn Fn(&Type) -> Option<u32>) -> Option<Vec<Insn>> {
    match &traced.plan.result.as_ref()?.capture {
        Capture::String | Capture::Object => {
            let store = numbered(variable, Opcode::STLOC_S, Opcode::STLOC);
            Some(vec![plain(Opcode::LDNULL), store])
        }
        Capture::Typed(ty) => {
            Some(vec![local_address(variable), Insn::Any(Opcode::INITOBJ, Operand::Token(token(ty)?))])
        }
        _ => None,
    }
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}
