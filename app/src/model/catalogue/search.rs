//! Which methods a query leaves: `memmem` over two arenas. A word is looked for in
//! `Module!Namespace.Type.Method(PARAMS)`, whose two halves stand apart; so it is found in the first (and takes all
//! methods of that type), in the second, or across the dot between them.

use super::Catalogue;
use super::bits::Bits;
use crate::model::query::{Query, Term};
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Methods from which on several threads are worth starting.
const WORTH_THREADS: usize = 100_000;
/// Threads at most: the memory's speed is the next bound.
const MOST_THREADS: usize = 4;
/// Methods that a thread looks through at a time.
const PART: u32 = 16_384;

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

/// Methods whose own half holds the word, of types that do not match as a whole: looked for side by side, since a
/// short word has hundreds of thousands of hits.
fn in_methods(catalogue: &Catalogue, term: &Term, finder: &Finder<'_>, types: &Bits, found: &mut Bits) {
    let parts = parts(catalogue, types);
    let methods: u32 = parts.iter().map(|part| part.end - part.start).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if (methods as usize) < WORTH_THREADS { 1 } else { cores.min(MOST_THREADS) };
    let next = AtomicUsize::new(0);
    let look = || {
        let mut mine = Bits::none(catalogue.len());
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            in_part(catalogue, term, finder, part, &mut mine);
        }
        mine
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
        found.unite(&look());
        // A part whose thread panicked has no hits; the panic itself is reported by its hook.
        others.into_iter().filter_map(|other| other.join().ok()).for_each(|theirs| found.unite(&theirs));
    });
}

/// Runs of methods whose types do not match as a whole, none much longer than [`PART`].
fn parts(catalogue: &Catalogue, types: &Bits) -> Vec<Range<u32>> {
    let mut parts: Vec<Range<u32>> = Vec::new();
    for (index, one) in catalogue.types.iter().enumerate() {
        if types.get(index as u32) {
            continue;
        }
        match parts.last_mut() {
            Some(last) if last.end == one.methods.start && last.end - last.start < PART => {
                last.end = one.methods.end;
            }
            _ => parts.push(one.methods.clone()),
        }
    }
    parts
}

fn in_part(catalogue: &Catalogue, term: &Term, finder: &Finder<'_>, part: &Range<u32>, found: &mut Bits) {
    let arena = &catalogue.method_text;
    let (from, to) = (arena.start(part.start as usize), arena.start(part.end as usize));
    let text = arena.whole(term.exact_case).get(from..to).unwrap_or_default();
    let ends = arena.ends().get(part.start as usize..part.end as usize).unwrap_or_default();
    each_hit(finder, text, ends, from, |index| found.set(part.start + index, true));
}
