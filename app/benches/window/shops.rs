//! Real processes of one program, merged, over their real pipes: time on the window's thread while they
//! arrive, while their numbers do, and while two of them are killed and removed.
//!
//! Waits by time: polling the window would draw frames that are not measured.

use super::figures::{Figure, Of};
use super::stage::{Stage, wheel};
use eframe::egui::Event;
use std::time::{Duration, Instant};

/// Time to connect and merge all of them, to get numbers, and to remove two.
const ARRIVAL: Duration = Duration::from_secs(20);
const NUMBERS: Duration = Duration::from_secs(15);
const END: Duration = Duration::from_secs(5);
/// The method whose numbers the details panel shows.
const METHOD: &str = "Shop!Shop.Cart.Add(int)";

/// The processes.
pub struct Shops {
    /// Their name, without extension.
    pub name: String,
    /// Their process ids; the first two will be killed.
    pub pids: Vec<u32>,
    /// Whether to print for programs.
    pub tabs: bool,
}

impl Shops {
    /// From `NAME PID…`.
    ///
    /// # Errors
    /// A sentence: what is missing or no process id.
    pub fn read(mut arguments: impl Iterator<Item = String>, tabs: bool) -> Result<Shops, String> {
        let name = arguments.next().ok_or("--shops wants a name and process ids")?;
        let pid = |text: String| text.parse().map_err(|_| format!("{text} is no process id"));
        let pids = arguments.map(pid).collect::<Result<Vec<u32>, _>>()?;
        if pids.len() < 3 {
            Err("--shops wants three processes or more".into())
        } else {
            Ok(Shops { name, pids, tabs })
        }
    }

    /// Runs the benchmark. Panics if the window does not show the expected widgets.
    pub fn run(&self) {
        let number = self.pids.len();
        let (mut stage, mut times) = Stage::among_processes(self.pids[2]);
        times.extend(self.frames(&mut stage, Duration::from_secs(3)));
        let all = stage.find(&format!("Select all {number} processes named {}.dll", self.name));
        times.push(stage.click(all));
        times.extend(self.frames(&mut stage, ARRIVAL));
        stage.find(&format!("{number} connected"));
        self.print("a frame until all have arrived", &times);

        let row = stage.find(METHOD);
        let mut times = vec![stage.click(row)];
        times.extend(self.frames(&mut stage, NUMBERS));
        assert!(stage.triangles() > 1_000, "{} triangles are no table", stage.triangles());
        self.print("a frame while their numbers arrive", &times);

        self.pids.iter().take(2).for_each(|pid| kill(*pid));
        let mut times = self.frames(&mut stage, END);
        let take_out = stage.find("Remove ended processes");
        times.push(stage.click(take_out));
        times.extend(self.frames(&mut stage, END));
        stage.find(&format!("{} connected", number - 2));
        self.print("a frame while two are killed and removed", &times);
    }

    /// Draws frames at the pace of a screen for this time, scrolling to and fro.
    fn frames(&self, stage: &mut Stage, span: Duration) -> Vec<Duration> {
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < span {
            let points = if times.len() % 100 < 50 { -5.0 } else { 5.0 };
            let scroll: Vec<Event> =
                (times.len() / 100 % 2 == 1).then(|| wheel(points)).into_iter().collect();
            times.push(stage.frame(scroll));
            std::thread::sleep(Duration::from_millis(8));
        }
        times
    }

    fn print(&self, what: &str, times: &[Duration]) {
        let what = format!("{} real Shops merged: {what}", self.pids.len());
        Figure::times(what, times, Some((Of::Worst, 8.0))).print(self.tabs);
    }
}

#[cfg(unix)]
fn kill(pid: u32) {
    // SAFETY: kill(2) takes two numbers and touches no memory.
    let failed = unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
    assert_eq!(failed, 0, "process {pid} cannot be killed");
}

#[cfg(not(unix))]
fn kill(pid: u32) {
    panic!("process {pid} cannot be killed: only done on Unix");
}
