//! A process that gets the pid of one that was killed: it inherits neither dials nor watchers, and files that the old one
//! left do not hide it. The tests choose pids in a pid namespace of their own, which needs root.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals::{self, Stopped};
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, programs, skip};
use serde_json::Value;

on_each_runtime!(a_new_process_inherits_nothing, left_files_do_not_hide_a_new_process);

/// The pid in question.
const PID: &str = "500";
const PATTERN: &str = "Shop!Shop.Cart.*";

/// Gives the next process of the namespace that pid, and passes it the standard input.
const WITH_PID: &str =
    "exec 3<&0; echo $(($0 - 1)) > /proc/sys/kernel/ns_last_pid && { \"$@\" <&3 & wait $!; }";

/// A pid namespace, and a temporary folder for its processes. Dropping it ends them and removes the folder.
struct PidNamespace {
    init: Host,
    runtime: Runtime,
    folder: PathBuf,
}

impl PidNamespace {
    /// Returns `None`, and records a skipped test, where that is impossible.
    fn start(test: &str, runtime: Runtime) -> Result<Option<PidNamespace>> {
        let unshare = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let mut probe = Command::new("unshare");
        probe.args(unshare).args(["sh", "-c", "echo 99 > /proc/sys/kernel/ns_last_pid"]);
        if !probe.output().is_ok_and(|output| output.status.success()) {
            skip::not_run(&format!("reused_pids::{test}"), "only root can choose the pids of processes");
            return Ok(None);
        }
        let name = format!("redial-{test}-{}-{}", runtime.name(), std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut init = Command::new("unshare");
        init.args(unshare).args(["sh", "-c", "echo ready; read line"]);
        let mut init = Host::start(init)?;
        init.wait_for("ready")?;
        Ok(Some(PidNamespace { init, runtime, folder }))
    }

    /// Returns a command that runs another one inside.
    fn enter(&self, inside: &Command) -> Result<Command> {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.init.only_child()?.to_string()).args(["--pid", "--mount", "--"]);
        command.arg(inside.get_program()).args(inside.get_args());
        self.runtime.settle_environment(&mut command);
        for (name, value) in inside.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("TMPDIR", &self.folder).env("XDG_RUNTIME_DIR", "");
        Ok(command)
    }

    /// Starts Shop with [`PID`].
    fn shop(&self, with_agent: bool) -> Result<Host> {
        let shop = programs::shop()?.command(self.runtime)?;
        let mut command = Command::new("sh");
        command.args(["-c", WITH_PID, PID]).arg(shop.get_program()).args(shop.get_args());
        command.args(["--live", "--threads", "1"]);
        if with_agent {
            host::load_agent(&mut command)?;
        }
        let mut host = Host::start(self.enter(&command)?)?;
        let pid = host.wait_for("ready")?;
        ensure!(pid == PID, "it got the pid {pid}");
        Ok(host)
    }

    fn redial(&self, arguments: &[&str]) -> Result<Outcome> {
        host::run(self.enter(&host::redial(arguments)?)?)
    }

    /// Kills the process with [`PID`], and waits until its pid is free.
    fn kill(&self, host: Host) -> Result<()> {
        let mut kill = Command::new("kill");
        kill.args(["-KILL", PID]);
        host::run(self.enter(&kill)?)?.ok()?;
        let ended = host.finish()?;
        ensure!(ended.code()? == 128 + libc::SIGKILL, "{}", ended.output());
        Ok(())
    }

    /// Returns the row of `redial ps` for [`PID`].
    fn row(&self) -> Result<Value> {
        let rows = self.redial(&["ps", "--json"])?.ok()?.json()?;
        let row =
            rows.as_array().and_then(|rows| rows.iter().find(|row| row["pid"].as_u64() == PID.parse().ok()));
        row.cloned().with_context(|| format!("ps does not list {PID}: {rows}"))
    }

    /// Returns the sum of calls that `redial status` shows.
    fn calls(&self) -> Result<u64> {
        let outcome = self.redial(&["status", PID, "--json"])?;
        let rows = outcome.json()?;
        let rows = rows.as_array().with_context(|| outcome.output())?;
        Ok(rows.iter().filter_map(|row| row["calls"].as_u64()).sum())
    }

    fn counts(&self, shop: &mut Host) -> Result<()> {
        self.redial(&["dial", PID, PATTERN, "count"])?.ok()?;
        shop.ask("round 3", "done")?;
        ensure!(self.calls()? > 0, "no calls were counted");
        Ok(())
    }
}

impl Drop for PidNamespace {
    fn drop(&mut self) {
        self.init.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The watcher is stopped in between, so that it never sees the pid without a process.
fn a_new_process_inherits_nothing(runtime: Runtime) -> Result<()> {
    let Some(namespace) = PidNamespace::start("inherits", runtime)? else { return Ok(()) };
    let mut old = namespace.shop(true)?;
    namespace.counts(&mut old)?;
    let watch = host::redial(&["watch", PID, "--json", "--interval", "20"])?;
    let mut watch = Host::start(namespace.enter(&watch)?)?;
    watch.next_line()?;
    let stopped = Stopped::stop(watch.only_child()?)?;
    namespace.kill(old)?;
    let mut new = namespace.shop(true)?;
    drop(stopped);
    // nsenter stops with its child.
    signals::send(watch.pid(), libc::SIGCONT)?;
    ensure_messages(&watch.finish()?, 3, &["has ended"])?;

    let row = namespace.row()?;
    ensure!(row["agent"] == "loaded" && row["kept"] == 0, "{row}");
    new.ask("round 3", "done")?;
    ensure!(namespace.calls()? == 0, "it counts by the dials of the old process");
    namespace.counts(&mut new)?;
    new.say("exit")?;
    new.finish()?.ok().map(drop)
}

/// The old process leaves the sockets of its agent and of its runtime's diagnostics.
fn left_files_do_not_hide_a_new_process(runtime: Runtime) -> Result<()> {
    let Some(namespace) = PidNamespace::start("left", runtime)? else { return Ok(()) };
    let mut old = namespace.shop(true)?;
    namespace.counts(&mut old)?;
    namespace.kill(old)?;
    let left = std::fs::read_dir(&namespace.folder)?.count();
    ensure!(left > 0, "nothing is left");
    let mut new = namespace.shop(false)?;
    let row = namespace.row()?;
    let refused = namespace.redial(&["status", PID])?;
    ensure!(refused.code()? != 0 && !refused.stderr.contains("has ended"), "{}", refused.output());
    if runtime == Runtime::V2_1 {
        ensure!(row["agent"] == "launch-only", "{row}");
    } else {
        ensure!(row["agent"] == "attachable", "{row}");
        namespace.redial(&["attach", PID])?.ok()?;
        namespace.counts(&mut new)?;
    }
    new.say("exit")?;
    new.finish()?.ok().map(drop)
}
