//! The boundary of every entry from the host: the agent must never unwind into it. Caught faults are counted; after
//! [`MAX_AGENT_FAULTS`] the kill switch turns all dials off and silences the agent.
#![forbid(unsafe_code)]

pub mod planted;

use redial_protocol::limits::MAX_AGENT_FAULTS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static TRIPS: AtomicU64 = AtomicU64::new(0);
static KILLED: AtomicBool = AtomicBool::new(false);

/// Runs `body`; returns `fallback` if it panics or the kill switch was thrown.
pub fn guard<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    if KILLED.load(Ordering::Relaxed) {
        return fallback;
    }
    guard_always(fallback, body)
}

/// Like [`guard`], for work that must still run after the kill switch (reverting, shutting down).
pub fn guard_always<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(payload) => {
            // Dropping a payload runs foreign code that may panic again. Leak it; it is small and rare.
            std::mem::forget(payload);
            if TRIPS.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_AGENT_FAULTS {
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

/// Keeps the agent's faults from writing to the host's standard error. The hook belongs to this library's own copy
/// of the standard library, so panics of the host never reach it.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_fault_throws_the_kill_switch() {
        for _ in 0..MAX_AGENT_FAULTS {
            assert_eq!(guard(7, || panic!("planted")), 7);
        }
        assert!(killed());
        assert_eq!(guard(7, || 8), 7, "a killed agent runs nothing");
        assert_eq!(guard_always(7, || 8), 8, "but can still revert");
    }
}
