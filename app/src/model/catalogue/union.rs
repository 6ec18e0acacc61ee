//! A catalogue of several processes: each is a domain of it, and what they have of the same file are copies. Nothing is
//! read anew for it: modules are taken over as they stand in the processes' own catalogues.

use super::builder::NameOrder;
use super::{Catalogue, Module};
use crate::model::ids::{ModuleIx, TypeIx};
use crate::model::methodset::MethodSet;
use crate::model::query::fold;
use redial_protocol::catalogue::DomainRow;
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
        self.domains_now().filter(|domain| !self.beyond.contains_key(&domain.id)).count()
    }

    /// Notes whether a domain is over: its process has ended, and only its last numbers are left.
    pub fn set_over(&mut self, domain: u64, over: bool) {
        let changed = if over { self.over.insert(domain) } else { self.over.remove(&domain) };
        self.edition += u64::from(changed);
    }

    /// Whether a module's domain is over.
    pub fn is_over(&self, module: &Module) -> bool {
        !self.over.is_empty() && module.domains.first().is_some_and(|domain| self.over.contains(domain))
    }

    /// Whether a module has no rows any more: each process has rows of its own, and this one's has ended, so that nobody turns
    /// them.
    pub fn has_lost_rows(&self, module: &Module) -> bool {
        self.interleaves() && self.is_over(module)
    }

    /// Those of some methods that are in domains that are not over.
    pub fn not_over(&self, methods: &MethodSet) -> MethodSet {
        let mut there = methods.clone();
        let over = self.modules.iter().filter(|module| self.is_over(module));
        over.for_each(|module| there.remove(module.methods.clone()));
        there
    }

    /// Domains that are not over.
    pub fn domains_there(&self) -> usize {
        self.domains_now().filter(|domain| !self.over.contains(&domain.id)).count()
    }

    /// Whether exactly these are its domains now: one that is gone keeps its place while it has modules.
    pub fn has_domains_now(&self, mut ids: impl ExactSizeIterator<Item = u64>) -> bool {
        ids.len() == self.current.len() && ids.all(|id| self.current.contains(&id))
    }

    fn domains_now(&self) -> impl Iterator<Item = &DomainRow> {
        self.domains.iter().filter(|domain| self.current.contains(&domain.id))
    }

    /// Whether processes have a row each for a method, which then stand beside each other.
    pub fn interleaves(&self) -> bool {
        self.spans && !self.merged
    }

    /// Whether two types are copies of each other.
    pub fn is_same_type(&self, one: TypeIx, other: TypeIx) -> bool {
        let of = |owner: TypeIx| self.module(self.module_of_type(owner));
        of(one).zip(of(other)).is_some_and(|(mine, theirs)| {
            mine.is_copy_of(theirs)
                && mine.name == theirs.name
                && one.0.wrapping_sub(mine.types.start) == other.0.wrapping_sub(theirs.types.start)
        })
    }

    /// What tells a module's process from the others, short: its pid where all are called the same.
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

    /// Where the module of a key is.
    pub fn index_of(&self, key: ModuleKey) -> Option<ModuleIx> {
        self.by_key.get(&key).map(|index| ModuleIx(*index))
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
