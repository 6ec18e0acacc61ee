//! Row `startup`: what the agent, and each of its startup flags alone, add to a program from start to end, nothing
//! dialled.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::report::{Limit, Row};
use super::timed::timed;
use crate::build;
use crate::process::checkout;

/// A real program may take 5 % longer.
const SLOWER: f64 = 1.05;

/// What is in the program.
struct Loaded<'b> {
    /// Name for the table.
    name: &'static str,
    /// The profiler.
    library: &'b Path,
    /// Its environment.
    variable: Option<(&'static str, &'static str)>,
}

/// Flags of `COR_PRF_MONITOR` (corprof.idl), asked for by a profiler that does nothing at any event.
const FLAGS: &[(&str, &str)] = &[
    (", an empty profiler, no flags", "0"),
    (", an empty profiler, ENABLE_REJIT", "262144"),
    (", an empty profiler, MODULE, ASSEMBLY and APPDOMAIN_LOADS", "28"),
    (", an empty profiler, JIT_COMPILATION", "32"),
    (", an empty profiler, all of these", "262204"),
    (", an empty profiler, DISABLE_ALL_NGEN_IMAGES", "2147483648"),
];

/// Times a hello world everywhere, and the C# compiler, a real program of some seconds, where it runs.
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
        rows.push(row(bench, runtime, "hello world", loaded, || hello.command(runtime))?);
    }
    if runtime == Runtime::V8_0 {
        let source = checkout().join("testbed/programs/hello.cs");
        let out = build::target_folder().join("bench-hello.dll");
        let compilation = Compilation::program("hello", vec![source]);
        for loaded in &all {
            let row = row(bench, runtime, "C# compiler", loaded, || compilation.command(runtime, &out))?;
            // The other flags are asked for by the user, who knows that they slow the host, or by nobody.
            rows.push(if loaded.name.is_empty() { row.at_most(Limit::Ratio(SLOWER)) } else { row });
        }
    }
    Ok(rows)
}

fn row(
    bench: &Bench,
    runtime: Runtime,
    program: &str,
    loaded: &Loaded<'_>,
    start: impl Fn() -> Result<Command>,
) -> Result<Row> {
    // The first start reads everything from disk.
    timed(start()?)?;
    let pairs = bench.pairs(
        || Ok(timed(start()?)?.milliseconds),
        || {
            let mut command = start()?;
            host::load_agent_from(&mut command, loaded.library);
            command.envs(loaded.variable);
            Ok(timed(command)?.milliseconds)
        },
    )?;
    Ok(Row::of(format!("{program}{}", loaded.name), runtime.name(), "ms", pairs))
}
