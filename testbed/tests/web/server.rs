//! The web server, and the load on it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::load::Load;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, MethodCount};
use redial_testbed::{programs, truth};

/// Methods that the JIT never inlines, so their counts must be exact whatever was compiled before.
pub const KEPT: [&str; 4] =
    ["Web.Cart.Total(int)", "Web.Prices.Of(int)", "Web.Store<T>.Find(T)", "Web.Pages.Show(HttpContext)"];

/// The server, and the load on it.
pub struct Server {
    pub host: Host,
    pub pid: u32,
    pub load: Load,
}

impl Server {
    pub fn start(runtime: Runtime, with_agent: bool) -> Result<Server> {
        let mut command = programs::named("web")?.command(runtime)?;
        if with_agent {
            host::load_agent(&mut command)?;
        }
        let mut host = Host::start(command)?;
        let ready = host.wait_for("ready ")?;
        let (pid, port) = ready.split_once(' ').with_context(|| format!("ready {ready:?}"))?;
        Ok(Server { host, pid: pid.parse()?, load: Load::start(port.parse()?) })
    }

    pub fn redial(&self, words: &[&str]) -> Result<Outcome> {
        let pid = self.pid.to_string();
        let (command, rest) = words.split_first().context("a command")?;
        host::run(host::redial(&[&[*command, pid.as_str()], rest].concat())?)
    }

    pub fn status(&self) -> Result<shop::Counts> {
        let outcome = self.redial(&["status", "web!*", "--json"])?;
        ensure!(matches!(outcome.code()?, 0 | 6), "{}", outcome.output());
        shop::of_json(&outcome.json()?)
    }

    /// Returns the paths of the modules in the catalogue.
    pub fn modules(&self) -> Result<BTreeSet<String>> {
        let output = self.redial(&["modules", "--json"])?.ok()?.json()?;
        let rows = output["modules"].as_array().context("modules")?;
        let mut paths = BTreeSet::new();
        for row in rows {
            let path = row["path"].as_str().context("a path")?.to_owned();
            ensure!(paths.insert(path.clone()), "{path} is there twice");
        }
        Ok(paths)
    }

    /// Pauses the load, compares the counts and returns them.
    pub fn counted_exactly(&mut self, answers: u64) -> Result<BTreeMap<String, MethodCount>> {
        self.load.pause()?;
        self.host.ask("truth-reset", "reset")?;
        let before = self.status()?;
        self.load.go_on(answers)?;
        self.load.pause()?;
        let (truth, after) = (truth::ask(&mut self.host, "truth")?, self.status()?);
        ensure!(truth.values().all(|calls| *calls >= answers / 2), "hardly anything was called: {truth:?}");
        let wrong = shop::differences(&truth, &before, &after, |method, counted| {
            let says_so = counted.note.as_deref().is_some_and(|note| note.contains("inlined"));
            KEPT.contains(&method) || !says_so
        });
        ensure!(wrong.is_empty(), "silently wrong:\n  {}", wrong.join("\n  "));
        Ok(after)
    }

    pub fn end(mut self) -> Result<()> {
        self.load.end()?;
        self.host.say("exit")?;
        let outcome = self.host.finish()?.ok()?;
        ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
        Ok(())
    }
}
