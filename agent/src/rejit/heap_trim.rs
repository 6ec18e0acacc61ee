//! Returns memory to the system that the agent has freed. glibc keeps freed blocks in the arenas that the agent shares with the
//! host; after hostile clients, tens of megabytes stayed there.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// A trim is worth it once the agent has freed this many bytes since the last one.
const WORTH: usize = 4 << 20;
/// Pause between two trims.
const PAUSE: Duration = Duration::from_secs(10);
/// The pause in relation to the time that a trim took, because the host's threads may wait for an arena meanwhile.
const PAUSE_FACTOR: u32 = 1000;

/// Decides when to trim.
#[derive(Debug, Default)]
pub struct HeapTrim {
    /// No trim before this time.
    not_before: Option<Instant>,
}

impl HeapTrim {
    /// Calls `trim` if enough bytes were freed since the last one. `trim` returns the time that it took.
    pub fn check(&mut self, freed: usize, now: Instant, trim: impl FnOnce() -> Duration) {
        let is_early = self.not_before.is_some_and(|time| now < time);
        if is_early || freed < WORTH {
            return;
        }
        let took = trim();
        self.not_before = Some(now + PAUSE.max(took.saturating_mul(PAUSE_FACTOR)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_after_a_fall_and_then_pauses() {
        let begun = Instant::now();
        let (mut heap, mut peak) = (HeapTrim::default(), 0);
        let mut trims = |megabytes: usize, seconds, took| {
            let mut trimmed = false;
            peak = peak.max(megabytes);
            heap.check((peak - megabytes) << 20, begun + Duration::from_secs(seconds), || {
                trimmed = true;
                Duration::from_millis(took)
            });
            if trimmed {
                peak = megabytes;
            }
            trimmed
        };
        assert!(!trims(3, 0, 0) && !trims(30, 1, 0), "it grows");
        assert!(!trims(27, 2, 0), "it has fallen by 3");
        assert!(trims(22, 3, 1));
        assert!(!trims(22, 4, 1), "nothing more to give back");
        assert!(!trims(40, 5, 1) && !trims(4, 12, 1), "a pause of ten seconds");
        assert!(trims(4, 13, 50));
        assert!(!trims(40, 14, 1) && !trims(4, 62, 1), "the trim took long, so the pause is longer");
        assert!(trims(4, 63, 1));
    }
}
