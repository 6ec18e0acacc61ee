//! Copies of one assembly: in several AppDomains, or in several load contexts of one. Merged, a method is one row,
//! whatever the number of its copies; else each copy has a row of its own.

use super::{Catalogue, Module};
use crate::model::ids::{MethodIx, ModuleIx, Node, TypeIx};
use crate::model::methodset::MethodSet;
use std::collections::HashMap;
use std::ops::Range;

/// The root of the tree where copies of several AppDomains are merged: `Node::Domain` of this is all of them.
pub const EVERY_DOMAIN: u32 = u32::MAX;

impl Catalogue {
    /// Merges copies, or shows each by itself.
    pub fn set_merged(&mut self, merged: bool) {
        if self.merged != merged {
            self.merged = merged;
            self.modules_changed();
        }
    }

    /// Whether copies are to be merged; there may be none.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Whether there is more than one AppDomain with modules of its own.
    pub fn has_domains(&self) -> bool {
        let loaded = self.modules.iter().filter(|module| !module.unloaded && !module.shared);
        let mut domains = loaded.map(|module| module.domain);
        let first = domains.next();
        domains.any(|domain| Some(domain) != first)
    }

    /// Whether some assembly is loaded more than once, so that merging makes a difference.
    pub fn has_copies(&self) -> bool {
        self.by_name.values().any(|same| self.loaded(same).nth(1).is_some())
    }

    /// The domain a module stands under in the tree.
    pub fn home(&self, module: ModuleIx) -> u32 {
        match self.merged && self.has_domains() {
            true => EVERY_DOMAIN,
            false => self.module(module).map_or(0, |module| module.domain),
        }
    }

    fn loaded<'a>(&'a self, same: &'a [u32]) -> impl Iterator<Item = ModuleIx> + 'a {
        let there = |index: &&u32| self.modules.get(**index as usize).is_some_and(|module| !module.unloaded);
        same.iter().filter(there).map(|index| ModuleIx(*index))
    }

    /// The modules of an assembly's name that are loaded, in the order they came; other builds are among them.
    pub fn namesakes(&self, name: &str) -> impl Iterator<Item = ModuleIx> + '_ {
        self.loaded(self.by_name.get(name).map_or(&[], Vec::as_slice))
    }

    /// Whether another module of the same name is loaded.
    pub fn has_namesake(&self, module: ModuleIx) -> bool {
        let name = self.module(module).map_or("", |module| &module.name);
        self.namesakes(name).any(|other| other != module)
    }

    /// The module whose rows stand for a module's when copies are merged: the first of the same file that is loaded.
    pub fn lead(&self, module: ModuleIx) -> ModuleIx {
        let Some(one) = self.module(module) else { return module };
        let lead = self
            .namesakes(&one.name)
            .find(|other| self.module(*other).is_some_and(|other| other.is_copy_of(one)));
        lead.unwrap_or(module)
    }

    /// The method whose row stands for a method's: itself, unless copies are merged.
    pub fn shown_for(&self, method: MethodIx) -> MethodIx {
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

    /// The same for many methods: what [`Catalogue::shown_for`] says, found once a module.
    pub fn leads(&self) -> Leads {
        let moved = self.merged_away();
        let shift =
            |(copy, lead): &(Range<u32>, Range<u32>)| (copy.clone(), lead.start.wrapping_sub(copy.start));
        Leads(moved.iter().map(shift).collect())
    }

    /// The same with where each stands by name.
    pub fn shown_places(&self) -> ShownPlaces<'_> {
        ShownPlaces { catalogue: self, leads: self.leads(), copies: 0, owner: TypeIx(0) }
    }

    /// The ranges of methods that have no row of their own because copies are merged, and what each is a copy of.
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

    /// Every loaded copy of a method, that of other builds with the same name and parameters included, in the order of
    /// loading; itself too, though it be unloaded.
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

    /// The methods and every loaded copy of each, as [`Catalogue::copies`] says.
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

    /// Where a copy is, where that has to be said because there are others: `in First`, `in clrhost, copy #14` (the
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

    /// Whether no other module of the same name is loaded in a module's AppDomain.
    pub fn alone_in_domain(&self, module: ModuleIx) -> bool {
        let Some(one) = self.module(module) else { return true };
        let there = |other: ModuleIx| {
            self.module(other).is_some_and(|other| other.domains.iter().any(|id| one.domains.contains(id)))
        };
        !self.namesakes(&one.name).any(|other| other != module && there(other))
    }

    /// What the beginning of an AppDomain's name has to be to mean that one alone of those there are now; None where
    /// another's name begins like it.
    pub fn domain_scope(&self, domain: u32) -> Option<&str> {
        let one = self.domains.get(domain as usize).filter(|one| !one.shared)?;
        let other = self.domains.iter().enumerate().any(|(index, other)| {
            let there = self.current.contains(&other.id) && !other.shared;
            index != domain as usize && there && other.name.starts_with(&one.name)
        });
        (!other).then_some(one.name.as_str())
    }

    /// What the AppDomains that run a module's code are called.
    pub fn domain_titles(&self, module: &Module) -> Vec<String> {
        let of_it = (0..).zip(&self.domains).filter(|(_, domain)| module.domains.contains(&domain.id));
        let nodes = of_it.filter(|(_, domain)| !domain.shared).map(|(index, _)| Node::Domain(index));
        nodes.map(|node| self.domain_title(node)).collect()
    }

    /// The names of the AppDomains that run a module's code.
    pub fn domain_names(&self, module: &Module) -> Vec<&str> {
        let of_it = self.domains.iter().filter(|domain| module.domains.contains(&domain.id));
        of_it.filter(|domain| !domain.shared).map(|domain| domain.name.as_str()).collect()
    }

    /// Whether one copy of a module serves several AppDomains.
    pub fn is_shared(&self, module: &Module) -> bool {
        module.shared && self.domain_names(module).len() > 1
    }

    /// The methods below an AppDomain's row, or below that of all.
    pub(super) fn methods_of_domain(&self, domain: u32) -> Vec<Range<u32>> {
        let all = domain == EVERY_DOMAIN;
        let modules = self.modules.iter().filter(|module| all || module.domain == domain);
        modules.map(|module| module.methods.clone()).collect()
    }

    /// The shared modules that an AppDomain uses with others.
    pub fn shared_in(&self, domain: u32) -> Vec<ModuleIx> {
        let Some(id) = self.domains.get(domain as usize).filter(|one| !one.shared).map(|one| one.id) else {
            return Vec::new();
        };
        let uses =
            |module: &Module| !module.unloaded && module.domains.contains(&id) && self.is_shared(module);
        let modules = self.modules.iter().enumerate().filter(|(_, module)| uses(module));
        modules.map(|(index, _)| ModuleIx(index as u32)).collect()
    }

    /// What an AppDomain is called: the site and application of one of IIS, else its name.
    pub fn domain_title(&self, node: Node) -> String {
        let name = self.label(node);
        if let Node::Domain(domain) = node
            && self.domains.get(domain as usize).is_some_and(|one| one.shared)
        {
            return "shared code".to_owned();
        }
        match crate::model::iis::IisName::read(name) {
            Some(iis) => format!("site {}, {}", iis.site, iis.application),
            None => name.to_owned(),
        }
    }
}

/// Where rows that stand for methods stand by name, as [`Catalogue::name_place`] says: quick where one method after another is
/// asked for.
#[derive(Debug)]
pub struct ShownPlaces<'a> {
    catalogue: &'a Catalogue,
    leads: Leads,
    /// The copies that the last method was one of, or did not come to.
    copies: usize,
    /// The last method's type, or that of the row that stands for it.
    owner: TypeIx,
}

/// Types that are passed by before one is searched for.
const NEAR: u32 = 8;

impl ShownPlaces<'_> {
    /// The place of a method's row: to compare, not to count.
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
        let near = (self.owner.0..).take(NEAR as usize).map(TypeIx);
        let mut near = near.filter(|owner| self.catalogue.methods_of_type(*owner).contains(&lead));
        self.owner = near.next().unwrap_or_else(|| self.catalogue.type_of(MethodIx(lead)));
        (self.catalogue.places.get(self.owner.0 as usize).copied().unwrap_or(u32::MAX), lead)
    }
}

/// Of methods that have no row of their own, where the rows are that stand for them.
#[derive(Debug, Default)]
pub struct Leads(Vec<(Range<u32>, u32)>);

impl Leads {
    /// The method whose row stands for a method's.
    pub fn of(&self, MethodIx(method): MethodIx) -> MethodIx {
        let after = self.0.partition_point(|(copy, _)| copy.end <= method);
        let copy = self.0.get(after).filter(|(copy, _)| copy.start <= method);
        MethodIx(copy.map_or(method, |(_, shift)| method.wrapping_add(*shift)))
    }
}

impl Module {
    /// Whether it is the same build of the same assembly, read to the same end.
    pub(super) fn is_copy_of(&self, other: &Module) -> bool {
        self.mvid == other.mvid && self.methods.len() == other.methods.len()
    }
}

#[cfg(test)]
#[path = "copies_tests.rs"]
pub mod tests;
