//! Copies of one assembly, in several AppDomains or in several load contexts of one. When merged, a method is
//! one row, however many copies it has; otherwise each copy has its own row.

use super::{Catalogue, Module};
use crate::ids::{EVERY_DOMAIN, MethodIx, ModuleIx, Node, TypeIx};
use crate::iis::IisName;
use crate::method_set::MethodSet;
use std::collections::HashMap;
use std::ops::Range;

impl Catalogue {
    /// Merges copies or shows each separately.
    pub fn set_merged(&mut self, merged: bool) {
        if self.merged != merged {
            self.merged = merged;
            self.modules_changed();
        }
    }

    /// Returns whether copies are to be merged, even if there are none.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Returns whether more than one AppDomain has modules of its own.
    pub fn has_domains(&self) -> bool {
        let loaded = self.modules.iter().filter(|module| !module.unloaded && !module.shared);
        let mut domains = loaded.map(|module| module.domain);
        let first = domains.next();
        domains.any(|domain| Some(domain) != first)
    }

    /// Returns whether some assembly is loaded more than once, so that merging makes a difference.
    pub fn has_copies(&self) -> bool {
        self.by_name.values().any(|same| self.loaded(same).nth(1).is_some())
    }

    /// Returns the tree's domain for a module.
    pub fn tree_domain(&self, module: ModuleIx) -> u32 {
        match self.merged && self.has_domains() {
            true => EVERY_DOMAIN,
            false => self.module(module).map_or(0, |module| module.domain),
        }
    }

    fn loaded<'a>(&'a self, same: &'a [u32]) -> impl Iterator<Item = ModuleIx> + 'a {
        let there = |index: &&u32| self.modules.get(**index as usize).is_some_and(|module| !module.unloaded);
        same.iter().filter(there).map(|index| ModuleIx(*index))
    }

    /// Returns the loaded modules with an assembly's name, including other builds, in the order of loading.
    pub fn namesakes(&self, name: &str) -> impl Iterator<Item = ModuleIx> + '_ {
        self.loaded(self.by_name.get(name).map_or(&[], Vec::as_slice))
    }

    /// Returns whether another module of the same name is loaded.
    pub fn has_namesake(&self, module: ModuleIx) -> bool {
        let name = self.module(module).map_or("", |module| &module.name);
        self.namesakes(name).any(|other| other != module)
    }

    /// Returns the module whose rows represent a module's when copies are merged: the first loaded one of the
    /// same file.
    pub fn lead(&self, module: ModuleIx) -> ModuleIx {
        let Some(one) = self.module(module) else { return module };
        let lead = self
            .namesakes(&one.name)
            .find(|other| self.module(*other).is_some_and(|other| other.is_copy_of(one)));
        lead.unwrap_or(module)
    }

    /// Returns the method whose row represents a method's: itself unless copies are merged.
    pub fn row_method(&self, method: MethodIx) -> MethodIx {
        if !self.merged {
            return method;
        }
        let own = self.module_of(method);
        let lead = self.lead(own);
        match (self.module(own), self.module(lead)) {
            (Some(own), Some(lead)) => MethodIx(method.0 - own.methods.start + lead.methods.start),
            _ => method,
        }
    }

    /// Like [`Catalogue::row_method`] for many methods; looks up each module once.
    pub fn leads(&self) -> LeadingCopies {
        let moved = self.merged_away();
        let shift =
            |(copy, lead): &(Range<u32>, Range<u32>)| (copy.clone(), lead.start.wrapping_sub(copy.start));
        LeadingCopies(moved.iter().map(shift).collect())
    }

    /// Like `leads`, with each row's place in name order.
    pub fn shown_places(&self) -> ShownPlaces<'_> {
        ShownPlaces { catalogue: self, leads: self.leads(), copies: 0, owner: TypeIx(0) }
    }

    /// Returns the ranges of methods without rows of their own because copies are merged, and the methods
    /// each is a copy of.
    pub fn merged_away(&self) -> Vec<(Range<u32>, Range<u32>)> {
        if !self.merged {
            return Vec::new();
        }
        let all = (0..self.modules.len() as u32).map(ModuleIx);
        all.filter_map(|module| {
            let lead = self.lead(module);
            let away = lead != module;
            Some((self.module(module)?.methods.clone(), self.module(lead)?.methods.clone())).filter(|_| away)
        })
        .collect()
    }

    /// Returns every loaded copy of a method, including other builds' methods with the same name and
    /// parameters, in the order of loading. Includes the method itself even if it was unloaded.
    pub fn copies(&self, method: MethodIx) -> Vec<MethodIx> {
        let own = self.module_of(method);
        let Some(module) = self.module(own) else { return Vec::new() };
        let copy = |other: ModuleIx| match other == own {
            true => Some(method),
            false => self.same_in(method, module, other),
        };
        let mut copies: Vec<MethodIx> = self.namesakes(&module.name).filter_map(copy).collect();
        if !copies.contains(&method) {
            copies.push(method);
        }
        copies
    }

    fn same_in(&self, method: MethodIx, own: &Module, other: ModuleIx) -> Option<MethodIx> {
        let module = self.module(other)?;
        if module.is_copy_of(own) {
            return Some(MethodIx(method.0 - own.methods.start + module.methods.start));
        }
        let name = self.type_text(self.type_of(method));
        let owner = module.types.clone().map(TypeIx).find(|owner| self.type_text(*owner) == name)?;
        self.same_in_type(method, owner)
    }

    fn same_in_type(&self, method: MethodIx, owner: TypeIx) -> Option<MethodIx> {
        let same = |other: &MethodIx| {
            self.method_name(*other) == self.method_name(method)
                && self.signature(*other) == self.signature(method)
        };
        self.methods_of_type(owner).map(MethodIx).find(same)
    }

    /// Returns the methods and every loaded copy of each; see [`Catalogue::copies`].
    pub fn with_copies(&self, methods: &MethodSet) -> MethodSet {
        let mut all = methods.clone();
        for (index, own) in self.modules.iter().enumerate() {
            if !methods.touches(&own.methods) || !self.has_namesake(ModuleIx(index as u32)) {
                continue;
            }
            let inside = methods.within(&own.methods);
            for other in self.namesakes(&own.name).filter(|other| other.0 as usize != index) {
                let Some(module) = self.module(other) else { continue };
                if module.is_copy_of(own) {
                    let shift = |at: u32| at - own.methods.start + module.methods.start;
                    inside.iter().for_each(|range| all.insert(shift(range.start)..shift(range.end)));
                } else {
                    self.add_of_other_build(&inside, module, &mut all);
                }
            }
        }
        all
    }

    fn add_of_other_build(&self, inside: &[Range<u32>], module: &Module, all: &mut MethodSet) {
        let types: HashMap<&str, TypeIx> =
            module.types.clone().map(|owner| (self.type_text(TypeIx(owner)), TypeIx(owner))).collect();
        for method in inside.iter().cloned().flatten().map(MethodIx) {
            let owner = types.get(self.type_text(self.type_of(method)));
            if let Some(same) = owner.and_then(|owner| self.same_in_type(method, *owner)) {
                all.insert_one(same);
            }
        }
    }

    /// Describes the location of a copy if there are several: `in First`, or `in clrhost, copy #14` (the
    /// agent's generation of the module).
    pub fn place(&self, module: ModuleIx) -> Option<String> {
        if !self.has_namesake(module) {
            return None;
        }
        let one = self.module(module)?;
        let domain = self.domains.get(one.domain as usize).map_or("", |domain| &domain.name);
        Some(match self.alone_in_domain(module) {
            true => format!("in {domain}"),
            false => format!("in {domain}, copy #{}", one.key.generation),
        })
    }

    /// Returns whether no other module of the same name is loaded in a module's AppDomains.
    pub fn alone_in_domain(&self, module: ModuleIx) -> bool {
        let Some(one) = self.module(module) else { return true };
        let there = |other: ModuleIx| {
            self.module(other).is_some_and(|other| other.domains.iter().any(|id| one.domains.contains(id)))
        };
        !self.namesakes(&one.name).any(|other| other != module && there(other))
    }

    /// Returns the name prefix that selects only this AppDomain among the current ones; `None` if another
    /// name starts with its name. Under IIS, prefers the prefix that also selects it after a recycle.
    pub fn domain_scope(&self, domain: u32) -> Option<&str> {
        let one = self.domains.get(domain as usize).filter(|one| !one.shared)?;
        let selects_only_it = |prefix: &&str| {
            !self.domains.iter().enumerate().any(|(index, other)| {
                let there = self.current_domains.contains(&other.id) && !other.shared;
                index != domain as usize && there && other.name.starts_with(prefix)
            })
        };
        let application = IisName::read(&one.name).map(|name| name.prefix);
        application.into_iter().chain([one.name.as_str()]).find(selects_only_it)
    }

    /// Returns whether a prefix from [`domain_scope`](Self::domain_scope) also selects AppDomains after a recycle,
    /// which may load another build.
    pub fn survives_recycle(&self, prefix: &str) -> bool {
        self.domains
            .iter()
            .any(|domain| IisName::read(&domain.name).is_some_and(|name| name.prefix == prefix))
    }

    /// Returns the titles of the AppDomains that run a module's code.
    pub fn domain_titles(&self, module: &Module) -> Vec<String> {
        let of_it = (0..).zip(&self.domains).filter(|(_, domain)| module.domains.contains(&domain.id));
        let nodes = of_it.filter(|(_, domain)| !domain.shared).map(|(index, _)| Node::Domain(index));
        nodes.map(|node| self.domain_title(node)).collect()
    }

    /// Returns the names of the AppDomains that run a module's code.
    pub fn domain_names(&self, module: &Module) -> Vec<&str> {
        let of_it = self.domains.iter().filter(|domain| module.domains.contains(&domain.id));
        of_it.filter(|domain| !domain.shared).map(|domain| domain.name.as_str()).collect()
    }

    /// Returns whether one copy of a module serves several AppDomains.
    pub fn is_shared(&self, module: &Module) -> bool {
        module.shared && self.domain_names(module).len() > 1
    }

    /// Returns the methods below the row of an AppDomain, or of all.
    pub(super) fn methods_of_domain(&self, domain: u32) -> Vec<Range<u32>> {
        let all = domain == EVERY_DOMAIN;
        let modules = self.modules.iter().filter(|module| all || module.domain == domain);
        modules.map(|module| module.methods.clone()).collect()
    }

    /// Returns the shared modules that an AppDomain uses together with others.
    pub fn shared_in(&self, domain: u32) -> Vec<ModuleIx> {
        let Some(id) = self.domains.get(domain as usize).filter(|one| !one.shared).map(|one| one.id) else {
            return Vec::new();
        };
        let uses =
            |module: &Module| !module.unloaded && module.domains.contains(&id) && self.is_shared(module);
        let modules = self.modules.iter().enumerate().filter(|(_, module)| uses(module));
        modules.map(|(index, _)| ModuleIx(index as u32)).collect()
    }

    /// Returns the title of an AppDomain: its site and application under IIS, otherwise its name.
    pub fn domain_title(&self, node: Node) -> String {
        let name = self.label(node);
        if let Node::Domain(domain) = node
            && self.domains.get(domain as usize).is_some_and(|one| one.shared)
        {
            return "shared code".to_owned();
        }
        match IisName::read(name) {
            Some(iis) => format!("site {}, {}", iis.site, iis.application),
            None => name.to_owned(),
        }
    }
}

/// Returns the places of representing rows in name order; see [`Catalogue::name_place`]. Fast for successive
/// methods.
#[derive(Debug)]
pub struct ShownPlaces<'a> {
    catalogue: &'a Catalogue,
    leads: LeadingCopies,
    /// Index of the last method's copies, or of the next copies if it was in none.
    copies: usize,
    /// The type of the last method's representing row.
    owner: TypeIx,
}

/// Types to try in sequence before a binary search.
const NEARBY_TYPES: u32 = 8;

impl ShownPlaces<'_> {
    /// Returns the place of a method's row; only for comparisons.
    pub fn of(&mut self, MethodIx(method): MethodIx) -> (u32, u32) {
        let copies = self.leads.0.get(self.copies);
        let before = self.copies.checked_sub(1).and_then(|before| self.leads.0.get(before));
        let is_between = copies.is_none_or(|(copy, _)| method < copy.end)
            && before.is_none_or(|(copy, _)| copy.end <= method);
        if !is_between {
            self.copies = self.leads.0.partition_point(|(copy, _)| copy.end <= method);
        }
        let shift = self.leads.0.get(self.copies).filter(|(copy, _)| copy.start <= method);
        let lead = method.wrapping_add(shift.map_or(0, |(_, shift)| *shift));
        let nearby = (self.owner.0..).take(NEARBY_TYPES as usize).map(TypeIx);
        let mut nearby = nearby.filter(|owner| self.catalogue.methods_of_type(*owner).contains(&lead));
        self.owner = nearby.next().unwrap_or_else(|| self.catalogue.type_of(MethodIx(lead)));
        (self.catalogue.places.get(self.owner.0 as usize).copied().unwrap_or(u32::MAX), lead)
    }
}

/// Maps methods without rows of their own to the rows that represent them.
#[derive(Debug, Default)]
pub struct LeadingCopies(Vec<(Range<u32>, u32)>);

impl LeadingCopies {
    /// Returns the method whose row represents a method's.
    pub fn of(&self, MethodIx(method): MethodIx) -> MethodIx {
        let after = self.0.partition_point(|(copy, _)| copy.end <= method);
        let copy = self.0.get(after).filter(|(copy, _)| copy.start <= method);
        MethodIx(copy.map_or(method, |(_, shift)| method.wrapping_add(*shift)))
    }
}

impl Module {
    /// Returns whether this is the same build of the same assembly, read to the same end.
    pub(super) fn is_copy_of(&self, other: &Module) -> bool {
        self.mvid == other.mvid && self.methods.len() == other.methods.len()
    }
}

#[cfg(test)]
#[path = "copies_tests.rs"]
pub mod tests;
