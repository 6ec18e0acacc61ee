//! Alternatives to *trace* in the same run: LTTng in a C program, and EventPipe in a .NET one. Each writes the beginning of a
//! call with three numbers, and its end with the result.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::meter::Meter;
use super::report::{Pair, Row};
use crate::build::target_folder;
use crate::process::{checkout, run_quietly};
use crate::setup::apt;

/// Debian packages of LTTng.
const LTTNG: &[&str] = &["gcc", "liblttng-ust-dev", "lttng-tools"];
/// Bytes of a recorded call, at least: two events with 32 bytes of values.
const BYTES_OF_CALL: u64 = 32;
/// Longest start of LTTng's daemon.
const START: Duration = Duration::from_secs(10);
/// Calls of a burst.
const BURST: u64 = 500;

/// Measures both. An alternative that cannot run here costs its own row.
pub fn measure(bench: &Bench, runtime: Runtime, threads: u32, bursts: u32) -> Result<Vec<Row>> {
    let plural = if threads == 1 { "" } else { "s" };
    let row = |what: &str, runtime: &str, pairs: Result<Vec<Pair>>| {
        let what = format!("{what} of three numbers and a result, {threads} thread{plural}");
        match pairs {
            Ok(pairs) => Row::of(what, runtime, "ns/call", pairs),
            Err(error) => Row::not_run(what, runtime, &format!("{error:#}")),
        }
    };
    Ok(vec![
        row("EventPipe: two events", runtime.name(), event_pipe(bench, runtime, threads, bursts)),
        row("LTTng: two events", "C", lttng(bench, threads, bursts)),
    ])
}

fn event_pipe(bench: &Bench, runtime: Runtime, threads: u32, bursts: u32) -> Result<Vec<Pair>> {
    let file = target_folder().join(format!("bench-{}.nettrace", std::process::id()));
    let meter = Meter::start_with(bench, runtime, |command| {
        // Every version still reads these names.
        command.env("COMPlus_EnableEventPipe", "1").env("COMPlus_EventPipeOutputPath", &file);
        command.env("COMPlus_EventPipeConfig", "Redial-Bench:0xffffffffffffffff:5");
        command.env("COMPlus_EventPipeCircularMB", "512");
    })?;
    let meter = RefCell::new(meter);
    let pairs = pairs(bench, &meter, threads, bursts)?;
    meter.into_inner().end()?;
    let written = fs::metadata(&file).context("EventPipe wrote no file")?.len();
    fs::remove_file(&file)?;
    ensure_recorded(bench, threads, bursts, written)?;
    Ok(pairs)
}

fn lttng(bench: &Bench, threads: u32, bursts: u32) -> Result<Vec<Pair>> {
    apt::ensure(LTTNG)?;
    let folder = target_folder().join(format!("bench-lttng-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let program = folder.join("calls");
    let sources = checkout().join("xtask/src/bench/lttng");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-pthread", "-I"]).arg(&sources).arg("-o").arg(&program);
    run_quietly(compiler.arg(sources.join("calls.c")).args(["-llttng-ust", "-ldl"]))?;
    let session = Session::start(&folder)?;
    let meter = RefCell::new(Meter::of(bench, Command::new(&program))?);
    let pairs = pairs(bench, &meter, threads, bursts)?;
    meter.into_inner().end()?;
    ensure_recorded(bench, threads, bursts, session.end()?)?;
    fs::remove_dir_all(&folder)?;
    Ok(pairs)
}

fn pairs(bench: &Bench, meter: &RefCell<Meter<'_>>, threads: u32, bursts: u32) -> Result<Vec<Pair>> {
    bench.pairs(
        || meter.borrow_mut().burst("Numbers", threads, bursts),
        || meter.borrow_mut().burst("Written", threads, bursts),
    )
}

/// Checks that the file is as large as all calls need.
fn ensure_recorded(bench: &Bench, threads: u32, bursts: u32, bytes: u64) -> Result<()> {
    let calls = bench.pairs as u64 * u64::from(threads) * u64::from(bursts) * BURST;
    ensure!(bytes >= calls * BYTES_OF_CALL, "only {bytes} bytes were recorded of {calls} calls");
    Ok(())
}

/// A recording of LTTng, in a folder.
struct Session {
    output: PathBuf,
    /// The daemon, unless one ran already: then this one ended at once.
    daemon: Child,
}

const NAME: &str = "redial-bench";

impl Session {
    fn start(folder: &Path) -> Result<Session> {
        let mut daemon = Command::new("lttng-sessiond");
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = daemon.spawn().context("lttng-sessiond cannot be started")?;
        let session = Session { output: folder.join("recorded"), daemon };
        let begun = Instant::now();
        while let Err(error) = session.lttng(&["--no-sessiond", "list"]) {
            if begun.elapsed() > START {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        session.lttng(&["create", NAME, &format!("--output={}", session.output.display())])?;
        let buffers = ["--subbuf-size=4M", "--num-subbuf=8"];
        session.lttng(&[&["enable-channel", "--userspace", "calls"], &buffers[..]].concat())?;
        session.lttng(&["enable-event", "--userspace", "--channel=calls", "redial_bench:*"])?;
        session.lttng(&["start"])?;
        Ok(session)
    }

    fn lttng(&self, arguments: &[&str]) -> Result<()> {
        run_quietly(Command::new("lttng").args(arguments)).map(drop)
    }

    /// Stops it and returns the bytes that it recorded.
    fn end(&self) -> Result<u64> {
        self.lttng(&["stop"])?;
        self.lttng(&["destroy", NAME])?;
        bytes_of(&self.output)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Its helpers end with it only if it may end them.
        let _ = Command::new("kill").arg(self.daemon.id().to_string()).status();
        let _ = self.daemon.wait();
    }
}

fn bytes_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        bytes += if kind.is_dir() { bytes_of(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
