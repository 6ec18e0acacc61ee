//! Many Shop processes under a name that no other process has.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::host::{self, Host, Outcome};
use crate::runtimes::Runtime;
use crate::shop::LiveShop;
use crate::{artefacts, cache, programs};

/// Shop's files under another name. Dropping it removes them.
pub struct Program {
    folder: PathBuf,
    /// The name without extension.
    pub name: String,
}

impl Program {
    /// Creates a copy with a unique name derived from the test's name.
    ///
    /// # Errors
    /// When its files cannot be created.
    pub fn new(test: &str) -> Result<Program> {
        let name = format!("{test}-{}", std::process::id());
        let folder = cache::folder().join("fleet").join(&name);
        std::fs::create_dir_all(&folder)?;
        let original = programs::shop()?;
        for (file, extension) in [("Shop.dll", "dll"), ("Shop.runtimeconfig.json", "runtimeconfig.json")] {
            std::fs::copy(original.folder().join(file), folder.join(format!("{name}.{extension}")))?;
        }
        Ok(Program { folder, name })
    }

    /// Returns a path without an agent library yet; [`Program::put_agent`] puts one there.
    pub fn late_agent(&self) -> PathBuf {
        self.folder.join("agent-to-come.so")
    }

    /// Puts the agent library at [`Program::late_agent`] atomically.
    ///
    /// # Errors
    /// When the library has not been built, or the path exists already.
    #[cfg(unix)]
    pub fn put_agent(&self, library: &Path) -> Result<()> {
        Ok(std::os::unix::fs::symlink(library, self.late_agent())?)
    }

    /// Returns the target for Redial's command line.
    pub fn target(&self) -> String {
        format!("name:{}", self.name)
    }

    /// Returns `process PID (NAME.dll)`.
    pub fn title(&self, shop: &LiveShop) -> String {
        format!("process {} ({}.dll)", shop.pid, self.name)
    }

    fn command(&self, agent: Option<&Path>) -> Result<Command> {
        let dll = self.folder.join(format!("{}.dll", self.name));
        let mut command = Runtime::V8_0.ensure()?.command(&dll);
        command.args(["--live", "--threads", "1"]);
        // Small heaps, because many processes run at once.
        command.env("DOTNET_GCHeapHardLimit", "0x4000000").env("DOTNET_GCgen0size", "0x100000");
        if let Some(library) = agent {
            host::load_agent_from(&mut command, library);
        }
        Ok(command)
    }

    /// Starts `number` processes side by side, the first `with_agent` of them with the agent.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn start(&self, number: usize, with_agent: usize) -> Result<Vec<LiveShop>> {
        // Without an agent process the library need not exist.
        let agent = if with_agent > 0 { Some(artefacts::agent()?) } else { None };
        self.start_each(number, |index| agent.as_deref().filter(|_| index < with_agent))
    }

    /// Like [`Program::start`], but all processes load the given library.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn start_with_library(&self, agent: &Path, number: usize) -> Result<Vec<LiveShop>> {
        self.start_each(number, |_| Some(agent))
    }

    fn start_each<'a>(
        &self,
        number: usize,
        agent: impl Fn(usize) -> Option<&'a Path>,
    ) -> Result<Vec<LiveShop>> {
        let start = |index| Host::start(self.command(agent(index))?);
        let hosts: Vec<Host> = (0..number).map(start).collect::<Result<_>>()?;
        hosts.into_iter().map(ready).collect()
    }

    /// Runs `redial COMMAND name:NAME ARGUMENTS` to its end.
    ///
    /// # Errors
    /// When it cannot be started or does not end.
    pub fn redial(&self, command: &str, arguments: &[&str]) -> Result<Outcome> {
        let target = self.target();
        host::run(host::redial(&[&[command, target.as_str()], arguments].concat())?)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn ready(mut host: Host) -> Result<LiveShop> {
    let pid = host.wait_for("ready")?.parse()?;
    Ok(LiveShop { host, pid })
}
