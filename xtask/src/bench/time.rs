//! Row `time`: the cost of timing, added to a call of about a nanosecond, beside two bare readings of the processor's
//! counter and beside a program that times itself. Then the level's options: `thrown`, `awaited`.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Limit, Row};
use super::{awaited, thrown};

const THREADS: [u32; 2] = [1, 2];
/// Chunks of a million calls per measurement.
const CHUNKS: u32 = 30;
/// Most nanoseconds that timing may add to two bare readings.
const MOST_BESIDES: f64 = 3.0;
/// Pairs of bare readings in one measurement, and measurements of which the best is taken.
const READINGS: u32 = 20_000;
const MEASUREMENTS: u32 = 500;

/// Alternates original IL and time in one process, with one thread, then with two.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let bare = two_readings();
    let mut rows = Vec::new();
    for threads in THREADS {
        let plural = if threads == 1 { "" } else { "s" };
        let meter = RefCell::new(Meter::start(bench, runtime)?);
        let pairs = bench.pairs(
            || {
                meter.borrow().off()?;
                meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
            },
            || {
                meter.borrow().dial(PLAIN, "time")?;
                meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
            },
        )?;
        let what = format!("time, {threads} thread{plural} (two bare readings: {bare:.1} ns)");
        let limit = Limit::Added(((bare + MOST_BESIDES) * 10.0).round() / 10.0);
        rows.push(Row::of(what, runtime.name(), "ns/call", pairs).at_most(limit));
        let called = bench.pairs(
            || {
                meter.borrow().dial(PLAIN, "time")?;
                meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
            },
            || {
                meter.borrow().dial_time_with(PLAIN, &["--callers"])?;
                meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
            },
        )?;
        let what = format!("time with callers, {threads} thread{plural}, beside time without");
        rows.push(Row::of(what, runtime.name(), "ns/call", called));
        meter.borrow().off()?;
        let written = bench.pairs(
            || meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS),
            || meter.borrow_mut().nanoseconds("Stopwatched", threads, CHUNKS),
        )?;
        let what = format!("`Stopwatch` and `Interlocked.Add` in the C#, {threads} thread{plural}");
        rows.push(Row::of(what, runtime.name(), "ns/call", written));
    }
    rows.extend(thrown::measure(bench, runtime)?);
    rows.extend(awaited::measure(bench, runtime)?);
    Ok(rows)
}

/// Returns the nanoseconds of two readings of the counter.
#[cfg(target_arch = "x86_64")]
fn two_readings() -> f64 {
    let once = || {
        let begin = Instant::now();
        let mut sum = 0_u64;
        for _ in 0..READINGS {
            // SAFETY: every x86-64 processor has the instruction.
            let took = unsafe {
                let first = core::arch::x86_64::_rdtsc();
                core::arch::x86_64::_rdtsc().wrapping_sub(first)
            };
            sum = sum.wrapping_add(took);
        }
        std::hint::black_box(sum);
        begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
    };
    (0..MEASUREMENTS).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Returns the nanoseconds of two readings of the system's clock, on machines without the counter.
#[cfg(not(target_arch = "x86_64"))]
fn two_readings() -> f64 {
    let begin = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box((Instant::now(), Instant::now()));
    }
    let _ = MEASUREMENTS;
    begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
}
