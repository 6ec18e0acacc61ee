//! Rows of `time`: the extra cost of an exception while a condition stands. The runtime then reports every exception to
//! the agent, and every frame that it searches or leaves.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Pair, Row};

/// The method that throws at each call.
const THROWS: &str = "Throws";
/// The same below twenty frames.
const DEEP: &str = "ThrowsDeep";
/// Chunks of two thousand exceptions per measurement.
const CHUNKS: u32 = 30;
const FAILED: &[&str] = &["--failed-only"];
/// Longer than any call.
const SLOW: &[&str] = &["--slower-than", "1s"];

/// Alternates time without and with a condition in one process. First the condition is on another method, which the throwing
/// thread calls now and then so that it has a timer; then on the method that throws.
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

/// Measures exceptions of `thrower` with `dialled` at time, without and with a condition.
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
