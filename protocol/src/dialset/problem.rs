//! Problems with dial sets.

use super::{HEADER, VERSION, VERSION_WITH_CONDITIONS};
use crate::condition::ConditionError;
use crate::limits::MAX_ORDERS;
use crate::pattern::PatternError;

/// Problem in a dial set, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct DialSetError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: DialProblem,
}

/// Problem with an order in text form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialProblem {
    /// The text is not a dial set.
    #[error("a dial set begins with the line '{HEADER}{VERSION}'")]
    NoHeader,
    /// The dial set has another version.
    #[error(
        "this dial set has version '{found}'; this program reads versions {VERSION} and {VERSION_WITH_CONDITIONS}"
    )]
    OtherVersion {
        /// Version of the dial set.
        found: String,
    },
    /// The line has no `=`.
    #[error("'{text}' is not an order; write PATTERN = LEVEL")]
    NoLevel {
        /// The line.
        text: String,
    },
    /// The word is not a level.
    #[error("'{word}' is not a level; the levels are off, count, time and trace")]
    UnknownLevel {
        /// The word.
        word: String,
    },
    /// The word is not an option, or an option occurs twice.
    #[error(
        "'{text}' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION"
    )]
    BadOption {
        /// The text from the option on.
        text: String,
    },
    /// The value of `copy=` is not a number.
    #[error("'{text}' is not a module id; write it as status shows it, for example copy=0x7f31c0a84000")]
    BadCopy {
        /// The value.
        text: String,
    },
    /// The value of `slower-than=` is not a valid duration.
    #[error("'{text}' is not a valid option: {why}")]
    BadThreshold {
        /// The option.
        text: String,
        /// Explanation.
        why: String,
    },
    /// Options for timed calls at a level below time.
    #[error("'{text}' needs level time; write PATTERN = time {text}")]
    NeedsTime {
        /// The options.
        text: String,
    },
    /// Limits on traced calls at a level below trace.
    #[error("'{text}' needs level trace; write PATTERN = trace {text}")]
    NeedsTrace {
        /// The options.
        text: String,
    },
    /// Stacks at level time without slowest calls.
    #[error(
        "'stack' at level time needs slower-than=DURATION or failed-only: it is captured for the slowest calls"
    )]
    StackNeedsCalls,
    /// The condition is wrong.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A quoted text without closing quote or with an unknown escape.
    #[error("the quoted text {text} has no closing quote, or an unknown escape")]
    BadQuote {
        /// The text from the quote on.
        text: String,
    },
    /// The pattern is wrong.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// More than [`MAX_ORDERS`].
    #[error("a dial set has at most {MAX_ORDERS} orders")]
    TooMany,
}
