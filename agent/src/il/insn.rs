//! Instructions to insert: the few that probes use, before they have a place in a body.

use super::{Instruction, Label, Opcode, Operand};

/// An instruction to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insn {
    /// Pushes a number, in its shortest form.
    LdcI4(i32),
    /// Pushes a 64-bit number: an address, before [`Insn::ConvI`].
    LdcI8(i64),
    /// Converts to a native integer.
    ConvI,
    /// Converts to an unsigned native integer.
    ConvU,
    /// Calls through a pointer; holds a StandAloneSig token.
    Calli(u32),
    /// Drops the top value.
    Pop,
    /// Duplicates the top value.
    Dup,
    /// Skips this many of the following inserted instructions.
    Br(usize),
    /// Skips like [`Insn::Br`] if the top value is zero.
    Brfalse(usize),
    /// Skips like [`Insn::Br`] if the top value is not zero.
    Brtrue(usize),
    /// Skips like [`Insn::Br`], out of a try region.
    Leave(usize),
    /// Any instruction. Its labels refer to the unedited body.
    Any(Opcode, Operand),
}

impl Insn {
    /// Returns how many of the following inserted instructions this branch skips.
    pub(super) fn skip(&self) -> Option<usize> {
        match self {
            Insn::Br(skip) | Insn::Brfalse(skip) | Insn::Brtrue(skip) | Insn::Leave(skip) => Some(*skip),
            _ => None,
        }
    }

    /// Returns the instruction at this index, in its short form.
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

/// Appends code that refers only to itself.
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
