//! Notes of a row: why it was refused, which calls its count misses, and which times are missing.

use crate::cost::Share;
use crate::level::Level;
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Why a row is refused or failed, or which calls its counter misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowNote {
    /// The copy is not dialled.
    NotDialled {
        /// Reason for the refusal or failure.
        reason: Reason,
        /// The HRESULT for `Reason::Hresult`, else 0.
        hresult: u32,
    },
    /// The runtime accepted the request but still compiled original code, whose calls are not counted.
    RequestIgnored,
    /// Callers that cannot be recompiled have inlined the method; calls from there are not counted.
    Inlined,
    /// Unknown callers may have inlined the method; calls from there are not counted.
    PerhapsInlined,
    /// The JIT or precompiled code of other modules may replace calls by other code; these are not counted.
    CallsReplaced,
}

/// What the budget did to a row, and what its times lack. The number of calls is exact in each case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimesNote {
    /// The budget stepped the dial down.
    pub stepped_down: Option<SteppedDown>,
    /// The budget leaves the dial alone, because a person raised it again after such a step.
    pub spared: bool,
    /// Missing part of the times; if there are several, the gravest.
    pub missing: Option<MissingTimes>,
}

impl TimesNote {
    /// Returns the note, or None if it says nothing.
    pub fn unless_empty(self) -> Option<TimesNote> {
        (self != TimesNote::default()).then_some(self)
    }
}

/// A step of the budget for one dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteppedDown {
    /// New level.
    pub to: Level,
    /// Cost of the dial before the step.
    pub cost: Share,
    /// Limit for all dials together.
    pub limit: Share,
}

/// Missing part of a row's times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingTimes {
    /// All times: the row is only counted.
    Untimed(UntimedReason),
    /// The slowest calls, for lack of memory.
    SlowestCalls,
    /// The percentiles, for lack of memory.
    Percentiles,
    /// Calls nested more deeply than a thread's timed calls may be; they are only counted.
    NestedCalls {
        /// Timed calls that a thread may have open at once.
        limit: u32,
    },
    /// Calls of threads without memory for their times; they are only counted.
    CallsWithoutMemory,
    /// The completions of an async method, until the method that does its work is dialled at time, too.
    CompletionsNeedDial {
        /// Pattern for that method.
        pattern: String,
    },
    /// The completions of an async method, for good.
    Completions(UnseenCompletions),
    /// The callers: the agent can count them only on x86-64 Linux.
    Callers,
}

/// Reason why a method is only counted although times are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UntimedReason {
    /// The method uses `jmp` or `tail.`, so its end cannot be seen.
    GivesFrameAway,
    /// The method calls itself last and may rely on a stack that does not grow.
    EndsInItself,
    /// Its signature cannot be read.
    Signature,
    /// The signature of a timed body's variables could not be added to its module's metadata.
    NoRoom,
    /// The agent's memory for times is used up.
    NoMemory,
}

/// Reason why the completions of an async method are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnseenCompletions {
    /// An async method without a known `MoveNext`.
    NoMachine,
    /// A `MoveNext` of an unknown form.
    UnknownForm,
    /// No slots are left.
    NoRoom,
    /// An async iterator.
    Iterator,
    /// The runtime itself implements the suspension.
    Runtime,
}
