//! Delays between connection attempts.

use std::time::Duration;

/// Successive delays; the last one repeats.
const STEPS: [Duration; 6] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Counts failed attempts.
#[derive(Debug, Default)]
pub struct Backoff {
    failed: usize,
}

impl Backoff {
    /// Records a failure and returns the delay before the next attempt.
    pub fn failed(&mut self) -> Duration {
        let wait = STEPS.get(self.failed).or(STEPS.last()).copied().unwrap_or_default();
        self.failed += 1;
        wait
    }

    /// Records a success: the delays start over.
    pub fn worked(&mut self) {
        self.failed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_bound_and_start_over() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..8).map(|_| backoff.failed().as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000]);
        backoff.worked();
        assert_eq!(backoff.failed().as_millis(), 250);
    }
}
