//! Names and parameters of methods, which copies of a file have in common: they stand there once, however many processes or
//! AppDomains loaded it, and are looked through once.

use super::builder::Batch;
use super::{Catalogue, Module};
use std::ops::Range;

/// Where a module's texts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// Among the names.
    pub names: Range<u32>,
    /// Among the signatures.
    pub signatures: Range<u32>,
}

impl Catalogue {
    /// Where the texts of a module that comes stand: where those of a copy of it do, or at the end, where they are put.
    pub(super) fn take_texts(&mut self, batch: &Batch) -> Texts {
        let same = self.by_name.get(&batch.module.name).into_iter().flatten();
        let mut same = same.filter_map(|index| self.modules.get(*index as usize));
        if let Some(copy) = same.find(|module| self.has_texts_of(module, batch)) {
            return copy.texts.clone();
        }
        let (names, signatures) = (self.names.len() as u32, self.signatures.len() as u32);
        self.names.append(&batch.names);
        self.signatures.append(&batch.signatures);
        Texts { names: names..self.names.len() as u32, signatures: signatures..self.signatures.len() as u32 }
    }

    /// Where texts end of which a module before this one has some.
    pub(super) fn texts_before(&self, module: usize) -> (usize, usize) {
        let texts = self.modules.iter().take(module).map(|module| &module.texts);
        texts.fold((0, 0), |(names, signatures), texts| {
            (names.max(texts.names.end as usize), signatures.max(texts.signatures.end as usize))
        })
    }

    fn has_texts_of(&self, module: &Module, batch: &Batch) -> bool {
        module.mvid == batch.module.mvid
            && self.names.has_at(module.texts.names.clone(), &batch.names)
            && self.signatures.has_at(module.texts.signatures.clone(), &batch.signatures)
    }
}
