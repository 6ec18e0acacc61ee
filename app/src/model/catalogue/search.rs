//! Which methods a query leaves. A word is looked for in `Module!Namespace.Type.Method(PARAMS)`, whose three parts stand
//! apart: types, and names and parameters of methods, each of these once a module. So it is found within a part, or
//! across the borders: the dot behind the type's name, the bracket before the parameters.

use super::Catalogue;
use super::arena::Arena;
use super::bits::Bits;
use crate::model::query::{Query, Term};
use std::collections::VecDeque;

/// Words whose methods are remembered; 125 kB each where there are a million methods.
const REMEMBERED: usize = 32;

/// Searches, and remembers what words found: a letter taken back, or a further word, costs next to nothing.
#[derive(Debug, Default)]
pub struct Searcher {
    edition: u64,
    found: VecDeque<(Term, Bits)>,
}

impl Searcher {
    /// The methods that match, one bit each.
    pub fn search(&mut self, catalogue: &Catalogue, query: &Query) -> Bits {
        if self.edition != catalogue.edition() {
            self.found.clear();
            self.edition = catalogue.edition();
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
            None => (term.clone(), term_matches(catalogue, term)),
        };
        self.found.truncate(REMEMBERED - 1);
        self.found.push_front(entry);
        &self.found[0].1
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.found.iter().map(|(_, bits)| bits.len() / 8).sum()
    }
}

fn term_matches(catalogue: &Catalogue, term: &Term) -> Bits {
    let (text, exact) = (term.text.as_str(), term.exact_case);
    let Catalogue { type_text, names, signatures, .. } = catalogue;
    let mut found = Bits::none(catalogue.len());
    for owner in type_text.containing(text, exact).iter_in(0..u32::MAX) {
        if let Some(one) = catalogue.types.get(owner as usize) {
            found.set_range(one.methods.clone(), true);
        }
    }
    found.set_by(&catalogue.name_of, &names.containing(text, exact));
    found.set_by(&catalogue.signature_of, &signatures.containing(text, exact));
    for (name, parameters) in splits(text, '(', 0) {
        let names = names.ending(name, exact);
        found.set_by_both(
            (&catalogue.name_of, &names),
            (&catalogue.signature_of, &signatures.beginning(parameters, exact)),
        );
    }
    for (owner, own) in splits(text, '.', 1) {
        let types = type_text.ending(owner, exact);
        in_types(catalogue, &types, (&names.beginning(own, exact), None), &mut found);
        let whole = splits(own, '(', 0).chain(own.starts_with('(').then_some(("", own)));
        for (name, parameters) in whole {
            let parameters = signatures.beginning(parameters, exact);
            in_types(catalogue, &types, (&names.equal(name, exact), Some(&parameters)), &mut found);
        }
    }
    found
}

/// The ways to cut a text before (0) or behind (1) a letter so that something is left on both sides.
fn splits(text: &str, letter: char, behind: usize) -> impl Iterator<Item = (&str, &str)> {
    let cuts = text.match_indices(letter).map(move |(at, _)| text.split_at(at + behind));
    cuts.filter(|(left, right)| !left.is_empty() && !right.is_empty())
}

/// Marks methods of these types with one of these names and, if given, one of these parameters.
fn in_types(
    catalogue: &Catalogue,
    types: &Bits,
    (names, signatures): (&Bits, Option<&Bits>),
    found: &mut Bits,
) {
    if names.count() == 0 || signatures.is_some_and(|these| these.count() == 0) {
        return;
    }
    let holds = |of: &[u32], these: &Bits, method: u32| {
        of.get(method as usize).is_some_and(|place| these.get(*place))
    };
    for owner in types.iter_in(0..u32::MAX) {
        let Some(one) = catalogue.types.get(owner as usize) else { return };
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
    /// The strings that hold a text.
    fn containing(&self, text: &str, exact: bool) -> Bits {
        let letter = match text.as_bytes() {
            [letter] if !exact => self.with_letter(*letter),
            _ => None,
        };
        letter.unwrap_or_else(|| self.holding(text.as_bytes(), exact, 0))
    }

    /// The strings that end so; the text is not empty.
    fn ending(&self, text: &str, exact: bool) -> Bits {
        self.holding(&[text.as_bytes(), b"\n"].concat(), exact, 0)
    }

    /// The strings that begin so.
    fn beginning(&self, text: &str, exact: bool) -> Bits {
        let mut found = self.holding(&[b"\n", text.as_bytes()].concat(), exact, 1);
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

    /// The strings that many places behind those in which a text, line breaks and all, begins.
    fn holding(&self, text: &[u8], exact: bool, behind: u32) -> Bits {
        let mut found = Bits::none(self.len());
        for place in memchr::memmem::find_iter(self.whole(exact), text) {
            found.set(self.index_at(place) as u32 + behind, true);
        }
        found
    }
}
