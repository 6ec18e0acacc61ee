//! The settings of one benchmark run, and the alternation of its pairs.

use anyhow::Result;
use redial_testbed::runtimes::Runtime;

use super::report::Pair;
use crate::build::Built;

/// Settings and artefacts that every row needs.
pub struct Bench {
    /// Optimised agent and program.
    pub built: Built,
    /// Pairs per row.
    pub pairs: usize,
    /// The runtimes to measure on.
    pub runtimes: Vec<Runtime>,
    /// A quick, rough answer is enough.
    pub quick: bool,
}

impl Bench {
    /// Measures `pairs` pairs, each time both sides, in alternating order.
    ///
    /// # Errors
    /// The first failure of a side.
    pub fn pairs(
        &self,
        plain: impl FnMut() -> Result<f64>,
        dialled: impl FnMut() -> Result<f64>,
    ) -> Result<Vec<Pair>> {
        let pairs = alternating(self.pairs, plain, dialled)?.into_iter();
        Ok(pairs.map(|[plain, dialled]| Pair { plain, dialled }).collect())
    }
}

/// Runs both sides `pairs` times in alternating order, so that drift of the machine (heat, neighbours) favours neither.
///
/// # Errors
/// The first failure of a side.
pub fn alternating<T>(
    pairs: usize,
    mut plain: impl FnMut() -> Result<T>,
    mut dialled: impl FnMut() -> Result<T>,
) -> Result<Vec<[T; 2]>> {
    let mut all = Vec::new();
    for number in 0..pairs {
        all.push(if number % 2 == 0 {
            let plain = plain()?;
            [plain, dialled()?]
        } else {
            let dialled = dialled()?;
            [plain()?, dialled]
        });
    }
    Ok(all)
}
