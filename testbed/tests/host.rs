//! Tests of the harness itself: hosts answer lines, failures contain the output, nothing is left behind.
#![cfg(unix)]

use std::process::Command;

use redial_testbed::host::{self, Host};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn exchanges_lines() -> anyhow::Result<()> {
    let mut host = Host::start(shell("echo ready; while read line; do echo \"got $line\"; done; exit 7"))?;
    host.wait_for("ready")?;
    assert_eq!(host.ask("one", "got ")?, "one");
    host.say("two")?;
    assert_eq!(host.next_line()?, "got two");
    host.close_input();
    let outcome = host.finish()?;
    assert_eq!(outcome.code()?, 7);
    assert_eq!(outcome.stdout, "ready\ngot one\ngot two\n");
    Ok(())
}

#[test]
fn early_end_is_an_error_with_the_output() -> anyhow::Result<()> {
    let mut host = Host::start(shell("echo before; echo trouble >&2; exit 3"))?;
    let error = host.wait_for("ready").expect_err("it never says that").to_string();
    assert!(error.contains("before printing \"ready\""), "{error}");
    assert!(error.contains("before\n") && error.contains("trouble"), "{error}");
    assert!(error.contains("exit status: 3"), "{error}");
    Ok(())
}

#[test]
fn dropping_a_host_kills_its_processes() -> anyhow::Result<()> {
    let mut host = Host::start(shell("sleep 1000 & echo $!; wait"))?;
    let grandchild: i32 = host.next_line()?.parse()?;
    drop(host);
    // The system's first process reaps the orphan or leaves it as a zombie. Dead either way.
    for _ in 0..1000 {
        match std::fs::read_to_string(format!("/proc/{grandchild}/stat")) {
            Err(_) => return Ok(()),
            Ok(stat) if stat.contains(") Z ") => return Ok(()),
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
    anyhow::bail!("process {grandchild} is still alive")
}

#[test]
fn missing_program_is_a_sentence() {
    let error = Host::start(Command::new("no-such-program-of-redial")).expect_err("it is not there");
    assert_eq!(error.to_string(), "no-such-program-of-redial cannot be started");
}

#[test]
fn reads_json_and_exit_codes() -> anyhow::Result<()> {
    let outcome = host::run(shell("echo '[{\"pid\":5}]'"))?.ok()?;
    assert_eq!(outcome.json()?[0]["pid"], 5);
    let outcome = host::run(shell("echo no; exit 6"))?;
    assert_eq!(outcome.code()?, 6);
    assert!(outcome.json().is_err());
    assert!(outcome.ok().is_err());
    Ok(())
}
