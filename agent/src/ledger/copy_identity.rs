//! The copy that a row is about.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::catalogue::names::MethodNames;
use redial_protocol::diagnostics::UntimedReason;
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::pattern::Pattern;
use std::sync::Arc;

/// The copy that a row is about. It never changes, so it can be read without the ledger's lock.
pub struct CopyIdentity {
    /// Its module.
    pub module: Arc<Module>,
    /// MethodDef token.
    pub token: u32,
    /// StandAloneSig token of the original body's variables; 0 if it has none.
    pub local_sig: u32,
    /// Whether the JIT may inline it.
    pub inlinable: bool,
    /// Whether its last call is to itself.
    pub ends_in_itself: bool,
    /// Whether other code may replace calls of it, even while it must not be inlined.
    pub expanded: bool,
    /// Whether the code of a level may take its body above the size up to which the JIT optimizes.
    pub nearly_too_large: bool,
    /// Why its body cannot be timed, if so.
    pub untimed: Option<UntimedReason>,
    /// Its names.
    pub names: MethodNames,
}

impl CopyIdentity {
    /// Returns the copy.
    pub fn copy(&self) -> CopyKey {
        CopyKey { module: self.module.key, token: MethodToken(self.token) }
    }

    /// Returns `Module!Type.Method(PARAMS)`, a pattern for exactly this method.
    pub fn full_name(&self) -> String {
        self.names.full_name(&self.module.name)
    }

    /// Makes one for tests.
    #[cfg(test)]
    pub fn sample(module: Arc<Module>, token: u32) -> CopyIdentity {
        let (method, signature) = (format!("Sample.Method{token:x}"), "()".to_owned());
        let (type_name, name) = ("Sample".into(), method.clone());
        let names = MethodNames { method, signature, type_name, name, arity: 0, canonical: None };
        CopyIdentity {
            module,
            token,
            local_sig: 0,
            inlinable: false,
            expanded: false,
            nearly_too_large: false,
            untimed: None,
            ends_in_itself: false,
            names,
        }
    }

    /// Whether a pattern matches this copy, which must not need metadata (`RowFilter` matches those that do).
    pub fn matches(&self, pattern: &Pattern) -> bool {
        pattern.matches_assembly(&self.module.name)
            && match pattern.token() {
                Some(token) => token == self.token,
                None => self.names.match_pattern(pattern),
            }
    }
}
