//! The catalogue on the wire: domains and modules in rows, methods in columns and pages.

use crate::codec::{capped, joined_texts};
use crate::ids::ModuleKey;
use crate::limits::{MAX_DOMAINS, METHODS_PER_PAGE};
use crate::peer_text::shortened;
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// An AppDomain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainRow {
    /// `AppDomainID`, opaque.
    pub id: u64,
    /// Its friendly name.
    pub name: String,
    /// Whether it is the shared domain ("EE Shared Assembly Repository").
    pub shared: bool,
}

/// One load of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleRow {
    /// Its key.
    pub key: ModuleKey,
    /// The assembly's simple name, as in patterns.
    pub name: String,
    /// Path of the file; empty for in-memory modules.
    pub path: String,
    /// Module version id (ECMA-335 II.22.30), in registry format without braces.
    pub mvid: String,
    /// `AssemblyID`, opaque.
    pub assembly: u64,
    /// `AppDomainID`s of the domains that hold the module; for a shared module, of all that use it.
    #[serde(deserialize_with = "capped::<_, _, MAX_DOMAINS>")]
    pub domains: Vec<u64>,
    /// Whether one copy serves every domain.
    pub shared: bool,
    /// Whether the module is dynamic (Reflection.Emit), so that the agent refuses to dial it.
    pub dynamic: bool,
    /// Whether the module is collectible (can unload alone), so that the agent refuses to dial it.
    pub collectible: bool,
    /// Number of MethodDefs.
    pub methods: u32,
}

/// Many strings in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringColumn {
    /// End offset of each string in `text`, ascending, on character boundaries.
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub ends: Vec<u32>,
    /// All strings, back to back.
    #[serde(deserialize_with = "joined_texts")]
    pub text: String,
}

/// A page of methods. Columns have equal length unless noted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodPage {
    /// Modules on this page (not a per-method column).
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub modules: Vec<ModuleKey>,
    /// Index into `modules`.
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub module: Vec<u32>,
    /// MethodDef token.
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub token: Vec<u32>,
    /// Index into `type_names`.
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub type_index: Vec<u32>,
    /// Full names of the types on this page in C# form (not a per-method column).
    pub type_names: StringColumn,
    /// Metadata name of the method.
    pub name: StringColumn,
    /// `(PARAMS)` in C# form.
    pub signature: StringColumn,
    /// Methods without IL, which cannot be dialled: ascending indices into the columns above (not a per-method
    /// column).
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub bodyless: Vec<u32>,
    /// Reason for each entry of `bodyless` ([`Reason::is_bodyless`]).
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub bodyless_reason: Vec<Reason>,
}

impl MethodPage {
    /// Marks the method added last as having no IL.
    pub fn mark_bodyless(&mut self, reason: Reason) {
        if let Some(last) = self.token.len().checked_sub(1).and_then(|last| u32::try_from(last).ok()) {
            self.bodyless.push(last);
            self.bodyless_reason.push(reason);
        }
    }

    /// Returns the methods without IL, ascending, with their reasons; None if a peer sent inconsistent columns.
    pub fn bodyless(&self) -> Option<Vec<(u32, Reason)>> {
        let ascends = self.bodyless.is_sorted_by(|one, next| one < next);
        let within = self.bodyless.last().is_none_or(|last| (*last as usize) < self.token.len());
        let reasoned = self.bodyless.len() == self.bodyless_reason.len()
            && self.bodyless_reason.iter().all(|reason| reason.is_bodyless());
        let pairs = self.bodyless.iter().copied().zip(self.bodyless_reason.iter().copied());
        (ascends && within && reasoned).then(|| pairs.collect())
    }
}

impl StringColumn {
    /// Appends a string. Returns false and changes nothing if the column would exceed 4 GiB.
    pub fn push(&mut self, s: &str) -> bool {
        let Ok(end) = u32::try_from(self.text.len() + s.len()) else { return false };
        self.text.push_str(s);
        self.ends.push(end);
        true
    }

    /// Returns the string at `index`; None if out of range or if a peer sent inconsistent offsets.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)? as usize,
            None => 0,
        };
        self.text.get(start..end).map(shortened)
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_inconsistent_bodyless_columns() {
        let mut page = MethodPage::default();
        page.mark_bodyless(Reason::NoBody);
        assert_eq!(page.bodyless(), Some(vec![]), "there is no method to mark");
        for (token, reason) in [(1, Some(Reason::NoBody)), (2, None), (3, Some(Reason::PInvoke))] {
            page.token.push(token);
            reason.into_iter().for_each(|reason| page.mark_bodyless(reason));
        }
        assert_eq!(page.bodyless(), Some(vec![(0, Reason::NoBody), (2, Reason::PInvoke)]));
        for tear in [
            |page: &mut MethodPage| page.bodyless = vec![2, 0],
            |page: &mut MethodPage| page.bodyless = vec![0, 0],
            |page: &mut MethodPage| page.bodyless = vec![0, 3],
            |page: &mut MethodPage| page.bodyless = vec![0, u32::MAX],
            |page: &mut MethodPage| page.bodyless.push(2),
            |page: &mut MethodPage| page.bodyless_reason.truncate(1),
            |page: &mut MethodPage| page.bodyless_reason = vec![Reason::NoBody, Reason::BadIl],
        ] {
            let mut torn = page.clone();
            tear(&mut torn);
            assert_eq!(torn.bodyless(), None, "{torn:?}");
        }
    }
}
