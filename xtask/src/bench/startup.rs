//! Row `startup`: what the agent and its startup flags add to a program from start to end, nothing dialled.

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

/// Variables that make the agent ask for other flags than its own choice, with a name for the table.
const FLAGS: &[(&str, &[(&str, &str)])] = &[("", &[]), (", --no-inlining", &[("REDIAL_NO_INLINING", "1")])];

/// A real program may take 5 % longer.
const SLOWER: f64 = 1.05;

/// Times a hello world everywhere, and the C# compiler, a real program of some seconds, where it runs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let hello = programs::named("hello")?;
    let mut rows = Vec::new();
    for (flags, variables) in FLAGS {
        let subject = format!("hello world{flags}");
        rows.push(row(bench, runtime, subject, variables, || hello.command(runtime))?);
    }
    if runtime == Runtime::V8_0 {
        let source = checkout().join("testbed/programs/hello.cs");
        let out = build::target_folder().join("bench-hello.dll");
        let compilation = Compilation::program("hello", vec![source]);
        for (flags, variables) in FLAGS {
            let subject = format!("C# compiler{flags}");
            let row = row(bench, runtime, subject, variables, || compilation.command(runtime, &out))?;
            // The other flags are asked for by the user, who knows that they slow the host.
            rows.push(if variables.is_empty() { row.at_most(Limit::Ratio(SLOWER)) } else { row });
        }
    }
    Ok(rows)
}

fn row(
    bench: &Bench,
    runtime: Runtime,
    subject: String,
    variables: &[(&str, &str)],
    start: impl Fn() -> Result<Command>,
) -> Result<Row> {
    // The first start reads everything from disk.
    timed(start()?)?;
    let pairs = bench.pairs(
        || Ok(timed(start()?)?.milliseconds),
        || {
            let mut command = start()?;
            host::load_agent_from(&mut command, bench.built.agent());
            command.envs(variables.iter().copied());
            Ok(timed(command)?.milliseconds)
        },
    )?;
    Ok(Row::of(subject, runtime.name(), "ms", pairs))
}
