//! Folders that are full, read-only or missing, and a program without descriptors: the host runs as ever, `redial`
//! says what is wrong, and old files stay.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{artefacts, cache, on_each_runtime, programs, skip};

on_each_runtime!(
    host_runs_with_a_read_only_socket_folder,
    agent_falls_back_to_another_folder,
    launcher_reports_a_full_temporary_folder,
    keeps_the_old_file_on_a_full_disk,
    reports_a_lack_of_descriptors,
);

/// A folder for one test. Dropping it removes the folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, runtime: Runtime) -> Result<Folder> {
        let folder = format!("{name}-{}-{}", runtime.name(), std::process::id());
        let folder = cache::folder().join("folders").join(folder);
        std::fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover stays in the cache folder, under a unique name.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes `command` run where `folder` has a small file system of its own. `then` is a shell command that prepares it.
fn with_mounted(command: &Command, folder: &Path, then: &str) -> Command {
    let script = format!("mount -t tmpfs -o size=256k,nr_inodes=64 redial \"$0\" && {then} && exec \"$@\"");
    let mut mounted = Command::new("unshare");
    mounted.args(["-m", "sh", "-c", &script]).arg(folder);
    mounted.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => mounted.env(name, value),
            None => mounted.env_remove(name),
        };
    }
    mounted
}

const READ_ONLY: &str = "mount -o remount,ro redial \"$0\"";
/// Leaves neither room nor files.
const FULL: &str = "{ head -c 1m /dev/zero > \"$0/filler\" 2> /dev/null || true; i=0; \
                    while true 2> /dev/null > \"$0/file-$i\"; do i=$((i + 1)); done 2> /dev/null || true; }";

/// Returns whether this user may mount file systems; otherwise records that `test` did not run.
fn may_mount(test: &str, runtime: Runtime) -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "mount", "-t", "tmpfs", "redial", "/tmp"]);
    let may = probe.output().is_ok_and(|output| output.status.success());
    if !may {
        not_run(test, runtime, "only root can mount a file system of a process's own");
    }
    may
}

/// Records that `test` did not run.
fn not_run(test: &str, runtime: Runtime, reason: &str) {
    let test = format!("unwritable_folders::{test}::net_{}", runtime.name().replace('.', "_"));
    skip::not_run(&test, reason);
}

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]).env_remove("XDG_RUNTIME_DIR");
    Ok(command)
}

/// Lets the program work, and ends it. It must say nothing.
fn end(mut host: Host) -> Result<()> {
    host.ask("round 3", "done")?;
    host.say("exit 7")?;
    let outcome = host.finish()?;
    ensure!(outcome.code()? == 7 && outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

/// Runs `redial status` until the agent has said why it cannot be reached: it notes that on its own thread.
fn unreachable_status(pid: &str, part: &str) -> Result<Outcome> {
    let deadline = std::time::Instant::now() + host::DEADLINE;
    loop {
        let outcome = host::run(host::redial(&["status", pid])?)?;
        if outcome.stderr.contains(part) || std::time::Instant::now() > deadline {
            return Ok(outcome);
        }
    }
}

/// The agent cannot make its socket. The host runs, and `status` names the reason.
fn host_runs_with_a_read_only_socket_folder(runtime: Runtime) -> Result<()> {
    const TEST: &str = "host_runs_with_a_read_only_socket_folder";
    if !may_mount(TEST, runtime) {
        return Ok(());
    }
    if [cache::folder(), artefacts::agent()?].iter().any(|path| path.starts_with("/tmp")) {
        not_run(TEST, runtime, "a file system over /tmp would hide the runtimes or the agent");
        return Ok(());
    }
    let mut command = shop(runtime)?;
    command.env_remove("TMPDIR");
    host::load_agent(&mut command)?;
    // The runtimes themselves do not start without a folder for their own sockets.
    let read_only = "mkdir /tmp/redial-0 && mount -t tmpfs -o mode=700 redial /tmp/redial-0 && \
                     mount -o remount,ro redial /tmp/redial-0";
    let mut host = Host::start(with_mounted(&command, Path::new("/tmp"), read_only))?;
    let pid = host.wait_for("ready")?;
    let outcome = unreachable_status(&pid, "ead-only")?;
    ensure_messages(&outcome, 4, &["Read-only file system", "/tmp/redial-0"])?;
    end(host)
}

/// The preferred folder is missing or read-only.
fn agent_falls_back_to_another_folder(runtime: Runtime) -> Result<()> {
    let folder = Folder::new("preferred", runtime)?;
    for read_only in [false, true] {
        let mut command = shop(runtime)?;
        host::load_agent(&mut command)?;
        if read_only {
            if !may_mount("agent_falls_back_to_another_folder", runtime) {
                return Ok(());
            }
            command.env("XDG_RUNTIME_DIR", folder.path());
            command = with_mounted(&command, &folder.0, READ_ONLY);
        } else {
            command.env("XDG_RUNTIME_DIR", folder.0.join("none"));
        }
        let live = under_agent::start_prepared(command)?;
        let mounts = std::fs::read_to_string(format!("/proc/{}/mounts", live.pid))?;
        ensure!(mounts.contains(&format!("{} tmpfs ro", folder.path())) == read_only, "{mounts}");
        ensure_messages(&live.redial("dial", &["Shop!*", "count"])?, 0, &[])?;
        end(live.host)?;
    }
    Ok(())
}

/// The launcher cannot write the agent's orders. It says so and starts nothing.
fn launcher_reports_a_full_temporary_folder(runtime: Runtime) -> Result<()> {
    if !may_mount("launcher_reports_a_full_temporary_folder", runtime) {
        return Ok(());
    }
    let folder = Folder::new("full", runtime)?;
    let run = host::redial_run(&["--dial", "Shop!*=count"], &shop(runtime)?)?;
    let mut run = with_mounted(&run, &folder.0, FULL);
    run.env("TMPDIR", folder.path());
    let outcome = host::run(run)?;
    ensure!(outcome.stdout.is_empty(), "the program was started: {}", outcome.output());
    ensure_messages(&outcome, 125, &["No space left", folder.path()])
}

/// `save` finds no room for a new file. The old one stays, and nothing else is left.
fn keeps_the_old_file_on_a_full_disk(runtime: Runtime) -> Result<()> {
    if !may_mount("keeps_the_old_file_on_a_full_disk", runtime) {
        return Ok(());
    }
    let folder = Folder::new("save", runtime)?;
    let live = under_agent::start(shop(runtime)?)?;
    ensure_messages(&live.redial("dial", &["Shop!*", "count"])?, 0, &[])?;
    let file = folder.0.join("dials.txt");
    let save = live.command("save", &[&file.display().to_string()])?;
    // The files are seen before their file system vanishes with the process.
    let mut script = Command::new("sh");
    let seen = "\"$@\"; code=$?; echo \"code $code\"; cat \"$F\"; ls \"$(dirname \"$F\")\" | grep -v '^fil' ";
    script.args(["-c", seen, "sh"]).arg(save.get_program()).args(save.get_args());
    script.env("F", &file);
    let old = "printf 'Shop!Shop.Old.* count\\n' > \"$0/dials.txt\"";
    let outcome = host::run(with_mounted(&script, &folder.0, &format!("{old} && {FULL}")))?;
    let expected = "code 1\nShop!Shop.Old.* count\ndials.txt\n";
    ensure!(outcome.stdout == expected, "{}", outcome.output());
    ensure_messages(&outcome, 0, &["No space left", "dials.txt"])?;
    end(live.host)
}

/// With few descriptors every command either works or says what it lacks. (With three, it cannot even be loaded.)
fn reports_a_lack_of_descriptors(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    ensure_messages(&live.redial("dial", &["Shop!*", "count"])?, 0, &[])?;
    let (mut worked, mut lacked) = (0, 0);
    for words in [&["status"][..], &["watch", "--count", "1"], &["dial", "Shop!*", "time"], &["off"]] {
        for limit in 4..9 {
            let outcome = host::run(with_descriptors(&live, words, limit)?)?;
            let code = outcome.code()?;
            if code == 0 {
                worked += 1;
                continue;
            }
            lacked += 1;
            ensure_messages(&outcome, code, &[]).with_context(|| format!("{words:?} with {limit}"))?;
            ensure!(
                outcome.stderr.contains("oo many open files"),
                "{words:?} with {limit}: {}",
                outcome.output()
            );
        }
    }
    ensure!(worked > 0 && lacked > 0, "{worked} worked, {lacked} did not");
    end(live.host)
}

/// Returns `redial WORD PID …` with a limit of its descriptors.
fn with_descriptors(live: &LiveHost, words: &[&str], limit: u32) -> Result<Command> {
    let (word, rest) = words.split_first().context("a word")?;
    let command = live.command(word, rest)?;
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {limit} && exec \"$@\""), "sh"]);
    limited.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            limited.env(name, value);
        }
    }
    Ok(limited)
}
