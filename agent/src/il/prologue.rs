//! Code that runs once before a method's own first instruction.

use super::bytes::Bytes;
use super::header::Header;
use super::{
    Clause, ClauseKind, Edit, IlError, Instruction, Label, Landing, Opcode, Operand, decode, encode,
};
use std::ops::Range;

/// An instruction to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insn {
    /// Pushes a number, in the shortest form.
    LdcI4(i32),
    /// Pushes a 64-bit number: an address, before [`Insn::ConvI`].
    LdcI8(i64),
    /// To a native integer.
    ConvI,
    /// To an unsigned native integer.
    ConvU,
    /// Calls through a pointer; the token is a StandAloneSig's.
    Calli(u32),
    /// Drops the value on top.
    Pop,
    /// Copies the value on top.
    Dup,
    /// Goes past so many of the inserted instructions that follow.
    Br(usize),
    /// The same when the value on top is zero.
    Brfalse(usize),
    /// The same when it is not.
    Brtrue(usize),
    /// The same as [`Insn::Br`], out of a try region.
    Leave(usize),
    /// Any instruction. Its labels are those of the unedited body.
    Any(Opcode, Operand),
}

impl Insn {
    /// How many of the following inserted instructions this branch goes past.
    pub(super) fn skip(&self) -> Option<usize> {
        match self {
            Insn::Br(skip) | Insn::Brfalse(skip) | Insn::Brtrue(skip) | Insn::Leave(skip) => Some(*skip),
            _ => None,
        }
    }

    /// The instruction, in its short form, as the one with this index.
    pub(super) fn at(self, index: usize) -> Instruction {
        let past = |skip: usize| Operand::Target(Label((index + 1 + skip) as u32));
        let (opcode, operand) = match self {
            Insn::LdcI4(value) => ldc_i4(value),
            Insn::LdcI8(value) => (Opcode::LDC_I8, Operand::I64(value)),
            Insn::ConvI => (Opcode::CONV_I, Operand::None),
            Insn::ConvU => (Opcode::CONV_U, Operand::None),
            Insn::Calli(token) => (Opcode::CALLI, Operand::Token(token)),
            Insn::Pop => (Opcode::POP, Operand::None),
            Insn::Dup => (Opcode::DUP, Operand::None),
            Insn::Br(skip) => (Opcode::BR_S, past(skip)),
            Insn::Brfalse(skip) => (Opcode::BRFALSE_S, past(skip)),
            Insn::Brtrue(skip) => (Opcode::BRTRUE_S, past(skip)),
            Insn::Leave(skip) => (Opcode::LEAVE_S, past(skip)),
            Insn::Any(opcode, operand) => (opcode, operand),
        };
        Instruction::new(opcode, operand)
    }
}

/// Appends code that refers to nothing but itself.
pub(super) fn append(list: &mut Vec<Instruction>, code: Vec<Insn>) {
    for insn in code {
        list.push(insn.at(list.len()));
    }
}

fn ldc_i4(value: i32) -> (Opcode, Operand) {
    let opcode = match value {
        -1 => Opcode::LDC_I4_M1,
        0 => Opcode::LDC_I4_0,
        1 => Opcode::LDC_I4_1,
        2 => Opcode::LDC_I4_2,
        3 => Opcode::LDC_I4_3,
        4 => Opcode::LDC_I4_4,
        5 => Opcode::LDC_I4_5,
        6 => Opcode::LDC_I4_6,
        7 => Opcode::LDC_I4_7,
        8 => Opcode::LDC_I4_8,
        _ => {
            return match i8::try_from(value) {
                Ok(byte) => (Opcode::LDC_I4_S, Operand::I8(byte)),
                Err(_) => (Opcode::LDC_I4, Operand::I32(value)),
            };
        }
    };
    (opcode, Operand::None)
}

/// What runs before a method's own first instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prologue {
    /// The instructions. They must leave the stack as they find it, empty.
    pub code: Vec<Insn>,
    /// The most they put on the stack in between.
    pub stack: u16,
    /// StandAloneSig token of the locals, in place of the body's own; it must begin with the body's own locals.
    pub local_sig: Option<u32>,
    /// A try region in the code, if there is one.
    pub guarded: Option<Guarded>,
}

/// A try region and its finally handler, as places in a [`Prologue`]'s code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The protected instructions; the last of them is a [`Insn::Leave`].
    pub try_region: Range<usize>,
    /// The handler's instructions; the last of them is `endfinally`.
    pub handler: Range<usize>,
}

impl Guarded {
    /// The same behind so many instructions more.
    pub fn behind(self, more: usize) -> Guarded {
        let moved = |places: Range<usize>| places.start + more..places.end + more;
        Guarded { try_region: moved(self.try_region), handler: moved(self.handler) }
    }
}

impl Prologue {
    /// Code that needs no local variable.
    pub fn new(code: impl Into<Vec<Insn>>, stack: u16) -> Prologue {
        Prologue { code: code.into(), stack, local_sig: None, guarded: None }
    }
}

/// A method body with a prologue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole body, to be placed at a multiple of four bytes.
    pub body: Vec<u8>,
    /// `(old, new)` code offsets for `COR_IL_MAP`, ascending; see [`super::Encoded::map`].
    pub map: Vec<(u32, u32)>,
}

/// The StandAloneSig token of a body's locals, from its header; 0 where there are none.
///
/// # Errors
/// A header that [`decode`] refuses.
pub fn local_sig(original: &[u8]) -> Result<u32, IlError> {
    Ok(Header::read(&mut Bytes::new(original))?.local_sig)
}

/// Puts a prologue before everything: a branch back to the start of the method does not run it again, and it is in no
/// try region, not even one that starts at the first instruction.
///
/// # Errors
/// A body that [`decode`] refuses, or that would become too large.
pub fn with_prologue(original: &[u8], prologue: Prologue) -> Result<Rewritten, IlError> {
    let mut body = decode(original)?;
    let mut edit = Edit::new();
    edit.insert_before(Label(0), Landing::Original, prologue.code);
    edit.apply(&mut body)?;
    if let Some(Guarded { try_region, handler }) = prologue.guarded {
        let labels = |places: Range<usize>| Label(places.start as u32)..Label(places.end as u32);
        let kind = ClauseKind::Finally { unused: 0 };
        // No clause of the method is within it or around it, so its place among them has no meaning.
        body.clauses.push(Clause { kind, try_region: labels(try_region), handler: labels(handler) });
    }
    body.max_stack = body.max_stack.max(prologue.stack);
    body.local_sig = prologue.local_sig.unwrap_or(body.local_sig);
    let encoded = encode(&body)?;
    Ok(Rewritten { body: encoded.bytes, map: encoded.map })
}
