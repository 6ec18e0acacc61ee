//! Row `count`: the cost of counting, added to a call of about a nanosecond, beside other ways to count calls.

use std::cell::RefCell;

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::{Meter, PLAIN};
use super::peers::{Frida, Hooked};
use super::report::{Limit, Pair, Row};

const THREADS: [u32; 2] = [1, 2];
/// Chunks of a million calls per measurement.
const CHUNKS: u32 = 60;
/// Chunks with Frida, whose calls take a hundred times as long.
const FRIDA_CHUNKS: u32 = 4;
/// Most nanoseconds that counting may add to a call, on .NET 5 and later.
const MOST: f64 = 1.0;
/// Most nanoseconds before .NET 5.
const MOST_BEFORE_5: f64 = 1.5;

/// Measures everything with one thread, then with two.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for threads in THREADS {
        let plural = if threads == 1 { "" } else { "s" };
        let row = |what: &str, pairs: Vec<Pair>| {
            Row::of(format!("{what}, {threads} thread{plural}"), runtime.name(), "ns/call", pairs)
        };
        // Both sides alternate in one host.
        let meter = RefCell::new(Meter::start(bench, runtime)?);
        let most = if runtime == Runtime::V8_0 { MOST } else { MOST_BEFORE_5 };
        rows.push(row("count", counted(bench, &meter, threads)?).at_most(Limit::Added(most)));
        meter.borrow().off()?;
        for (kind, what) in [
            ("ThreadStatic", "`[ThreadStatic]` counter in the C#"),
            ("Interlocked", "`Interlocked.Increment` in the C#"),
        ] {
            rows.push(row(what, written(bench, &meter, kind, threads)?));
        }
        for (exact, what) in [
            (false, "enter/leave hooks of the CLR, plain counter (loses calls)"),
            (true, "enter/leave hooks of the CLR, atomic counter"),
        ] {
            rows.push(row(what, hooked(bench, runtime, &meter, exact, threads)?));
        }
        let what = "Frida, one native probe";
        rows.push(match frida(bench, runtime, threads) {
            Ok(pairs) => row(what, pairs),
            Err(why) => Row::not_run(what, runtime.name(), &last_line(&why)),
        });
    }
    Ok(rows)
}

/// Returns the last line of a failed program's output.
fn last_line(why: &anyhow::Error) -> String {
    format!("{why:#}").lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

fn counted(bench: &Bench, meter: &RefCell<Meter>, threads: u32) -> Result<Vec<Pair>> {
    bench.pairs(
        || {
            meter.borrow().off()?;
            meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
        },
        || {
            meter.borrow().dial(PLAIN, "count")?;
            meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS)
        },
    )
}

fn written(bench: &Bench, meter: &RefCell<Meter>, kind: &str, threads: u32) -> Result<Vec<Pair>> {
    bench.pairs(
        || meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS),
        || meter.borrow_mut().nanoseconds(kind, threads, CHUNKS),
    )
}

fn hooked(
    bench: &Bench,
    runtime: Runtime,
    meter: &RefCell<Meter>,
    exact: bool,
    threads: u32,
) -> Result<Vec<Pair>> {
    let mut hooked = Hooked::start(bench, runtime, exact)?;
    let pairs = bench.pairs(
        || meter.borrow_mut().nanoseconds(PLAIN, threads, CHUNKS),
        || hooked.nanoseconds(threads, CHUNKS),
    )?;
    hooked.end()?;
    Ok(pairs)
}

fn frida(bench: &Bench, runtime: Runtime, threads: u32) -> Result<Vec<Pair>> {
    let frida = RefCell::new(Frida::start(bench, runtime)?);
    bench.pairs(
        || frida.borrow_mut().meter.nanoseconds(PLAIN, threads, CHUNKS),
        || {
            let mut frida = frida.borrow_mut();
            frida.attach()?;
            let measured = frida.meter.nanoseconds(PLAIN, threads, FRIDA_CHUNKS)?;
            frida.detach()?;
            Ok(measured)
        },
    )
}
