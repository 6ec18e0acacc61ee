//! `cargo xtask bench`: what the agent costs, as medians of alternating pairs on real runtimes in one run.

mod collector;
mod count;
mod meter;
mod report;
mod startup;

use anyhow::{Result, bail};
use redial_testbed::runtimes::Runtime;

use crate::build::{self, Built, Profile};
use crate::setup;
use report::{Pair, Row};

/// What a row's measuring needs.
pub struct Bench {
    /// Optimised agent and program.
    pub built: Built,
    /// How many pairs to measure.
    pub pairs: usize,
}

impl Bench {
    /// Measures `pairs` pairs, each time both sides, in alternating order.
    ///
    /// # Errors
    /// The first failure of a side.
    pub fn pairs(
        &self,
        mut plain: impl FnMut() -> Result<f64>,
        mut dialled: impl FnMut() -> Result<f64>,
    ) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for number in 0..self.pairs {
            // Drift of the machine (heat, neighbours) must not favour one side.
            let pair = if number % 2 == 0 {
                let plain = plain()?;
                Pair { plain, dialled: dialled()? }
            } else {
                let dialled = dialled()?;
                Pair { plain: plain()?, dialled }
            };
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

/// One subject of measurement; it may give several rows (runtimes, threads).
struct Subject {
    name: &'static str,
    measure: fn(&Bench, Runtime) -> Result<Vec<Row>>,
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "count", measure: count::measure },
    Subject { name: "startup", measure: startup::measure },
    Subject { name: "collector", measure: collector::measure },
];

/// Measures the subjects named, or all, on every runtime, and prints a table for the terminal and one in Markdown.
///
/// # Errors
/// A subject nobody knows, or the first failure of a measurement.
pub fn run(names: &[String], pairs: usize) -> Result<()> {
    for name in names {
        if !SUBJECTS.iter().any(|subject| subject.name == name) {
            let known: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            bail!("there is no row {name}; the rows are {}", known.join(", "));
        }
    }
    if pairs < 3 {
        bail!("--pairs must be at least 3, or a median means nothing");
    }
    setup::for_demo()?;
    let bench = Bench { built: build::native(Profile::Release)?, pairs };
    let mut rows = Vec::new();
    for subject in SUBJECTS {
        if !names.is_empty() && !names.iter().any(|name| name == subject.name) {
            continue;
        }
        for runtime in Runtime::all() {
            println!("==> {} on {}: {pairs} pairs", subject.name, runtime.name());
            rows.extend((subject.measure)(&bench, runtime)?);
        }
    }
    println!("\n{}", report::terminal(&rows));
    println!("{}", report::markdown(&rows));
    Ok(())
}
