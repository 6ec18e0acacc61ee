//! Parses and formats durations.

use redial_protocol::duration;
use redial_protocol::limits::MAX_KEPT_FOR_MS;
use std::time::Duration;

/// Parses how long to keep dials: whole milliseconds from 1 to [`MAX_KEPT_FOR_MS`].
///
/// # Errors
/// A sentence, for anything else.
pub fn kept_for(word: &str) -> Result<u64, String> {
    let time = duration::parse(word, "90s, 10m, 2h or 1d")?;
    match u64::try_from(time.as_millis()) {
        Ok(0) => Err("the shortest duration is 1 ms".to_owned()),
        Ok(ms) if ms <= MAX_KEPT_FOR_MS => Ok(ms),
        _ => Err(format!("the longest duration is {} days", MAX_KEPT_FOR_MS / 86_400_000)),
    }
}

/// Parses how long to watch calls, in milliseconds: from one second to an hour.
///
/// # Errors
/// A sentence, for anything else.
pub fn watched_for(word: &str) -> Result<u64, String> {
    let ms = duration::parse(word, "10s or 1m")?.as_millis();
    let ms = u64::try_from(ms).ok().filter(|ms| (1_000..=3_600_000).contains(ms));
    ms.ok_or_else(|| "calls are watched for at least 1 s and at most 1 h".to_owned())
}

/// Formats milliseconds as `1day 2h 30m`, without fractions of a second from ten seconds up.
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
            ("0s", "shortest duration is 1 ms"),
            ("100us", "shortest duration is 1 ms"),
            ("366d 1ms", "longest duration is 366 days"),
            ("99999999999999y", "a number with a unit"),
        ] {
            assert!(kept_for(word).is_err_and(|why| why.contains(part)), "{word}: {:?}", kept_for(word));
        }
    }

    #[test]
    fn formats_durations_without_needless_digits() {
        assert_eq!(
            [250, 9_999, 10_001, 90_000, 600_000, 95_400_999].map(words),
            ["250ms", "9s 999ms", "10s", "1m 30s", "10m", "1day 2h 30m"]
        );
    }
}
