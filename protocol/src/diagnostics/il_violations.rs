//! Violations of ECMA-335 in a method body.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// A violation of ECMA-335 II.25.4 or III in a method body. Clauses are numbered from 0; offsets count from the
/// start of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IlViolation {
    /// The bytes end inside a part.
    Truncated {
        /// The part.
        part: BodyPart,
    },
    /// The first byte is neither a tiny nor a fat header.
    BadHeader {
        /// The byte.
        first: u8,
    },
    /// A fat header claims fewer than its three words.
    BadHeaderSize {
        /// Claimed number of words.
        words: u8,
    },
    /// There are no instructions.
    NoCode,
    /// A byte is not an instruction.
    BadOpcode {
        /// Number of the opcode; two-byte opcodes are `0xFExx`.
        value: u16,
        /// Offset of the opcode.
        offset: u32,
    },
    /// The target of a branch or switch is not the start of an instruction.
    BadTarget {
        /// Offset of the branch.
        offset: u32,
        /// Offset of the target, possibly outside the code.
        target: i64,
    },
    /// A bound of a clause is not the start of an instruction (or the end of the code).
    BadClauseBound {
        /// The clause.
        clause: u32,
        /// The bound.
        bound: ClauseBound,
        /// Offset of the bound.
        offset: u64,
    },
    /// The flags of a clause mean no kind, or several.
    BadClauseKind {
        /// The clause.
        clause: u32,
        /// The flags.
        flags: u32,
    },
    /// A section after the code is not an exception table.
    UnknownSection {
        /// Kind of the section.
        kind: u8,
    },
    /// There are several exception tables. The CLR reads only the first; the standard allows several.
    SeveralTables,
}

/// For logs: the controller has the sentence for users.
impl Display for IlViolation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Error for IlViolation {}

/// A part of a method body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyPart {
    /// The header.
    Header,
    /// All instructions.
    Code,
    /// One instruction.
    Instruction,
    /// The operand of an instruction.
    Operand,
    /// A section after the code.
    Section,
    /// An exception clause.
    Clause,
}

/// A bound of an exception clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClauseBound {
    /// Start of the try region.
    TryStart,
    /// End of the try region.
    TryEnd,
    /// Start of the handler.
    HandlerStart,
    /// End of the handler.
    HandlerEnd,
    /// Start of the filter.
    Filter,
}
