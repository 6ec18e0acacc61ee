//! Modules that were unloaded long ago are taken out, so that a process which loads and unloads for ever does not fill
//! the window. What stands behind them moves up: everything that names methods by their numbers is renumbered.

use super::bits::Bits;
use super::stay::Stay;
use super::texts::Texts;
use super::{Catalogue, Module};
use crate::model::ids::{MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use crate::model::methodset::MethodSet;
use redial_protocol::ids::ModuleKey;
use std::collections::HashSet;
use std::ops::Range;

/// Where everything went.
#[derive(Clone, Debug, Default)]
pub struct Renumbering {
    /// Of each module that stayed, ascending: what its methods, types and namespaces were, and where they begin now.
    moved: Vec<Moved>,
    /// The new place of each domain.
    domains: Vec<Option<u32>>,
    /// What the root of all domains is; absent: itself.
    root: Option<u32>,
}

#[derive(Clone, Debug)]
struct Moved {
    module: (u32, u32),
    methods: (Range<u32>, u32),
    types: (Range<u32>, u32),
    namespaces: (Range<u32>, u32),
}

fn shifted((range, to): &(Range<u32>, u32), index: u32) -> Option<u32> {
    range.contains(&index).then(|| index - range.start + to)
}

impl Renumbering {
    /// Where modules of one catalogue are in another, or elsewhere in the same: pairs of modules of the same file with their
    /// numbers. Every one of `domains` is `root` there.
    pub fn between<'a>(
        pairs: impl Iterator<Item = ((u32, &'a Module), (u32, &'a Module))>,
        domains: usize,
        root: u32,
    ) -> Renumbering {
        let moved = pairs.map(|((was, from), (is, to))| Moved {
            module: (was, is),
            methods: (from.methods.clone(), to.methods.start),
            types: (from.types.clone(), to.types.start),
            namespaces: (from.namespaces.clone(), to.namespaces.start),
        });
        let mut moved: Vec<Moved> = moved.collect();
        moved.sort_unstable_by_key(|one| (one.methods.0.start, one.methods.0.end));
        Renumbering { moved, domains: vec![Some(root); domains], root: Some(root) }
    }

    /// What a row of the tree is now; None: it is gone.
    pub fn node(&self, node: Node) -> Option<Node> {
        let at = |end: fn(&Moved) -> u32, index: u32| {
            self.moved.get(self.moved.partition_point(|one| end(one) <= index))
        };
        match node {
            Node::Domain(super::copies::EVERY_DOMAIN) => Some(self.root.map_or(node, Node::Domain)),
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

    /// What a method is now; None: it is gone.
    pub fn method(&self, method: MethodIx) -> Option<MethodIx> {
        let at = self.moved.partition_point(|one| one.methods.0.end <= method.0);
        self.moved.get(at).and_then(|one| shifted(&one.methods, method.0)).map(MethodIx)
    }

    /// The methods of each module that stayed, and where they begin now.
    pub fn shifts(&self) -> impl Iterator<Item = (Range<u32>, u32)> + '_ {
        self.moved.iter().map(|moved| moved.methods.clone())
    }

    /// The same as bits, of which there are `length`.
    pub fn bits(&self, bits: &Bits, length: usize) -> Bits {
        let mut now = Bits::none(length);
        if !bits.any() {
            return now;
        }
        for Moved { methods: (range, to), .. } in &self.moved {
            now.set_as_in(bits, range.clone(), *to);
        }
        now
    }

    /// What methods are now, without those that are gone.
    pub fn methods(&self, set: &MethodSet) -> MethodSet {
        let mut now = MethodSet::default();
        for Moved { methods: (range, to), .. } in &self.moved {
            for part in set.within(range) {
                now.insert(part.start - range.start + to..part.end - range.start + to);
            }
        }
        now
    }
}

impl Catalogue {
    /// Takes modules out, and domains that are gone and of which no module is left; where everything is now. None:
    /// none of them is known. What is behind them moves up within its columns: nothing is read or put in order anew.
    pub fn forget(&mut self, keys: &[ModuleKey]) -> Option<Renumbering> {
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        if !self.modules.iter().any(|module| keys.contains(&module.key)) {
            return None;
        }
        let modules = (0..).zip(std::mem::take(&mut self.modules));
        let before: Vec<(u32, Module)> = modules.filter(|(_, module)| !keys.contains(&module.key)).collect();
        let domains = self.forget_domains(&before);
        let staying = Staying::of(&before);
        self.close_up(&staying);
        let mut renumbering = Renumbering { domains, ..Renumbering::default() };
        for (now, (index, was)) in (0..).zip(before) {
            let domain = renumbering.domains.get(was.domain as usize).copied().flatten().unwrap_or(0);
            let is = Module { domain, ..staying.moved(&was) };
            self.renumber(now, &was, &is);
            renumbering.moved.push(Moved {
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

    /// Closes every column up.
    fn close_up(&mut self, Staying { namespaces, types, methods, type_texts, names, signatures }: &Staying) {
        namespaces.close_up_each(&mut self.namespaces);
        types.close_up_each(&mut self.types);
        self.type_text.close_up(type_texts);
        self.names.close_up(names);
        self.signatures.close_up(signatures);
        for column in [&mut self.name_of, &mut self.signature_of, &mut self.tokens, &mut self.by_token] {
            methods.close_up(column);
        }
        self.bodyless.close_up(methods);
        let order = types.renumbered(&self.order);
        self.put_in_order(order);
    }

    /// What the columns say of a module in numbers of their own, by where it was and is.
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

    /// Finds modules by their keys and names.
    fn index_modules(&mut self) {
        self.by_key = (0..).zip(&self.modules).map(|(index, module)| (module.key, index)).collect();
        self.by_name.clear();
        for (index, module) in (0..).zip(&self.modules) {
            self.by_name.entry(module.name.clone()).or_default().push(index);
        }
    }

    /// Takes out the domains that are gone and that none of these modules names; the new place of each.
    fn forget_domains(&mut self, modules: &[(u32, Module)]) -> Vec<Option<u32>> {
        let mut stay: HashSet<u64> =
            modules.iter().flat_map(|(_, module)| &module.domains).copied().collect();
        stay.extend(&self.current);
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

/// What stays of each kind of column.
struct Staying {
    namespaces: Stay,
    types: Stay,
    methods: Stay,
    type_texts: Stay,
    names: Stay,
    signatures: Stay,
}

impl Staying {
    fn of(modules: &[(u32, Module)]) -> Staying {
        let ranges = |of: fn(&Module) -> &Range<u32>| modules.iter().map(move |(_, module)| of(module));
        // Texts stand in the order in which the first module of each file came, which may be gone.
        let texts = |of: fn(&Module) -> &Range<u32>| {
            let mut texts: Vec<&Range<u32>> = ranges(of).collect();
            texts.sort_unstable_by_key(|range| range.start);
            Stay::only(texts.into_iter())
        };
        Staying {
            namespaces: Stay::only(ranges(|module| &module.namespaces)),
            types: Stay::only(ranges(|module| &module.types)),
            methods: Stay::only(ranges(|module| &module.methods)),
            type_texts: texts(|module| &module.texts.types),
            names: texts(|module| &module.texts.names),
            signatures: texts(|module| &module.texts.signatures),
        }
    }

    /// A module where it is then.
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

/// A module's part of a column.
fn part<'a, T>(column: &'a mut [T], range: &Range<u32>) -> &'a mut [T] {
    column.get_mut(range.start as usize..range.end as usize).unwrap_or_default()
}

#[cfg(test)]
#[path = "forget_tests.rs"]
mod tests;
