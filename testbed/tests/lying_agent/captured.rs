//! Output of a client, which may be larger than memory: all of it is checked, its beginning is kept.

use std::fmt::{self, Display, Formatter};
use std::io::Read;

use anyhow::{Result, bail, ensure};

/// Bytes that are kept.
const KEPT: usize = 8 << 20;
/// Bytes in a description.
const SHOWN: usize = 3_000;

/// Text that a program wrote.
#[derive(Debug, Default)]
pub struct CapturedText {
    begin: String,
    /// Bytes of all text.
    length: u64,
    /// The first thing that a terminal would act on.
    problem: Option<String>,
}

impl CapturedText {
    /// Reads to the end.
    pub fn read(mut from: impl Read) -> CapturedText {
        let (mut text, mut pending, mut buffer) = (CapturedText::default(), Vec::new(), vec![0; 64 << 10]);
        // Output read before a failure is still useful.
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            pending.extend_from_slice(&buffer[..length]);
            text.take(&mut pending);
        }
        if !pending.is_empty() {
            text.problem.get_or_insert_with(|| "it is not UTF-8".to_owned());
        }
        text
    }

    /// Takes the whole characters.
    fn take(&mut self, pending: &mut Vec<u8>) {
        let whole = match std::str::from_utf8(pending) {
            Ok(text) => text.len(),
            Err(error) => match error.error_len() {
                None => error.valid_up_to(),
                Some(invalid) => {
                    self.problem.get_or_insert_with(|| "it is not UTF-8".to_owned());
                    error.valid_up_to() + invalid
                }
            },
        };
        let part = String::from_utf8_lossy(&pending[..whole]).into_owned();
        self.length += part.len() as u64;
        if self.begin.len() < KEPT {
            self.begin.push_str(&part);
        }
        if self.problem.is_none() {
            self.problem = problem(&part);
        }
        pending.drain(..whole);
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns all of it; `None` if it is too long to be kept.
    pub fn whole(&self) -> Option<&str> {
        (self.begin.len() as u64 == self.length).then_some(self.begin.as_str())
    }

    /// Checks that a terminal shows all of it and does nothing else. Returns its beginning.
    ///
    /// # Errors
    /// When it is not UTF-8, or contains a control other than the line feed, or a bidirectional mark.
    pub fn check(&self) -> Result<&str> {
        if let Some(problem) = &self.problem {
            bail!("{problem}");
        }
        Ok(&self.begin)
    }
}

impl Display for CapturedText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", &self.begin[..self.begin.floor_char_boundary(SHOWN)], self.length)
    }
}

/// Checks a file as [`CapturedText::check`] does, and returns its text.
///
/// # Errors
/// As [`CapturedText::check`], or when it is long.
pub fn check_file(bytes: &[u8]) -> Result<String> {
    let text = CapturedText::read(bytes);
    text.check()?;
    ensure!(text.whole().is_some(), "{} bytes are more than expected", text.length);
    Ok(text.begin)
}

/// Describes the first character that a terminal or a text layout would act on.
fn problem(text: &str) -> Option<String> {
    let acts = |character: &char| match character {
        '\n' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    };
    let (at, character) = text.char_indices().find(|(_, character)| acts(character))?;
    let around = &text[text.floor_char_boundary(at.saturating_sub(60))..text.floor_char_boundary(at + 60)];
    Some(format!("the character {character:?} is in {around:?}"))
}
