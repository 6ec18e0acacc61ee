//! Traced methods: what is captured of them, the latest calls of each, and the streams of sessions. A collector thread
//! takes calls from the threads' areas while any method is traced.
#![forbid(unsafe_code)]

mod collector;
mod kept_calls;
mod state;
mod stream;

pub use state::{TracedRow, Traces};
pub use stream::{CallStream, StreamedCalls};

use crate::probes::trace::EndedCall;
use std::sync::Arc;

/// A call that ended, or one in flight.
pub struct Call {
    /// The traced method.
    pub row: Arc<TracedRow>,
    /// Its number in the order in which calls were collected; 0 while in flight.
    pub number: u64,
    /// Beginning of the call, Unix time in nanoseconds.
    pub start_unix_ns: u64,
    /// Duration in nanoseconds; None while in flight, and if it was not timed.
    pub duration_ns: Option<u64>,
    /// The captured bytes, thread and end.
    pub call: EndedCall,
}
