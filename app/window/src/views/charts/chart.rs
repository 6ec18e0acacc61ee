//! The charts, one below the other.

use redial_text::words;

/// What a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// Calls per second.
    Rate,
    /// Durations.
    Duration,
    /// Exceptions per second.
    Exceptions,
}

impl Chart {
    /// Every chart, from top to bottom.
    pub const ALL: [Chart; 3] = [Chart::Rate, Chart::Duration, Chart::Exceptions];

    /// Returns its title.
    pub fn title(self) -> &'static str {
        match self {
            Chart::Rate => "Calls per second",
            Chart::Duration => "Duration p50 (dashed), p99",
            Chart::Exceptions => "Exceptions per second",
        }
    }

    /// Formats a value on its axis.
    pub fn format(self, value: f64) -> String {
        match self {
            Chart::Duration => words::duration(value.max(0.0) as u64),
            Chart::Rate | Chart::Exceptions if value == 0.0 => "0".to_owned(),
            Chart::Rate | Chart::Exceptions => words::rate(value),
        }
    }
}
