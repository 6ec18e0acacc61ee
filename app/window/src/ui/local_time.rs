//! Times as the user's clock shows them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns the time of day with milliseconds: `06:57:01.250`.
pub fn time_of_day(unix_ns: u64) -> String {
    in_zone(unix_ns, zone(), "%H:%M:%S%.3f")
}

/// Returns date and time: `2026-11-20 06:57:01`.
pub fn date_and_time(unix_ms: u64) -> String {
    in_zone(unix_ms.saturating_mul(1_000_000), zone(), "%Y-%m-%d %H:%M:%S")
}

/// Returns the name of the time zone, or its distance from UTC.
pub fn zone_name() -> String {
    let zone = zone();
    zone.iana_name().map_or_else(|| format!("UTC{}", zone.to_offset(Timestamp::now())), str::to_owned)
}

/// Returns the desktop's time zone; in tests UTC, so that pictures do not depend on the machine.
fn zone() -> TimeZone {
    if cfg!(test) { TimeZone::UTC } else { TimeZone::system() }
}

fn in_zone(unix_ns: u64, zone: TimeZone, format: &str) -> String {
    let time = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    time.to_zoned(zone).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::offset;

    #[test]
    fn times_follow_the_zone() {
        let ns = 1_795_153_561_123_456_789;
        let east = TimeZone::fixed(offset(2));
        assert_eq!(in_zone(ns, TimeZone::UTC, "%H:%M:%S%.3f"), "05:46:01.123");
        assert_eq!(in_zone(ns, east.clone(), "%H:%M:%S%.3f"), "07:46:01.123");
        let late = 1_795_219_200_000_000_000;
        assert_eq!(in_zone(late, TimeZone::UTC, "%Y-%m-%d %H:%M:%S"), "2026-11-21 00:00:00");
        assert_eq!(in_zone(late, east, "%Y-%m-%d %H:%M:%S"), "2026-11-21 02:00:00");
        assert!(!in_zone(u64::MAX, TimeZone::UTC, "%H").is_empty());
    }
}
