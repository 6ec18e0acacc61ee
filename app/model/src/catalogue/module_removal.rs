//! Removes modules that were unloaded long ago, so that a process that keeps loading and unloading does not
//! exhaust the window's memory. Later modules move up, and everything that refers to methods by number is
//! renumbered.

use super::bit_set::BitSet;
use super::compaction::Compaction;
use super::text_ranges::Texts;
use super::{Catalogue, Module};
use crate::ids::{EVERY_DOMAIN, MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use crate::method_set::MethodSet;
use redial_protocol::ids::ModuleKey;
use std::collections::HashSet;
use std::ops::Range;

/// Maps old numbers to new ones.
#[derive(Clone, Debug, Default)]
pub struct Renumbering {
    /// For each remaining module, ascending: the old ranges of its methods, types and namespaces, and their
    /// new starts.
    moved: Vec<MovedRange>,
    /// The new index of each domain.
    domains: Vec<Option<u32>>,
    /// The new index of the root of all domains; absent if unchanged.
    root: Option<u32>,
}

#[derive(Clone, Debug)]
struct MovedRange {
    module: (u32, u32),
    methods: (Range<u32>, u32),
    types: (Range<u32>, u32),
    namespaces: (Range<u32>, u32),
}

fn shifted((range, to): &(Range<u32>, u32), index: u32) -> Option<u32> {
    range.contains(&index).then(|| index - range.start + to)
}

impl Renumbering {
    /// Maps modules of one catalogue to another, or to other places in the same: pairs of modules of the same
    /// file with their numbers. Every one of `domains` becomes `root`.
    pub fn between<'a>(
        pairs: impl Iterator<Item = ((u32, &'a Module), (u32, &'a Module))>,
        domains: usize,
        root: u32,
    ) -> Renumbering {
        let moved = pairs.map(|((was, from), (is, to))| MovedRange {
            module: (was, is),
            methods: (from.methods.clone(), to.methods.start),
            types: (from.types.clone(), to.types.start),
            namespaces: (from.namespaces.clone(), to.namespaces.start),
        });
        let mut moved: Vec<MovedRange> = moved.collect();
        moved.sort_unstable_by_key(|one| (one.methods.0.start, one.methods.0.end));
        Renumbering { moved, domains: vec![Some(root); domains], root: Some(root) }
    }

    /// Returns the new number of a row of the tree; `None` if it was removed.
    pub fn node(&self, node: Node) -> Option<Node> {
        let at = |end: fn(&MovedRange) -> u32, index: u32| {
            self.moved.get(self.moved.partition_point(|one| end(one) <= index))
        };
        match node {
            Node::Domain(EVERY_DOMAIN) => Some(self.root.map_or(node, Node::Domain)),
            Node::Domain(domain) => self.domains.get(domain as usize).copied().flatten().map(Node::Domain),
            Node::Module(ModuleIx(module)) => at(|one| one.module.0 + 1, module)
                .filter(|one| one.module.0 == module)
                .map(|one| Node::Module(ModuleIx(one.module.1))),
            Node::Namespace(NamespaceIx(namespace)) => at(|one| one.namespaces.0.end, namespace)
                .and_then(|one| shifted(&one.namespaces, namespace))
                .map(|index| Node::Namespace(NamespaceIx(index))),
            Node::Type(TypeIx(owner)) => at(|one| one.types.0.end, owner)
                .and_then(|one| shifted(&one.types, owner))
                .map(|index| Node::Type(TypeIx(index))),
            Node::Method(method) => self.method(method).map(Node::Method),
        }
    }

    /// Returns the new number of a method; `None` if it was removed.
    pub fn method(&self, method: MethodIx) -> Option<MethodIx> {
        let at = self.moved.partition_point(|one| one.methods.0.end <= method.0);
        self.moved.get(at).and_then(|one| shifted(&one.methods, method.0)).map(MethodIx)
    }

    /// Returns the old methods of each remaining module and their new start.
    pub fn shifts(&self) -> impl Iterator<Item = (Range<u32>, u32)> + '_ {
        self.moved.iter().map(|moved| moved.methods.clone())
    }

    /// Renumbers bits; the result has `length` bits.
    pub fn bits(&self, bits: &BitSet, length: usize) -> BitSet {
        let mut now = BitSet::none(length);
        if !bits.any() {
            return now;
        }
        for MovedRange { methods: (range, to), .. } in &self.moved {
            now.set_as_in(bits, range.clone(), *to);
        }
        now
    }

    /// Renumbers a set of methods, omitting removed ones.
    pub fn methods(&self, set: &MethodSet) -> MethodSet {
        let mut now = MethodSet::default();
        for MovedRange { methods: (range, to), .. } in &self.moved {
            for part in set.within(range) {
                now.insert(part.start - range.start + to..part.end - range.start + to);
            }
        }
        now
    }
}

impl Catalogue {
    /// Removes modules, and domains that are gone and have no modules left. Returns the renumbering, or
    /// `None` if no module is known. Compacts columns in place without reading or sorting anything again.
    pub fn forget(&mut self, keys: &[ModuleKey]) -> Option<Renumbering> {
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        if !self.modules.iter().any(|module| keys.contains(&module.key)) {
            return None;
        }
        let modules = (0..).zip(std::mem::take(&mut self.modules));
        let before: Vec<(u32, Module)> = modules.filter(|(_, module)| !keys.contains(&module.key)).collect();
        let domains = self.forget_domains(&before);
        let staying = Compactions::of(&before);
        self.compact(&staying);
        let mut renumbering = Renumbering { domains, ..Renumbering::default() };
        for (now, (index, was)) in (0..).zip(before) {
            let domain = renumbering.domains.get(was.domain as usize).copied().flatten().unwrap_or(0);
            let is = Module { domain, ..staying.moved(&was) };
            self.renumber(now, &was, &is);
            renumbering.moved.push(MovedRange {
                module: (index, now),
                methods: (was.methods, is.methods.start),
                types: (was.types, is.types.start),
                namespaces: (was.namespaces, is.namespaces.start),
            });
            self.modules.push(is);
        }
        self.index_modules();
        self.modules_changed();
        Some(renumbering)
    }

    /// Compacts every column.
    fn compact(
        &mut self,
        Compactions { namespaces, types, methods, type_texts, names, signatures }: &Compactions,
    ) {
        namespaces.compact_each(&mut self.namespaces);
        types.compact_each(&mut self.types);
        self.type_text.compact(type_texts);
        self.names.compact(names);
        self.signatures.compact(signatures);
        for column in [&mut self.name_of, &mut self.signature_of, &mut self.tokens, &mut self.by_token] {
            methods.compact(column);
        }
        self.bodyless.compact(methods);
        self.generated.compact(methods);
        let order = types.renumbered(&self.order);
        self.order_types(order);
    }

    /// Adjusts the references in a module's columns after it moved from `was` to `is`.
    fn renumber(&mut self, index: u32, was: &Module, is: &Module) {
        let less = |was: &Range<u32>, is: &Range<u32>| was.start.saturating_sub(is.start);
        let [namespaces, types, methods, names, signatures] = [
            less(&was.namespaces, &is.namespaces),
            less(&was.types, &is.types),
            less(&was.methods, &is.methods),
            less(&was.texts.names, &is.texts.names),
            less(&was.texts.signatures, &is.texts.signatures),
        ];
        for one in part(&mut self.namespaces, &is.namespaces) {
            one.module = index;
            one.types = down(&one.types, types);
        }
        for one in part(&mut self.types, &is.types).iter_mut().filter(|_| namespaces + methods > 0) {
            one.namespace -= namespaces;
            one.methods = down(&one.methods, methods);
        }
        let columns = [&mut self.name_of, &mut self.signature_of];
        for (column, by) in columns.into_iter().zip([names, signatures]).filter(|(_, by)| *by > 0) {
            part(column, &is.methods).iter_mut().for_each(|number| *number -= by);
        }
    }

    /// Rebuilds the indices of modules by key and name.
    fn index_modules(&mut self) {
        self.by_key = (0..).zip(&self.modules).map(|(index, module)| (module.key, index)).collect();
        self.by_name.clear();
        for (index, module) in (0..).zip(&self.modules) {
            self.by_name.entry(module.name.clone()).or_default().push(index);
        }
    }

    /// Removes domains that are gone and that none of these modules refers to; returns each one's new index.
    fn forget_domains(&mut self, modules: &[(u32, Module)]) -> Vec<Option<u32>> {
        let mut stay: HashSet<u64> =
            modules.iter().flat_map(|(_, module)| &module.domains).copied().collect();
        stay.extend(&self.current_domains);
        let mut places = 0..;
        let places = self.domains.iter().map(|domain| match stay.contains(&domain.id) {
            true => places.next(),
            false => None,
        });
        let places = places.collect();
        self.domains.retain(|domain| stay.contains(&domain.id));
        places
    }
}

/// The remaining parts of each kind of column.
struct Compactions {
    namespaces: Compaction,
    types: Compaction,
    methods: Compaction,
    type_texts: Compaction,
    names: Compaction,
    signatures: Compaction,
}

impl Compactions {
    fn of(modules: &[(u32, Module)]) -> Compactions {
        let ranges = |of: fn(&Module) -> &Range<u32>| modules.iter().map(move |(_, module)| of(module));
        // Texts are in the order in which the first module of each file was loaded, and that one may be gone.
        let texts = |of: fn(&Module) -> &Range<u32>| {
            let mut texts: Vec<&Range<u32>> = ranges(of).collect();
            texts.sort_unstable_by_key(|range| range.start);
            Compaction::only(texts.into_iter())
        };
        Compactions {
            namespaces: Compaction::only(ranges(|module| &module.namespaces)),
            types: Compaction::only(ranges(|module| &module.types)),
            methods: Compaction::only(ranges(|module| &module.methods)),
            type_texts: texts(|module| &module.texts.types),
            names: texts(|module| &module.texts.names),
            signatures: texts(|module| &module.texts.signatures),
        }
    }

    /// Returns a module with its new ranges.
    fn moved(&self, was: &Module) -> Module {
        Module {
            namespaces: self.namespaces.moved(&was.namespaces),
            types: self.types.moved(&was.types),
            methods: self.methods.moved(&was.methods),
            texts: Texts {
                types: self.type_texts.moved(&was.texts.types),
                names: self.names.moved(&was.texts.names),
                signatures: self.signatures.moved(&was.texts.signatures),
            },
            ..was.clone()
        }
    }
}

fn down(range: &Range<u32>, by: u32) -> Range<u32> {
    range.start - by..range.end - by
}

/// Returns a module's part of a column.
fn part<'a, T>(column: &'a mut [T], range: &Range<u32>) -> &'a mut [T] {
    column.get_mut(range.start as usize..range.end as usize).unwrap_or_default()
}

#[cfg(test)]
#[path = "module_removal_tests.rs"]
mod tests;
