//! Errors of decoding, editing and encoding bodies.

use redial_protocol::diagnostics::IlViolation;

/// A body that cannot be decoded, edited or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IlError {
    /// The body violates ECMA-335.
    #[error(transparent)]
    Invalid(#[from] IlViolation),
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
