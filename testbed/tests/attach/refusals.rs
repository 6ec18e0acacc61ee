//! Processes that refuse an attach, in general or from some users: a sentence, an exit code, and nothing left
//! behind.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals::Stopped;
use redial_testbed::{artefacts, cache, programs, skip};

use super::{NOW, attach, dial, ensure_attaches, ensure_failed, ensure_untouched, listed_state, plain};

on_attachable_runtimes!(
    leaves_a_stopped_process_alone,
    uses_the_temporary_folder_of_the_process,
    another_profiler_keeps_the_agent_out,
    reports_missing_diagnostics_port,
    respects_variables_of_the_process,
    reports_a_full_disk,
);

/// A stopped process cannot answer. When it continues, the abandoned request has no effect.
fn leaves_a_stopped_process_alone(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime, 1, &[])?;
    let stopped = Stopped::stop(shop.pid)?;
    for _ in 0..3 {
        ensure_failed(&attach(shop.pid, &["--timeout", "1"])?, 1, &["did not answer within 1 s", "stopped"])?;
    }
    drop(stopped);
    ensure_untouched(&mut shop)?;
    // The runtime answers requests in order, so an earlier attach request would already have loaded the agent.
    ensure_attaches(shop.pid)?;
    shop.rounds(1)?;
    shop.exit().map(drop)
}

/// A folder for one test. Dropping it removes the folder.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str, runtime: Runtime) -> Result<Self> {
        let folder =
            cache::folder().join("attach").join(format!("{name}{}-{}", runtime.name(), std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover stays in the cache folder, under a unique name.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runtime and agent use the process's TMPDIR, whatever the test's own is.
fn uses_the_temporary_folder_of_the_process(runtime: Runtime) -> Result<()> {
    let (theirs, ours) = (Folder::new("t", runtime)?, Folder::new("o", runtime)?);
    let mut shop = plain(runtime, 1, &[("TMPDIR", theirs.path())])?;
    ensure!(listed_state(shop.pid)?.0 == "attachable");
    let mut command = host::redial(&["attach", &shop.pid.to_string()])?;
    command.env("TMPDIR", ours.path());
    ensure!(host::run(command)?.ok()?.stdout.contains(NOW));
    dial(&shop, &["Shop!Shop.Cart.*"])?;
    shop.rounds(1)?;
    shop.exit()?;
    ensure!(std::fs::read_dir(&ours.0)?.next().is_none(), "something was left in our folder");
    Ok(())
}

/// A process has one profiler: the agent stays out, and the other profiler keeps working.
fn another_profiler_keeps_the_agent_out(runtime: Runtime) -> Result<()> {
    let other = artefacts::other_profiler()?;
    let path = other.to_str().context("a path")?;
    let variables = [
        ("CORECLR_ENABLE_PROFILING", "1"),
        ("CORECLR_PROFILER", "{1B1F5C0D-7A60-4E57-9C4B-0C6F3A4D8E21}"),
        ("CORECLR_PROFILER_PATH", path),
    ];
    let mut shop = plain(runtime, 1, &variables)?;
    ensure_failed(&attach(shop.pid, &[])?, 3, &["another profiler", path, "only one"])?;
    ensure_untouched(&mut shop)?;
    shop.host.say("exit 0")?;
    let outcome = shop.host.finish()?.ok()?;
    ensure!(outcome.stderr.starts_with("hooked "), "it was not there: {}", outcome.output());
    Ok(())
}

fn reports_missing_diagnostics_port(runtime: Runtime) -> Result<()> {
    let name =
        if runtime == Runtime::V8_0 { "DOTNET_EnableDiagnostics" } else { "COMPlus_EnableDiagnostics" };
    let mut shop = plain(runtime, 1, &[(name, "0")])?;
    ensure_failed(&attach(shop.pid, &[])?, 3, &["switched off", name, "unset it first", "redial run"])?;
    let (state, why) = listed_state(shop.pid)?;
    ensure!(state == "launch-only" && why.contains(name) && why.contains("redial run"), "{state}: {why}");
    ensure_untouched(&mut shop)?;
    shop.exit().map(drop)
}

/// The variables in the process's environment apply to an attached agent, except those about another launch.
fn respects_variables_of_the_process(runtime: Runtime) -> Result<()> {
    for (name, value, parts) in [
        ("REDIAL_DISABLE", "1", ["REDIAL_DISABLE is set", "refused to load"]),
        ("REDIAL_MAX_LEVEL", "counts", ["REDIAL_MAX_LEVEL", "is invalid"]),
    ] {
        let mut shop = plain(runtime, 1, &[(name, value)])?;
        ensure_failed(&attach(shop.pid, &[])?, 4, &parts)?;
        ensure_untouched(&mut shop)?;
        shop.exit()?;
    }
    let of_a_launch = [
        ("REDIAL_LAUNCHER", "1:1"),
        ("REDIAL_ORDERS", "/no/such/orders"),
        ("REDIAL_NO_INLINING", "1"),
        ("REDIAL_REPORT", "1"),
        ("REDIAL_MAX_LEVEL", "off"),
    ];
    let shop = plain(runtime, 1, &of_a_launch)?;
    ensure_attaches(shop.pid)?;
    let refused = shop.redial("dial", &["Shop!Shop.Cart.*", "count"])?;
    ensure!(refused.code()? != 0, "the highest level does not hold: {}", refused.output());
    shop.exit().map(drop)
}

/// Starts a process with its own temporary folder that has room for the runtime's socket but not for the
/// agent's. Outside that folder it sees the same files. Returns `None`, and records a skipped test, where that
/// is impossible.
fn with_full_disk(runtime: Runtime) -> Result<Option<LiveShop>> {
    let shop = programs::shop()?.command(runtime)?;
    if cache::folder().starts_with("/tmp") {
        skip::not_run("attach::reports_a_full_disk", "the cache folder is in the temporary folder");
        return Ok(None);
    }
    let script = "mount -t tmpfs -o size=1m,nr_inodes=64 redial /tmp && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(shop.get_program()).args(shop.get_args());
    runtime.settle_environment(&mut command);
    command.args(["--live", "--threads", "1"]).env_remove("TMPDIR").env("XDG_RUNTIME_DIR", "");
    let mut probe = Command::new("unshare");
    probe.args(["-m", "mount", "-t", "tmpfs", "redial", "/tmp"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        skip::not_run("attach::reports_a_full_disk", "only root can mount a file system of a process's own");
        return Ok(None);
    }
    let mut host = Host::start(command)?;
    let pid: u32 = host.wait_for("ready")?.parse()?;
    let temporary = temporary_folder_of(pid);
    for file in 0.. {
        if let Err(error) = std::fs::File::create(temporary.join(format!("full-{file}"))) {
            ensure!(error.kind() == std::io::ErrorKind::StorageFull, "{error}");
            break;
        }
    }
    Ok(Some(LiveShop { host, pid }))
}

fn temporary_folder_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root/tmp"))
}

/// The agent's socket finds no room. The agent reports that instead of staying unreachable. The runtime's
/// socket lies in the process's own file system, which must contain the library too.
fn reports_a_full_disk(runtime: Runtime) -> Result<()> {
    let Some(mut shop) = with_full_disk(runtime)? else { return Ok(()) };
    let (outside, inside) = (default_temporary_folder("redial-hidden", runtime)?, Folder::new("l", runtime)?);
    for folder in [&outside, &inside] {
        std::fs::copy(artefacts::agent()?, folder.0.join(artefacts::library_name(false)))?;
    }
    let pid = shop.pid.to_string();
    let attach_with = |folder: &Folder| -> Result<Outcome> {
        let mut command = host::redial(&["attach", &pid])?;
        command.env("REDIAL_AGENT", folder.0.join(artefacts::library_name(false)));
        host::run(command)
    };
    ensure_failed(&attach_with(&outside)?, 4, &["its own file system", outside.path(), "REDIAL_AGENT"])?;
    ensure_failed(&attach_with(&inside)?, 4, &["refused to load", "its socket", "full"])?;
    let full = temporary_folder_of(shop.pid);
    let left: Vec<_> =
        std::fs::read_dir(&full)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    ensure!(left.iter().all(|name| !name.starts_with("redial")), "something was left behind: {left:?}");
    ensure_untouched(&mut shop)?;
    std::fs::remove_file(full.join("full-0"))?;
    std::fs::remove_file(full.join("full-1"))?;
    ensure!(attach_with(&inside)?.ok()?.stdout.contains(NOW));
    shop.rounds(1)?;
    shop.exit().map(drop)
}

/// Returns a folder in `/tmp`, the default temporary folder.
pub(super) fn default_temporary_folder(name: &str, runtime: Runtime) -> Result<Folder> {
    let folder = Path::new("/tmp").join(format!("{name}{}-{}", runtime.name(), std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(Folder(folder))
}

#[test]
fn reports_ended_process() -> Result<()> {
    let mut child = Command::new("true").spawn()?;
    let pid = child.id();
    child.wait()?;
    ensure_failed(&attach(pid, &[])?, 3, &[&format!("no process {pid}")])
}

#[test]
fn reports_process_without_dotnet() -> Result<()> {
    let native = Host::start(Command::new("cat"))?;
    ensure_failed(&attach(native.pid(), &[])?, 3, &["not a .NET process"])
}

#[test]
fn net_2_1_has_no_port() -> Result<()> {
    let mut shop = plain(Runtime::V2_1, 1, &[])?;
    ensure_failed(&attach(shop.pid, &[])?, 3, &["2.1.30", "redial run"])?;
    ensure!(listed_state(shop.pid)?.0 == "launch-only");
    ensure_untouched(&mut shop)?;
    shop.exit().map(drop)
}

/// A file that is not a library. The runtime's loader would only report failure.
#[test]
fn names_a_file_that_is_not_a_library() -> Result<()> {
    let shop = plain(Runtime::V8_0, 1, &[])?;
    let attach_with = |library: &Path| -> Result<Outcome> {
        let mut command = host::redial(&["attach", &shop.pid.to_string()])?;
        command.env("REDIAL_AGENT", library);
        host::run(command)
    };
    ensure_failed(&attach_with(Path::new("/no/such/agent.so"))?, 4, &["/no/such/agent.so", "REDIAL_AGENT"])?;
    let program = artefacts::redial()?;
    let text = programs::shop()?.folder().join("Shop.runtimeconfig.json");
    ensure_failed(&attach_with(&text)?, 4, &["is not a shared library"])?;
    ensure!(program.is_file());
    shop.exit().map(drop)
}
