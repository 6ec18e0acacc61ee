//! Errors of reading and writing signatures.

/// A blob that is not a signature of the expected kind, or a signature that no blob can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The blob ends inside the signature.
    #[error("the signature ends early")]
    Truncated,
    /// Bytes follow the signature.
    #[error("{0} bytes follow the signature")]
    Trailing(usize),
    /// The first byte belongs to another kind of signature.
    #[error("the signature begins with 0x{found:02x}, which is not a {wanted}")]
    WrongKind {
        /// The first byte.
        found: u8,
        /// Expected kind.
        wanted: &'static str,
    },
    /// The byte does not begin a type.
    #[error("0x{0:02x} does not begin a type")]
    BadType(u8),
    /// The byte does not begin a compressed number.
    #[error("0x{0:02x} does not begin a compressed number")]
    BadNumber(u8),
    /// The number needs more than the 29 bits of a signature.
    #[error("{0} does not fit a signature")]
    NumberTooLarge(u32),
    /// A coded token with an unknown tag, or a token of a table without a tag.
    #[error("0x{0:08x} is not a TypeDef, TypeRef or TypeSpec")]
    BadToken(u32),
    /// Types are nested deeper than any compiler nests them.
    #[error("the signature nests types more than {0} deep")]
    TooDeep(usize),
}
