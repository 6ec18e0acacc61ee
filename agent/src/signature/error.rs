//! Why a signature cannot be read or written.

/// A blob that is no signature of the wanted kind, or a signature that no blob can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The blob ends inside the signature.
    #[error("the signature ends early")]
    Truncated,
    /// Bytes follow the signature.
    #[error("{0} bytes follow the signature")]
    Trailing(usize),
    /// The first byte is of another kind of signature.
    #[error("the signature begins with 0x{found:02x}, which is no {wanted}")]
    WrongKind {
        /// The first byte.
        found: u8,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A byte that begins no type.
    #[error("0x{0:02x} begins no type")]
    BadType(u8),
    /// A compressed number with a first byte that begins none.
    #[error("0x{0:02x} begins no compressed number")]
    BadNumber(u8),
    /// A number beyond 29 bits, the most a signature can hold.
    #[error("{0} does not fit a signature")]
    NumberTooLarge(u32),
    /// A coded token with a tag that names no table, or a token of a table that has no tag.
    #[error("0x{0:08x} is no TypeDef, TypeRef or TypeSpec")]
    BadToken(u32),
    /// Types within types past any that a compiler writes.
    #[error("the signature nests types more than {0} deep")]
    TooDeep(usize),
}
