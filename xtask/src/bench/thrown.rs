//! Rows of `time`: what an exception costs more, thrown and caught, while a condition stands: the runtime tells the agent
//! of every one then, whoever throws, and of every frame that it searches or leaves.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Pair, Row};

/// Throws at each call.
const THROWS: &str = "Throws";
/// The same from below twenty frames.
const DEEP: &str = "ThrowsDeep";
/// Chunks of two thousand exceptions a measurement.
const CHUNKS: u32 = 30;
const FAILED: &[&str] = &["--failed-only"];
/// No call is so long.
const SLOW: &[&str] = &["--slower-than", "1s"];

/// Alternates time without and with a condition in one process: of another method that the throwing thread calls now and
/// then, by which it is a thread of timed calls; then of the method that throws.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let row = |what: &str, pairs: Vec<Pair>| {
        let what = format!("{what}, beside time without");
        Row::of(what, runtime.name(), "ns/exception", pairs)
    };
    let beside = |thrower, dialled, condition| beside(bench, runtime, thrower, dialled, condition);
    Ok(vec![
        row("an exception beside `--failed-only` of another method", beside(THROWS, PLAIN, FAILED)?),
        row("an exception beside `--slower-than` of another method", beside(THROWS, PLAIN, SLOW)?),
        row("one through 20 frames beside `--failed-only` of another method", beside(DEEP, PLAIN, FAILED)?),
        row("an exception of a method with `--failed-only`", beside(THROWS, THROWS, FAILED)?),
    ])
}

/// What `thrower` throws, with `dialled` at time, without and with a condition.
fn beside(
    bench: &Bench,
    runtime: Runtime,
    thrower: &str,
    dialled: &str,
    condition: &[&str],
) -> Result<Vec<Pair>> {
    let meter = RefCell::new(Meter::start(bench, runtime)?);
    let with = |options: &[&str]| {
        meter.borrow().dial_time_with(dialled, options)?;
        meter.borrow_mut().nanoseconds(thrower, 1, CHUNKS)
    };
    bench.pairs(|| with(&[]), || with(condition))
}
