//! Which form the count probe takes on this runtime, by capability, and the IL and signature for it.
//!
//! All forms end in the same leaf. They differ in how the thread enters native code, which decides both the cost
//! and whether a thread that spends its life in the probe can still be stopped for a garbage collection.
#![forbid(unsafe_code)]

use crate::il::Insn;

/// How an instrumented body calls the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountForm {
    /// Unmanaged `calli` with a `CallConvSuppressGCTransition` modifier: no transition (.NET 6 and later, where
    /// the type exists). The JIT adds a poll, so the collector is not kept waiting.
    Suppressed,
    /// Plain unmanaged `calli`: a full transition, which lets the collector in at every call.
    Transition,
}

/// Full name of the type whose presence in the core library tells [`CountForm::Suppressed`] apart.
pub const SUPPRESS_NAME: &str = "System.Runtime.CompilerServices.CallConvSuppressGCTransition";

/// IL stack slots the prologue needs.
pub const PROLOGUE_STACK: u16 = 2;

/// `calli` calling convention `unmanaged cdecl` (ECMA-335 II.23.2.3).
const CALL_CDECL: u8 = 0x01;
/// `IMAGE_CEE_CS_CALLCONV_UNMANAGED`: convention encoded in modifiers of the return type.
const CALL_UNMANAGED: u8 = 0x09;
const ELEMENT_TYPE_VOID: u8 = 0x01;
const ELEMENT_TYPE_I: u8 = 0x18;
const ELEMENT_TYPE_CMOD_OPT: u8 = 0x20;

impl CountForm {
    /// The StandAloneSig blob of the call: `void (native int)`. `suppress` is the TypeDef or TypeRef of
    /// [`SUPPRESS_NAME`] in that module, used by [`CountForm::Suppressed`] only.
    pub fn signature(self, suppress: u32) -> Vec<u8> {
        match self {
            CountForm::Transition => vec![CALL_CDECL, 1, ELEMENT_TYPE_VOID, ELEMENT_TYPE_I],
            CountForm::Suppressed => {
                let mut blob = vec![CALL_UNMANAGED, 1, ELEMENT_TYPE_CMOD_OPT];
                crate::signature::write_type_token(&mut blob, suppress);
                blob.extend([ELEMENT_TYPE_VOID, ELEMENT_TYPE_I]);
                blob
            }
        }
    }

    /// The instructions before everything else in the body: count one call in the slot at `slot_offset`.
    pub fn prologue(leaf: usize, slot_offset: usize, call_site: u32) -> [Insn; 5] {
        [
            Insn::LdcI4(slot_offset as i32),
            Insn::ConvI,
            Insn::LdcI8(leaf as i64),
            Insn::ConvI,
            Insn::Calli(call_site),
        ]
    }
}
