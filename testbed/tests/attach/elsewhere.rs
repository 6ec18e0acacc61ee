//! Processes that see another file system, and know themselves by another number: containers, as the kernel makes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, LiveShop};
use redial_testbed::{artefacts, cache, programs, skip};

use super::{BEFORE, NOW, dial, failed, is_untouched};

on_attachable_runtimes!(another_root_and_another_number);

/// Words for a shell that give a process a root folder of its own, with everything of ours below it but a temporary folder
/// and a /proc of its own. `$0` is the folder.
const OWN_ROOT: &str = "mount --rbind / \"$0\" && mount -t tmpfs redial \"$0/tmp\" && mount -t proc redial \"$0/proc\" \
                        && exec chroot \"$0\" \"$@\"";

/// Shop in namespaces of its own, with `root` for its root folder; None, and noted as not run, where that cannot be had.
fn contained(runtime: Runtime, root: &Path) -> Result<Option<LiveShop>> {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "-p", "-f", "mount", "-t", "tmpfs", "redial", "/mnt"]);
    if cache::folder().starts_with("/tmp") || !probe.output().is_ok_and(|output| output.status.success()) {
        let why = "only root can give a process a root folder of its own";
        skip::not_run("attach::another_root_and_another_number", why);
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

/// Folders of one test; removed when dropped, after the process, whose mounts are nobody else's.
struct Folders {
    /// Where its root is put; stays empty for us.
    root: PathBuf,
    /// Seen by both.
    shared: PathBuf,
    /// Not seen by it.
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
        // Only ever an empty folder: what was mounted there was so in a namespace that is gone.
        let _ = std::fs::remove_dir(&self.root);
        let _ = std::fs::remove_dir_all(&self.shared);
        let _ = std::fs::remove_dir_all(&self.ours);
    }
}

fn library(folder: &Path) -> PathBuf {
    folder.join(artefacts::library_name(false))
}

/// `redial WORDS` with the library of a folder.
fn redial(words: &[&str], folder: &Path) -> Result<Outcome> {
    let mut command = host::redial(words)?;
    command.env("REDIAL_AGENT", library(folder));
    host::run(command)
}

/// The agent's state and why, as `ps` has it with the library of a folder.
fn state(pid: u32, folder: &Path) -> Result<(String, String)> {
    let rows = redial(&["ps", "--json"], folder)?.ok()?.json()?;
    let rows = rows.as_array().context("an array")?;
    let row = rows.iter().find(|row| row["pid"] == pid).context("ps does not list it")?;
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    Ok((text("agent"), text("reason")))
}

/// Found, attached to and dialled by the number it has here; counts are exact; sockets lie in its own temporary folder. A
/// library that it does not see is told of before anything is done.
fn another_root_and_another_number(runtime: Runtime) -> Result<()> {
    let folders = Folders::new(runtime)?;
    let Some(mut shop) = contained(runtime, &folders.root)? else { return Ok(()) };
    let pid = shop.pid.to_string();
    let (hidden, why) = state(shop.pid, &folders.ours)?;
    ensure!(hidden == "refused" && why.contains("its own file system"), "{hidden}: {why}");
    let refused = redial(&["attach", &pid], &folders.ours)?;
    let ours = folders.ours.to_str().context("a path")?;
    failed(&refused, 4, &["its own file system", ours, "REDIAL_AGENT"])?;
    is_untouched(&mut shop)?;

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
