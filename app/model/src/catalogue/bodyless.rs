//! The set of methods without IL, each with its reason.

use super::bit_set::BitSet;
use super::compaction::Compaction;
use redial_protocol::reason::Reason;
use std::ops::Range;

/// The methods without a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodyless {
    /// Ascending by method.
    pub(super) list: Vec<(u32, Reason)>,
    /// The same as bits.
    pub(super) bits: BitSet,
}

impl Bodyless {
    /// Adds those of a module whose `count` methods begin at `first`. Their numbers are relative to `first`.
    pub fn append(&mut self, first: u32, count: usize, of_module: &[(u32, Reason)]) {
        self.bits.grow(first as usize + count);
        for (method, reason) in of_module {
            self.list.push((first + method, *reason));
            self.bits.set(first + method, true);
        }
    }

    /// Returns those of a range, with numbers relative to its start.
    pub fn part(&self, methods: Range<u32>) -> Vec<(u32, Reason)> {
        let from = self.list.partition_point(|(method, _)| *method < methods.start);
        let here = self.list.iter().skip(from).take_while(|(method, _)| *method < methods.end);
        here.map(|(method, reason)| (method - methods.start, *reason)).collect()
    }

    /// Keeps only some methods.
    pub fn compact(&mut self, methods: &Compaction) {
        let mut list = Vec::with_capacity(self.list.len());
        let mut bits = BitSet::none(methods.len());
        for (run, to) in methods.runs() {
            let from = self.list.partition_point(|(method, _)| (*method as usize) < run.start);
            let of_run = self.list.iter().skip(from).take_while(|(method, _)| (*method as usize) < run.end);
            list.extend(of_run.map(|(method, reason)| (method - run.start as u32 + to as u32, *reason)));
            bits.set_as_in(&self.bits, run.start as u32..run.end as u32, to as u32);
        }
        (self.list, self.bits) = (list, bits);
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<(u32, Reason)>() + self.bits.len() / 8
    }
}
