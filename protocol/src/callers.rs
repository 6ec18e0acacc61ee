//! Who calls a method.

use crate::codec::capped;
use crate::ids::{CopyKey, RowId};
use crate::limits::MAX_CALLERS;
use serde::{Deserialize, Serialize};

/// Who called a row's method while its callers were wanted: each such call is in one of the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCallers {
    /// The row.
    pub row: RowId,
    /// Most calls first.
    #[serde(deserialize_with = "capped::<_, _, MAX_CALLERS>")]
    pub callers: Vec<Caller>,
    /// Calls whose callers are not among them: they came from more places than are told apart
    /// ([`crate::limits::MAX_CALL_SITES`] on a thread), or the agent's memory was used up.
    pub others: u64,
}

impl RowCallers {
    /// Calls since callers were wanted first, without those made while they were not.
    pub fn calls(&self) -> u64 {
        self.callers.iter().map(|caller| caller.calls).fold(self.others, u64::saturating_add)
    }
}

/// One caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Who it is.
    pub who: Who,
    /// Places in its code that calls came from, those of each of its compilations by themselves.
    pub sites: u32,
    /// Calls from there.
    pub calls: u64,
}

/// Whose code a call came from. A method that was inlined has none: the one that it was inlined into is the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Who {
    /// A method's; all its instantiations are one.
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
    /// A method's that was made at run time and has no metadata, or a stub that the runtime made; its name, which may be empty.
    Dynamic {
        /// The name.
        name: String,
    },
    /// The runtime's own, or another native library's.
    Native,
    /// Code that is gone, and was when it was to be looked up.
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_those_of_the_callers_and_of_the_others() {
        let caller = |who, calls| Caller { who, sites: 1, calls };
        let callers = vec![caller(Who::Native, 4), caller(Who::Gone, 3)];
        let mut told = RowCallers { row: RowId(1), callers, others: 2 };
        assert_eq!(told.calls(), 9);
        told.others = u64::MAX;
        assert_eq!(told.calls(), u64::MAX);
    }
}
