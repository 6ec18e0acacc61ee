//! Callers where the agent cannot identify them: a dial for them times the method without, and says why.
#![cfg(windows)]

use anyhow::{Result, ensure};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, ensure_messages};
use redial_testbed::{on_each_runtime, programs};

const ADD: &str = "counter!Counter.Add(int)";

fn times_without_callers_and_says_why(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("counter")?.command(runtime)?)?;
    live.redial("dial", &[ADD, "time", "--callers"])?.ok()?;
    live.host.ask("call 100", "called 100")?;

    let rows = live.rows(ADD)?;
    ensure!(rows.len() == 1 && rows[0]["calls"] == 100 && rows[0]["wanted"] == "time", "{rows:?}");
    let note = rows[0]["times_reason"].as_str().unwrap_or_default();
    ensure!(
        note.contains("timed without callers: the agent can count callers only on x86-64 Linux"),
        "{rows:?}"
    );
    let callers = live.redial("status", &[ADD, "--callers"])?;
    ensure!(callers.stdout.contains("timed without callers"), "{}", callers.output());
    ensure_messages(&callers, 0, &[])?;
    live.redial("off", &[])?.ok()?;
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

on_each_runtime!(times_without_callers_and_says_why);
