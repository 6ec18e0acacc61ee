//! Async methods among the rows: whether a dial at *time* observes their completions, and from when to when.
#![forbid(unsafe_code)]

use crate::probes::completions::Account;
use redial_protocol::diagnostics::{MissingTimes, UnseenCompletions};
use redial_protocol::ids::MethodToken;
use std::sync::Arc;

/// The role of a row's method in async code.
#[derive(Clone, Debug)]
pub enum AsyncRole {
    /// An async method: its own body only starts the work.
    Starts(Arc<Account>),
    /// The `MoveNext` of an async method, in which its calls begin and complete.
    Completes(Arc<Account>),
    /// An async method or its `MoveNext`, if the agent cannot observe its completions.
    Unseen(UnseenCompletions),
}

/// The data that an async method's times lack.
#[derive(Clone, Debug)]
pub enum MissingCompletions {
    /// Its completions, until its `MoveNext` is dialled.
    Dial(Arc<Account>),
    /// Its completions, for good.
    Unseen(UnseenCompletions),
}

impl MissingCompletions {
    /// Returns the code for the wire.
    pub fn code(&self) -> MissingTimes {
        match self {
            MissingCompletions::Dial(account) => {
                MissingTimes::CompletionsNeedDial { pattern: account.pattern.to_string() }
            }
            MissingCompletions::Unseen(unseen) => MissingTimes::Completions(*unseen),
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
