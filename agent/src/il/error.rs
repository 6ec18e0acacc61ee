//! Errors of decoding, editing and encoding bodies.

/// A body that cannot be decoded, edited or encoded. Offsets are in bytes from the first instruction unless
/// noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IlError {
    /// The bytes end inside the header, the code or a section.
    #[error("the method body ends early: {part} needs more bytes than there are")]
    Truncated {
        /// Part that was being read.
        part: &'static str,
    },
    /// The first byte is neither a tiny nor a fat header (ECMA-335 II.25.4.1).
    #[error("the first byte 0x{0:02x} is neither a tiny nor a fat method header")]
    BadHeader(u8),
    /// A fat header that claims fewer than its twelve bytes.
    #[error("the fat header claims {0} words, fewer than the three it has")]
    BadHeaderSize(u8),
    /// A method body without instructions.
    #[error("the method body has no instructions")]
    NoCode,
    /// A byte that is not an instruction.
    #[error("there is no instruction 0x{value:04x} (at offset {offset})")]
    BadOpcode {
        /// Number of the opcode; two-byte opcodes are `0xFExx`.
        value: u16,
        /// Offset of the opcode.
        offset: u32,
    },
    /// A branch or switch whose target is not the start of an instruction.
    #[error("the branch at offset {offset} goes to {target}, where no instruction starts")]
    BadTarget {
        /// Offset of the branch.
        offset: u32,
        /// Offset of the target, possibly outside the code.
        target: i64,
    },
    /// A clause bound that is not the start of an instruction (or the end of the code).
    #[error("exception clause {clause} has its {bound} at {offset}, where no instruction starts")]
    BadClauseBound {
        /// Number of the clause, from 0.
        clause: u32,
        /// Name of the bound.
        bound: &'static str,
        /// Offset of the bound.
        offset: u64,
    },
    /// A clause whose flags mean no kind, or several.
    #[error("exception clause {clause} has the flags 0x{flags:x}, which mean no kind of handler")]
    BadClauseKind {
        /// Number of the clause, from 0.
        clause: u32,
        /// The flags.
        flags: u32,
    },
    /// A section after the code that is not an exception table.
    #[error("the section after the code has the kind 0x{0:02x}, which is not an exception table")]
    UnknownSection(u8),
    /// More than one exception table. The CLR reads only the first; the standard allows several.
    #[error("the method has several exception tables, which runtimes read differently")]
    SeveralTables,
    /// The body gives its stack frame away, so no inserted code could run when it returns.
    #[error("the method gives its stack frame to another (jmp or tail.), so nothing can run as it returns")]
    NoWayOut,
    /// The body would exceed the sizes of the format.
    #[error("the method body would be too large: {0} passes the format's limit")]
    TooLarge(&'static str),
    /// An operand of another kind than its opcode takes (only in bodies built by hand).
    #[error("instruction {index} ({opcode}) has an operand of the wrong kind")]
    BadOperand {
        /// Index of the instruction.
        index: u32,
        /// Opcode of the instruction.
        opcode: super::Opcode,
    },
    /// A label past the end of the instructions (only in bodies built by hand).
    #[error("{part} refers to instruction {label}, past the end of the code")]
    BadLabel {
        /// The element with the label.
        part: &'static str,
        /// Index of the instruction.
        label: u32,
    },
}
