//! The level *trace*: the code that captures a call, added to that of a timed body.
//!
//! A variable of the body holds the address of the call's entry, or 0 if this call is not captured. The body stores
//! primitive values by itself. For any other value it passes a helper the address of a variable of its own: the address
//! of an argument would expose the argument for the whole body. References and structs are copied into such a variable,
//! which is cleared afterwards, so that it keeps no object alive. The type of a struct or generic value travels in a
//! typed reference (ECMA-335 III.4.19), since only the runtime knows it.
#![forbid(unsafe_code)]

use super::call_form::{CallSites, argument, call, local_address, numbered};
use super::condition_code;
use super::timed_body::{Timing, local};
use super::traced_method::TracedBody;
use super::traced_variables::TracedVariables;
use crate::capture::{CallCondition, Capture, CapturePlan, PlannedValue, Primitive, UNREADABLE, scope};
use crate::il::{BodyWrapper, Insn, Opcode, Operand};
use crate::probes::exception_types;
use crate::probes::trace::PLACES;
use crate::probes::trace::helpers::{TraceHelpers, helpers};
use crate::signature::Type;
use redial_protocol::condition::{Condition, ConditionError, Node};
use std::sync::Arc;

/// Adds the code that captures a call to the code around a timed body. `token` returns a type's token in the module.
pub fn add(
    wrapper: &mut BodyWrapper,
    traced: &'static TracedBody,
    sites: CallSites,
    timing: Timing,
    token: &dyn Fn(&Type) -> Option<u32>,
) {
    let plan = &traced.plan;
    let result = timing.local.saturating_add(1);
    let entry = timing.local.saturating_add(1 + u16::from(timing.returns));
    let variables = TracedVariables::of(plan);
    let body = Tracer::new(sites.seldom, entry, timing.local, variables, token);

    let mut before =
        vec![Insn::LdcI8(std::ptr::from_ref(&traced.method).expose_provenance() as i64), Insn::ConvI];
    before.extend([local_address(entry), Insn::ConvU]);
    before.extend(call(body.helpers.begin, body.site));
    let condition = traced.method.condition();
    if let Some(condition) = condition {
        before = body.if_inline_parts_hold(condition, plan, before, &mut wrapper.stack);
    }
    let mut arguments = Vec::new();
    for (index, _) in plan.after_places() {
        if let (Some(value), Some(kept)) = (plan.parameters.get(index), body.variables.reference(index)) {
            arguments.extend([argument(value.argument), body.store_variable(kept)]);
        }
    }
    // `this` comes last: what a large object holds must not take the bytes of the arguments.
    let places = || plan.parameters.iter().enumerate();
    let this = usize::from(plan.has_this);
    for (place, value) in places().skip(this).chain(places().take(this)) {
        arguments.extend(body.capture(place, value, argument(value.argument)));
    }
    if plan.parameters.iter().any(|value| matches!(value.capture, Capture::String | Capture::Object)) {
        arguments.extend(body.clear_object());
    }
    if condition.is_some_and(|condition| !condition.entry.is_empty()) {
        arguments.extend([local(entry), local_address(entry), Insn::ConvU]);
        arguments.extend(call(body.helpers.decide, body.site));
    }
    before.extend(body.if_captured(arguments));
    before.append(&mut wrapper.before);
    let helpers = body.helpers;
    let has_stack = traced.method.captures_stack();
    // If the end decides about a call, only then it is worth a stack.
    let (complete, end, end_thrown) = match has_stack.then(|| condition.is_some_and(|of| !of.exit.is_empty()))
    {
        None => (helpers.arguments_complete, helpers.end, helpers.end_thrown),
        Some(false) => (helpers.arguments_complete_with_stack, helpers.end, helpers.end_thrown),
        Some(true) => (helpers.arguments_complete, helpers.end_with_stack, helpers.end_thrown_with_stack),
    };
    before.extend(body.if_captured(body.report(complete)));
    wrapper.before = before;

    wrapper.fault.extend(body.if_captured(body.report(end_thrown)));
    let mut after = Vec::new();
    if let Some(value) = &plan.result {
        after.extend(match &value.capture {
            Capture::Typed(ty) => body.typed(plan.result_place(), ty, local_address(result)),
            _ => body.capture(plan.result_place(), value, local(result)),
        });
    }
    for (index, place) in plan.after_places() {
        let ty = plan.parameters.get(index).and_then(|value| value.capture.token_type());
        if let (Some(ty), Some(kept)) = (ty, body.variables.reference(index)) {
            after.extend(body.by_ref(place, ty, local(body.number(kept))));
        }
    }
    after.extend(body.report(end));
    wrapper.after.extend(body.if_captured(after));
}

/// Fits a condition to a method with these captured values.
///
/// # Errors
/// If it uses what the method does not have.
pub fn condition(written: &Arc<Condition>, plan: &CapturePlan) -> Result<CallCondition, ConditionError> {
    let checked = written.check(&scope(plan));
    let misfit = |problem| ConditionError { text: written.text().to_owned(), problem };
    let is_inline = |part: &Node| condition_code::code(part, plan).is_some();
    let condition =
        CallCondition::new(Arc::clone(written), checked.map_err(misfit)?, plan.clone(), is_inline);
    if condition.uses_exception_type() {
        exception_types::want();
    }
    Ok(condition)
}

/// Makes the parts of a body's code.
pub(super) struct Tracer<'a> {
    helpers: TraceHelpers,
    /// Call site of the helpers: called like managed code, so that no object moves meanwhile.
    site: u32,
    /// Number of the variable with the entry's address; the others follow it.
    entry: u16,
    /// Number of the variable that identifies the call to the timer.
    frame: u16,
    variables: TracedVariables,
    token: &'a dyn Fn(&Type) -> Option<u32>,
}

impl<'a> Tracer<'a> {
    /// Makes the parts of a body whose entry is in the variable with number `entry`, and whose timer uses `frame`.
    pub(super) fn new(
        site: u32,
        entry: u16,
        frame: u16,
        variables: TracedVariables,
        token: &'a dyn Fn(&Type) -> Option<u32>,
    ) -> Tracer<'a> {
        Tracer { helpers: helpers(), site, entry, frame, variables, token }
    }

    /// Returns code that runs only if the parts of a condition that the body decides itself are true; otherwise the call is
    /// not captured. `stack` becomes large enough for it.
    fn if_inline_parts_hold(
        &self,
        condition: &CallCondition,
        plan: &CapturePlan,
        code: Vec<Insn>,
        stack: &mut u16,
    ) -> Vec<Insn> {
        let mut guarded = code;
        for part in condition.inline.iter().rev() {
            // Every inline part has code.
            let Some((mut part, needed)) = condition_code::code(part, plan) else { continue };
            *stack = (*stack).max(needed);
            part.push(Insn::Brfalse(guarded.len()));
            part.extend(guarded);
            guarded = part;
        }
        let mut all = vec![Insn::LdcI4(0), Insn::ConvU, self.store_variable(0)];
        all.extend(guarded);
        all
    }

    /// Returns code that runs only if the call is captured.
    pub(super) fn if_captured(&self, code: Vec<Insn>) -> Vec<Insn> {
        let mut guarded = vec![local(self.entry), Insn::Brfalse(code.len())];
        guarded.extend(code);
        guarded
    }

    /// Returns a call of a helper with the entry and the timer's variable.
    pub(super) fn report(&self, helper: usize) -> Vec<Insn> {
        let mut code = vec![local(self.entry), local_address(self.frame), Insn::ConvU];
        code.extend(call(helper, self.site));
        code
    }

    /// Returns code that captures a value, which `load` pushes.
    pub(super) fn capture(&self, place: usize, value: &PlannedValue, load: Insn) -> Vec<Insn> {
        match &value.capture {
            Capture::Omitted(_) | Capture::Out(_) => Vec::new(),
            Capture::Primitive(primitive) => self.store_value(place, vec![load], *primitive),
            Capture::Enum(of) => self.store_value(place, vec![load], of.underlying),
            Capture::String => self.object(place, self.helpers.capture_string, load),
            Capture::Object => self.object(place, self.helpers.capture_object, load),
            Capture::ByRef(ty) => self.by_ref(place, ty, load),
            Capture::Typed(ty) => match (self.variables.value(ty), (self.token)(ty)) {
                (Some(copy), Some(token)) => {
                    let mut code = vec![load, self.store_variable(copy)];
                    let address = local_address(self.number(copy));
                    code.extend(self.typed(place, ty, address.clone()));
                    code.extend([address, Insn::Any(Opcode::INITOBJ, Operand::Token(token))]);
                    code
                }
                _ => self.unreadable(place),
            },
        }
    }

    /// Returns code that stores a primitive value in its place.
    fn store_value(&self, place: usize, load: Vec<Insn>, primitive: Primitive) -> Vec<Insn> {
        let offset = (PLACES + place * size_of::<u64>()) as i32;
        let mut code = vec![local(self.entry), Insn::LdcI4(offset), plain(Opcode::ADD)];
        code.extend(load);
        code.push(plain(store_opcode(primitive)));
        code
    }

    fn unreadable(&self, place: usize) -> Vec<Insn> {
        self.store_value(place, vec![Insn::LdcI8(UNREADABLE as i64)], Primitive::I8)
    }

    /// Returns code that passes a helper the place and the address of a variable.
    fn pass(&self, helper: usize, place: usize, variable: u16, set: Vec<Insn>) -> Vec<Insn> {
        let mut code = vec![local(self.entry), Insn::LdcI4(place as i32), plain(Opcode::ADD)];
        code.extend(set);
        code.extend([local_address(self.number(variable)), Insn::ConvU]);
        code.extend(call(helper, self.site));
        code
    }

    fn object(&self, place: usize, helper: usize, load: Insn) -> Vec<Insn> {
        let Some(object) = self.variables.object() else { return self.unreadable(place) };
        let mut code = vec![load, self.store_variable(object)];
        code.extend(self.pass(helper, place, object, Vec::new()));
        code
    }

    pub(super) fn clear_object(&self) -> Vec<Insn> {
        let object = self.variables.object();
        object.map(|object| vec![plain(Opcode::LDNULL), self.store_variable(object)]).unwrap_or_default()
    }

    /// Returns code that captures a value of this type in the body's frame, whose address `load` pushes.
    pub(super) fn typed(&self, place: usize, ty: &Type, load: Insn) -> Vec<Insn> {
        self.by_typed_reference(self.helpers.capture_typed, place, ty, load)
    }

    /// Returns code that captures a value of this type anywhere, whose address `load` pushes.
    fn by_ref(&self, place: usize, ty: &Type, load: Insn) -> Vec<Insn> {
        self.by_typed_reference(self.helpers.capture_by_ref, place, ty, load)
    }

    fn by_typed_reference(&self, helper: usize, place: usize, ty: &Type, load: Insn) -> Vec<Insn> {
        let (Some(reference), Some(token)) = (self.variables.typed_reference(), (self.token)(ty)) else {
            return self.unreadable(place);
        };
        let set =
            vec![load, Insn::Any(Opcode::MKREFANY, Operand::Token(token)), self.store_variable(reference)];
        self.pass(helper, place, reference, set)
    }

    /// Returns the number of a variable that follows that of the entry.
    pub(super) fn number(&self, variable: u16) -> u16 {
        self.entry.saturating_add(variable)
    }

    fn store_variable(&self, variable: u16) -> Insn {
        self.store(self.number(variable))
    }

    /// Returns the instruction that stores into the variable with a number.
    pub(super) fn store(&self, number: u16) -> Insn {
        numbered(number, Opcode::STLOC_S, Opcode::STLOC)
    }
}

fn store_opcode(primitive: Primitive) -> Opcode {
    match primitive {
        Primitive::Boolean | Primitive::I1 | Primitive::U1 => Opcode::STIND_I1,
        Primitive::Char | Primitive::I2 | Primitive::U2 => Opcode::STIND_I2,
        Primitive::I4 | Primitive::U4 => Opcode::STIND_I4,
        Primitive::I8 | Primitive::U8 => Opcode::STIND_I8,
        Primitive::R4 => Opcode::STIND_R4,
        Primitive::R8 => Opcode::STIND_R8,
        Primitive::I | Primitive::U | Primitive::Pointer => Opcode::STIND_I,
    }
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}
