//! Signatures (ECMA-335 II.23.2): reads them from blobs, writes those a call site or local variables need, and prints
//! parameter lists as C# has them.
//!
//! Pure: it knows blobs and tokens, and asks a [`TypeNames`] what a token is called.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)
)]

/// What a TypeDef, TypeRef or TypeSpec token is called.
pub trait TypeNames {
    /// The full metadata name, as in ``Ns.Outer`1+Inner``; `None` when the token is bad.
    fn type_name(&self, token: u32) -> Option<String>;
}
