//! Suggestions for a pattern that matched nothing.

use super::glob::{Glob, STAR};
use super::matching::{Pattern, Target};
use super::names::{csharp_type, cut_list, split_outside};
use super::params::Declared;
use super::parse;
use crate::limits::MAX_SUGGESTIONS;

/// Longer names are not compared letter by letter.
const MAX_COMPARED: usize = 128;
/// Distance of names that share only half of their letters with the query: greater than for any typing mistake.
const RESEMBLES: u32 = 16;
/// Distance, before typing mistakes, of a name that matches in its last words or its assembly.
const LAST_WORDS: u32 = 4;
/// Distance of all methods of a type that the query names correctly.
const WHOLE_TYPE: u32 = RESEMBLES + MAX_COMPARED as u32;

/// Suggests patterns of names.
pub(super) fn suggest_names<'a>(
    pattern: &Pattern,
    names: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<String> {
    let Target::Named { body, .. } = &pattern.target else { return Vec::new() };
    let mut nearest = BestSuggestions::default();
    if body.chars().all(|character| character == STAR) {
        for (assembly, ..) in names {
            if let Some(offset @ 1..) = assembly_distance(pattern, assembly) {
                nearest.offer(offset, || format!("{assembly}!*"));
            }
        }
        return nearest.patterns();
    }
    let query = Query::new(body);
    let mut last: Option<(&str, Option<Comparison>)> = None;
    for (assembly, type_name, method) in names {
        let Some(offset) = assembly_distance(pattern, assembly) else { continue };
        let prefix = || pattern.assembly.as_ref().map(|_| format!("{assembly}!")).unwrap_or_default();
        if last.as_ref().is_none_or(|(seen, _)| *seen != type_name) {
            last = Some((type_name, query.type_half.as_ref().and_then(|half| half.compare(type_name))));
            query.offer_type(offset, &prefix, type_name, &mut nearest);
            query.offer_namespace(offset, &prefix, (assembly, type_name), &mut nearest);
            if let (Some(half), Some((_, Some(comparison)))) = (&query.type_half, &last)
                && half.is_exact(comparison)
            {
                let distance = offset + comparison.distance + WHOLE_TYPE;
                nearest.offer(distance, || {
                    format!("{}{}.*", prefix(), comparison.type_text(&half.text, type_name))
                });
            }
            if pattern.assembly.is_none()
                && let Some(offset) = query.distance_to_assembly(assembly)
            {
                nearest.offer(offset, || format!("{assembly}!*"));
            }
        }
        match &query.type_half {
            None => {
                if let Some(comparison) = query.method.compare(method) {
                    let name = comparison.text(&query.method.text, method);
                    nearest.offer(offset + comparison.distance, || format!("{}*.{name}", prefix()));
                    // For a method with that very name, also suggest it with its type.
                    if comparison.distance <= 1 && !query.method.glob.has_wildcard() {
                        let full = || format!("{}{}.{name}", prefix(), csharp_type(type_name));
                        nearest.offer(offset + comparison.distance, full);
                    }
                }
            }
            Some(half) => {
                let Some((_, Some(type_comparison))) = &last else { continue };
                if !nearest.accepts(offset + type_comparison.distance) {
                    continue;
                }
                let comparison = query.method.compare(method);
                let comparison = comparison.or_else(|| {
                    query.method.compare_loosely(method).filter(|_| half.is_exact(type_comparison))
                });
                let Some(comparison) = comparison else { continue };
                nearest.offer(offset + type_comparison.distance + comparison.distance, || {
                    let type_name = type_comparison.type_text(&half.text, type_name);
                    format!("{}{type_name}.{}", prefix(), comparison.text(&query.method.text, method))
                });
            }
        }
    }
    nearest.patterns()
}

/// The possible meanings of a pattern: a method, with a type if the pattern has a dot; or a type, namespace or
/// assembly.
struct Query {
    type_half: Option<QueryPart>,
    method: QueryPart,
    whole: QueryPart,
}

impl Query {
    fn new(body: &str) -> Query {
        let metadata = |half: &str| parse::metadata_type(half, &mut Declared::new());
        let (type_half, method) = match last_split(body) {
            Some((type_half, method)) => (Some(type_half), method),
            None => (None, body),
        };
        Query {
            type_half: type_half.map(|half| QueryPart::new(metadata(half))),
            method: QueryPart::new(cut_list(method).0.to_owned()),
            whole: QueryPart::new(metadata(body)),
        }
    }

    /// Offers the type, if the whole pattern names a type or namespace.
    fn offer_type(
        &self,
        offset: u32,
        prefix: &dyn Fn() -> String,
        type_name: &str,
        nearest: &mut BestSuggestions,
    ) {
        let whole = &self.whole.text;
        if self.whole.glob.has_wildcard() {
            return;
        }
        if type_name.strip_prefix(whole.as_str()).is_some_and(|rest| rest.starts_with('.')) {
            nearest.offer(offset + 1, || format!("{}{}.*.*", prefix(), show(whole)));
        }
        let Some(comparison) = self.whole.compare(type_name) else { return };
        // A pattern with a dot more likely names a method; an existing type ranks before one with many
        // mistakes.
        let later = match self.type_half {
            Some(_) if comparison.distance > 5 => 2 * WHOLE_TYPE,
            Some(_) if self.whole.text != type_name => 2,
            _ => 0,
        };
        nearest.offer(offset + comparison.distance + later, || {
            format!("{}{}.*", prefix(), csharp_type(type_name))
        });
    }

    /// Returns the distance of the whole pattern from an assembly's name.
    fn distance_to_assembly(&self, assembly: &str) -> Option<u32> {
        let whole = &self.whole.text;
        if assembly.eq_ignore_ascii_case(whole) {
            return Some(2);
        }
        let typos = edits(whole, assembly, most_typos(whole)).filter(|_| !self.whole.glob.has_wildcard())?;
        Some(LAST_WORDS + typos)
    }

    /// Offers the namespace or assembly for `NAME.*`.
    fn offer_namespace(
        &self,
        offset: u32,
        prefix: &dyn Fn() -> String,
        (assembly, type_name): (&str, &str),
        nearest: &mut BestSuggestions,
    ) {
        let Some(name) = self.type_half.as_ref().filter(|half| !half.glob.has_wildcard()) else { return };
        if self.method.glob != Glob::Any {
            return;
        }
        if assembly.eq_ignore_ascii_case(&name.text) {
            nearest.offer(offset + 1, || format!("{assembly}!*"));
        }
        let length = name.text.len();
        let begins = type_name.get(..length).filter(|begin| begin.eq_ignore_ascii_case(&name.text));
        if let Some(begin) = begins.filter(|_| type_name[length..].starts_with('.')) {
            nearest.offer(offset + 1, || format!("{}{}.*.*", prefix(), escape(begin)));
        }
    }
}

/// The best suggestions so far, nearest first; equal distances keep their order.
#[derive(Default)]
pub(super) struct BestSuggestions(Vec<(u32, String)>);

impl BestSuggestions {
    pub(super) fn patterns(self) -> Vec<String> {
        self.0.into_iter().map(|(_, suggestion)| suggestion).collect()
    }

    fn accepts(&self, distance: u32) -> bool {
        self.0.len() < MAX_SUGGESTIONS || self.0.last().is_some_and(|(worst, _)| distance < *worst)
    }

    pub(super) fn offer(&mut self, distance: u32, suggestion: impl FnOnce() -> String) {
        if !self.accepts(distance) {
            return;
        }
        let suggestion = suggestion();
        // Some names (obfuscated ones) cannot be written as patterns.
        if Pattern::parse(&suggestion).is_err() {
            return;
        }
        if let Some(known) = self.0.iter_mut().find(|(_, known)| *known == suggestion) {
            known.0 = known.0.min(distance);
        } else {
            self.0.push((distance, suggestion));
        }
        self.0.sort_by_key(|(distance, _)| *distance);
        self.0.truncate(MAX_SUGGESTIONS);
    }
}

/// Splits at the last dot outside brackets; `A..ctor` splits at the first of the two.
pub(super) fn last_split(body: &str) -> Option<(&str, &str)> {
    let last = split_outside(body, '.').pop()?;
    let dot = body.len().checked_sub(last.len() + 1)?;
    let dot = if body[..dot].ends_with('.') { dot - 1 } else { dot };
    Some((&body[..dot], &body[dot + 1..]))
}

/// Returns the distance of the assembly from the pattern's; None if they are unrelated.
fn assembly_distance(pattern: &Pattern, assembly: &str) -> Option<u32> {
    let Some(glob) = &pattern.assembly else { return Some(0) };
    if glob.matches(assembly) {
        return Some(0);
    }
    let (Glob::Literal(query) | Glob::Wildcards(query)) = glob else { return None };
    // The user typed a file name instead of the assembly's name.
    if let Some(stem) = without_extension(query) {
        let lower = Glob::new(stem.to_ascii_lowercase());
        if lower.matches(&assembly.to_ascii_lowercase()) {
            return Some(1);
        }
    }
    let is_literal = matches!(glob, Glob::Literal(_));
    is_literal
        .then(|| QueryPart::new(query.clone()).compare(assembly))
        .flatten()
        .map(|comparison| comparison.distance)
}

fn without_extension(file: &str) -> Option<&str> {
    let stem = file.len().checked_sub(4)?;
    let extension = file.get(stem..)?;
    let is_known = [".dll", ".exe"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    is_known.then(|| &file[..stem]).filter(|stem| !stem.is_empty())
}

/// One part of the query.
pub(super) struct QueryPart {
    text: String,
    pub(super) glob: Glob,
    lower: Glob,
}

/// Result of comparing an actual name with the query.
pub(super) struct Comparison {
    pub(super) distance: u32,
    shown: ShownName,
}

/// Text that a suggestion shows.
#[derive(Clone, Copy)]
enum ShownName {
    /// The query's text (its wildcards match).
    Query,
    /// The actual name.
    Actual,
    /// A prefix of the actual name in bytes, then the query's text after its own prefix.
    Prefix { actual: usize, query: usize },
}

impl Comparison {
    /// Like `text`, for a type.
    fn type_text(&self, query: &str, actual: &str) -> String {
        match self.shown {
            ShownName::Actual => csharp_type(actual),
            _ => self.text(query, actual),
        }
    }

    fn text(&self, query: &str, actual: &str) -> String {
        match self.shown {
            ShownName::Query => show(query),
            ShownName::Actual => escape(actual),
            ShownName::Prefix { actual: a, query: q } => {
                format!(
                    "{}{}",
                    escape(actual.get(..a).unwrap_or(actual)),
                    show(query.get(q..).unwrap_or_default())
                )
            }
        }
    }
}

impl QueryPart {
    pub(super) fn new(text: String) -> QueryPart {
        QueryPart { glob: Glob::new(text.clone()), lower: Glob::new(text.to_ascii_lowercase()), text }
    }

    pub(super) fn compare(&self, actual: &str) -> Option<Comparison> {
        let (query, shown) = (self.text.as_str(), ShownName::Actual);
        if self.glob.has_wildcard() {
            return self.compare_with_wildcards(actual);
        }
        if query == actual {
            return Some(Comparison { distance: 0, shown });
        }
        if query.eq_ignore_ascii_case(actual) {
            return Some(Comparison { distance: 1, shown });
        }
        // `Cart` for `Shop.Cart`, `Add` for `Shop.ICart.Add`.
        let cut = actual.len().checked_sub(query.len());
        let tail = cut.and_then(|cut| actual.get(cut..)).is_some_and(|tail| tail.eq_ignore_ascii_case(query));
        let before = cut.and_then(|cut| actual.as_bytes().get(cut.checked_sub(1)?));
        if tail && matches!(before, Some(b'.' | b'+')) {
            return Some(Comparison { distance: 2, shown });
        }
        if query.len() >= 3 && has_word(actual, query) {
            return Some(Comparison { distance: 3, shown });
        }
        if let Some(typos) = edits(query, actual, most_typos(query)) {
            return Some(Comparison { distance: 3 + typos, shown });
        }
        // `Crat` for `Shop.Cart`.
        let last = last_words(actual, query.split(SEPARATORS).count()).filter(|_| query.len() >= 3)?;
        let typos = edits(query, last, most_typos(query))?;
        Some(Comparison { distance: LAST_WORDS + typos, shown })
    }

    /// Returns whether the name equals the query except for case and its namespace.
    fn is_exact(&self, comparison: &Comparison) -> bool {
        comparison.distance <= 2 && !self.glob.has_wildcard()
    }

    /// Compares a name that shares at least half of its letters with the query.
    fn compare_loosely(&self, actual: &str) -> Option<Comparison> {
        if self.glob.has_wildcard() {
            return None;
        }
        let most = self.text.len().max(actual.len()).min(MAX_COMPARED) / 2;
        let typos = edits(&self.text, actual, most)?;
        Some(Comparison { distance: RESEMBLES + typos, shown: ShownName::Actual })
    }

    fn compare_with_wildcards(&self, actual: &str) -> Option<Comparison> {
        if self.glob.matches(actual) {
            return Some(Comparison { distance: 0, shown: ShownName::Query });
        }
        if self.lower.matches(&actual.to_ascii_lowercase()) {
            return Some(Comparison { distance: 1, shown: ShownName::Actual });
        }
        // `Shp.*`: compares the part before the star's dot with as many words of the actual name.
        let before_star = self.text.find(STAR).and_then(|star| self.text.get(..star))?.trim_end_matches('.');
        let words = before_star.split('.').count();
        let end = actual.match_indices('.').nth(words.checked_sub(1)?).map_or(actual.len(), |(dot, _)| dot);
        let start = actual.get(..end)?;
        let typos = edits(before_star, start, most_typos(before_star))?;
        Some(Comparison {
            distance: 3 + typos,
            shown: ShownName::Prefix { actual: end, query: before_star.len() },
        })
    }
}

/// Separators between the words of a type's name.
const SEPARATORS: [char; 2] = ['.', '+'];

/// Returns that many words from the end of a longer name; None if the name has no more than that.
fn last_words(name: &str, number: usize) -> Option<&str> {
    let (at, _) = name.rmatch_indices(SEPARATORS).nth(number.checked_sub(1)?)?;
    name.get(at + 1..)
}

/// Returns the number of typing mistakes that a name may have.
fn most_typos(name: &str) -> usize {
    (name.len() / 3).clamp(1, 4)
}

/// Formats parsed text as a user would type it.
pub(super) fn show(parsed: &str) -> String {
    escape(parsed).replace(STAR, "*")
}

fn escape(name: &str) -> String {
    name.replace('\\', r"\\").replace('*', r"\*")
}

/// Returns whether a word in `name` begins with `part`, ignoring case: `Cart` in `ShoppingCartTests`, but not
/// `Nope` in `TokenOperation`.
fn has_word(name: &str, part: &str) -> bool {
    let begins = |at: usize, first: &u8| {
        let before = at.checked_sub(1).and_then(|before| name.as_bytes().get(before));
        first.is_ascii_uppercase() || before.is_none_or(|before| !before.is_ascii_alphanumeric())
    };
    let parts = name.as_bytes().windows(part.len().max(1)).enumerate();
    let mut same = parts.filter(|(_, window)| window.eq_ignore_ascii_case(part.as_bytes()));
    same.any(|(at, window)| window.first().is_some_and(|first| begins(at, first)))
}

/// Counts the typing mistakes between two names, ignoring case: wrong, missing, extra or exchanged letters (the
/// optimal string alignment distance). None if there are more than `most`.
fn edits(a: &str, b: &str, most: usize) -> Option<u32> {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // Equal ends cost nothing; mostly they are namespaces.
    while let (Some((first, rest)), Some((other, others))) = (a.split_first(), b.split_first()) {
        if !first.eq_ignore_ascii_case(other) {
            break;
        }
        (a, b) = (rest, others);
    }
    while let (Some((last, rest)), Some((other, others))) = (a.split_last(), b.split_last()) {
        if !last.eq_ignore_ascii_case(other) {
            break;
        }
        (a, b) = (rest, others);
    }
    if a.len() > MAX_COMPARED || b.len() > MAX_COMPARED {
        return None;
    }
    let same = |i: usize, j: usize| a[i].eq_ignore_ascii_case(&b[j]);
    let mut before_last = [0usize; MAX_COMPARED + 1];
    let mut last = [0usize; MAX_COMPARED + 1];
    let mut row = [0usize; MAX_COMPARED + 1];
    for (j, cell) in last.iter_mut().enumerate() {
        *cell = j;
    }
    for i in 0..a.len() {
        row[0] = i + 1;
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(!same(i, j));
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j) {
                best = best.min(before_last[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        if row[..=b.len()].iter().min().is_none_or(|best| *best > most) {
            return None;
        }
        before_last = last;
        last = row;
    }
    (last[b.len()] <= most).then_some(last[b.len()] as u32)
}

#[cfg(test)]
mod tests {
    use super::{edits, has_word};

    #[test]
    fn parts_match_where_a_word_begins() {
        for (name, part, expected) in [
            ("System.TokenOperation", "Nope", false),
            ("Shop.ShoppingCartTests", "cart", true),
            ("Shop.IOStream", "stream", true),
            ("get_total", "Total", true),
            ("Shop.Cart", "shop", true),
            ("Shop", "Shopping", false),
        ] {
            assert_eq!(has_word(name, part), expected, "{part} in {name}");
        }
    }

    #[test]
    fn counts_typing_mistakes_up_to_a_limit() {
        for (a, b, expected) in [
            ("Add", "Add", 0),
            ("Add", "aDD", 0),
            ("Add", "Adds", 1),
            ("Add", "Ad", 1),
            ("Cart", "Crat", 1),
            ("Cart", "Card", 1),
            ("ab", "ba", 1),
            ("abcdef", "badcfe", 3),
            ("kitten", "sitting", 3),
            ("aa", "a", 1),
            ("", "ab", 2),
        ] {
            assert_eq!(edits(a, b, 4), Some(expected), "{a} {b}");
            assert_eq!(edits(b, a, 4), Some(expected), "{b} {a}");
            assert_eq!(edits(a, b, expected as usize), Some(expected), "{a} {b}");
            if let Some(less) = expected.checked_sub(1) {
                assert_eq!(edits(a, b, less as usize), None, "{a} {b}");
            }
        }
        let long = "x".repeat(10_000);
        assert_eq!(edits(&long, &format!("{long}y"), 4), Some(1));
        assert_eq!(edits(&long, &"y".repeat(10_000), 4), None);
    }
}
