//! Records which methods were compiled with which callees inlined: a compact, bounded set of pairs.
#![forbid(unsafe_code)]

use super::method::Method;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Methods remembered, counting callees and inliners.
const MAX_METHODS: usize = 60_000;
/// Pairs remembered.
const MAX_PAIRS: usize = 400_000;
/// Least number of entries that the list grows by. A longer list grows by an eighth, because doubling would take a
/// megabyte at once.
const LEAST_GROWTH: usize = 64;
/// Entries searched at a time.
const PART: usize = 1_024;
/// Pairs searched at a time, not counting those of the last entry.
const PART_PAIRS: usize = 8_192;

/// Pairs of callee and inliner. Beyond the limits no pair is added, and the callee is marked incomplete.
#[derive(Default)]
pub struct InlinedPairs {
    /// The number of each method, found by the method's hash. The methods themselves are only in `methods`, which keeps
    /// this table small when it doubles.
    numbers: HashTable<u32>,
    hasher: RandomState,
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
        let number = self.known_number(callee);
        let Some(entry) = number.and_then(|number| self.methods.get(number as usize)) else {
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
        self.after(from + PART)
    }

    /// Forgets the methods of an unloaded module among the next part of the entries, and adds their numbers to `gone`.
    /// Returns where the following part begins. After the last part the pairs must be removed, and then the numbers
    /// may be used again.
    pub fn remove_methods(&mut self, module: usize, from: usize, gone: &mut Vec<u32>) -> Option<usize> {
        for (number, entry) in (0..).zip(&mut self.methods).skip(from).take(PART) {
            if let Some(method) = entry.method.filter(|(of, _)| *of == module) {
                self.pairs -= entry.inliners.len();
                *entry = InlinerEntry::default();
                let hash = self.hasher.hash_one(method);
                if let Ok(known) = self.numbers.find_entry(hash, |one| *one == number) {
                    known.remove();
                }
                gone.push(number);
            }
        }
        self.after(from + PART)
    }

    /// Removes the pairs with forgotten inliners from the next part of the entries. Returns where the following part
    /// begins.
    pub fn remove_pairs(&mut self, from: usize) -> Option<usize> {
        let mut looked_at = 0;
        let mut at = from;
        while looked_at < PART_PAIRS && at < from + PART {
            let Some(entry) = self.methods.get_mut(at) else { break };
            let mut inliners = std::mem::take(&mut entry.inliners);
            let before = inliners.len();
            inliners
                .retain(|number| self.methods.get(*number as usize).is_some_and(|one| one.method.is_some()));
            self.pairs -= before - inliners.len();
            looked_at += before;
            if let Some(entry) = self.methods.get_mut(at) {
                entry.inliners = inliners;
            }
            at += 1;
        }
        self.after(at)
    }

    /// Makes the numbers of forgotten methods available.
    pub fn reuse(&mut self, gone: Vec<u32>) {
        self.free.extend(gone);
    }

    fn after(&self, next: usize) -> Option<usize> {
        (next < self.methods.len()).then_some(next)
    }

    /// Returns the method's number if it has one.
    fn known_number(&self, method: Method) -> Option<u32> {
        let has_method = |number: &u32| {
            self.methods.get(*number as usize).is_some_and(|entry| entry.method == Some(method))
        };
        self.numbers.find(self.hasher.hash_one(method), has_method).copied()
    }

    /// Returns the method's number; numbers it if there is room.
    fn number(&mut self, method: Method) -> Option<u32> {
        if let Some(number) = self.known_number(method) {
            return Some(number);
        }
        let entry = InlinerEntry { method: Some(method), ..InlinerEntry::default() };
        let number = match self.free.pop() {
            Some(number) => {
                *self.methods.get_mut(number as usize)? = entry;
                number
            }
            None if self.methods.len() < MAX_METHODS => {
                if self.methods.len() == self.methods.capacity() {
                    self.methods.reserve_exact(LEAST_GROWTH.max(self.methods.len() / 8));
                }
                self.methods.push(entry);
                (self.methods.len() - 1) as u32
            }
            None => {
                self.overflowed = true;
                return None;
            }
        };
        let hash_of = |number: &u32| {
            let entry = self.methods.get(*number as usize);
            self.hasher.hash_one(entry.and_then(|entry| entry.method).unwrap_or_default())
        };
        self.numbers.insert_unique(self.hasher.hash_one(method), number, hash_of);
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

    /// Forgets a module; calls `between` before each part but the first.
    fn forget(pairs: &mut InlinedPairs, module: usize, mut between: impl FnMut(&mut InlinedPairs)) {
        let mut gone = Vec::new();
        let mut from = pairs.remove_methods(module, 0, &mut gone);
        while let Some(at) = from {
            between(pairs);
            from = pairs.remove_methods(module, at, &mut gone);
        }
        from = Some(0);
        while let Some(at) = from {
            between(pairs);
            from = pairs.remove_pairs(at);
        }
        pairs.reuse(gone);
    }

    #[test]
    fn forgets_a_module_in_parts_beside_others() {
        let mut pairs = InlinedPairs::default();
        let (callers, callees) = (3 * PART as u32, 100);
        for token in 0..callers {
            (0..callees).for_each(|callee| pairs.note((1, callee), Some((2 + token as usize % 2, token))));
        }
        assert_eq!(pairs.pairs, (callers * callees) as usize);
        let mut more = 0;
        forget(&mut pairs, 2, |pairs| {
            more += 1;
            pairs.note((1, more), Some((3, 1_000_000)));
            pairs.note((4, more), Some((1, more)));
        });
        // Parts of pairs are short, too: one has few entries here.
        assert!(more as usize > (callers * callees) as usize / PART_PAIRS, "{more} parts");
        for callee in 0..callees {
            let noted = (1..=more).contains(&callee);
            let inliners = sorted(&pairs, (1, callee));
            assert_eq!(inliners.len(), callers as usize / 2 + usize::from(noted), "of {callee}");
            assert!(inliners.iter().all(|(module, _)| *module == 3));
        }
        assert!((1..=more).all(|one| sorted(&pairs, (4, one)) == [(1, one)]));
        let sum: usize = pairs.methods.iter().map(|entry| entry.inliners.len()).sum();
        assert_eq!((pairs.pairs, pairs.free.len()), (sum, callers as usize / 2));
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
        forget(&mut pairs, 2, |_| ());
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
