//! Callers of a method.

use crate::codec::capped;
use crate::ids::{CopyKey, RowId};
use crate::limits::MAX_CALLERS;
use serde::{Deserialize, Serialize};

/// Calls of a row's method by caller, while callers were counted. Each such call is in exactly one of the
/// numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCallers {
    /// The row.
    pub row: RowId,
    /// Callers, most calls first.
    #[serde(deserialize_with = "capped::<_, _, MAX_CALLERS>")]
    pub callers: Vec<Caller>,
    /// Calls without a known caller: they came from more call sites than a thread distinguishes
    /// ([`crate::limits::MAX_CALL_SITES`]), or the agent's memory limit was reached.
    pub others: u64,
}

impl RowCallers {
    /// Returns the number of calls made while callers were counted.
    pub fn calls(&self) -> u64 {
        self.callers.iter().map(|caller| caller.calls).fold(self.others, u64::saturating_add)
    }
}

/// One caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Origin of the calls.
    pub origin: CallOrigin,
    /// Number of call sites in its code, counted separately for each of its compilations.
    pub sites: u32,
    /// Number of calls from there.
    pub calls: u64,
}

/// The code that contains the call. An inlined method has no code of its own: the caller is the method it was
/// inlined into.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CallOrigin {
    /// Code of a method; all its instantiations count as one.
    Method {
        /// The copy.
        copy: CopyKey,
        /// The assembly's simple name.
        module: String,
        /// `Namespace.Type.Method`.
        method: String,
        /// `(PARAMS)`.
        signature: String,
    },
    /// Code of a method without metadata that was made at run time, or a stub of the runtime.
    Dynamic {
        /// Name, possibly empty.
        name: String,
    },
    /// Code of the runtime or of another native library.
    Native,
    /// Code that no longer existed when the agent looked it up.
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_calls_include_unknown_callers() {
        let caller = |origin, calls| Caller { origin, sites: 1, calls };
        let callers = vec![caller(CallOrigin::Native, 4), caller(CallOrigin::Gone, 3)];
        let mut row_callers = RowCallers { row: RowId(1), callers, others: 2 };
        assert_eq!(row_callers.calls(), 9);
        row_callers.others = u64::MAX;
        assert_eq!(row_callers.calls(), u64::MAX);
    }
}
