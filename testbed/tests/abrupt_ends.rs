//! Abrupt ends of a host, while its threads run dialled methods: the same exit status and output as without the
//! agent.
#![cfg(unix)]

use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{on_each_runtime, programs, signals, soak};

on_each_runtime!(
    ends_the_same_by_stack_overflow,
    ends_the_same_by_exit_from_another_thread,
    ends_the_same_by_an_exception_on_another_thread,
    ends_the_same_by_an_invalid_pointer,
    ends_the_same_by_an_invalid_pointer_in_native_code,
    ends_the_same_by_a_sent_sigsegv,
);

/// Ends in the soak, over all runtimes and both levels: 504 of each kind.
const SOAK_TIMES: u64 = 84;
const THREADS: u32 = 4;

fn ends_the_same_by_stack_overflow(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, "overflow", End::signal(libc::SIGABRT))
}

fn ends_the_same_by_exit_from_another_thread(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, "exit 9", End::code(9))
}

fn ends_the_same_by_an_exception_on_another_thread(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, "throw", End::signal(libc::SIGABRT))
}

fn ends_the_same_by_an_invalid_pointer(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, "pointer", End::signal(libc::SIGABRT))
}

fn ends_the_same_by_an_invalid_pointer_in_native_code(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, "native", End::signal(libc::SIGSEGV))
}

fn ends_the_same_by_a_sent_sigsegv(runtime: Runtime) -> Result<()> {
    ends_the_same(runtime, SIGSEGV, End::signal(libc::SIGSEGV))
}

/// Stands for a signal, which is not a command to the program.
const SIGSEGV: &str = "SIGSEGV";

/// The exit code or the signal of an end.
#[derive(Debug, PartialEq, Eq)]
struct End {
    code: Option<i32>,
    signal: Option<i32>,
}

impl End {
    fn code(code: i32) -> End {
        End { code: Some(code), signal: None }
    }

    fn signal(signal: i32) -> End {
        End { code: None, signal: Some(signal) }
    }

    fn of(status: ExitStatus) -> End {
        End { code: status.code(), signal: std::os::unix::process::ExitStatusExt::signal(&status) }
    }
}

/// Text of a crash in the runtime's own handler of SIGSEGV. On some machines .NET Core 3.1 ends like this now and then,
/// without the agent too.
const HANDLER_CRASHED: &str = "*** stack smashing detected ***";

fn ends_the_same(runtime: Runtime, word: &str, end: End) -> Result<()> {
    let expected = end_with(runtime, word, None)?;
    ensure!(expected.end == end, "without the agent: {expected:?}");
    for time in 0..soak::scaled(1, SOAK_TIMES) {
        for level in [Level::Count, Level::Time] {
            let found = end_with(runtime, word, Some(level))?;
            ensure!(found == expected, "{level}, time {time}: {found:#?}, not {expected:#?}");
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Found {
    end: End,
    stdout: String,
    stderr: String,
}

/// Starts the program, dials all its methods at `level`, if any, and ends it.
fn end_with(runtime: Runtime, word: &str, level: Option<Level>) -> Result<Found> {
    let mut command = programs::named("ends")?.command(runtime)?;
    // Aborting ends write no core files.
    command.env("COMPlus_DbgEnableMiniDump", "0");
    if level.is_some() {
        host::load_agent(&mut command)?;
    }
    let mut host = Host::start(command)?;
    let pid: u32 = host.wait_for("ready")?.parse()?;
    let mut controller = level.map(|_| Controller::connect(pid)).transpose()?;
    if let (Some(controller), Some(level)) = (&mut controller, level) {
        let report = controller.dial("ends!*", level, Lifetime::Kept)?;
        ensure!(report.accepted > 5, "{report:?}");
    }
    host.ask(&format!("work {THREADS}"), "working")?;
    if let Some(controller) = &mut controller {
        let calls = controller.row("ends!Ends.Step(int)")?.calls;
        ensure!(calls >= 100, "{calls} calls were counted");
    }
    if word == SIGSEGV {
        // The runtime's handler restores the default action, expecting the fault again.
        while host.is_running()? {
            signals::send(pid, libc::SIGSEGV)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    } else {
        host.say(word)?;
    }
    let outcome = host.finish()?;
    if let Some(controller) = &mut controller {
        // Only the end of the connection reveals an abrupt end.
        controller.wait_for_end().with_context(|| format!("after {word:?}"))?;
    }
    let stdout = outcome.stdout.replace(&pid.to_string(), "PID");
    let mut found = Found { end: End::of(outcome.status), stdout, stderr: without_repeats(&outcome.stderr) };
    if word == SIGSEGV && found.stderr.starts_with(HANDLER_CRASHED) && found.end == End::signal(libc::SIGABRT)
    {
        (found.end, found.stderr) = (End::signal(libc::SIGSEGV), String::new());
    }
    Ok(found)
}

/// Removes repeated lines and the number of repeats: a dialled method has larger frames, so fewer of them fill a
/// stack.
fn without_repeats(said: &str) -> String {
    let mut lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("Repeat ")).collect();
    lines.dedup();
    lines.join("\n")
}
