//! Forms of the count probe by capability, with their IL and signatures.
//!
//! A body with a local variable of the probe counts without a call: the variable's address gives the stack's
//! page, and the page leads to the thread's block (`stack_pages`). Every other body calls a helper. The calls differ
//! in how the thread enters native code. That decides the cost, and whether a thread that spends its life in
//! the probe can still be stopped for a garbage collection.
#![forbid(unsafe_code)]

use crate::il::{Guarded, Insn, Opcode, Operand, Prologue};
use crate::probes::count_helper;
use crate::probes::stack_pages::{self, PAGE_BITS, PAGE_MASK, REGION_BITS, REGION_MASK};

/// Form of the call from an instrumented body to a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// Unmanaged `calli` with a `CallConvSuppressGCTransition` modifier: no transition (.NET 6 and later, if
    /// the type exists and the module can name it). The JIT adds a poll, so the collector does not wait.
    Suppressed,
    /// Plain unmanaged `calli`: a full transition, which lets the collector in at every call.
    Transition,
}

/// Full name of the type that [`CallForm::Suppressed`] needs, in the core library and where the module can name
/// it.
pub const SUPPRESS_NAME: &str = "System.Runtime.CompilerServices.CallConvSuppressGCTransition";

/// IL stack slots of a prologue.
const PROLOGUE_STACK: u16 = 4;

/// Number of calls of a method on a thread of which one lets the collector in, minus one: some microseconds of
/// empty calls.
const LET_IN_MASK: i32 = (1 << 12) - 1;

/// `calli` calling convention of managed static methods (ECMA-335 II.23.2.3).
const CALL_DEFAULT: u8 = 0x00;
/// `calli` calling convention `unmanaged cdecl` (ECMA-335 II.23.2.3).
const CALL_CDECL: u8 = 0x01;
/// `IMAGE_CEE_CS_CALLCONV_UNMANAGED`: convention encoded in modifiers of the return type.
const CALL_UNMANAGED: u8 = 0x09;
const ELEMENT_TYPE_VOID: u8 = 0x01;
const ELEMENT_TYPE_I: u8 = 0x18;
const ELEMENT_TYPE_CMOD_OPT: u8 = 0x20;

/// Call sites of a module, as StandAloneSig tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSites {
    /// In the module's form, for bodies that call every time.
    pub always: u32,
    /// As if the helper were managed code, for the occasional call of a body. It needs no frame in the method's
    /// prolog, unlike plain unmanaged calls before .NET 5, executed or not; the collector waits for the helper.
    pub seldom: u32,
    /// Form of `always`.
    pub form: CallForm,
}

/// The StandAloneSig blob of [`CallSites::seldom`]: `void (native int, native int)`, managed.
pub const SELDOM_SIGNATURE: [u8; 5] = [CALL_DEFAULT, 2, ELEMENT_TYPE_VOID, ELEMENT_TYPE_I, ELEMENT_TYPE_I];

impl CallForm {
    /// Returns the StandAloneSig blob of [`CallSites::always`]: `void (native int, native int)`. `suppress` is
    /// the TypeDef or TypeRef of [`SUPPRESS_NAME`] in that module; only [`CallForm::Suppressed`] uses it.
    pub fn signature(self, suppress: u32) -> Vec<u8> {
        let mut blob = match self {
            CallForm::Transition => vec![CALL_CDECL, 2],
            CallForm::Suppressed => {
                let mut blob = vec![CALL_UNMANAGED, 2, ELEMENT_TYPE_CMOD_OPT];
                crate::signature::write_type_token(&mut blob, suppress);
                blob
            }
        };
        blob.extend([ELEMENT_TYPE_VOID, ELEMENT_TYPE_I, ELEMENT_TYPE_I]);
        blob
    }
}

/// Returns a prologue that counts one call in the slot at `slot_offset` by calling the helper through one of
/// the module's call sites.
pub fn calling(slot_offset: usize, site: u32) -> Prologue {
    let mut code = native(slot_offset);
    code.extend([Insn::LdcI4(0), Insn::ConvI]);
    code.extend(call(count_helper::address(), site));
    Prologue::new(code, PROLOGUE_STACK)
}

/// Returns a prologue that counts without a call, through the address of a local variable of the probe: number
/// `local` of the signature `local_sig`. None if there is no table of stacks.
pub fn inline(slot_offset: usize, sites: CallSites, local: u16, local_sig: u32) -> Option<Prologue> {
    let here = || [local_address(local), Insn::ConvU];
    // Entry of a table of pointers, selected by the bits from `low` on within `mask`.
    let entry = |low: u32, mask: usize| {
        let mut code = vec![Insn::LdcI4(low as i32), plain(Opcode::SHR_UN)];
        code.extend([Insn::LdcI4(mask as i32), Insn::ConvI, plain(Opcode::AND)]);
        code.extend([Insn::LdcI4(3), plain(Opcode::SHL), plain(Opcode::ADD), plain(Opcode::LDIND_I)]);
        code
    };
    let mut code = vec![Insn::LdcI8(stack_pages::table()? as i64), Insn::ConvI];
    code.extend(here());
    code.extend(entry(REGION_BITS, REGION_MASK));
    code.extend(here());
    code.extend(entry(PAGE_BITS, PAGE_MASK));

    let (fast, guarded) = one_more(slot_offset, sites);
    let mut slow = vec![Insn::Pop];
    slow.extend(native(slot_offset));
    slow.extend(here());
    slow.extend(call(count_helper::address_for_new_page(), sites.seldom));
    slow.push(Insn::Br(fast.len()));

    code.extend([Insn::Dup, Insn::Brtrue(slow.len())]);
    code.extend(slow);
    let guarded = guarded.map(|guarded| guarded.behind(code.len()));
    code.extend(fast);
    Some(Prologue { code, stack: PROLOGUE_STACK, local_sig: Some(local_sig), guarded })
}

/// Adds one to the counter at `slot_offset` of the block on the stack.
///
/// Below .NET 5 a signal can stop a thread for the collector only at some instructions, and the processor
/// chooses the one it interrupts. If it rarely interrupts at these, a collection waits for ten milliseconds. So
/// there a body occasionally makes a call in which a thread can be stopped. The call is in a try region, where
/// the JIT does not inline it: an inlined call costs a frame in the prolog, executed or not. The handler is
/// empty, and the JIT removes it.
fn one_more(slot_offset: usize, sites: CallSites) -> (Vec<Insn>, Option<Guarded>) {
    let increment = || [Insn::LdcI4(1), plain(Opcode::CONV_I8), plain(Opcode::ADD), plain(Opcode::STIND_I8)];
    let mut code = native(slot_offset);
    code.extend([plain(Opcode::ADD), Insn::Dup, plain(Opcode::LDIND_I8)]);
    if sites.form == CallForm::Suppressed {
        code.extend(increment());
        return (code, None);
    }
    let mut gc_poll = increment().to_vec();
    let start = gc_poll.len();
    gc_poll.extend(self::gc_poll(sites));
    gc_poll.push(Insn::Leave(1 + increment().len()));
    let end = gc_poll.len();
    gc_poll.push(plain(Opcode::ENDFINALLY));

    code.extend([Insn::Dup, plain(Opcode::CONV_I4), Insn::LdcI4(LET_IN_MASK), plain(Opcode::AND)]);
    code.push(Insn::Brtrue(gc_poll.len()));
    let guarded = Guarded { try_region: start..end, handler: end..gc_poll.len() }.behind(code.len());
    code.extend(gc_poll);
    code.extend(increment());
    (code, Some(guarded))
}

/// Returns a call that does nothing. Entering it, a thread can be stopped for the collector, where no other
/// code of a probe allows that.
pub(super) fn gc_poll(sites: CallSites) -> Vec<Insn> {
    let mut code = native(0);
    code.extend(native(0));
    code.extend(call(count_helper::gc_poll(), sites.always));
    code
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}

/// Pushes a slot's offset.
pub(super) fn native(slot_offset: usize) -> Vec<Insn> {
    vec![Insn::LdcI4(slot_offset as i32), Insn::ConvI]
}

pub(super) fn call(helper: usize, call_site: u32) -> [Insn; 3] {
    [Insn::LdcI8(helper as i64), Insn::ConvI, Insn::Calli(call_site)]
}

pub(super) fn local_address(local: u16) -> Insn {
    match u8::try_from(local) {
        Ok(short) => Insn::Any(Opcode::LDLOCA_S, Operand::U8(short)),
        Err(_) => Insn::Any(Opcode::LDLOCA, Operand::U16(local)),
    }
}

/// Returns the instruction that loads an argument.
pub(super) fn argument(number: u16) -> Insn {
    numbered(number, Opcode::LDARG_S, Opcode::LDARG)
}

/// Returns an instruction with the number of an argument or variable, in its short form if possible.
pub(super) fn numbered(number: u16, short: Opcode, long: Opcode) -> Insn {
    match u8::try_from(number) {
        Ok(number) => Insn::Any(short, Operand::U8(number)),
        Err(_) => Insn::Any(long, Operand::U16(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::il::verify::verify_structure;
    use crate::il::with_prologue;

    #[test]
    fn bodies_let_the_collector_in_if_the_runtime_does_not() {
        for (form, clauses) in [(CallForm::Suppressed, 0), (CallForm::Transition, 1)] {
            let sites = CallSites { always: 0x1100_0001, seldom: 0x1100_0002, form };
            for local in [0, 300] {
                let prologue = inline(8, sites, local, 0x1100_0003).expect("a table of stacks");
                let rewritten = with_prologue(&[0x06, 0x2A], prologue).expect("it fits");
                let body = verify_structure(&rewritten.body).expect("sound");
                assert_eq!((body.clauses.len(), body.local_sig), (clauses, 0x1100_0003));
                let unmanaged = (Opcode::CALLI, Operand::Token(sites.always));
                let needs_gc_poll =
                    body.instructions.iter().any(|one| (one.opcode, one.operand.clone()) == unmanaged);
                assert_eq!(needs_gc_poll, clauses > 0);
            }
        }
    }
}
