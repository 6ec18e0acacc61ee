//! The shown calls in groups, brought up to date in steps that fit into a frame.

use super::event_ring::EventRing;
use super::event_view::EventQuery;
use crate::call_groups::{CallGroup, CallGroups, GroupColumn, GroupKey};
use std::ops::Range;

/// Most calls to add in a step.
const STEP: u64 = 2_048;

/// Groups of the calls that are shown. Calls that are no longer kept stay in them.
#[derive(Debug)]
pub struct EventGroups {
    groups: CallGroups,
    /// Places in the ring, of calls that are in the groups.
    examined: Range<u64>,
    column: GroupColumn,
    is_reversed: bool,
    /// Indices of groups, in the order of the column.
    order: Vec<usize>,
    /// Whether all calls have been added once since the beginning.
    is_settled: bool,
    /// Whether calls were added since the groups were sorted.
    is_stale: bool,
}

impl EventGroups {
    /// Begins without calls; the next steps add them.
    pub fn new(key: GroupKey) -> EventGroups {
        EventGroups {
            groups: CallGroups::new(key),
            examined: 0..0,
            column: GroupColumn::default(),
            is_reversed: false,
            order: Vec::new(),
            is_settled: false,
            is_stale: false,
        }
    }

    /// Returns the key of the groups.
    pub fn key(&self) -> &GroupKey {
        self.groups.key()
    }

    /// Begins again, with another ring or query.
    pub(super) fn restart(&mut self) {
        self.groups.clear();
        self.examined = 0..0;
        self.order.clear();
        self.is_settled = false;
    }

    /// Adds more calls, those that came since the last step first. With `held`, groups keep their places. Returns whether
    /// there are others left.
    pub(super) fn step(&mut self, ring: &EventRing, query: &EventQuery, held: bool) -> bool {
        let all = ring.places();
        if self.examined.is_empty() {
            self.examined = all.end..all.end;
        }
        let (start, end) = (self.examined.start, self.examined.end);
        let later = end..all.end.min(end + STEP).max(end);
        let left = STEP - (later.end - later.start);
        let earlier = start.saturating_sub(left).max(all.start.min(start))..start;
        let is_shown = query.matcher();
        for (_, event) in ring.at(later.clone()).chain(ring.at(earlier.clone())) {
            if is_shown(event) {
                self.groups.add(&event.method, &event.call);
                self.is_stale = true;
            }
        }
        self.examined = earlier.start..later.end;
        if held && self.is_settled {
            self.order.extend(self.order.len()..self.groups.groups().len());
        } else if self.is_stale {
            self.sort();
        }
        let more = !all.is_empty() && (self.examined.end < all.end || self.examined.start > all.start);
        self.is_settled |= !more;
        more
    }

    fn sort(&mut self) {
        self.is_stale = false;
        self.order = self.groups.sorted(self.column);
        if self.is_reversed {
            self.order.reverse();
        }
    }

    /// Sorts by a column; the second time in the reverse order.
    pub fn sort_by(&mut self, column: GroupColumn) {
        self.is_reversed = self.column == column && !self.is_reversed;
        self.column = column;
        self.sort();
    }

    /// Returns the column that decides the order, and whether the order is the reverse one.
    pub fn sorted_by(&self) -> (GroupColumn, bool) {
        (self.column, self.is_reversed)
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the group in a row.
    pub fn at(&self, row: usize) -> Option<&CallGroup> {
        self.groups.groups().get(*self.order.get(row)?)
    }

    /// Returns the number of calls in all groups.
    pub fn calls(&self) -> u64 {
        self.groups.calls()
    }

    /// Returns the nanoseconds of all calls together.
    pub fn total_ns(&self) -> u64 {
        self.groups.total_ns()
    }
}
