//! Sentences on stderr.
#![forbid(unsafe_code)]

use redial_text::words;
use std::io::Write;

/// Prints a sentence on one line of stderr. If its last line is only a mark (`^`) below the line before, both keep their
/// columns. Ignores a closed stderr.
pub fn sentence(text: impl std::fmt::Display) {
    let text = text.to_string();
    let mut stderr = std::io::stderr().lock();
    for line in lines(&text) {
        let _ = writeln!(stderr, "redial: {line}");
    }
}

fn lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    match lines.as_slice() {
        [first @ .., marked, mark] if mark.trim() == "^" => {
            vec![words::one_line(&first.join("\n")), words::printable(marked), words::printable(mark)]
        }
        _ => vec![words::one_line(text)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_keep_their_columns() {
        assert_eq!(lines("a\n  b"), ["a b"]);
        assert_eq!(lines("wrong:\nhere\n  a = 1\n    ^"), ["wrong: here", "  a = 1", "    ^"]);
        assert_eq!(lines("^"), ["^"]);
    }
}
