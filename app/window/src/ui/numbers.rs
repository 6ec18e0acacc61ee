//! Numbers for table columns: short and with units, so that a column is easy to scan.

/// Returns a rate in calls per second with an SI prefix and at most four digits: `0.3/s`, `950/s`, `12.3
/// k/s`, `1.25 M/s`.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 0.0 {
        return "–".to_owned();
    }
    if per_second > 0.0 && per_second < 0.05 {
        return "< 0.1/s".to_owned();
    }
    let (value, prefix) = scaled(per_second);
    match prefix {
        "" if value < 9.95 && value > 0.0 => format!("{value:.1}/s"),
        "" => format!("{value:.0}/s"),
        prefix => format!("{} {prefix}/s", three_digits(value)),
    }
}

/// Returns a count in at most six characters, up to 999 billion: `950`, `12.3 k`, `322 k`, `1.25 M`.
pub fn short(number: u64) -> String {
    match scaled(number as f64) {
        (_, "") => number.to_string(),
        (value, prefix) => format!("{} {prefix}", three_digits(value)),
    }
}

/// Returns an axis label for a duration in nanoseconds, without trailing zeros: `1 µs`, `2.5 ms`, `100 s`.
pub fn tick(ns: f64) -> String {
    let (value, unit) = match ns {
        ..999.5 => (ns, "ns"),
        ..999.5e3 => (ns / 1e3, "µs"),
        ..999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let text = three_digits(value);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Returns value and SI prefix such that the value, rounded to three digits, is below 1,000.
fn scaled(number: f64) -> (f64, &'static str) {
    let mut value = number;
    for prefix in ["", "k", "M", "G"] {
        if value < 999.5 {
            return (value, prefix);
        }
        value /= 1000.0;
    }
    (value, "T")
}

fn three_digits(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_have_six_characters_at_most() {
        assert_eq!(
            [0, 999, 9_999, 12_345, 322_123, 999_600, 12_345_678, 999 << 30].map(short),
            ["0", "999", "10.0 k", "12.3 k", "322 k", "1.00 M", "12.3 M", "1.07 T"]
        );
    }

    #[test]
    fn ticks_have_no_idle_zeros() {
        assert_eq!(
            [1.0, 500.0, 1e3, 2_500.0, 1e7, 1.02e6, 999.7e6, 1e11].map(tick),
            ["1 ns", "500 ns", "1 µs", "2.5 µs", "10 ms", "1.02 ms", "1 s", "100 s"]
        );
    }

    #[test]
    fn rates_have_prefixes_and_few_digits() {
        for (number, text) in [
            (0.0, "0/s"),
            (0.01, "< 0.1/s"),
            (0.3, "0.3/s"),
            (9.96, "10/s"),
            (950.0, "950/s"),
            (999.6, "1.00 k/s"),
            (12_345.0, "12.3 k/s"),
            (1_250_000.0, "1.25 M/s"),
            (3e9, "3.00 G/s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(rate(number), text);
        }
    }
}
