//! `redial env`: the test uses the output for a shell, and systemd's own verifier checks the output for
//! systemd.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{artefacts, cache, programs, skip};
use serde_json::Value;

/// A folder with the library, under a path that needs quoting in shells and units. Dropping it removes the
/// folder.
struct LibraryFolder(PathBuf);

impl LibraryFolder {
    fn new(test: &str) -> Result<LibraryFolder> {
        let folder =
            cache::folder().join("env").join(format!("{test} o'clock 100% $HOME-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let place = LibraryFolder(folder);
        std::fs::copy(artefacts::agent()?, place.agent())?;
        Ok(place)
    }

    fn agent(&self) -> PathBuf {
        self.0.join(artefacts::library_name(false))
    }

    /// Runs `redial env --for MEANS` with this folder's library.
    fn redial(&self, words: &[&str]) -> Result<Outcome> {
        let mut command = host::redial(&[&["env"], words].concat())?;
        command.env("REDIAL_AGENT", self.agent());
        host::run(command)
    }
}

impl Drop for LibraryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("-c").arg("exit 0").output().is_ok_and(|output| output.status.success())
}

/// After evaluating the printed lines, a shell starts Shop with the agent; after undoing them, without it.
#[test]
fn shell_lines_load_and_unload_the_agent() -> Result<()> {
    let place = LibraryFolder::new("shell")?;
    let shop = programs::shop()?.command(Runtime::V8_0)?;
    let undo = place.redial(&["--for", "shell", "--json"])?.ok()?.json()?["undo"][0].clone();
    let undo = undo.as_str().context("a line")?.to_owned();
    for shell in ["sh", "bash", "dash"].into_iter().filter(|shell| is_installed(shell)) {
        for (script, state) in [(String::new(), "loaded"), (format!("{undo}; "), "attachable")] {
            let script = format!("eval \"$(\"$REDIAL\" env --for shell)\"; {script}exec \"$@\"");
            let mut command = Command::new(shell);
            command.args(["-c", &script, shell]).arg(shop.get_program()).args(shop.get_args());
            Runtime::V8_0.settle_environment(&mut command);
            command.args(["--live", "--threads", "1"]);
            command.env("REDIAL", artefacts::redial()?).env("REDIAL_AGENT", place.agent());
            let mut host = Host::start(command)?;
            let pid = host.wait_for("ready")?.parse()?;
            let mut shop = LiveShop { host, pid };
            let rows = host::run(host::redial(&["ps", "--json"])?)?.ok()?.json()?;
            let row = rows.as_array().and_then(|rows| rows.iter().find(|row| row["pid"] == pid));
            ensure!(row.is_some_and(|row| row["agent"] == state), "{shell}: {row:?}");
            if state == "loaded" {
                shop.redial("dial", &["Shop!Shop.Cart.*", "count"])?.ok()?;
                shop.rounds(3)?;
                let counted = shop.status()?;
                ensure!(counted.values().any(|counted| counted.calls > 0), "{counted:?}");
            }
            shop.exit()?;
        }
    }
    Ok(())
}

/// Runs `systemd-analyze verify` on a service with this drop-in. Returns whether it passes, and the output.
fn verify(folder: &Path, drop_in: &str) -> Result<(bool, String)> {
    let unit = folder.join("redial-shop.service");
    let beside = folder.join("redial-shop.service.d");
    std::fs::create_dir_all(&beside)?;
    std::fs::write(&unit, "[Unit]\nDescription=Shop\n[Service]\nExecStart=/bin/true\n")?;
    std::fs::write(beside.join("redial.conf"), drop_in)?;
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--recursive-errors=no"]).arg(&unit);
    let outcome = host::run(command)?;
    Ok((outcome.status.success() && outcome.output().lines().count() == 2, outcome.output()))
}

#[test]
fn systemd_accepts_the_drop_in() -> Result<()> {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        skip::not_run("env::systemd_accepts_the_drop_in", "there is no systemd-analyze");
        return Ok(());
    }
    let place = LibraryFolder::new("systemd")?;
    let units = LibraryFolder::new("units")?;
    let printed = place.redial(&["--for", "systemd"])?.ok()?.stdout;
    let (good, said) = verify(&units.0, &printed)?;
    ensure!(good, "{printed}\n{said}");
    // The verifier does read the drop-in and detects mistakes.
    for (broken, part) in [
        (printed.replace("[Service]", "[Sevrice]"), "Sevrice"),
        (printed.replace("Environment=", "Enviroment="), "Enviroment"),
        (printed.replace(".so\"", ".so"), "Invalid syntax"),
    ] {
        let (good, said) = verify(&units.0, &broken)?;
        ensure!(!good && said.contains(part), "{broken}\n{said}");
    }
    Ok(())
}

#[test]
fn prints_every_kind_of_setup() -> Result<()> {
    let place = LibraryFolder::new("means")?;
    for (means, tested) in [
        ("shell", true),
        ("systemd", true),
        ("powershell", false),
        ("docker", false),
        ("kubernetes", false),
        ("init-container", false),
        ("nuget", false),
        ("iis:Shop Pool", false),
        ("windows-service:Shop", false),
    ] {
        let json = place.redial(&["--for", means, "--json"])?.ok()?.json()?;
        ensure!(
            json["tested"] == tested && json["for"] == means.split(':').next().unwrap_or_default(),
            "{json}"
        );
        ensure!(json["variables"]["CORECLR_PROFILER"] == redial_protocol::AGENT_CLSID, "{json}");
        let text = place.redial(&["--for", means])?.ok()?.stdout;
        ensure!(tested != text.contains("not run by Redial's tests"), "{text}");
        for field in ["lines", "restart", "undo"] {
            let lines = json[field].as_array().context("an array")?;
            ensure!(!lines.is_empty(), "{field}: {json}");
            for line in lines.iter().filter_map(Value::as_str) {
                ensure!(text.contains(line), "no {line:?} in {text}");
            }
        }
    }
    Ok(())
}

#[test]
fn reports_impossible_setups_in_a_sentence() -> Result<()> {
    let unknown = host::run(host::redial(&["env", "--for", "upstart"])?)?;
    ensure!(unknown.code()? == 2 && unknown.stderr.contains("windows-service:NAME"), "{}", unknown.output());
    let mut command = host::redial(&["env", "--for", "shell"])?;
    command.env("REDIAL_AGENT", "/no/such/agent.so");
    let missing = host::run(command)?;
    ensure_messages(&missing, 4, &["/no/such/agent.so"])?;
    ensure!(missing.stdout.is_empty(), "a shell would do half of it: {}", missing.output());
    Ok(())
}
