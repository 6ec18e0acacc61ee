//! The gate's numbers and the soak's: the same tests, more of the same.

/// `number` in the gate, `times` as much under `cargo xtask soak` (which sets `REDIAL_SOAK`).
pub fn scaled(number: u64, times: u64) -> u64 {
    if is_on() { number * times } else { number }
}

/// Whether this is the soak: larger numbers, real time-outs.
pub fn is_on() -> bool {
    std::env::var_os("REDIAL_SOAK").is_some_and(|value| !value.is_empty())
}
