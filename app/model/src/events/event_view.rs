//! The calls that are shown: filtered, sorted, and brought up to date in steps that fit into a frame.

use super::event_filter::{EventFilter, EventMatcher};
use super::event_ring::EventRing;
use super::{EventColumn, EventRow, TracedEvent};
use crate::ids::ConnectionId;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Most calls to examine in a step.
const STEP: u64 = 4_096;
/// Rows of calls that the ring has dropped, at most.
const MAX_GONE: u64 = 1_024;

/// Which calls are shown, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// The text of the filter, as understood.
    pub filter: EventFilter,
    /// Only calls of these rows; None: of all.
    pub rows: Option<BTreeSet<EventRow>>,
    /// Only calls of this process; None: of all.
    pub process: Option<ConnectionId>,
    /// The column that decides the order.
    pub column: EventColumn,
    /// Whether the order is the reverse one.
    pub ascending: bool,
}

impl EventQuery {
    /// Sets the text of the filter. A condition with a mistake hides nothing.
    pub fn set_text(&mut self, text: &str) {
        self.filter = EventFilter::parse(text).unwrap_or_default();
    }

    /// Returns whether calls may be hidden by the filter's text.
    pub fn is_filtered(&self) -> bool {
        self.filter.hides_calls()
    }

    /// Returns a test whether calls are shown.
    pub fn matcher(&self) -> impl Fn(&TracedEvent) -> bool {
        let (matcher, rows) = (EventMatcher::of(&self.filter), self.rows.as_ref());
        let process = self.process;
        move |event| {
            process.is_none_or(|process| event.connection == process)
                && rows.is_none_or(|rows| rows.contains(&event.row()))
                && matcher.shows(event)
        }
    }

    /// Returns whether both show the same calls.
    pub(super) fn shows_same(&self, other: &EventQuery) -> bool {
        (&self.filter, &self.rows, self.process) == (&other.filter, &other.rows, other.process)
    }

    /// Returns whether both show the same calls in the same order, or the reverse one.
    fn has_same_rows(&self, other: &EventQuery) -> bool {
        self.shows_same(other) && self.column == other.column
    }
}

/// A shown call.
#[derive(Clone, Debug)]
struct ViewRow {
    key: u128,
    /// Its place in the ring.
    place: u64,
    event: Arc<TracedEvent>,
}

/// The calls that are shown.
#[derive(Debug, Default)]
pub struct EventView {
    query: EventQuery,
    /// In ascending order.
    rows: Vec<ViewRow>,
    /// Where rows are merged: empty, but its memory is used again.
    merged: Vec<ViewRow>,
    /// Places in the ring that were examined.
    examined: Range<u64>,
}

impl EventView {
    /// Returns the query.
    pub fn query(&self) -> &EventQuery {
        &self.query
    }

    /// Changes the query; the next steps find its calls.
    pub fn set_query(&mut self, query: EventQuery) {
        if !query.has_same_rows(&self.query) {
            self.restart();
        }
        self.query = query;
    }

    /// Begins again with another ring.
    pub fn restart(&mut self) {
        self.rows.clear();
        self.examined = 0..0;
    }

    /// Returns whether it has examined any calls since it began.
    pub fn has_examined_any(&self) -> bool {
        !self.examined.is_empty()
    }

    /// Examines calls that are earlier than those examined. Returns whether there are others left.
    pub fn step_back(&mut self, ring: &EventRing) -> bool {
        let earlier = self.earlier(ring, STEP);
        self.add(ring, earlier.clone());
        self.examined.start = earlier.start;
        self.examined.start > ring.places().start
    }

    /// Returns the places of at most `most` calls before those examined.
    fn earlier(&self, ring: &EventRing, most: u64) -> Range<u64> {
        let start = self.examined.start;
        start.saturating_sub(most).max(ring.places().start.min(start))..start
    }

    /// Examines more calls, the latest first; moves those that the ring has dropped to `gone`. Returns whether there are
    /// others left.
    pub fn step(&mut self, ring: &EventRing, gone: &mut Vec<Arc<TracedEvent>>) -> bool {
        let all = ring.places();
        if self.examined.end < all.start || all.end < self.examined.end {
            self.restart();
        }
        if self.examined.is_empty() {
            self.examined = all.end..all.end;
        }
        let later = self.examined.end..all.end.min(self.examined.end + STEP);
        let left = STEP - (later.end - later.start);
        let earlier = self.earlier(ring, left);
        self.add(ring, later.clone());
        self.add(ring, earlier.clone());
        self.examined = earlier.start..later.end;
        self.drop_gone(all.start, gone);
        self.is_behind(ring)
    }

    /// Returns whether there are calls to examine.
    pub fn is_behind(&self, ring: &EventRing) -> bool {
        let all = ring.places();
        !all.is_empty() && (self.examined.end < all.end || self.examined.start > all.start)
    }

    fn add(&mut self, ring: &EventRing, places: Range<u64>) {
        let column = self.query.column;
        let is_shown = self.query.matcher();
        let shown = ring.at(places).filter(|(_, event)| is_shown(event));
        let mut new: Vec<ViewRow> = shown
            .map(|(place, event)| ViewRow { key: event.sort_key(column), place, event: Arc::clone(event) })
            .collect();
        let order = |one: &ViewRow, other: &ViewRow| order(column, one, other);
        new.sort_unstable_by(order);
        let Some(first) = new.first() else { return };
        // Only rows behind the first new one move.
        let from = self.rows.partition_point(|row| order(row, first) == Ordering::Less);
        let mut old = self.rows.drain(from..);
        for row in new {
            let before = old.as_slice().partition_point(|old| order(old, &row) == Ordering::Less);
            self.merged.extend(old.by_ref().take(before));
            self.merged.push(row);
        }
        self.merged.extend(old);
        self.rows.append(&mut self.merged);
    }

    /// Removes calls that the ring dropped, once they are many: until then their rows still have them.
    fn drop_gone(&mut self, first: u64, to: &mut Vec<Arc<TracedEvent>>) {
        let gone = first.saturating_sub(self.examined.start);
        if gone > MAX_GONE || gone > 0 && gone >= self.examined.end - self.examined.start {
            to.extend(self.rows.extract_if(.., |row| row.place < first).map(|row| row.event));
            self.examined.start = first;
        }
    }

    /// Returns the number of shown calls.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether no call is shown.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the call in a row.
    pub fn at(&self, row: usize) -> Option<&Arc<TracedEvent>> {
        let index = if self.query.ascending { row } else { self.rows.len().checked_sub(row + 1)? };
        self.rows.get(index).map(|row| &row.event)
    }

    /// Returns the row of a call, if it is shown.
    pub fn row_of(&self, event: &Arc<TracedEvent>) -> Option<usize> {
        let column = self.query.column;
        let key = event.sort_key(column);
        let before = |row: &ViewRow| {
            row.key.cmp(&key).then_with(|| row.event.compare(event, column)) == Ordering::Less
        };
        let from = self.rows.partition_point(before);
        let equal = self.rows.get(from..)?.iter().take_while(|row| row.key == key);
        let index = from + equal.into_iter().position(|row| Arc::ptr_eq(&row.event, event))?;
        Some(if self.query.ascending { index } else { self.rows.len() - index - 1 })
    }
}

fn order(column: EventColumn, one: &ViewRow, other: &ViewRow) -> Ordering {
    let by_key = one.key.cmp(&other.key).then_with(|| one.event.compare(&other.event, column));
    by_key.then(one.place.cmp(&other.place))
}

#[cfg(test)]
#[path = "event_view_tests.rs"]
mod tests;
