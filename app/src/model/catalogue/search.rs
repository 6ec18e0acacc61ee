//! Which methods a query leaves: `memmem` over two arenas. A word is looked for in
//! `Module!Namespace.Type.Method(PARAMS)`, whose two halves stand apart; so it is found in the first (and takes all
//! methods of that type), in the second, or across the dot between them.

use super::Catalogue;
use super::bits::Bits;
use crate::model::query::{Query, Term};
use memchr::memmem::Finder;

/// The methods that match, one bit each.
pub fn search(catalogue: &Catalogue, query: &Query) -> Bits {
    let mut found: Option<Bits> = None;
    for term in query.terms() {
        let these = term_matches(catalogue, term);
        match &mut found {
            Some(found) => found.intersect(&these),
            None => found = Some(these),
        }
    }
    found.unwrap_or_else(|| Bits::all(catalogue.len()))
}

fn term_matches(catalogue: &Catalogue, term: &Term) -> Bits {
    let finder = Finder::new(term.text.as_bytes());
    let mut found = Bits::none(catalogue.len());
    let types = whole_types(catalogue, term, &finder);
    for index in types.iter_in(0..types.len() as u32) {
        if let Some(one) = catalogue.types.get(index as usize) {
            found.set_range(one.methods.clone(), true);
        }
    }
    across(catalogue, term, &types, &mut found);
    in_methods(catalogue, term, &finder, &types, &mut found);
    found
}

/// Types whose half holds the word.
fn whole_types(catalogue: &Catalogue, term: &Term, finder: &Finder<'_>) -> Bits {
    let arena = &catalogue.type_text;
    let mut types = Bits::none(catalogue.types.len());
    each_hit(finder, arena.whole(term.exact_case), arena.ends(), 0, |index| types.set(index, true));
    types
}

/// Calls `each` with the index, counted from 0 at the first of `ends`, of every string that holds what the finder
/// looks for. `text` begins `offset` bytes into the arena.
fn each_hit(finder: &Finder<'_>, text: &[u8], ends: &[u32], offset: usize, mut each: impl FnMut(u32)) {
    let mut at = 0;
    let mut index = 0;
    while let Some(hit) = text.get(at..).and_then(|rest| finder.find(rest)) {
        let place = at + hit;
        let Some(end) = advance(ends, &mut index, offset + place) else { return };
        each(index as u32);
        // On with the next string: once is enough.
        at = end + 1 - offset;
        index += 1;
    }
}

/// Moves `index` on to the string that holds the byte at `place`; where that string ends.
fn advance(ends: &[u32], index: &mut usize, place: usize) -> Option<usize> {
    // Hits are near each other, or far: look at some, then halve.
    for _ in 0..8 {
        match ends.get(*index) {
            Some(end) if (*end as usize) < place => *index += 1,
            found => return found.map(|end| *end as usize),
        }
    }
    let rest = ends.get(*index..)?;
    *index += rest.partition_point(|end| (*end as usize) < place);
    ends.get(*index).map(|end| *end as usize)
}

/// Methods that the word reaches across the dot behind their type's name.
fn across(catalogue: &Catalogue, term: &Term, types: &Bits, found: &mut Bits) {
    let splits = term.text.match_indices('.').map(|(dot, _)| term.text.split_at(dot + 1));
    for (left, right) in splits.filter(|(_, right)| !right.is_empty()) {
        for (index, one) in catalogue.types.iter().enumerate() {
            let text = |arena: &'_ super::Arena, at: usize| -> bool {
                let whole = if term.exact_case { arena.get(at) } else { arena.folded(at) };
                whole.ends_with(left)
            };
            if types.get(index as u32) || !text(&catalogue.type_text, index) {
                continue;
            }
            for method in one.methods.clone() {
                let arena = &catalogue.method_text;
                let own =
                    if term.exact_case { arena.get(method as usize) } else { arena.folded(method as usize) };
                if own.starts_with(right) {
                    found.set(method, true);
                }
            }
        }
    }
}

/// Methods whose own half holds the word, of types that do not match as a whole.
fn in_methods(catalogue: &Catalogue, term: &Term, finder: &Finder<'_>, types: &Bits, found: &mut Bits) {
    let arena = &catalogue.method_text;
    let text = arena.whole(term.exact_case);
    let mut first = 0usize;
    while first < catalogue.types.len() {
        if types.get(first as u32) {
            first += 1;
            continue;
        }
        let mut last = first;
        while last + 1 < catalogue.types.len() && !types.get(last as u32 + 1) {
            last += 1;
        }
        let bounds = catalogue.types.get(first).zip(catalogue.types.get(last));
        let (start, end) = bounds.map_or((0, 0), |(one, two)| (one.methods.start, two.methods.end));
        let (from, to) = (arena.start(start as usize), arena.start(end as usize));
        let part = text.get(from..to).unwrap_or_default();
        let ends = arena.ends().get(start as usize..end as usize).unwrap_or_default();
        each_hit(finder, part, ends, from, |index| found.set(start + index, true));
        first = last + 1;
    }
}
