//! A traced method, and one call of it.

use super::call_clock::CallClock;
use crate::instrument::traced_method::TracedBody;
use crate::ledger::copy_identity::CopyIdentity;
use crate::probes::trace::EndedCall;
use redial_protocol::ids::RowId;
use std::sync::Arc;

/// A traced method.
pub struct TracedRow {
    /// Its row in the ledger.
    pub row: RowId,
    /// The copy.
    pub identity: Arc<CopyIdentity>,
    /// The captured values.
    pub body: &'static TracedBody,
}

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

impl Call {
    /// Makes a call with its times.
    pub(super) fn new(clock: &CallClock, row: Arc<TracedRow>, number: u64, call: EndedCall) -> Call {
        let start_unix_ns = clock.start_unix_ns(call.start);
        Call { row, number, start_unix_ns, duration_ns: call.took.map(|took| clock.ns(took)), call }
    }
}

/// Stack frames in a page of calls, at most; names of methods may be long.
const MAX_FRAMES: u32 = 2048;

/// Returns how many of the next calls fit into a page of `most`.
pub fn page_length<'a>(calls: impl IntoIterator<Item = &'a Arc<Call>>, most: usize) -> usize {
    let mut frames = 0;
    let fits = |call: &&Arc<Call>| {
        frames += call.call.stack.1;
        frames <= MAX_FRAMES
    };
    calls.into_iter().take(most).take_while(fits).count()
}
