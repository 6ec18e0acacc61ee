//! Which methods a query leaves. A word is looked for in `Module!Namespace.Type.Method(PARAMS)`, whose three parts stand
//! apart: types, and names and parameters of methods, of each file once. So it is found within a part, or
//! across the borders: the dot behind the type's name, the bracket before the parameters.

use super::Catalogue;
use super::arena::Arena;
use super::bits::Bits;
use super::dense;
use super::texts::Once;
use crate::model::query::{Query, Term};
use std::collections::VecDeque;

/// Words whose methods are remembered; 125 kB each where there are a million methods.
const REMEMBERED: usize = 32;

/// Words of which it is remembered where they stand, and how many places at most: a word of more letters can only stand
/// there too.
const PLACED: usize = 2;
const PLACES: usize = 500_000;

/// Searches, and remembers what words found: a letter taken back, or a further word, costs next to nothing.
#[derive(Debug, Default)]
pub struct Searcher {
    edition: u64,
    once: Option<Once>,
    found: VecDeque<(Term, Bits)>,
    placed: VecDeque<(Term, Places)>,
}

/// Where a word stands in all types, names and parameters; bytes.
type Places = [Vec<u32>; 3];

impl Searcher {
    /// The methods that match, one bit each.
    pub fn search(&mut self, catalogue: &Catalogue, query: &Query) -> Bits {
        if self.edition != catalogue.modules_edition() {
            *self = Searcher { edition: catalogue.modules_edition(), ..Searcher::default() };
        }
        let mut all: Option<Bits> = None;
        for term in query.terms() {
            let these = self.term(catalogue, term);
            match &mut all {
                Some(all) => all.intersect(these),
                None => all = Some(these.clone()),
            }
        }
        all.unwrap_or_else(|| Bits::all(catalogue.len()))
    }

    fn term(&mut self, catalogue: &Catalogue, term: &Term) -> &Bits {
        let known = self.found.iter().position(|(known, _)| known == term);
        let entry = match known.and_then(|place| self.found.remove(place)) {
            Some(entry) => entry,
            None => (term.clone(), self.matches(catalogue, term)),
        };
        self.found.truncate(REMEMBERED - 1);
        self.found.push_front(entry);
        &self.found[0].1
    }

    fn matches(&mut self, catalogue: &Catalogue, term: &Term) -> Bits {
        let shorter = |(known, _): &&(Term, Places)| {
            known.exact_case == term.exact_case && term.text.starts_with(&known.text)
        };
        let earlier = self.placed.iter().filter(shorter).max_by_key(|(known, _)| known.text.len());
        let earlier = earlier.map(|(known, places)| (known.text.len(), places));
        let once = self.once.get_or_insert_with(|| catalogue.once());
        let Catalogue { type_text, names, signatures, .. } = catalogue;
        let [types, names, parameters] = [(0, type_text), (1, names), (2, signatures)]
            .map(|(part, arena)| Part::of(arena, term, earlier.map(|(known, all)| (known, &all[part]))));
        let mut found = Bits::none(catalogue.len());
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

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        let places = self.placed.iter().flat_map(|(_, places)| places).map(|places| places.capacity() * 4);
        self.found.iter().map(|(_, bits)| bits.len() / 8).chain(places).sum()
    }
}

/// What a word is in of one part of the names.
struct Part {
    /// Where it stands; not known where the strings were.
    places: Option<Vec<u32>>,
    /// The strings that hold it as a whole.
    strings: Bits,
}

impl Part {
    /// `earlier`: how long a word is with which this one begins, and where that stands.
    fn of(arena: &Arena, term: &Term, earlier: Option<(usize, &Vec<u32>)>) -> Part {
        if let Some(strings) = arena.short(term) {
            return Part { places: None, strings };
        }
        let places = match earlier {
            Some((known, places)) => arena.still_at(places, known, term),
            None => arena.places(term),
        };
        Part { strings: arena.strings_at(&places), places: Some(places) }
    }
}

/// Adds the methods in whose name a word stands across the borders of the parts.
fn across_borders(catalogue: &Catalogue, once: &Once, term: &Term, found: &mut Bits) {
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

/// The ways to cut a text before (0) or behind (1) a letter so that something is left on both sides.
fn splits(text: &str, letter: char, behind: usize) -> impl Iterator<Item = (&str, &str)> {
    let cuts = text.match_indices(letter).map(move |(at, _)| text.split_at(at + behind));
    cuts.filter(|(left, right)| !left.is_empty() && !right.is_empty())
}

/// Marks methods of these types with one of these names and, if given, one of these parameters.
fn in_types(
    catalogue: &Catalogue,
    types: &[u32],
    (names, signatures): (&Bits, Option<&Bits>),
    found: &mut Bits,
) {
    if names.count() == 0 || signatures.is_some_and(|these| these.count() == 0) {
        return;
    }
    let holds = |of: &[u32], these: &Bits, method: u32| {
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

/// Looking through all strings of an arena at once, by `memmem`; one bit each.
impl Arena {
    /// The strings that hold a word of one letter or two, where that is known.
    fn short(&self, term: &Term) -> Option<Bits> {
        match *term.text.as_bytes() {
            [letter] => self.with_letter(letter, term.exact_case),
            [one, other] => self.with_pair([one, other], term.exact_case),
            _ => None,
        }
    }

    /// Every place where a word stands, overlapping ones too.
    fn places(&self, term: &Term) -> Vec<u32> {
        let text = self.whole(term.exact_case);
        if let [one, two, three] = *term.text.as_bytes() {
            return dense::places(text, [one, two, three]);
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

    /// Those of the places of a word's first `known` bytes where all of it stands.
    fn still_at(&self, places: &[u32], known: usize, term: &Term) -> Vec<u32> {
        let (whole, rest) =
            (self.whole(term.exact_case), term.text.as_bytes().get(known..).unwrap_or_default());
        let stands = |place: &u32| {
            let from = *place as usize + known;
            whole.get(from..from + rest.len()) == Some(rest)
        };
        places.iter().copied().filter(stands).collect()
    }

    /// The strings at these places.
    fn strings_at(&self, places: &[u32]) -> Bits {
        let mut found = Bits::none(self.len());
        for place in places {
            found.set(self.index_at(*place as usize) as u32, true);
        }
        found
    }

    /// The strings that end so; the text is not empty.
    fn ending(&self, text: &str, exact: bool) -> Bits {
        let (mut found, ended) = (Bits::none(self.len()), [text.as_bytes(), b"\n"].concat());
        for place in memchr::memmem::find_iter(self.whole(exact), &ended) {
            found.set(self.index_at(place) as u32, true);
        }
        found
    }

    /// The strings that begin so.
    fn beginning(&self, text: &str, exact: bool) -> Bits {
        let mut found = Bits::none(self.len());
        let begun = [b"\n", text.as_bytes()].concat();
        for place in memchr::memmem::find_iter(self.whole(exact), &begun) {
            found.set(self.index_at(place) as u32 + 1, true);
        }
        found.set(0, self.first(exact).starts_with(text));
        found
    }

    /// The strings that are this.
    fn equal(&self, text: &str, exact: bool) -> Bits {
        let mut found = Bits::none(self.len());
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
