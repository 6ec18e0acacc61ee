//! Row `window`: processor time of the window. Frames, filter and sorting with a million methods come from the window's
//! own benchmark, which needs no screen. The idle window is the real program on a virtual screen.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::meter::Meter;
use super::shops;
use super::window_benchmark::run_benchmark;
use crate::build;

/// Most processor time of an idle window, in percent of a core.
const IDLE: f64 = 1.0;
/// Duration of one measurement of the idle window.
const SPAN: Duration = Duration::from_secs(5);
/// Time for the window to connect and load.
const SETTLE: Duration = Duration::from_secs(8);

/// Measures all rows of the window.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = run_benchmark(bench, &[])?;
    figures.extend(shops::measure(bench)?);
    match Screen::start()? {
        Some(screen) => figures.extend(idle(bench, &screen)?),
        None => figures.push(Figure::skipped("an idle window", "skipped: there is no Xvfb here")),
    }
    Ok(figures)
}

/// A virtual screen; dropping it ends its server.
struct Screen {
    server: Child,
    display: String,
}

impl Screen {
    /// Starts one; `None` if Xvfb is not installed.
    fn start() -> Result<Option<Screen>> {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp"]);
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut server = match started {
            Ok(server) => server,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("Xvfb cannot be started"),
        };
        let output = server.stdout.take().context("no standard output")?;
        let mut number = String::new();
        // Xvfb prints its number once it is ready, and nothing else.
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut number)?;
        if number.trim().is_empty() {
            let _ = server.kill();
            bail!("Xvfb ended with {}", server.wait()?);
        }
        Ok(Some(Screen { server, display: format!(":{}", number.trim()) }))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Measures the real window, connected to an idle process.
struct Window(Child);

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn idle(bench: &Bench, screen: &Screen) -> Result<Vec<Figure>> {
    let host = Meter::start(bench, Runtime::V8_0)?;
    let folder = build::target_folder().join("bench-window");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut command = Command::new(bench.built.program());
    command.args(["--pid", host.pid()]).stdin(Stdio::null()).stderr(Stdio::null());
    bench.built.tell(&mut command);
    command.env("DISPLAY", &screen.display).env_remove("WAYLAND_DISPLAY").env("REDIAL_CONFIG", &folder);
    let mut window = Window(command.spawn().context("the window cannot be started")?);
    connected(&mut window, host.pid())?;
    std::thread::sleep(SETTLE);
    let proc = PathBuf::from(format!("/proc/{}", window.0.id()));
    let mut percent = Vec::new();
    for _ in 0..if bench.quick { 2 } else { 6 } {
        let (began, before) = (Instant::now(), ticks(&proc)?);
        std::thread::sleep(SPAN);
        let seconds = (ticks(&proc)? - before) as f64 / TICKS_PER_SECOND;
        percent.push(100.0 * seconds / began.elapsed().as_secs_f64());
    }
    let resident = resident_mib(&proc)?;
    Ok(vec![
        Figure::of("an idle visible window, of a core", "%", &percent, Target::Worst(IDLE)),
        Figure::of("its resident memory, with software rendering", "MiB", &[resident], Target::None),
    ])
}

/// Waits until the window has both sessions with the agent, one for dials and one for methods.
fn connected(window: &mut Window, pid: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < DEADLINE {
        if let Some(status) = window.0.try_wait()? {
            bail!("the window ended with {status}");
        }
        let sockets = std::fs::read_to_string("/proc/net/unix").context("open sockets cannot be listed")?;
        let session = |line: &&str| {
            // Num RefCount Protocol Flags Type St Inode Path; state 03 is connected.
            let mut fields = line.split_whitespace().skip(5);
            let connected = fields.next() == Some("03");
            let name = fields.nth(1).and_then(|path| Path::new(path).file_name()?.to_str());
            connected && name.is_some_and(|name| name.starts_with(&format!("{pid}-")))
        };
        if sockets.lines().filter(session).count() >= 2 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the window did not connect to process {pid}")
}

/// Ticks per second in /proc; 100 on every current Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the processor time of a process and all its threads, ended ones included.
fn ticks(proc: &Path) -> Result<u64> {
    let stat = std::fs::read_to_string(proc.join("stat")).context("the window has ended")?;
    // The name, in brackets, may contain spaces and brackets.
    let (_, fields) = stat.rsplit_once(')').context("a stat file without a name")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    // Fields 14 and 15 of the file are the 12th and 13th after the name.
    field(11).zip(field(12)).map(|(user, system)| user + system).context("a stat file without times")
}

fn resident_mib(proc: &Path) -> Result<f64> {
    let status = std::fs::read_to_string(proc.join("status")).context("the window has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().context("VmRSS is no number")?;
    Ok(kib / 1024.0)
}
