//! What a row's notes say: why it is refused or failed, and what is missing of its numbers.
#![forbid(unsafe_code)]

use crate::inlining::Inlined;
use crate::probes::lacks::Lacks;
use crate::probes::timing::Untimed;
use redial_protocol::reason::Reason;

/// What a row's notes are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Why {
    pub reason: Option<(Reason, u32)>,
    pub inlined: Inlined,
    pub expanded: bool,
    pub passed_over: bool,
    pub untimed: Option<Untimed>,
    pub times: Lacks,
    /// Its callers are wanted where they cannot be told.
    pub untold_callers: bool,
}

/// The runtime compiled original code after a request.
const PASSED_OVER: &str = "the runtime accepted this, and compiled original code of it all the same: calls of that are not \
                           counted. It does so where a generic method is used over a type that can be unloaded (a \
                           collectible load context), or where a debugger may edit the code (Edit and Continue)";
/// `[Intrinsic]`, `[NonVersionable]`.
const EXPANDED: &str = "the JIT, or precompiled code of other modules, may have its own code in the place of a call; such \
                        calls are not counted";

/// Where [`crate::probes::callers::KNOWN`] is not.
const UNTOLD_CALLERS: &str =
    "it is timed, and its callers are not told: the agent can tell them on x86-64 Linux with glibc only";

impl Why {
    /// Why it is refused, failed, or what is missing from its count.
    pub fn note(self) -> Option<String> {
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

    /// Why it is only counted, or what is missing of its times.
    pub fn times_note(self) -> Option<String> {
        let untimed = self.untimed.map(|untimed| untimed.sentence().to_owned());
        let callers = || self.untold_callers.then(|| UNTOLD_CALLERS.to_owned());
        untimed.or_else(|| self.times.sentence()).or_else(callers)
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
            times: Lacks::Nothing,
            untold_callers: false,
        };
        assert_eq!(nothing.times_note(), None);
        let untold = Why { untold_callers: true, ..nothing };
        assert!(untold.times_note().is_some_and(|note| note.contains("its callers are not told")));
        let graver = Why { times: Lacks::Memory, ..untold };
        assert_eq!((graver.times_note(), untold.note()), (Lacks::Memory.sentence(), None));
    }
}
