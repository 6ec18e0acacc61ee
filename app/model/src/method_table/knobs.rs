//! The contents of knobs: for one method, for the copies behind a row, and for a group.

use super::MethodTable;
use super::group_cache::{Editions, Totals};
use crate::catalogue::bit_set::BitSet;
use crate::ids::{MethodIx, Node};
use crate::live::{LiveRow, RowTotals};
use crate::method_set::MethodSet;
use crate::wanted_level::WantedLevel;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use std::ops::Range;

/// The dial of one method, as a knob shows it.
#[derive(Clone, Copy, Debug)]
pub struct Dial<'a> {
    /// The level the user wants: the ring.
    pub wanted: Level,
    /// Whether the agent has not answered a change to that level yet.
    pub pending: bool,
    /// The level that runs: the needle. The wanted level while its body is live, else off.
    pub actual: Level,
    /// The runtime's state of the copy.
    pub state: CopyState,
    /// The agent's row, if the method is or was dialled.
    pub row: Option<&'a LiveRow>,
    /// Why it has no body, and so cannot be turned on.
    pub bodyless: Option<Reason>,
}

/// The dials of a group, as one knob shows them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupDial {
    /// Methods of the group that are shown.
    pub methods: u32,
    /// The level wanted for all of them that can be turned on; None if they differ.
    pub wanted: Option<Level>,
    /// Whether the agent has not answered a change of some of them yet.
    pub pending: bool,
    /// Methods without a body whose level is off; `wanted` ignores them.
    pub bodyless: u32,
    /// Methods by wanted level; those never dialled count as off.
    pub by_level: [u32; Level::ALL.len()],
    /// Numbers of those that are or were dialled.
    pub sums: RowTotals,
}

impl GroupDial {
    /// How many of them are counted.
    pub fn counted(&self) -> u32 {
        let counting = [CopyState::Asked, CopyState::Live, CopyState::Reverting];
        counting.into_iter().filter_map(|state| self.sums.states.get(state as usize)).sum()
    }

    /// Whether calls of some are counted. If not, the numbers are the last ones.
    pub fn counts(&self) -> bool {
        self.counted() > 0
    }

    /// Whether calls of some are timed.
    pub fn is_timed(&self) -> bool {
        self.sums.timed > 0
    }

    /// Calls per second of all methods, while some are counted.
    pub fn counted_rate(&self) -> Option<f64> {
        self.counts().then_some(self.sums.rate)
    }

    /// Whether nothing in it can be turned on because nothing has a body.
    pub fn is_bodyless(&self) -> bool {
        self.methods > 0 && self.bodyless == self.methods
    }
}

impl MethodTable {
    /// Whether a method is off and cannot be turned on.
    pub fn is_unavailable(&self, method: MethodIx) -> bool {
        self.unavailable.all.get(method.0)
    }

    /// Returns how many methods these wishes turn on, without those that cannot be.
    pub(crate) fn on_by(&self, wishes: &[WantedLevel]) -> u64 {
        let refused = |method| {
            let row = self.live.of_method(method);
            row.is_some_and(|row| matches!(row.state, CopyState::Refused | CopyState::Failed))
        };
        let can = |method: &MethodIx| self.catalogue.without_body(*method).is_none() && !refused(*method);
        let on = wishes.iter().filter(|(level, _)| *level != Level::Off);
        on.map(|(_, set)| set.iter().filter(|method| can(method)).count() as u64).sum()
    }

    /// Methods that are off and have no body.
    pub(crate) fn off_and_bodyless(&self) -> &BitSet {
        &self.unavailable.bodyless
    }

    /// Returns the dial of a method.
    pub fn dial(&self, method: MethodIx) -> Dial<'_> {
        let row = self.live.of_method(method);
        let (reported, state) = row.map_or((Level::Off, CopyState::Off), |row| (row.wanted, row.state));
        let bodyless = self.catalogue.without_body(method).filter(|_| reported == Level::Off);
        // Wildcards skip methods without a body, so no answer will come for it.
        let skipped = bodyless.is_some() && row.is_none();
        let pending = self.changes.waits_for(method, reported).filter(|_| !skipped);
        let runs = matches!(state, CopyState::Live | CopyState::Reverting);
        Dial {
            wanted: pending.unwrap_or(reported),
            pending: pending.is_some(),
            actual: if runs { reported } else { Level::Off },
            state,
            row,
            bodyless,
        }
    }

    /// Returns the dial of the shown methods of a group.
    pub fn group(&self, node: Node) -> GroupDial {
        let below = || self.catalogue.methods_below(node);
        let editions = Editions {
            catalogue: self.catalogue.edition(),
            rows: self.live.rows_edition(),
            states: self.live.states_edition(),
            counters: self.live.folds(),
            unavailable: self.unavailable.computed_from,
            visible: self.list.edition(),
        };
        let is_pending = !self.changes.pending().is_empty();
        if self.catalogue.is_merged() && self.catalogue.has_copies() {
            let compute = || self.catalogue.with_copies(&self.shown_in(&below()));
            let copies = self.copies.get(node, (editions.catalogue, editions.visible), compute);
            let totals = self.totals.get(node, editions, || self.totals_of_set(&copies));
            let ranges: Vec<Range<u32>> = if is_pending { copies.ranges().collect() } else { Vec::new() };
            return self.group_dial(&ranges, totals, || self.changes.whole(&ranges));
        }
        let totals = self.totals.get(node, editions, || {
            let (ranges, visible) = (below(), self.list.visible());
            let both =
                |bits: &BitSet| ranges.iter().map(|range| visible.count_both(bits, range.clone())).sum();
            Totals {
                methods: ranges.iter().map(|range| visible.count_in(range.clone())).sum(),
                unavailable: both(&self.unavailable.all),
                bodyless: both(&self.unavailable.bodyless),
                sums: self.live.sums(&ranges, Some(visible)),
            }
        });
        // The methods themselves matter only while a change is pending.
        let ranges = if is_pending { below() } else { Vec::new() };
        self.group_dial(&ranges, totals, || {
            self.changes.whole(&self.shown_in(&ranges).ranges().collect::<Vec<_>>())
        })
    }

    /// The copies that a method's row stands for, itself included. None if it stands for itself alone.
    pub fn merged(&self, method: MethodIx) -> Option<MethodSet> {
        let merged =
            self.catalogue.is_merged() && self.catalogue.has_namesake(self.catalogue.module_of(method));
        merged
            .then(|| self.catalogue.copies(method).into_iter().collect())
            .filter(|all: &MethodSet| all.len() > 1)
    }

    /// Returns the single method selected, if it stands for several copies, with the copies.
    pub fn merged_in_view(&self) -> Option<(MethodIx, MethodSet)> {
        let targets = Some(self).filter(|table| table.selection.len() == 1)?.targets();
        let method = targets.iter().next().filter(|_| targets.len() == 1)?;
        Some((method, self.merged(method)?))
    }

    /// Returns the dial of a set of methods, shown or not.
    pub fn group_of_set(&self, set: &MethodSet) -> GroupDial {
        let ranges: Vec<Range<u32>> = set.ranges().collect();
        self.group_dial(&ranges, self.totals_of_set(set), || self.changes.whole(&ranges))
    }

    fn totals_of_set(&self, set: &MethodSet) -> Totals {
        let ranges: Vec<Range<u32>> = set.ranges().collect();
        let all = |bits: &BitSet| ranges.iter().map(|range| bits.count_in(range.clone())).sum();
        Totals {
            methods: u32::try_from(set.len()).unwrap_or(u32::MAX),
            unavailable: all(&self.unavailable.all),
            bodyless: all(&self.unavailable.bodyless),
            sums: self.live.sums(&ranges, None),
        }
    }

    /// Puts a group's dial together. `asked` returns the level that a pending change asks for all of its methods.
    fn group_dial(
        &self,
        ranges: &[Range<u32>],
        Totals { methods, unavailable, bodyless, sums }: Totals,
        asked: impl FnOnce() -> Option<Level>,
    ) -> GroupDial {
        let mut by_level = sums.wanted;
        by_level[Level::Off as usize] += methods.saturating_sub(sums.known);
        // Unavailable methods do not make a group mixed, so that a second click turns it off again.
        let off = by_level[Level::Off as usize];
        let some_on = by_level.iter().skip(1).any(|number| *number > 0);
        let available_off = if some_on { off.saturating_sub(unavailable) } else { off };
        let number =
            |level: Level| if level == Level::Off { available_off } else { by_level[level as usize] };
        let mut levels = Level::ALL.into_iter().filter(|level| number(*level) > 0);
        let wanted = levels.next().filter(|_| levels.next().is_none());
        let pending = self.changes.touches(ranges);
        let wanted = if pending { asked().or(wanted) } else { wanted };
        GroupDial { methods, wanted, pending, bodyless, by_level, sums }
    }
}

#[cfg(test)]
#[path = "knobs_tests.rs"]
mod tests;
