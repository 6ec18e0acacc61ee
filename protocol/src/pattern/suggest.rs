//! What a pattern that matched nothing may have meant.

use super::glob::{Glob, STAR};
use super::names::{csharp_type, cut_list, split_outside};
use super::params::Declared;
use super::{Pattern, Target, parse};
use crate::limits::MAX_SUGGESTIONS;

/// Names longer than this are not compared letter by letter.
const MAX_COMPARED: usize = 128;
/// How far names are that resemble what was wanted in half of their letters only: behind every typing mistake.
const RESEMBLES: u32 = 16;
/// How far a name is whose last words, or whose assembly, were meant, before its typing mistakes.
const LAST_WORDS: u32 = 4;
/// How far everything of a type is that was named rightly.
const WHOLE_TYPE: u32 = RESEMBLES + MAX_COMPARED as u32;

/// Patterns near one that matched nothing, the nearest first, and of those equally near those of earlier names; at most
/// [`MAX_SUGGESTIONS`]. `names` are assembly (simple name), type (metadata form) and method (metadata name), the
/// program's own before the framework's; methods of one type should follow each other.
pub fn suggestions<'a>(
    pattern: &Pattern,
    names: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<String> {
    let Target::Named { body, .. } = &pattern.target else { return Vec::new() };
    let mut nearest = Nearest::default();
    if body.chars().all(|character| character == STAR) {
        for (assembly, ..) in names {
            if let Some(away @ 1..) = assembly_distance(pattern, assembly) {
                nearest.offer(away, || format!("{assembly}!*"));
            }
        }
        return nearest.patterns();
    }
    let wanted = Wanted::new(body);
    let mut last: Option<(&str, Option<Near>)> = None;
    for (assembly, type_name, method) in names {
        let Some(away) = assembly_distance(pattern, assembly) else { continue };
        let prefix = || pattern.assembly.as_ref().map(|_| format!("{assembly}!")).unwrap_or_default();
        if last.as_ref().is_none_or(|(seen, _)| *seen != type_name) {
            last = Some((type_name, wanted.type_half.as_ref().and_then(|half| half.near(type_name))));
            wanted.as_type(away, &prefix, type_name, &mut nearest);
            wanted.as_namespace(away, &prefix, (assembly, type_name), &mut nearest);
            if let (Some(half), Some((_, Some(near)))) = (&wanted.type_half, &last)
                && half.means(near)
            {
                let distance = away + near.distance + WHOLE_TYPE;
                nearest
                    .offer(distance, || format!("{}{}.*", prefix(), near.type_text(&half.text, type_name)));
            }
            if pattern.assembly.is_none()
                && let Some(away) = wanted.as_assembly(assembly)
            {
                nearest.offer(away, || format!("{assembly}!*"));
            }
        }
        match &wanted.type_half {
            None => {
                if let Some(near) = wanted.method.near(method) {
                    let name = near.text(&wanted.method.text, method);
                    nearest.offer(away + near.distance, || format!("{}*.{name}", prefix()));
                    // Where it is of that very name, the type that has it, too.
                    if near.distance <= 1 && !wanted.method.glob.has_wildcard() {
                        let full = || format!("{}{}.{name}", prefix(), csharp_type(type_name));
                        nearest.offer(away + near.distance, full);
                    }
                }
            }
            Some(half) => {
                let Some((_, Some(near_type))) = &last else { continue };
                if !nearest.wants(away + near_type.distance) {
                    continue;
                }
                let near = wanted.method.near(method);
                let near = near.or_else(|| wanted.method.resembles(method).filter(|_| half.means(near_type)));
                let Some(near) = near else { continue };
                nearest.offer(away + near_type.distance + near.distance, || {
                    let type_name = near_type.type_text(&half.text, type_name);
                    format!("{}{type_name}.{}", prefix(), near.text(&wanted.method.text, method))
                });
            }
        }
    }
    nearest.patterns()
}

/// What a pattern may have meant: a method, of a type if it has a dot; or a type, namespace or assembly.
struct Wanted {
    type_half: Option<Half>,
    method: Half,
    whole: Half,
}

impl Wanted {
    fn new(body: &str) -> Wanted {
        let metadata = |half: &str| parse::metadata_type(half, &mut Declared::new());
        let (type_half, method) = match last_split(body) {
            Some((type_half, method)) => (Some(type_half), method),
            None => (None, body),
        };
        Wanted {
            type_half: type_half.map(|half| Half::new(metadata(half))),
            method: Half::new(cut_list(method).0.to_owned()),
            whole: Half::new(metadata(body)),
        }
    }

    /// The whole of it as a type's or namespace's name.
    fn as_type(&self, away: u32, prefix: &dyn Fn() -> String, type_name: &str, nearest: &mut Nearest) {
        let whole = &self.whole.text;
        if self.whole.glob.has_wildcard() {
            return;
        }
        if type_name.strip_prefix(whole.as_str()).is_some_and(|rest| rest.starts_with('.')) {
            nearest.offer(away + 1, || format!("{}{}.*.*", prefix(), show(whole)));
        }
        let Some(near) = self.whole.near(type_name) else { return };
        // With a dot it was a method's name first, and rather of a type that is there than a type's with many mistakes.
        let later = match self.type_half {
            Some(_) if near.distance > 5 => 2 * WHOLE_TYPE,
            Some(_) if self.whole.text != type_name => 2,
            _ => 0,
        };
        nearest.offer(away + near.distance + later, || format!("{}{}.*", prefix(), csharp_type(type_name)));
    }

    /// How far an assembly's name is from the whole of it.
    fn as_assembly(&self, assembly: &str) -> Option<u32> {
        let whole = &self.whole.text;
        if assembly.eq_ignore_ascii_case(whole) {
            return Some(2);
        }
        let typos = edits(whole, assembly, most_typos(whole)).filter(|_| !self.whole.glob.has_wildcard())?;
        Some(LAST_WORDS + typos)
    }

    /// `NAME.*`, where the name is a namespace's or an assembly's, and no type's.
    fn as_namespace(
        &self,
        away: u32,
        prefix: &dyn Fn() -> String,
        (assembly, type_name): (&str, &str),
        nearest: &mut Nearest,
    ) {
        let Some(name) = self.type_half.as_ref().filter(|half| !half.glob.has_wildcard()) else { return };
        if self.method.glob != Glob::Any {
            return;
        }
        if assembly.eq_ignore_ascii_case(&name.text) {
            nearest.offer(away + 1, || format!("{assembly}!*"));
        }
        let length = name.text.len();
        let begins = type_name.get(..length).filter(|begin| begin.eq_ignore_ascii_case(&name.text));
        if let Some(begin) = begins.filter(|_| type_name[length..].starts_with('.')) {
            nearest.offer(away + 1, || format!("{}{}.*.*", prefix(), escape(begin)));
        }
    }
}

/// The best so far, the nearest first; of those equally near the earliest.
#[derive(Default)]
struct Nearest(Vec<(u32, String)>);

impl Nearest {
    fn patterns(self) -> Vec<String> {
        self.0.into_iter().map(|(_, suggestion)| suggestion).collect()
    }

    fn wants(&self, distance: u32) -> bool {
        self.0.len() < MAX_SUGGESTIONS || self.0.last().is_some_and(|(worst, _)| distance < *worst)
    }

    fn offer(&mut self, distance: u32, suggestion: impl FnOnce() -> String) {
        if !self.wants(distance) {
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

/// The split at the last dot outside brackets; `A..ctor` is split at its first of two.
fn last_split(body: &str) -> Option<(&str, &str)> {
    let last = split_outside(body, '.').pop()?;
    let dot = body.len().checked_sub(last.len() + 1)?;
    let dot = if body[..dot].ends_with('.') { dot - 1 } else { dot };
    Some((&body[..dot], &body[dot + 1..]))
}

/// How far the assembly is; None when it is another one altogether.
fn assembly_distance(pattern: &Pattern, assembly: &str) -> Option<u32> {
    let Some(glob) = &pattern.assembly else { return Some(0) };
    if glob.matches(assembly) {
        return Some(0);
    }
    let (Glob::Literal(wanted) | Glob::Runs(wanted)) = glob else { return None };
    // A file's name, where the assembly's was asked for.
    if let Some(stem) = without_extension(wanted) {
        let lower = Glob::new(stem.to_ascii_lowercase());
        if lower.matches(&assembly.to_ascii_lowercase()) {
            return Some(1);
        }
    }
    let is_literal = matches!(glob, Glob::Literal(_));
    is_literal.then(|| Half::new(wanted.clone()).near(assembly)).flatten().map(|near| near.distance)
}

fn without_extension(file: &str) -> Option<&str> {
    let stem = file.len().checked_sub(4)?;
    let extension = file.get(stem..)?;
    let is_known = [".dll", ".exe"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    is_known.then(|| &file[..stem]).filter(|stem| !stem.is_empty())
}

/// One half of what was wanted.
struct Half {
    text: String,
    glob: Glob,
    lower: Glob,
}

/// How near an actual name is.
struct Near {
    distance: u32,
    kept: Kept,
}

/// Which text a suggestion shows.
#[derive(Clone, Copy)]
enum Kept {
    /// What was wanted (its wildcards match).
    Wanted,
    /// The actual name.
    Actual,
    /// That many bytes of the actual name, then what followed the same part of what was wanted.
    Prefix { actual: usize, wanted: usize },
}

impl Near {
    /// As `text`, for a type.
    fn type_text(&self, wanted: &str, actual: &str) -> String {
        match self.kept {
            Kept::Actual => csharp_type(actual),
            _ => self.text(wanted, actual),
        }
    }

    fn text(&self, wanted: &str, actual: &str) -> String {
        match self.kept {
            Kept::Wanted => show(wanted),
            Kept::Actual => escape(actual),
            Kept::Prefix { actual: a, wanted: w } => {
                format!(
                    "{}{}",
                    escape(actual.get(..a).unwrap_or(actual)),
                    show(wanted.get(w..).unwrap_or_default())
                )
            }
        }
    }
}

impl Half {
    fn new(text: String) -> Half {
        Half { glob: Glob::new(text.clone()), lower: Glob::new(text.to_ascii_lowercase()), text }
    }

    fn near(&self, actual: &str) -> Option<Near> {
        let (wanted, kept) = (self.text.as_str(), Kept::Actual);
        if self.glob.has_wildcard() {
            return self.near_with_wildcards(actual);
        }
        if wanted == actual {
            return Some(Near { distance: 0, kept });
        }
        if wanted.eq_ignore_ascii_case(actual) {
            return Some(Near { distance: 1, kept });
        }
        // `Cart` for `Shop.Cart`, `Add` for `Shop.ICart.Add`.
        let cut = actual.len().checked_sub(wanted.len());
        let tail =
            cut.and_then(|cut| actual.get(cut..)).is_some_and(|tail| tail.eq_ignore_ascii_case(wanted));
        let before = cut.and_then(|cut| actual.as_bytes().get(cut.checked_sub(1)?));
        if tail && matches!(before, Some(b'.' | b'+')) {
            return Some(Near { distance: 2, kept });
        }
        if wanted.len() >= 3 && has_word(actual, wanted) {
            return Some(Near { distance: 3, kept });
        }
        if let Some(typos) = edits(wanted, actual, most_typos(wanted)) {
            return Some(Near { distance: 3 + typos, kept });
        }
        // `Crat` for `Shop.Cart`.
        let last = last_words(actual, wanted.split(SEPARATORS).count()).filter(|_| wanted.len() >= 3)?;
        let typos = edits(wanted, last, most_typos(wanted))?;
        Some(Near { distance: LAST_WORDS + typos, kept })
    }

    /// Whether a name so near is the one that was wanted, but for case and what stands before it.
    fn means(&self, near: &Near) -> bool {
        near.distance <= 2 && !self.glob.has_wildcard()
    }

    /// A name that shares half of its letters at least with what was wanted.
    fn resembles(&self, actual: &str) -> Option<Near> {
        if self.glob.has_wildcard() {
            return None;
        }
        let most = self.text.len().max(actual.len()).min(MAX_COMPARED) / 2;
        let typos = edits(&self.text, actual, most)?;
        Some(Near { distance: RESEMBLES + typos, kept: Kept::Actual })
    }

    fn near_with_wildcards(&self, actual: &str) -> Option<Near> {
        if self.glob.matches(actual) {
            return Some(Near { distance: 0, kept: Kept::Wanted });
        }
        if self.lower.matches(&actual.to_ascii_lowercase()) {
            return Some(Near { distance: 1, kept: Kept::Actual });
        }
        // `Shp.*`: the part before the star's dot against as many words of the actual name.
        let before_star = self.text.find(STAR).and_then(|star| self.text.get(..star))?.trim_end_matches('.');
        let words = before_star.split('.').count();
        let end = actual.match_indices('.').nth(words.checked_sub(1)?).map_or(actual.len(), |(dot, _)| dot);
        let start = actual.get(..end)?;
        let typos = edits(before_star, start, most_typos(before_star))?;
        Some(Near { distance: 3 + typos, kept: Kept::Prefix { actual: end, wanted: before_star.len() } })
    }
}

/// Between the words of a type's name.
const SEPARATORS: [char; 2] = ['.', '+'];

/// So many words at the end of a longer name; None where it has no more.
fn last_words(name: &str, number: usize) -> Option<&str> {
    let (at, _) = name.rmatch_indices(SEPARATORS).nth(number.checked_sub(1)?)?;
    name.get(at + 1..)
}

/// Typing mistakes that a name may have.
fn most_typos(name: &str) -> usize {
    (name.len() / 3).clamp(1, 4)
}

/// Parsed text as it would be typed.
fn show(parsed: &str) -> String {
    escape(parsed).replace(STAR, "*")
}

fn escape(name: &str) -> String {
    name.replace('\\', r"\\").replace('*', r"\*")
}

/// Whether a word within `name` begins with `part`, case aside: `Cart` in `ShoppingCartTests`, but not `Nope` in
/// `TokenOperation`.
fn has_word(name: &str, part: &str) -> bool {
    let begins = |at: usize, first: &u8| {
        let before = at.checked_sub(1).and_then(|before| name.as_bytes().get(before));
        first.is_ascii_uppercase() || before.is_none_or(|before| !before.is_ascii_alphanumeric())
    };
    let parts = name.as_bytes().windows(part.len().max(1)).enumerate();
    let mut same = parts.filter(|(_, window)| window.eq_ignore_ascii_case(part.as_bytes()));
    same.any(|(at, window)| window.first().is_some_and(|first| begins(at, first)))
}

/// Typing mistakes between two names, case aside: letters wrong, missing, too many, or two exchanged (the optimal
/// string alignment distance). None when there are more than `most`.
fn edits(a: &str, b: &str, most: usize) -> Option<u32> {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // What is equal at both ends costs nothing: namespaces mostly.
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
    fn parts_of_names_are_meant_where_a_word_begins() {
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
    fn typing_mistakes_are_counted_up_to_a_limit() {
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
