//! The clock of timed calls. It is the processor's time-stamp counter if the processor declares it invariant
//! and the kernel uses it too; otherwise the system's monotonic clock. Readings are *ticks*; comparing both
//! clocks repeatedly (`tick_rate`) yields the nanoseconds per tick.

use super::tick_rate::{ClockPair, Rate};
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Minimum time between two readings used for a comparison of the clocks.
const LEAST: Duration = Duration::from_millis(2);
/// Both clocks are read this often, and the closest pair of readings wins: the thread may lose its processor in
/// between.
const TRIES: usize = 8;
/// Number of failed comparisons in a row before the best known rate is used.
const ATTEMPTS: usize = 16;
/// Shorter times are accepted without a check: a quarter of a minute at 4 GHz.
const LONG: u64 = 1 << 36;

static BEGUN: OnceLock<Instant> = OnceLock::new();
/// Time that the machine had been asleep at the beginning.
static SLEPT_BEFORE: OnceLock<Duration> = OnceLock::new();
static COUNTER: AtomicBool = AtomicBool::new(false);
static RATE: Mutex<Rate> = Mutex::new(Rate::UNKNOWN);
/// Latest nanoseconds per tick, as the bits of an `f64`; 0 while unknown.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// Chooses the clock. Must be called before anything is timed.
pub fn begin() {
    BEGUN.get_or_init(|| {
        let now = Instant::now();
        // Readings without the counter are relative to this one.
        let _ = SINCE.get_or_init(|| now);
        let _ = SLEPT_BEFORE.get_or_init(asleep);
        COUNTER.store(runs_at_one_speed() && is_trusted_by_kernel(clock_source()), Ordering::Relaxed);
        lock(&RATE).take(read(now));
        now
    });
}

/// Returns the current reading.
pub fn ticks() -> u64 {
    if is_counter() { Counter::ticks() } else { Monotonic::ticks() }
}

/// Returns whether ticks come from the processor's counter.
pub fn is_counter() -> bool {
    COUNTER.load(Ordering::Relaxed)
}

/// One kind of clock. There are helpers for each, so that no call has to choose.
pub trait Clock {
    /// Returns the current reading.
    fn ticks() -> u64;

    /// Makes a reading distinct from the one before on the same thread, even if they are equal.
    fn distinct(now: u64, before: &AtomicU64) -> u64;
}

/// The processor's counter.
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn ticks() -> u64 {
        counter()
    }

    /// Returns the reading, since the counter advances faster than it can be read.
    #[inline(always)]
    fn distinct(now: u64, _: &AtomicU64) -> u64 {
        now
    }
}

/// The system's monotonic clock, in nanoseconds.
pub struct Monotonic;

impl Clock for Monotonic {
    fn ticks() -> u64 {
        since()
    }

    fn distinct(now: u64, before: &AtomicU64) -> u64 {
        now.max(before.load(Ordering::Relaxed).wrapping_add(1))
    }
}

/// Returns the time between two readings: zero if the clock went back, and never more than the time since
/// [`begin`].
#[inline(always)]
pub fn between(start: u64, now: u64) -> u64 {
    // If the clock went back, the difference looks very long.
    let took = now.wrapping_sub(start);
    if took < LONG { took } else { believable(start, now) }
}

/// Returns nanoseconds per tick. May wait for milliseconds until the rate is known, so not for threads of the
/// host.
pub fn ns_per_tick() -> f64 {
    let Some(begun) = BEGUN.get() else { return 1.0 };
    if !is_counter() {
        return 1.0;
    }
    let mut rate = lock(&RATE);
    for _ in 0..ATTEMPTS {
        rate.take(read(*begun));
        if let Some(ns) = rate.ns_per_tick() {
            KNOWN.store(ns.to_bits(), Ordering::Relaxed);
            return ns;
        }
        std::thread::sleep(LEAST);
    }
    rate.likely()
}

/// Bounds a long time: either the counter jumped or the call took long. The monotonic clock gives the limit.
#[cold]
fn believable(start: u64, now: u64) -> u64 {
    let took = now.saturating_sub(start);
    let Some(begun) = BEGUN.get() else { return 0 };
    let known = match KNOWN.load(Ordering::Relaxed) {
        _ if !is_counter() => 1.0,
        0 => super::tick_rate::FASTEST,
        bits => f64::from_bits(bits),
    };
    let slept = asleep().saturating_sub(SLEPT_BEFORE.get().copied().unwrap_or_default());
    let passed = begun.elapsed().saturating_add(slept);
    took.min((passed.as_nanos() as f64 / known) as u64)
}

/// Reads both clocks; keeps the closest of several readings.
fn read(begun: Instant) -> ClockPair {
    let once = || {
        let slept = asleep();
        let before = ticks();
        let time = Instant::now();
        let after = ticks();
        let gap = after.saturating_sub(before);
        let ns = time.saturating_duration_since(begun).as_nanos() as u64;
        ClockPair { ticks: before.saturating_add(gap / 2), ns, slept_ns: slept.as_nanos() as u64, gap }
    };
    let first = once();
    (1..TRIES).map(|_| once()).fold(first, |a, b| if b.gap < a.gap { b } else { a })
}

/// Returns how long the machine has been suspended since its start, as far as its clocks report it.
#[cfg(target_os = "linux")]
fn asleep() -> Duration {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock's id and memory for its reading.
        let done = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
        done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    };
    let (awake, all) = (read(libc::CLOCK_MONOTONIC), read(libc::CLOCK_BOOTTIME));
    all.zip(awake).map_or(Duration::ZERO, |(all, awake)| all.saturating_sub(awake))
}

/// On other systems the monotonic clock continues during suspension, or nothing reports it.
#[cfg(not(target_os = "linux"))]
fn asleep() -> Duration {
    Duration::ZERO
}

static SINCE: OnceLock<Instant> = OnceLock::new();

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

/// Returns whether the counter declares that it neither stops nor changes its speed (Intel SDM volume 3,
/// 18.17.1).
#[cfg(target_arch = "x86_64")]
fn runs_at_one_speed() -> bool {
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    let cpuid = core::arch::x86_64::__cpuid;
    cpuid(0x8000_0000).eax >= POWER_MANAGEMENT && cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_at_one_speed() -> bool {
    false
}

/// Returns the kernel's clock source, if it reports one.
fn clock_source() -> Option<String> {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_os = "linux").then(|| std::fs::read_to_string(FILE).ok()).flatten()
}

/// Returns whether the kernel relies on the counter. The kernel monitors it constantly and switches to another
/// clock if the counter fails or differs between processors. No report counts as consent.
fn is_trusted_by_kernel(clock_source: Option<String>) -> bool {
    clock_source.is_none_or(|name| name.trim() == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_convert_to_elapsed_time() {
        begin();
        let (from, since) = (ticks(), Instant::now());
        std::thread::sleep(Duration::from_millis(60));
        let (to, least) = (ticks(), since.elapsed());
        let most = since.elapsed().as_nanos() as f64;
        let measured = (to - from) as f64 * ns_per_tick();
        // The clocks are read one after the other, so only the order of the readings bounds the difference.
        assert!(measured >= least.as_nanos() as f64 * 0.95, "{measured} of {least:?}");
        assert!(measured <= most * 1.05 + 5e6, "{measured} of {most}");
    }

    #[test]
    fn bounds_times_after_counter_jumps() {
        begin();
        let now = ticks();
        assert_eq!((between(now, now - 1), between(now, 0), between(u64::MAX, now)), (0, 0, 0), "back");
        assert_eq!(between(now, now + LONG - 1), LONG - 1, "accepted without a check");
        let most = BEGUN.get().map_or(0, |begun| (begun.elapsed() + asleep()).as_nanos() as u64);
        let jumped = between(now, u64::MAX) as f64 * ns_per_tick().min(1.0);
        // Allows a second for the time between the two readings of the clock.
        assert!(
            jumped <= (most + 1_000_000_000) as f64 / super::super::tick_rate::FASTEST,
            "{jumped} of {most}"
        );
    }

    #[test]
    fn distrusts_counters_that_the_kernel_does_not_use() {
        let source = |name: &str| is_trusted_by_kernel(Some(name.to_owned()));
        assert!(source("tsc\n") && is_trusted_by_kernel(None));
        assert!(!source("hpet\n") && !source("acpi_pm\n") && !source("kvm-clock\n"));
    }
}
