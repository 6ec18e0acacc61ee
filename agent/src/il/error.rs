//! Why a body cannot be read or written.

/// A body that cannot be decoded, edited or encoded. Offsets are bytes from the first instruction, unless a sentence
/// says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IlError {
    /// The bytes end before the header, the code or a section does.
    #[error("the method body ends early: {what} needs more bytes than there are")]
    Truncated {
        /// What was being read.
        what: &'static str,
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
    /// A byte that is no instruction.
    #[error("there is no instruction 0x{value:04x} (at offset {offset})")]
    BadOpcode {
        /// The opcode's number, two-byte ones as `0xFExx`.
        value: u16,
        /// Where it stands.
        offset: u32,
    },
    /// A branch or switch whose target is not the start of an instruction.
    #[error("the branch at offset {offset} goes to {target}, where no instruction starts")]
    BadTarget {
        /// Where the branch stands.
        offset: u32,
        /// Where it goes, which may lie outside the code.
        target: i64,
    },
    /// A clause bound that is not the start of an instruction (or the end of the code).
    #[error("exception clause {clause} has its {bound} at {offset}, where no instruction starts")]
    BadClauseBound {
        /// Number of the clause, from 0.
        clause: u32,
        /// Which bound.
        bound: &'static str,
        /// Its offset.
        offset: u64,
    },
    /// A clause whose flags name no kind, or several.
    #[error("exception clause {clause} has the flags 0x{flags:x}, which are no kind of handler")]
    BadClauseKind {
        /// Number of the clause, from 0.
        clause: u32,
        /// The flags as they stand.
        flags: u32,
    },
    /// A data section after the code that is no exception table.
    #[error("the section after the code has the kind 0x{0:02x}, which is no exception table")]
    UnknownSection(u8),
    /// More than one exception table: the CLR reads the first alone, the standard allows several.
    #[error("the method has several exception tables, which runtimes read differently")]
    SeveralTables,
    /// The body gives its stack frame away, so there is no place where code could run as it returns.
    #[error("the method gives its stack frame to another (jmp or tail.), so nothing can run as it returns")]
    NoWayOut,
    /// The body would pass the sizes the format has room for.
    #[error("the method body would be too large: {0} passes the format's limit")]
    TooLarge(&'static str),
    /// An instruction whose operand is not of the kind its opcode takes (only bodies built by hand).
    #[error("instruction {index} ({opcode}) has an operand of the wrong kind")]
    BadOperand {
        /// Index of the instruction.
        index: u32,
        /// Its opcode.
        opcode: super::Opcode,
    },
    /// A label past the end of the instructions (only bodies built by hand).
    #[error("{what} refers to instruction {label}, past the end of the code")]
    BadLabel {
        /// Who refers.
        what: &'static str,
        /// The instruction's index.
        label: u32,
    },
}
