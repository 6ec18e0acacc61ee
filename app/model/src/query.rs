//! A filter's text: words that must all occur. A word with a capital letter is case-sensitive (smart case). A
//! `*` separates words like a space, so a pattern of names finds its matches, and perhaps more.

use memchr::memmem;
use std::ops::Range;

/// One word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The text to find; folded unless case counts.
    pub text: String,
    /// Whether case counts.
    pub exact_case: bool,
}

/// A parsed filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    terms: Vec<Term>,
}

/// Converts to lower case, byte for byte: a letter whose lower case has another length stays as it is, so
/// that offsets in folded text are offsets in the original.
pub fn fold_into(text: &str, into: &mut String) {
    into.reserve(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            into.push(character.to_ascii_lowercase());
            continue;
        }
        let mut lower = character.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) if one.len_utf8() == character.len_utf8() => into.push(one),
            _ => into.push(character),
        }
    }
}

/// Returns a text folded by [`fold_into`].
pub fn fold(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

impl Query {
    /// Parses a text; every text is a valid query.
    pub fn parse(text: &str) -> Query {
        let term = |word: &str| {
            let exact_case = word.chars().any(char::is_uppercase);
            Term { text: if exact_case { word.to_owned() } else { fold(word) }, exact_case }
        };
        // A pattern's `\*` is the star of a pointer type.
        let words = text.split(|letter: char| letter.is_whitespace() || letter == '*');
        let words = words.map(|word| word.trim_end_matches('\\')).filter(|word| !word.is_empty());
        let mut terms: Vec<Term> = words.map(term).collect();
        // Long words exclude most, so that later ones have less to check.
        terms.sort_by_key(|term| std::cmp::Reverse(term.text.len()));
        terms.dedup();
        Query { terms }
    }

    /// Returns whether it excludes nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the words, longest first.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns whether a text contains every word.
    pub fn matches_text(&self, text: &str) -> bool {
        let folded = fold(text);
        self.terms.iter().all(|term| {
            let text = if term.exact_case { text } else { &folded };
            memmem::find(text.as_bytes(), term.text.as_bytes()).is_some()
        })
    }

    /// Returns whether a word occurs in a text, but begins nowhere outside `part` of it.
    pub fn has_word_only_in(&self, text: &str, part: Range<usize>) -> bool {
        let folded = fold(text);
        self.terms.iter().any(|term| {
            let text = if term.exact_case { text } else { &folded };
            let mut places = memmem::find_iter(text.as_bytes(), term.text.as_bytes()).peekable();
            places.peek().is_some() && places.all(|at| part.contains(&at))
        })
    }

    /// Returns where words occur in a text: byte ranges on character boundaries, ascending, merged if they
    /// touch.
    pub fn highlights(&self, text: &str) -> Vec<Range<usize>> {
        if self.terms.is_empty() {
            return Vec::new();
        }
        let folded = fold(text);
        let mut found: Vec<Range<usize>> = Vec::new();
        for term in &self.terms {
            let text = if term.exact_case { text } else { &folded };
            let places = memmem::find_iter(text.as_bytes(), term.text.as_bytes());
            found.extend(places.map(|at| at..at + term.text.len()));
        }
        found.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

/// Returns the `highlights` of a text within a part of it, relative to that part.
pub fn within(highlights: &[Range<usize>], part: Range<usize>) -> Vec<Range<usize>> {
    let cut = |range: &Range<usize>| {
        let (start, end) = (range.start.max(part.start), range.end.min(part.end));
        (start < end).then(|| start - part.start..end - part.start)
    };
    highlights.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_counts_when_a_capital_is_typed() {
        assert!(Query::parse("cart").matches_text("Shop.Cart.Add"));
        assert!(Query::parse("Cart").matches_text("Shop.Cart.Add"));
        assert!(!Query::parse("CArt").matches_text("Shop.Cart.Add"));
        assert!(!Query::parse("Cart").matches_text("shop.cart.add"));
        assert!(Query::parse("ADD cart").matches_text("shop.cart.ADD"), "each word by itself");
        assert!(Query::parse("  ").is_empty() && Query::parse("").matches_text(""));
    }

    #[test]
    fn finds_what_a_pattern_matches() {
        let found = |pattern: &str| Query::parse(pattern).matches_text("Shop!Shop.Cart.Add(int, char*)");
        for pattern in ["Shop!*", "Shop.Cart.*", "*.Add", "*Cart*Add*", "Shop!*.Add(int, char\\*)", "*"] {
            assert!(found(pattern), "{pattern}");
        }
        assert!(!found("Shop.Till.*") && !found("*.Remove"));
        assert!(Query::parse(" * ").is_empty());
        assert_eq!(Query::parse("Sh*Add").highlights("Shop.Add"), [0..2, 5..8]);
    }

    #[test]
    fn folding_keeps_offsets() {
        for text in ["ÄÖÜ Ωmega", "İstanbul", "ẞ", "K (Kelvin)", "plain", "Ⱥ"] {
            let folded = fold(text);
            assert_eq!(folded.len(), text.len(), "{text}");
            for (at, _) in text.char_indices() {
                assert!(folded.is_char_boundary(at), "{text}");
            }
        }
        assert_eq!(fold("ÄB"), "äb");
    }

    #[test]
    fn highlights_are_merged_and_in_order() {
        let query = Query::parse("an na");
        assert_eq!(query.highlights("Banana An"), [1..6, 7..9]);
        assert_eq!(Query::parse("").highlights("x"), []);
        assert_eq!(Query::parse("ä").highlights("xÄy"), [1..3]);
        assert_eq!(Query::parse("x").highlights("aaa"), []);
    }

    #[test]
    fn a_word_may_occur_in_one_part_only() {
        let text = "Core!Web.Cart.Add()";
        let module = |words: &str| Query::parse(words).has_word_only_in(text, 0..4);
        assert!(module("core") && module("core add") && module("core!web"));
        assert!(!module("add") && !module("") && !module("c") && !module("Nothing"));
    }

    #[test]
    fn highlights_are_cut_to_a_part() {
        let highlights = [1..4, 6..9];
        assert_eq!(within(&highlights, 2..7), [0..2, 4..5]);
        assert_eq!(within(&highlights, 4..6), []);
        assert_eq!(within(&highlights, 0..10), highlights);
    }
}
