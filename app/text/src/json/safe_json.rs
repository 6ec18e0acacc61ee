//! JSON without characters that a terminal would act on. serde_json escapes only quotes, backslashes and C0 controls;
//! captured strings may also contain DEL, C1 controls, line separators and bidirectional marks.

use redial_protocol::peer_text::acts;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

/// Writes a value as compact JSON.
///
/// # Errors
/// When it cannot be written.
pub fn write(to: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(to, SafeFormatter(CompactFormatter)))
}

/// Formats a value as JSON on one line; an empty text if it has no JSON form.
pub fn line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let written = write(&mut bytes, value);
    written.map(|()| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Escapes what acts, as `\u202e`.
struct SafeFormatter(CompactFormatter);

impl Formatter for SafeFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, letter)) = rest.char_indices().find(|(_, letter)| acts(*letter)) {
            let (before, from) = rest.split_at(at);
            self.0.write_string_fragment(to, before)?;
            // Every such character is in the basic plane.
            write!(to, "\\u{:04x}", u32::from(letter))?;
            rest = from.get(letter.len_utf8()..).unwrap_or_default();
        }
        self.0.write_string_fragment(to, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_acts_and_keeps_the_value() {
        let hostile = "a\u{1b}[2J\n\u{7f}\u{85}\u{9b}\u{61c}\u{200e}\u{2028}\u{202e}\u{2069}\"\\é注🛒";
        let value = serde_json::json!({ hostile: [hostile, "", "plain"], "number": 1.5 });
        let mut bytes = Vec::new();
        write(&mut bytes, &value).expect("written");
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(!text.chars().any(acts), "{text}");
        assert!(
            text.contains("\\u007f\\u0085\\u009b\\u061c\\u200e\\u2028\\u202e\\u2069\\\"\\\\é注🛒"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
