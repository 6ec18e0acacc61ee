//! Row `startup`: what the agent and its startup flags add to start and end of a program, nothing dialled.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use redial_testbed::host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::report::Row;

/// Times a hello world everywhere, and the C# compiler, a real program, where it runs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let hello = programs::named("hello")?;
    let mut rows = vec![row(bench, runtime, "start-up, hello world", || hello.command(runtime))?];
    if runtime == Runtime::V8_0 {
        let compiler = Runtime::SDK_3_1.ensure()?.root().join("sdk/3.1.102/Roslyn/bincore/csc.dll");
        rows.push(row(bench, runtime, "start-up, C# compiler", || {
            let mut command = runtime.command(&compiler);
            command.arg("-help");
            Ok(command)
        })?);
    }
    Ok(rows)
}

fn row(bench: &Bench, runtime: Runtime, subject: &str, start: impl Fn() -> Result<Command>) -> Result<Row> {
    // The first start reads everything from disk.
    time(start()?)?;
    let pairs = bench.pairs(
        || time(start()?),
        || {
            let mut command = start()?;
            host::load_agent_from(&mut command, bench.built.agent());
            time(command)
        },
    )?;
    Ok(Row { subject: subject.to_owned(), runtime: runtime.name().to_owned(), unit: "ms", pairs })
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
