//! Methods in name order without materializing a list, because a list of a million methods takes longer than
//! a frame. Materializes their types first as far as rows are visible, and the rest later.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::catalogue::module_removal::Renumbering;
use super::ids::{MethodIx, TypeIx};
use std::cell::Cell;

/// Places materialized beyond the farthest visible one.
const FIRST: usize = 4_096;

/// A set of methods in name order.
#[derive(Debug, Default)]
pub struct NameOrderedSet {
    methods: BitSet,
    /// The types with methods in the set, by name.
    types: Vec<TypeMethods>,
    /// For types whose methods are beside those of other processes' copies: the first method of each copy.
    copies: Vec<u32>,
    /// The number of methods.
    count: usize,
    /// The number of catalogue types processed so far, in name order, and the last one with methods in the
    /// set.
    processed_types: usize,
    last_owner: Option<TypeIx>,
    /// Whether all types were processed.
    all_processed: bool,
    /// The last accessed part; the next access is usually to the same or the following one.
    last: Cell<usize>,
    /// The farthest accessed place.
    farthest: Cell<usize>,
}

/// The methods of one type, and those of its copies if they are side by side.
#[derive(Clone, Copy, Debug)]
struct TypeMethods {
    /// The place after its last method.
    end: u32,
    /// The type's first method, whether in the set or not.
    start: u32,
    /// The range of its copies in `copies`, including itself; empty if it is alone.
    copies: (u32, u32),
}

impl NameOrderedSet {
    /// Creates the set with the catalogue's current order.
    pub fn new(methods: BitSet, catalogue: &Catalogue) -> NameOrderedSet {
        let mut all = NameOrderedSet { count: methods.count(), methods, ..NameOrderedSet::default() };
        all.complete(catalogue);
        all
    }

    /// Creates another set, materialized as far as this one was accessed and somewhat further; `complete`
    /// does the rest.
    pub fn rebuilt(&self, methods: BitSet, catalogue: &Catalogue) -> NameOrderedSet {
        let mut first = NameOrderedSet { count: methods.count(), methods, ..NameOrderedSet::default() };
        first.materialize(catalogue, self.farthest.get().saturating_add(FIRST));
        first
    }

    /// Returns the set after methods were renumbered, materialized to the same extent.
    pub fn renumbered(&self, to: &Renumbering, catalogue: &Catalogue) -> NameOrderedSet {
        let methods = to.bits(&self.methods, catalogue.len());
        if self.all_processed {
            NameOrderedSet::new(methods, catalogue)
        } else {
            self.rebuilt(methods, catalogue)
        }
    }

    /// Materializes the rest; the catalogue must be unchanged.
    pub fn complete(&mut self, catalogue: &Catalogue) {
        self.materialize(catalogue, usize::MAX);
        self.types.shrink_to_fit();
    }

    /// Returns whether everything is materialized.
    pub fn is_materialized(&self) -> bool {
        self.all_processed || self.count == 0
    }

    /// Materializes at least this many places.
    fn materialize(&mut self, catalogue: &Catalogue, places: usize) {
        let ranks = self.methods.ranks();
        let interleaves = catalogue.interleaves();
        let (mut end, mut before) = (self.before(self.types.len()), (0, 0));
        for owner in catalogue.types_by_name().skip(self.processed_types) {
            let same = interleaves && self.last_owner.is_some_and(|last| catalogue.is_same_type(last, owner));
            if end as usize >= places && !same {
                return;
            }
            self.processed_types += 1;
            let range = catalogue.methods_of_type(owner);
            // Types that are adjacent by name usually are adjacent in their module, too.
            let rank = if before.0 == range.start { before.1 } else { ranks.before(range.start) };
            before = (range.end, ranks.before(range.end));
            if before.1 <= rank {
                continue;
            }
            end += before.1 - rank;
            let same = interleaves && self.last_owner.is_some_and(|last| catalogue.is_same_type(last, owner));
            match self.types.last_mut().filter(|_| same) {
                Some(TypeMethods { end: last_end, start, copies: among }) => {
                    if among.0 == among.1 {
                        *among = (self.copies.len() as u32, self.copies.len() as u32 + 1);
                        self.copies.push(*start);
                    }
                    self.copies.push(range.start);
                    (*last_end, among.1) = (end, self.copies.len() as u32);
                }
                None => self.types.push(TypeMethods { end, start: range.start, copies: (0, 0) }),
            }
            self.last_owner = Some(owner);
        }
        self.all_processed = true;
    }

    /// Returns the copies of a type whose methods are side by side; empty if it is alone.
    fn side_by_side(&self, part: &TypeMethods) -> &[u32] {
        self.copies.get(part.copies.0 as usize..part.copies.1 as usize).unwrap_or_default()
    }

    /// Returns the number of methods.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the number of places before a part.
    fn before(&self, part: usize) -> u32 {
        part.checked_sub(1).and_then(|before| self.types.get(before)).map_or(0, |part| part.end)
    }

    /// Returns the method at a place; `None` if it is out of range or not yet materialized.
    pub fn get(&self, place: usize) -> Option<u32> {
        self.farthest.set(self.farthest.get().max(place));
        let place = u32::try_from(place).ok()?;
        let here = |part: usize| {
            self.types.get(part).is_some_and(|one| place < one.end) && self.before(part) <= place
        };
        let last = self.last.get();
        let nearby = [last, last + 1].into_iter().find(|part| here(*part));
        let part = nearby.unwrap_or_else(|| self.types.partition_point(|part| part.end <= place));
        let found = self.types.get(part)?;
        self.last.set(part);
        let inside = (place - self.before(part)) as usize;
        match self.side_by_side(found) {
            [] => self.methods.iter_in(found.start..u32::MAX).nth(inside),
            copies => {
                let rows = (0..u32::MAX).flat_map(|at| copies.iter().map(move |start| start + at));
                rows.filter(|method| self.methods.get(*method)).nth(inside)
            }
        }
    }

    /// Returns the place of a method, or the one it would have if it were in the set.
    pub fn place_near(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let (owner, _) = catalogue.name_place(method);
        let owner_of = |start: u32| catalogue.name_place(MethodIx(start)).0;
        let last_of =
            |part: &TypeMethods| owner_of(self.side_by_side(part).last().copied().unwrap_or(part.start));
        let part = self.types.partition_point(|part| last_of(part) < owner);
        if part == self.types.len() && !self.is_materialized() {
            return NameOrderedSet::new(self.methods.clone(), catalogue).place_near(method, catalogue);
        }
        let same = self.types.get(part).filter(|part| owner_of(part.start) <= owner);
        let inside = same.map_or(0, |part| match self.side_by_side(part) {
            [] => self.methods.count_in(part.start..method.0),
            copies => self.rows_before(copies, method, catalogue),
        });
        (self.before(part) + inside) as usize
    }

    /// Returns the number of rows before a method among side-by-side copies.
    fn rows_before(&self, copies: &[u32], method: MethodIx, catalogue: &Catalogue) -> u32 {
        let (owner, _) = catalogue.name_place(method);
        let at = method.0.saturating_sub(catalogue.methods_of_type(catalogue.type_of(method)).start);
        let before = |start: &u32| {
            let first = catalogue.name_place(MethodIx(*start)).0 < owner;
            self.methods.count_in(*start..*start + at + u32::from(first))
        };
        copies.iter().map(before).sum()
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.methods.len() / 8
            + self.types.capacity() * size_of::<TypeMethods>()
            + self.copies.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tests::large;

    fn all(set: &NameOrderedSet) -> Vec<Option<u32>> {
        (0..set.len() + 1).map(|place| set.get(place)).collect()
    }

    #[test]
    fn partial_materialization_gives_the_same_order() {
        let catalogue = large(20, 3 * FIRST);
        let mut some = BitSet::all(catalogue.len());
        (0..catalogue.len() as u32).step_by(3).for_each(|method| some.set(method, false));
        let whole = NameOrderedSet::new(some.clone(), &catalogue);
        assert!(whole.is_materialized() && whole.len() == some.count());

        let mut first = NameOrderedSet::default().rebuilt(some.clone(), &catalogue);
        assert!(!first.is_materialized() && first.len() == whole.len(), "the count is known");
        for place in 0..FIRST {
            assert_eq!(first.get(place), whole.get(place), "{place}");
        }
        let last = whole.len() - 1;
        assert!(first.get(last).is_none() && whole.get(last).is_some());
        for place in (0..whole.len()).step_by(97) {
            let method = MethodIx(whole.get(place).expect("one of them"));
            assert_eq!(first.place_near(method, &catalogue), place, "materialized or not");
        }
        first.complete(&catalogue);
        assert!(first.is_materialized());
        assert_eq!(all(&first), all(&whole));
        let next = first.rebuilt(some, &catalogue);
        assert!(next.is_materialized(), "its end was accessed before");
    }
}
