//! A method body as a list of instructions that refer to each other.

use std::ops::Range;

use super::Opcode;

/// A position between instructions: the index of the next instruction, or the number of instructions for the
/// end of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Nothing.
    None,
    /// See [`super::opcodes::OperandKind::U8`].
    U8(u8),
    /// A signed byte.
    I8(i8),
    /// An unsigned 16-bit number.
    U16(u16),
    /// A signed 32-bit number.
    I32(i32),
    /// A signed 64-bit number.
    I64(i64),
    /// The bits of a 32-bit floating-point number (a NaN's payload survives).
    R4(u32),
    /// The bits of a 64-bit floating-point number.
    R8(u64),
    /// A metadata token.
    Token(u32),
    /// Target of a branch.
    Target(Label),
    /// Targets of a `switch`.
    Switch(Box<[Label]>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The opcode. A short branch stays short unless the layout must grow it.
    pub opcode: Opcode,
    /// Operand of the kind that the opcode takes.
    pub operand: Operand,
    /// Offset in the decoded body, in bytes from the first instruction; `None` for inserted instructions.
    pub old_offset: Option<u32>,
}

impl Instruction {
    /// Returns an instruction that is not from a decoded body.
    pub fn new(opcode: Opcode, operand: Operand) -> Self {
        Instruction { opcode, operand, old_offset: None }
    }
}

/// Kind of an exception clause (ECMA-335 II.25.4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClauseKind {
    /// Catches exceptions of a class, given by a TypeDef, TypeRef or TypeSpec token.
    Catch {
        /// Token of the class.
        class: u32,
    },
    /// Filter that ends at the start of the handler.
    Filter {
        /// First instruction of the filter.
        start: Label,
    },
    /// Runs on every exit of the try region. The word has no meaning and is preserved.
    Finally {
        /// The unused last word of the clause.
        unused: u32,
    },
    /// Runs when any exception leaves the try region. The word has no meaning and is preserved.
    Fault {
        /// The unused last word of the clause.
        unused: u32,
    },
}

/// A try region with its handler. Ends are exclusive and may be the end of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Kind of the clause.
    pub kind: ClauseKind,
    /// Protected instructions.
    pub try_region: Range<Label>,
    /// Instructions of the handler.
    pub handler: Range<Label>,
}

/// A method body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Maximum stack depth from the header (8 for a tiny header).
    pub max_stack: u16,
    /// Whether locals (and `localloc` memory) are initialized to zero.
    pub init_locals: bool,
    /// StandAloneSig token of the locals; 0 if there are none.
    pub local_sig: u32,
    /// Code of the method.
    pub instructions: Vec<Instruction>,
    /// Exception clauses; their order has a meaning (inner clauses first).
    pub clauses: Vec<Clause>,
    /// Whether the exception table had the fat form, which is preserved.
    pub fat_clauses: bool,
    /// Bytes of code that were decoded.
    pub old_code_size: u32,
}

impl Body {
    /// Returns the end of the code.
    pub fn end(&self) -> Label {
        Label(u32::try_from(self.instructions.len()).unwrap_or(u32::MAX))
    }

    /// Returns the instruction after a label; `None` at the end of the code.
    pub fn at(&self, label: Label) -> Option<&Instruction> {
        self.instructions.get(label.0 as usize)
    }
}
