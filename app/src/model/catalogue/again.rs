//! A module taken over from another catalogue. Of a file that is here already nothing is read or copied but numbers: twenty
//! processes of one program have the same thirty thousand methods in one module.

use super::{Catalogue, Module, Namespace, Type};
use crate::model::ids::ModuleIx;
use redial_protocol::ids::ModuleKey;
use std::ops::Range;

impl Catalogue {
    /// Takes in a module of another catalogue under this key, in this domain alone. Answers false, changing nothing, when the
    /// key is known already or nothing more fits.
    pub fn take_over(&mut self, from: &Catalogue, index: ModuleIx, key: ModuleKey, domain: u64) -> bool {
        let Some(theirs) = from.module(index) else { return false };
        if let Some(copy) = self.same_file(from, theirs) {
            return self.append_again(&copy, theirs.dynamic, key, domain);
        }
        let Some(mut batch) = from.batch(index) else { return false };
        (batch.module.key, batch.module.domains, batch.module.shared) = (key, vec![domain], false);
        self.append(batch)
    }

    /// A module of the same file, read to the same end.
    fn same_file(&self, from: &Catalogue, theirs: &Module) -> Option<Module> {
        let same = self.by_name.get(&theirs.name).into_iter().flatten();
        let is_same = |ours: &&Module| {
            let (here, there) = (&ours.texts, &theirs.texts);
            ours.is_copy_of(theirs)
                && ours.path == theirs.path
                && of(&self.tokens, &ours.methods) == of(&from.tokens, &theirs.methods)
                && self.type_text.has_part_at(here.types.clone(), &from.type_text, there.types.clone())
                && self.names.has_part_at(here.names.clone(), &from.names, there.names.clone())
                && self.signatures.has_part_at(
                    here.signatures.clone(),
                    &from.signatures,
                    there.signatures.clone(),
                )
        };
        same.filter_map(|index| self.modules.get(*index as usize)).find(is_same).cloned()
    }

    /// Appends what is here once more.
    fn append_again(&mut self, copy: &Module, dynamic: bool, key: ModuleKey, domain: u64) -> bool {
        let fits = u32::try_from(self.tokens.len() + copy.methods.len()).is_ok();
        if !fits || self.by_key.contains_key(&key) {
            return false;
        }
        let index = self.modules.len() as u32;
        let behind = |length: usize, part: &Range<u32>| length as u32..length as u32 + part.len() as u32;
        let namespaces = behind(self.namespaces.len(), &copy.namespaces);
        let types = behind(self.types.len(), &copy.types);
        let methods = behind(self.tokens.len(), &copy.methods);
        let up = |range: &Range<u32>, from: &Range<u32>, to: &Range<u32>| {
            let by = to.start - from.start;
            range.start + by..range.end + by
        };
        let again = of(&self.namespaces, &copy.namespaces).iter().map(|one| Namespace {
            module: index,
            length: one.length,
            types: up(&one.types, &copy.types, &types),
        });
        self.namespaces.extend(again.collect::<Vec<Namespace>>());
        let again = of(&self.types, &copy.types).iter().map(|one| Type {
            namespace: one.namespace - copy.namespaces.start + namespaces.start,
            methods: up(&one.methods, &copy.methods, &methods),
        });
        self.types.extend(again.collect::<Vec<Type>>());
        for column in [&mut self.name_of, &mut self.signature_of, &mut self.tokens, &mut self.by_token] {
            column.extend_from_within(copy.methods.start as usize..copy.methods.end as usize);
        }
        let bodyless = self.bodyless.part(copy.methods.clone());
        self.bodyless.append(methods.start, methods.len(), &bodyless);
        self.order.extend(types.clone());
        self.places.extend(types.clone());
        let home = self.domains.iter().position(|one| one.id == domain);
        self.by_key.insert(key, index);
        self.by_name.entry(copy.name.clone()).or_default().push(index);
        self.modules.push(Module {
            key,
            domain: home.unwrap_or(0) as u32,
            domains: vec![domain],
            shared: false,
            dynamic,
            unloaded: false,
            namespaces,
            types,
            methods,
            ..copy.clone()
        });
        self.modules_changed();
        true
    }
}

/// A module's part of a column.
fn of<'a, T>(column: &'a [T], range: &Range<u32>) -> &'a [T] {
    column.get(range.start as usize..range.end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::synthetic::batches;
    use crate::model::ids::MethodIx;
    use redial_protocol::catalogue::DomainRow;

    #[test]
    fn what_is_taken_over_again_is_what_would_be_read_anew() {
        let (modules, order) = batches(5, 400);
        let mut from = Catalogue::default();
        modules.iter().for_each(|batch| assert!(from.append(batch.clone())));
        from.complete(order);
        let domain = |id: u64| DomainRow { id, name: format!("shop {id}"), shared: false };
        let (mut all, mut read) = (Catalogue::default(), Catalogue::default());
        for one in [&mut all, &mut read] {
            one.span_processes();
            one.set_domains((1..=3).map(domain).collect(), 0);
        }
        for (process, index) in (1..=3u64).flat_map(|process| (0..5u32).map(move |index| (process, index))) {
            let key = ModuleKey { module_id: process * 10 + u64::from(index), generation: 1 };
            assert!(all.take_over(&from, ModuleIx(index), key, process));
            assert!(!all.take_over(&from, ModuleIx(index), key, process), "it is there");
            let mut batch = modules[index as usize].clone();
            (batch.module.key, batch.module.domains) = (key, vec![process]);
            assert!(read.append(batch));
        }
        assert_eq!(format!("{:?}", all.modules()), format!("{:?}", read.modules()));
        assert_eq!((all.len(), all.names.len()), (3 * from.len(), from.names.len()));
        for method in (0..all.len() as u32).map(MethodIx) {
            let told = |one: &Catalogue| {
                let copy = one.copy_of(method).expect("a copy");
                let node = (one.type_of(method), one.namespace_of(one.type_of(method)));
                let found = one.find(copy);
                (one.full_name(method).text, copy, node, found, one.without_body(method), one.copies(method))
            };
            assert_eq!(told(&all), told(&read));
        }
        assert!(all.types_by_name().eq(read.types_by_name()));
        assert_eq!(all.edition(), read.edition());
    }

    #[test]
    fn another_build_is_read_for_itself() {
        let (modules, _) = batches(1, 50);
        let (mut one, mut other, mut all) = <(Catalogue, Catalogue, Catalogue)>::default();
        let mut built = modules[0].clone();
        built.module.mvid = "another".to_owned();
        assert!(one.append(modules[0].clone()) && other.append(built));
        let key = |module_id| ModuleKey { module_id, generation: 1 };
        assert!(all.take_over(&one, ModuleIx(0), key(1), 1) && all.take_over(&other, ModuleIx(0), key(2), 2));
        assert_eq!(all.names.len(), 2 * one.names.len());
        assert!(!all.take_over(&one, ModuleIx(7), key(3), 1), "there is no such module");
    }
}
