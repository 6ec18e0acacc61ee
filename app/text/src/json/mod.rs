//! Traced calls as JSON, for command line and clipboard.

pub mod safe_json;
mod traced_calls;
mod values;

pub use traced_calls::TracedCallJson;
