//! Durations in text form.

use crate::limits::MAX_THRESHOLD_NS;
use std::time::Duration;

/// Parses a duration: one or more numbers with units.
///
/// # Errors
/// A sentence that shows valid examples.
pub fn parse(word: &str, examples: &str) -> Result<Duration, String> {
    humantime::parse_duration(word)
        .map_err(|_| format!("a duration is a number with a unit, such as {examples}"))
}

/// Parses the threshold for slowest calls, in nanoseconds, from 1 to [`MAX_THRESHOLD_NS`].
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_threshold(word: &str) -> Result<u64, String> {
    match u64::try_from(parse(word, "500us, 10ms or 2s")?.as_nanos()) {
        Ok(0) => Err("the threshold must be at least 1ns".to_owned()),
        Ok(ns) if ns <= MAX_THRESHOLD_NS => Ok(ns),
        _ => Err(format!("the threshold can be at most {} days", MAX_THRESHOLD_NS / 86_400_000_000_000)),
    }
}

/// Formats nanoseconds as one word that [`parse_threshold`] parses: `1s500ms`.
pub fn format(ns: u64) -> String {
    humantime::format_duration(Duration::from_nanos(ns)).to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_round_trip_to_the_nanosecond() {
        for ns in [1, 999, 1_500, 10_000_000, 1_500_000_000, 90_061_001_002_003, MAX_THRESHOLD_NS] {
            assert_eq!(parse_threshold(&format(ns)), Ok(ns), "{}", format(ns));
        }
        assert_eq!((format(10_000_000), format(1_500_000_000)), ("10ms".to_owned(), "1s500ms".to_owned()));
        for (text, part) in [
            ("", "such as 500us, 10ms or 2s"),
            ("10", "such as 500us, 10ms or 2s"),
            ("-1ms", "such as 500us, 10ms or 2s"),
            ("0s", "at least 1ns"),
            ("366d 1ns", "at most 366 days"),
        ] {
            assert!(
                parse_threshold(text).is_err_and(|error| error.contains(part)),
                "{text}: {:?}",
                parse_threshold(text)
            );
        }
    }
}
