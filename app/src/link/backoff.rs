//! How long to wait before the next attempt to connect.

use std::time::Duration;

/// The waits, one after another; the last one from then on.
const STEPS: [Duration; 6] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Counts attempts.
#[derive(Debug, Default)]
pub struct Backoff {
    failed: usize,
}

impl Backoff {
    /// The wait after one more failure.
    pub fn failed(&mut self) -> Duration {
        let wait = STEPS.get(self.failed).or(STEPS.last()).copied().unwrap_or_default();
        self.failed += 1;
        wait
    }

    /// It worked: the next failure is the first again.
    pub fn worked(&mut self) {
        self.failed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_begin_anew() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..8).map(|_| backoff.failed().as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000]);
        backoff.worked();
        assert_eq!(backoff.failed().as_millis(), 250);
    }
}
