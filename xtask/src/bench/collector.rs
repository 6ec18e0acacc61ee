//! Row `collector`: duration of a collection while two threads hammer a dialled method.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Limit, Row};

/// Calls of `GC.Collect(0)` per measurement, one millisecond apart; their median counts.
const COLLECTIONS: u32 = 300;

/// Alternates original IL and each level in one process.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let meter = RefCell::new(Meter::start(bench, runtime)?);
    let mut rows = Vec::new();
    for level in ["count", "time", "trace"] {
        let pairs = bench.pairs(
            || {
                meter.borrow().off()?;
                meter.borrow_mut().collection(COLLECTIONS)
            },
            || {
                meter.borrow().dial(PLAIN, level)?;
                meter.borrow_mut().collection(COLLECTIONS)
            },
        )?;
        let row = Row::of(format!("GC.Collect(0) beside 2 threads, {level}"), runtime.name(), "µs", pairs);
        rows.push(row.at_most(Limit::Ratio(1.25)));
    }
    Ok(rows)
}
