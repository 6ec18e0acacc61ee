//! Calls in flight that have ended since they were listed. The list comes once a second, calls that end at once.

use super::TracedEvent;
use redial_protocol::ids::RowId;
use std::collections::HashMap;

/// Largest difference between two readings of one beginning, nanoseconds.
const READING: u64 = 1_000_000;

/// Calls that ended.
#[derive(Debug, Default)]
pub struct EndedCalls {
    /// The latest end by thread and depth: a thread has one call at a time there.
    on_threads: HashMap<(u32, u32), u64>,
    /// The beginnings of calls of async methods, which may leave their threads, by method and thread.
    elsewhere: HashMap<(RowId, u32), Vec<u64>>,
}

impl EndedCalls {
    /// Collects calls of one process.
    pub fn of<'e>(events: impl Iterator<Item = &'e TracedEvent>) -> EndedCalls {
        let mut ended = EndedCalls::default();
        for event in events {
            let call = &event.call;
            if call.course.is_some() {
                ended.elsewhere.entry((event.method.row, call.thread)).or_default().push(call.start_unix_ns);
                continue;
            }
            let end = call.start_unix_ns.saturating_add(call.duration_ns.unwrap_or(0));
            let latest = ended.on_threads.entry((call.thread, call.depth)).or_default();
            *latest = (*latest).max(end);
        }
        ended
    }

    /// Returns whether a call in flight has ended: it is among these, or a later one is in its place.
    pub fn include(&self, in_flight: &TracedEvent) -> bool {
        let call = &in_flight.call;
        let start = call.start_unix_ns;
        match call.course {
            Some(_) => {
                let beginnings = self.elsewhere.get(&(in_flight.method.row, call.thread));
                beginnings.is_some_and(|all| all.iter().any(|one| one.abs_diff(start) <= READING))
            }
            None => self.on_threads.get(&(call.thread, call.depth)).is_some_and(|end| *end > start),
        }
    }
}

/// Returns whether an ended call is the call in flight.
pub fn is_same(ended: &TracedEvent, in_flight: &TracedEvent) -> bool {
    ended.method.row == in_flight.method.row
        && ended.call.thread == in_flight.call.thread
        && ended.call.start_unix_ns.abs_diff(in_flight.call.start_unix_ns) <= READING
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::{AsyncCall, Outcome, TracedCall};
    use redial_text::fixtures::{traced_call, traced_method};
    use std::sync::Arc;

    fn event(call: TracedCall) -> TracedEvent {
        TracedEvent::new(Arc::new(traced_method()), call)
    }

    fn ended(depth: u32, start_unix_ns: u64, duration: u64) -> TracedEvent {
        let duration_ns = Some(duration);
        event(TracedCall {
            depth,
            start_unix_ns,
            duration_ns,
            outcome: Outcome::Returned(None),
            ..traced_call()
        })
    }

    fn in_flight(depth: u32, start_unix_ns: u64) -> TracedEvent {
        let (number, duration_ns, outcome) = (0, None, Outcome::InFlight);
        event(TracedCall { number, depth, start_unix_ns, duration_ns, outcome, ..traced_call() })
    }

    #[test]
    fn a_later_end_in_its_place_ends_a_call() {
        let events = [ended(0, 100, 50), ended(1, 400, 10), ended(0, 50, 20)];
        let calls = EndedCalls::of(events.iter());
        assert!(calls.include(&in_flight(0, 100)));
        assert!(!calls.include(&in_flight(0, 150)), "it began when the other ended");
        assert!(calls.include(&in_flight(1, 300)), "another call is in its place");
        assert!(!calls.include(&in_flight(2, 1)));
    }

    #[test]
    fn async_calls_are_found_by_their_beginning() {
        let course = AsyncCall { began: true, completed_on: 0, steps: 2, running_ns: 1 };
        let with_course = |one: TracedEvent| event(TracedCall { course: Some(course), ..one.call });
        let events = [with_course(ended(0, 5_000_000, 90_000_000))];
        let calls = EndedCalls::of(events.iter());
        assert!(calls.include(&with_course(in_flight(0, 5_000_100))));
        assert!(!calls.include(&with_course(in_flight(0, 9_000_000))), "its thread began another");
        assert!(!calls.include(&in_flight(0, 9_000_000)), "the thread has left the async call");
    }
}
