//! `redial ps`: each process has one accurate state with a reason, whatever it is and whoever asks.
#![cfg(target_os = "linux")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::{self, Runtime};
use redial_testbed::signals;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{artefacts, on_each_runtime, programs, skip};
use serde_json::Value;

on_each_runtime!(reports_available_actions, reports_stopped_process, reports_process_in_a_debugger);

/// Returns the rows of `redial ps OPTIONS --json`.
fn ps(options: &[&str]) -> Result<Vec<Value>> {
    rows_of(host::redial(&[&["ps", "--json"], options].concat())?)
}

fn rows_of(command: Command) -> Result<Vec<Value>> {
    let outcome = host::run(command)?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(outcome.json()?.as_array().context("an array")?.clone())
}

fn find(rows: &[Value], pid: u32) -> Option<&Value> {
    rows.iter().find(|row| row["pid"] == pid)
}

/// Returns the row of a process that must be listed.
fn row(pid: u32) -> Result<Value> {
    find(&ps(&[])?, pid).cloned().with_context(|| format!("ps does not list {pid}"))
}

/// Checks the state, and that its reason contains all `parts`.
fn ensure_state(row: &Value, agent: &str, parts: &[&str]) -> Result<()> {
    ensure!(row["agent"] == agent, "not {agent}: {row}");
    let reason = row["reason"].as_str().unwrap_or_default();
    for part in parts {
        ensure!(reason.contains(part), "no {part:?} in {row}");
    }
    Ok(())
}

/// Starts Shop without the agent and returns its pid.
fn shop(runtime: Runtime) -> Result<(Host, u32)> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "1"]);
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok((host, pid))
}

fn reports_available_actions(runtime: Runtime) -> Result<()> {
    let (mut plain, pid) = shop(runtime)?;
    let row_of = row(pid)?;
    let state = if runtime == Runtime::V2_1 { "launch-only" } else { "attachable" };
    ensure_state(
        &row_of,
        state,
        if runtime == Runtime::V2_1 { &["2.1.30", "redial run"] } else { &["redial attach"] },
    )?;
    ensure!(row_of["name"] == "Shop.dll" && row_of["kept"].is_null(), "{row_of}");
    let expected = serde_json::json!({"kind": "coreclr", "version": runtime.version(), "tested": true});
    ensure!(row_of["runtime"] == expected, "{row_of}");
    let command = row_of["command"].as_str().context("a command")?;
    ensure!(command.ends_with("Shop.dll --live --threads 1"), "{command}");

    let mut held = programs::shop()?.command(runtime)?;
    held.args(["--live", "--threads", "1"]);
    let mut loaded = Host::start(host::redial_run(&["--dial", "Shop!Shop.Cart.*=count"], &held)?)?;
    let loaded_pid: u32 = loaded.wait_for("ready")?.parse()?;
    let row = row(loaded_pid)?;
    ensure_state(&row, "loaded", &[])?;
    ensure!(row["kept"].as_u64() > Some(3) && row["control"].is_null() && row["reason"].is_null(), "{row}");
    for host in [&mut plain, &mut loaded] {
        host.say("exit 0")?;
    }
    plain.finish()?.ok()?;
    loaded.finish()?.ok().map(drop)
}

/// With and without an agent: the process is not refused, and `ps` does not wait for an answer.
fn reports_stopped_process(runtime: Runtime) -> Result<()> {
    let (_plain, pid) = shop(runtime)?;
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "1"]);
    host::load_agent(&mut command)?;
    let mut with_agent = Host::start(command)?;
    let loaded: u32 = with_agent.wait_for("ready")?.parse()?;
    for pid in [pid, loaded] {
        signals::send(pid, libc::SIGSTOP)?;
    }
    let rows = ps(&[])?;
    for pid in [pid, loaded] {
        ensure_state(find(&rows, pid).context("listed")?, "stopped", &["by a signal", "SIGCONT"])?;
    }
    let status = host::run(host::redial(&["status", &loaded.to_string()])?)?;
    ensure_messages(&status, 1, &[&format!("process {loaded} does not answer"), "stopped by a signal"])?;
    for pid in [pid, loaded] {
        signals::send(pid, libc::SIGCONT)?;
    }
    ensure_state(&row(loaded)?, "loaded", &[])?;
    ensure!(row(pid)?["agent"] != "stopped");
    Ok(())
}

/// Stops every thread of a process as a debugger does, until it is dropped. Must stay on one thread.
struct Debugger(Vec<i32>);

impl Debugger {
    fn pause(pid: u32) -> Result<Debugger> {
        let mut held = Debugger(Vec::new());
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread: i32 = task?.file_name().to_str().context("a number")?.parse()?;
            let nothing = std::ptr::null_mut::<libc::c_void>();
            // SAFETY: ptrace(2): SEIZE and INTERRUPT take no memory of ours; waitpid(2) writes to a live place.
            let answers = unsafe {
                let seized = libc::ptrace(libc::PTRACE_SEIZE, thread, nothing, nothing);
                let paused = libc::ptrace(libc::PTRACE_INTERRUPT, thread, nothing, nothing);
                let mut status = 0;
                (seized, paused, libc::waitpid(thread, &mut status, libc::__WALL))
            };
            ensure!(answers == (0, 0, thread), "{answers:?}: {}", std::io::Error::last_os_error());
            held.0.push(thread);
        }
        Ok(held)
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        for thread in &self.0 {
            let nothing = std::ptr::null_mut::<libc::c_void>();
            // SAFETY: ptrace(2): DETACH takes no memory; it fails when the thread has ended.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, *thread, nothing, nothing) };
        }
    }
}

fn reports_process_in_a_debugger(runtime: Runtime) -> Result<()> {
    let (mut host, pid) = shop(runtime)?;
    let debugger = Debugger::pause(pid)?;
    let me = std::process::id().to_string();
    ensure_state(&row(pid)?, "stopped", &["paused in a debugger", &me])?;
    if runtime != Runtime::V2_1 {
        let outcome = host::run(host::redial(&["attach", &pid.to_string(), "--timeout", "1"])?)?;
        ensure_messages(
            &outcome,
            1,
            &["did not answer within 1 s", "paused in a debugger", "nothing was changed"],
        )?;
    }
    drop(debugger);
    ensure!(row(pid)?["agent"] != "stopped");
    host.say("exit 0")?;
    host.finish()?.ok().map(drop)
}

#[test]
fn lists_single_file_program_with_version() -> Result<()> {
    let mut command = Command::new(runtimes::single_file_program()?);
    command.args(["server", "start", "--mode", "all"]);
    Runtime::V8_0.settle_environment(&mut command);
    command.env("AZURE_MCP_COLLECT_TELEMETRY", "false");
    let mut server = Host::start(command)?;
    // It answers once it runs.
    server.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
    server.next_line()?;
    let row = row(server.pid())?;
    ensure_state(&row, "attachable", &["redial attach"])?;
    ensure!(row["name"] == "fabmcp", "{row}");
    ensure!(row["runtime"]["kind"] == "coreclr" && row["runtime"]["tested"] == true, "{row}");
    ensure!(row["runtime"]["version"].as_str().is_some_and(|version| version.starts_with("10.0.")), "{row}");
    Ok(())
}

#[test]
fn lists_native_programs_only_with_all() -> Result<()> {
    let native = Host::start(Command::new("cat"))?;
    ensure!(find(&ps(&[])?, native.pid()).is_none(), "it is listed as .NET");
    let all = ps(&["--all"])?;
    let row = find(&all, native.pid()).context("--all does not list it")?;
    ensure_state(row, "none", &["not a .NET process"])?;
    ensure!(row["runtime"].is_null() && row["name"] == "cat", "{row}");
    Ok(())
}

/// A child that has ended without being reaped. Dropping it reaps it.
struct Zombie(Child);

impl Zombie {
    fn new(mut command: Command) -> Result<Zombie> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        // SAFETY: waitid(2) with our own zeroed siginfo; WNOWAIT leaves the child a zombie.
        let waited = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        ensure!(waited == 0, "{}", std::io::Error::last_os_error());
        Ok(Zombie(child))
    }
}

impl Drop for Zombie {
    fn drop(&mut self) {
        // The child has already ended.
        let _ = self.0.wait();
    }
}

#[test]
fn reports_zombie_as_ended() -> Result<()> {
    let zombie = Zombie::new(programs::named("hello")?.command(Runtime::V8_0)?)?;
    let pid = zombie.0.id();
    ensure!(find(&ps(&[])?, pid).is_none(), "it is listed as .NET");
    ensure_state(find(&ps(&["--all"])?, pid).context("--all does not list it")?, "none", &["has ended"])?;
    for words in [["status", &pid.to_string()], ["attach", &pid.to_string()]] {
        ensure_messages(&host::run(host::redial(&words)?)?, 3, &[&format!("process {pid}")])?;
    }
    Ok(())
}

/// Programs, including .NET ones, start and end all the time while `ps` builds its list.
#[test]
fn survives_processes_that_end_meanwhile() -> Result<()> {
    let hello = programs::named("hello")?;
    std::thread::scope(|scope| -> Result<()> {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let starter = scope.spawn(move || -> Result<u32> {
            let mut started = 0;
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                let mut children = Vec::new();
                for _ in 0..8 {
                    children.push(Command::new("true").spawn()?);
                }
                let mut dotnet = hello.command(Runtime::V8_0)?;
                children.push(dotnet.stdout(Stdio::null()).spawn()?);
                for mut child in children {
                    ensure!(child.wait()?.success());
                    started += 1;
                }
            }
            Ok(started)
        });
        for round in 0..10 {
            for row in ps(if round % 2 == 0 { &["--all"] } else { &[] })? {
                let whole = row["pid"].is_u64() && row["name"].is_string() && row["agent"].is_string();
                ensure!(whole && row["agent"] != "looking…", "{row}");
            }
        }
        drop(stop);
        let started = starter.join().map_err(|_| anyhow::anyhow!("the starter panicked"))??;
        ensure!(started > 9, "only {started} processes came and went");
        Ok(())
    })
}

/// A folder for a copy of the program that every user may read. Dropping it removes the folder.
struct SharedFolder(PathBuf);

impl SharedFolder {
    fn new() -> Result<SharedFolder> {
        let folder = std::env::temp_dir().join(format!("redial-processes-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let place = SharedFolder(folder);
        for (file, mode) in [(place.0.clone(), 0o755), (place.program(), 0o755)] {
            if !file.exists() {
                std::fs::copy(artefacts::redial()?, &file)?;
            }
            std::fs::set_permissions(file, Permissions::from_mode(mode))?;
        }
        Ok(place)
    }

    fn program(&self) -> PathBuf {
        self.0.join("redial")
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Root sees all facts about another user's process. That user sees that root's process is not readable, and
/// its owner.
#[test]
fn reports_processes_of_other_users() -> Result<()> {
    const NOBODY: u32 = 65_534;
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        skip::not_run("processes::reports_processes_of_other_users", "only root can be other users");
        return Ok(());
    }
    let place = SharedFolder::new()?;
    let (_host, pid) = shop(Runtime::V8_0)?;
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new(place.program());
        command.args(words).uid(NOBODY).gid(NOBODY).current_dir("/").env_remove("XDG_RUNTIME_DIR");
        command
    };
    let rows = rows_of(as_nobody(&["ps", "--json"]))?;
    let row_of = find(&rows, pid).context("what speaks for .NET is listed")?;
    ensure_state(row_of, "refused", &["uid 0", "only that user and root"])?;
    ensure!(row_of["user"] == "root" && row_of["name"] == "Shop.dll", "{row_of}");
    let attach = host::run(as_nobody(&["attach", &pid.to_string()]))?;
    ensure_messages(&attach, 1, &["may not be dialled by this user"])?;

    let mut sleeper = Command::new("cat");
    sleeper.uid(NOBODY).gid(NOBODY);
    let theirs = Host::start(sleeper)?;
    let all = ps(&["--all"])?;
    let row_of = find(&all, theirs.pid()).context("root sees all")?;
    ensure_state(row_of, "none", &["not a .NET process"])?;
    let user = row_of["user"].as_str().context("a user")?;
    ensure!(user == "nobody" || user == NOBODY.to_string(), "{row_of}");
    let native = Host::start(Command::new("cat"))?;
    let all = rows_of(as_nobody(&["ps", "--all", "--json"]))?;
    let row_of = find(&all, native.pid()).context("--all lists it")?;
    ensure_state(
        row_of,
        "none",
        &["it does not look like a .NET process", "it belongs to root; only that user and root"],
    )
}
