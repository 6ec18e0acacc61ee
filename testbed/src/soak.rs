//! Scale of the gate and the soak. Both run the same tests; the soak repeats more.

/// Returns `number` in the gate and `times` as much under `cargo xtask soak`, which sets `REDIAL_SOAK`.
pub fn scaled(number: u64, times: u64) -> u64 {
    if is_on() { number * times } else { number }
}

/// Returns whether this is the soak, with larger numbers and real time-outs.
pub fn is_on() -> bool {
    std::env::var_os("REDIAL_SOAK").is_some_and(|value| !value.is_empty())
}
