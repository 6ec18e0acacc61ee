//! `cargo xtask setup`: everything the other tasks need. A second run is instant.

pub mod apt;
mod tools;
pub mod wine;
pub mod zig;

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub use tools::{deny as cargo_deny, machete as cargo_machete};

use anyhow::Result;
use redial_testbed::{cache, perfetto, programs, runtimes};

/// System packages, tools, the Windows target, Wine, the real runtimes and a reader of traces.
///
/// # Errors
/// The first thing that could not be installed, with the action to take.
pub fn everything() -> Result<()> {
    step("system packages", || apt::ensure(apt::ALL))?;
    step("Rust components and tools", tools::ensure)?;
    step(&format!("real .NET runtimes in {}", cache::folder().display()), || runtimes::ensure_all(true))?;
    step("Perfetto's Python module", || perfetto::ensure().map(drop))?;
    step("a Wine prefix", || wine::ensure().map(drop))
}

/// Prepares the demo: the runtimes and the compiled demo program.
///
/// # Errors
/// As [`everything`].
pub fn for_demo() -> Result<programs::Program> {
    step("real .NET runtimes, the C# compiler", || runtimes::ensure_all(false))?;
    step("the demo program", programs::shop)
}

/// Interval of progress lines when standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(30);

/// Announces a step, runs it, and prints its duration from two seconds on. A log also gets a progress line now and then.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {what}");
    let start = Instant::now();
    let result = match std::io::stderr().is_terminal() {
        true => work(),
        false => while_telling(EVERY, |passed| println!("    … {} s", passed.as_secs()), work),
    }?;
    let seconds = start.elapsed().as_secs();
    if seconds >= 2 {
        println!("    {seconds} s");
    }
    Ok(result)
}

/// Runs `work`, and calls `tell` with the elapsed time at every interval.
fn while_telling<T>(every: Duration, tell: impl Fn(Duration) + Send, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (at_work, waits) = channel::<()>();
        scope.spawn(move || {
            let start = Instant::now();
            while waits.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tell(start.elapsed());
            }
        });
        let result = work();
        drop(at_work);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_report_progress() {
        let (tell, told) = channel();
        let telling = move |passed| tell.send(passed).expect("it is heard");
        let second = while_telling(Duration::from_millis(1), telling, || (told.recv(), told.recv()).1);
        assert!(second.is_ok_and(|passed: Duration| passed >= Duration::from_millis(2)));
        while_telling(Duration::from_secs(3600), |_| panic!("it took no time"), || ());
    }
}
