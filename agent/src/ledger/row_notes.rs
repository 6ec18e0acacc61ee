//! The notes of a row, and the snapshots of its state in the ring of transitions.
#![forbid(unsafe_code)]

use super::async_role::MissingCompletions;
use crate::inlining::Inlined;
use crate::instrument::timed_body::UntimedReason;
use crate::probes::missing_data::MissingData;
use redial_protocol::cost::Share;
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
    /// The level to which the budget stepped it down, its cost, and the limit for all dials.
    pub(super) stepped: Option<(Level, Share, Share)>,
    pub(super) spared: bool,
    pub(super) times: MissingData,
    /// The data that an async method's times lack.
    pub(super) missing: Option<MissingCompletions>,
    /// Its callers are wanted where they cannot be counted.
    pub(super) uncountable_callers: bool,
}

/// The runtime compiled original code after a request.
const PASSED_OVER: &str = "the runtime accepted the request but still compiled original code, whose calls are not counted. \
                           This happens if a generic method is used over a type that can unload (in a collectible load \
                           context), or if a debugger may edit the code (Edit and Continue)";
const SPARED: &str =
    "the budget leaves it alone, because it was raised again after the budget stepped it down";
/// For `[Intrinsic]` and `[NonVersionable]` methods.
const EXPANDED: &str = "the JIT, or precompiled code of other modules, may replace calls by code of its own; such \
                        calls are not counted";

/// Where [`crate::probes::callers::KNOWN`] is false.
const UNCOUNTABLE_CALLERS: &str =
    "it is timed without callers: the agent can count callers only on x86-64 Linux";

impl RowNotes {
    /// Returns why it is refused or failed, or which calls its count lacks.
    pub(super) fn note(&self) -> Option<String> {
        match self.reason {
            Some((Reason::Hresult, hresult)) => {
                let words = crate::clr::hresult::words(windows_core::HRESULT(hresult as i32));
                Some(format!("{}: {words}", Reason::Hresult.sentence()))
            }
            Some((reason, _)) => Some(reason.sentence().to_owned()),
            None if self.ignored_request => Some(PASSED_OVER.to_owned()),
            None => match self.inlined {
                Inlined::No => self.expanded.then(|| EXPANDED.to_owned()),
                Inlined::Perhaps => Some(
                    "perhaps already inlined into unknown callers (compiled before the agent was loaded, or too many of \
                     them); calls from there are not counted"
                        .to_owned(),
                ),
                Inlined::Yes => {
                    Some(
                        "already inlined into callers that cannot be recompiled; calls from there are not counted"
                            .to_owned(),
                    )
                }
            },
        }
    }

    /// Returns why it is only counted, which data its times lack, or how the budget changed it.
    pub(super) fn times_note(&self) -> Option<String> {
        let stepped = self.stepped.map(|(to, cost, limit)| {
            format!("stepped down to {to} by the budget: it cost {cost} of a processor, and all dials may cost {limit}")
        });
        let by_budget = both(stepped, self.spared.then(|| SPARED.to_owned()));
        let untimed = self.untimed.map(|untimed| untimed.sentence().to_owned());
        let missing = || self.missing.as_ref().map(|missing| missing.sentence().into_owned());
        let callers = || self.uncountable_callers.then(|| UNCOUNTABLE_CALLERS.to_owned());
        let missing_data = untimed.or_else(|| self.times.sentence()).or_else(missing).or_else(callers);
        both(by_budget, missing_data)
    }
}

/// Joins two optional sentences.
fn both(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
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
            stepped: None,
            spared: false,
            times: MissingData::Nothing,
            missing: None,
            uncountable_callers: false,
        };
        assert_eq!(nothing.times_note(), None);
        let uncountable = RowNotes { uncountable_callers: true, ..nothing };
        assert!(uncountable.times_note().is_some_and(|note| note.contains("timed without callers")));
        let worse = RowNotes { times: MissingData::Memory, ..uncountable };
        assert_eq!((worse.times_note(), worse.note()), (MissingData::Memory.sentence(), None));
    }
}
