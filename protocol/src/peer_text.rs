//! Texts from a peer, made safe for a terminal, a file and a window.

use std::borrow::Cow;

/// Bytes of a text that are kept.
pub const MAX_TEXT: usize = 16 << 10;

/// Returns whether a terminal, a line-based file or a text layout would act on this character instead of showing it:
/// controls (C0, DEL, C1), line separators, and bidirectional marks, embeddings, overrides and isolates (Unicode UAX #9).
pub fn acts(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Replaces every character that would act by `?`, one for each of its bytes, so that offsets in a text stay valid.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            cleaned.extend(std::iter::repeat_n('?', character.len_utf8()));
        } else {
            cleaned.push(character);
        }
    }
    Cow::Owned(cleaned)
}

/// Returns the beginning of a text, at most [`MAX_TEXT`] bytes.
pub fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_acts_and_keeps_the_length() {
        let text = "a\u{1b}[31m\r\n\u{7f}\u{9b}\u{202e}\u{2066}\u{061c}é名";
        let cleaned = clean(text);
        assert_eq!(cleaned, "a?[31m?????????????é名");
        assert_eq!(cleaned.len(), text.len());
        assert!(matches!(clean("Größe<T>.M(名)"), Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_long_texts_at_a_character() {
        let long = "é".repeat(MAX_TEXT);
        assert_eq!(shortened(&long).len(), MAX_TEXT);
        assert_eq!(shortened(&format!("a{long}")).len(), MAX_TEXT - 1);
        assert_eq!(shortened("short"), "short");
    }
}
