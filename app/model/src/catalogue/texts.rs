//! Names of types, methods and parameters, shared by the copies of a file: they are stored and searched once,
//! however many processes or AppDomains loaded the file.

use super::arena::Arena;
use super::bit_set::BitSet;
use super::builder::Batch;
use super::text_ranges::Texts;
use super::{Catalogue, Module};
use std::collections::HashMap;
use std::ops::Range;

/// A catalogue without repeated modules: search results for the first copy apply to all others.
#[derive(Debug, Default)]
pub(super) struct UniqueModules {
    /// The ranges of type texts to search, each with the first of its types.
    types: Vec<(Range<u32>, u32)>,
    /// The methods to search, in disjoint ranges.
    pub methods: Vec<Range<u32>>,
    /// The methods of the repeated modules, each range with the first method of the original.
    repeats: Vec<(Range<u32>, u32)>,
}

impl UniqueModules {
    /// Returns the types with these texts.
    pub fn types_of<'a>(&'a self, texts: &'a BitSet) -> impl Iterator<Item = u32> + 'a {
        let parts = self.types.iter();
        parts.flat_map(|(part, first)| texts.iter_in(part.clone()).map(move |at| at - part.start + first))
    }

    /// Copies the bits of the original methods to each copy.
    pub fn spread(&self, found: &mut BitSet) {
        if self.repeats.is_empty() {
            return;
        }
        let first = found.clone();
        for (copy, of) in &self.repeats {
            found.set_as_in(&first, *of..of + (copy.end - copy.start), copy.start);
        }
    }
}

/// Appends a range, extending the last one if they are adjacent.
fn append(ranges: &mut Vec<Range<u32>>, range: &Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range.clone()),
    }
}

impl Catalogue {
    /// Returns every file once.
    pub(super) fn once(&self) -> UniqueModules {
        let (mut once, mut known) = (UniqueModules::default(), HashMap::<_, &Module>::new());
        for module in &self.modules {
            let Texts { types, names, signatures } = &module.texts;
            // A module that was not read completely is no copy and represents none.
            let read = [types, names, signatures, &(0..module.methods.len() as u32)].map(Range::clone);
            let first = *known.entry(read).or_insert(module);
            if first.methods.start < module.methods.start && module.is_copy_of(first) {
                once.repeats.push((module.methods.clone(), first.methods.start));
            } else {
                once.types.push((types.clone(), module.types.start));
                append(&mut once.methods, &module.methods);
            }
        }
        once
    }

    /// Returns the texts of a new module: those of a copy, or new ones appended at the end.
    pub(super) fn take_texts(&mut self, batch: &mut Batch) -> Texts {
        let same = self.by_name.get(&batch.module.name).into_iter().flatten();
        let mut same = same.filter_map(|index| self.modules.get(*index as usize));
        if let Some(copy) = same.find(|module| self.has_texts_of(module, batch)) {
            return copy.texts.clone();
        }
        let put = |to: &mut Arena, texts: &mut Arena| {
            let start = to.len() as u32;
            match start {
                // The core library, the largest module, usually comes first.
                0 => *to = std::mem::take(texts),
                _ => to.append(texts),
            }
            start..to.len() as u32
        };
        Texts {
            types: put(&mut self.type_text, &mut batch.type_text),
            names: put(&mut self.names, &mut batch.names),
            signatures: put(&mut self.signatures, &mut batch.signatures),
        }
    }

    fn has_texts_of(&self, module: &Module, batch: &Batch) -> bool {
        module.mvid == batch.module.mvid
            && self.type_text.has_at(module.texts.types.clone(), &batch.type_text)
            && self.names.has_at(module.texts.names.clone(), &batch.names)
            && self.signatures.has_at(module.texts.signatures.clone(), &batch.signatures)
    }
}
