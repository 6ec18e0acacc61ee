//! Matching of one piece of a name with wildcards.

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
    /// Text with [`STAR`]s.
    Runs(String),
}

impl Glob {
    /// From text without spaces, wildcards as [`STAR`].
    pub(super) fn new(text: String) -> Glob {
        if text.contains(STAR) {
            if text.chars().all(|c| c == STAR) { Glob::Any } else { Glob::Runs(text) }
        } else {
            Glob::Literal(text)
        }
    }

    /// Whether all of `name` matches. Spaces in the name (F# allows them) are ignored, as in patterns.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Glob::Any => true,
            Glob::Literal(text) => text == name || (name.contains(' ') && matches_runs(text, name)),
            Glob::Runs(text) => matches_runs(text, name),
        }
    }

    pub(super) fn has_wildcard(&self) -> bool {
        !matches!(self, Glob::Literal(_))
    }
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
        Glob::new(pattern.replace('*', "\0")).matches(name)
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
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a*", "ba"), ("a", "ab"), ("a*b", "abc"), ("", "a"), ("a*a", "a"), ("a", "A")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
