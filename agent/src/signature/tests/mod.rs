//! Blobs made by hand from ECMA-335 II.23.2, bad ones, and properties of made-up signatures.

mod malformed;
mod parse;
mod print;
mod properties;
mod write;
