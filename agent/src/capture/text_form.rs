//! Values of the core library with a usual text form: identifiers, dates, durations, decimals.

use std::fmt::Write;

/// Ticks of 100 ns in a second.
const SECOND: u64 = 10_000_000;
const DAY: u64 = 86_400 * SECOND;

/// A struct that is shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// `System.Guid`.
    Guid,
    /// `System.DateTime`.
    DateTime,
    /// `System.DateTimeOffset`: offsets of its date in UTC, and of its distance from UTC in minutes.
    DateTimeOffset(u32, u32),
    /// `System.DateOnly`.
    DateOnly,
    /// `System.TimeOnly`.
    TimeOnly,
    /// `System.TimeSpan`.
    TimeSpan,
    /// `System.Decimal`.
    Decimal,
}

impl TextForm {
    /// Returns the form of a struct of the core library with this full name, if it is shown as text.
    /// `DateTimeOffset` needs the offsets of its fields.
    pub fn of_type(full_name: &str, offset_of: impl Fn(&str) -> Option<u32>) -> Option<TextForm> {
        Some(match full_name {
            "System.Guid" => TextForm::Guid,
            "System.DateTime" => TextForm::DateTime,
            "System.DateOnly" => TextForm::DateOnly,
            "System.TimeOnly" => TextForm::TimeOnly,
            "System.TimeSpan" => TextForm::TimeSpan,
            "System.Decimal" => TextForm::Decimal,
            "System.DateTimeOffset" => {
                let date = offset_of("_dateTime").or_else(|| offset_of("m_dateTime"))?;
                let minutes = offset_of("_offsetMinutes").or_else(|| offset_of("m_offsetMinutes"))?;
                TextForm::DateTimeOffset(date, minutes)
            }
            _ => return None,
        })
    }

    /// Returns the offsets and sizes of its captured parts, in bytes.
    pub fn parts(self) -> Vec<(u32, usize)> {
        match self {
            TextForm::Guid | TextForm::Decimal => vec![(0, 16)],
            TextForm::DateTime | TextForm::TimeSpan | TextForm::TimeOnly => vec![(0, 8)],
            TextForm::DateOnly => vec![(0, 4)],
            TextForm::DateTimeOffset(date, minutes) => vec![(date, 8), (minutes, 2)],
        }
    }

    /// Returns the bytes of its captured parts.
    pub fn size(self) -> usize {
        match self {
            TextForm::Guid | TextForm::Decimal => 16,
            TextForm::DateTime | TextForm::TimeSpan | TextForm::TimeOnly => 8,
            TextForm::DateOnly => 4,
            TextForm::DateTimeOffset(..) => 10,
        }
    }

    /// Returns the number nearest to a decimal with these bytes; None if there is no such decimal.
    pub fn decimal_as_double(bytes: &[u8]) -> Option<f64> {
        let (flags, high, low) = (bytes.get(..4)?, bytes.get(4..8)?, bytes.get(8..16)?);
        let flags = u32::from_le_bytes(flags.try_into().ok()?);
        let high = u32::from_le_bytes(high.try_into().ok()?);
        let low = u64::from_le_bytes(low.try_into().ok()?);
        let (value, scale) = (u128::from(high) << 64 | u128::from(low), flags >> 16 & 0xFF);
        let ten_to_scale = 10_u128.checked_pow(scale).filter(|_| scale <= 28 && flags & 0x7F00_FFFF == 0)?;
        let number = value as f64 / ten_to_scale as f64;
        Some(if flags >> 31 == 1 { -number } else { number })
    }

    /// Returns the text of a value from the bytes of its parts; None if they are too few, or no such value.
    pub fn text(self, bytes: &[u8]) -> Option<String> {
        let number = |at: usize, size: usize| {
            let mut all = [0; 8];
            all.get_mut(..size)?.copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
            Some(u64::from_le_bytes(all))
        };
        match self {
            TextForm::Guid => guid(bytes),
            TextForm::Decimal => decimal(number(0, 4)? as u32, number(4, 4)? as u32, number(8, 8)?),
            TextForm::TimeSpan => Some(time_span(number(0, 8)? as i64)),
            TextForm::TimeOnly => Some(time_of_day(number(0, 8)?)).filter(|_| number(0, 8) < Some(DAY)),
            TextForm::DateOnly => date(number(0, 4)?.checked_mul(DAY)?),
            TextForm::DateTime => {
                // The upper two bits are the kind: 1 is UTC, 2 and 3 are local time.
                let data = number(0, 8)?;
                let zone = if data >> 62 == 1 { "Z" } else { "" };
                Some(date_time(data & (u64::MAX >> 2))? + zone)
            }
            TextForm::DateTimeOffset(..) => {
                let utc = number(0, 8)? & (u64::MAX >> 2);
                let minutes = number(8, 2)? as i16;
                let local = utc.checked_add_signed(i64::from(minutes) * 60 * SECOND as i64)?;
                let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
                Some(format!("{}{sign}{:02}:{:02}", date_time(local)?, minutes / 60, minutes % 60))
            }
        }
    }
}

fn guid(bytes: &[u8]) -> Option<String> {
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    let value = uuid_fields(bytes);
    let mut text = format!("{:08x}-{:04x}-{:04x}-", value.0, value.1, value.2);
    for (place, byte) in bytes.iter().enumerate().skip(8) {
        if place == 10 {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

fn uuid_fields(bytes: &[u8; 16]) -> (u32, u16, u16) {
    let [a, b, c, d, e, f, g, h, ..] = *bytes;
    (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]))
}

/// Returns a decimal: sign and scale, the upper 32 bits, the lower 64.
fn decimal(flags: u32, high: u32, low: u64) -> Option<String> {
    let scale = (flags >> 16 & 0xFF) as usize;
    let value = u128::from(high) << 64 | u128::from(low);
    if scale > 28 || flags & 0x7F00_FFFF != 0 {
        return None;
    }
    let mut digits = format!("{value:0width$}", width = scale + 1);
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    Some(if flags >> 31 == 1 { format!("-{digits}") } else { digits })
}

/// Returns a duration in ticks as `[-][d.]hh:mm:ss[.fffffff]`.
fn time_span(ticks: i64) -> String {
    let (sign, ticks) = (if ticks < 0 { "-" } else { "" }, ticks.unsigned_abs());
    let days = match ticks / DAY {
        0 => String::new(),
        days => format!("{days}."),
    };
    format!("{sign}{days}{}", time_of_day(ticks % DAY))
}

/// Returns a time of day in ticks as `hh:mm:ss[.fffffff]`.
fn time_of_day(ticks: u64) -> String {
    let (seconds, fraction) = (ticks / SECOND, ticks % SECOND);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 { time } else { format!("{time}.{fraction:07}") }
}

/// Returns ticks since 0001-01-01 as `yyyy-MM-ddThh:mm:ss[.fffffff]`.
fn date_time(ticks: u64) -> Option<String> {
    Some(format!("{}T{}", date(ticks)?, time_of_day(ticks % DAY)))
}

/// Returns the date of ticks since 0001-01-01 as `yyyy-MM-dd`; None beyond the year 9999.
fn date(ticks: u64) -> Option<String> {
    let days = ticks / DAY;
    // Eras of 400 years that begin on March 1, so that a leap day is the last of its year.
    let shifted = days + 306;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year <= 9999).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(days: u64, seconds: u64) -> u64 {
        days * DAY + seconds * SECOND
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // 1970-01-01 is day 719,162 after 0001-01-01.
        let text = |form: TextForm, ticks: u64| form.text(&ticks.to_le_bytes());
        assert_eq!(text(TextForm::DateTime, 0).as_deref(), Some("0001-01-01T00:00:00"));
        assert_eq!(
            text(TextForm::DateTime, ticks(719_162, 1) | (1 << 62)).as_deref(),
            Some("1970-01-01T00:00:01Z")
        );
        // 2000-02-29 is 11,016 days after 1970-01-01, and 2024-12-31 is 20,088.
        assert_eq!(
            text(TextForm::DateTime, (ticks(719_162 + 11_016, 86_399) + 5) | (2 << 62)).as_deref(),
            Some("2000-02-29T23:59:59.0000005")
        );
        let day = |days: u32| TextForm::DateOnly.text(&days.to_le_bytes());
        assert_eq!(day(719_162 + 20_088).as_deref(), Some("2024-12-31"));
        assert_eq!(day(3_652_058).as_deref(), Some("9999-12-31"));
        assert_eq!(day(3_652_059), None);
        let mut offset = ticks(719_162, 0).to_le_bytes().to_vec();
        offset.extend((-90_i16).to_le_bytes());
        assert_eq!(
            TextForm::DateTimeOffset(8, 0).text(&offset).as_deref(),
            Some("1969-12-31T22:30:00-01:30")
        );
    }

    #[test]
    fn durations_decimals_and_identifiers() {
        let span = |ticks: i64| TextForm::TimeSpan.text(&ticks.to_le_bytes());
        assert_eq!(span(0).as_deref(), Some("00:00:00"));
        assert_eq!(span(-(DAY as i64) - 1).as_deref(), Some("-1.00:00:00.0000001"));
        assert_eq!(span(i64::MIN).as_deref(), Some("-10675199.02:48:05.4775808"));
        let decimal = |flags: u32, high: u32, low: u64| {
            let mut bytes = flags.to_le_bytes().to_vec();
            bytes.extend(high.to_le_bytes());
            bytes.extend(low.to_le_bytes());
            TextForm::Decimal.text(&bytes)
        };
        assert_eq!(decimal(2 << 16, 0, 5).as_deref(), Some("0.05"));
        assert_eq!(decimal(1 << 31 | 1 << 16, 0, 995).as_deref(), Some("-99.5"));
        assert_eq!(decimal(0, u32::MAX, u64::MAX).as_deref(), Some("79228162514264337593543950335"));
        assert_eq!(decimal(99 << 16, 0, 1), None);
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(TextForm::Guid.text(&bytes).as_deref(), Some("03020100-0504-0706-0809-0a0b0c0d0e0f"));
        assert_eq!(TextForm::Guid.text(&[0; 15]), None);
    }
}
