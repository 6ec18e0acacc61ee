//! The root of a system that has nothing but Debian's base. It is older than the machines that build packages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{cache, programs};

/// Debian 11 with glibc 2.31, unless `REDIAL_DEBIAN` names another release, for packages of debug builds.
fn suite() -> String {
    std::env::var("REDIAL_DEBIAN").unwrap_or_else(|_| "bullseye".to_owned())
}

/// A copy of the base system, with .NET 8 in `/dotnet` and Shop in `/shop`. Dropping it removes the folder.
pub struct FreshRoot(PathBuf);

impl FreshRoot {
    /// Makes a root for a test. The base system comes from the cache, or from Debian's archive.
    pub fn new(test: &str) -> Result<FreshRoot> {
        let suite = suite();
        let base = cache::ensure("roots/debian", &suite, |into| {
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", &suite]).arg(into.join("root"));
            host::run(debootstrap)?.ok().map(drop)
        })?;
        let root = FreshRoot(cache::folder().join("roots").join(format!("{test}-{}", std::process::id())));
        copy(&base.join("root"), &root.0)?;
        let runtime = Runtime::V8_0.ensure()?;
        copy(&runtime.root(), &root.path("dotnet"))?;
        copy(programs::shop()?.folder(), &root.path("shop"))?;
        Ok(root)
    }

    /// Returns the root's folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns a path inside the root as this machine sees it.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.0.join(inside.trim_start_matches('/'))
    }

    /// Returns a command that runs a shell script in the root, with `/proc` and the arguments as `$1`, `$2`, …. Its
    /// processes have ids of this machine.
    pub fn shell(&self, script: &str, arguments: &[&str]) -> Command {
        self.enter(&["--mount"], script, arguments)
    }

    /// Like [`FreshRoot::shell`], as the first process of a pid namespace, as in a container.
    pub fn container(&self, script: &str, arguments: &[&str]) -> Command {
        self.enter(&["--mount", "--pid", "--fork", "--kill-child"], script, arguments)
    }

    fn enter(&self, namespaces: &[&str], script: &str, arguments: &[&str]) -> Command {
        const ENTER: &str = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" /bin/sh -c \"$@\"";
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", ENTER]).arg(&self.0).args([script, "sh"]).args(arguments);
        command.env_clear();
        command.envs([
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", "/tmp"),
            ("DOTNET_ROLL_FORWARD", "Major"),
            ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
        ]);
        command
    }

    /// Runs a script to its end, which must succeed.
    pub fn run(&self, script: &str) -> Result<Outcome> {
        host::run(self.shell(script, &[]))?.ok().with_context(|| script.to_owned())
    }

    /// Returns all files and folders, except what the package manager notes about itself and what is temporary.
    pub fn files(&self) -> Result<BTreeSet<String>> {
        let mut find = Command::new("find");
        find.arg(&self.0).args(["-mindepth", "1", "-printf", "%P\n"]);
        let found = host::run(find)?.ok()?.stdout;
        let is_note = |file: &&str| {
            ["var/lib/dpkg/", "var/log/", "var/cache/", "tmp/", "proc/"]
                .iter()
                .any(|notes| file.starts_with(notes))
        };
        Ok(found.lines().filter(|file| !is_note(file)).map(str::to_owned).collect())
    }

    /// Gets the first number in two commands, as the guide shows: starts Shop with a dial, and asks for its status.
    /// `redial` is the program's path inside the root.
    pub fn first_number(&self, redial: &str) -> Result<()> {
        const RUN: &str = "exec \"$1\" run --dial 'Shop!Shop.Cart.*=count' -- /dotnet/dotnet /shop/Shop.dll --live --threads 1";
        let mut host = Host::start(self.shell(RUN, &[redial]))?;
        let pid = host.wait_for("ready")?;
        host.ask("round 3", "done")?;
        let status =
            host::run(self.shell("exec \"$1\" status \"$2\" --json", &[redial, &pid]))?.ok()?.json()?;
        let rows = status.as_array().context("an array of rows")?;
        ensure!(rows.iter().any(|row| row["calls"].as_u64() > Some(0)), "no calls were counted: {status}");
        host.say("exit")?;
        host.finish()?.ok().map(drop)
    }

    /// Checks that `redial --version` names version, commit and target.
    pub fn ensure_version(&self, redial: &str) -> Result<()> {
        let said = self.run(&format!("{redial} --version"))?.stdout;
        let version = concat!("redial ", env!("CARGO_PKG_VERSION"), " (commit ");
        let commit = said.strip_prefix(version).and_then(|rest| rest.split(", ").next());
        let is_commit = commit.is_some_and(|commit| commit.len() >= 12 && commit != "unknown");
        ensure!(is_commit && said.trim_end().ends_with(", x86_64-unknown-linux-gnu)"), "{said}");
        Ok(())
    }
}

impl Drop for FreshRoot {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto"]).arg(from).arg(to);
    host::run(copy)?.ok().map(drop)
}
