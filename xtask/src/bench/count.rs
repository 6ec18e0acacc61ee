//! Row `count`: what counting adds to one call of a method of about a nanosecond.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::meter::Meter;
use super::report::Row;

const THREADS: [u32; 2] = [1, 2];
const MILLIONS: u32 = 40;

/// Alternates original IL and count in one process, with one thread and with two.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    // Both sides use the one host, in turns.
    let meter = RefCell::new(Meter::start(bench, runtime)?);
    let mut rows = Vec::new();
    for threads in THREADS {
        let command = format!("calls {threads} {MILLIONS}");
        let pairs = bench.pairs(
            || {
                meter.borrow().off()?;
                meter.borrow_mut().measure(&command, "ns ")
            },
            || {
                meter.borrow().dial("count")?;
                meter.borrow_mut().measure(&command, "ns ")
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
