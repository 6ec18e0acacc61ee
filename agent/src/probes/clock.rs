//! The clock of timed calls: the processor's time-stamp counter where it runs at one speed for ever, else the system's
//! monotonic clock. Readings are *ticks*; what a tick is in nanoseconds is found by comparing both clocks over the whole
//! time since [`begin`], so it gets better the longer the agent runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shortest time that a comparison of the clocks is taken from.
const LEAST: Duration = Duration::from_millis(2);
/// Both clocks are read so often, and the readings closest together are taken: a thread may lose its processor between.
const TRIES: usize = 8;

/// Readings of both clocks at one time.
#[derive(Clone, Copy, Debug)]
struct Both {
    ticks: u64,
    time: Instant,
}

static BEGUN: OnceLock<Both> = OnceLock::new();
static COUNTER: AtomicBool = AtomicBool::new(false);

/// Chooses the clock. Everything that is timed is begun and ended after this.
pub fn begin() {
    BEGUN.get_or_init(|| {
        COUNTER.store(runs_at_one_speed(), Ordering::Relaxed);
        // Readings without the counter are distances from this one.
        let _ = SINCE.get_or_init(Instant::now);
        Both::now()
    });
}

/// The present reading.
#[inline(always)]
pub fn ticks() -> u64 {
    if COUNTER.load(Ordering::Relaxed) { counter() } else { since() }
}

/// Nanoseconds a tick is, by all that passed since [`begin`]. Waits until something passed; not for threads of the host.
pub fn ns_per_tick() -> f64 {
    let Some(begun) = BEGUN.get() else { return 1.0 };
    if !COUNTER.load(Ordering::Relaxed) {
        return 1.0;
    }
    std::thread::sleep(LEAST.saturating_sub(begun.time.elapsed()));
    begun.scale(Both::now())
}

impl Both {
    fn now() -> Both {
        let read = || {
            let before = ticks();
            let time = Instant::now();
            let after = ticks();
            let apart = after.saturating_sub(before);
            (apart, Both { ticks: before.saturating_add(apart / 2), time })
        };
        let first = read();
        let closest = (1..TRIES).map(|_| read()).fold(first, |a, b| if b.0 < a.0 { b } else { a });
        closest.1
    }

    fn scale(self, now: Both) -> f64 {
        let ticks = now.ticks.saturating_sub(self.ticks);
        let ns = now.time.saturating_duration_since(self.time).as_nanos();
        if ticks == 0 || ns == 0 { 1.0 } else { ns as f64 / ticks as f64 }
    }
}

static SINCE: OnceLock<Instant> = OnceLock::new();

#[cold]
fn since() -> u64 {
    SINCE.get().map_or(0, |since| since.elapsed().as_nanos() as u64)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; a system that forbids it to programs runs no .NET.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    since()
}

/// Whether the counter says of itself that it neither stops nor changes its speed (Intel SDM volume 3, 18.17.1).
#[cfg(target_arch = "x86_64")]
fn runs_at_one_speed() -> bool {
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    let leaf = core::arch::x86_64::__cpuid;
    leaf(0x8000_0000).eax >= POWER_MANAGEMENT && leaf(POWER_MANAGEMENT).edx & INVARIANT != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_at_one_speed() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_the_time_that_passed() {
        begin();
        let (from, since) = (ticks(), Instant::now());
        std::thread::sleep(Duration::from_millis(60));
        let (to, least) = (ticks(), since.elapsed());
        let most = since.elapsed().as_nanos() as f64;
        let told = (to - from) as f64 * ns_per_tick();
        // The clocks are read one after the other, so only the order of the readings bounds the difference.
        assert!(told >= least.as_nanos() as f64 * 0.95, "{told} of {least:?}");
        assert!(told <= most * 1.05 + 5e6, "{told} of {most}");
    }

    #[test]
    fn clocks_that_stand_still_or_go_back_tell_no_nonsense() {
        let now = Both::now();
        let back = Both { ticks: now.ticks.saturating_sub(1000), time: now.time };
        assert_eq!((now.scale(now), now.scale(back)), (1.0, 1.0));
        let later = Both { ticks: now.ticks + 3000, time: now.time + Duration::from_nanos(1500) };
        assert_eq!(now.scale(later), 0.5);
    }
}
