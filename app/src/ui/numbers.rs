//! Numbers as they stand in a table: short, with units, so that a column can be read down.

/// A rate in calls a second with an SI prefix, at most four digits: `0.3/s`, `950/s`, `12.3 k/s`, `1.25 M/s`.
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

/// Value and SI prefix such that the value, rounded to three digits, is below 1,000.
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
