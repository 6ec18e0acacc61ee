//! Row `startup`: what the agent and its startup flags add to a program from start to end, nothing dialled.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::report::Row;
use crate::build;
use crate::process::checkout;

/// Variables that make the agent ask for other flags than its own choice, with a name for the table.
const FLAGS: &[(&str, &[(&str, &str)])] = &[("", &[]), (", --no-inlining", &[("REDIAL_NO_INLINING", "1")])];

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
            rows.push(row(bench, runtime, subject, variables, || compilation.command(runtime, &out))?);
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
    time(start()?)?;
    let pairs = bench.pairs(
        || time(start()?),
        || {
            let mut command = start()?;
            host::load_agent_from(&mut command, bench.built.agent());
            command.envs(variables.iter().copied());
            time(command)
        },
    )?;
    Ok(Row { subject, runtime: runtime.name().to_owned(), unit: "ms", pairs })
}

/// Milliseconds from start to end.
fn time(mut command: Command) -> Result<f64> {
    let begin = Instant::now();
    let output = command.output()?;
    let took = begin.elapsed().as_secs_f64() * 1000.0;
    if !output.status.success() {
        bail!("the program ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(took)
}
