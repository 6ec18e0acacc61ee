//! Locks that a caught fault of ours cannot poison: the data behind them is valid between any two statements.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard};

thread_local! {
    static SHORT: Cell<u32> = const { Cell::new(0) };
}

/// There while the running thread has a lock that the host's threads wait for.
#[derive(Debug)]
pub struct Short(());

impl Short {
    /// Before the lock's guard is dropped, this must not be.
    pub fn begin() -> Short {
        note(1);
        Short(())
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        note(u32::MAX);
    }
}

fn note(more: u32) {
    if cfg!(debug_assertions) {
        // A thread past its own destructors notes nothing.
        let _ = SHORT.try_with(|short| short.set(short.get().wrapping_add(more)));
    }
}

/// What takes the longer the more threads or methods there are says so: under a short lock it is a fault (debug builds).
pub fn long_work() {
    let held = || SHORT.try_with(Cell::get).unwrap_or(0);
    debug_assert!(held() == 0, "the host's threads would wait for this");
}

/// Locks, whoever panicked with it held before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_under_a_short_lock_is_a_fault() {
        long_work();
        let outer = Short::begin();
        drop(Short::begin());
        assert!(std::panic::catch_unwind(long_work).is_err());
        drop(outer);
        long_work();
    }
}
