//! Whether and how a row's body times calls.
#![forbid(unsafe_code)]

use super::async_role::AsyncRole;
use crate::instrument::timed_body::Timing;
use crate::instrument::traced_method::TracedBody;
use crate::probes::blocks::Slot;
use redial_protocol::diagnostics::UntimedReason;

/// Whether and how a row's body times calls.
#[derive(Default)]
pub struct RowTiming {
    /// Its body, as last requested or being requested.
    pub body: BodyTiming,
    /// Its async role, as found when it was last about to be timed.
    pub async_role: Option<AsyncRole>,
    /// For the `MoveNext` of a state machine, the slots that record which calls begin and complete in it.
    pub async_slots: Option<Slot>,
}

/// Whether a body times calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyTiming {
    /// It only counts, as wanted; also for a row without a body.
    #[default]
    NotWanted,
    /// It times calls, with these variables and options.
    Timed(Timing),
    /// It only counts, although *time* is wanted.
    Untimed(UntimedReason),
}

impl BodyTiming {
    /// Returns the variables and options of a timed body.
    pub fn timing(self) -> Option<Timing> {
        match self {
            BodyTiming::Timed(timing) => Some(timing),
            BodyTiming::NotWanted | BodyTiming::Untimed(_) => None,
        }
    }

    /// Returns why it only counts although *time* is wanted.
    pub fn untimed(self) -> Option<UntimedReason> {
        match self {
            BodyTiming::Untimed(reason) => Some(reason),
            BodyTiming::NotWanted | BodyTiming::Timed(_) => None,
        }
    }

    /// Returns the values that it captures, if it traces calls.
    pub fn trace(self) -> Option<&'static TracedBody> {
        self.timing().and_then(|timing| timing.trace)
    }

    /// Whether it keeps the stacks of the slowest calls.
    pub fn keeps_stacks(self) -> bool {
        self.timing().is_some_and(|timing| timing.stack)
    }

    /// Whether it counts callers.
    pub fn counts_callers(self) -> bool {
        self.timing().is_some_and(|timing| timing.callers)
    }
}
