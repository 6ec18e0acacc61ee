//! Row `throughput`: a hot loop before a dial, with it, and after turning it off. Every pair has a process of its own:
//! a method that was dialled once is no longer one that never was.

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Limit, Pair, Row};

/// Chunks of a million calls a measurement; the best counts.
const CHUNKS: u32 = 100;
/// What a call may take after turning off, against before: that is 98 % of the throughput.
const AFTER: f64 = 1.02;

/// The hot loop of a callee that is never inlined, and of one that was inlined before the dial came.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (kind, callee) in [(PLAIN, "callee not inlined"), ("Inlined", "callee inlined before the dial")] {
        let (mut counted, mut after) = (Vec::new(), Vec::new());
        for _ in 0..bench.pairs {
            let mut meter = Meter::start(bench, runtime)?;
            let before = meter.nanoseconds(kind, 1, CHUNKS)?;
            meter.dial(kind, "count")?;
            counted.push(Pair { plain: before, dialled: meter.nanoseconds(kind, 1, CHUNKS)? });
            meter.off()?;
            after.push(Pair { plain: before, dialled: meter.nanoseconds(kind, 1, CHUNKS)? });
        }
        let row = |when: &str, pairs| {
            Row::of(format!("hot loop {when}, {callee}"), runtime.name(), "ns/call", pairs)
        };
        rows.push(row("with count", counted));
        rows.push(row("after count and off", after).at_most(Limit::Ratio(AFTER)));
    }
    Ok(rows)
}
