//! Async methods among the rows: whether a dial at *time* observes their completions, and from when to when.
#![forbid(unsafe_code)]

use crate::probes::completions::Account;
use redial_protocol::ids::MethodToken;
use std::borrow::Cow;
use std::sync::Arc;

/// The role of a row's method in async code.
#[derive(Clone, Debug)]
pub enum AsyncRole {
    /// An async method: its own body only starts the work.
    Starts(Arc<Account>),
    /// The `MoveNext` of an async method, in which its calls begin and complete.
    Completes(Arc<Account>),
    /// An async method or its `MoveNext`, if the agent cannot observe its completions.
    Unseen(UnseenReason),
}

/// Why the completions are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnseenReason {
    /// An async method without a known `MoveNext`.
    NoMachine,
    /// A `MoveNext` of an unknown form.
    Otherwise,
    /// No slots are left.
    NoRoom,
    /// An async iterator.
    Iterator,
    /// The runtime itself implements the suspension.
    Runtime,
}

impl UnseenReason {
    /// Returns one sentence, without a final period.
    fn sentence(self) -> &'static str {
        match self {
            UnseenReason::NoMachine => {
                "it is async: its times end at its first await; its completions are unknown, because its state machine \
                 was not found"
            }
            UnseenReason::Otherwise => {
                "its times cover the steps of an async method; the method's completions are unknown, because its compiler \
                 writes state machines of an unknown form"
            }
            UnseenReason::NoRoom => {
                "its times cover the steps of an async method; no slots are left to record the method's completions"
            }
            UnseenReason::Iterator => {
                "it is an async iterator: its times only cover its starts; its completions are unknown"
            }
            UnseenReason::Runtime => {
                "its async form is the runtime's own: its times only cover its starts; its completions are unknown"
            }
        }
    }
}

/// The data that an async method's times lack.
#[derive(Clone, Debug)]
pub enum MissingCompletions {
    /// Its completions, until its `MoveNext` is dialled.
    Dial(Arc<Account>),
    /// Its completions, for good.
    Unseen(UnseenReason),
}

impl MissingCompletions {
    /// Returns one sentence, without a final period.
    pub fn sentence(&self) -> Cow<'static, str> {
        match self {
            MissingCompletions::Dial(account) => Cow::Owned(format!(
                "it is async: its times end at its first await; to see its completions, dial {} at time, too",
                account.pattern
            )),
            MissingCompletions::Unseen(unseen) => Cow::Borrowed(unseen.sentence()),
        }
    }
}

impl AsyncRole {
    /// Returns the data that its times lack now.
    pub fn missing(&self) -> Option<MissingCompletions> {
        match self {
            AsyncRole::Starts(account) => {
                (!account.is_open()).then(|| MissingCompletions::Dial(Arc::clone(account)))
            }
            AsyncRole::Completes(_) => None,
            AsyncRole::Unseen(unseen) => Some(MissingCompletions::Unseen(*unseen)),
        }
    }

    /// Returns the MethodDef token of the `MoveNext` in which its calls complete; None for that `MoveNext` itself,
    /// and if it is unknown.
    pub fn move_next(&self) -> Option<MethodToken> {
        match self {
            AsyncRole::Starts(account) => Some(MethodToken(account.move_next)),
            AsyncRole::Completes(_) | AsyncRole::Unseen(_) => None,
        }
    }

    /// Returns the counters of its starts and completions.
    pub fn account(&self) -> Option<&Arc<Account>> {
        match self {
            AsyncRole::Starts(account) | AsyncRole::Completes(account) => Some(account),
            AsyncRole::Unseen(_) => None,
        }
    }
}
