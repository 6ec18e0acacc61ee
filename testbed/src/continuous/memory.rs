//! Samples of memory, and their slope.

use std::fmt;
use std::time::Duration;

/// Largest slope of the agent's memory, in bytes an hour.
const MOST_PER_HOUR: f64 = (1 << 20) as f64;
/// Growth that short runs may show, in bytes: tables double.
const MOST_AT_ALL: f64 = (4 << 20) as f64;
/// Runs that measured for less are judged by their whole growth: a slope would be noise.
const SHORT: Duration = Duration::from_secs(20 * 60);

/// Memory at a checkpoint, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time since the start.
    pub at: Duration,
    /// The agent's memory.
    pub agent: u64,
    /// The part of it that has times.
    pub times: u64,
    /// Estimate of memory that the CLR keeps for recompilations.
    pub clr: u64,
    /// Resident memory of the process.
    pub resident: u64,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "agent {:.2} MiB ({:.2} for times), kept by the CLR {:.1}, process {:.1}, after {:.1} min",
            mib(self.agent),
            mib(self.times),
            mib(self.clr),
            mib(self.resident),
            self.at.as_secs_f64() / 60.0
        )
    }
}

/// Slopes of memory, in bytes an hour, by least squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slopes {
    /// The agent's memory.
    pub agent: f64,
    /// Resident memory of the process, without what the CLR keeps.
    pub rest: f64,
    /// Resident memory of the process.
    pub resident: f64,
    /// The time measured.
    pub time: Duration,
}

impl Slopes {
    /// Returns the slopes of these samples; zero for fewer than two.
    pub fn of(samples: &[Sample]) -> Self {
        let slope = |value: fn(&Sample) -> f64| {
            least_squares(samples.iter().map(|sample| (sample.at.as_secs_f64() / 3600.0, value(sample))))
        };
        let time = match samples {
            [first, .., last] => last.at.saturating_sub(first.at),
            _ => Duration::ZERO,
        };
        Self {
            agent: slope(|sample| sample.agent as f64),
            rest: slope(|sample| sample.resident as f64 - sample.clr as f64),
            resident: slope(|sample| sample.resident as f64),
            time,
        }
    }

    /// Returns whether the agent's memory stays within 1 MiB an hour, or within 4 MiB at all in a short run.
    pub fn is_bounded(&self) -> bool {
        if self.time < SHORT {
            return self.agent * self.time.as_secs_f64() / 3600.0 <= MOST_AT_ALL;
        }
        self.agent <= MOST_PER_HOUR
    }
}

impl fmt::Display for Slopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        write!(
            f,
            "agent {:+.3} MiB/h; process {:+.1} MiB/h, {:+.1} without what the CLR keeps; over {:.1} min",
            mib(self.agent),
            mib(self.resident),
            mib(self.rest),
            self.time.as_secs_f64() / 60.0
        )
    }
}

fn least_squares(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let many = points.clone().count() as f64;
    let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / many.max(1.0), sum_y / many.max(1.0));
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points {
        above += (x - mean_x) * (y - mean_y);
        below += (x - mean_x) * (x - mean_x);
    }
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(minutes: u64, bytes_per_minute: u64) -> Vec<Sample> {
        let sample = |minute: u64| Sample {
            at: Duration::from_secs(60 * minute),
            // Noise that evens out.
            agent: 10_000_000 + minute * bytes_per_minute + (minute % 2) * 50_000,
            times: 1_000_000,
            clr: 1_000 * minute,
            resident: 100_000_000 + 1_000 * minute,
        };
        (0..minutes).map(sample).collect()
    }

    #[test]
    fn slopes_are_found_in_noise() {
        let slopes = Slopes::of(&samples(60, 1_000));
        assert!((slopes.agent - 60_000.0).abs() < 10_000.0 && slopes.rest.abs() < 1.0, "{slopes}");
        assert!((slopes.resident - 60_000.0).abs() < 1.0 && slopes.is_bounded(), "{slopes}");
        let steep = Slopes::of(&samples(60, 20_000));
        assert!(steep.agent > 1_150_000.0 && !steep.is_bounded(), "{steep}");
    }

    #[test]
    fn short_runs_are_judged_by_their_growth() {
        assert!(Slopes::of(&samples(5, 500_000)).is_bounded());
        assert!(!Slopes::of(&samples(5, 2_000_000)).is_bounded());
        assert!(Slopes::of(&[]).is_bounded() && Slopes::of(&samples(1, 0)).is_bounded());
    }
}
