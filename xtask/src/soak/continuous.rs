//! `cargo xtask soak --hours N`: random dials, kills, attaches and unloads, on several programs at once.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use redial_testbed::continuous::{Length, Program, Settings, StepCounts, run as run_program};
use redial_testbed::runtimes::Runtime;

use super::record::Record;
use crate::build::{self, Profile};
use crate::setup;

/// The programs, with the runtime by which they are chosen.
const PROGRAMS: [(&str, Program); 6] = [
    ("2.1", Program::Shop(Runtime::V2_1)),
    ("3.1", Program::Shop(Runtime::V3_1)),
    ("3.1", Program::Contexts(Runtime::V3_1)),
    ("8.0", Program::Shop(Runtime::V8_0)),
    ("8.0", Program::Contexts(Runtime::V8_0)),
    ("10.0", Program::Server),
];
/// The dials of a killed controller are off within this time, although several programs keep the machine busy.
const REVERT_BOUND: Duration = Duration::from_secs(2);
/// The runtimes that are used unless others are named.
const USUAL: [&str; 2] = ["8.0", "10.0"];

/// Uses the programs of `runtimes` (8.0 and 10.0 if none is named) until each has been used for `hours` on this commit.
///
/// # Errors
/// When a program shows a fault; the others then end at their next checkpoint.
pub fn run(hours: f64, runtimes: &[String], seed: Option<u64>) -> Result<()> {
    setup::everything()?;
    // Programs find it beside this program.
    build::native(Profile::Debug)?;
    let is_wanted = |runtime: &str| {
        if runtimes.is_empty() { USUAL.contains(&runtime) } else { runtimes.iter().any(|one| one == runtime) }
    };
    let soak = Soak {
        record: Mutex::new(Record::of_this_commit()?),
        failures: Mutex::new(Vec::new()),
        seed: seed.unwrap_or_else(|| u64::from(std::process::id())),
    };
    let whole = Duration::from_secs_f64(hours * 3600.0);
    std::thread::scope(|scope| {
        for (_, program) in PROGRAMS.into_iter().filter(|(runtime, _)| is_wanted(runtime)) {
            let left = whole.saturating_sub(soak.record().used_for(&program.name()));
            if left.is_zero() {
                println!("{}: has been used for {hours} hours on this commit", program.name());
                continue;
            }
            let soak = &soak;
            scope.spawn(move || {
                if let Err(error) = soak.use_program(program, left) {
                    eprintln!("error: {error:#}");
                    soak.failures().push(format!("{}: {error:#}", program.name()));
                }
            });
        }
    });
    println!("\n{}", soak.record().table()?);
    let failures = soak.failures().len();
    if failures > 0 {
        bail!("{failures} programs showed a fault");
    }
    Ok(())
}

/// The state that the threads of a soak share.
struct Soak {
    record: Mutex<Record>,
    failures: Mutex<Vec<String>>,
    seed: u64,
}

impl Soak {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, Vec<String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses one program for some time, recording its steps as it goes.
    fn use_program(&self, program: Program, time: Duration) -> Result<()> {
        let settings = Settings {
            program,
            length: Length::Time(time),
            seed: self.seed,
            revert_bound: REVERT_BOUND,
            variables: Vec::new(),
        };
        let (mut recorded, mut since) = (StepCounts::default(), Instant::now());
        let mut at_checkpoint = |line: &str, steps: &StepCounts| {
            // The record keeps whole seconds.
            let seconds = Duration::from_secs(since.elapsed().as_secs());
            if let Err(error) = self.record().add_use(&program.name(), &steps.since(&recorded), seconds) {
                eprintln!("error: {error:#}");
            }
            since += seconds;
            recorded = steps.clone();
            println!("{line}");
            if self.failures().is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let summary = run_program(&settings, &mut at_checkpoint)?;
        self.record().add_summary(&program.name(), &summary)
    }
}
