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
}

impl<'a> Text<'a> {
    /// Whether some of it is missing.
    fn is_cut(self) -> bool {
        matches!(self, Text::Utf16(bytes, length) if (bytes.len() / 2) < length as usize)
    }

    /// Returns the code points that are there; a lone surrogate is U+FFFD.
    fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        let (text, bytes) = match self {
            Text::Utf8(text) => (text, &[][..]),
            Text::Utf16(bytes, _) => ("", bytes),
        };
        let units = bytes.chunks_exact(2).filter_map(|unit| unit.try_into().ok()).map(u16::from_le_bytes);
        let decoded = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        text.chars().chain(decoded)
    }

    /// Returns the number of its code points; each unit that is missing counts as one.
    pub(super) fn size(self) -> usize {
        let missing = match self {
            Text::Utf16(bytes, length) => (length as usize).saturating_sub(bytes.len() / 2),
            Text::Utf8(_) => 0,
        };
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
        if let (Text::Utf16(_, a), Text::Utf16(_, b)) = (self, other)
            && a != b
        {
            return Some(false);
        }
        if let (Text::Utf16(_, length), Text::Utf8(text)) | (Text::Utf8(text), Text::Utf16(_, length)) =
            (self, other)
            && (text.len() < length as usize || text.encode_utf16().count() != length as usize)
        {
            // A text in UTF-8 has at least as many bytes as units in UTF-16.
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
