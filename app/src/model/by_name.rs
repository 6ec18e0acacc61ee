//! Some of a catalogue's methods in the order of their names, without a list of them: a million would take longer to
//! write down than a frame lasts.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::ids::MethodIx;
use std::cell::Cell;

/// A set of methods by name.
#[derive(Debug, Default)]
pub struct ByName {
    methods: Bits,
    /// The types that have some, by name.
    types: Vec<Part>,
    /// The type looked at last: the next is mostly the same, or beside it.
    last: Cell<usize>,
}

/// The methods of one type.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Places up to which they, and those before them, reach.
    end: u32,
    /// The type's first method, in the set or not.
    start: u32,
}

impl ByName {
    /// These methods, in the order that the catalogue has now.
    pub fn new(methods: Bits, catalogue: &Catalogue) -> ByName {
        let ranks = methods.ranks();
        let mut types = Vec::with_capacity(catalogue.type_count());
        let (mut end, mut before) = (0, (0, 0));
        for owner in catalogue.types_by_name() {
            let range = catalogue.methods_of_type(owner);
            // Types that follow each other by name mostly do so in their module too.
            let rank = if before.0 == range.start { before.1 } else { ranks.before(range.start) };
            before = (range.end, ranks.before(range.end));
            if before.1 > rank {
                end += before.1 - rank;
                types.push(Part { end, start: range.start });
            }
        }
        types.shrink_to_fit();
        ByName { methods, types, last: Cell::new(0) }
    }

    /// Methods there are.
    pub fn len(&self) -> usize {
        self.types.last().map_or(0, |part| part.end as usize)
    }

    /// Places before a part.
    fn before(&self, part: usize) -> u32 {
        part.checked_sub(1).and_then(|before| self.types.get(before)).map_or(0, |part| part.end)
    }

    /// The method at a place.
    pub fn get(&self, place: usize) -> Option<u32> {
        let place = u32::try_from(place).ok()?;
        let here = |part: usize| {
            self.types.get(part).is_some_and(|one| place < one.end) && self.before(part) <= place
        };
        let last = self.last.get();
        let near = [last, last + 1].into_iter().find(|part| here(*part));
        let part = near.unwrap_or_else(|| self.types.partition_point(|part| part.end <= place));
        let start = self.types.get(part)?.start;
        self.last.set(part);
        self.methods.iter_in(start..u32::MAX).nth((place - self.before(part)) as usize)
    }

    /// Where a method stands, or would stand if it were there.
    pub fn place_near(&self, method: MethodIx, catalogue: &Catalogue) -> usize {
        let (owner, _) = catalogue.name_place(method);
        let owner_of = |part: &Part| catalogue.name_place(MethodIx(part.start)).0;
        let part = self.types.partition_point(|part| owner_of(part) < owner);
        let same = self.types.get(part).filter(|part| owner_of(part) == owner);
        let inside = same.map_or(0, |part| self.methods.count_in(part.start..method.0));
        (self.before(part) + inside) as usize
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.methods.len() / 8 + self.types.capacity() * size_of::<Part>()
    }
}
