//! Rows of `window`: twenty real Shops, timed and called, in one window.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use redial_testbed::fleet::Program;
use redial_testbed::host;
use redial_testbed::shop::LiveShop;

use super::context::Bench;
use super::figures::Figure;
use super::window_benchmark::run_benchmark;

const SHOPS: usize = 20;
/// Rounds that a Shop does at once, before all of them rest.
const ROUNDS: u32 = 20;
const REST: Duration = Duration::from_millis(20);

/// Starts them, times all of Shop in each, and runs the window's benchmark on them.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let program = Program::new("Fleet")?;
    let shops = program.start_with_library(bench.built.agent(), SHOPS)?;
    let pids: Vec<String> = shops.iter().map(|shop| shop.pid.to_string()).collect();
    let mut dial = Command::new(bench.built.program());
    dial.args(["dial", &program.target(), "Shop!*", "time"]);
    bench.built.tell(&mut dial);
    host::run(dial)?.ok()?;
    let _at_work = AtWork::start(shops);
    let mut more = vec!["--shops", program.name.as_str()];
    more.extend(pids.iter().map(String::as_str));
    run_benchmark(bench, &more)
}

/// Keeps the Shops busy until it is dropped, then ends them.
struct AtWork {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AtWork {
    fn start(mut shops: Vec<LiveShop>) -> AtWork {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // The benchmark kills two of them.
                shops.retain_mut(|shop| shop.rounds(ROUNDS).is_ok());
                std::thread::sleep(REST);
            }
        });
        AtWork { stop, thread: Some(thread) }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panicked thread has already reported it.
        drop(self.thread.take().map(JoinHandle::join));
    }
}
