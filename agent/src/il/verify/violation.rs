//! The rules that a body can violate.

use super::super::maxstack::StackFault;
use super::super::{Label, Opcode};
use redial_protocol::diagnostics::IlViolation;

/// A violated rule. Labels are instructions, clauses are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Header, code or sections cannot be read, or a branch target or clause bound is not at an instruction.
    #[error(transparent)]
    Unreadable(#[from] IlViolation),
    /// Bytes other than zeros up to a multiple of four precede the exception table.
    #[error("the bytes before the exception table are not zeros up to a multiple of four")]
    Padding,
    /// Bytes follow the last section, or the size of the section does not match its clauses.
    #[error("the body has {actual} bytes where its parts need {needed}")]
    Length {
        /// Bytes that the parts need.
        needed: usize,
        /// Actual number of bytes.
        actual: usize,
    },
    /// The stack depth is wrong.
    #[error(transparent)]
    Stack(#[from] StackFault),
    /// The header states less than the code needs.
    #[error("the header allows {stated} values on the stack, the code puts {needed} there")]
    MaxStack {
        /// Depth in the header.
        stated: u16,
        /// Depth of the code.
        needed: u16,
    },
    /// A region without instructions.
    #[error("exception clause {clause} has an empty {region}")]
    EmptyRegion {
        /// The clause.
        clause: u32,
        /// Name of the region.
        region: &'static str,
    },
    /// Two regions overlap without nesting.
    #[error("a region of exception clause {first} overlaps a region of clause {second}")]
    Overlap {
        /// One clause.
        first: u32,
        /// The other (or the same).
        second: u32,
    },
    /// A try region and its handler are not in the same region.
    #[error("exception clause {clause} has its handler in another region than its try")]
    HandlerElsewhere {
        /// The clause.
        clause: u32,
    },
    /// The clause of an outer try region precedes that of an inner one.
    #[error("exception clause {inner} is inside clause {outer} and comes after it")]
    ClauseOrder {
        /// The enclosing clause.
        outer: u32,
        /// The enclosed clause.
        inner: u32,
    },
    /// A try region is entered with values on the stack.
    #[error("the try region at instruction {at} is entered with {depth} values on the stack")]
    TryStack {
        /// First instruction of the region.
        at: Label,
        /// Values on the stack.
        depth: u16,
    },
    /// Control continues after the last instruction.
    #[error("control continues after the last instruction")]
    FallsOffEnd,
    /// Control crosses the bound of a region in a forbidden way.
    #[error("control goes from instruction {from} ({opcode}) to {to} across the bound of a protected region")]
    Crosses {
        /// Source of the path.
        from: Label,
        /// Instruction at the source.
        opcode: Opcode,
        /// Destination of the path.
        to: Label,
    },
    /// An instruction that is not allowed in its region.
    #[error("instruction {at} ({opcode}) is not allowed in this region")]
    Misplaced {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
    },
    /// A prefix before an instruction that does not accept it.
    #[error("instruction {at} ({opcode}) is a prefix of an instruction that does not accept it")]
    Prefix {
        /// The prefix.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
    },
    /// A branch or the bound of a region between a prefix and its instruction.
    #[error("instruction {at} is separated from its prefix by a branch or a region's bound")]
    SplitPrefix {
        /// The prefixed instruction.
        at: Label,
    },
}
