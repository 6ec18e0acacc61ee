//! Rows of `time`: what `--completions` adds to a call of an async method, one that never waits and one that always does:
//! its `MoveNext` is timed as well, a step each, and notes when the call begins and completes.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::Meter;
use super::report::Row;

/// The methods, and how many steps each takes.
const METHODS: [(&str, &str); 2] =
    [("AtOnce", "completes at once, 1 step"), ("Suspends", "waits once, 2 steps")];
/// Chunks of a hundred thousand calls a measurement.
const CHUNKS: u32 = 30;

/// Alternates time without and with completions in one process, method by method.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (method, how) in METHODS {
        let meter = RefCell::new(Meter::start(bench, runtime)?);
        let with = |options: &[&str]| {
            // The `MoveNext` has an order of its own, which would stay.
            meter.borrow().off()?;
            meter.borrow().dial_time_with(method, options)?;
            meter.borrow_mut().nanoseconds(method, 1, CHUNKS)
        };
        let pairs = bench.pairs(|| with(&[]), || with(&["--completions"]))?;
        let what = format!("an async call that {how}, with `--completions`, beside time without");
        rows.push(Row::of(what, runtime.name(), "ns/call", pairs));
    }
    Ok(rows)
}
