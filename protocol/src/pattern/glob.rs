//! Matches one part of a name against wildcards.

/// Represents a wildcard in parsed text. Names come from heaps of NUL-terminated strings (ECMA-335 II.24.2.3),
/// so none contains it.
pub(super) const STAR: char = '\0';

/// A piece of a pattern, without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Glob {
    /// A single star.
    Any,
    /// No star.
    Literal(String),
    /// Text followed by a star.
    Prefix(String),
    /// Text between two stars.
    Substring(String),
    /// Text with [`STAR`]s in other places.
    Wildcards(String),
}

impl Glob {
    /// Converts text without spaces and with wildcards as [`STAR`].
    pub(super) fn new(text: String) -> Glob {
        let piece = text.trim_matches(STAR);
        if !text.contains(STAR) {
            return Glob::Literal(text);
        }
        match (text.starts_with(STAR), piece.contains(STAR), text.ends_with(STAR)) {
            _ if piece.is_empty() => Glob::Any,
            (false, false, true) => Glob::Prefix(piece.to_owned()),
            (true, false, true) => Glob::Substring(piece.to_owned()),
            _ => Glob::Wildcards(text),
        }
    }

    /// Returns whether all of `name` matches. Spaces in the name (F# allows them) are ignored, as in patterns.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Glob::Any => true,
            Glob::Literal(text) => text == name || (name.contains(' ') && matches_wildcards(text, name)),
            Glob::Prefix(text) => has_prefix(name, text),
            Glob::Substring(text) => has_substring(name, text),
            Glob::Wildcards(text) => matches_wildcards(text, name),
        }
    }

    /// Returns the bytes that every matching name has, as in [`NameBytes`].
    pub(super) fn required_bytes(&self) -> u128 {
        match self {
            Glob::Any => 0,
            Glob::Literal(text) | Glob::Prefix(text) | Glob::Substring(text) => NameBytes::of(text).0,
            Glob::Wildcards(text) => text.split(STAR).fold(0, |all, piece| all | NameBytes::of(piece).0),
        }
    }

    pub(super) fn has_wildcard(&self) -> bool {
        !matches!(self, Glob::Literal(_))
    }
}

/// Returns whether `name` without its spaces begins with `text`.
fn has_prefix(name: &str, text: &str) -> bool {
    if name.starts_with(text) {
        return true;
    }
    let mut actual = name.bytes().filter(|byte| *byte != b' ');
    text.bytes().all(|expected| actual.next() == Some(expected))
}

/// Returns whether `name` without its spaces contains `text`, which is not empty.
fn has_substring(name: &str, text: &str) -> bool {
    let name = name.as_bytes();
    let Some((first, rest)) = text.as_bytes().split_first() else { return true };
    if rest.is_empty() {
        return name.contains(first);
    }
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|left| left.iter().position(|byte| byte == first)) {
        from += at + 1;
        let mut actual = name.get(from..).unwrap_or_default().iter().filter(|byte| **byte != b' ');
        if rest.iter().all(|expected| actual.next() == Some(expected)) {
            return true;
        }
    }
    false
}

/// Matches greedily and goes back only to the last star: time at most the product of the lengths, no
/// allocation.
fn matches_wildcards(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    // Most names already differ at the beginning.
    if let (Some(expected), Some(actual)) = (pattern.first(), name.first())
        && *expected != STAR as u8
        && ![*expected, b' '].contains(actual)
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

/// Set of the bytes that a name has or must have: one bit for each ASCII byte, shared with the byte 128 above
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameBytes(u128);

impl NameBytes {
    /// Returns the bytes of a name.
    pub fn of(name: &str) -> NameBytes {
        NameBytes(name.bytes().fold(0, |all, byte| all | 1 << (byte & 0x7F)))
    }

    /// Returns the set's bits.
    pub(super) fn bits(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let glob = Glob::new(pattern.replace('*', "\0"));
        let matches = glob.matches(name);
        assert!(!matches || glob.required_bytes() & !NameBytes::of(name).0 == 0, "{pattern} {name}");
        matches
    }

    #[test]
    fn stars_match_runs_and_whole_names() {
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
