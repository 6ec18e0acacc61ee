//! Rows of `time`: what an exception costs more, thrown and caught, while a condition stands: the runtime tells the agent
//! of every one then, whoever throws.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Pair, Row};

/// Throws at each call.
const THROWS: &str = "Throws";
/// Chunks of two thousand exceptions a measurement.
const CHUNKS: u32 = 30;
/// Conditions; no call of [`PLAIN`] meets one.
const CONDITIONS: [(&[&str], &str); 2] =
    [(&["--failed-only"], "--failed-only"), (&["--slower-than", "1s"], "--slower-than")];

/// Alternates time without and with a condition in one process: of another method that the throwing thread calls now and
/// then, by which it is a thread of timed calls; then of the method that throws.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (options, name) in CONDITIONS {
        let what = format!("an exception beside `{name}` of another method, beside time without");
        rows.push(Row::of(what, runtime.name(), "ns/exception", beside(bench, runtime, PLAIN, options)?));
    }
    let what = "an exception of a method with `--failed-only`, beside time without";
    let own = beside(bench, runtime, THROWS, &["--failed-only"])?;
    rows.push(Row::of(what, runtime.name(), "ns/exception", own));
    Ok(rows)
}

/// With `dialled` at time, without and with a condition.
fn beside(bench: &Bench, runtime: Runtime, dialled: &str, condition: &[&str]) -> Result<Vec<Pair>> {
    let meter = RefCell::new(Meter::start(bench, runtime)?);
    let with = |options: &[&str]| {
        meter.borrow().dial_time_with(dialled, options)?;
        meter.borrow_mut().nanoseconds(THROWS, 1, CHUNKS)
    };
    bench.pairs(|| with(&[]), || with(condition))
}
