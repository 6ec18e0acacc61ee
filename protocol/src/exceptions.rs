//! Thrown exceptions: the events of `redial exceptions`, which needs no dial.

use crate::codec::capped;
use crate::limits::MAX_INNER_EXCEPTIONS;
use crate::trace::{InnerException, Value};
use serde::{Deserialize, Serialize};

/// Exceptions of one type that one method throws, as counts and exceptions refer to them. Sent once, before these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownRow {
    /// Number of the row within its stream: 0, 1, …
    pub row: u32,
    /// The exceptions' type, for generic types the definition; absent if its module was unloaded too soon.
    pub type_name: Option<String>,
    /// The method that throws them; absent if the runtime names none.
    pub method: Option<ThrowingMethod>,
}

/// The method that throws an exception: the innermost one with metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThrowingMethod {
    /// The assembly's simple name.
    pub module: String,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
}

/// Exceptions of a row since the stream began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownCount {
    /// [`ThrownRow::row`].
    pub row: u32,
    /// Every throw, including the rethrown ones.
    pub thrown: u64,
    /// Those thrown again: by `throw;`, or with the stack trace of an earlier throw.
    pub rethrown: u64,
}

/// One throw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownException {
    /// [`ThrownRow::row`].
    pub row: u32,
    /// Unix time in nanoseconds.
    pub unix_ns: u64,
    /// Operating-system id of the thread (on Linux within the namespace of the process); 0 if unknown.
    pub thread: u32,
    /// Whether it was thrown before.
    pub rethrown: bool,
    /// Its message.
    pub message: Value,
    /// Its inner exception, then that one's, and so on.
    #[serde(deserialize_with = "capped::<_, _, MAX_INNER_EXCEPTIONS>")]
    pub inner: Vec<InnerException>,
}

impl ThrownException {
    /// Returns the number of values in its messages.
    pub fn values(&self) -> usize {
        let inner = self.inner.iter().filter_map(|one| one.message.as_ref());
        inner.chain([&self.message]).map(Value::count).sum()
    }
}

/// All exceptions of a stream so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownTotals {
    /// Every throw of a matching type, in a row or not.
    pub thrown: u64,
    /// Those thrown again.
    pub rethrown: u64,
    /// Throws without a row, because the stream or the agent has as many rows as it may.
    pub others: u64,
    /// Throws that were counted but not sent, because there were too many in a second, or the session read too slowly.
    pub unsent: u64,
}
