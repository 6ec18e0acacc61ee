//! Copies a module from another catalogue. If the same file is already here, its texts are shared: twenty
//! processes of one program have the same 30,000 methods in one module.

use super::arena::Arena;
use super::text_ranges::Texts;
use super::{Catalogue, Module, Namespace, Type};
use crate::ids::ModuleIx;
use redial_protocol::ids::ModuleKey;
use std::ops::Range;

impl Catalogue {
    /// Copies a module of another catalogue under this key, in this domain alone. Returns false and changes
    /// nothing if the key is known or the module does not fit.
    pub fn import_module(&mut self, from: &Catalogue, index: ModuleIx, key: ModuleKey, domain: u64) -> bool {
        let Some(theirs) = from.module(index) else { return false };
        let fits = u32::try_from(self.tokens.len() + theirs.methods.len()).is_ok();
        if !fits || self.by_key.contains_key(&key) {
            return false;
        }
        let Some(texts) = self.texts_of_file(from, theirs).or_else(|| self.take_part(from, &theirs.texts))
        else {
            return false;
        };
        let index = self.modules.len() as u32;
        let behind = |length: usize, part: &Range<u32>| length as u32..length as u32 + part.len() as u32;
        let namespaces = behind(self.namespaces.len(), &theirs.namespaces);
        let types = behind(self.types.len(), &theirs.types);
        let methods = behind(self.tokens.len(), &theirs.methods);
        let moved = |place: u32, from: &Range<u32>, to: &Range<u32>| place - from.start + to.start;
        let range = |range: &Range<u32>, from, to| moved(range.start, from, to)..moved(range.end, from, to);
        self.namespaces.extend(of(&from.namespaces, &theirs.namespaces).iter().map(|one| Namespace {
            module: index,
            length: one.length,
            types: range(&one.types, &theirs.types, &types),
        }));
        self.types.extend(of(&from.types, &theirs.types).iter().map(|one| Type {
            namespace: moved(one.namespace, &theirs.namespaces, &namespaces),
            methods: range(&one.methods, &theirs.methods, &methods),
        }));
        let (names, signatures) = (&theirs.texts.names, &theirs.texts.signatures);
        let places = of(&from.name_of, &theirs.methods).iter();
        self.name_of.extend(places.map(|place| moved(*place, names, &texts.names)));
        let places = of(&from.signature_of, &theirs.methods).iter();
        self.signature_of.extend(places.map(|place| moved(*place, signatures, &texts.signatures)));
        self.tokens.extend_from_slice(of(&from.tokens, &theirs.methods));
        self.by_token.extend_from_slice(of(&from.by_token, &theirs.methods));
        self.bodyless.append(methods.start, methods.len(), &from.bodyless.part(theirs.methods.clone()));
        self.generated.import(methods.start, &from.generated, theirs.methods.clone());
        self.order.extend(types.clone());
        self.places.extend(types.clone());
        let home = self.domains.iter().position(|one| one.id == domain);
        self.by_key.insert(key, index);
        self.by_name.entry(theirs.name.clone()).or_default().push(index);
        self.modules.push(Module {
            key,
            domain: home.unwrap_or(0) as u32,
            domains: vec![domain],
            shared: false,
            unloaded: false,
            namespaces,
            types,
            methods,
            texts,
            ..theirs.clone()
        });
        self.modules_changed();
        true
    }

    /// Returns the texts of a module that is already here from the same file, read to the same end.
    fn texts_of_file(&self, from: &Catalogue, theirs: &Module) -> Option<Texts> {
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
        let ours = same.filter_map(|index| self.modules.get(*index as usize)).find(is_same)?;
        Some(ours.texts.clone())
    }

    /// Appends another catalogue's texts; returns `None` and appends nothing if they do not fit.
    fn take_part(&mut self, from: &Catalogue, theirs: &Texts) -> Option<Texts> {
        let fits = self.type_text.fits_part(&from.type_text, theirs.types.clone())
            && self.names.fits_part(&from.names, theirs.names.clone())
            && self.signatures.fits_part(&from.signatures, theirs.signatures.clone());
        let put = |to: &mut Arena, from: &Arena, part: &Range<u32>| {
            let start = to.len() as u32;
            to.append_part(from, part.clone());
            start..to.len() as u32
        };
        fits.then(|| Texts {
            types: put(&mut self.type_text, &from.type_text, &theirs.types),
            names: put(&mut self.names, &from.names, &theirs.names),
            signatures: put(&mut self.signatures, &from.signatures, &theirs.signatures),
        })
    }
}

/// Returns a module's part of a column.
fn of<'a, T>(column: &'a [T], range: &Range<u32>) -> &'a [T] {
    column.get(range.start as usize..range.end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::synthetic::batches;
    use crate::ids::MethodIx;
    use redial_protocol::catalogue::DomainRow;

    #[test]
    fn an_imported_module_equals_one_read_directly() {
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
        for (process, index) in
            (1..=3u64).flat_map(|process| (0..5u32).rev().map(move |index| (process, index)))
        {
            let key = ModuleKey { module_id: process * 10 + u64::from(index), generation: 1 };
            assert!(all.import_module(&from, ModuleIx(index), key, process));
            assert!(!all.import_module(&from, ModuleIx(index), key, process), "it is there");
            let mut batch = modules[index as usize].clone();
            (batch.module.key, batch.module.domains) = (key, vec![process]);
            assert!(read.append(batch));
        }
        assert_eq!(format!("{:?}", all.modules()), format!("{:?}", read.modules()));
        assert_eq!((all.len(), all.names.len()), (3 * from.len(), from.names.len()));
        for method in (0..all.len() as u32).map(MethodIx) {
            let description = |one: &Catalogue| {
                let copy = one.copy_of(method).expect("a copy");
                let node = (one.type_of(method), one.namespace_of(one.type_of(method)));
                let found = one.find(copy);
                let kind = (one.without_body(method), one.is_generated(method));
                (one.full_name(method).text, copy, node, found, kind, one.copies(method))
            };
            assert_eq!(description(&all), description(&read));
        }
        assert!(all.types_by_name().eq(read.types_by_name()));
        assert_eq!(all.edition(), read.edition());
    }

    #[test]
    fn another_build_has_its_own_texts() {
        let (modules, _) = batches(1, 50);
        let (mut one, mut other, mut all) = <(Catalogue, Catalogue, Catalogue)>::default();
        let mut built = modules[0].clone();
        built.module.mvid = "another".to_owned();
        assert!(one.append(modules[0].clone()) && other.append(built));
        let key = |module_id| ModuleKey { module_id, generation: 1 };
        assert!(
            all.import_module(&one, ModuleIx(0), key(1), 1)
                && all.import_module(&other, ModuleIx(0), key(2), 2)
        );
        assert_eq!(all.names.len(), 2 * one.names.len());
        let name = |of: &Catalogue, method| of.full_name(MethodIx(method)).text;
        let count = one.len() as u32;
        assert!((0..count).all(|method| name(&all, count + method) == name(&other, method)));
        assert!(!all.import_module(&one, ModuleIx(7), key(3), 1), "there is no such module");
    }
}
