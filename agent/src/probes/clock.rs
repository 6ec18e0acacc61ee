//! The clock of timed calls: the processor's time-stamp counter where the processor says that it runs at one speed for
//! ever and the kernel keeps time by it, too; else the system's monotonic clock. Readings are *ticks*; what a tick is in
//! nanoseconds is found by comparing both clocks (`rate`), again and again.

use super::rate::{Both, Rate};
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Shortest time that a comparison of the clocks is taken from.
const LEAST: Duration = Duration::from_millis(2);
/// Both clocks are read so often, and the readings closest together are taken: a thread may lose its processor between.
const TRIES: usize = 8;
/// Comparisons in a row that may come to nothing before the rate is told as it is known.
const ATTEMPTS: usize = 16;
/// No call that takes fewer ticks is looked at again: a quarter of a minute at 4 GHz.
const LONG: u64 = 1 << 36;

static BEGUN: OnceLock<Instant> = OnceLock::new();
/// How long the machine had been asleep by then.
static SLEPT_BEFORE: OnceLock<Duration> = OnceLock::new();
static COUNTER: AtomicBool = AtomicBool::new(false);
static RATE: Mutex<Rate> = Mutex::new(Rate::UNKNOWN);
/// Nanoseconds a tick is as last found, the bits of an `f64`; 0 while nothing is.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// Chooses the clock. Everything that is timed is begun and ended after this.
pub fn begin() {
    BEGUN.get_or_init(|| {
        let now = Instant::now();
        // Readings without the counter are distances from this one.
        let _ = SINCE.get_or_init(|| now);
        let _ = SLEPT_BEFORE.get_or_init(asleep);
        COUNTER.store(runs_at_one_speed() && keeps_the_kernel_s_time(clock_source()), Ordering::Relaxed);
        lock(&RATE).take(read(now));
        now
    });
}

/// The present reading.
pub fn ticks() -> u64 {
    if is_counter() { Counter::ticks() } else { Monotonic::ticks() }
}

/// Whether ticks are the processor's counter.
pub fn is_counter() -> bool {
    COUNTER.load(Ordering::Relaxed)
}

/// A clock by itself: leaves are made for each, so that no call chooses.
pub trait Clock {
    /// The present reading.
    fn ticks() -> u64;

    /// Tells a reading from the one before on the same thread, though they be the same.
    fn distinct(now: u64, before: &AtomicU64) -> u64;
}

/// The processor's counter.
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn ticks() -> u64 {
        counter()
    }

    /// It counts faster than it can be read.
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

/// What lies between two readings: nothing where the clock went back, and never more than passed since [`begin`].
#[inline(always)]
pub fn between(start: u64, now: u64) -> u64 {
    // One that went back looks like a very long time.
    let took = now.wrapping_sub(start);
    if took < LONG { took } else { believable(start, now) }
}

/// Nanoseconds a tick is. May wait for milliseconds until something is known; not for threads of the host.
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

/// The counter jumped, or the call took long: it is believed as far as the monotonic clock allows.
#[cold]
fn believable(start: u64, now: u64) -> u64 {
    let took = now.saturating_sub(start);
    let Some(begun) = BEGUN.get() else { return 0 };
    let known = match KNOWN.load(Ordering::Relaxed) {
        _ if !is_counter() => 1.0,
        0 => super::rate::FASTEST,
        bits => f64::from_bits(bits),
    };
    let slept = asleep().saturating_sub(SLEPT_BEFORE.get().copied().unwrap_or_default());
    let passed = begun.elapsed().saturating_add(slept);
    took.min((passed.as_nanos() as f64 / known) as u64)
}

/// Both clocks now, by the closest of some readings.
fn read(begun: Instant) -> Both {
    let once = || {
        let slept = asleep();
        let before = ticks();
        let time = Instant::now();
        let after = ticks();
        let apart = after.saturating_sub(before);
        let ns = time.saturating_duration_since(begun).as_nanos() as u64;
        Both { ticks: before.saturating_add(apart / 2), ns, slept_ns: slept.as_nanos() as u64, apart }
    };
    let first = once();
    (1..TRIES).map(|_| once()).fold(first, |a, b| if b.apart < a.apart { b } else { a })
}

/// How long the machine has been suspended since it was started, as far as its clocks tell.
#[cfg(target_os = "linux")]
fn asleep() -> Duration {
    let read = |clock| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a clock's number and a place for its reading.
        let done = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
        done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    };
    let (awake, all) = (read(libc::CLOCK_MONOTONIC), read(libc::CLOCK_BOOTTIME));
    all.zip(awake).map_or(Duration::ZERO, |(all, awake)| all.saturating_sub(awake))
}

/// The monotonic clock of other systems goes on meanwhile, or nothing tells.
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

/// What the kernel keeps time by, where it says so.
fn clock_source() -> Option<String> {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_os = "linux").then(|| std::fs::read_to_string(FILE).ok()).flatten()
}

/// Whether the kernel relies on the counter: it looks after it all the time, and takes another clock when the counter goes
/// wrong, or differs between processors. A kernel that says nothing contradicts nothing.
fn keeps_the_kernel_s_time(clock_source: Option<String>) -> bool {
    clock_source.is_none_or(|name| name.trim() == "tsc")
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
    fn a_counter_that_jumps_makes_no_call_longer_than_all_the_time_there_was() {
        begin();
        let now = ticks();
        assert_eq!((between(now, now - 1), between(now, 0), between(u64::MAX, now)), (0, 0, 0), "back");
        assert_eq!(between(now, now + LONG - 1), LONG - 1, "it is not looked at twice");
        let most = BEGUN.get().map_or(0, |begun| (begun.elapsed() + asleep()).as_nanos() as u64);
        let jumped = between(now, u64::MAX) as f64 * ns_per_tick().min(1.0);
        // A second for what passes between the two readings of the clock.
        assert!(jumped <= (most + 1_000_000_000) as f64 / super::super::rate::FASTEST, "{jumped} of {most}");
    }

    #[test]
    fn a_counter_that_the_kernel_does_not_keep_time_by_is_not_trusted() {
        let source = |name: &str| keeps_the_kernel_s_time(Some(name.to_owned()));
        assert!(source("tsc\n") && keeps_the_kernel_s_time(None));
        assert!(!source("hpet\n") && !source("acpi_pm\n") && !source("kvm-clock\n"));
    }
}
