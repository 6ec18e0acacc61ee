//! Row `throughput`: a hot loop before a dial, with it, and after turning it off. Every pair has a process of its own,
//! since a method once dialled no longer counts as untouched.

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::report::{Limit, Pair, Row};

/// Chunks of a million calls per measurement; the best counts.
const CHUNKS: u32 = 100;
/// Measurements before a process counts as warm. In the first one some chunks take five cycles per call and later ones six
/// (8.0, AMD EPYC), with or without dial and agent.
const WARM: u32 = 2;
/// Allowed time per call after turning off, against before: 98 % of the throughput.
const AFTER: f64 = 1.02;

/// Measures a callee that is never inlined, and one that was inlined before the dial; with the agent from the start and,
/// where the runtime allows it, attached to the hot process.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (kind, callee) in [(PLAIN, "callee not inlined"), ("Inlined", "callee inlined before the dial")] {
        rows.push(undialled(bench, runtime, kind, callee)?);
        rows.extend(from_the_start(bench, runtime, kind, callee)?);
        if runtime != Runtime::V2_1 {
            rows.extend(attached(bench, runtime, kind, callee)?);
        }
    }
    Ok(rows)
}

/// Returns the time per call of a warm process.
fn warm(meter: &mut Meter, kind: &str) -> Result<f64> {
    for _ in 1..WARM {
        meter.nanoseconds(kind, 1, CHUNKS)?;
    }
    meter.nanoseconds(kind, 1, CHUNKS)
}

/// The control: the same loop, measured again as often and as late as the others, with nothing dialled.
fn undialled(bench: &Bench, runtime: Runtime, kind: &str, callee: &str) -> Result<Row> {
    let mut pairs = Vec::new();
    for _ in 0..bench.pairs {
        let mut meter = Meter::start(bench, runtime)?;
        let before = warm(&mut meter, kind)?;
        meter.nanoseconds(kind, 1, CHUNKS)?;
        pairs.push(Pair { plain: before, dialled: meter.nanoseconds(kind, 1, CHUNKS)? });
    }
    Ok(Row::of(format!("hot loop measured again, never dialled, {callee}"), runtime.name(), "ns/call", pairs))
}

fn from_the_start(bench: &Bench, runtime: Runtime, kind: &str, callee: &str) -> Result<[Row; 2]> {
    let turned = turned(bench, kind, || {
        let mut meter = Meter::start(bench, runtime)?;
        let before = warm(&mut meter, kind)?;
        Ok((meter, before))
    })?;
    let row =
        |when: &str, pairs| Row::of(format!("hot loop {when}, {callee}"), runtime.name(), "ns/call", pairs);
    let [counted, after] = turned;
    Ok([row("with count", counted), row("after count and off", after).at_most(Limit::Ratio(AFTER))])
}

/// Compares with the same process before the attach.
fn attached(bench: &Bench, runtime: Runtime, kind: &str, callee: &str) -> Result<[Row; 2]> {
    let turned = turned(bench, kind, || {
        let mut meter = Meter::start_with(bench, runtime, |_| {})?;
        let before = warm(&mut meter, kind)?;
        meter.attach()?;
        Ok((meter, before))
    })?;
    let row = |when: &str, pairs| {
        Row::of(format!("hot loop after attach{when}, {callee}"), runtime.name(), "ns/call", pairs)
    };
    let [counted, after] = turned;
    Ok([row(" and count", counted), row(", count and off", after).at_most(Limit::Ratio(AFTER))])
}

/// Measures with the callee counted, and turned off again, each against `start`.
fn turned<'b>(
    bench: &Bench,
    kind: &str,
    mut start: impl FnMut() -> Result<(Meter<'b>, f64)>,
) -> Result<[Vec<Pair>; 2]> {
    let (mut counted, mut after) = (Vec::new(), Vec::new());
    for _ in 0..bench.pairs {
        let (mut meter, before) = start()?;
        meter.dial(kind, "count")?;
        counted.push(Pair { plain: before, dialled: meter.nanoseconds(kind, 1, CHUNKS)? });
        meter.off()?;
        after.push(Pair { plain: before, dialled: meter.nanoseconds(kind, 1, CHUNKS)? });
    }
    Ok([counted, after])
}
