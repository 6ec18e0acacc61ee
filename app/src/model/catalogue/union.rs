//! A catalogue of several processes: each is a domain of it, and what they have of the same file are copies. Nothing is
//! read anew for it: modules are taken over as they stand in the processes' own catalogues.

use super::builder::{Batch, NameOrder};
use super::{Catalogue, Module};
use crate::model::ids::{ModuleIx, TypeIx};
use crate::model::query::fold;
use redial_protocol::ids::ModuleKey;
use std::cmp::Ordering;
use std::collections::HashMap;

impl Catalogue {
    /// From now on its domains are processes.
    pub fn span_processes(&mut self) {
        self.spans = true;
        self.merged = true;
    }

    /// Whether its domains are processes.
    pub fn spans_processes(&self) -> bool {
        self.spans
    }

    /// Notes why nothing of a domain can be turned, or that it can be.
    pub fn set_beyond(&mut self, domain: u64, why: Option<String>) {
        let changed = match why {
            Some(why) => self.beyond.insert(domain, why.clone()) != Some(why),
            None => self.beyond.remove(&domain).is_some(),
        };
        self.edition += u64::from(changed);
    }

    /// Why nothing of a module can be turned, where that is so: its process is out of reach.
    pub fn beyond(&self, module: &Module) -> Option<&str> {
        if self.beyond.is_empty() {
            return None;
        }
        module.domains.first().and_then(|domain| self.beyond.get(domain)).map(String::as_str)
    }

    /// Domains of which something can be turned.
    pub fn domains_in_reach(&self) -> usize {
        self.domains.iter().filter(|domain| !self.beyond.contains_key(&domain.id)).count()
    }

    /// A module as it came, to be taken over into another catalogue.
    pub fn batch(&self, module: ModuleIx) -> Option<Batch> {
        self.extract(module.0 as usize)
    }

    /// The module of a key.
    pub fn by_key(&self, key: ModuleKey) -> Option<&Module> {
        self.modules.get(*self.by_key.get(&key)? as usize)
    }

    /// The order of names when modules of `parts` were taken over, each under the key that its map says. Only types that
    /// no part before has are compared by name; copies stand beside each other.
    pub fn order_of_parts<'a>(
        &self,
        parts: impl Iterator<Item = (&'a Catalogue, &'a HashMap<ModuleKey, ModuleKey>)>,
    ) -> NameOrder {
        // Of each module that is the first of its file: itself and its copies.
        let mut copies: Vec<Vec<u32>> = vec![Vec::new(); self.modules.len()];
        for (index, module) in (0..).map(ModuleIx).zip(&self.modules) {
            let same = copies.get_mut(self.lead_of_any(index).0 as usize);
            same.into_iter().for_each(|same| same.push(module.types.start));
        }
        let mut leads: Vec<u32> = Vec::new();
        for (part, keys) in parts {
            // Where the types of each of its modules are here, for those that are the first of their files.
            let ours = |theirs: &Module| {
                let index = *self.by_key.get(keys.get(&theirs.key)?)? as usize;
                let is_first = copies.get(index).is_some_and(|same| !same.is_empty());
                self.modules
                    .get(index)
                    .filter(|_| is_first)
                    .map(|ours| (theirs.types.start, ours.types.start))
            };
            let moved: Vec<Option<(u32, u32)>> = part.modules.iter().map(ours).collect();
            if moved.iter().all(Option::is_none) {
                continue;
            }
            let own = part.types_by_name().filter_map(|owner| {
                let (theirs, ours) = (*moved.get(part.module_of_type(owner).0 as usize)?)?;
                Some(owner.0 - theirs + ours)
            });
            leads = self.merged_by_name(leads, own.collect());
        }
        let mut types = Vec::with_capacity(self.types.len());
        for owner in leads {
            let lead = self.module_of_type(TypeIx(owner)).0 as usize;
            let first = self.modules.get(lead).map_or(0, |lead| lead.types.start);
            types.extend(copies.get(lead).into_iter().flatten().map(|start| owner - first + start));
        }
        NameOrder { types }
    }

    /// Whether there is a module of the same file already.
    pub fn has_file(&self, module: &Module) -> bool {
        let same = self.by_name.get(&module.name).into_iter().flatten();
        same.filter_map(|index| self.modules.get(*index as usize)).any(|other| other.is_copy_of(module))
    }

    /// The first module of the same file, loaded or not.
    fn lead_of_any(&self, index: ModuleIx) -> ModuleIx {
        let Some(one) = self.module(index) else { return index };
        let same = self.by_name.get(&one.name).map_or(&[][..], Vec::as_slice).iter().copied().map(ModuleIx);
        let mut leads = same.filter(|other| self.module(*other).is_some_and(|other| other.is_copy_of(one)));
        leads.next().unwrap_or(index)
    }

    fn merged_by_name(&self, one: Vec<u32>, other: Vec<u32>) -> Vec<u32> {
        if one.is_empty() || other.is_empty() {
            return if one.is_empty() { other } else { one };
        }
        let mut merged = Vec::with_capacity(one.len() + other.len());
        let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
        while let (Some(first), Some(second)) = (one.peek(), other.peek()) {
            let next = match self.compare_names(TypeIx(*first), TypeIx(*second)) {
                Ordering::Greater => other.next(),
                Ordering::Less | Ordering::Equal => one.next(),
            };
            merged.extend(next);
        }
        merged.extend(one.chain(other));
        merged
    }

    /// As the builder orders types: by namespace, then by the rest, capitals or not.
    fn compare_names(&self, one: TypeIx, other: TypeIx) -> Ordering {
        let parts = |owner: TypeIx| {
            let name = self.type_name(owner);
            name.split_at_checked(self.namespace_name(self.namespace_of(owner)).len()).unwrap_or(("", name))
        };
        let (one, other) = (parts(one), parts(other));
        fold(one.0).cmp(&fold(other.0)).then_with(|| fold(one.1).cmp(&fold(other.1)))
    }
}
