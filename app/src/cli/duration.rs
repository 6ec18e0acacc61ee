//! Durations as a user types and reads them.

use redial_protocol::duration;
use redial_protocol::limits::MAX_KEPT_FOR_MS;
use std::time::Duration;

/// Reads how long dials are to be kept: whole milliseconds, at least one, at most [`MAX_KEPT_FOR_MS`].
pub fn kept_for(word: &str) -> Result<u64, String> {
    let time = duration::parse(word, "90s, 10m, 2h or 1d")?;
    match u64::try_from(time.as_millis()) {
        Ok(0) => Err("dials are kept for a millisecond at least".to_owned()),
        Ok(ms) if ms <= MAX_KEPT_FOR_MS => Ok(ms),
        _ => Err(format!("dials are kept for {} days at most", MAX_KEPT_FOR_MS / 86_400_000)),
    }
}

/// Milliseconds in words: `1day 2h 30m`. From ten seconds on without fractions of one.
pub fn words(ms: u64) -> String {
    let shown = if ms >= 10_000 { ms / 1000 * 1000 } else { ms };
    humantime::format_duration(Duration::from_millis(shown)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        for (word, ms) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("366d", MAX_KEPT_FOR_MS),
        ] {
            assert_eq!(kept_for(word), Ok(ms), "{word}");
        }
        for (word, part) in [
            ("", "a number with a unit"),
            ("10", "a number with a unit"),
            ("-10s", "a number with a unit"),
            ("soon", "a number with a unit"),
            ("0s", "a millisecond at least"),
            ("100us", "a millisecond at least"),
            ("366d 1ms", "366 days at most"),
            ("99999999999999y", "a number with a unit"),
        ] {
            assert!(kept_for(word).is_err_and(|why| why.contains(part)), "{word}: {:?}", kept_for(word));
        }
    }

    #[test]
    fn times_are_told_without_noise() {
        assert_eq!(
            [250, 9_999, 10_001, 90_000, 600_000, 95_400_999].map(words),
            ["250ms", "9s 999ms", "10s", "1m 30s", "10m", "1day 2h 30m"]
        );
    }
}
