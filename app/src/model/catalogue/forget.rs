//! Modules that were unloaded long ago are taken out, so that a process which loads and unloads for ever does not fill
//! the window. What stands behind them moves up: everything that names methods by their numbers is renumbered.

use super::bits::Bits;
use super::builder::Batch;
use super::texts::Texts;
use super::{Catalogue, Module};
use crate::model::ids::{MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use crate::model::methodset::MethodSet;
use redial_protocol::catalogue::ModuleRow;
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
        let find = |part: &dyn Fn(&Moved) -> Option<u32>| self.moved.iter().find_map(part);
        match node {
            Node::Domain(super::copies::EVERY_DOMAIN) => Some(self.root.map_or(node, Node::Domain)),
            Node::Domain(domain) => self.domains.get(domain as usize).copied().flatten().map(Node::Domain),
            Node::Module(module) => find(&|one| (one.module.0 == module.0).then_some(one.module.1))
                .map(|index| Node::Module(ModuleIx(index))),
            Node::Namespace(namespace) => find(&|one| shifted(&one.namespaces, namespace.0))
                .map(|index| Node::Namespace(NamespaceIx(index))),
            Node::Type(owner) => {
                find(&|one| shifted(&one.types, owner.0)).map(|index| Node::Type(TypeIx(index)))
            }
            Node::Method(method) => self.method(method).map(Node::Method),
        }
    }

    /// What a method is now; None: it is gone.
    pub fn method(&self, method: MethodIx) -> Option<MethodIx> {
        let at = self.moved.partition_point(|one| one.methods.0.end <= method.0);
        self.moved.get(at).and_then(|one| shifted(&one.methods, method.0)).map(MethodIx)
    }

    /// The same as bits, of which there are `length`.
    pub fn bits(&self, bits: &Bits, length: usize) -> Bits {
        let mut now = Bits::none(length);
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
    /// none of them is known.
    pub fn forget(&mut self, keys: &[ModuleKey]) -> Option<Renumbering> {
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        let first = self.modules.iter().position(|module| keys.contains(&module.key))?;
        let mut batches: Vec<(u32, bool, Batch)> = Vec::new();
        for index in first..self.modules.len() {
            let unloaded = self.modules.get(index).is_some_and(|module| module.unloaded);
            let stays = self.modules.get(index).is_some_and(|module| !keys.contains(&module.key));
            batches
                .extend(self.extract(index).filter(|_| stays).map(|batch| (index as u32, unloaded, batch)));
        }
        let before = self.modules.clone();
        self.cut(first);
        let mut renumbering =
            Renumbering { domains: self.forget_domains(&batches), ..Renumbering::default() };
        for module in &mut self.modules {
            module.domain = renumbering.domains.get(module.domain as usize).copied().flatten().unwrap_or(0);
        }
        let stayed: Vec<u32> = (0..first as u32).chain(batches.iter().map(|(index, ..)| *index)).collect();
        for (_, unloaded, batch) in batches {
            if self.append(batch)
                && let Some(last) = self.modules.last_mut()
            {
                last.unloaded = unloaded;
            }
        }
        for ((index, was), (now, is)) in stayed
            .into_iter()
            .filter_map(|index| Some((index, before.get(index as usize)?)))
            .zip((0..).zip(&self.modules))
        {
            renumbering.moved.push(Moved {
                module: (index, now),
                methods: (was.methods.clone(), is.methods.start),
                types: (was.types.clone(), is.types.start),
                namespaces: (was.namespaces.clone(), is.namespaces.start),
            });
        }
        self.edition += 1;
        Some(renumbering)
    }

    /// A module as it came.
    pub(super) fn extract(&self, index: usize) -> Option<Batch> {
        let module = self.modules.get(index)?;
        let Texts { names, signatures } = module.texts.clone();
        let methods = module.methods.start as usize..module.methods.end as usize;
        let types = module.types.start as usize..module.types.end as usize;
        let namespaces = module.namespaces.start as usize..module.namespaces.end as usize;
        let less = |numbers: &[u32], by: u32| numbers.iter().map(|number| number - by).collect::<Vec<u32>>();
        Some(Batch {
            module: ModuleRow {
                key: module.key,
                name: module.name.clone(),
                path: module.path.clone(),
                mvid: module.mvid.clone(),
                assembly: 0,
                domains: module.domains.clone(),
                shared: module.shared,
                dynamic: module.dynamic,
                collectible: false,
                methods: methods.len() as u32,
            },
            framework: module.framework,
            namespaces: self
                .namespaces
                .get(namespaces)?
                .iter()
                .map(|one| (one.length, one.types.end - module.types.start))
                .collect(),
            types: self
                .types
                .get(types.clone())?
                .iter()
                .map(|one| one.methods.end - module.methods.start)
                .collect(),
            type_text: self.type_text.part(types),
            name_of: less(self.name_of.get(methods.clone())?, names.start),
            signature_of: less(self.signature_of.get(methods.clone())?, signatures.start),
            names: self.names.part(names.start as usize..names.end as usize),
            signatures: self.signatures.part(signatures.start as usize..signatures.end as usize),
            tokens: self.tokens.get(methods.clone())?.to_vec(),
            by_token: less(self.by_token.get(methods)?, module.methods.start),
            bodyless: self.bodyless.part(module.methods.clone()),
        })
    }

    /// Takes out every module from one on.
    fn cut(&mut self, first: usize) {
        let Some(module) = self.modules.get(first) else { return };
        let (names, signatures) = self.texts_before(first);
        let (types, methods) = (module.types.start as usize, module.methods.start as usize);
        self.namespaces.truncate(module.namespaces.start as usize);
        self.types.truncate(types);
        self.type_text.truncate(types);
        self.names.truncate(names);
        self.signatures.truncate(signatures);
        for column in [&mut self.name_of, &mut self.signature_of, &mut self.tokens, &mut self.by_token] {
            column.truncate(methods);
        }
        self.bodyless.truncate(methods);
        // Types stand in the order they came until they are ordered anew.
        self.order = (0..types as u32).collect();
        self.places = (0..types as u32).collect();
        self.modules.truncate(first);
        self.by_key.retain(|_, index| (*index as usize) < first);
        self.by_name.values_mut().for_each(|same| same.retain(|index| (*index as usize) < first));
        self.by_name.retain(|_, same| !same.is_empty());
    }

    /// Takes out the domains that are gone and that no module names; the new place of each.
    fn forget_domains(&mut self, batches: &[(u32, bool, Batch)]) -> Vec<Option<u32>> {
        let of_modules = self.modules.iter().flat_map(|module| &module.domains);
        let named: HashSet<u64> =
            of_modules.chain(batches.iter().flat_map(|(.., batch)| &batch.module.domains)).copied().collect();
        let mut next = 0;
        let stays = |id: u64| named.contains(&id) || self.current.contains(&id);
        let places = self
            .domains
            .iter()
            .map(|domain| {
                stays(domain.id).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let current = std::mem::take(&mut self.current);
        self.domains.retain(|domain| named.contains(&domain.id) || current.contains(&domain.id));
        self.current = current;
        places
    }
}

#[cfg(test)]
#[path = "forget_tests.rs"]
mod tests;
