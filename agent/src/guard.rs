//! The boundary of every entry from the host: nothing of ours may unwind into it. A caught fault is counted;
//! after [`MAX_TRIPS`] the kill switch is thrown: all dials go off and the agent stays quiet.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Faults after which the agent gives up.
pub const MAX_TRIPS: u64 = 3;

static TRIPS: AtomicU64 = AtomicU64::new(0);
static KILLED: AtomicBool = AtomicBool::new(false);

/// Runs `body`; answers `fallback` when it panics or the kill switch was thrown.
pub fn guard<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    if KILLED.load(Ordering::Relaxed) {
        return fallback;
    }
    guard_always(fallback, body)
}

/// As [`guard`], for what must still run after the kill switch (reverting, shutting down).
pub fn guard_always<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(payload) => {
            // Dropping a payload runs foreign code that may panic again; it is small and rare: leak it.
            std::mem::forget(payload);
            if TRIPS.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TRIPS {
                KILLED.store(true, Ordering::Relaxed);
            }
            fallback
        }
    }
}

/// Faults caught so far.
pub fn trips() -> u64 {
    TRIPS.load(Ordering::Relaxed)
}

/// Whether the kill switch was thrown.
pub fn killed() -> bool {
    KILLED.load(Ordering::Relaxed)
}

/// Keeps a fault of ours from writing to the host's standard error. The hook is this library's own: the standard
/// library is linked into it, so no panic of the host's comes here.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_fault_throws_the_kill_switch() {
        for _ in 0..MAX_TRIPS {
            assert_eq!(guard(7, || panic!("planted")), 7);
        }
        assert!(killed());
        assert_eq!(guard(7, || 8), 7, "a killed agent runs nothing");
        assert_eq!(guard_always(7, || 8), 8, "but can still revert");
    }
}
