//! Reasons for refusing a whole command.

use super::IlViolation;
use crate::condition::ConditionError;
use crate::level::Level;
use crate::order::TimeOptions;
use crate::pattern::PatternError;
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Problem with the patterns of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternProblem {
    /// The command has no orders.
    NoOrders,
    /// A pattern cannot be parsed.
    Invalid(PatternError),
}

impl From<PatternError> for PatternProblem {
    fn from(error: PatternError) -> Self {
        PatternProblem::Invalid(error)
    }
}

/// A limit that a command exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Orders in one command.
    Orders {
        /// Orders in the command.
        orders: u64,
        /// Limit.
        limit: u64,
    },
    /// Standing orders.
    StandingOrders {
        /// Limit.
        limit: u64,
    },
    /// Length of a pattern.
    PatternLength {
        /// Limit in bytes.
        limit: u64,
    },
    /// Length of a domain name.
    DomainLength {
        /// Limit in bytes.
        limit: u64,
    },
    /// The range of budgets.
    Budget,
    /// Lifetime of an order.
    KeptFor {
        /// Given lifetime in milliseconds.
        ms: u64,
        /// Limit in milliseconds; the smallest lifetime is one millisecond.
        limit: u64,
    },
    /// Changes that await the runtime.
    PendingChanges {
        /// Limit of changes.
        changes: u64,
        /// Limit of bytes in all of them.
        bytes: u64,
    },
    /// Size of a body shown as IL.
    IlSize {
        /// Limit in bytes of code.
        limit: u64,
    },
    /// Length of an answer.
    AnswerLength {
        /// Limit in bytes.
        limit: u64,
    },
}

/// Reason why the agent carries out no such command now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unavailable {
    /// The agent serves as many controllers as it can.
    TooManyControllers {
        /// Number of these controllers.
        limit: u64,
    },
    /// The agent switched itself off after internal errors.
    SwitchedOff,
    /// An internal error interrupted the command.
    Interrupted,
    /// The system refused to start the subscription's thread.
    NoThread,
    /// The runtime has not answered `RequestReJIT`; the change may still take effect.
    RuntimeSilent {
        /// Seconds waited.
        seconds: u64,
    },
    /// All dials were turned off before the change was made.
    AllOffFirst,
    /// The runtime does not report exceptions, or has not begun to in time.
    NoExceptionEvents,
}

/// Reason why the agent cannot carry out a command that it knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unsupported {
    /// The row does not exist.
    NoRow,
    /// The row's callers were never counted.
    CallersNeverCounted,
    /// The row's module was unloaded, along with its callers' counts.
    CallersUnloaded,
    /// The row's calls were never timed.
    NeverTimed,
    /// The row's module was unloaded, along with its histogram.
    HistogramUnloaded,
    /// The agent could not read the row's times.
    TimesUnread,
    /// The copy's module was unloaded.
    Unloaded,
    /// The copy's IL cannot be shown.
    NoIl(Reason),
    /// The copy's IL violates ECMA-335.
    InvalidIl(IlViolation),
    /// The copy cannot get an instrumented body.
    NoInstrumentedBody(Reason),
    /// The agent does not offer the level.
    Level {
        /// Wanted level.
        wanted: Level,
        /// Highest level that the agent offers.
        highest: Level,
        /// Whether the program's start limited the levels.
        lowered: bool,
    },
    /// The options need the level time.
    OptionsNeedTime(TimeOptions),
    /// The condition is wrong.
    Condition(ConditionError),
    /// The stacks of calls cannot be captured on this platform.
    NoStacks,
}
