//! Rows `trace` and `trace-each`: the cost of a captured call, added to a call of about a nanosecond, beside LTTng and
//! EventPipe.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::meter::{MAX_RATE, Meter};
use super::report::{Limit, Row};
use super::trace_peers;

const THREADS: [u32; 2] = [1, 2];
/// Bursts of 500 calls per measurement.
const BURSTS: u32 = 100;
/// Single calls per measurement.
const CALLS: u32 = 50_000;

/// Methods, what they capture, and the most nanoseconds that this may add.
const KINDS: [(&str, &str, Limit); 3] = [
    ("Numbers", "three numbers and a result", Limit::Added(40.0)),
    ("Texts", "two strings of 64 characters and a result", Limit::Added(120.0)),
    ("Objects", "an object of five fields and a result", Limit::None),
];

/// Methods, conditions that are false for each of their calls, and the most nanoseconds that these may add to level time.
const CONDITIONS: [(&str, &str, &str, Limit); 4] = [
    ("Numbers", "c > 1.0 && a != 7", "numbers", Limit::Added(5.0)),
    ("Numbers", "a + 1 < 0", "a sum of numbers", Limit::None),
    ("Texts", "a == 'nothing'", "a string", Limit::None),
    ("Objects", "of.Id == -1", "a field", Limit::None),
];

/// Alternates original IL and trace in one process, with one thread, then with two. Every call is captured.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for threads in THREADS {
        for (kind, captured, limit) in KINDS {
            let meter = RefCell::new(start(bench, runtime)?);
            let pairs = bench.pairs(
                || {
                    meter.borrow().off()?;
                    meter.borrow_mut().burst(kind, threads, BURSTS)
                },
                || {
                    meter.borrow().trace(kind)?;
                    let measured = meter.borrow_mut().burst(kind, threads, BURSTS)?;
                    meter.borrow().ensure_captured(kind)?;
                    Ok(measured)
                },
            )?;
            let plural = if threads == 1 { "" } else { "s" };
            let what = format!("trace of {captured}, {threads} thread{plural}");
            rows.push(Row::of(what, runtime.name(), "ns/call", pairs).at_most(limit));
        }
        rows.extend(trace_peers::measure(bench, runtime, threads, BURSTS)?);
        rows.extend(conditions(bench, runtime, threads)?);
    }
    Ok(rows)
}

/// Alternates time, and trace with a condition that is never true.
fn conditions(bench: &Bench, runtime: Runtime, threads: u32) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (kind, condition, over, limit) in CONDITIONS {
        let meter = RefCell::new(start(bench, runtime)?);
        let pairs = bench.pairs(
            || {
                meter.borrow().dial(kind, "time")?;
                meter.borrow_mut().burst(kind, threads, BURSTS)
            },
            || {
                meter.borrow().trace_when(kind, condition)?;
                meter.borrow_mut().burst(kind, threads, BURSTS)
            },
        )?;
        let plural = if threads == 1 { "" } else { "s" };
        let what = format!("trace with a false condition on {over}, beside time, {threads} thread{plural}");
        rows.push(Row::of(what, runtime.name(), "ns/call", pairs).at_most(limit));
    }
    Ok(rows)
}

/// Measures single calls beside a thread that collects garbage, undialled and traced.
pub fn measure_each(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for runtime in &bench.runtimes {
        for (kind, captured, _) in KINDS {
            let mut meter = start(bench, *runtime)?;
            let name = runtime.name();
            let mut add = |what: &str, measured: &[f64]| {
                let what = format!("{what} beside collections, {name}");
                figures.push(Figure::of(&what, "ns", measured, Target::None));
            };
            add(&format!("a call with {captured}, undialled,"), &meter.each(kind, CALLS)?);
            meter.trace(kind)?;
            add("the same traced,", &meter.each(kind, CALLS)?);
            meter.ensure_captured(kind)?;
        }
    }
    Ok(figures)
}

fn start(bench: &Bench, runtime: Runtime) -> Result<Meter<'_>> {
    Meter::start_with(bench, runtime, |command| {
        host::load_agent_from(command, bench.built.agent());
        command.env("REDIAL_MAX_EVENTS", MAX_RATE.to_string());
    })
}
