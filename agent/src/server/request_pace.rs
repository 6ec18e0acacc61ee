//! Slows down floods of changes, of "all off" and of bad frames, which take no turns. Each wakes several threads, and on a busy
//! machine every wake-up takes a processor from the host for a moment.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Requests of all sessions together in a second that are carried out at once.
const AT_ONCE: u32 = 500;
/// Pause before each further request of a session. Its next ones arrive meanwhile, and then wake nobody.
const PAUSE: Duration = Duration::from_millis(20);

/// The requests of all sessions in the present second.
#[derive(Default)]
pub(super) struct RequestPace(Mutex<Option<BusySecond>>);

struct BusySecond {
    begun: Instant,
    requests: u32,
}

impl RequestPace {
    /// Counts a request, and returns how long its session must wait before it is carried out.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let mut second = lock(&self.0);
        let second = second.get_or_insert(BusySecond { begun: now, requests: 0 });
        if now.saturating_duration_since(second.begun) >= Duration::from_secs(1) {
            *second = BusySecond { begun: now, requests: 0 };
        }
        second.requests = second.requests.saturating_add(1);
        (second.requests > AT_ONCE).then_some(PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_flood_has_to_wait() {
        let pace = RequestPace::default();
        let begun = Instant::now();
        assert!((0..AT_ONCE).all(|_| pace.pause(begun).is_none()));
        let later = begun + Duration::from_millis(999);
        assert_eq!(pace.pause(later), Some(PAUSE));
        assert_eq!(pace.pause(begun + Duration::from_secs(1)), None, "the next second");
    }
}
