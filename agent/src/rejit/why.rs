//! Why a row is as it is, and the moments that are kept of it.
#![forbid(unsafe_code)]

use super::asynchronous::Missing;
use crate::inlining::Inlined;
use crate::probes::lacks::Lacks;
use crate::probes::timing::Untimed;
use redial_protocol::cost::Share;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Instance, Transition};
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;

/// A row's state at one time: what is kept of a transition. It owns nothing of its own, so thousands cost little.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The row.
    pub row: RowId,
    pub(super) t_ms: u64,
    pub(super) wanted: Level,
    pub(super) options: TimeOptions,
    pub(super) state: State,
    pub(super) version: Option<u32>,
    pub(super) why: Why,
}

impl Moment {
    /// As it travels, with the instances told along.
    pub fn told(&self, instances: Vec<Instance>) -> Transition {
        Transition {
            row: self.row,
            t_ms: self.t_ms,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.version,
            instances,
            note: self.why.note(),
            times_note: self.why.times_note(),
        }
    }
}

/// What a row's notes are made from.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) reason: Option<(Reason, u32)>,
    pub(super) inlined: Inlined,
    pub(super) expanded: bool,
    pub(super) passed_over: bool,
    pub(super) untimed: Option<Untimed>,
    /// To what the budget stepped it down, what it cost, and what all dials may cost.
    pub(super) stepped: Option<(Level, Share, Share)>,
    pub(super) spared: bool,
    pub(super) times: Lacks,
    /// What an async method's times lack.
    pub(super) missing: Option<Missing>,
    /// Its callers are wanted where they cannot be told.
    pub(super) untold_callers: bool,
}

/// The runtime compiled original code after a request.
const PASSED_OVER: &str = "the runtime accepted this, and compiled original code of it all the same: calls of that are not \
                           counted. It does so where a generic method is used over a type that can be unloaded (a \
                           collectible load context), or where a debugger may edit the code (Edit and Continue)";
const SPARED: &str =
    "the budget leaves it alone, because it was turned up again after the budget had stepped it down";
/// `[Intrinsic]`, `[NonVersionable]`.
const EXPANDED: &str = "the JIT, or precompiled code of other modules, may have its own code in the place of a call; such \
                        calls are not counted";

/// Where [`crate::probes::callers::KNOWN`] is not.
const UNTOLD_CALLERS: &str =
    "it is timed, and its callers are not told: the agent can tell them on x86-64 Linux only";

impl Why {
    /// Why it is refused, failed, or what is missing from its count.
    pub(super) fn note(&self) -> Option<String> {
        match self.reason {
            Some((Reason::Hresult, hresult)) => {
                let words = crate::clr::hresult::words(windows_core::HRESULT(hresult as i32));
                Some(format!("{}: {words}", Reason::Hresult.sentence()))
            }
            Some((reason, _)) => Some(reason.sentence().to_owned()),
            None if self.passed_over => Some(PASSED_OVER.to_owned()),
            None => match self.inlined {
                Inlined::No => self.expanded.then(|| EXPANDED.to_owned()),
                Inlined::Perhaps => Some(
                    "perhaps already inlined into callers that are not known (compiled before the agent came, or too \
                     many of them); calls from there are not counted"
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

    /// Why it is only counted, what is missing of its times, or what the budget did.
    pub(super) fn times_note(&self) -> Option<String> {
        let stepped = self.stepped.map(|(to, cost, limit)| {
            format!("stepped down to {to} by the budget: it cost {cost} of a processor, and all dials may cost {limit}")
        });
        let by_budget = both(stepped, self.spared.then(|| SPARED.to_owned()));
        let untimed = self.untimed.map(|untimed| untimed.sentence().to_owned());
        let missing = || self.missing.as_ref().map(|missing| missing.sentence().into_owned());
        let callers = || self.untold_callers.then(|| UNTOLD_CALLERS.to_owned());
        let lacks = untimed.or_else(|| self.times.sentence()).or_else(missing).or_else(callers);
        both(by_budget, lacks)
    }
}

/// One sentence of two.
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
    fn callers_that_cannot_be_told_are_said_unless_more_is_missing() {
        let nothing = Why {
            reason: None,
            inlined: Inlined::No,
            expanded: false,
            passed_over: false,
            untimed: None,
            stepped: None,
            spared: false,
            times: Lacks::Nothing,
            missing: None,
            untold_callers: false,
        };
        assert_eq!(nothing.times_note(), None);
        let untold = Why { untold_callers: true, ..nothing };
        assert!(untold.times_note().is_some_and(|note| note.contains("its callers are not told")));
        let graver = Why { times: Lacks::Memory, ..untold };
        assert_eq!((graver.times_note(), graver.note()), (Lacks::Memory.sentence(), None));
    }
}
