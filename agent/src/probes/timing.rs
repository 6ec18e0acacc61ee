//! The level *time*: which methods can have it, and the code around them.
//!
//! The body calls a leaf before its first instruction and one on its way out, with the address of a variable of its own,
//! by which the call is known (`timers`). Where the collector cannot stop a thread in a leaf, the first leaf says from time
//! to time that the body should make a call in which it can. That call stands in the try region, where the JIT does not
//! inline it: inlined it would cost a frame in the method's prolog, made or not.
#![forbid(unsafe_code)]

use super::form::{self, CallForm, CallSites, call, local_address, native};
use super::{callers, time_leaf};
use crate::il::{Around, Body, Insn, Opcode, Operand, gives_frame_away};
use crate::signature::{Type, parse_method};

/// IL stack slots that the code around a body needs.
const STACK: u16 = 3;

/// Why a method is only counted where *time* is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimed {
    /// `jmp` or `tail.`.
    GivesFrameAway,
    /// It may count on running in a stack that does not grow.
    EndsInItself,
    /// What it returns cannot be told.
    Signature,
    /// Its module's metadata has no room for the signature of its variables.
    NoRoom,
    /// The agent's memory for times is used up.
    NoMemory,
}

impl Untimed {
    /// One sentence, without a final period.
    pub fn sentence(self) -> &'static str {
        match self {
            Untimed::GivesFrameAway => {
                "it is only counted: it gives its stack frame to another method (jmp or tail.), so nobody sees it end; time \
                 that method or its callers instead"
            }
            Untimed::EndsInItself => {
                "it is only counted: it calls itself last, and would need a stack for every call if it were timed; time its \
                 callers instead"
            }
            Untimed::Signature => {
                "it is only counted: what it returns could not be read from its signature; time its callers instead"
            }
            Untimed::NoRoom => {
                "it is only counted: its module's metadata has no room left for the variables of a timed body; time its callers \
                 in other modules instead"
            }
            Untimed::NoMemory => {
                "it is only counted: the agent's memory for times is used up in this process (`redial status --agent`); to time \
                 it time fewer methods, from the process's next start on"
            }
        }
    }
}

/// What keeps a body from being timed, if anything of it does.
pub fn untimed(body: &Body, ends_in_itself: bool) -> Option<Untimed> {
    if gives_frame_away(body) {
        return Some(Untimed::GivesFrameAway);
    }
    ends_in_itself.then_some(Untimed::EndsInItself)
}

/// What a timed body has: the variables beside its own, and what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// StandAloneSig token of all its variables.
    pub local_sig: u32,
    /// Number of the variable by whose address a call is known.
    pub local: u16,
    /// Whether the next one holds the result.
    pub returns: bool,
    /// Where calls of an async method are noted that begin and complete in it, in bytes from the first slot; None of a body
    /// that is not its `MoveNext`.
    pub noted_at: Option<usize>,
    /// Whether callers are counted.
    pub callers: bool,
}

/// The type of the variable that holds a method's result; None inside for a method without one. References are all
/// alike to the JIT, and so are integers of a size once they are on the stack (ECMA-335 III.1.1): so few signatures serve
/// many methods.
///
/// # Errors
/// A signature that cannot be read.
pub fn result_variable(signature: &[u8]) -> Result<Option<Type>, Untimed> {
    let mut result = parse_method(signature).map_err(|_| Untimed::Signature)?.result;
    while let Type::Modified { inner, .. } = result {
        result = *inner;
    }
    Ok(Some(match result {
        Type::Void => return Ok(None),
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
    }))
}

/// The code around a body that is timed in the slot at `slot_offset`.
pub fn around(slot_offset: usize, sites: CallSites, timing: Timing) -> Around {
    let told = |leaf: usize, site: u32| {
        let mut code = native(slot_offset);
        code.extend([local_address(timing.local), Insn::ConvU]);
        code.extend(call(leaf, site));
        code
    };
    let leaves = if timing.callers { callers::leaves() } else { time_leaf::leaves() };
    // A thread that the collector waits for stops behind the first leaf, so the others are called as managed code is.
    let (enter, let_in) = match sites.form {
        CallForm::Suppressed => (told(leaves.enter as usize, sites.always), Vec::new()),
        CallForm::Transition => {
            let call_in = form::let_in(sites);
            let mut code = vec![local(timing.local), Insn::Brfalse(call_in.len())];
            code.extend(call_in);
            (told(leaves.enter_letting_in as usize, sites.seldom), code)
        }
    };
    Around {
        before: enter,
        first: let_in,
        fault: told(leaves.fault as usize, sites.seldom),
        after: told(leaves.leave as usize, sites.seldom),
        within: Vec::new(),
        stack: STACK,
        result: timing.returns.then(|| timing.local.saturating_add(1)),
        local_sig: timing.local_sig,
    }
}

fn local(number: u16) -> Insn {
    match u8::try_from(number) {
        Ok(short) => Insn::Any(Opcode::LDLOC_S, Operand::U8(short)),
        Err(_) => Insn::Any(Opcode::LDLOC, Operand::U16(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::il::verify::verify_structure;
    use crate::il::{decode, with_code_around};

    #[test]
    fn results_that_the_stack_holds_alike_share_a_variable() {
        let of = |result: &[u8]| result_variable(&[&[0x00, 0x00], result].concat());
        assert_eq!(of(&[0x01]), Ok(None));
        assert_eq!((of(&[0x02]), of(&[0x09])), (Ok(Some(Type::I4)), Ok(Some(Type::I4))));
        assert_eq!((of(&[0x0E]), of(&[0x1D, 0x08])), (Ok(Some(Type::Object)), Ok(Some(Type::Object))));
        assert_eq!(of(&[0x0F, 0x01]), Ok(Some(Type::I)));
        assert_eq!(of(&[0x1F, 0x05, 0x10, 0x08]), Ok(Some(Type::ByRef(Box::new(Type::U1)))), "ref readonly");
        assert_eq!(of(&[0x11, 0x05]), Ok(Some(Type::ValueType(0x0100_0001))));
        assert_eq!(of(&[0x13, 0x00]), Ok(Some(Type::Var(0))));
        assert_eq!(of(&[]), Err(Untimed::Signature));
    }

    #[test]
    fn both_forms_are_sound_bodies() {
        for form in [CallForm::Suppressed, CallForm::Transition] {
            let sites = CallSites { always: 0x1100_0001, seldom: 0x1100_0002, form };
            for (local, returns) in [(0, true), (255, true), (300, false)] {
                let (noted_at, callers) = (None, local == 0);
                let timing = Timing { local_sig: 0x1100_0003, local, returns, noted_at, callers };
                let code: &[u8] = if returns { &[2 << 2 | 2, 0x17, 0x2A] } else { &[1 << 2 | 2, 0x2A] };
                let rewritten = with_code_around(code, around(8, sites, timing)).expect("it fits");
                let body = verify_structure(&rewritten.body).expect("sound");
                assert_eq!((body.clauses.len(), body.local_sig), (1, 0x1100_0003));
            }
        }
    }

    #[test]
    fn what_gives_its_frame_away_is_only_counted() {
        // tail. call 0x06000001; ret
        let tail = [8 << 2 | 2, 0xFE, 0x14, 0x28, 1, 0, 0, 6, 0x2A];
        let body = decode(&tail).expect("it is valid");
        assert_eq!(untimed(&body, false), Some(Untimed::GivesFrameAway));
        let plain = decode(&[6 << 2 | 2, 0x28, 1, 0, 0, 6, 0x2A]).expect("it is valid");
        assert_eq!((untimed(&plain, true), untimed(&plain, false)), (Some(Untimed::EndsInItself), None));
    }
}
