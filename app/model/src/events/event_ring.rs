//! The latest calls of a process, bounded in number and memory.

use super::TracedEvent;
use crate::ids::ConnectionId;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Most calls that are kept.
pub const MAX_EVENTS: usize = 100_000;
/// Most memory of kept calls, bytes.
pub const MAX_BYTES: usize = 96 << 20;

/// The latest calls in the order of arrival. A clone shares the calls.
#[derive(Clone, Debug, Default)]
pub struct EventRing {
    events: VecDeque<Arc<TracedEvent>>,
    /// Number of calls that were dropped, so the place of the first in the order of arrival.
    dropped: u64,
    bytes: usize,
}

impl EventRing {
    /// Adds a call; moves the oldest ones beyond the limits to `gone`.
    pub fn push(&mut self, event: Arc<TracedEvent>, gone: &mut Vec<Arc<TracedEvent>>) {
        self.bytes += event.bytes();
        self.events.push_back(event);
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.dropped += 1;
            gone.push(oldest);
        }
    }

    /// Returns the calls of other processes in a ring of their own.
    #[must_use]
    pub fn without(&self, connection: ConnectionId) -> EventRing {
        let events: VecDeque<_> =
            self.events.iter().filter(|event| event.connection != connection).cloned().collect();
        EventRing { bytes: events.iter().map(|event| event.bytes()).sum(), events, dropped: self.dropped }
    }

    /// Returns an empty ring whose places follow those of this one.
    #[must_use]
    pub fn emptied(&self) -> EventRing {
        EventRing { dropped: self.dropped, ..EventRing::default() }
    }

    /// Returns its calls.
    pub fn into_events(self) -> impl Iterator<Item = Arc<TracedEvent>> {
        self.events.into_iter()
    }

    /// Returns the places of its calls: numbers in the order of arrival that stay valid.
    pub fn places(&self) -> Range<u64> {
        self.dropped..self.dropped + self.events.len() as u64
    }

    /// Returns the calls at these places, as far as they are kept.
    pub fn at(&self, places: Range<u64>) -> impl Iterator<Item = (u64, &Arc<TracedEvent>)> {
        let first = places.start.max(self.dropped);
        let index = |place: u64| usize::try_from(place.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let end = index(places.end).min(self.events.len());
        let start = index(first).min(end);
        (first..).zip(self.events.range(start..end))
    }

    /// Returns the call with this number, if it is kept. Calls arrive in the order of their numbers.
    pub fn by_number(&self, number: u64) -> Option<&Arc<TracedEvent>> {
        let index = self.events.partition_point(|event| event.call.number < number);
        self.events.get(index).filter(|event| event.call.number == number)
    }

    /// Returns at most `most` calls, the latest first.
    pub fn latest(&self, most: usize) -> impl Iterator<Item = &Arc<TracedEvent>> {
        self.events.iter().rev().take(most)
    }

    /// Returns the number of kept calls.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns whether no call is kept.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the number of calls that were dropped in favour of later ones.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::callers::CallOrigin;
    use redial_protocol::trace::TracedCall;
    use redial_text::fixtures::{traced_call, traced_method};

    fn event(number: u64) -> Arc<TracedEvent> {
        Arc::new(TracedEvent::new(Arc::new(traced_method()), TracedCall { number, ..traced_call() }))
    }

    #[test]
    fn drops_the_oldest_and_keeps_places() {
        let mut ring = EventRing::default();
        let many = event(0);
        (0..MAX_EVENTS + 3).for_each(|_| ring.push(Arc::clone(&many), &mut vec![]));
        (1..=2).for_each(|number| ring.push(event(number), &mut vec![]));
        assert_eq!((ring.len(), ring.dropped()), (MAX_EVENTS, 5));
        let numbers =
            |places| ring.at(places).map(|(place, one)| (place, one.call.number)).collect::<Vec<_>>();
        assert_eq!(numbers(0..7), [(5, 0), (6, 0)]);
        let end = ring.places().end;
        assert_eq!(numbers(end - 2..end), [(end - 2, 1), (end - 1, 2)]);
        assert_eq!(numbers(ring.places().end - 1..u64::MAX).len(), 1);
        assert!(numbers(u64::MAX..u64::MAX).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut ring = EventRing::default();
        for number in 0..200 {
            let stack = vec![CallOrigin::Dynamic { name: "x".repeat(1 << 20) }];
            let call = TracedCall { number, stack, ..traced_call() };
            ring.push(Arc::new(TracedEvent::new(Arc::new(traced_method()), call)), &mut vec![]);
        }
        assert!(ring.bytes <= MAX_BYTES && ring.dropped() > 0 && ring.len() > 90, "{}", ring.len());
        assert_eq!(ring.bytes, ring.events.iter().map(|one| one.bytes()).sum::<usize>());
    }
}
