//! zip and msi under Wine: installed, used, removed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{cache, programs, wine};

use super::package;

/// Gets the first number with an installed `redial.exe` in two commands.
fn first_number(program: &Path) -> Result<()> {
    let counter = programs::named("counter")?;
    let dotnet = wine::dotnet(Runtime::WINDOWS_8_0, counter.dll())?;
    let mut run = wine::command(program)?;
    run.args(["run", "--dial", "counter!Counter.Add(int)=count", "--"]);
    // The first argument of a command under Wine is the Windows program.
    run.args(dotnet.get_args()).env_remove("REDIAL_AGENT");
    for (name, value) in dotnet.get_envs() {
        match value {
            Some(value) => run.env(name, value),
            None => run.env_remove(name),
        };
    }
    let mut host = Host::start(run)?;
    let pid = host.wait_for("ready")?;
    host.ask("call 1234", "called 1234")?;
    let mut status = wine::command(program)?;
    status.args(["status", &pid, "--json"]).env_remove("REDIAL_AGENT");
    let outcome = host::run(status)?;
    let rows = outcome.json()?;
    ensure!(rows[0]["calls"] == 1234, "{}", outcome.output());
    host.say("exit")?;
    host.finish().map(drop)
}

fn ensure_version(program: &Path) -> Result<()> {
    let mut version = wine::command(program)?;
    version.arg("--version");
    let outcome = host::run(version)?;
    let expected = concat!("redial ", env!("CARGO_PKG_VERSION"), " (commit ");
    let said = outcome.stdout.trim_end();
    ensure!(said.starts_with(expected) && said.ends_with(", x86_64-pc-windows-gnu)"), "{}", outcome.output());
    Ok(())
}

#[test]
fn zip_runs_where_it_is_unpacked() -> Result<()> {
    let folder = cache::folder().join("packages").join(format!("zip-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut unzip = Command::new("unzip");
    unzip.arg("-q").arg(package("-win-x64.zip")?).arg("-d").arg(&folder);
    host::run(unzip)?.ok()?;
    let program = folder.join(concat!("redial-", env!("CARGO_PKG_VERSION"), "-win-x64")).join("redial.exe");
    let used = ensure_version(&program).and_then(|()| first_number(&program));
    std::fs::remove_dir_all(&folder)?;
    used
}

/// Runs Windows' installer silently.
fn installer(switch: &str) -> Result<()> {
    // The program is one of Windows, without a path on this machine.
    let loader = wine::command(Path::new("msiexec"))?;
    let mut installer = Command::new(loader.get_program());
    installer.args(["msiexec", switch]).arg(wine::windows_path(&package(".msi")?)).arg("/qn");
    host::run(installer)?.ok().map(drop)
}

#[test]
fn msi_installs_counts_and_leaves_nothing() -> Result<()> {
    let prefix = PathBuf::from(std::env::var_os("WINEPREFIX").context("WINEPREFIX names no prefix")?);
    let folder = prefix.join("drive_c/Program Files/Redial");
    ensure!(!folder.exists(), "an earlier test left {}", folder.display());
    installer("/i")?;
    let program = folder.join("redial.exe");
    let used = ensure_version(&program).and_then(|()| first_number(&program));
    let has_guides = folder.join("docs/reference/commands/dial.md").is_file();
    installer("/x")?;
    used?;
    ensure!(has_guides, "no guides were installed");
    ensure!(!folder.exists(), "uninstalling left {}", folder.display());
    Ok(())
}
