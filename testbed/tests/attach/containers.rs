//! Processes with another file system and another pid for themselves: containers, as the kernel provides them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, LiveShop};
use redial_testbed::{artefacts, cache, programs, skip};

use super::{BEFORE, NOW, dial, ensure_failed, ensure_untouched};

on_attachable_runtimes!(attaches_across_containers);

/// A shell command that gives a process its own root folder, with all our files below it except the temporary
/// folder, and its own /proc. `$0` is the folder.
const OWN_ROOT: &str = "mount --rbind / \"$0\" && mount -t tmpfs redial \"$0/tmp\" && mount -t proc redial \"$0/proc\" \
                        && exec chroot \"$0\" \"$@\"";

/// Starts Shop in its own namespaces with the root folder `root`. Returns `None`, and records a skipped test,
/// where that is impossible.
fn start_contained(runtime: Runtime, root: &Path) -> Result<Option<LiveShop>> {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "-p", "-f", "mount", "-t", "tmpfs", "redial", "/mnt"]);
    if cache::folder().starts_with("/tmp") || !probe.output().is_ok_and(|output| output.status.success()) {
        let why = "only root can give a process a root folder of its own";
        skip::not_run("attach::attaches_across_containers", why);
        return Ok(None);
    }
    let shop = programs::shop()?.command(runtime)?;
    let mut command = Command::new("unshare");
    command.args(["-m", "-p", "-f", "--kill-child", "sh", "-c", OWN_ROOT]).arg(root);
    command.arg(shop.get_program()).args(shop.get_args()).args(["--live", "--threads", "1"]);
    runtime.settle_environment(&mut command);
    command.env_remove("TMPDIR").env("XDG_RUNTIME_DIR", "");
    let mut host = Host::start(command)?;
    let inner: u32 = host.wait_for("ready")?.parse()?;
    let pid = host.only_child()?;
    ensure!(inner == 1 && pid != inner, "it is no container: it calls itself {inner}");
    Ok(Some(LiveShop { host, pid }))
}

/// Folders of one test. Dropping them removes them, after the process, because only its namespace has the
/// mounts.
struct Folders {
    /// The process's root is mounted here; for the test it stays empty.
    root: PathBuf,
    /// Visible to both.
    shared: PathBuf,
    /// Invisible to the process.
    ours: PathBuf,
}

impl Folders {
    fn new(runtime: Runtime) -> Result<Self> {
        let name = format!("elsewhere{}-{}", runtime.name(), std::process::id());
        let base = cache::folder().join("attach");
        let folders = Self {
            root: base.join(format!("{name}-root")),
            shared: base.join(&name),
            ours: Path::new("/tmp").join(&name),
        };
        for folder in [&folders.root, &folders.shared, &folders.ours] {
            std::fs::create_dir_all(folder)?;
        }
        for folder in [&folders.shared, &folders.ours] {
            std::fs::copy(artefacts::agent()?, library(folder))?;
        }
        Ok(folders)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // Always an empty folder: the mounts belonged to a namespace that is gone.
        let _ = std::fs::remove_dir(&self.root);
        let _ = std::fs::remove_dir_all(&self.shared);
        let _ = std::fs::remove_dir_all(&self.ours);
    }
}

fn library(folder: &Path) -> PathBuf {
    folder.join(artefacts::library_name(false))
}

/// Runs `redial WORDS` with the library in a folder.
fn redial(words: &[&str], folder: &Path) -> Result<Outcome> {
    let mut command = host::redial(words)?;
    command.env("REDIAL_AGENT", library(folder));
    host::run(command)
}

/// Returns the agent's state and its reason from `ps`, with the library in a folder.
fn state(pid: u32, folder: &Path) -> Result<(String, String)> {
    let rows = redial(&["ps", "--json"], folder)?.ok()?.json()?;
    let rows = rows.as_array().context("an array")?;
    let row = rows.iter().find(|row| row["pid"] == pid).context("ps does not list it")?;
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    Ok((text("agent"), text("reason")))
}

/// Finds, attaches to and dials the process by its pid outside the container. Counts are exact, and sockets lie
/// in the process's own temporary folder. A library that the process cannot see is reported before any change.
fn attaches_across_containers(runtime: Runtime) -> Result<()> {
    let folders = Folders::new(runtime)?;
    let Some(mut shop) = start_contained(runtime, &folders.root)? else { return Ok(()) };
    let pid = shop.pid.to_string();
    let (hidden, why) = state(shop.pid, &folders.ours)?;
    ensure!(hidden == "refused" && why.contains("its own file system"), "{hidden}: {why}");
    let refused = redial(&["attach", &pid], &folders.ours)?;
    let ours = folders.ours.to_str().context("a path")?;
    ensure_failed(&refused, 4, &["its own file system", ours, "REDIAL_AGENT"])?;
    ensure_untouched(&mut shop)?;

    ensure!(state(shop.pid, &folders.shared)?.0 == "attachable");
    ensure!(redial(&["attach", &pid], &folders.shared)?.ok()?.stdout.contains(NOW));
    ensure!(redial(&["attach", &pid], &folders.shared)?.ok()?.stdout.contains(BEFORE));
    ensure!(state(shop.pid, &folders.shared)?.0 == "loaded");
    let entries = std::fs::read_dir(format!("/proc/{pid}/root/tmp"))?;
    let inside: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    ensure!(inside.iter().any(|name| name.starts_with("redial-")), "{inside:?}");

    shop.host.ask("truth-reset", "reset")?;
    dial(&shop, &["Shop!Shop.Cart.*"])?;
    let before = shop.status()?;
    shop.rounds(5)?;
    let wrong = shop::differences(&shop.truth()?, &before, &shop.status()?, |method, counted| {
        let says_so = counted.note.as_deref().is_some_and(|note| note.contains("already inlined"));
        method.starts_with("Shop.Cart.") && !says_so
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    shop.redial("off", &[])?.ok()?;
    shop.exit()?;
    drop(folders);
    Ok(())
}
