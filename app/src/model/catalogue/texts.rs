//! Names of types, and names and parameters of methods, which copies of a file have in common: they stand there once, however many
//! processes or AppDomains loaded it, and are looked through once.

use super::arena::Arena;
use super::bits::Bits;
use super::builder::Batch;
use super::{Catalogue, Module};
use std::collections::HashMap;
use std::ops::Range;

/// Where a module's texts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// Among the types' texts: one for each of the module's types, in their order.
    pub types: Range<u32>,
    /// Among the names.
    pub names: Range<u32>,
    /// Among the signatures.
    pub signatures: Range<u32>,
}

/// A catalogue without what repeats an earlier module, file and all: what is true of a method there is true of it in each copy.
#[derive(Debug, Default)]
pub(super) struct Once {
    /// Where the texts of types stand that are looked at, each range with the first of these types.
    types: Vec<(Range<u32>, u32)>,
    /// The methods that are, in ranges that do not touch.
    pub methods: Vec<Range<u32>>,
    /// The methods of modules that are not looked at, each with the first method of what it is a copy of.
    repeats: Vec<(Range<u32>, u32)>,
}

impl Once {
    /// The types whose texts are among these.
    pub fn types_of<'a>(&'a self, texts: &'a Bits) -> impl Iterator<Item = u32> + 'a {
        let parts = self.types.iter();
        parts.flat_map(|(part, first)| texts.iter_in(part.clone()).map(move |at| at - part.start + first))
    }

    /// Sets, for each copy, what is set for the methods of which it is one.
    pub fn spread(&self, found: &mut Bits) {
        if self.repeats.is_empty() {
            return;
        }
        let first = found.clone();
        for (copy, of) in &self.repeats {
            found.set_as_in(&first, *of..of + (copy.end - copy.start), copy.start);
        }
    }
}

/// Appends a range, to the last one where it goes on there.
fn append(ranges: &mut Vec<Range<u32>>, range: &Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range.clone()),
    }
}

impl Catalogue {
    /// Every file once.
    pub(super) fn once(&self) -> Once {
        let (mut once, mut known) = (Once::default(), HashMap::<_, &Module>::new());
        for module in &self.modules {
            let Texts { types, names, signatures } = &module.texts;
            // Of one not all may have been read: it is no copy, and stands for none.
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

    /// Where the texts of a module that comes stand: where those of a copy of it do, or at the end, where they are put.
    pub(super) fn take_texts(&mut self, batch: &mut Batch) -> Texts {
        let same = self.by_name.get(&batch.module.name).into_iter().flatten();
        let mut same = same.filter_map(|index| self.modules.get(*index as usize));
        if let Some(copy) = same.find(|module| self.has_texts_of(module, batch)) {
            return copy.texts.clone();
        }
        let put = |to: &mut Arena, texts: &mut Arena| {
            let start = to.len() as u32;
            match start {
                // The core library, the largest there is, comes first mostly.
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
