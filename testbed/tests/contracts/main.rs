//! Snapshots of the contracts that scripts rely on. Entries may be added; none may change or disappear.
//!
//! `REDIAL_BLESS=1` adds new entries to the snapshots, and removes none.

mod json;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use redial_protocol::process;
use redial_testbed::host;
use redial_testbed::{artefacts, programs, runtimes::Runtime, under_agent};

/// Compares `found` with the snapshot `name`: every recorded line must still be there.
fn check(name: &str, found: &BTreeSet<String>) -> Result<()> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/contracts").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let recorded: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#') && (!cfg!(windows) || !is_about_callers(line)))
        .map(str::to_owned)
        .collect();
    if std::env::var_os("REDIAL_BLESS").is_some() {
        let header: String =
            text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let lines: Vec<&str> = recorded.union(found).map(String::as_str).collect();
        std::fs::write(&file, format!("{header}{}\n", lines.join("\n")))?;
        return Ok(());
    }
    ensure!(!recorded.is_empty(), "{} records nothing", file.display());
    let missing: Vec<&str> = recorded.difference(found).map(String::as_str).collect();
    ensure!(missing.is_empty(), "{name}: these parts of the contract are gone:\n{}", missing.join("\n"));
    Ok(())
}

/// Whether a field exists only where callers are known, which Windows is not.
fn is_about_callers(line: &str) -> bool {
    line.starts_with("status --callers[]") || line == "status --agent.callers_ns"
}

/// Standard output of `redial ARGUMENTS`.
fn help(arguments: &[&str]) -> Result<String> {
    Ok(host::run(host::redial(arguments)?)?.ok()?.stdout)
}

/// Names of the commands that `redial --help` lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let indented = line.strip_prefix("  ")?;
        (!indented.starts_with(' ')).then(|| indented.split_whitespace().next().map(str::to_owned))?
    });
    names.collect()
}

/// One line for each way to use a command and each of its options, as its help shows them.
fn contract(command: &str, help: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let usage: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage: "))
        .take_while(|line| !line.is_empty())
        .flat_map(str::split_whitespace)
        .collect();
    // Each way of use begins with the program's name. The order of its arguments is a contract.
    for way in usage.split(|word| *word == "redial") {
        let is_argument = |word: &&&str| word.starts_with(['<', '[']) && !word.starts_with("[OPTIONS");
        let arguments: Vec<&str> = way.iter().filter(is_argument).copied().collect();
        if !arguments.is_empty() {
            lines.push(format!("{command}: {}", arguments.join(" ")));
        }
    }
    for line in help.lines().skip_while(|line| *line != "Options:").skip(1) {
        let words = line.trim_start();
        // Deeper lines are descriptions, which may begin with an option's name too.
        let is_option = (2..=6).contains(&(line.len() - words.len())) && words.starts_with('-');
        if is_option {
            let takes = |word: &&str| word.starts_with('-') || word.starts_with('<');
            let option: Vec<&str> = words.split_whitespace().take_while(takes).collect();
            lines.push(format!("{command} {}", option.join(" ")));
        }
    }
    lines
}

#[test]
fn commands_and_options_stay() -> Result<()> {
    let top = help(&["--help"])?;
    let mut found: BTreeSet<String> = contract("redial", &top).into_iter().collect();
    let commands = commands(&top);
    ensure!(commands.len() >= 16, "only these commands are listed: {commands:?}");
    for command in &commands {
        found.extend(contract(&format!("redial {command}"), &help(&[command, "--help"])?));
    }
    check("command_line", &found)
}

/// The built artefacts contain the names of the variables they read.
#[test]
fn environment_variables_stay() -> Result<()> {
    let mut found = BTreeSet::new();
    for (reader, file) in [("agent", artefacts::agent()?), ("redial", artefacts::redial()?)] {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut rest = bytes.as_slice();
        while let Some(at) = memchr::memmem::find(rest, b"REDIAL_") {
            let name = &rest[at..];
            let length = name.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
            // Neighbouring literals touch each other in a binary: only a name's beginning is certain.
            found.insert(format!("{reader} {}", String::from_utf8_lossy(&name[..length])));
            rest = &name[b"REDIAL_".len()..];
        }
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/contracts/environment.txt");
    let recorded = std::fs::read_to_string(file)?;
    let whole: BTreeSet<String> = recorded
        .lines()
        .filter(|line| found.iter().any(|found| found.starts_with(*line)))
        .map(str::to_owned)
        .collect();
    ensure!(whole.len() > 12, "{found:?}");
    check("environment", &whole)
}

#[test]
fn exit_codes_stay() -> Result<()> {
    let live = under_agent::start({
        let mut command = programs::shop()?.command(Runtime::V8_0)?;
        command.arg("--live");
        command
    })?;
    let pid = live.pid.to_string();
    let absent = unused_pid()?.to_string();
    let without = {
        let mut command = programs::shop()?.command(Runtime::V8_0)?;
        command.arg("--live");
        let mut host = host::Host::start(command)?;
        let pid: u32 = host.wait_for("ready")?.parse().context("ready PID")?;
        (host, pid.to_string())
    };
    let cases: [(&str, &[&str]); 8] = [
        ("done", &["modules", &pid]),
        ("usage", &["dial", &pid, "Shop!*"]),
        ("bad pattern", &["dial", &pid, "!!", "count"]),
        ("no such process", &["modules", &absent]),
        ("no agent", &["modules", &without.1]),
        ("nothing matched", &["dial", &pid, "NoSuchType.NoMethod", "count"]),
        ("nothing to undo", &["undo", &pid]),
        ("run: command not found", &["run", "--", "/no/such/program"]),
    ];
    let mut found = BTreeSet::new();
    for (name, arguments) in cases {
        let code = host::run(host::redial(arguments)?)?.code()?;
        found.insert(format!("{name}: {code}"));
    }
    let _holder = live.hold("Shop!Shop.Cart.*")?;
    let refused = host::run(host::redial(&["dial", &pid, "Shop!*", "off"])?)?.code()?;
    found.insert(format!("another controller has control: {refused}"));
    check("exit_codes", &found)
}

/// A process number that no process has.
fn unused_pid() -> Result<u32> {
    (2..4_000_000).rev().find(|pid| process::key_of(*pid).is_err()).context("every pid is taken")
}
