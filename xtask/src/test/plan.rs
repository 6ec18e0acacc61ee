//! The options of one test run, and the counts that it ends with.

use std::collections::BTreeMap;

use crate::build::Built;

/// Numbers of tests; a suite that is one check counts as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: u64,
    /// Failed, or did not end in time.
    pub failed: u64,
    /// Did not run, for a reason that was printed.
    pub skipped: u64,
    /// Inputs that each fuzz target ran.
    pub inputs: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds another suite's numbers.
    pub fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (target, inputs) in &other.inputs {
            *self.inputs.entry(target.clone()).or_default() += inputs;
        }
    }
}

/// Options and artefacts that the suites need.
pub struct Plan<'a> {
    /// Run only tests whose names contain this.
    pub only: Option<&'a str>,
    /// Larger numbers and real time-outs.
    pub soak: bool,
    /// How long each fuzz target runs; a fixed number of inputs when absent.
    pub fuzz_seconds: Option<u32>,
    /// Agent and program for this machine; absent when no chosen suite needs them.
    pub built: Option<Built>,
}
