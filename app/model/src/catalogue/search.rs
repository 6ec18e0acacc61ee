//! Finds the methods that match a query. Words are searched in `Module!Namespace.Type.Method(PARAMS)`, whose
//! three parts (types, method names, parameters) are stored separately and once per file. So a word can be
//! within one part or cross a boundary: the dot after the type, or the parenthesis before the parameters.

use super::Catalogue;
use super::arena::Arena;
use super::bit_set::BitSet;
use super::substring_search;
use super::texts::UniqueModules;
use crate::query::{Query, Term};
use std::collections::VecDeque;

/// Cached results of words; 125 kB each for a million methods.
const REMEMBERED: usize = 32;

/// Cached places of words: how many words, and how many places at most. A longer word can occur only at the
/// places of a word that it starts with.
const PLACED: usize = 2;
const PLACES: usize = 500_000;

/// Searches and caches the results of words, so that deleting a letter or adding a word is almost free.
#[derive(Debug, Default)]
pub struct Searcher {
    edition: u64,
    once: Option<UniqueModules>,
    found: VecDeque<(Term, BitSet)>,
    placed: VecDeque<(Term, Places)>,
}

/// Byte positions of a word in all types, names and parameters.
type Places = [Vec<u32>; 3];

impl Searcher {
    /// Returns the matching methods as bits.
    pub fn search(&mut self, catalogue: &Catalogue, query: &Query) -> BitSet {
        if self.edition != catalogue.modules_edition() {
            *self = Searcher { edition: catalogue.modules_edition(), ..Searcher::default() };
        }
        let mut all: Option<BitSet> = None;
        for term in query.terms() {
            let these = self.term(catalogue, term);
            match &mut all {
                Some(all) => all.intersect(these),
                None => all = Some(these.clone()),
            }
        }
        all.unwrap_or_else(|| BitSet::all(catalogue.len()))
    }

    fn term(&mut self, catalogue: &Catalogue, term: &Term) -> &BitSet {
        let known = self.found.iter().position(|(known, _)| known == term);
        let entry = match known.and_then(|place| self.found.remove(place)) {
            Some(entry) => entry,
            None => (term.clone(), self.matches(catalogue, term)),
        };
        self.found.truncate(REMEMBERED - 1);
        self.found.push_front(entry);
        &self.found[0].1
    }

    fn matches(&mut self, catalogue: &Catalogue, term: &Term) -> BitSet {
        let shorter = |(known, _): &&(Term, Places)| {
            known.exact_case == term.exact_case && term.text.starts_with(&known.text)
        };
        let earlier = self.placed.iter().filter(shorter).max_by_key(|(known, _)| known.text.len());
        let earlier = earlier.map(|(known, places)| (known.text.len(), places));
        let once = self.once.get_or_insert_with(|| catalogue.once());
        let Catalogue { type_text, names, signatures, .. } = catalogue;
        let [types, names, parameters] = [(0, type_text), (1, names), (2, signatures)]
            .map(|(part, arena)| NamePart::of(arena, term, earlier.map(|(known, all)| (known, &all[part]))));
        let mut found = BitSet::none(catalogue.len());
        for owner in once.types_of(&types.strings) {
            if let Some(one) = catalogue.types.get(owner as usize) {
                found.set_range(one.methods.clone(), true);
            }
        }
        found.set_by(&once.methods, &catalogue.name_of, &names.strings);
        found.set_by(&once.methods, &catalogue.signature_of, &parameters.strings);
        across_borders(catalogue, once, term, &mut found);
        once.spread(&mut found);
        if let (Some(types), Some(names), Some(parameters)) = (types.places, names.places, parameters.places)
        {
            let places = [types, names, parameters];
            if places.iter().map(Vec::len).sum::<usize>() <= PLACES {
                self.placed.truncate(PLACED - 1);
                self.placed.push_front((term.clone(), places));
            }
        }
        found
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        let places = self.placed.iter().flat_map(|(_, places)| places).map(|places| places.capacity() * 4);
        self.found.iter().map(|(_, bits)| bits.len() / 8).chain(places).sum()
    }
}

/// The hits of a word in one part of the names.
struct NamePart {
    /// The places; unknown if the strings came from bits.
    places: Option<Vec<u32>>,
    /// The strings that contain the whole word.
    strings: BitSet,
}

impl NamePart {
    /// `earlier`: the length and the places of a word that this one starts with.
    fn of(arena: &Arena, term: &Term, earlier: Option<(usize, &Vec<u32>)>) -> NamePart {
        if let Some(strings) = arena.short(term) {
            return NamePart { places: None, strings };
        }
        let places = match earlier {
            Some((known, places)) => arena.still_at(places, known, term),
            None => arena.places(term),
        };
        NamePart { strings: arena.strings_at(&places), places: Some(places) }
    }
}

/// Adds the methods with a word across part boundaries.
fn across_borders(catalogue: &Catalogue, once: &UniqueModules, term: &Term, found: &mut BitSet) {
    let (text, exact) = (term.text.as_str(), term.exact_case);
    let Catalogue { type_text, names, signatures, .. } = catalogue;
    for (name, parameters) in splits(text, '(', 0) {
        let (names, parameters) = (names.ending(name, exact), signatures.beginning(parameters, exact));
        found.set_by_both(
            &once.methods,
            (&catalogue.name_of, &names),
            (&catalogue.signature_of, &parameters),
        );
    }
    for (owner, own) in splits(text, '.', 1) {
        let types: Vec<u32> = once.types_of(&type_text.ending(owner, exact)).collect();
        in_types(catalogue, &types, (&names.beginning(own, exact), None), found);
        let whole = splits(own, '(', 0).chain(own.starts_with('(').then_some(("", own)));
        for (name, parameters) in whole {
            let parameters = signatures.beginning(parameters, exact);
            in_types(catalogue, &types, (&names.equal(name, exact), Some(&parameters)), found);
        }
    }
}

/// Returns the ways to split a text before (0) or after (1) a letter so that neither side is empty.
fn splits(text: &str, letter: char, behind: usize) -> impl Iterator<Item = (&str, &str)> {
    let cuts = text.match_indices(letter).map(move |(at, _)| text.split_at(at + behind));
    cuts.filter(|(left, right)| !left.is_empty() && !right.is_empty())
}

/// Sets the methods of these types that have one of these names and, if given, one of these parameters.
fn in_types(
    catalogue: &Catalogue,
    types: &[u32],
    (names, signatures): (&BitSet, Option<&BitSet>),
    found: &mut BitSet,
) {
    if names.count() == 0 || signatures.is_some_and(|these| these.count() == 0) {
        return;
    }
    let holds = |of: &[u32], these: &BitSet, method: u32| {
        of.get(method as usize).is_some_and(|place| these.get(*place))
    };
    for one in types.iter().filter_map(|owner| catalogue.types.get(*owner as usize)) {
        for method in one.methods.clone() {
            if holds(&catalogue.name_of, names, method)
                && signatures.is_none_or(|these| holds(&catalogue.signature_of, these, method))
            {
                found.set(method, true);
            }
        }
    }
}

/// Searches all strings of an arena at once with `memmem`; results have one bit per string.
impl Arena {
    /// Returns the strings with a word of one or two letters, if the bits know.
    fn short(&self, term: &Term) -> Option<BitSet> {
        match *term.text.as_bytes() {
            [letter] => self.with_letter(letter, term.exact_case),
            [one, other] => self.with_pair([one, other], term.exact_case),
            _ => None,
        }
    }

    /// Returns every place of a word, including overlapping ones.
    fn places(&self, term: &Term) -> Vec<u32> {
        let text = self.whole(term.exact_case);
        if let [one, two, three] = *term.text.as_bytes() {
            return substring_search::places(text, [one, two, three]);
        }
        let finder = memchr::memmem::Finder::new(&term.text);
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(hit) = text.get(from..).and_then(|rest| finder.find(rest)) {
            places.push((from + hit) as u32);
            from += hit + 1;
        }
        places
    }

    /// Filters the places of a word's first `known` bytes to those of the whole word.
    fn still_at(&self, places: &[u32], known: usize, term: &Term) -> Vec<u32> {
        let (whole, rest) =
            (self.whole(term.exact_case), term.text.as_bytes().get(known..).unwrap_or_default());
        let stands = |place: &u32| {
            let from = *place as usize + known;
            whole.get(from..from + rest.len()) == Some(rest)
        };
        places.iter().copied().filter(stands).collect()
    }

    /// Returns the strings at these places.
    fn strings_at(&self, places: &[u32]) -> BitSet {
        let mut found = BitSet::none(self.len());
        for place in places {
            found.set(self.index_at(*place as usize) as u32, true);
        }
        found
    }

    /// Returns the strings that end with a text, which must not be empty.
    fn ending(&self, text: &str, exact: bool) -> BitSet {
        let (mut found, ended) = (BitSet::none(self.len()), [text.as_bytes(), b"\n"].concat());
        for place in memchr::memmem::find_iter(self.whole(exact), &ended) {
            found.set(self.index_at(place) as u32, true);
        }
        found
    }

    /// Returns the strings that start with a text.
    fn beginning(&self, text: &str, exact: bool) -> BitSet {
        let mut found = BitSet::none(self.len());
        let begun = [b"\n", text.as_bytes()].concat();
        for place in memchr::memmem::find_iter(self.whole(exact), &begun) {
            found.set(self.index_at(place) as u32 + 1, true);
        }
        found.set(0, self.first(exact).starts_with(text));
        found
    }

    /// Returns the strings that equal a text.
    fn equal(&self, text: &str, exact: bool) -> BitSet {
        let mut found = BitSet::none(self.len());
        let ended = [text.as_bytes(), b"\n"].concat();
        for place in memchr::memmem::find_iter(self.whole(exact), &ended) {
            let index = self.index_at(place);
            if self.start(index) == place {
                found.set(index as u32, true);
            }
        }
        found
    }

    fn first(&self, exact: bool) -> &str {
        if exact { self.get(0) } else { self.folded(0) }
    }
}
