//! Processes of another user than the one who attaches. Needs root, and a cache folder that others may read.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::{artefacts, programs, skip};

use super::refusals::{Folder, default_temporary_folder};
use super::{BEFORE, NOW, dial, ensure_failed, ensure_untouched};

const THIRD: u32 = 612_901;

on_attachable_runtimes!(attaches_as_root_but_not_as_third_user, failed_attach_leaves_nothing_behind);

/// Shop of another user, and copies of agent and program that this user may read.
struct OthersShop {
    shop: LiveShop,
    agent: PathBuf,
    redial: PathBuf,
    home: PathBuf,
    owner: u32,
    /// Removed last.
    _place: Folder,
}

impl OthersShop {
    /// Starts it; `None`, with a record of the skipped test, where that is impossible.
    fn start(test: &str, runtime: Runtime) -> Result<Option<OthersShop>> {
        // SAFETY: geteuid(2) takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            skip::not_run(test, "only root can start processes of other users");
            return Ok(None);
        }
        // One user per process: the limit on threads counts all of a user's.
        let owner = 612_910 + std::process::id() % 10_000;
        let place = default_temporary_folder(&test.replace("::", "-"), runtime)?;
        std::fs::set_permissions(&place.0, Permissions::from_mode(0o755))?;
        let copy = |file: PathBuf| -> Result<PathBuf> {
            let to = place.0.join(file.file_name().context("a name")?);
            std::fs::copy(file, &to)?;
            std::fs::set_permissions(&to, Permissions::from_mode(0o755))?;
            Ok(to)
        };
        let (agent, redial) = (copy(artefacts::agent()?)?, copy(artefacts::redial()?)?);
        let home = place.0.join("home");
        std::fs::create_dir(&home)?;
        chown(&home, Some(owner), Some(owner))?;
        let mut reads = Command::new("test");
        reads.arg("-r").arg(programs::shop()?.dll()).uid(owner);
        if !host::run(reads)?.status.success() {
            skip::not_run(test, "other users may not read the cache folder");
            return Ok(None);
        }
        let mut command = programs::shop()?.command(runtime)?;
        command.args(["--live", "--threads", "1"]);
        as_user(&mut command, owner, &home);
        let mut host = Host::start(command)?;
        let pid = host.wait_for("ready")?.parse()?;
        Ok(Some(OthersShop { shop: LiveShop { host, pid }, agent, redial, home, owner, _place: place }))
    }

    fn attach_as(&self, user: u32) -> Result<Outcome> {
        let mut command = Command::new(&self.redial);
        command.env("REDIAL_AGENT", &self.agent).args(["attach", &self.shop.pid.to_string()]);
        as_user(&mut command, user, &self.home);
        host::run(command)
    }

    /// Sets how many threads the process's user may have.
    fn limit_threads(&self, threads: usize) -> Result<()> {
        let mut command = Command::new("prlimit");
        command.args(["--pid", &self.shop.pid.to_string(), &format!("--nproc={threads}:")]);
        // Root may not do this everywhere, but the user itself may.
        as_user(&mut command, self.owner, &self.home);
        host::run(command)?.ok().map(drop)
    }
}

fn as_user(command: &mut Command, user: u32, home: &PathBuf) {
    command.env("TMPDIR", home).env("HOME", home).env("XDG_RUNTIME_DIR", "").uid(user).gid(user);
}

/// Root attaches to another user's process; the agent then belongs to that user. A third user may not attach.
fn attaches_as_root_but_not_as_third_user(runtime: Runtime) -> Result<()> {
    let Some(mut others) = OthersShop::start("attach::other-users", runtime)? else { return Ok(()) };
    ensure_failed(&others.attach_as(THIRD)?, 1, &["may not be dialled by this user"])?;
    ensure_untouched(&mut others.shop)?;
    // The runtime cannot load a library that its user may not read.
    std::fs::set_permissions(&others.agent, Permissions::from_mode(0o600))?;
    ensure_failed(&others.attach_as(0)?, 1, &["cannot be loaded there", "cannot read the file"])?;
    ensure_untouched(&mut others.shop)?;
    std::fs::set_permissions(&others.agent, Permissions::from_mode(0o755))?;
    ensure!(others.attach_as(0)?.ok()?.stdout.contains(NOW));
    ensure!(others.attach_as(others.owner)?.ok()?.stdout.contains(BEFORE));
    dial(&others.shop, &["Shop!Shop.Cart.*"])?;
    others.shop.rounds(1)?;
    others.shop.exit().map(drop)
}

/// The agent's first thread cannot start: the last step of an attach that may fail. A later attach succeeds.
fn failed_attach_leaves_nothing_behind(runtime: Runtime) -> Result<()> {
    let Some(mut others) = OthersShop::start("attach::no-threads", runtime)? else { return Ok(()) };
    let threads = std::fs::read_dir(format!("/proc/{}/task", others.shop.pid))?.count();
    let mut outcome = None;
    // The runtime starts a thread of its own first, and fails without a word of ours if it cannot.
    for limit in threads..threads + 5 {
        others.limit_threads(limit)?;
        let failed = others.attach_as(0)?;
        if failed.code()? != 1 {
            outcome = Some(failed);
            break;
        }
    }
    let outcome = outcome.context("the runtime never got its own thread")?;
    ensure_failed(&outcome, 4, &["refused to load", "start threads"])?;
    others.limit_threads(threads + 1000)?;
    ensure_untouched(&mut others.shop)?;
    ensure!(others.attach_as(0)?.ok()?.stdout.contains(NOW));
    dial(&others.shop, &["Shop!Shop.Cart.*"])?;
    others.shop.rounds(1)?;
    others.shop.exit().map(drop)
}
