//! Row `startup`: the cost of the agent, and of each startup flag alone, for a program from start to end without dials.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::report::{Limit, Pair, Row};
use super::timed::{Timed, timed};
use crate::build;
use crate::process::checkout;

/// Allowed slowdown of a real program: 5 %.
const SLOWER: f64 = 1.05;

/// A profiler set-up to measure.
struct Loaded<'b> {
    /// Name for the table.
    name: &'static str,
    /// The profiler.
    library: &'b Path,
    /// Its environment.
    variable: Option<(&'static str, &'static str)>,
}

/// The agent's flags, for a profiler that does nothing.
pub const ALL_FLAGS: (&str, &str) = ("BENCH_MASK", "262204");

/// Flags of `COR_PRF_MONITOR` (corprof.idl) for a profiler that does nothing at any event.
const FLAGS: &[(&str, &str)] = &[
    (", an empty profiler, no flags", "0"),
    (", an empty profiler, ENABLE_REJIT", "262144"),
    (", an empty profiler, MODULE, ASSEMBLY and APPDOMAIN_LOADS", "28"),
    (", an empty profiler, JIT_COMPILATION", "32"),
    (", an empty profiler, all of these", ALL_FLAGS.1),
    (", an empty profiler, DISABLE_ALL_NGEN_IMAGES", "2147483648"),
];

/// Times hello world everywhere, and the C# compiler, a real program of some seconds, where it runs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let empty = build::bench_hooks()?;
    let agent = |name, variable| Loaded { name, library: bench.built.agent(), variable };
    let mut all = vec![agent("", None), agent(", --no-inlining", Some(("REDIAL_NO_INLINING", "1")))];
    all.extend(FLAGS.iter().map(|(name, mask)| Loaded {
        name,
        library: &empty,
        variable: Some(("BENCH_MASK", mask)),
    }));

    let hello = programs::named("hello")?;
    let mut rows = Vec::new();
    for loaded in &all {
        rows.extend(measured(bench, runtime, "hello world", loaded, || hello.command(runtime))?);
    }
    if runtime == Runtime::V8_0 {
        let source = checkout().join("testbed/programs/hello.cs");
        let out = build::target_folder().join("bench-hello.dll");
        let compilation = Compilation::program("hello", vec![source]);
        for loaded in &all {
            let both =
                measured(bench, runtime, "C# compiler", loaded, || compilation.command(runtime, &out))?;
            // Only users who accept a slower host request the other flags.
            let limit = if loaded.name.is_empty() { Limit::Ratio(SLOWER) } else { Limit::None };
            rows.extend(both.map(|row| row.at_most(limit)));
        }
    }
    Ok(rows)
}

/// Returns a row of elapsed time and one of processor time, which other programs disturb less.
fn measured(
    bench: &Bench,
    runtime: Runtime,
    program: &str,
    loaded: &Loaded<'_>,
    start: impl Fn() -> Result<Command>,
) -> Result<[Row; 2]> {
    // Warm-up: the first start reads everything from disk.
    timed(start()?)?;
    let processor = RefCell::new((Vec::new(), Vec::new()));
    let pairs = bench.pairs(
        || {
            let Timed { milliseconds, processor: busy, .. } = timed(start()?)?;
            processor.borrow_mut().0.push(busy);
            Ok(milliseconds)
        },
        || {
            let mut command = start()?;
            host::load_agent_from(&mut command, loaded.library);
            command.envs(loaded.variable);
            let Timed { milliseconds, processor: busy, .. } = timed(command)?;
            processor.borrow_mut().1.push(busy);
            Ok(milliseconds)
        },
    )?;
    let (plain, dialled) = processor.into_inner();
    let busy = plain.into_iter().zip(dialled).map(|(plain, dialled)| Pair { plain, dialled }).collect();
    let subject = format!("{program}{}", loaded.name);
    Ok([
        Row::of(subject.clone(), runtime.name(), "ms", pairs),
        Row::of(subject, runtime.name(), "ms of processor time", busy),
    ])
}
