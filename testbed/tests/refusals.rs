//! Impossible requests to `redial`: one sentence, the right exit code, nothing changed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals;
use redial_testbed::under_agent::{self, ensure_messages};
use redial_testbed::{artefacts, on_each_runtime, programs};

/// Above every pid on Linux (`PID_MAX_LIMIT` is 2^22).
const NO_PID: &str = "4194305";

/// Every command about a process, with otherwise valid arguments.
const COMMANDS: [&[&str]; 9] = [
    &["modules"],
    &["methods"],
    &["dial", "Shop.Cart.*", "count"],
    &["dial", "Shop.Cart.*", "count", "--hold"],
    &["status"],
    &["watch"],
    &["trace", "Shop.Cart.*"],
    &["events"],
    &["off"],
];

/// Runs each of [`COMMANDS`] on `pid`.
fn each_command(pid: &str, check: impl Fn(&host::Outcome) -> Result<()>) -> Result<()> {
    for words in COMMANDS {
        let mut command = host::redial(&[words[0], pid])?;
        command.args(&words[1..]);
        check(&host::run(command)?).with_context(|| format!("{words:?}"))?;
    }
    Ok(())
}

on_each_runtime!(watches_methods_that_are_not_dialled);

/// Watching starts with a message that nothing matches, and ends with another one if nothing ever did.
fn watches_methods_that_are_not_dialled(runtime: Runtime) -> Result<()> {
    const CART: &str = "Shop!Shop.Cart.*";
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "1"]);
    let mut live = under_agent::start(command)?;
    let watch = |pattern: &str, more: &[&str]| {
        live.redial("watch", &[&[pattern, "--interval", "20", "--count", "2"], more].concat())
    };
    let dial = format!(
        "no method has been dialled; `redial dial {} '{CART}' count` dials matching methods; still watching",
        live.pid
    );
    let end = "no dialled method matched 'Shop!Shop.Cart.*' while watching";
    let outcome = watch(CART, &[])?;
    ensure_messages(&outcome, 6, &[&dial, end])?;
    ensure!(outcome.stdout.contains("no dialled method matches"), "{}", outcome.output());
    let outcome = watch(CART, &["--json"])?;
    ensure_messages(&outcome, 6, &[&dial, end])?;
    ensure!(outcome.stdout.lines().count() == 2, "JSON is not what this is about: {}", outcome.output());
    ensure_messages(&live.redial("dial", &["Shop!Shop.Order.*", "count"])?, 0, &[])?;
    ensure_messages(
        &watch("Shop!Shop.Crat.*", &[])?,
        6,
        &["no method matches 'Shop!Shop.Crat.*'", "; did you mean 'Shop!Shop.Cart.*'"],
    )?;
    ensure_messages(&live.redial("watch", &["--interval", "20", "--count", "1"])?, 0, &[])?;

    // Later rows are shown.
    let mut watching = Host::start(live.command("watch", &[CART, "--interval", "20"])?)?;
    while !watching.next_line()?.contains("no dialled method matches") {}
    ensure_messages(&live.redial("dial", &[CART, "count"])?, 0, &[])?;
    live.host.ask("round 2", "done")?;
    while !watching.next_line()?.contains("live v1") {}
    signals::interrupt(watching.pid())?;
    ensure_messages(&watching.finish()?, 0, &["none of the "])
}

#[test]
fn refuses_a_bad_pattern_before_connecting() -> Result<()> {
    for (pattern, part) in [
        ("", "empty"),
        ("Shop.Cart.Add(", "brackets"),
        ("Shop.Cart.Add(int", "brackets"),
        ("A.B(int))", "brackets"),
        ("Shop!0x06000000", "'0x06000000' is not a method token"),
        ("Shop!0x02000001", "'0x02000001' is not a method token"),
    ] {
        for words in [["dial", NO_PID, pattern, "count"].as_slice(), &["status", NO_PID, pattern]] {
            let outcome = host::run(host::redial(words)?)?;
            ensure_messages(&outcome, 2, &[part]).with_context(|| format!("{words:?}"))?;
            ensure!(outcome.stderr.lines().count() == 1, "{}", outcome.output());
        }
    }
    let outcome = host::run(host::redial(&["dial", NO_PID, "Shop.Cart.*", "loud"])?)?;
    ensure!(outcome.code()? == 2 && outcome.stderr.contains("a level is off"), "{}", outcome.output());
    Ok(())
}

#[test]
fn accepts_only_valid_process_targets() -> Result<()> {
    each_command("Shop", |outcome| {
        ensure!(outcome.code()? == 2, "{}", outcome.output());
        ensure!(outcome.stderr.contains("a process is an id"), "{}", outcome.output());
        Ok(())
    })
}

#[test]
fn reports_unused_pid() -> Result<()> {
    each_command(NO_PID, |outcome| ensure_messages(outcome, 3, &["no process 4194305"]))
}

/// Returns a command that does nothing and succeeds.
fn nothing() -> Command {
    let mut command = Command::new(if cfg!(windows) { "cmd" } else { "true" });
    command.args(if cfg!(windows) { &["/c", "exit"][..] } else { &[] });
    command
}

#[test]
fn reports_ended_process() -> Result<()> {
    let mut child = nothing().stdin(Stdio::null()).spawn()?;
    child.wait()?;
    let pid = child.id().to_string();
    each_command(&pid, |outcome| ensure_messages(outcome, 3, &[&format!("no process {pid}")]))
}

#[test]
fn reports_process_without_dotnet() -> Result<()> {
    // It waits for its input.
    let program = if cfg!(windows) { "cmd" } else { "cat" };
    let host = Host::start(Command::new(program))?;
    each_command(&host.pid().to_string(), |outcome| {
        ensure_messages(outcome, 3, &[program, "it is not a .NET process"])
    })
}

on_each_runtime!(
    reports_process_without_the_agent,
    reports_patterns_without_match,
    run_survives_a_library_that_is_not_the_agent
);

fn reports_process_without_the_agent(runtime: Runtime) -> Result<()> {
    let mut host = Host::start(programs::named("child")?.command(runtime)?)?;
    let pid = host.wait_for("ready")?;
    // 2.1 has no diagnostics port to attach through.
    let advice = if runtime == Runtime::V2_1 { "redial run" } else { "redial attach" };
    each_command(&pid, |outcome| ensure_messages(outcome, 4, &["runs without the agent", advice]))?;
    let listed = host::run(host::redial(&["ps", "--json"])?)?.ok()?.json()?;
    let number: u32 = pid.parse()?;
    let row = listed.as_array().into_iter().flatten().find(|row| row["pid"] == number);
    ensure!(row.is_some_and(|row| row["name"] == "child.dll"), "{row:?}");
    host.ask("call 2", "called 2")?;
    host.close_input();
    ensure!(host.finish()?.code()? == 0);
    Ok(())
}

fn reports_patterns_without_match(runtime: Runtime) -> Result<()> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    let live = under_agent::start(command)?;
    let dial = |pattern| live.redial("dial", &[pattern, "count"]);
    ensure_messages(&dial("Shop.Cart.Ad")?, 6, &["nothing matched; did you mean 'Shop.Cart.Add'"])?;
    ensure_messages(&dial("Crat")?, 6, &["nothing matched; did you mean", "'Shop.Cart.*'"])?;
    ensure_messages(&dial("Shop.Cart.Nope")?, 6, &["nothing matched; did you mean", "'Shop.Cart.*'"])?;
    ensure_messages(&dial("Add")?, 6, &["nothing matched; did you mean '*.Add', 'Shop.", "Shop.Cart.Add'"])?;
    let case = "(names are case-sensitive); did you mean 'Shop.Cart.Add'";
    ensure_messages(&dial("shop.cart.add")?, 6, &[case])?;
    ensure_messages(&dial("Shop.Cart.Add(string)")?, 6, &["nothing matched"])?;
    ensure_messages(&dial("Shop.dll!*")?, 6, &["nothing matched; did you mean 'Shop!*'"])?;
    ensure_messages(&dial("Shop.*")?, 6, &["nothing matched; did you mean 'Shop!*', 'Shop.*.*'"])?;
    // Tokens beyond the end of the table.
    for token in ["Shop!0x06FFFFFF", "Shop!0x06001000", "System.Private.CoreLib!0x06FFFFFF"] {
        ensure_messages(&dial(token)?, 6, &["nothing matched"])?;
    }
    ensure_messages(
        &live.redial("status", &["Shop.Cart.Add"])?,
        6,
        &["no dialled method matches 'Shop.Cart.Add': no method has been dialled"],
    )?;
    for command in ["methods", "trace"] {
        ensure_messages(&live.redial(command, &["Shop.Cart.Ad"])?, 6, &["did you mean 'Shop.Cart.Add'"])?;
    }
    ensure!(live.rows("*")?.is_empty(), "what was refused left rows behind");
    let later = live.redial("dial", &["Shop.Cart.Ad", "count", "--later"])?;
    ensure_messages(&later, 0, &[])?;
    // Pattern and level in one word, as in `run --dial`.
    let one_word = live.redial("dial", &["Shop.Cart.*=count"])?;
    ensure_messages(&one_word, 0, &[])?;
    // The highest level is offered unless the program forbids it.
    ensure_messages(&live.redial("dial", &["Shop.Cart.*", "trace"])?, 0, &[])?;
    let rows = live.rows("Shop.Cart.*")?;
    ensure!(!rows.is_empty() && rows.iter().all(|row| row["wanted"] == "trace"), "{rows:?}");
    ensure_messages(
        &live.redial("dial", &["Shop.Cart.*"])?,
        2,
        &["the level is missing", "'Shop.Cart.*' count`"],
    )?;
    let dialled = live.rows("*")?.len();
    let outcome = live.redial("status", &["Nope.*"])?;
    ensure_messages(&outcome, 6, &[&format!("none of the {dialled} dialled methods matches 'Nope.*'")])?;
    ensure!(outcome.stdout.is_empty(), "{}", outcome.output());
    Ok(())
}

#[test]
fn run_without_a_library_starts_nothing() -> Result<()> {
    let folder = TempFolder::new("run")?;
    let (text, started) = (folder.0.join("text.so"), folder.0.join("started"));
    fs::write(&text, "this is no library\n")?;
    let missing = folder.0.join("missing.so");
    let other_machine = folder.0.join("other.so");
    let mut bytes = fs::read(artefacts::agent()?)?;
    // The machine's number: ARM64 in a PE file, 32-bit ARM in an ELF file.
    let (at, machine) = if cfg!(windows) { (bytes[0x3c] as usize + 4, 0xaa64_u16) } else { (18, 0x28) };
    bytes[at..at + 2].copy_from_slice(&machine.to_le_bytes());
    fs::write(&other_machine, &bytes)?;
    for (library, part) in
        [(&missing, "is not a file"), (&text, "not a shared library"), (&other_machine, "processor")]
    {
        let mut touch = Command::new(if cfg!(windows) { "cmd" } else { "touch" });
        if cfg!(windows) {
            touch.args(["/c", "copy", "nul"]);
        }
        touch.arg(&started);
        ensure!(touch.status()?.success() && started.exists(), "it shows nothing");
        fs::remove_file(&started)?;
        let mut command = host::redial_run(&[], &touch)?;
        command.env("REDIAL_AGENT", library);
        ensure_messages(&host::run(command)?, 125, &[part, &library.display().to_string()])?;
        ensure!(!started.exists(), "the command was started all the same");
    }
    Ok(())
}

/// A valid library that is not the agent: the program runs normally.
fn run_survives_a_library_that_is_not_the_agent(runtime: Runtime) -> Result<()> {
    let framework = runtime.ensure()?.framework_dir();
    let names = ["System.Native.so", "libSystem.Native.so", "hostpolicy.dll"];
    let others = names.map(|name| framework.join(name));
    let other = others.into_iter().find(|other| other.is_file()).context("a library of the framework")?;
    let mut shop = programs::shop()?.command(runtime)?;
    shop.args(["--exact", "3", "--threads", "2"]);
    let mut command = host::redial_run(&["--dial", "Shop.Cart.*=count"], &shop)?;
    command.env("REDIAL_AGENT", &other);
    let (with, without) = (host::run(command)?, host::run(shop)?);
    ensure!(with.stdout == without.stdout, "the program's output changed:\n{}", with.output());
    ensure_messages(&with, without.code()?, &["never loaded the agent"])
}

#[test]
fn run_exits_with_125_to_127_for_its_own_failures() -> Result<()> {
    let run = |options: &[&str], command: &Command| host::run(host::redial_run(options, command)?);
    let absent = Command::new("/nonexistent/program");
    ensure_messages(&run(&[], &absent)?, 127, &["/nonexistent/program: command not found"])?;
    let folder = if cfg!(windows) { r"C:\windows" } else { "/" };
    ensure_messages(&run(&[], &Command::new(folder))?, 126, &[&format!("cannot execute {folder}")])?;
    let program = nothing();
    let only_pattern = run(&["--dial", "Shop"], &program)?;
    ensure_messages(&only_pattern, 125, &["bad --dial 'Shop': a dial is PATTERN=LEVEL"])?;
    for dial in ["Shop.Cart.*", "=count", "Shop.Cart.*=loud", "Shop.Cart.Add(=count"] {
        ensure_messages(&run(&["--dial", dial], &program)?, 125, &["bad --dial", dial])?;
    }
    let no_report = run(&["--report", "/nonexistent/report.json"], &program)?;
    ensure_messages(&no_report, 125, &["cannot write the report"])?;
    let name = program.get_program().to_string_lossy();
    ensure_messages(&run(&[], &program)?, 0, &[&format!("{name} never loaded the agent")])
}

/// A test's own folder. Dropping it removes the folder.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("redial-refusals-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
