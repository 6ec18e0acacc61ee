//! The continuous soak: random dials, kills, attaches and unloads on one program, for as long as wanted.
//!
//! It checks the program's answers and call counts after each step, that everything is off whenever it should be, and
//! the slope of the agent's memory in the end.

mod memory;
mod settings;
mod steps;
mod subject;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub use memory::Slopes;
pub use settings::{Length, Settings};
pub use steps::{Step, StepCounts};
pub use subject::Program;

/// Steps between two checkpoints. At a checkpoint everything is off and the memory is read.
const STEPS_PER_CHECKPOINT: u64 = 20;
/// The memory of the first part of a run does not count: tables grow to their size.
const WARM_PART: f64 = 0.25;

/// The result of a run that found no fault.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Steps by kind.
    pub steps: StepCounts,
    /// Slopes of memory after the warm-up.
    pub slopes: Slopes,
    /// The longest time from the kill of a controller until its dials were off.
    pub slowest_revert: Duration,
    /// How long it lasted.
    pub lasted: Duration,
}

/// Receives a line and the steps so far at each checkpoint, and says whether to go on.
pub type Report<'a> = &'a mut dyn FnMut(&str, &StepCounts) -> ControlFlow<()>;

/// Runs random steps until the time is over or `report` ends it.
///
/// # Errors
/// At the first fault; the error names the seed, the step, and what was wrong.
pub fn run(settings: &Settings, report: Report<'_>) -> Result<Summary> {
    let began = Instant::now();
    let mut steps = steps::Steps::start(settings)?;
    let fault = |steps: &steps::Steps| {
        format!("{}, seed {}, after {}", settings.program.name(), settings.seed, steps.counts())
    };
    let mut samples = Vec::new();
    loop {
        let share = match settings.length {
            Length::Checkpoints(many) => samples.len() as f64 / f64::from(many.max(1)),
            Length::Time(time) => began.elapsed().as_secs_f64() / time.as_secs_f64().max(f64::EPSILON),
        };
        if share >= 1.0 {
            break;
        }
        for _ in 0..STEPS_PER_CHECKPOINT {
            steps.take_one().with_context(|| fault(&steps))?;
        }
        let sample = steps.check_all_off(began).with_context(|| fault(&steps))?;
        samples.push((share, sample));
        let line = format!("{}: {}; {sample}", settings.program.name(), steps.counts());
        if report(&line, steps.counts()).is_break() {
            break;
        }
    }
    let measured: Vec<_> =
        samples.into_iter().filter(|(share, _)| *share >= WARM_PART).map(|(_, sample)| sample).collect();
    let slopes = Slopes::of(&measured);
    let (counts, slowest_revert) = (steps.counts().clone(), steps.slowest_revert());
    let said = fault(&steps);
    steps.end().with_context(|| said.clone())?;
    ensure!(slopes.is_bounded(), "{said}: the agent's memory grows: {slopes}");
    Ok(Summary { steps: counts, slopes, slowest_revert, lasted: began.elapsed() })
}
