//! Thousands of signals, and stops of the whole process, arrive while dials change. Nothing is lost. The agent's
//! threads block signals, so that handlers of the host never run there; stops interrupt their system calls anyway.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::Lifetime;
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals::Stopped;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{cache, native, on_each_runtime, programs, shop, soak, truth};

on_each_runtime!(interrupted_agent_loses_nothing, interrupted_program_loses_nothing);

const EVERYTHING: &str = "Shop!*";
const THREADS: &str = "2";

/// Signals to threads of one process, from [`Storm::begin`] to [`Storm::end`].
struct Storm {
    switch: PathBuf,
    counts: File,
}

impl Storm {
    fn new(name: &str, runtime: Runtime) -> Result<Storm> {
        let file = format!("storm-{name}-{}-{}", runtime.name(), std::process::id());
        let switch = cache::folder().join(file);
        let mut options = File::options();
        let counts = options.read(true).write(true).create(true).truncate(true).open(count_of(&switch))?;
        counts.write_all_at(&[0; 16], 0)?;
        Ok(Storm { switch, counts })
    }

    /// Directs the signals to those threads of a program whose names begin with `name`.
    fn aim_at(&self, command: &mut Command, name: &str) -> Result<()> {
        command
            .env("LD_PRELOAD", native::library("interruptions")?)
            .env("REDIAL_TEST_INTERRUPT", &self.switch)
            .env("REDIAL_TEST_INTERRUPT_NAME", name);
        Ok(())
    }

    fn begin(&self) -> Result<()> {
        std::fs::write(&self.switch, "").with_context(|| self.switch.display().to_string())
    }

    fn end(&self) -> Result<()> {
        std::fs::remove_file(&self.switch).with_context(|| self.switch.display().to_string())
    }

    /// Returns the number of signals that were handled.
    fn handled(&self) -> Result<u64> {
        self.count_at(0)
    }

    /// Returns the number of signals that were sent.
    fn sent(&self) -> Result<u64> {
        self.count_at(8)
    }

    fn count_at(&self, offset: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.counts.read_exact_at(&mut bytes, offset)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        // A leftover stays in the cache folder, under a unique name.
        let _ = std::fs::remove_file(&self.switch);
        let _ = std::fs::remove_file(count_of(&self.switch));
    }
}

fn count_of(switch: &std::path::Path) -> PathBuf {
    PathBuf::from(format!("{}.count", switch.display()))
}

fn shop_command(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", THREADS]);
    Ok(command)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit 0")?;
    let outcome = live.host.finish()?.ok()?;
    ensure!(outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

/// Stops and continues a process until [`Stops::end`].
struct Stops {
    end: Sender<()>,
    thread: JoinHandle<Result<u64>>,
}

fn stop_again_and_again(pid: u32) -> Stops {
    let (end, ended) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut times = 0;
        while ended.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            drop(Stopped::stop(pid)?);
            times += 1;
        }
        Ok(times)
    });
    Stops { end, thread }
}

impl Stops {
    /// Returns how often the process was stopped.
    fn end(self) -> Result<u64> {
        drop(self.end);
        self.thread.join().map_err(|_| anyhow!("the stopping thread panicked"))?
    }
}

fn interrupted_agent_loses_nothing(runtime: Runtime) -> Result<()> {
    let storm = Storm::new("agent", runtime)?;
    let mut command = shop_command(runtime)?;
    storm.aim_at(&mut command, "redial-")?;
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    let mut watcher = live.controller()?;
    watcher.subscribe(Some(EVERYTHING))?;
    storm.begin()?;
    let stops = stop_again_and_again(live.pid);
    let (rounds, signals) = (soak::scaled(10, 50), soak::scaled(10_000, 50));
    let mut round = 0;
    while round < rounds || storm.sent()? < signals {
        let level = if round % 2 == 0 { Level::Count } else { Level::Time };
        let report = controller.dial(EVERYTHING, level, Lifetime::Kept)?;
        ensure!(report.accepted > 100, "{report:?}");
        live.host.ask("truth-reset", "reset")?;
        let before = shop::of_rows(&controller.status(Some(EVERYTHING))?);
        live.host.ask("round 3", "done")?;
        let after = shop::of_rows(&controller.status(Some(EVERYTHING))?);
        let truth = truth::ask(&mut live.host, "truth")?;
        let wrong = shop::differences(&truth, &before, &after, |_, counted| counted.note.is_none());
        ensure!(wrong.is_empty(), "round {round}:\n  {}", wrong.join("\n  "));
        // A connection of its own, too.
        ensure!(live.controller()?.agent_status()?.guard_trips == 0);
        controller.off(EVERYTHING)?;
        round += 1;
    }
    let expected: u64 = controller.status(Some(EVERYTHING))?.iter().map(|row| row.calls).sum();
    // The subscriber got every number.
    watcher.wait_until("all calls", |dials| dials.values().map(|row| row.calls).sum::<u64>() == expected)?;
    storm.end()?;
    let stopped = stops.end()?;
    ensure!(stopped > 10, "the process was stopped {stopped} times");
    ensure!(storm.handled()? == 0, "a handler of the host ran on a thread of the agent");
    ensure!(controller.all_off()?.1 == 0);
    end(live)
}

/// `redial`, with signals to all its threads.
fn interrupted_program_loses_nothing(runtime: Runtime) -> Result<()> {
    let storm = Storm::new("program", runtime)?;
    let mut live = under_agent::start(shop_command(runtime)?)?;
    let pid = live.pid.to_string();
    storm.begin()?;
    let interrupted = |word: &str, arguments: &[&str]| -> Result<Command> {
        let mut command = host::redial(&[word, pid.as_str()])?;
        command.args(arguments);
        storm.aim_at(&mut command, "")?;
        Ok(command)
    };
    let mut watch = Host::start(interrupted("watch", &["--json", "--interval", "20"])?)?;
    watch.next_line()?;
    for _ in 0..soak::scaled(3, 20) {
        host::run(interrupted("dial", &[EVERYTHING, "count"])?)?.ok()?;
        live.host.ask("truth-reset", "reset")?;
        let before = shop::of_json(&host::run(interrupted("status", &["--json"])?)?.ok()?.json()?)?;
        live.host.ask("round 3", "done")?;
        let after = shop::of_json(&host::run(interrupted("status", &["--json"])?)?.ok()?.json()?)?;
        let truth = truth::ask(&mut live.host, "truth")?;
        let wrong = shop::differences(&truth, &before, &after, |_, counted| counted.note.is_none());
        ensure!(wrong.is_empty(), "{}", wrong.join("\n  "));
        host::run(interrupted("off", &[])?)?.ok()?;
    }
    while storm.handled()? < soak::scaled(5_000, 20) {
        watch.next_line()?;
    }
    ensure!(watch.is_running()?, "watch has ended");
    watch.kill();
    storm.end()?;
    end(live)
}
