//! What knobs show: of a method, of the copies behind a row, of a group.

use super::grouped::{From, Totals};
use super::{Connection, Status};
use crate::model::catalogue::bits::Bits;
use crate::model::catalogue::{Catalogue, Module};
use crate::model::cost::{self, Foreseen};
use crate::model::ids::{MethodIx, Node};
use crate::model::live::{Live, LiveRow, Sums};
use crate::model::methodset::MethodSet;
use crate::model::turns::Wish;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::ops::Range;

/// What a knob shows of one method.
#[derive(Clone, Copy, Debug)]
pub struct Dial<'a> {
    /// What the user wants: the ring.
    pub wanted: Level,
    /// Whether that is not answered yet.
    pub pending: bool,
    /// What runs: the needle. The level wanted while the body for it is live, else off.
    pub actual: Level,
    /// What the runtime does.
    pub state: State,
    /// The agent's row, if the method is or was dialled.
    pub row: Option<&'a LiveRow>,
    /// Why it cannot be turned on: it has no body.
    pub bodyless: Option<Reason>,
}

/// What a knob shows of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupDial {
    /// Methods of the group that are shown.
    pub methods: u32,
    /// What all of them want that can be on; absent: they differ.
    pub wanted: Option<Level>,
    /// Whether a turn that concerns some of them is not answered yet.
    pub pending: bool,
    /// Those without a body that nobody wants on; what the others want is what counts.
    pub bodyless: u32,
    /// Methods by wanted level; those never dialled count as off.
    pub by_level: [u32; Level::ALL.len()],
    /// Numbers of those that are or were dialled.
    pub sums: Sums,
}

impl GroupDial {
    /// How many of them are counted.
    pub fn counted(&self) -> u32 {
        let counting = [State::Asked, State::Live, State::Reverting];
        counting.into_iter().filter_map(|state| self.sums.states.get(state as usize)).sum()
    }

    /// Whether calls of some are counted; else the numbers are the last there were.
    pub fn counts(&self) -> bool {
        self.counted() > 0
    }

    /// The same of their times.
    pub fn is_timed(&self) -> bool {
        self.sums.timed > 0
    }

    /// Calls a second of all, while some count.
    pub fn counted_rate(&self) -> Option<f64> {
        self.counts().then_some(self.sums.rate)
    }

    /// Whether there is nothing in it to be turned on, because nothing has a body.
    pub fn is_bodyless(&self) -> bool {
        self.methods > 0 && self.bodyless == self.methods
    }
}

/// Methods that are off and cannot be on.
#[derive(Debug, Default)]
pub(super) struct Unable {
    all: Bits,
    /// Those of them without a body.
    bodyless: Bits,
    /// What that was found from.
    at: (u64, u64, u64),
}

impl Unable {
    /// Finds them again if something changed.
    pub fn settle(&mut self, catalogue: &Catalogue, live: &Live) {
        let now = (catalogue.edition(), live.rows_edition(), live.states_edition());
        if self.at == now {
            return;
        }
        self.at = now;
        self.bodyless.clone_from(catalogue.bodyless());
        self.all.clone_from(catalogue.bodyless());
        let cannot =
            |module: &&Module| module.dynamic || module.unloaded || catalogue.beyond(module).is_some();
        for module in catalogue.modules().iter().filter(cannot) {
            self.all.set_range(module.methods.clone(), true);
        }
        // A refused one that nobody wants any more still is refused.
        for state in [State::Refused, State::Failed, State::Lost] {
            live.in_state(state).into_iter().for_each(|methods| self.all.unite(methods));
        }
        for level in Level::ALL.into_iter().filter(|level| *level != Level::Off) {
            let Some(wanted) = live.wanted(level) else { continue };
            self.all.subtract(wanted);
            self.bodyless.subtract(wanted);
        }
    }
}

impl Connection {
    /// Whether the agent answers and has not told of all its dials yet.
    pub fn is_reading_dials(&self) -> bool {
        self.status == Status::Live && !self.live.is_read(&self.catalogue)
    }

    /// Whether a method is off and cannot be on.
    pub fn is_unable(&self, method: MethodIx) -> bool {
        self.unable.all.get(method.0)
    }

    /// How many methods these wishes turn on: those that can be.
    pub(in crate::model) fn on_by(&self, wishes: &[Wish]) -> u64 {
        let refused = |method| {
            let row = self.live.of_method(method);
            row.is_some_and(|row| matches!(row.state, State::Refused | State::Failed))
        };
        let can = |method: &MethodIx| self.catalogue.without_body(*method).is_none() && !refused(*method);
        let on = wishes.iter().filter(|(level, _)| *level != Level::Off);
        on.map(|(_, set)| set.iter().filter(|method| can(method)).count() as u64).sum()
    }

    /// Methods that are off and have no body.
    pub(in crate::model) fn off_for_want_of_a_body(&self) -> &Bits {
        &self.unable.bodyless
    }

    /// What a knob shows of a method.
    pub fn dial(&self, method: MethodIx) -> Dial<'_> {
        let row = self.live.of_method(method);
        let (said, state) = row.map_or((Level::Off, State::Off), |row| (row.wanted, row.state));
        let bodyless = self.catalogue.without_body(method).filter(|_| said == Level::Off);
        // A wildcard passes by what has no body: nothing will come of it.
        let passed_by = bodyless.is_some() && row.is_none();
        let waits = self.turns.waits_for(method, said).filter(|_| !passed_by);
        let runs = matches!(state, State::Live | State::Reverting);
        Dial {
            wanted: waits.unwrap_or(said),
            pending: waits.is_some(),
            actual: if runs { said } else { Level::Off },
            state,
            row,
            bodyless,
        }
    }

    /// What a knob shows of a group: of its methods that are shown.
    pub fn group(&self, node: Node) -> GroupDial {
        let below = || self.catalogue.methods_below(node);
        let from = From {
            catalogue: self.catalogue.edition(),
            rows: self.live.rows_edition(),
            states: self.live.states_edition(),
            folds: self.live.folds(),
            unable: self.unable.at,
            visible: self.list.edition(),
        };
        if self.catalogue.is_merged() && self.catalogue.has_copies() {
            let editions = (from.catalogue, from.visible);
            let find = || self.catalogue.with_copies(&self.shown_in(&below()));
            let copies = self.copies.of(node, editions, find);
            let Totals { methods, unable, bodyless, sums } =
                self.grouped.of(node, from, || self.totals_of_set(&copies));
            let waits = !self.turns.pending().is_empty();
            let ranges: Vec<Range<u32>> = if waits { copies.ranges().collect() } else { Vec::new() };
            return self.summed(&ranges, methods, (unable, bodyless), sums, || self.turns.whole(&ranges));
        }
        let Totals { methods, unable, bodyless, sums } = self.grouped.of(node, from, || {
            let (ranges, visible) = (below(), self.list.visible());
            let both = |bits: &Bits| ranges.iter().map(|range| visible.count_both(bits, range.clone())).sum();
            Totals {
                methods: ranges.iter().map(|range| visible.count_in(range.clone())).sum(),
                unable: both(&self.unable.all),
                bodyless: both(&self.unable.bodyless),
                sums: self.live.sums(&ranges, Some(visible)),
            }
        });
        // Which methods they are matters only while a turn waits for its answer.
        let ranges = if self.turns.pending().is_empty() { Vec::new() } else { below() };
        self.summed(&ranges, methods, (unable, bodyless), sums, || {
            self.turns.whole(&self.shown_in(&ranges).ranges().collect::<Vec<_>>())
        })
    }

    /// The copies that a method's row stands for, itself included; None where it stands for itself alone.
    pub fn merged(&self, method: MethodIx) -> Option<MethodSet> {
        let merged =
            self.catalogue.is_merged() && self.catalogue.has_namesake(self.catalogue.module_of(method));
        merged
            .then(|| self.catalogue.copies(method).into_iter().collect())
            .filter(|all: &MethodSet| all.len() > 1)
    }

    /// What a knob shows of a set of methods, shown or not.
    pub fn group_of_set(&self, set: &MethodSet) -> GroupDial {
        let ranges: Vec<Range<u32>> = set.ranges().collect();
        let Totals { methods, unable, bodyless, sums } = self.totals_of_set(set);
        self.summed(&ranges, methods, (unable, bodyless), sums, || self.turns.whole(&ranges))
    }

    /// What methods would cost at a level, by how often those of them that are counted are called now; None where none
    /// is, or where that is not known.
    pub fn foresee(&self, methods: &MethodSet, level: Level) -> Option<Foreseen> {
        let known = methods.ranges().flat_map(|range| self.live.known().iter_in(range));
        let rows = known.filter_map(|method| self.live.of_method(MethodIx(method)));
        cost::foresee(&self.agent.as_ref()?.costs, rows.map(Into::into), level)
    }

    /// What timing a call costs, picoseconds, as measured in this process.
    pub fn cost_of_timing(&self) -> Option<u64> {
        let costs = &self.agent.as_ref()?.costs;
        costs.iter().find(|cost| cost.level == Level::Time).map(|cost| cost.picoseconds)
    }

    fn totals_of_set(&self, set: &MethodSet) -> Totals {
        let ranges: Vec<Range<u32>> = set.ranges().collect();
        let all = |bits: &Bits| ranges.iter().map(|range| bits.count_in(range.clone())).sum();
        Totals {
            methods: u32::try_from(set.len()).unwrap_or(u32::MAX),
            unable: all(&self.unable.all),
            bodyless: all(&self.unable.bodyless),
            sums: self.live.sums(&ranges, None),
        }
    }

    /// `methods` are all; of them, `unable` are off and cannot be on, `bodyless` for want of a body; `asked` is the level
    /// that a turn under way asks for all of them.
    fn summed(
        &self,
        ranges: &[Range<u32>],
        methods: u32,
        (unable, bodyless): (u32, u32),
        sums: Sums,
        asked: impl FnOnce() -> Option<Level>,
    ) -> GroupDial {
        let mut by_level = sums.wanted;
        by_level[Level::Off as usize] += methods.saturating_sub(sums.known);
        // Those that cannot be on make no difference, so that a second turn is back to off.
        let off = by_level[Level::Off as usize];
        let some_on = by_level.iter().skip(1).any(|number| *number > 0);
        let able_off = if some_on { off.saturating_sub(unable) } else { off };
        let number = |level: Level| if level == Level::Off { able_off } else { by_level[level as usize] };
        let mut levels = Level::ALL.into_iter().filter(|level| number(*level) > 0);
        let wanted = levels.next().filter(|_| levels.next().is_none());
        let pending = self.turns.touches(ranges);
        let wanted = if pending { asked().or(wanted) } else { wanted };
        GroupDial { methods, wanted, pending, bodyless, by_level, sums }
    }
}

#[cfg(test)]
#[path = "dials_tests.rs"]
mod tests;
