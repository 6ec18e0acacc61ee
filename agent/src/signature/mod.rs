//! Signatures (ECMA-335 II.23.2): parses them from blobs, writes those of call sites and local variables, and
//! prints parameter lists in C# form.
//!
//! Pure: this module knows blobs and tokens, and resolves names through [`TypeNames`]. No blob makes it panic,
//! recurse without bound, or allocate more than in proportion to its length.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable
    )
)]

mod error;
mod names;
mod parse;
mod print;
mod types;
mod write;

pub use error::SignatureError;
pub use names::{TypeNames, append_type_name, display_type_name};
pub use parse::{
    first_string, parse_field, parse_locals, parse_method, parse_method_spec, parse_property, parse_type_spec,
};
pub use print::{
    Form, Passing, append_parameters, append_type, canonical_parameters, display_parameters,
    may_pass_by_reference, print_parameters,
};
pub use types::{Convention, Method, Property, Type};
pub use write::{append_locals, call_site, write_locals, write_method, write_type, write_type_token};

#[cfg(test)]
mod tests;
