//! Traced methods: what is captured of them, the latest calls of each, and the streams of sessions. A collector thread
//! takes calls from the threads' areas while any method is traced.
#![forbid(unsafe_code)]

mod async_calls;
mod body_memory;
mod call;
mod call_clock;
mod collector;
mod kept_calls;
mod registry;
mod state;
mod stream;

pub use call::{AsyncCourse, Call, Completion, TracedRow, page_length};
pub use registry::Traces;
pub use stream::{CallStream, SessionCalls, StreamedCalls};
