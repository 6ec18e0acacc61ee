//! Pauses between requests that forbid all inlining. While such a request waits for compilations to end, no method
//! of the process is inlined, and code that the JIT finishes meanwhile may stay so. A compilation can stay active for
//! minutes; so after each vain wait the next one comes later.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// The first pause.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause: ten times the longest wait, so that inlining is forbidden for a tenth of the time at most.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Pauses are short again after this much time without a vain wait.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The present pause, if there is one.
#[derive(Debug, Default)]
pub struct BarrierPause {
    last: Option<Pause>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Duration,
    until: Instant,
}

impl BarrierPause {
    /// Whether no request may forbid all inlining now.
    pub fn is_on(&self, now: Instant) -> bool {
        self.last.is_some_and(|pause| now < pause.until)
    }

    /// Begins a pause after a vain wait, twice as long as the last one.
    pub fn begin(&mut self, now: Instant) {
        let recent = self.last.filter(|pause| now.saturating_duration_since(pause.until) < FORGET_AFTER);
        let length = recent.map_or(MIN_PAUSE, |pause| (2 * pause.length).min(MAX_PAUSE));
        self.last = Some(Pause { length, until: now + length });
    }

    /// Ends pauses after a wait that was not in vain.
    pub fn end(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wait of each request, and how often requests are retried.
    const WAIT: Duration = Duration::from_secs(1);
    const RETRY: Duration = Duration::from_millis(100);

    /// Retries vain requests; returns for how much of the time from `from` to `to` inlining was forbidden.
    fn forbidden(from: Duration, to: Duration) -> Duration {
        let (mut pause, start) = (BarrierPause::default(), Instant::now());
        let (mut now, mut forbidden) = (start, Duration::ZERO);
        while now < start + to {
            if !pause.is_on(now) {
                let ends = now + WAIT;
                forbidden += ends.min(start + to).saturating_duration_since(now.max(start + from));
                now = ends;
                pause.begin(now);
            }
            now += RETRY;
        }
        forbidden
    }

    #[test]
    fn vain_requests_forbid_inlining_a_tenth_of_the_time() {
        let of_two_minutes = forbidden(Duration::ZERO, Duration::from_secs(120));
        assert!(of_two_minutes <= Duration::from_secs(17), "{of_two_minutes:?}");
        let later = forbidden(Duration::from_secs(20), Duration::from_secs(1020));
        assert!(later >= Duration::from_secs(80) && later <= Duration::from_secs(100), "{later:?}");
    }

    #[test]
    fn pauses_are_short_after_a_success_or_a_long_time() {
        let (mut pause, now) = (BarrierPause::default(), Instant::now());
        (0..20).for_each(|_| pause.begin(now));
        assert!(pause.is_on(now + MAX_PAUSE - RETRY) && !pause.is_on(now + MAX_PAUSE));
        pause.end();
        assert!(!pause.is_on(now));
        (0..20).for_each(|_| pause.begin(now));
        let later = now + MAX_PAUSE + FORGET_AFTER;
        pause.begin(later);
        assert!(pause.is_on(later) && !pause.is_on(later + MIN_PAUSE));
    }
}
