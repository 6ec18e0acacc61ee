//! Ends of a host, with dials on and calls in flight: the same exit status as without the agent, a written
//! report, and notified watchers.

use std::fs;
use std::process::{Command, ExitStatus};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_testbed::controller::Lifetime;
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::ReportFile;
#[cfg(unix)]
use redial_testbed::signals;
use redial_testbed::under_agent::{self, ensure_messages};
use redial_testbed::{on_each_runtime, programs, soak};

on_each_runtime!(
    exit_status_is_the_same_as_without_agent,
    output_is_the_same_at_every_end,
    launcher_passes_on_every_exit_status,
    reports_unmatched_dials_at_the_end,
    reports_mistyped_dials_while_the_program_runs,
    ends_during_changes,
    ends_while_threads_compile,
    watchers_and_holders_end_with_the_host
);
// Windows has no SIGTERM.
#[cfg(unix)]
on_each_runtime!(launcher_waits_for_a_program_that_does_not_end);

/// Commands for Shop, one for each way to end.
const ENDS: [&str; 4] = ["exit 7", "quit 9", "failfast", "throw"];

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "4"]);
    // Aborting ends write no core files.
    command.env("COMPlus_DbgEnableMiniDump", "0");
    Ok(command)
}

/// Ends a host while its threads work.
fn end(mut host: Host, word: &str) -> Result<Outcome> {
    host.ask("loop on", "looping")?;
    host.ask("loop wait 20", "looped")?;
    if word.is_empty() {
        host.close_input();
    } else {
        host.say(word)?;
    }
    host.finish()
}

/// Returns the exit status without an agent.
fn end_without_agent(runtime: Runtime, word: &str) -> Result<Outcome> {
    let mut host = Host::start(shop(runtime)?)?;
    host.wait_for("ready")?;
    end(host, word)
}

fn exit_status_is_the_same_as_without_agent(runtime: Runtime) -> Result<()> {
    for word in ENDS.iter().chain(&[""]) {
        let expected = end_without_agent(runtime, word)?;
        let live = under_agent::start(shop(runtime)?)?;
        let mut controller = live.controller()?;
        controller.subscribe(None)?;
        controller.dial("Shop!*", Level::Count, Lifetime::Kept)?;
        let outcome = end(live.host, word)?;
        ensure!(outcome.status == expected.status, "{word:?}: {}\n{}", outcome.status, outcome.output());
        // Only the end of the connection reveals an abort.
        controller.wait_for_end().with_context(|| format!("after {word:?}"))?;
    }
    Ok(())
}

/// Output and report are the same too, every time: `return`, `Environment.Exit`, `FailFast`, an unhandled
/// exception and SIGTERM, with every method of the program dialled.
fn output_is_the_same_at_every_end(runtime: Runtime) -> Result<()> {
    for word in ENDS.iter().chain(OTHER_ENDS) {
        let mut host = Host::start(shop(runtime)?)?;
        let pid: u32 = host.wait_for("ready")?.parse()?;
        let expected = normalized_output(&end_by(host, pid, word)?, pid);
        let complains = ["failfast", "throw"].contains(word);
        ensure!(expected.2.contains("on request") == complains, "{word:?}: {expected:#?}");
        for time in 0..soak::scaled(2, 84) {
            let live = under_agent::start(shop(runtime)?)?;
            let mut controller = live.controller()?;
            let report = controller.dial("Shop!*", Level::Count, Lifetime::Kept)?;
            ensure!(report.accepted > 100, "{report:?}");
            let found = normalized_output(&end_by(live.host, live.pid, word)?, live.pid);
            ensure!(found == expected, "{word:?}, time {time}: {found:#?}, not {expected:#?}");
        }
    }
    Ok(())
}

/// Stands for SIGTERM, which is not a command to the program.
const TERMINATE: &str = "SIGTERM";
/// Ends without a command: the end of the input, and SIGTERM where there are signals.
const OTHER_ENDS: &[&str] = if cfg!(unix) { &["", TERMINATE] } else { &[""] };

/// Returns the exit code of `FailFast` or of an unhandled exception.
#[cfg(unix)]
fn abort_code(_runtime: Runtime, _word: &str) -> Result<i32> {
    Ok(128 + libc::SIGABRT)
}

/// Like the Unix version. Each runtime has its own codes.
#[cfg(windows)]
fn abort_code(runtime: Runtime, word: &str) -> Result<i32> {
    let code = end_without_agent(runtime, word)?.code()?;
    ensure!(code < 0, "{word} is no abort: {code:#x}");
    Ok(code)
}

#[cfg(windows)]
fn end_by(host: Host, _pid: u32, word: &str) -> Result<Outcome> {
    end(host, word)
}

#[cfg(unix)]
fn end_by(mut host: Host, pid: u32, word: &str) -> Result<Outcome> {
    if word != TERMINATE {
        return end(host, word);
    }
    host.ask("loop on", "looping")?;
    host.ask("loop wait 20", "looped")?;
    signals::send(pid, libc::SIGTERM)?;
    host.finish()
}

/// The launcher passes on every SIGTERM and stays until the program ends, so no process is left behind.
#[cfg(unix)]
fn launcher_waits_for_a_program_that_does_not_end(runtime: Runtime) -> Result<()> {
    let mut launcher = Host::start(host::redial_run(&[], &programs::named("stays")?.command(runtime)?)?)?;
    let program: u32 = launcher.wait_for("ready")?.parse()?;
    signals::send(launcher.pid(), libc::SIGTERM)?;
    launcher.wait_for("stays")?;
    signals::send(launcher.pid(), libc::SIGTERM)?;
    ensure!(launcher.is_running()?, "it left its program behind");
    signals::send(program, libc::SIGKILL)?;
    let outcome = launcher.finish()?;
    ensure!(outcome.code()? == 128 + libc::SIGKILL, "{}", outcome.output());
    Ok(())
}

/// Returns the exit status and the output, without process id and number of rounds.
fn normalized_output(outcome: &Outcome, pid: u32) -> (ExitStatus, String, String) {
    let ready = format!("ready {pid}");
    let lines = outcome.stdout.lines().filter(|line| *line != ready && !line.starts_with("looped "));
    (outcome.status, lines.collect::<Vec<_>>().join("\n"), outcome.stderr.clone())
}

fn launcher_passes_on_every_exit_status(runtime: Runtime) -> Result<()> {
    let report = std::env::temp_dir().join(format!("redial-exits-{}-{}", std::process::id(), runtime.name()));
    let path = report.to_str().context("the temporary folder's name is text")?;
    for (word, code) in ENDS.iter().zip([Some(7), Some(9), None, None]) {
        // After an abort there are no last numbers, and the report says so.
        let orderly = code.is_some();
        let code = code.map_or_else(|| abort_code(runtime, word), Ok)?;
        let mut tries = 0;
        loop {
            let run = host::redial_run(&["--dial", "Shop!*=count", "--report", path], &shop(runtime)?)?;
            let live = under_agent::start_prepared(run)?;
            let outcome = end(live.host, word)?;
            ensure!(outcome.code()? == code, "{word:?}: {}\n{}", outcome.status, outcome.output());
            let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
            fs::remove_file(&report)?;
            ensure!(written["exit_code"] == code, "{word:?}: {written}");
            ensure!(
                written["complete"] == orderly && written["note"].is_null() == orderly,
                "{word:?}: {written}"
            );
            // The abort may come before the launcher has found the agent; then the test tries again.
            let too_soon = |note: &str| note.ends_with("ended before its agent could be reached");
            tries += 1;
            if written["note"].as_str().is_some_and(too_soon) && tries < 20 {
                continue;
            }
            ensure!(written["status"].as_array().is_some_and(|rows| rows.len() > 20), "{word:?}: {written}");
            break;
        }
    }
    Ok(())
}

/// After every kind of end; after an orderly one with suggestions.
fn reports_unmatched_dials_at_the_end(runtime: Runtime) -> Result<()> {
    let report = ReportFile::new("unmatched")?;
    let dials =
        ["Shop!Shop.Cart.Ad=count", "Shop!Shop.Cart.*=count", "Shop!Shop.Order.*=off domain=Elsewhere"];
    let options: Vec<&str> = dials.iter().flat_map(|dial| ["--dial", dial]).collect();
    let misspelt = format!("redial: --dial '{}' matched nothing", dials[0]);
    let elsewhere = format!("redial: --dial '{}' matched nothing", dials[2]);
    for (word, code, suggestion) in [
        ("exit 7", 7, "; did you mean 'Shop!Shop.Cart.Add', "),
        ("failfast", abort_code(runtime, "failfast")?, ""),
    ] {
        let run = host::redial_run(&[&options[..], &["--report", report.path()]].concat(), &shop(runtime)?)?;
        let outcome = end(under_agent::start_prepared(run)?.host, word)?;
        ensure!(outcome.code()? == code, "{word}: {}", outcome.output());
        let said: Vec<&str> = outcome.stderr.lines().filter(|line| is_final_message(line)).collect();
        let [first, second] = said[..] else { anyhow::bail!("not two sentences: {}", outcome.output()) };
        ensure!(
            first.starts_with(&format!("{misspelt}{suggestion}")) && second == elsewhere,
            "{}",
            outcome.output()
        );
        let unmatched = report.read()?["unmatched"].clone();
        ensure!(unmatched[0]["dial"] == dials[0] && unmatched[1]["dial"] == dials[2], "{unmatched}");
        ensure!(unmatched.as_array().map(Vec::len) == Some(2), "{unmatched}");
        let suggestions = unmatched[0]["suggestions"].as_array().map_or(0, Vec::len);
        ensure!((suggestions > 0) != suggestion.is_empty(), "{unmatched}");
    }
    // No report for a dial that matched, or for a program without the agent.
    let run = host::redial_run(&["--dial", dials[1]], &shop(runtime)?)?;
    ensure_messages(&end(under_agent::start_prepared(run)?.host, "exit 0")?, 0, &[])?;
    let mut other = host::redial(&["run", "--dial", dials[0], "--"])?;
    other.args(if cfg!(windows) { &["cmd", "/c", "exit"][..] } else { &["true"] });
    let outcome = host::run(other)?;
    ensure_messages(&outcome, 0, &["never loaded the agent"])?;
    ensure!(outcome.stderr.lines().count() == 1, "{}", outcome.output());
    Ok(())
}

/// Returns whether a line is a sentence of the launcher, except those printed while the program ran.
fn is_final_message(line: &str) -> bool {
    line.starts_with("redial: ") && !line.contains(" matched nothing at startup")
}

/// Reported long before the end, with suggestions. Methods of a module that loads later match then.
fn reports_mistyped_dials_while_the_program_runs(runtime: Runtime) -> Result<()> {
    let dials = ["Shop!Shop.Crat.*=count", "Shop!Shop.Order.*=count", "Plugin!Plugin.Tax.*=count"];
    let options: Vec<&str> = dials.iter().flat_map(|dial| ["--dial", dial]).collect();
    let run = host::redial_run(&options, &shop(runtime)?)?;
    let mut host = Host::start_with_merged_output(run)?;
    host.wait_for("ready")?;
    let so_far = |dial| {
        format!(
            "redial: --dial '{dial}' matched nothing at startup but still applies to code that loads later"
        )
    };
    let suggestion = host.wait_for(&so_far(dials[0]))?;
    ensure!(suggestion.starts_with("; did you mean 'Shop!Shop.Cart.*'"), "{suggestion}");
    host.wait_for(&so_far(dials[2]))?;
    host.ask("load-plugin", "plugin")?;
    host.say("exit 0")?;
    let outcome = host.finish()?.ok()?;
    let last: Vec<&str> = outcome.stdout.lines().filter(|line| is_final_message(line)).collect();
    let [last] = last[..] else { anyhow::bail!("not one sentence: {}", outcome.output()) };
    ensure!(last.starts_with(&format!("redial: --dial '{}' matched nothing; did you", dials[0])), "{last}");
    Ok(())
}

/// The end comes while dials are turned on and off without a pause.
fn ends_during_changes(runtime: Runtime) -> Result<()> {
    for word in ENDS {
        let expected = end_without_agent(runtime, word)?;
        let live = under_agent::start(shop(runtime)?)?;
        let mut controller = live.controller()?;
        controller.dial("Shop!*", Level::Count, Lifetime::Held)?;
        // Turns dials on until the connection ends; the error is that end.
        let turning = thread::spawn(move || {
            let mut turns = 0;
            while controller.off("Shop!*").is_ok()
                && controller.dial("Shop!*", Level::Count, Lifetime::Held).is_ok()
            {
                turns += 1;
            }
            (
                turns,
                controller
                    .wait_for("the end", |event| matches!(event, Event::Goodbye { .. }).then_some(()))
                    .is_ok(),
            )
        });
        let outcome = end(live.host, word)?;
        turning.join().map_err(|_| anyhow!("the turning thread panicked"))?;
        ensure!(outcome.status == expected.status, "{word:?}: {}\n{}", outcome.status, outcome.output());
    }
    Ok(())
}

/// The end comes while other threads call the agent. Repeated, because it is a race: 2.1 frees the object that they call.
fn ends_while_threads_compile(runtime: Runtime) -> Result<()> {
    let command = programs::named("compiles")?;
    for time in 0..soak::scaled(10, 400) {
        let (mut live, mut controller) = under_agent::start_controlled(command.command(runtime)?)?;
        let report = controller.dial("compiles!Compiles.Dialled*", Level::Count, Lifetime::Kept)?;
        ensure!(report.accepted == 1, "{report:?}");
        live.host.ask("work 4", "working")?;
        ensure!(controller.row("compiles!Compiles.Dialled*")?.calls > 0, "no dialled method was compiled");
        live.host.say("exit 7")?;
        let outcome = live.host.finish()?;
        ensure!(outcome.code()? == 7, "time {time}: {}\n{}", outcome.status, outcome.output());
    }
    Ok(())
}

/// An orderly end notifies watchers and holders, which end with the exit code for a process that is gone. Held
/// dials are not reverted while the runtime shuts down (2.1 crashed there). Repeated, because it is a race.
fn watchers_and_holders_end_with_the_host(runtime: Runtime) -> Result<()> {
    for _ in 0..8 {
        let live = under_agent::start(shop(runtime)?)?;
        ensure_messages(&live.redial("dial", &["Shop!Shop.Cart.*", "count"])?, 0, &[])?;
        let mut watch = Host::start(live.command("watch", &["--interval", "20"])?)?;
        watch.next_line()?;
        let mut hold = Host::start(live.command("dial", &["Shop!Shop.Money.*", "count", "--hold"])?)?;
        hold.wait_for("held")?;
        let outcome = end(live.host, "exit 0")?;
        ensure!(outcome.code()? == 0, "{}", outcome.output());
        ensure_messages(&watch.finish()?, 3, &["has ended"])?;
        ensure_messages(&hold.finish()?, 3, &["has ended"])?;
    }
    Ok(())
}
