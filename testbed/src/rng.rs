//! Pseudo-random choices, the same every time for a seed.

/// A linear congruential generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns a generator for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `sides`, or 0 when `sides` is 0.
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % (sides.max(1) as u64)) as usize
    }
}
