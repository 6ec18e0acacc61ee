//! Texts of conditions: constants, and captured strings that may be cut.

use super::node::StringTest;
use std::cmp::Ordering;

/// A text, or the beginning of one.
#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// A whole text.
    Utf8(&'a str),
    /// The first units of a text in UTF-16, little-endian, and the number of units of the whole text.
    Utf16(&'a [u8], u32),
    /// The same with whole units.
    Units(&'a [u16], u32),
}

impl<'a> Text<'a> {
    /// Returns the units that are there and those of the whole text; None for a text in UTF-8.
    fn units(self) -> Option<(usize, usize)> {
        match self {
            Text::Utf8(_) => None,
            Text::Utf16(bytes, length) => Some((bytes.len() / 2, length as usize)),
            Text::Units(units, length) => Some((units.len(), length as usize)),
        }
    }

    /// Whether some of it is missing.
    fn is_cut(self) -> bool {
        self.units().is_some_and(|(kept, length)| kept < length)
    }

    /// Returns the code points that are there; a lone surrogate is U+FFFD.
    fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        let (text, bytes, units) = match self {
            Text::Utf8(text) => (text, &[][..], &[][..]),
            Text::Utf16(bytes, _) => ("", bytes, &[][..]),
            Text::Units(units, _) => ("", &[][..], units),
        };
        let words = bytes.chunks_exact(2).filter_map(|unit| unit.try_into().ok()).map(u16::from_le_bytes);
        let units = words.chain(units.iter().copied());
        let decoded = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        text.chars().chain(decoded)
    }

    /// Returns the number of its code points; each unit that is missing counts as one.
    pub(super) fn size(self) -> usize {
        let missing = self.units().map_or(0, |(kept, length)| length.saturating_sub(kept));
        self.chars().count() + missing
    }

    /// Returns the order of two texts by their code points; None if what is missing decides.
    pub(super) fn compare(self, other: Text<'_>) -> Option<Ordering> {
        let (mut one, mut two) = (self.chars(), other.chars());
        loop {
            match (one.next(), two.next()) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => return Some(a.cmp(&b)),
                (None, _) if self.is_cut() => return None,
                (_, None) if other.is_cut() => return None,
                (one, two) => return Some(one.is_some().cmp(&two.is_some())),
            }
        }
    }

    /// Whether two texts are equal; None if what is missing decides.
    pub(super) fn equals(self, other: Text<'_>) -> Option<bool> {
        let differs = match (self, other) {
            (Text::Utf8(_), Text::Utf8(_)) => false,
            // A text in UTF-8 has at least as many bytes as units in UTF-16.
            (Text::Utf8(text), units) | (units, Text::Utf8(text)) => units
                .units()
                .is_some_and(|(_, length)| text.len() < length || text.encode_utf16().count() != length),
            (one, two) => one.units().map(|(_, length)| length) != two.units().map(|(_, length)| length),
        };
        if differs {
            return Some(false);
        }
        self.compare(other).map(Ordering::is_eq)
    }

    /// Applies a test; None if what is missing decides.
    pub(super) fn test(self, test: StringTest, by: Text<'_>) -> Option<bool> {
        if by.is_cut() {
            return None;
        }
        let (is_cut, wanted) = (self.is_cut(), by.chars());
        match test {
            StringTest::StartsWith => {
                let mut chars = self.chars();
                for c in wanted {
                    match chars.next() {
                        Some(found) if found == c => {}
                        None if is_cut => return None,
                        _ => return Some(false),
                    }
                }
                Some(true)
            }
            StringTest::EndsWith if is_cut => None,
            StringTest::EndsWith => {
                let (all, wanted) = (self.chars().count(), by.chars().count());
                Some(wanted <= all && self.chars().skip(all - wanted).eq(by.chars()))
            }
            StringTest::Contains => {
                let mut rest = self.chars();
                loop {
                    let mut chars = rest.clone();
                    if wanted.clone().all(|c| chars.next() == Some(c)) {
                        return Some(true);
                    }
                    if rest.next().is_none() {
                        return if is_cut { None } else { Some(false) };
                    }
                }
            }
        }
    }
}
