//! Some of a catalogue's methods in the order of their names, without a list of them: a million would take longer to
//! write down than a frame lasts. Their types are written down as far as somebody looks first, and the rest when there is time.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::catalogue::forget::Renumbering;
use super::ids::{MethodIx, TypeIx};
use std::cell::Cell;

/// Places beyond the farthest one looked at so far that are written down first.
const FIRST: usize = 4_096;

/// A set of methods by name.
#[derive(Debug, Default)]
pub struct ByName {
    methods: Bits,
    /// The types that have some, by name.
    types: Vec<Part>,
    /// Of types whose methods stand beside those of other processes' copies: the first method of each copy.
    copies: Vec<u32>,
    /// Methods there are.
    count: usize,
    /// Types of the catalogue that were gone through, by name, and the last of them that has some.
    through: usize,
    last_owner: Option<TypeIx>,
    /// Whether all of them were.
    whole: bool,
    /// The type looked at last: the next is mostly the same, or beside it.
    last: Cell<usize>,
    /// The farthest place looked at.
    farthest: Cell<usize>,
}

/// The methods of one type, and of its copies where those stand beside them.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Places up to which they, and those before them, reach.
    end: u32,
    /// The type's first method, in the set or not.
    start: u32,
    /// Where its copies are among all, itself the first of them; none where it stands alone.
    copies: (u32, u32),
}

impl ByName {
    /// These methods, in the order that the catalogue has now.
    pub fn new(methods: Bits, catalogue: &Catalogue) -> ByName {
        let mut all = ByName { count: methods.count(), methods, ..ByName::default() };
        all.complete(catalogue);
        all
    }

    /// The same in place of another set, as far as that was looked at and somewhat further; `complete` does the rest.
    pub fn instead(&self, methods: Bits, catalogue: &Catalogue) -> ByName {
        let mut first = ByName { count: methods.count(), methods, ..ByName::default() };
        first.write_down(catalogue, self.farthest.get().saturating_add(FIRST));
        first
    }

    /// The same after methods were renumbered, as far as it is written down.
    pub fn renumbered(&self, to: &Renumbering, catalogue: &Catalogue) -> ByName {
        let methods = to.bits(&self.methods, catalogue.len());
        if self.whole { ByName::new(methods, catalogue) } else { self.instead(methods, catalogue) }
    }

    /// Writes down the rest, of the catalogue as it was.
    pub fn complete(&mut self, catalogue: &Catalogue) {
        self.write_down(catalogue, usize::MAX);
        self.types.shrink_to_fit();
    }

    /// Whether nothing is left to be written down.
    pub fn is_whole(&self) -> bool {
        self.whole || self.count == 0
    }

    /// Goes on until so many places are written down.
    fn write_down(&mut self, catalogue: &Catalogue, places: usize) {
        let ranks = self.methods.ranks();
        let interleaves = catalogue.interleaves();
        let (mut end, mut before) = (self.before(self.types.len()), (0, 0));
        for owner in catalogue.types_by_name().skip(self.through) {
            let same = interleaves && self.last_owner.is_some_and(|last| catalogue.is_same_type(last, owner));
            if end as usize >= places && !same {
                return;
            }
            self.through += 1;
            let range = catalogue.methods_of_type(owner);
            // Types that follow each other by name mostly do so in their module too.
            let rank = if before.0 == range.start { before.1 } else { ranks.before(range.start) };
            before = (range.end, ranks.before(range.end));
            if before.1 <= rank {
                continue;
            }
            end += before.1 - rank;
            let same = interleaves && self.last_owner.is_some_and(|last| catalogue.is_same_type(last, owner));
            match self.types.last_mut().filter(|_| same) {
                Some(Part { end: last_end, start, copies: among }) => {
                    if among.0 == among.1 {
                        *among = (self.copies.len() as u32, self.copies.len() as u32 + 1);
                        self.copies.push(*start);
                    }
                    self.copies.push(range.start);
                    (*last_end, among.1) = (end, self.copies.len() as u32);
                }
                None => self.types.push(Part { end, start: range.start, copies: (0, 0) }),
            }
            self.last_owner = Some(owner);
        }
        self.whole = true;
    }

    /// The copies of a type whose methods stand beside each other; none where it stands alone.
    fn beside(&self, part: &Part) -> &[u32] {
        self.copies.get(part.copies.0 as usize..part.copies.1 as usize).unwrap_or_default()
    }

    /// Methods there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Places before a part.
    fn before(&self, part: usize) -> u32 {
        part.checked_sub(1).and_then(|before| self.types.get(before)).map_or(0, |part| part.end)
    }

    /// The method at a place; None where it is not written down yet, either.
    pub fn get(&self, place: usize) -> Option<u32> {
        self.farthest.set(self.farthest.get().max(place));
        let place = u32::try_from(place).ok()?;
        let here = |part: usize| {
            self.types.get(part).is_some_and(|one| place < one.end) && self.before(part) <= place
        };
        let last = self.last.get();
        let near = [last, last + 1].into_iter().find(|part| here(*part));
        let part = near.unwrap_or_else(|| self.types.partition_point(|part| part.end <= place));
        let found = self.types.get(part)?;
        self.last.set(part);
        let inside = (place - self.before(part)) as usize;
        match self.beside(found) {
            [] => self.methods.iter_in(found.start..u32::MAX).nth(inside),
            copies => {
                let rows = (0..u32::MAX).flat_map(|at| copies.iter().map(move |start| start + at));
                rows.filter(|method| self.methods.get(*method)).nth(inside)
            }
        }
    }

    /// Where a method stands, or would stand if it were there.
    pub fn place_near(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let (owner, _) = catalogue.name_place(method);
        let owner_of = |start: u32| catalogue.name_place(MethodIx(start)).0;
        let last_of = |part: &Part| owner_of(self.beside(part).last().copied().unwrap_or(part.start));
        let part = self.types.partition_point(|part| last_of(part) < owner);
        if part == self.types.len() && !self.is_whole() {
            return ByName::new(self.methods.clone(), catalogue).place_near(method, catalogue);
        }
        let same = self.types.get(part).filter(|part| owner_of(part.start) <= owner);
        let inside = same.map_or(0, |part| match self.beside(part) {
            [] => self.methods.count_in(part.start..method.0),
            copies => self.before_beside(copies, method, catalogue),
        });
        (self.before(part) + inside) as usize
    }

    /// Rows before a method among those of copies that stand beside each other.
    fn before_beside(&self, copies: &[u32], method: MethodIx, catalogue: &Catalogue) -> u32 {
        let (owner, _) = catalogue.name_place(method);
        let at = method.0.saturating_sub(catalogue.methods_of_type(catalogue.type_of(method)).start);
        let before = |start: &u32| {
            let first = catalogue.name_place(MethodIx(*start)).0 < owner;
            self.methods.count_in(*start..*start + at + u32::from(first))
        };
        copies.iter().map(before).sum()
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.methods.len() / 8
            + self.types.capacity() * size_of::<Part>()
            + self.copies.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::tests::large;

    fn all(set: &ByName) -> Vec<Option<u32>> {
        (0..set.len() + 1).map(|place| set.get(place)).collect()
    }

    #[test]
    fn what_is_written_down_in_parts_is_the_same() {
        let catalogue = large(20, 3 * FIRST);
        let mut some = Bits::all(catalogue.len());
        (0..catalogue.len() as u32).step_by(3).for_each(|method| some.set(method, false));
        let whole = ByName::new(some.clone(), &catalogue);
        assert!(whole.is_whole() && whole.len() == some.count());

        let mut first = ByName::default().instead(some.clone(), &catalogue);
        assert!(!first.is_whole() && first.len() == whole.len(), "how many there are is known");
        for place in 0..FIRST {
            assert_eq!(first.get(place), whole.get(place), "{place}");
        }
        let last = whole.len() - 1;
        assert!(first.get(last).is_none() && whole.get(last).is_some());
        for place in (0..whole.len()).step_by(97) {
            let method = MethodIx(whole.get(place).expect("one of them"));
            assert_eq!(first.place_near(method, &catalogue), place, "written down or not");
        }
        first.complete(&catalogue);
        assert!(first.is_whole());
        assert_eq!(all(&first), all(&whole));
        let next = first.instead(some, &catalogue);
        assert!(next.is_whole(), "somebody looked at its end before");
    }
}
