//! The level *trace*: the code that captures a call, added to that of a timed body.
//!
//! A variable of the body holds the address of the call's entry, or 0 if this call is not captured. The body stores
//! primitive values by itself. For a string it copies the reference to a variable of its own, whose address it passes
//! to a helper: the address of an argument would expose the argument for the whole body. It clears that variable
//! afterwards, so that it keeps no object alive.
#![forbid(unsafe_code)]

use super::call_form::{CallSites, call, local_address};
use super::timed_body::{Timing, local};
use super::traced_method::TracedBody;
use crate::capture::{Capture, CapturePlan, PlannedValue, Primitive};
use crate::il::{BodyWrapper, Insn, Opcode, Operand};
use crate::probes::trace::PLACES;
use crate::probes::trace::helpers::{TraceHelpers, helpers};
use crate::signature::Type;

/// Returns the types of a traced body's variables that follow those of a timed one.
pub fn variables(plan: &CapturePlan) -> Vec<Type> {
    let mut types = vec![Type::I];
    if plan.needs_helper() {
        types.push(Type::Object);
    }
    types
}

/// Adds the code that captures a call to the code around a timed body.
pub fn add(wrapper: &mut BodyWrapper, traced: &'static TracedBody, sites: CallSites, timing: Timing) {
    let entry = timing.local.saturating_add(1 + u16::from(timing.returns));
    let body = Tracer { helpers: helpers(), site: sites.seldom, entry, frame: timing.local };
    let plan = &traced.plan;

    let mut before =
        vec![Insn::LdcI8(std::ptr::from_ref(&traced.method).expose_provenance() as i64), Insn::ConvI];
    before.extend([local_address(entry), Insn::ConvU]);
    before.extend(call(body.helpers.begin, body.site));
    let mut arguments = Vec::new();
    for (place, value) in plan.parameters.iter().enumerate() {
        arguments.extend(body.store(place, value, argument(value.argument)));
    }
    if plan.parameters.iter().any(|value| value.capture == Capture::String) {
        arguments.extend([plain(Opcode::LDNULL), body.store_object()]);
    }
    before.extend(body.if_captured(arguments));
    before.append(&mut wrapper.before);
    before.extend(body.if_captured(body.report(body.helpers.arguments_complete)));
    wrapper.before = before;

    wrapper.fault.extend(body.if_captured(body.report(body.helpers.end_thrown)));
    let mut result = Vec::new();
    if let Some(value) = &plan.result {
        result.extend(body.store(plan.result_place(), value, local(timing.local.saturating_add(1))));
    }
    result.extend(body.report(body.helpers.end));
    wrapper.after.extend(body.if_captured(result));
}

/// Makes the parts of a body's code.
struct Tracer {
    helpers: TraceHelpers,
    /// Call site of the helpers: called like managed code, so that no object moves meanwhile.
    site: u32,
    /// Number of the variable with the entry's address; that for an object follows it.
    entry: u16,
    /// Number of the variable that identifies the call to the timer.
    frame: u16,
}

impl Tracer {
    /// Returns code that runs only if the call is captured.
    fn if_captured(&self, code: Vec<Insn>) -> Vec<Insn> {
        let mut guarded = vec![local(self.entry), Insn::Brfalse(code.len())];
        guarded.extend(code);
        guarded
    }

    /// Returns a call of a helper with the entry and the timer's variable.
    fn report(&self, helper: usize) -> Vec<Insn> {
        let mut code = vec![local(self.entry), local_address(self.frame), Insn::ConvU];
        code.extend(call(helper, self.site));
        code
    }

    /// Returns code that stores a value, which `load` pushes, in its place.
    fn store(&self, place: usize, value: &PlannedValue, load: Insn) -> Vec<Insn> {
        let primitive = match &value.capture {
            Capture::Omitted(_) => return Vec::new(),
            Capture::Primitive(primitive) => Some(*primitive),
            Capture::Enum(of) => Some(of.underlying),
            Capture::String => None,
        };
        match primitive {
            Some(primitive) => {
                let offset = (PLACES + place * size_of::<u64>()) as i32;
                let mut code = vec![local(self.entry), Insn::LdcI4(offset), plain(Opcode::ADD)];
                code.extend([load, plain(store_opcode(primitive))]);
                code
            }
            None => {
                let mut code = vec![load, self.store_object(), local(self.entry)];
                code.extend([Insn::LdcI4(place as i32), plain(Opcode::ADD)]);
                code.extend([local_address(self.entry.saturating_add(1)), Insn::ConvU]);
                code.extend(call(self.helpers.capture_string, self.site));
                code
            }
        }
    }

    fn store_object(&self) -> Insn {
        numbered(self.entry.saturating_add(1), Opcode::STLOC_S, Opcode::STLOC)
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

fn argument(number: u16) -> Insn {
    numbered(number, Opcode::LDARG_S, Opcode::LDARG)
}

fn numbered(number: u16, short: Opcode, long: Opcode) -> Insn {
    match u8::try_from(number) {
        Ok(number) => Insn::Any(short, Operand::U8(number)),
        Err(_) => Insn::Any(long, Operand::U16(number)),
    }
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}
