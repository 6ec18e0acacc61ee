//! A traced method, and one call of it.

use super::call_clock::CallClock;
use crate::capture::CallOutcome;
use crate::instrument::traced_method::TracedBody;
use crate::ledger::copy_identity::CopyIdentity;
use crate::probes::clock::between;
use crate::probes::exception_types;
use crate::probes::trace::{CallEnd, EndedCall, PLACES, async_calls, objects};
use redial_protocol::condition::Undecided;
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
    /// Its course, if it is a call of an async method that is followed.
    pub course: AsyncCourse,
}

/// The course of a call of an async method.
pub enum AsyncCourse {
    /// It is not async, or not followed.
    None,
    /// It waits; steps in which it ran so far, and the nanoseconds that they took.
    Waits(u32, u64),
    /// It completed, after it had run for some nanoseconds.
    Completed(Completion, u64),
    /// It completed, and its beginning was not seen: the call has neither arguments nor a beginning.
    Unseen(Completion, u64),
}

/// The completion of a call of an async method.
pub struct Completion {
    /// The traced `MoveNext`.
    pub row: Arc<TracedRow>,
    /// The captured result, the thread and the end; it begins when the call completes.
    pub call: EndedCall,
    /// Steps in which the call ran.
    pub steps: u32,
    /// Ticks that they took.
    pub(super) running: u64,
}

impl Completion {
    /// Makes one of which only its own step is known.
    pub(super) fn new(row: Arc<TracedRow>, call: EndedCall) -> Completion {
        let running = call.async_call.last_step;
        Completion { row, call, steps: 1, running }
    }
}

impl Call {
    /// Makes a call with its times.
    pub(super) fn new(clock: &CallClock, row: Arc<TracedRow>, number: u64, call: EndedCall) -> Call {
        let start_unix_ns = clock.start_unix_ns(call.start);
        let (duration_ns, course) = (call.took.map(|took| clock.ns(took)), AsyncCourse::None);
        Call { row, number, start_unix_ns, duration_ns, call, course }
    }

    /// Returns the completion of an async call.
    pub fn completion(&self) -> Option<&Completion> {
        match &self.course {
            AsyncCourse::Completed(completion, _) | AsyncCourse::Unseen(completion, _) => Some(completion),
            AsyncCourse::None | AsyncCourse::Waits(..) => None,
        }
    }

    /// Sets the completion of an async call.
    pub(super) fn completed(self, clock: &CallClock, completion: Completion) -> Call {
        let known = self.call.start != 0 && completion.call.start != 0;
        let took = known.then(|| between(self.call.start, completion.call.start));
        let duration_ns = took.map(|took| clock.ns(took));
        let running_ns = clock.ns(completion.running);
        Call { duration_ns, course: AsyncCourse::Completed(completion, running_ns), ..self }
    }

    /// Whether the condition on a completed async call is true and its rate allows it. Counts it if not.
    pub(super) fn is_wanted(&self) -> bool {
        let method = &self.row.body.method;
        let (Some(condition), Some(completion)) = (method.condition(), self.completion()) else {
            return true;
        };
        if condition.exit.is_empty() {
            return true;
        }
        let thrown = match completion.call.end {
            CallEnd::Thrown(class) => Some(class),
            CallEnd::InFlight | CallEnd::Returned => None,
        };
        let end = CallOutcome {
            duration_ns: self.duration_ns.and_then(|ns| i64::try_from(ns).ok()),
            thrown: thrown.map(|_| completion.call.message.unwrap_or_default() as usize),
            exception_type: thrown.and_then(exception_types::name_of),
        };
        let bytes = (&self.call.bytes[..], &completion.call.bytes[..]);
        let end = (end, &completion.row.body.plan);
        match condition.holds_at_completion(bytes, PLACES, end, &objects::shape) {
            Ok(holds) => holds && method.take_one(),
            Err(Undecided) => {
                method.count_undecided();
                false
            }
        }
    }

    /// Sets that an async call waits.
    pub(super) fn waiting(self, clock: &CallClock) -> Call {
        let (steps, running) = async_calls::steps_of(self.call.async_call.number);
        Call { duration_ns: None, course: AsyncCourse::Waits(steps, clock.ns(running)), ..self }
    }

    /// Makes a call whose beginning was not seen from its completion.
    pub(super) fn unseen(
        clock: &CallClock,
        row: Arc<TracedRow>,
        number: u64,
        completion: Completion,
    ) -> Call {
        let call = EndedCall { bytes: Vec::new(), stack: (0, 0), message: None, ..completion.call.clone() };
        let call = EndedCall { plan: row.body.method.plan, took: None, ..call };
        let running_ns = clock.ns(completion.running);
        Call { course: AsyncCourse::Unseen(completion, running_ns), ..Call::new(clock, row, number, call) }
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
