//! Processes that end while the agent is attached to them: they end as they would have, whoever attaches is told, and
//! nothing is left behind.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals;

use super::refusals::Folder;
use super::{failed, plain};

on_attachable_runtimes!(killed_while_it_is_asked, ending_by_itself_while_it_is_asked, ending_at_any_moment);

/// Somebody has connected to the runtime's socket, and it has not looked yet: unix(7) tells so as a state.
fn wait_until_asked(folder: &Path) -> Result<()> {
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
    bail!("nobody asked")
}

/// Nothing of the agent lies in the process's temporary folder but, perhaps, a folder of its user's without a socket.
fn nothing_is_left(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("redial")) {
            let left: Vec<_> = std::fs::read_dir(&path)?.collect::<std::io::Result<_>>()?;
            ensure!(left.is_empty(), "something was left behind: {left:?}");
        }
    }
    Ok(())
}

/// A stopped Shop whose runtime has been asked to load the agent, and who asks.
fn asked(runtime: Runtime, folder: &Folder) -> Result<(LiveShop, Host)> {
    let shop = plain(runtime, 1, &[("TMPDIR", folder.path())])?;
    signals::send(shop.pid, libc::SIGSTOP)?;
    let attaching = Host::start(host::redial(&["attach", &shop.pid.to_string()])?)?;
    if let Err(error) = wait_until_asked(folder.path().as_ref()) {
        bail!("{error}: {}", attaching.finish()?.said());
    }
    Ok((shop, attaching))
}

fn killed_while_it_is_asked(runtime: Runtime) -> Result<()> {
    let folder = Folder::new("k", runtime)?;
    let (shop, attaching) = asked(runtime, &folder)?;
    signals::send(shop.pid, libc::SIGKILL)?;
    failed(&attaching.finish()?, 3, &["has ended"])?;
    nothing_is_left(folder.path().as_ref())
}

/// The question and the word to end are there when it goes on: it ends as it would have, whichever comes first.
fn ending_by_itself_while_it_is_asked(runtime: Runtime) -> Result<()> {
    for _ in 0..3 {
        let folder = Folder::new("e", runtime)?;
        let (mut shop, attaching) = asked(runtime, &folder)?;
        shop.host.say("exit 0")?;
        signals::send(shop.pid, libc::SIGCONT)?;
        ended_as_it_would_have(shop, attaching, &folder)?;
    }
    Ok(())
}

fn ending_at_any_moment(runtime: Runtime) -> Result<()> {
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
        ended_as_it_would_have(shop, attaching, &folder)?;
    }
    Ok(())
}

fn ended_as_it_would_have(shop: LiveShop, attaching: Host, folder: &Folder) -> Result<()> {
    let ended = shop.host.finish()?;
    ensure!(ended.code()? == 0 && ended.stderr.is_empty(), "{}", ended.said());
    let outcome = attaching.finish()?;
    let code = outcome.code()?;
    // Loaded in time; the runtime's own refusal while it shuts down; ended before it answered.
    ensure!(matches!(code, 0 | 1 | 3), "{code}: {}", outcome.said());
    ensure!(code == 0 || outcome.stderr.lines().count() == 1, "{}", outcome.said());
    nothing_is_left(folder.path().as_ref())
}
