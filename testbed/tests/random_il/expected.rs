//! Each method's behaviour without dials, and the methods that a runtime's own JIT miscompiles or crashes on.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Error, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::generate::RANDOM_METHODS;
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{cache, programs};

use super::modules;

/// Returns the program's command. It has loaded every module when it is ready. `left_out` are methods in its
/// notation.
pub fn program(runtime: Runtime, folder: &Path, left_out: &[String]) -> Result<process::Command> {
    let mut command = programs::named("randomil")?.command(runtime)?;
    command.arg("run").arg(folder).args(left_out);
    Ok(command)
}

/// The program's output files.
pub struct OutputFiles {
    folder: PathBuf,
}

impl OutputFiles {
    pub fn new(runtime: Runtime, seed: u64, level: Level) -> Result<Self> {
        let name = format!("random-notes-{}-{level}-{seed}-{}", runtime.name(), process::id());
        let folder = cache::folder().join(name);
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    pub fn begin_pass(&self, host: &mut Host) -> Result<PathBuf> {
        let path = self.folder.join("pass");
        host.say(&format!("pass {}", path.display()))?;
        Ok(path)
    }

    /// Returns the method that a pass was running when its process ended, in the program's notation.
    fn last_started(&self) -> Result<String> {
        let written = fs::read_to_string(self.folder.join("pass"))?;
        let last = written.lines().last().context("it ended before the first method")?;
        let names: Vec<&str> = last.split(' ').take(3).collect();
        let numbers =
            names.iter().map(|name| name.trim_start_matches(|letter: char| !letter.is_ascii_digit()));
        Ok(numbers.collect::<Vec<_>>().join("."))
    }

    /// Returns how often each method was entered so far, by its own count.
    pub fn truth(&self, host: &mut Host) -> Result<Vec<u64>> {
        let path = self.folder.join("truth");
        host.ask(&format!("truth {}", path.display()), "told")?;
        Ok(fs::read_to_string(path)?.lines().map(str::parse).collect::<Result<_, _>>()?)
    }

    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder).context("cannot remove the notes")
    }
}

/// The behaviour of every method without the agent, one line each.
pub struct Expected {
    runtime: Runtime,
    folder: PathBuf,
    lines: Vec<String>,
    /// Methods that end the process even without an agent.
    pub left_out: Vec<String>,
    /// The behaviour without the agent and without the JIT's optimiser, computed on demand.
    unoptimised: OnceCell<Vec<String>>,
}

/// Most left-out methods for one seed.
const MOST_LEFT_OUT: usize = 8;

/// Most methods of a pass that the runtime's own optimiser may miscompile.
const MOST_WRONG: usize = 8;

impl Expected {
    /// Finds the behaviour without the agent. The JITs of 2.1 and 3.1 crash on a few bodies in 200,000;
    /// `left_out` are known ones. Returns `None` if the runtime crashes on more than can be left out, because
    /// methods call each other.
    pub fn find(
        runtime: Runtime,
        folder: &Path,
        files: &OutputFiles,
        mut left_out: Vec<String>,
    ) -> Result<Option<Self>> {
        let (lines, truth) = loop {
            match Self::try_find(program(runtime, folder, &left_out)?, files) {
                Ok(found) => break found,
                Err(error) => {
                    ensure!(has_crashed(&error), error);
                    left_out.push(files.last_started()?);
                    if left_out.len() > MOST_LEFT_OUT {
                        return Ok(None);
                    }
                }
            }
        };
        if !left_out.is_empty() {
            println!("{} crashes without the agent over {}", runtime.name(), left_out.join(", "));
        }
        // Bodies that are never entered, or that all throw at once, would prove nothing.
        ensure!(lines.len() + left_out.len() == modules() * RANDOM_METHODS, "{} methods", lines.len());
        let entered = truth.iter().filter(|&&calls| calls > 0).count();
        let normal = lines.iter().filter(|line| !line.contains('!')).count();
        let different = lines.iter().map(|line| line.rsplit(' ').next()).collect::<BTreeSet<_>>().len();
        ensure!(entered + modules() >= truth.len(), "only {entered} methods are entered");
        ensure!(normal * 5 > lines.len() * 2, "only {normal} methods end without an exception");
        ensure!(different * 2 > lines.len(), "only {different} different results");
        Ok(Some(Self { runtime, folder: folder.to_owned(), lines, left_out, unoptimised: OnceCell::new() }))
    }

    /// Handles a crash with dials. Dialled methods are not inlined, so the JIT compiles some bodies for the
    /// first time. If it also crashes without dials when nothing is inlined, leaves that method out; returns
    /// any other error.
    pub fn leave_out_crash(self, files: &OutputFiles, error: Error) -> Result<Vec<String>> {
        let mut left_out = self.left_out;
        ensure!(has_crashed(&error) && left_out.len() < MOST_LEFT_OUT, error);
        let mut command = program(self.runtime, &self.folder, &left_out)?;
        host::load_agent(&mut command)?;
        command.env("REDIAL_NO_INLINING", "1");
        let by_itself = Self::try_find(command, files).err().as_ref().is_some_and(has_crashed);
        ensure!(by_itself, error.context("nothing crashes without dials where nothing is inlined"));
        left_out.push(files.last_started()?);
        println!(
            "{} crashes undialled where nothing is inlined: {}",
            self.runtime.name(),
            left_out.join(", ")
        );
        Ok(left_out)
    }

    fn try_find(command: process::Command, files: &OutputFiles) -> Result<(Vec<String>, Vec<u64>)> {
        let mut host = Host::start(command)?;
        host.wait_for("ready")?;
        let path = files.begin_pass(&mut host)?;
        let lines = end_pass(&mut host, &path)?;
        let truth = files.truth(&mut host)?;
        host.close_input();
        host.finish()?.ok()?;
        Ok((lines, truth))
    }

    /// Calls every method and compares.
    pub fn pass(&self, host: &mut Host, files: &OutputFiles, phase: &str) -> Result<()> {
        let path = files.begin_pass(host)?;
        self.end_pass(host, &path, phase)
    }

    pub fn end_pass(&self, host: &mut Host, path: &Path, phase: &str) -> Result<()> {
        let found = end_pass(host, path)?;
        ensure!(found.len() == self.lines.len(), "{phase}: {} methods", found.len());
        let differ = |index: &usize| self.lines[*index] != found[*index];
        let mut wrong: Vec<_> = (0..found.len()).filter(differ).collect();
        if (1..=MOST_WRONG).contains(&wrong.len()) {
            // With the probe in the way, the runtime's optimiser may produce the correct result after all.
            let unoptimised = self.unoptimised()?;
            wrong.retain(|index| {
                let by_itself = found[*index] == unoptimised[*index];
                if by_itself {
                    println!("{} optimises this wrongly: {}", self.runtime.name(), self.lines[*index]);
                }
                !by_itself
            });
        }
        let examples: Vec<_> =
            wrong.iter().take(10).map(|index| (&self.lines[*index], &found[*index])).collect();
        ensure!(wrong.is_empty(), "{phase}: {} methods do something else: {examples:#?}", wrong.len());
        Ok(())
    }

    fn unoptimised(&self) -> Result<&[String]> {
        if self.unoptimised.get().is_none() {
            let files = self.folder.join(format!("unoptimised-{}-{}", self.runtime.name(), process::id()));
            fs::create_dir_all(&files)?;
            let files = OutputFiles { folder: files };
            let mut command = program(self.runtime, &self.folder, &self.left_out)?;
            command.env("COMPlus_JITMinOpts", "1");
            let (lines, _) = Self::try_find(command, &files)?;
            files.remove()?;
            ensure!(lines.len() == self.lines.len(), "{} methods without the optimiser", lines.len());
            let _ = self.unoptimised.set(lines);
        }
        self.unoptimised.get().map(Vec::as_slice).context("it was just found")
    }
}

fn has_crashed(error: &Error) -> bool {
    format!("{error:#}").contains("SIGSEGV")
}

fn end_pass(host: &mut Host, path: &Path) -> Result<Vec<String>> {
    let last = || fs::read_to_string(path).ok().and_then(|text| text.lines().last().map(str::to_owned));
    let mut wait =
        |line: &str| host.wait_for(line).with_context(|| format!("the last method begun: {:?}", last()));
    for module in 0..modules() {
        wait(&format!("module {module}"))?;
    }
    wait("passed")?;
    Ok(fs::read_to_string(path)?.lines().map(str::to_owned).collect())
}
