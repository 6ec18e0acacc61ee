//! The counters of a row, from its first change until its module unloads.
#![forbid(unsafe_code)]

use crate::probes::blocks::Slot;
use crate::probes::missing_data::{self, MissingData};
use crate::probes::timers::SlotTimes;

/// The counters of a row.
#[derive(Default)]
pub enum Counters {
    /// It never had any.
    #[default]
    None,
    /// It counts in a slot.
    Active {
        /// The slot.
        slot: Slot,
        /// The slot's sum when the row got it.
        start: u64,
        /// The data recorded there beside calls.
        recorded: Recorded,
    },
    /// Its module was unloaded, and the slot given back.
    Retired {
        /// Its numbers at that moment.
        last: FinalNumbers,
        /// The data that were recorded beside calls.
        recorded: Recorded,
    },
}

/// The data ever recorded in a slot beside calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// A timed body was requested, so that there are times.
    pub times: bool,
    /// Callers were counted, so that there are some.
    pub callers: bool,
}

/// The last numbers of a row.
#[derive(Debug, Default)]
pub struct FinalNumbers {
    /// Calls since it got its slot.
    pub calls: u64,
    /// Its times, if there are any.
    pub times: Option<Box<SlotTimes>>,
}

impl Counters {
    /// Returns the slot of a row that counts.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Counters::Active { slot, .. } => Some(*slot),
            Counters::None | Counters::Retired { .. } => None,
        }
    }

    /// Returns that slot if it has times.
    pub fn timed_slot(&self) -> Option<Slot> {
        self.slot().filter(|_| self.recorded().times)
    }

    /// Returns the data ever recorded beside calls.
    pub fn recorded(&self) -> Recorded {
        match self {
            Counters::None => Recorded::default(),
            Counters::Active { recorded, .. } | Counters::Retired { recorded, .. } => *recorded,
        }
    }

    /// Returns the last numbers of a row that no longer counts.
    pub fn last(&self) -> Option<&FinalNumbers> {
        match self {
            Counters::Retired { last, .. } => Some(last),
            Counters::None | Counters::Active { .. } => None,
        }
    }

    /// Returns the calls of a row that does not count: its final number, or 0.
    pub fn final_calls(&self) -> u64 {
        self.last().map_or(0, |last| last.calls)
    }

    /// Returns which times are missing.
    pub fn missing_times(&self) -> MissingData {
        let last = || self.last().and_then(|last| last.times.as_ref()).map(|times| times.missing_data);
        self.timed_slot().map(missing_data::of).or_else(last).unwrap_or_default()
    }

    /// Records which data a body about to be requested records.
    pub fn will_record(&mut self, times: bool, callers: bool) {
        if let Counters::Active { recorded, .. } = self {
            recorded.times |= times;
            recorded.callers |= callers;
        }
    }

    /// Ends counting with these numbers; returns the slot and whether it had times. None if it did not count.
    pub(super) fn retire(&mut self, last: FinalNumbers) -> Option<(Slot, bool)> {
        let Counters::Active { slot, recorded, .. } = *self else { return None };
        *self = Counters::Retired { last, recorded };
        Some((slot, recorded.times))
    }
}
