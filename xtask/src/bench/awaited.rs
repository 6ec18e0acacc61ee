//! Rows of `time`: the cost of `--completions` for an async method that never waits and for one that always does. Its
//! `MoveNext` is timed as well, step by step, and notes when the call begins and completes.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::Meter;
use super::report::Row;

/// The methods, each with its number of steps.
const METHODS: [(&str, &str); 2] =
    [("AtOnce", "completes at once, 1 step"), ("Suspends", "waits once, 2 steps")];
/// Chunks of a hundred thousand calls per measurement.
const CHUNKS: u32 = 30;

/// Alternates time without and with completions in one process, method by method.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (method, how) in METHODS {
        let meter = RefCell::new(Meter::start(bench, runtime)?);
        let with = |options: &[&str]| {
            // `MoveNext` has an order of its own, which would otherwise stay.
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
