//! A method body as a list of instructions that refer to each other.

use std::ops::Range;

use super::Opcode;

/// A place between instructions: the index of the instruction that follows, or their number for the end of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What an instruction carries besides its opcode.
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
    /// The instruction a branch goes to.
    Target(Label),
    /// The instructions a `switch` goes to.
    Switch(Box<[Label]>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Which one. A branch in its short form stays short unless the layout must grow it.
    pub opcode: Opcode,
    /// Its operand, of the kind the opcode takes.
    pub operand: Operand,
    /// Where it stood in the decoded body, in bytes from the first instruction; `None` for inserted ones.
    pub old_offset: Option<u32>,
}

impl Instruction {
    /// An instruction that was in no decoded body.
    pub fn new(opcode: Opcode, operand: Operand) -> Self {
        Instruction { opcode, operand, old_offset: None }
    }
}

/// What makes a handler run (ECMA-335 II.25.4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClauseKind {
    /// An exception of a class, named by a TypeDef, TypeRef or TypeSpec token.
    Catch {
        /// The token.
        class: u32,
    },
    /// A filter that begins here and ends where the handler begins.
    Filter {
        /// First instruction of the filter.
        start: Label,
    },
    /// Every way out of the try region. The word has no meaning and is kept.
    Finally {
        /// The unused last word of the clause.
        unused: u32,
    },
    /// An exception of any class, on its way out. The word has no meaning and is kept.
    Fault {
        /// The unused last word of the clause.
        unused: u32,
    },
}

/// A try region with its handler. Ends are exclusive and may be the end of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// What makes the handler run.
    pub kind: ClauseKind,
    /// The protected instructions.
    pub try_region: Range<Label>,
    /// The handler's instructions.
    pub handler: Range<Label>,
}

/// A method body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Most values on the stack at once, as the header says (8 for a tiny one).
    pub max_stack: u16,
    /// Whether locals (and `localloc`) start as zero.
    pub init_locals: bool,
    /// The StandAloneSig token of the locals; 0 where there are none.
    pub local_sig: u32,
    /// The code.
    pub instructions: Vec<Instruction>,
    /// The exception table in its order, which has a meaning (inner clauses first).
    pub clauses: Vec<Clause>,
    /// Whether the exception table had the fat form, which is then kept.
    pub fat_clauses: bool,
    /// Bytes of code that were decoded.
    pub old_code_size: u32,
}

impl Body {
    /// The end of the code.
    pub fn end(&self) -> Label {
        Label(u32::try_from(self.instructions.len()).unwrap_or(u32::MAX))
    }

    /// The instruction after a label; `None` at the end of the code.
    pub fn at(&self, label: Label) -> Option<&Instruction> {
        self.instructions.get(label.0 as usize)
    }
}
