//! What the traced calls of a process were: when each ran, for the timeline, and by whom each was called, for the call tree.
//! Both keep many more calls than [`super::events::Events`], but no values.

mod bars;
mod call_tree;
mod chunk;
mod flame;
mod nesting;
mod spans;
mod time_view;

pub use bars::Bar;
pub use call_tree::{CallNode, CallSums, CallTree, OTHER, Place, ROOT};
pub use chunk::Span;
pub use flame::{FlameBar, FlameRows, flame_rows, weights};
pub use nesting::{EndedCall, Nesting};
pub use spans::{Lane, MAX_SPANS, Spans, TrackKey};
pub use time_view::{TimeView, ruler_step};

use redial_protocol::ids::RowId;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod};
use std::collections::HashMap;
use std::sync::Arc;

/// The latest beginning of a call that is believed: in the year 2116.
const LATEST: i64 = i64::MAX / 2;

/// The calls of a process.
#[derive(Debug, Default)]
pub struct CallHistory {
    methods: Vec<Arc<TracedMethod>>,
    indices: HashMap<RowId, u32>,
    spans: Spans,
    nesting: Nesting,
    /// The earliest beginning of a call, Unix time in nanoseconds. Calls arrive when they end, so that it may become earlier.
    origin: Option<i64>,
}

impl CallHistory {
    /// Adds a call that ended.
    pub fn add(&mut self, method: &Arc<TracedMethod>, call: &TracedCall) {
        let index = self.index(method);
        let start = i64::try_from(call.start_unix_ns).unwrap_or(LATEST).min(LATEST);
        self.origin = Some(self.origin.map_or(start, |origin| origin.min(start)));
        let end = start.saturating_add(i64::try_from(call.duration_ns.unwrap_or(0)).unwrap_or(i64::MAX));
        let running_ns = call.course.map_or(0, |course| course.running_ns);
        let threw = matches!(call.outcome, Outcome::Thrown { .. });
        let is_async = has_left_its_thread(call);
        let ended = EndedCall {
            place: Place { method: index, is_async },
            number: call.number,
            thread: call.thread,
            depth: call.depth,
            start,
            // A call without a seen beginning took at least the time in which it ran.
            duration_ns: call.duration_ns.unwrap_or(running_ns),
            running_ns,
            threw,
        };
        if is_async {
            let is_seen = call.course.is_some_and(|course| course.began);
            let callers = self.spans.callers(call.thread, start, call.depth).filter(|_| is_seen);
            let callers: Vec<(u64, Place)> =
                callers.map(|span| (span.number, Place { method: span.method, is_async: false })).collect();
            let depth = if is_seen { call.depth } else { 0 };
            self.nesting.add_async(EndedCall { depth, ..ended }, &callers);
        } else {
            self.nesting.add(ended);
        }
        let span = Span { start, end, number: call.number, method: index, threw };
        match is_async {
            true => self.spans.add_async(span),
            false => self.spans.add_on_thread(call.thread, call.depth, span),
        }
    }

    fn index(&mut self, method: &Arc<TracedMethod>) -> u32 {
        let next = self.methods.len() as u32;
        let index = *self.indices.entry(method.row).or_insert(next);
        match self.methods.get_mut(index as usize) {
            // The row's form may have changed.
            Some(known) if !Arc::ptr_eq(known, method) => *known = Arc::clone(method),
            Some(_) => {}
            None => self.methods.push(Arc::clone(method)),
        }
        index
    }

    /// Forgets all calls.
    pub fn clear(&mut self) {
        *self = CallHistory::default();
    }

    /// Returns when calls ran.
    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Returns the span of the call with this number, if it is kept.
    pub fn span(&self, number: u64) -> Option<&Span> {
        self.spans.find(number)
    }

    /// Returns the tree of calls with those that wait for their callers.
    pub fn refreshed_tree(&mut self) -> &CallTree {
        self.nesting.refresh();
        self.nesting.tree()
    }

    /// Returns the tree of calls as it was last refreshed.
    pub fn tree(&self) -> &CallTree {
        self.nesting.tree()
    }

    /// Returns the tree's builder.
    pub fn nesting(&self) -> &Nesting {
        &self.nesting
    }

    /// Returns a method by its index.
    pub fn method(&self, index: u32) -> Option<&Arc<TracedMethod>> {
        self.methods.get(index as usize)
    }

    /// Returns the methods, by their indices.
    pub fn methods(&self) -> &[Arc<TracedMethod>] {
        &self.methods
    }

    /// Returns the earliest beginning of a call, even of one that is no longer kept; Unix time in nanoseconds.
    pub fn origin(&self) -> Option<i64> {
        self.origin
    }
}

/// Returns whether a call went on after its thread had left it.
pub fn has_left_its_thread(call: &TracedCall) -> bool {
    call.course.is_some_and(|course| course.steps > 1 || !course.began)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::AsyncCall;
    use redial_text::fixtures::{traced_call, traced_method};

    fn method(row: u32) -> Arc<TracedMethod> {
        Arc::new(TracedMethod { row: RowId(row), ..traced_method() })
    }

    fn call(number: u64, depth: u32, start_unix_ns: u64, duration_ns: u64) -> TracedCall {
        TracedCall { number, depth, start_unix_ns, duration_ns: Some(duration_ns), ..traced_call() }
    }

    #[test]
    fn async_calls_find_their_caller_on_the_thread_where_they_began() {
        let mut history = CallHistory::default();
        let [outer, inner, waits] = [1, 2, 3].map(method);
        history.add(&inner, &call(1, 1, 1_010, 50));
        history.add(&outer, &call(2, 0, 1_000, 100));
        let course = Some(AsyncCall { began: true, completed_on: 9, steps: 2, running_ns: 30 });
        history.add(&waits, &TracedCall { course, ..call(3, 2, 1_020, 5_000) });
        let unseen = Some(AsyncCall { began: false, completed_on: 9, steps: 1, running_ns: 4 });
        history.add(&waits, &TracedCall { course: unseen, ..call(4, 2, 1_030, 0) });
        let tree = history.refreshed_tree().clone();
        let methods = |node: u32| -> Vec<u32> {
            let nodes = tree.path(node).into_iter().filter_map(|node| tree.node(node));
            nodes.filter_map(|node| history.method(node.place.method)).map(|one| one.row.0).collect()
        };
        let mut paths: Vec<_> = (1..tree.len() as u32).map(methods).collect();
        paths.sort();
        assert_eq!(paths, [vec![1], vec![1, 2], vec![1, 2, 3], vec![3]]);
        let tracks: Vec<TrackKey> = history.spans().lanes().map(|(track, ..)| track).collect();
        let [thread, waits] = [TrackKey::Thread(4711), TrackKey::Async(2)];
        assert_eq!(tracks, [thread, thread, waits, waits], "the async calls overlap");
    }

    #[test]
    fn callers_that_end_later_move_the_origin() {
        let mut history = CallHistory::default();
        assert_eq!(history.origin(), None);
        history.add(&method(1), &call(1, 1, 1_010, 50));
        history.add(&method(2), &call(2, 0, 1_000, 100));
        history.add(&method(1), &call(3, 0, 2_000, 50));
        assert_eq!(history.origin(), Some(1_000));
        history.clear();
        assert_eq!(history.origin(), None);
    }

    #[test]
    fn numbers_of_a_lying_agent_are_harmless() {
        let mut history = CallHistory::default();
        for (start, duration) in [(u64::MAX, u64::MAX), (0, u64::MAX), (u64::MAX, 0), (5, 5)] {
            for depth in [0, u32::MAX, 3] {
                history.add(&method(1), &call(7, depth, start, duration));
            }
        }
        assert_eq!(history.spans().len(), 12);
        let mut drawn = 0;
        history.spans().lanes().for_each(|(_, _, lane)| {
            lane.bars(i64::MIN, i64::MAX, 1_000, |bar| drawn += bar.count);
        });
        assert_eq!(drawn, 12);
        assert!(!history.refreshed_tree().is_empty());
    }
}
