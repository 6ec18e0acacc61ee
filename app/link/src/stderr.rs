//! Sentences on stderr.
#![forbid(unsafe_code)]

use redial_text::words;
use std::io::Write;

/// Prints a sentence on one line of stderr. Ignores a closed stderr.
pub fn sentence(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "redial: {}", words::one_line(&text.to_string()));
}
