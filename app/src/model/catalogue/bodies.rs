//! Methods without IL, which no dial can be turned on: abstract ones, P/Invokes, those whose code the runtime supplies.

use super::Catalogue;
use super::bits::Bits;
use super::stay::Stay;
use crate::model::ids::MethodIx;
use redial_protocol::reason::Reason;
use std::ops::Range;

/// The methods without a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodyless {
    /// Ascending by method.
    list: Vec<(u32, Reason)>,
    /// The same, one bit a method.
    bits: Bits,
}

impl Bodyless {
    /// Adds those of a module whose `count` methods begin at `first`; their numbers count from there.
    pub fn append(&mut self, first: u32, count: usize, of_module: &[(u32, Reason)]) {
        self.bits.grow(first as usize + count);
        for (method, reason) in of_module {
            self.list.push((first + method, *reason));
            self.bits.set(first + method, true);
        }
    }

    /// Those of a range, counted from its beginning.
    pub fn part(&self, methods: Range<u32>) -> Vec<(u32, Reason)> {
        let from = self.list.partition_point(|(method, _)| *method < methods.start);
        let here = self.list.iter().skip(from).take_while(|(method, _)| *method < methods.end);
        here.map(|(method, reason)| (method - methods.start, *reason)).collect()
    }

    /// Only some methods stay.
    pub fn close_up(&mut self, methods: &Stay) {
        let mut list = Vec::with_capacity(self.list.len());
        let mut bits = Bits::none(methods.len());
        for (run, to) in methods.runs() {
            let from = self.list.partition_point(|(method, _)| (*method as usize) < run.start);
            let of_run = self.list.iter().skip(from).take_while(|(method, _)| (*method as usize) < run.end);
            list.extend(of_run.map(|(method, reason)| (method - run.start as u32 + to as u32, *reason)));
            bits.set_as_in(&self.bits, run.start as u32..run.end as u32, to as u32);
        }
        (self.list, self.bits) = (list, bits);
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<(u32, Reason)>() + self.bits.len() / 8
    }
}

impl Catalogue {
    /// Why a method has no body; None of one that has.
    pub fn without_body(&self, method: MethodIx) -> Option<Reason> {
        let list = &self.bodyless.list;
        let at = list.binary_search_by_key(&method.0, |(method, _)| *method).ok()?;
        list.get(at).map(|(_, reason)| *reason)
    }

    /// The methods without a body, as bits.
    pub fn bodyless(&self) -> &Bits {
        &self.bodyless.bits
    }
}
