//! Durations as a user types them.

use crate::limits::MAX_THRESHOLD_NS;
use std::time::Duration;

/// Reads a duration: a number with a unit, or several.
///
/// # Errors
/// A sentence that says what one looks like.
pub fn parse(word: &str, examples: &str) -> Result<Duration, String> {
    humantime::parse_duration(word)
        .map_err(|_| format!("a duration is a number with a unit, such as {examples}"))
}

/// Reads how long a call takes at least to be kept, nanoseconds: at least one, at most [`MAX_THRESHOLD_NS`].
///
/// # Errors
/// A sentence that says what is wrong.
pub fn threshold(word: &str) -> Result<u64, String> {
    match u64::try_from(parse(word, "500us, 10ms or 2s")?.as_nanos()) {
        Ok(0) => Err("calls take longer than a nanosecond at least".to_owned()),
        Ok(ns) if ns <= MAX_THRESHOLD_NS => Ok(ns),
        _ => Err(format!("calls are waited for {} days at most", MAX_THRESHOLD_NS / 86_400_000_000_000)),
    }
}

/// Nanoseconds as one word that [`threshold`] reads: `1s500ms`.
pub fn word(ns: u64) -> String {
    humantime::format_duration(Duration::from_nanos(ns)).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_back_to_the_nanosecond() {
        for ns in [1, 999, 1_500, 10_000_000, 1_500_000_000, 90_061_001_002_003, MAX_THRESHOLD_NS] {
            assert_eq!(threshold(&word(ns)), Ok(ns), "{}", word(ns));
        }
        assert_eq!((word(10_000_000), word(1_500_000_000)), ("10ms".to_owned(), "1s500ms".to_owned()));
        for (text, part) in [
            ("", "such as 500us, 10ms or 2s"),
            ("10", "such as 500us, 10ms or 2s"),
            ("-1ms", "such as 500us, 10ms or 2s"),
            ("0s", "a nanosecond at least"),
            ("366d 1ns", "366 days at most"),
        ] {
            assert!(threshold(text).is_err_and(|why| why.contains(part)), "{text}: {:?}", threshold(text));
        }
    }
}
