//! The level *time*: the methods that support it, and the code around them.
//!
//! The body calls a helper before its first instruction and one on its way out, with the address of its own
//! variable, which identifies the call (`timers`). If the collector cannot stop a thread in a helper, the first
//! helper tells the body from time to time to make a call in which it can. That call is in the try region,
//! where the JIT does not inline it: an inlined call would cost a frame in the method's prolog, executed or
//! not. At the first such call in a module the runtime makes a stub, which takes up to a hundred microseconds.
//! So the clock starts anew after it.
#![forbid(unsafe_code)]

use super::call_form::{self, CallForm, CallSites, call, local_address, native};
use super::traced_method::TracedBody;
use crate::il::{Body, BodyWrapper, Insn, Opcode, Operand, gives_frame_away};
use crate::probes::{callers, stack_helpers, time_helper};
use crate::signature::{Type, parse_method};
use redial_protocol::diagnostics::UntimedReason;

/// IL stack slots of the code around a body.
const STACK: u16 = 3;

/// Returns the reason in the body that prevents timing, if any.
pub fn untimed(body: &Body, ends_in_itself: bool) -> Option<UntimedReason> {
    if gives_frame_away(body) {
        return Some(UntimedReason::GivesFrameAway);
    }
    ends_in_itself.then_some(UntimedReason::EndsInItself)
}

/// Variables and options of a timed body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// StandAloneSig token of all its variables.
    pub local_sig: u32,
    /// Number of the variable whose address identifies a call.
    pub local: u16,
    /// Whether the next variable holds the result.
    pub returns: bool,
    /// Offset of the slots that record beginnings and completions of an async method, in bytes from the first
    /// slot; None for a body that is not its `MoveNext`.
    pub noted_at: Option<usize>,
    /// Whether callers are counted.
    pub callers: bool,
    /// Whether the slowest calls have stacks.
    pub stack: bool,
    /// The values to capture, if calls are traced.
    pub trace: Option<&'static TracedBody>,
}

/// Returns the type of the variable that holds a method's result; None for a method without one. To the JIT all
/// references are alike, and so are integers of the same size on the stack (ECMA-335 III.1.1), so few
/// signatures serve many methods.
///
/// # Errors
/// If the signature cannot be read.
pub fn result_variable(signature: &[u8]) -> Result<Option<Type>, UntimedReason> {
    Ok(variable_type(parse_method(signature).map_err(|_| UntimedReason::Signature)?.result))
}

/// Returns the type of a variable for values of this type; None for `void`.
pub fn variable_type(mut ty: Type) -> Option<Type> {
    while let Type::Modified { inner, .. } = ty {
        ty = *inner;
    }
    Some(match ty {
        Type::Void => return None,
        Type::Boolean | Type::Char | Type::I1 | Type::U1 | Type::I2 | Type::U2 | Type::I4 | Type::U4 => {
            Type::I4
        }
        Type::I8 | Type::U8 => Type::I8,
        Type::I | Type::U | Type::Ptr(_) | Type::FnPtr(_) => Type::I,
        Type::String
        | Type::Object
        | Type::Class(_)
        | Type::SzArray(_)
        | Type::Array { .. }
        | Type::Generic { value_type: false, .. } => Type::Object,
        Type::ByRef(_) => Type::ByRef(Box::new(Type::U1)),
        other => other,
    })
}

/// Returns the code around a body that is timed in the slot at `slot_offset`.
pub fn wrapper(slot_offset: usize, sites: CallSites, timing: Timing) -> BodyWrapper {
    let report = |helper: usize, site: u32| {
        let mut code = native(slot_offset);
        code.extend([local_address(timing.local), Insn::ConvU]);
        code.extend(call(helper, site));
        code
    };
    let helpers = if timing.callers { callers::helpers() } else { time_helper::helpers() };
    let helpers = if timing.stack { stack_helpers::with_stacks(helpers) } else { helpers };
    // A thread that the collector waits for stops after the first helper, so the others are called like managed
    // code.
    let (enter, gc_poll) = match sites.form {
        CallForm::Suppressed => (report(helpers.enter as usize, sites.always), Vec::new()),
        CallForm::Transition => {
            let mut call_in = call_form::gc_poll(sites);
            call_in.extend(report(helpers.restart as usize, sites.seldom));
            let mut code = vec![local(timing.local), Insn::Brfalse(call_in.len())];
            code.extend(call_in);
            (report(helpers.enter_with_gc_poll as usize, sites.seldom), code)
        }
    };
    BodyWrapper {
        before: enter,
        first: gc_poll,
        fault: report(helpers.fault as usize, sites.seldom),
        after: report(helpers.leave as usize, sites.seldom),
        within: Vec::new(),
        stack: STACK,
        result: timing.returns.then(|| timing.local.saturating_add(1)),
        local_sig: timing.local_sig,
    }
}

pub(super) fn local(number: u16) -> Insn {
    match u8::try_from(number) {
        Ok(short) => Insn::Any(Opcode::LDLOC_S, Operand::U8(short)),
        Err(_) => Insn::Any(Opcode::LDLOC, Operand::U16(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::il::verify::verify_structure;
    use crate::il::{decode, wrap_body};

    #[test]
    fn results_of_the_same_stack_type_share_a_variable() {
        let of = |result: &[u8]| result_variable(&[&[0x00, 0x00], result].concat());
        assert_eq!(of(&[0x01]), Ok(None));
        assert_eq!((of(&[0x02]), of(&[0x09])), (Ok(Some(Type::I4)), Ok(Some(Type::I4))));
        assert_eq!((of(&[0x0E]), of(&[0x1D, 0x08])), (Ok(Some(Type::Object)), Ok(Some(Type::Object))));
        assert_eq!(of(&[0x0F, 0x01]), Ok(Some(Type::I)));
        assert_eq!(of(&[0x1F, 0x05, 0x10, 0x08]), Ok(Some(Type::ByRef(Box::new(Type::U1)))), "ref readonly");
        assert_eq!(of(&[0x11, 0x05]), Ok(Some(Type::ValueType(0x0100_0001))));
        assert_eq!(of(&[0x13, 0x00]), Ok(Some(Type::Var(0))));
        assert_eq!(of(&[]), Err(UntimedReason::Signature));
    }

    #[test]
    fn both_forms_are_sound_bodies() {
        for form in [CallForm::Suppressed, CallForm::Transition] {
            let sites = CallSites { always: 0x1100_0001, seldom: 0x1100_0002, form };
            for (local, returns) in [(0, true), (255, true), (300, false)] {
                let (noted_at, callers) = (None, local == 0);
                let (local_sig, stack, trace) = (0x1100_0003, local == 255, None);
                let timing = Timing { local_sig, local, returns, noted_at, callers, stack, trace };
                let code: &[u8] = if returns { &[2 << 2 | 2, 0x17, 0x2A] } else { &[1 << 2 | 2, 0x2A] };
                let rewritten = wrap_body(code, wrapper(8, sites, timing)).expect("it fits");
                let body = verify_structure(&rewritten.body).expect("sound");
                assert_eq!((body.clauses.len(), body.local_sig), (1, 0x1100_0003));
            }
        }
    }

    #[test]
    fn methods_that_give_their_frame_away_are_only_counted() {
        // tail. call 0x06000001; ret
        let tail = [8 << 2 | 2, 0xFE, 0x14, 0x28, 1, 0, 0, 6, 0x2A];
        let body = decode(&tail).expect("it is valid");
        assert_eq!(untimed(&body, false), Some(UntimedReason::GivesFrameAway));
        let plain = decode(&[6 << 2 | 2, 0x28, 1, 0, 0, 6, 0x2A]).expect("it is valid");
        assert_eq!(
            (untimed(&plain, true), untimed(&plain, false)),
            (Some(UntimedReason::EndsInItself), None)
        );
    }
}
