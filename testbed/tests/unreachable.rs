//! Processes whose agent cannot be reached or never loads: every command names the true reason, and a killed launcher
//! leaves nothing.
#![cfg(target_os = "linux")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{artefacts, cache, on_each_runtime, programs, signals, skip};

on_each_runtime!(
    names_a_folder_that_cannot_be_trusted,
    names_refused_orders,
    names_the_switch_that_keeps_profilers_out,
    killed_launcher_leaves_no_files,
);

/// A temporary folder for one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, runtime: Runtime) -> Result<Folder> {
        let name = format!("{name}{}-{}", runtime.name(), std::process::id());
        let folder = cache::folder().join("unreachable").join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    fn files(&self) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover stays in the cache folder, under a unique name.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "1"]).env_remove("XDG_RUNTIME_DIR");
    Ok(command)
}

/// Checks that `status` and `ps` name the reason for a process without an endpoint.
fn ensure_reason(pid: &str, part: &str) -> Result<()> {
    ensure_messages(&host::run(host::redial(&["status", pid])?)?, 4, &[part])?;
    let listed = host::run(host::redial(&["ps", "--json"])?)?.ok()?.json()?;
    let mut rows = listed.as_array().context("an array")?.iter();
    let row = rows.find(|row| row["pid"].as_u64() == pid.parse().ok()).context("ps does not list it")?;
    ensure!(row["reason"].as_str().is_some_and(|reason| reason.contains(part)), "{row}");
    Ok(())
}

fn names_a_folder_that_cannot_be_trusted(runtime: Runtime) -> Result<()> {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        skip::not_run("unreachable::folder", "only root can give a process a /tmp of its own");
        return Ok(());
    }
    if cache::folder().starts_with("/tmp") {
        skip::not_run("unreachable::folder", "the cache folder is in the temporary folder");
        return Ok(());
    }
    // The agent must be visible behind the new /tmp.
    let folder = Folder::new("folder", runtime)?;
    let agent = folder.0.join(artefacts::library_name(false));
    std::fs::copy(artefacts::agent()?, &agent)?;
    let mut command = Command::new("unshare");
    let shop = shop(runtime)?;
    // A /tmp of its own, where the folder is open to others.
    let script = "mount -t tmpfs redial /tmp && mkdir -m 0711 /tmp/redial-$(id -u) && exec \"$@\"";
    command.args(["-m", "sh", "-c", script, "sh"]).arg(shop.get_program()).args(shop.get_args());
    runtime.settle_environment(&mut command);
    command.env_remove("TMPDIR").env("XDG_RUNTIME_DIR", "");
    host::load_agent_from(&mut command, &agent);
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?;
    // The listener's thread notes the reason; nothing announces it.
    let deadline = std::time::Instant::now() + host::DEADLINE / 10;
    while redial_protocol::unreachable_note::read(pid.parse()?).is_none() {
        ensure!(std::time::Instant::now() < deadline, "no note");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    ensure_reason(&pid, "its mode is 0711, not 0700")?;
    host.say("exit 0")?;
    host.finish()?.ok().map(drop)
}

fn names_refused_orders(runtime: Runtime) -> Result<()> {
    let folder = Folder::new("orders", runtime)?;
    let orders = folder.0.join("orders");
    std::fs::write(&orders, "# redial dials 1\n")?;
    std::fs::set_permissions(&orders, Permissions::from_mode(0o622))?;
    let mut command = shop(runtime)?;
    command.env("REDIAL_ORDERS", &orders).env("TMPDIR", &folder.0);
    host::load_agent(&mut command)?;
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?;
    ensure_reason(&pid, "cannot apply REDIAL_ORDERS")?;
    host.say("exit 0")?;
    host.finish()?.ok().map(drop)
}

fn names_the_switch_that_keeps_profilers_out(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    let name =
        if runtime == Runtime::V8_0 { "DOTNET_EnableDiagnostics" } else { "COMPlus_EnableDiagnostics" };
    command.env(name, "0");
    let mut run = Host::start(host::redial_run(&[], &command)?)?;
    run.wait_for("ready")?;
    run.say("exit 0")?;
    let outcome = run.finish()?;
    if runtime != Runtime::V8_0 {
        // There the switch does not concern profilers.
        return ensure_messages(&outcome, 0, &[]);
    }
    ensure_messages(&outcome, 0, &[&format!("{name}=0"), "unset it"])
}

fn killed_launcher_leaves_no_files(runtime: Runtime) -> Result<()> {
    let folder = Folder::new("killed", runtime)?;
    let mut command = shop(runtime)?;
    command.env("TMPDIR", &folder.0);
    let mut run = Host::start(host::redial_run(&["--dial", "Shop.Cart.*=count"], &command)?)?;
    run.wait_for("ready")?;
    let of_launch = |name: &String| name.starts_with("redial-mark-") || name.starts_with("redial-orders-");
    ensure!(folder.files()?.iter().filter(|name| of_launch(name)).count() == 2, "{:?}", folder.files()?);
    signals::send(run.pid(), libc::SIGKILL)?;
    while run.is_running()? {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    run.say("exit 0")?;
    run.finish()?;
    ensure!(!folder.files()?.iter().any(of_launch), "{:?}", folder.files()?);
    Ok(())
}
