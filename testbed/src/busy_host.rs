//! A host that works without a pause and counts its work: a web server under load, or Shop's loop.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::host::{self, Host};
use crate::load::Load;
use crate::programs;
use crate::runtimes::Runtime;
use crate::target_host::SocketFolder;

/// The collector's budget of generation 0, in bytes as a hexadecimal number. By default it follows the size of the
/// processor's cache, up to 200 MB, and a test of memory measures the collector instead of the agent.
const GENERATION_0: &str = "1000000";

/// The host, at work from its start on.
pub struct BusyHost {
    /// The process.
    pub host: Host,
    /// Its id.
    pub pid: u32,
    folder: SocketFolder,
    /// The load of the web server; absent for Shop.
    load: Option<Load>,
}

impl BusyHost {
    /// Starts the host with an agent: ASP.NET on 8.0, Shop elsewhere.
    ///
    /// # Errors
    /// When it does not start to work.
    pub fn start(runtime: Runtime, agent: &Path) -> Result<Self> {
        let is_web = runtime == Runtime::V8_0;
        let mut command = match is_web {
            true => programs::named("web")?.command(runtime)?,
            false => programs::shop()?.command(runtime)?,
        };
        if !is_web {
            command.args(["--live", "--threads", "2"]);
        }
        for variable in ["DOTNET_GCgen0size", "COMPlus_GCgen0size"] {
            command.env(variable, GENERATION_0);
        }
        host::load_agent_from(&mut command, agent);
        let folder = SocketFolder::of(&mut command)?;
        let mut host = Host::start(command)?;
        let ready = host.wait_for("ready ")?;
        let mut words = ready.split(' ');
        let pid = words.next().context("no pid")?.parse()?;
        let load = match is_web {
            true => Some(Load::start(words.next().context("no port")?.parse()?)),
            false => None,
        };
        match &load {
            Some(load) => load.go_on(1)?,
            None => drop(host.ask("loop on", "looping")?),
        }
        Ok(Self { host, pid, folder, load })
    }

    /// Returns the path of its agent's socket.
    ///
    /// # Errors
    /// When it has ended.
    pub fn socket(&self) -> Result<PathBuf> {
        self.folder.socket(self.pid)
    }

    /// Returns the amount of work done so far: answers, or rounds.
    ///
    /// # Errors
    /// When it has ended, or a client of the web server got a wrong answer.
    pub fn done(&mut self) -> Result<u64> {
        match &self.load {
            Some(load) => {
                load.go_on(0)?;
                Ok(load.answers())
            }
            None => Ok(self.host.ask("loop wait 0", "looped ")?.parse()?),
        }
    }

    /// Returns the work per second during a time, in which `meanwhile` is called every 20 ms.
    ///
    /// # Errors
    /// Fails like [`BusyHost::done`] and `meanwhile`.
    pub fn rate(&mut self, time: Duration, mut meanwhile: impl FnMut() -> Result<()>) -> Result<f64> {
        let (begun, before) = (Instant::now(), self.done()?);
        while begun.elapsed() < time {
            std::thread::sleep(Duration::from_millis(20));
            meanwhile()?;
        }
        let done = self.done()? - before;
        Ok(done as f64 / begun.elapsed().as_secs_f64())
    }

    /// Ends the work, which must have gone well, and the process.
    ///
    /// # Errors
    /// When a client got a wrong answer, or the process did not end well.
    pub fn end(mut self) -> Result<()> {
        match self.load.take() {
            Some(load) => {
                load.end()?;
                self.host.say("exit")?;
            }
            None => {
                crate::truth::ask(&mut self.host, "loop off")?;
                self.host.close_input();
            }
        }
        let outcome = self.host.finish()?.ok()?;
        ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
        Ok(())
    }
}
