//! The notes of a row, and the snapshots of its state in the ring of transitions.
#![forbid(unsafe_code)]

use super::async_role::MissingCompletions;
use crate::inlining::Inlined;
use crate::probes::missing_data::MissingData;
use redial_protocol::diagnostics::{MissingTimes, RowNote, SteppedDown, TimesNote, UntimedReason};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Instance, Transition};
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;

/// A row's state at one moment, as the ring keeps it. It owns no memory of its own, so thousands
/// cost little.
#[derive(Clone, Debug)]
pub struct RowSnapshot {
    /// The row.
    pub row: RowId,
    pub(super) t_ms: u64,
    pub(super) wanted: Level,
    pub(super) options: TimeOptions,
    pub(super) state: CopyState,
    pub(super) version: Option<u32>,
    pub(super) notes: RowNotes,
}

impl RowSnapshot {
    /// Converts it for the wire, with these instances.
    pub fn transition(&self, instances: Vec<Instance>) -> Transition {
        Transition {
            row: self.row,
            t_ms: self.t_ms,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.version,
            instances,
            note: self.notes.note(),
            times_note: self.notes.times_note(),
        }
    }
}

/// The facts from which a row's notes are made.
#[derive(Clone, Debug)]
pub(super) struct RowNotes {
    pub(super) reason: Option<(Reason, u32)>,
    pub(super) inlined: Inlined,
    pub(super) expanded: bool,
    pub(super) ignored_request: bool,
    pub(super) untimed: Option<UntimedReason>,
    /// The step by which the budget lowered it.
    pub(super) stepped_down: Option<SteppedDown>,
    pub(super) spared: bool,
    pub(super) times: MissingData,
    /// The data that an async method's times lack.
    pub(super) missing: Option<MissingCompletions>,
    /// Its callers are wanted where they cannot be counted.
    pub(super) uncountable_callers: bool,
}

impl RowNotes {
    /// Returns why it is refused or failed, or which calls its count lacks.
    pub(super) fn note(&self) -> Option<RowNote> {
        match (self.reason, self.inlined) {
            (Some((reason, hresult)), _) => Some(RowNote::NotDialled { reason, hresult }),
            _ if self.ignored_request => Some(RowNote::RequestIgnored),
            (None, Inlined::Yes) => Some(RowNote::Inlined),
            (None, Inlined::Perhaps) => Some(RowNote::PerhapsInlined),
            (None, Inlined::No) => self.expanded.then_some(RowNote::CallsReplaced),
        }
    }

    /// Returns why it is only counted, which data its times lack, or how the budget changed it.
    pub(super) fn times_note(&self) -> Option<TimesNote> {
        let missing = || self.missing.as_ref().map(MissingCompletions::code);
        let callers = || self.uncountable_callers.then_some(MissingTimes::Callers);
        let untimed = self.untimed.map(MissingTimes::Untimed);
        let missing = untimed.or_else(|| self.times.code()).or_else(missing).or_else(callers);
        TimesNote { stepped_down: self.stepped_down, spared: self.spared, missing }.unless_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_uncountable_callers_unless_more_is_missing() {
        let nothing = RowNotes {
            reason: None,
            inlined: Inlined::No,
            expanded: false,
            ignored_request: false,
            untimed: None,
            stepped_down: None,
            spared: false,
            times: MissingData::Nothing,
            missing: None,
            uncountable_callers: false,
        };
        assert_eq!(nothing.times_note(), None);
        let uncountable = RowNotes { uncountable_callers: true, ..nothing };
        let noted = |missing| Some(TimesNote { missing: Some(missing), ..TimesNote::default() });
        assert_eq!(uncountable.times_note(), noted(MissingTimes::Callers));
        let worse = RowNotes { times: MissingData::Memory, ..uncountable };
        assert_eq!((worse.times_note(), worse.note()), (noted(MissingTimes::CallsWithoutMemory), None));
    }
}
