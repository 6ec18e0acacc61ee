//! Wording and number formats shared by the command line and the window. Every module here is pure and depends on the
//! protocol alone, so that any other module may use it.
#![forbid(unsafe_code)]

pub mod budget;
pub mod callers;
pub mod completions;
pub mod diagnostics;
pub mod display_names;
pub mod exceptions;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod generated_code;
pub mod json;
pub mod names;
pub mod programs;
pub mod slowest_calls;
pub mod stack_lines;
pub mod table_formats;
pub mod times;
pub mod traced_calls;
pub mod values;
pub mod width;
pub mod words;
