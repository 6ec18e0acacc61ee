//! The set of methods that the compiler wrote, which the table hides unless asked.

use super::bit_set::BitSet;
use super::compaction::Compaction;
use std::ops::Range;

/// The methods that the compiler wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct GeneratedMethods {
    pub(super) bits: BitSet,
}

impl GeneratedMethods {
    /// Adds those of a module whose `count` methods begin at `first`. Their numbers are relative to `first`.
    pub fn append(&mut self, first: u32, count: usize, of_module: &[u32]) {
        self.bits.grow(first as usize + count);
        of_module.iter().for_each(|method| self.bits.set(first + method, true));
    }

    /// Adds those of a module as they are in another catalogue, with its methods from `first` on.
    pub fn import(&mut self, first: u32, from: &GeneratedMethods, methods: Range<u32>) {
        self.bits.grow(first as usize + methods.len());
        self.bits.set_as_in(&from.bits, methods, first);
    }

    /// Keeps only some methods.
    pub fn compact(&mut self, methods: &Compaction) {
        let mut bits = BitSet::none(methods.len());
        for (run, to) in methods.runs() {
            bits.set_as_in(&self.bits, run.start as u32..run.end as u32, to as u32);
        }
        self.bits = bits;
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.bits.len() / 8
    }
}
