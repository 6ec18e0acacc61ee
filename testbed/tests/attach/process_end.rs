//! Processes that end during an attach. They end as they would without it, the attaching command reports that,
//! and nothing is left behind.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals;

use super::refusals::Folder;
use super::{ensure_failed, plain};

on_attachable_runtimes!(killed_during_attach, ends_by_itself_during_attach, ends_at_any_moment);

/// Waits until a client has connected to the runtime's socket and the runtime has not accepted it: a state in
/// unix(7).
fn wait_for_attach_request(folder: &Path) -> Result<()> {
    const NOT_ACCEPTED: &str = "02";
    let folder = folder.to_str().context("a path")?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        let sockets = std::fs::read_to_string("/proc/net/unix")?;
        let asked = |line: &str| {
            let mut fields = line.split_whitespace().skip(5);
            fields.next() == Some(NOT_ACCEPTED)
                && fields
                    .nth(1)
                    .is_some_and(|path| path.starts_with(folder) && path.contains("dotnet-diagnostic"))
        };
        if sockets.lines().any(asked) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("no client connected")
}

/// Checks that the process's temporary folder has nothing of the agent, except perhaps its user's folder
/// without sockets.
fn ensure_nothing_left(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("redial")) {
            let left: Vec<_> = std::fs::read_dir(&path)?.collect::<std::io::Result<_>>()?;
            ensure!(left.is_empty(), "something was left behind: {left:?}");
        }
    }
    Ok(())
}

/// Starts Shop and an attach, and returns both with Shop stopped after the runtime received the request.
fn start_attach(runtime: Runtime, folder: &Folder) -> Result<(LiveShop, Host)> {
    let shop = plain(runtime, 1, &[("TMPDIR", folder.path())])?;
    signals::send(shop.pid, libc::SIGSTOP)?;
    let attaching = Host::start(host::redial(&["attach", &shop.pid.to_string()])?)?;
    if let Err(error) = wait_for_attach_request(folder.path().as_ref()) {
        bail!("{error}: {}", attaching.finish()?.output());
    }
    Ok((shop, attaching))
}

fn killed_during_attach(runtime: Runtime) -> Result<()> {
    let folder = Folder::new("k", runtime)?;
    let (shop, attaching) = start_attach(runtime, &folder)?;
    signals::send(shop.pid, libc::SIGKILL)?;
    ensure_failed(&attaching.finish()?, 3, &["has ended"])?;
    ensure_nothing_left(folder.path().as_ref())
}

/// Both the request and the command to end are waiting when the process continues. It ends normally, whichever
/// comes first.
fn ends_by_itself_during_attach(runtime: Runtime) -> Result<()> {
    for _ in 0..3 {
        let folder = Folder::new("e", runtime)?;
        let (mut shop, attaching) = start_attach(runtime, &folder)?;
        shop.host.say("exit 0")?;
        signals::send(shop.pid, libc::SIGCONT)?;
        ensure_normal_end(shop, attaching, &folder)?;
    }
    Ok(())
}

fn ends_at_any_moment(runtime: Runtime) -> Result<()> {
    for early in [false, true, false, true] {
        let folder = Folder::new("m", runtime)?;
        let mut shop = plain(runtime, 1, &[("TMPDIR", folder.path())])?;
        if early {
            shop.host.say("exit 0")?;
        }
        let attaching = Host::start(host::redial(&["attach", &shop.pid.to_string()])?)?;
        if !early {
            shop.host.say("exit 0")?;
        }
        ensure_normal_end(shop, attaching, &folder)?;
    }
    Ok(())
}

fn ensure_normal_end(shop: LiveShop, attaching: Host, folder: &Folder) -> Result<()> {
    let ended = shop.host.finish()?;
    ensure!(ended.code()? == 0 && ended.stderr.is_empty(), "{}", ended.output());
    let outcome = attaching.finish()?;
    let code = outcome.code()?;
    // Loaded in time, refused by the runtime because it shuts down, or ended before it answered.
    ensure!(matches!(code, 0 | 1 | 3), "{code}: {}", outcome.output());
    ensure!(code == 0 || outcome.stderr.lines().count() == 1, "{}", outcome.output());
    ensure_nothing_left(folder.path().as_ref())
}
