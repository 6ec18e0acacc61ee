//! Records which methods were compiled with which callees inlined: a compact, bounded set of pairs.
#![forbid(unsafe_code)]

use super::method::Method;
use std::collections::HashMap;

/// Methods remembered, counting callees and inliners.
const MAX_METHODS: usize = 60_000;
/// Pairs remembered.
const MAX_PAIRS: usize = 400_000;
/// Entries searched at a time.
const PART: usize = 1_024;

/// Pairs of callee and inliner. Beyond the limits no pair is added, and the callee is marked incomplete.
#[derive(Default)]
pub struct InlinedPairs {
    numbers: HashMap<Method, u32>,
    /// Indexed by number; entries of free numbers have no method.
    methods: Vec<InlinerEntry>,
    free: Vec<u32>,
    pairs: usize,
    /// A callee found no room, so that callees without an entry are incomplete, too.
    overflowed: bool,
}

/// A method and its inliners.
#[derive(Default)]
struct InlinerEntry {
    method: Option<Method>,
    inliners: Vec<u32>,
    /// The list lacks an inliner.
    incomplete: bool,
}

/// The inliners of a callee.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownInliners {
    /// Methods compiled with it, unordered.
    pub inliners: Vec<Method>,
    /// There may be more.
    pub incomplete: bool,
}

impl InlinedPairs {
    /// Records that `inliner` was compiled with the callee inlined; None for a method without a token.
    pub fn note(&mut self, callee: Method, inliner: Option<Method>) {
        let Some(of) = self.number(callee) else { return };
        let by = inliner.and_then(|inliner| self.number(inliner));
        let full = self.pairs >= MAX_PAIRS;
        let Some(entry) = self.methods.get_mut(of as usize) else { return };
        match by {
            Some(by) if entry.inliners.contains(&by) => {}
            Some(by) if !full => {
                entry.inliners.push(by);
                self.pairs += 1;
            }
            _ => entry.incomplete = true,
        }
    }

    /// Returns the inliners of the callee.
    pub fn holders(&self, callee: Method) -> KnownInliners {
        let entry = self.numbers.get(&callee).and_then(|number| self.methods.get(*number as usize));
        let Some(entry) = entry else {
            return KnownInliners { inliners: Vec::new(), incomplete: self.overflowed };
        };
        let method = |number: &u32| self.methods.get(*number as usize)?.method;
        KnownInliners {
            inliners: entry.inliners.iter().filter_map(method).collect(),
            incomplete: entry.incomplete,
        }
    }

    /// Adds the inliners of any of these callees, which must be sorted, from the next part of the entries. Returns
    /// where the following part begins. (Few callees of a whole framework have entries, so this searches entries,
    /// not callees.)
    pub fn inliners_of(&self, callees: &[Method], from: usize, inliners: &mut Vec<Method>) -> Option<usize> {
        let held = |entry: &&InlinerEntry| {
            !entry.inliners.is_empty()
                && entry.method.is_some_and(|method| callees.binary_search(&method).is_ok())
        };
        let part = self.methods.iter().skip(from).take(PART);
        let numbers = part.filter(held).flat_map(|entry| &entry.inliners);
        inliners.extend(numbers.filter_map(|number| self.methods.get(*number as usize)?.method));
        let next = from + PART;
        (next < self.methods.len()).then_some(next)
    }

    /// Forgets the methods of an unloaded module.
    pub fn forget(&mut self, module: usize) {
        let gone: Vec<u32> =
            self.numbers.iter().filter(|((of, _), _)| *of == module).map(|(_, number)| *number).collect();
        if gone.is_empty() {
            return;
        }
        self.numbers.retain(|(of, _), _| *of != module);
        for number in &gone {
            if let Some(entry) = self.methods.get_mut(*number as usize) {
                *entry = InlinerEntry::default();
            }
        }
        let still = |number: &u32| self.methods.get(*number as usize).is_some_and(|one| one.method.is_some());
        let present: Vec<bool> = (0..self.methods.len() as u32).map(|number| still(&number)).collect();
        for entry in &mut self.methods {
            entry.inliners.retain(|number| present.get(*number as usize).copied().unwrap_or(false));
        }
        self.pairs = self.methods.iter().map(|entry| entry.inliners.len()).sum();
        self.free.extend(gone);
    }

    /// Returns the estimated bytes used by entries, without spare capacity, so that endless growth differs from a
    /// table that has just doubled.
    pub fn bytes(&self) -> usize {
        // A table entry takes 24 bytes and one control byte; one entry in eight stays empty.
        self.numbers.len() * 25 * 8 / 7
            + self.methods.len() * size_of::<InlinerEntry>()
            + self.methods.iter().map(|entry| entry.inliners.capacity() * size_of::<u32>()).sum::<usize>()
            + self.free.capacity() * size_of::<u32>()
    }

    fn number(&mut self, method: Method) -> Option<u32> {
        if let Some(number) = self.numbers.get(&method) {
            return Some(*number);
        }
        let entry = InlinerEntry { method: Some(method), ..InlinerEntry::default() };
        let number = match self.free.pop() {
            Some(number) => {
                *self.methods.get_mut(number as usize)? = entry;
                number
            }
            None if self.methods.len() < MAX_METHODS => {
                self.methods.push(entry);
                (self.methods.len() - 1) as u32
            }
            None => {
                self.overflowed = true;
                return None;
            }
        };
        self.numbers.insert(method, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: Method = (1, 0x0600_0001);
    const OTHER: Method = (1, 0x0600_0002);
    const CALLER: Method = (2, 0x0600_0001);

    fn sorted(pairs: &InlinedPairs, callee: Method) -> Vec<Method> {
        let mut inliners = pairs.holders(callee).inliners;
        inliners.sort_unstable();
        inliners
    }

    #[test]
    fn keeps_pairs_once_and_forgets_them_with_modules() {
        let mut pairs = InlinedPairs::default();
        for _ in 0..3 {
            pairs.note(CALLEE, Some(CALLER));
            pairs.note(CALLEE, Some(OTHER));
        }
        pairs.note(OTHER, Some(CALLER));
        assert_eq!(sorted(&pairs, CALLEE), [OTHER, CALLER]);
        assert_eq!(pairs.pairs, 3);
        let of = |callees: &[Method]| {
            let mut all = Vec::new();
            assert_eq!(pairs.inliners_of(callees, 0, &mut all), None, "one part holds them");
            all.sort_unstable();
            all
        };
        assert_eq!(of(&[CALLEE, OTHER]), [OTHER, CALLER, CALLER]);
        assert_eq!(of(&[OTHER, CALLER]), [CALLER]);
        assert_eq!(of(&[CALLER]), []);
        pairs.forget(2);
        assert_eq!(sorted(&pairs, CALLEE), [OTHER]);
        assert_eq!(sorted(&pairs, OTHER), []);
        // Another method now has the number that became free; nothing may point to it by mistake.
        pairs.note((3, 7), None);
        assert_eq!(pairs.methods.len(), 3);
        assert_eq!(sorted(&pairs, CALLEE), [OTHER]);
        assert_eq!(pairs.pairs, 1);
    }

    #[test]
    fn unknown_inliner_makes_the_list_incomplete() {
        let mut pairs = InlinedPairs::default();
        pairs.note(CALLEE, None);
        assert_eq!(pairs.holders(CALLEE), KnownInliners { inliners: vec![], incomplete: true });
        assert_eq!(pairs.holders(OTHER), KnownInliners::default());
    }

    #[test]
    fn full_table_marks_entries_incomplete() {
        let mut pairs = InlinedPairs::default();
        for token in 0..MAX_METHODS as u32 {
            pairs.note((5, token), Some((5, token)));
        }
        pairs.note((5, 1), Some((6, 1)));
        assert!(pairs.holders((5, 1)).incomplete, "its inliner found no room");
        pairs.note((6, 1), Some((5, 1)));
        assert!(pairs.holders((6, 1)).incomplete, "it found no room itself");
        assert!(!pairs.holders((5, 2)).incomplete);
    }
}
