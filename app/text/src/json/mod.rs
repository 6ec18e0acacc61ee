//! Traced calls and thrown exceptions as JSON, for command line and clipboard.

mod exceptions;
pub mod safe_json;
mod traced_calls;
mod values;

pub use exceptions::{ExceptionJson, ExceptionRowJson, ExceptionTotalsJson};
pub use traced_calls::TracedCallJson;
