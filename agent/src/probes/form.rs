//! Which form the count probe takes, by capability, and the IL and signatures for it.
//!
//! Where a body has a local variable of ours, it counts without a call: the variable's address tells the stack's page,
//! the page leads to the thread's block (`stacks`). Everything else calls a leaf. The calls differ in how the thread
//! enters native code, which decides both the cost and whether a thread that spends its life in the probe can still be
//! stopped for a garbage collection.
#![forbid(unsafe_code)]

use super::leaf;
use super::stacks::{self, PAGE_BITS, PAGE_MASK, REGION_BITS, REGION_MASK};
use crate::il::{Guarded, Insn, Opcode, Operand, Prologue};

/// How an instrumented body calls a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// Unmanaged `calli` with a `CallConvSuppressGCTransition` modifier: no transition (.NET 6 and later, where
    /// the type exists and the module can name it). The JIT adds a poll, so the collector is not kept waiting.
    Suppressed,
    /// Plain unmanaged `calli`: a full transition, which lets the collector in at every call.
    Transition,
}

/// Full name of the type that [`CallForm::Suppressed`] needs: in the core library, and where the module can name it.
pub const SUPPRESS_NAME: &str = "System.Runtime.CompilerServices.CallConvSuppressGCTransition";

/// IL stack slots a prologue needs.
const PROLOGUE_STACK: u16 = 4;

/// Of how many calls of a method on a thread one lets the collector in, less one: some microseconds of calls that do nothing.
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

/// The call sites of a module, StandAloneSig tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSites {
    /// In the module's form: for bodies that call at every turn.
    pub always: u32,
    /// As if the leaf were managed code: for the call that a body makes once in a while. It needs no frame in the
    /// method's prolog, which plain unmanaged calls do before .NET 5, made or not; the collector waits for the leaf.
    pub seldom: u32,
    /// The form of the first.
    pub form: CallForm,
}

/// The StandAloneSig blob of [`CallSites::seldom`]: `void (native int, native int)`, managed.
pub const SELDOM_SIGNATURE: [u8; 5] = [CALL_DEFAULT, 2, ELEMENT_TYPE_VOID, ELEMENT_TYPE_I, ELEMENT_TYPE_I];

impl CallForm {
    /// The StandAloneSig blob of [`CallSites::always`]: `void (native int, native int)`. `suppress` is the TypeDef or TypeRef of
    /// [`SUPPRESS_NAME`] in that module, used by [`CallForm::Suppressed`] only.
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

/// What stands before everything else in a body: it counts one call in the slot at `slot_offset`, through the leaf, by one of
/// the module's call sites.
pub fn calling(slot_offset: usize, site: u32) -> Prologue {
    let mut code = native(slot_offset);
    code.extend([Insn::LdcI4(0), Insn::ConvI]);
    code.extend(call(leaf::address(), site));
    Prologue::new(code, PROLOGUE_STACK)
}

/// The same without a call, by the address of a local variable of ours, number `local` of the signature `local_sig`; None when
/// there is no table of stacks.
pub fn inline(slot_offset: usize, sites: CallSites, local: u16, local_sig: u32) -> Option<Prologue> {
    let here = || [local_address(local), Insn::ConvU];
    // Entry of a table of pointers: the bits from `low` on that `mask` leaves.
    let entry = |low: u32, mask: usize| {
        let mut code = vec![Insn::LdcI4(low as i32), plain(Opcode::SHR_UN)];
        code.extend([Insn::LdcI4(mask as i32), Insn::ConvI, plain(Opcode::AND)]);
        code.extend([Insn::LdcI4(3), plain(Opcode::SHL), plain(Opcode::ADD), plain(Opcode::LDIND_I)]);
        code
    };
    let mut code = vec![Insn::LdcI8(stacks::table()? as i64), Insn::ConvI];
    code.extend(here());
    code.extend(entry(REGION_BITS, REGION_MASK));
    code.extend(here());
    code.extend(entry(PAGE_BITS, PAGE_MASK));

    let (fast, guarded) = one_more(slot_offset, sites);
    let mut slow = vec![Insn::Pop];
    slow.extend(native(slot_offset));
    slow.extend(here());
    slow.extend(call(leaf::address_here(), sites.seldom));
    slow.push(Insn::Br(fast.len()));

    code.extend([Insn::Dup, Insn::Brtrue(slow.len())]);
    code.extend(slow);
    let guarded = guarded.map(|guarded| guarded.behind(code.len()));
    code.extend(fast);
    Some(Prologue { code, stack: PROLOGUE_STACK, local_sig: Some(local_sig), guarded })
}

/// Adds one to the counter at `slot_offset` of the block on the stack.
///
/// Below .NET 5 a signal stops a thread for the collector only at some instructions, and which one a processor interrupts is
/// its own affair: one that seldom interrupts there lets a collection wait for ten milliseconds. So there a body makes a call
/// now and then in which a thread can be stopped. It stands in a try region, where the JIT does not inline it: inlined, it
/// costs a frame in the prolog, made or not. The handler is empty, and the JIT leaves it out.
fn one_more(slot_offset: usize, sites: CallSites) -> (Vec<Insn>, Option<Guarded>) {
    let increment = || [Insn::LdcI4(1), plain(Opcode::CONV_I8), plain(Opcode::ADD), plain(Opcode::STIND_I8)];
    let mut code = native(slot_offset);
    code.extend([plain(Opcode::ADD), Insn::Dup, plain(Opcode::LDIND_I8)]);
    if sites.form == CallForm::Suppressed {
        code.extend(increment());
        return (code, None);
    }
    let mut let_in = increment().to_vec();
    let start = let_in.len();
    let_in.extend(self::let_in(sites));
    let_in.push(Insn::Leave(1 + increment().len()));
    let end = let_in.len();
    let_in.push(plain(Opcode::ENDFINALLY));

    code.extend([Insn::Dup, plain(Opcode::CONV_I4), Insn::LdcI4(LET_IN_MASK), plain(Opcode::AND)]);
    code.push(Insn::Brtrue(let_in.len()));
    let guarded = Guarded { try_region: start..end, handler: end..let_in.len() }.behind(code.len());
    code.extend(let_in);
    code.extend(increment());
    (code, Some(guarded))
}

/// A call that does nothing, on the way into which a thread can be stopped for the collector where no other code of a probe lets
/// it be.
pub(super) fn let_in(sites: CallSites) -> Vec<Insn> {
    let mut code = native(0);
    code.extend(native(0));
    code.extend(call(leaf::let_in(), sites.always));
    code
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}

/// Pushes a slot's offset.
pub(super) fn native(slot_offset: usize) -> Vec<Insn> {
    vec![Insn::LdcI4(slot_offset as i32), Insn::ConvI]
}

pub(super) fn call(leaf: usize, call_site: u32) -> [Insn; 3] {
    [Insn::LdcI8(leaf as i64), Insn::ConvI, Insn::Calli(call_site)]
}

pub(super) fn local_address(local: u16) -> Insn {
    match u8::try_from(local) {
        Ok(short) => Insn::Any(Opcode::LDLOCA_S, Operand::U8(short)),
        Err(_) => Insn::Any(Opcode::LDLOCA, Operand::U16(local)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::il::verify::verify_structure;
    use crate::il::with_prologue;

    #[test]
    fn a_body_lets_the_collector_in_where_the_runtime_does_not_do_so_by_itself() {
        for (form, clauses) in [(CallForm::Suppressed, 0), (CallForm::Transition, 1)] {
            let sites = CallSites { always: 0x1100_0001, seldom: 0x1100_0002, form };
            for local in [0, 300] {
                let prologue = inline(8, sites, local, 0x1100_0003).expect("a table of stacks");
                let rewritten = with_prologue(&[0x06, 0x2A], prologue).expect("it fits");
                let body = verify_structure(&rewritten.body).expect("sound");
                assert_eq!((body.clauses.len(), body.local_sig), (clauses, 0x1100_0003));
                let unmanaged = (Opcode::CALLI, Operand::Token(sites.always));
                let lets_in =
                    body.instructions.iter().any(|one| (one.opcode, one.operand.clone()) == unmanaged);
                assert_eq!(lets_in, clauses > 0);
            }
        }
    }
}
