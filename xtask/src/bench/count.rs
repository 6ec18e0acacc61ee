//! Row `count`: what counting adds to one call of a method of about a nanosecond.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::meter::Meter;
use super::report::Row;

const THREADS: [u32; 2] = [1, 2];
/// Chunks of a million calls a measurement; the best counts.
const CHUNKS: u32 = 60;

/// Alternates original IL and count in one process, with one thread and with two.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    // Both sides use the one host, in turns.
    let meter = RefCell::new(Meter::start(bench, runtime)?);
    let mut rows = Vec::new();
    for threads in THREADS {
        let pairs = bench.pairs(
            || {
                meter.borrow().off()?;
                meter.borrow_mut().nanoseconds(threads, CHUNKS)
            },
            || {
                meter.borrow().dial("count")?;
                meter.borrow_mut().nanoseconds(threads, CHUNKS)
            },
        )?;
        let plural = if threads == 1 { "" } else { "s" };
        rows.push(Row {
            subject: format!("count, {threads} thread{plural}"),
            runtime: runtime.name().to_owned(),
            unit: "ns/call",
            pairs,
        });
    }
    Ok(rows)
}
