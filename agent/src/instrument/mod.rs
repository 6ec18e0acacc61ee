//! Instrumented bodies: the IL that calls probe helpers, the metadata tokens that it needs, and the choice between
//! the forms of such a call. Knows modules and their metadata; must not know dials, rows or sessions.
#![forbid(unsafe_code)]

pub mod async_completion;
pub mod call_form;
mod condition_code;
pub mod instrumentation;
pub mod instrumented_body;
pub mod local_sigs;
pub mod timed_body;
pub mod tokens;
pub mod traced_body;
mod traced_completion;
pub mod traced_method;
pub mod traced_variables;

pub use instrumentation::Instrumentation;
