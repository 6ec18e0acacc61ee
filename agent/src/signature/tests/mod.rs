//! Tests with hand-written blobs from ECMA-335 II.23.2, malformed blobs, and properties of generated
//! signatures.

mod malformed;
mod parse;
mod print;
mod properties;
mod write;
