//! The settings of a run.

use std::time::Duration;

use super::subject::Program;

/// How long a run lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This number of checkpoints, each after 20 steps.
    Checkpoints(u32),
    /// Until this time has passed.
    Time(Duration),
}

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program.
    pub program: Program,
    /// How long it lasts.
    pub length: Length,
    /// Chooses the steps.
    pub seed: u64,
    /// The dials of a dead controller are off within this time.
    pub revert_bound: Duration,
    /// Variables of the program, such as `REDIAL_TEST_FAULT`.
    pub variables: Vec<(String, String)>,
}
