//! A catalogue of several processes: each process is a domain, and modules of the same file are copies.
//! Modules are copied from the processes' own catalogues without reading anything again.

use super::builder::NameOrder;
use super::{Catalogue, Module};
use crate::ids::{ModuleIx, TypeIx};
use crate::method_set::MethodSet;
use crate::query::fold;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::ModuleKey;
use std::cmp::Ordering;
use std::collections::HashMap;

impl Catalogue {
    /// Makes domains stand for processes.
    pub fn span_processes(&mut self) {
        self.spans_processes = true;
        self.merged = true;
    }

    /// Returns whether domains stand for processes.
    pub fn spans_processes(&self) -> bool {
        self.spans_processes
    }

    /// Sets why a domain cannot be changed, or that it can.
    pub fn set_unavailable_reason(&mut self, domain: u64, why: Option<String>) {
        let changed = match why {
            Some(why) => self.unavailable.insert(domain, why.clone()) != Some(why),
            None => self.unavailable.remove(&domain).is_some(),
        };
        self.edition += u64::from(changed);
    }

    /// Returns why a module cannot be changed: its process is unavailable.
    pub fn unavailable_reason(&self, module: &Module) -> Option<&str> {
        if self.unavailable.is_empty() {
            return None;
        }
        module.domains.first().and_then(|domain| self.unavailable.get(domain)).map(String::as_str)
    }

    /// Returns the number of domains that can be changed.
    pub fn available_domains(&self) -> usize {
        self.domains_now().filter(|domain| !self.unavailable.contains_key(&domain.id)).count()
    }

    /// Sets whether a domain's process has ended, so that only its last numbers are left.
    pub fn set_process_ended(&mut self, domain: u64, over: bool) {
        let changed = if over { self.ended.insert(domain) } else { self.ended.remove(&domain) };
        self.edition += u64::from(changed);
    }

    /// Returns whether a module's process has ended.
    pub fn process_ended(&self, module: &Module) -> bool {
        !self.ended.is_empty() && module.domains.first().is_some_and(|domain| self.ended.contains(domain))
    }

    /// Returns whether a module has no rows any more: each process has its own rows, and this module's
    /// process has ended, so that nobody can change them.
    pub fn has_lost_rows(&self, module: &Module) -> bool {
        self.interleaves() && self.process_ended(module)
    }

    /// Returns those methods whose processes have not ended.
    pub fn in_running_processes(&self, methods: &MethodSet) -> MethodSet {
        let mut there = methods.clone();
        let over = self.modules.iter().filter(|module| self.process_ended(module));
        over.for_each(|module| there.remove(module.methods.clone()));
        there
    }

    /// Returns the number of domains whose processes have not ended.
    pub fn running_domains(&self) -> usize {
        self.domains_now().filter(|domain| !self.ended.contains(&domain.id)).count()
    }

    /// Returns whether exactly these are the current domains. A domain that is gone keeps its index while it
    /// has modules.
    pub fn has_domains_now(&self, mut ids: impl ExactSizeIterator<Item = u64>) -> bool {
        ids.len() == self.current_domains.len() && ids.all(|id| self.current_domains.contains(&id))
    }

    fn domains_now(&self) -> impl Iterator<Item = &DomainRow> {
        self.domains.iter().filter(|domain| self.current_domains.contains(&domain.id))
    }

    /// Returns whether each process has its own row for a method, beside those of the others.
    pub fn interleaves(&self) -> bool {
        self.spans_processes && !self.merged
    }

    /// Returns whether two types are copies of each other.
    pub fn is_same_type(&self, one: TypeIx, other: TypeIx) -> bool {
        let of = |owner: TypeIx| self.module(self.module_of_type(owner));
        of(one).zip(of(other)).is_some_and(|(mine, theirs)| {
            mine.is_copy_of(theirs)
                && mine.name == theirs.name
                && one.0.wrapping_sub(mine.types.start) == other.0.wrapping_sub(theirs.types.start)
        })
    }

    /// Returns a short name of a module's process: its pid if all processes have the same name.
    pub fn short_place(&self, module: &Module) -> &str {
        let parts = |name: &'_ str| {
            name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")).map(|(name, _)| name.len())
        };
        let Some(own) = self.domains.get(module.domain as usize).map(|domain| domain.name.as_str()) else {
            return "";
        };
        let Some(length) = parts(own) else { return own };
        let program = own.get(..length).unwrap_or(own);
        let same = |name: &str| parts(name) == Some(length) && name.starts_with(program);
        match self.domains.iter().all(|domain| same(&domain.name)) {
            true => own.get(length + 2..own.len() - 1).unwrap_or(own),
            false => own,
        }
    }

    /// Returns the index of the module with a key.
    pub fn index_of(&self, key: ModuleKey) -> Option<ModuleIx> {
        self.by_key.get(&key).map(|index| ModuleIx(*index))
    }

    /// Returns the module with a key.
    pub fn by_key(&self, key: ModuleKey) -> Option<&Module> {
        self.modules.get(*self.by_key.get(&key)? as usize)
    }

    /// Returns the name order after modules of `parts` were imported, each under the key in its map. Only
    /// types that no earlier part has are compared by name; copies are adjacent.
    pub fn order_of_parts<'a>(
        &self,
        parts: impl Iterator<Item = (&'a Catalogue, &'a HashMap<ModuleKey, ModuleKey>)>,
    ) -> NameOrder {
        // For each module that is the first of its file: itself and its copies.
        let mut copies: Vec<Vec<u32>> = vec![Vec::new(); self.modules.len()];
        for (index, module) in (0..).map(ModuleIx).zip(&self.modules) {
            let same = copies.get_mut(self.lead_of_any(index).0 as usize);
            same.into_iter().for_each(|same| same.push(module.types.start));
        }
        let mut leads: Vec<u32> = Vec::new();
        for (part, keys) in parts {
            // Map the types of the part's modules that are the first of their files.
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

    /// Returns whether a module of the same file is already here.
    pub fn has_file(&self, module: &Module) -> bool {
        let same = self.by_name.get(&module.name).into_iter().flatten();
        same.filter_map(|index| self.modules.get(*index as usize)).any(|other| other.is_copy_of(module))
    }

    /// Returns the first module of the same file, loaded or not.
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

    /// Compares as the builder does: by namespace, then by the rest, ignoring case.
    fn compare_names(&self, one: TypeIx, other: TypeIx) -> Ordering {
        let parts = |owner: TypeIx| {
            let name = self.type_name(owner);
            name.split_at_checked(self.namespace_name(self.namespace_of(owner)).len()).unwrap_or(("", name))
        };
        let (one, other) = (parts(one), parts(other));
        fold(one.0).cmp(&fold(other.0)).then_with(|| fold(one.1).cmp(&fold(other.1)))
    }
}
