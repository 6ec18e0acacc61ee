//! The catalogue as it travels: domains and modules as rows, methods in columns and pages.

use crate::codec::capped;
use crate::ids::ModuleKey;
use crate::limits::{MAX_DOMAINS, METHODS_PER_PAGE};
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

/// A module as loaded once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleRow {
    /// Its key.
    pub key: ModuleKey,
    /// The assembly's simple name, as in patterns.
    pub name: String,
    /// Path of the file, empty for in-memory modules.
    pub path: String,
    /// Module version id (ECMA-335 II.22.30), in registry format without braces.
    pub mvid: String,
    /// `AssemblyID`, opaque.
    pub assembly: u64,
    /// `AppDomainID`s of the domains that hold it; of a shared one, of all that use it.
    #[serde(deserialize_with = "capped::<_, _, MAX_DOMAINS>")]
    pub domains: Vec<u64>,
    /// Whether one copy serves every domain.
    pub shared: bool,
    /// Whether it is dynamic (Reflection.Emit), so that ReJIT is refused.
    pub dynamic: bool,
    /// Whether it is collectible (can be unloaded alone), so that ReJIT is refused.
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
    pub text: String,
}

/// A page of methods. Columns of equal length unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodPage {
    /// The modules that occur on this page (not a per-method column).
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
    /// Full names of the types that occur here, C# form (not a per-method column).
    pub type_names: StringColumn,
    /// Metadata name of the method.
    pub name: StringColumn,
    /// `(PARAMS)` in C# form.
    pub signature: StringColumn,
    /// The methods without IL, which no dial can be turned on: indices into the columns above, ascending (not a
    /// per-method column).
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub bodyless: Vec<u32>,
    /// Of each of `bodyless`: why ([`Reason::is_bodyless`]).
    #[serde(deserialize_with = "capped::<_, _, METHODS_PER_PAGE>")]
    pub bodyless_reason: Vec<Reason>,
}

impl MethodPage {
    /// Notes that the method added last has no IL.
    pub fn mark_bodyless(&mut self, reason: Reason) {
        if let Some(last) = self.token.len().checked_sub(1).and_then(|last| u32::try_from(last).ok()) {
            self.bodyless.push(last);
            self.bodyless_reason.push(reason);
        }
    }

    /// The methods without IL, ascending, each with the reason; None when a peer sent what cannot be.
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
    /// Appends one string. Returns false, changing nothing, when the column would pass 4 GiB.
    pub fn push(&mut self, s: &str) -> bool {
        let Ok(end) = u32::try_from(self.text.len() + s.len()) else { return false };
        self.text.push_str(s);
        self.ends.push(end);
        true
    }

    /// The string at `index`; None out of range or when a peer sent inconsistent offsets.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)? as usize,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_without_a_body_are_told_or_the_page_is_not_believed() {
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
