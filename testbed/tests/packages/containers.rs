//! Agents in containers, from the files of the image and from the NuGet package. A root and a pid namespace of its own stand
//! for a container.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use serde_json::Value;

use super::fresh_root::FreshRoot;
use super::package;

/// A root with a program, and the program of the deb package outside.
struct Container {
    root: FreshRoot,
    /// A root with the controller.
    outside: FreshRoot,
}

impl Container {
    fn new(test: &str) -> Result<Container> {
        let root = FreshRoot::new(test)?;
        let outside = FreshRoot::new(&format!("{test}-outside"))?;
        let mut extract = Command::new("dpkg-deb");
        extract.arg("--extract").arg(package("_amd64.deb")?).arg(outside.folder());
        host::run(extract)?.ok()?;
        Ok(Container { root, outside })
    }

    /// Fills `/opt/redial` as the init container does.
    fn with_image(test: &str) -> Result<Container> {
        let container = Container::new(test)?;
        let root = &container.root;
        // The image's files, and then its copy step.
        let image = root.path("image");
        std::fs::create_dir_all(&image)?;
        std::fs::create_dir_all(root.path("opt/redial"))?;
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--strip-components=1", "--file"]).arg(package("-agent-image.tar.gz")?);
        host::run({
            unpack.arg("--directory").arg(&image);
            unpack
        })?
        .ok()?;
        root.run("cp -r /image/agents /opt/redial/")?;
        Ok(container)
    }

    /// Runs the packaged `redial` on this machine.
    fn redial(&self, arguments: &[&str]) -> Result<Outcome> {
        let mut command = Command::new(self.outside.path("usr/bin/redial"));
        command.args(arguments).env_remove("REDIAL_AGENT");
        host::run(command)
    }

    /// Starts Shop as process 1 of the container, with variables. Returns it with its pid on this machine.
    fn start(&self, variables: &Value) -> Result<(Host, String)> {
        self.start_in("/shop", variables)
    }

    /// As [`Container::start`], with Shop in another folder.
    fn start_in(&self, folder: &str, variables: &Value) -> Result<(Host, String)> {
        const SHOP: &str = "exec /dotnet/dotnet \"$1/Shop.dll\" --live --threads 1";
        let mut command = self.root.container(SHOP, &[folder]);
        for (name, value) in variables.as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap_or_default());
        }
        let mut host = Host::start(command)?;
        let inside = host.wait_for("ready")?;
        ensure!(inside == "1", "Shop is process {inside} of its namespace");
        let pid = host.only_child()?.to_string();
        Ok((host, pid))
    }

    fn row(&self, pid: &str) -> Result<Value> {
        let rows = self.redial(&["ps", "--json"])?.ok()?.json()?;
        let row = rows
            .as_array()
            .and_then(|rows| rows.iter().find(|row| row["pid"].as_u64() == pid.parse().ok()).cloned());
        row.with_context(|| format!("ps does not list {pid}: {rows}"))
    }

    fn ensure_counts(&self, host: &mut Host, pid: &str) -> Result<()> {
        self.redial(&["dial", pid, "Shop!Shop.Cart.*", "count"])?.ok()?;
        host.ask("round 3", "done")?;
        let rows = self.redial(&["status", pid, "--json"])?.ok()?.json()?;
        let counted = rows.as_array().into_iter().flatten().any(|row| row["calls"].as_u64() > Some(0));
        ensure!(counted, "no calls were counted: {rows}");
        self.redial(&["off", pid])?.ok().map(drop)
    }
}

fn end(mut host: Host) -> Result<()> {
    host.say("exit")?;
    host.finish()?.ok().map(drop)
}

/// The container has the agent's files and was started without the agent.
#[test]
fn attaches_from_the_host_into_a_container() -> Result<()> {
    let container = Container::with_image("attach")?;
    let (mut host, pid) = container.start(&Value::Null)?;
    ensure!(container.row(&pid)?["agent"] == "attachable", "{}", container.row(&pid)?);
    container.redial(&["attach", &pid])?.ok()?;
    container.ensure_counts(&mut host, &pid)?;
    end(host)
}

/// The variables are those that `redial env` prints.
#[test]
fn init_container_recipe_loads_the_agent() -> Result<()> {
    let container = Container::with_image("init")?;
    let recipe = container.redial(&["env", "--for", "init-container", "--json"])?.ok()?.json()?;
    let (mut host, pid) = container.start(&recipe["variables"])?;
    ensure!(container.row(&pid)?["agent"] == "loaded", "{}", container.row(&pid)?);
    container.ensure_counts(&mut host, &pid)?;
    end(host)
}

/// The files lie where `dotnet publish --runtime linux-x64` puts those of the NuGet package.
#[test]
fn nuget_files_load_a_published_program() -> Result<()> {
    let container = Container::new("nuget")?;
    let mut unzip = Command::new("unzip");
    unzip.arg("-q").arg(package(".nupkg")?).arg("-d").arg(container.root.path("nuget"));
    host::run(unzip)?.ok()?;
    let specification = std::fs::read_to_string(container.root.path("nuget/Redial.Agent.nuspec"))?;
    ensure!(
        specification.contains(concat!("<version>", env!("CARGO_PKG_VERSION"), "</version>")),
        "{specification}"
    );
    let windows = container.root.path("nuget/runtimes/win-x64/native/redial_agent.dll");
    ensure!(windows.is_file(), "no agent for Windows");
    container.root.run("cp -r /shop /app && cp /nuget/runtimes/linux-x64/native/* /app/")?;
    let printed = container.redial(&["env", "--for", "nuget", "--json"])?.ok()?.json()?;
    let (mut host, pid) = container.start_in("/app", &printed["variables"])?;
    ensure!(container.row(&pid)?["agent"] == "loaded", "{}", container.row(&pid)?);
    container.ensure_counts(&mut host, &pid)?;
    end(host)
}

#[test]
fn container_without_the_files_is_told_where_they_belong() -> Result<()> {
    let container = Container::with_image("empty")?;
    std::fs::remove_dir_all(container.root.path("opt/redial"))?;
    let (host, pid) = container.start(&Value::Null)?;
    let outcome = container.redial(&["attach", &pid])?;
    ensure!(outcome.code()? == 4, "{}", outcome.output());
    ensure!(outcome.stderr.contains("has its own file system, without"), "{}", outcome.output());
    end(host)
}
