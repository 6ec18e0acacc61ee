//! Matching of one piece of a name with wildcards.

use super::NameBytes;

/// Stands for a wildcard in parsed text. Names come from heaps of NUL-terminated strings (ECMA-335 II.24.2.3), so
/// it cannot be part of one.
pub(super) const STAR: char = '\0';

/// A piece of a pattern, without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Glob {
    /// A single star.
    Any,
    /// No star.
    Literal(String),
    /// Text and a star.
    Begins(String),
    /// Text between two stars.
    Holds(String),
    /// Text with [`STAR`]s in other places.
    Runs(String),
}

impl Glob {
    /// From text without spaces, wildcards as [`STAR`].
    pub(super) fn new(text: String) -> Glob {
        let piece = text.trim_matches(STAR);
        if !text.contains(STAR) {
            return Glob::Literal(text);
        }
        match (text.starts_with(STAR), piece.contains(STAR), text.ends_with(STAR)) {
            _ if piece.is_empty() => Glob::Any,
            (false, false, true) => Glob::Begins(piece.to_owned()),
            (true, false, true) => Glob::Holds(piece.to_owned()),
            _ => Glob::Runs(text),
        }
    }

    /// Whether all of `name` matches. Spaces in the name (F# allows them) are ignored, as in patterns.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Glob::Any => true,
            Glob::Literal(text) => text == name || (name.contains(' ') && matches_runs(text, name)),
            Glob::Begins(text) => begins(name, text),
            Glob::Holds(text) => holds(name, text),
            Glob::Runs(text) => matches_runs(text, name),
        }
    }

    /// The bytes that every name it matches has, as in [`NameBytes`].
    pub(super) fn needs(&self) -> u128 {
        match self {
            Glob::Any => 0,
            Glob::Literal(text) | Glob::Begins(text) | Glob::Holds(text) => NameBytes::of(text).0,
            Glob::Runs(text) => text.split(STAR).fold(0, |all, piece| all | NameBytes::of(piece).0),
        }
    }

    pub(super) fn has_wildcard(&self) -> bool {
        !matches!(self, Glob::Literal(_))
    }
}

/// Whether `name` without its spaces begins with `text`.
fn begins(name: &str, text: &str) -> bool {
    if name.starts_with(text) {
        return true;
    }
    let mut found = name.bytes().filter(|byte| *byte != b' ');
    text.bytes().all(|expected| found.next() == Some(expected))
}

/// Whether `name` without its spaces has `text` in it, which is not empty.
fn holds(name: &str, text: &str) -> bool {
    let name = name.as_bytes();
    let Some((first, rest)) = text.as_bytes().split_first() else { return true };
    if rest.is_empty() {
        return name.contains(first);
    }
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|left| left.iter().position(|byte| byte == first)) {
        from += at + 1;
        let mut found = name.get(from..).unwrap_or_default().iter().filter(|byte| **byte != b' ');
        if rest.iter().all(|expected| found.next() == Some(expected)) {
            return true;
        }
    }
    false
}

/// Greedy with one step back to the last star: time at most the product of the lengths, no allocation.
fn matches_runs(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    // Most names differ at their beginning already.
    if let (Some(expected), Some(found)) = (pattern.first(), name.first())
        && *expected != STAR as u8
        && ![*expected, b' '].contains(found)
    {
        return false;
    }
    let (mut p, mut n) = (0, 0);
    let mut last_star = None;
    while let Some(byte) = name.get(n) {
        if *byte == b' ' {
            n += 1;
            continue;
        }
        match pattern.get(p) {
            Some(expected) if *expected == STAR as u8 => {
                p += 1;
                last_star = Some((p, n));
            }
            Some(expected) if expected == byte => {
                p += 1;
                n += 1;
            }
            _ => match last_star {
                None => return false,
                Some((after, from)) => {
                    let rest = name.get(from + 1..).unwrap_or_default();
                    let next = match pattern.get(after) {
                        Some(expected) => rest.iter().position(|byte| byte == expected),
                        None => Some(rest.len()),
                    };
                    let Some(skipped) = next else { return false };
                    p = after;
                    n = from + 1 + skipped;
                    last_star = Some((after, n));
                }
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == STAR as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let glob = Glob::new(pattern.replace('*', "\0"));
        let matches = glob.matches(name);
        assert!(!matches || glob.needs() & !NameBytes::of(name).0 == 0, "{pattern} {name}");
        matches
    }

    #[test]
    fn stars_are_runs_and_the_whole_name_must_match() {
        for (pattern, name) in [
            ("*", ""),
            ("a*", "a"),
            ("*b", "aab"),
            ("a*b*c", "a-b-b-c"),
            ("*a*", "bab"),
            ("**", "x"),
            ("ab", "a b"),
            ("ab*", "a bc"),
            ("*ab*", "ca a b"),
            ("*aab*", "aaab"),
            ("**a**", "cab"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a*", "ba"),
            ("a", "ab"),
            ("a*b", "abc"),
            ("", "a"),
            ("a*a", "a"),
            ("a", "A"),
            ("ab*", "a"),
            ("*ab*", "ba"),
            ("*a", "ab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
