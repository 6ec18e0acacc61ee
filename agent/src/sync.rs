//! Locks that a caught fault cannot poison: the data behind them is valid between any two statements.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard};

thread_local! {
    static SHORT: Cell<u32> = const { Cell::new(0) };
}

/// Exists while the running thread holds a lock that the host's threads wait for.
#[derive(Debug)]
pub struct ShortLock(());

impl ShortLock {
    /// Drop it only after the lock's guard.
    pub fn begin() -> ShortLock {
        note(1);
        ShortLock(())
    }
}

impl Drop for ShortLock {
    fn drop(&mut self) {
        note(u32::MAX);
    }
}

fn note(more: u32) {
    if cfg!(debug_assertions) {
        // A thread past its own destructors records nothing.
        let _ = SHORT.try_with(|short| short.set(short.get().wrapping_add(more)));
    }
}

/// Marks work that takes longer with more threads or methods: it is a fault to do it under a short lock (debug
/// builds).
pub fn long_work() {
    let held = || SHORT.try_with(Cell::get).unwrap_or(0);
    debug_assert!(held() == 0, "the host's threads would wait for this");
}

/// Locks, even if a thread panicked while holding the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_under_a_short_lock_is_a_fault() {
        long_work();
        let outer = ShortLock::begin();
        drop(ShortLock::begin());
        assert!(std::panic::catch_unwind(long_work).is_err());
        drop(outer);
        long_work();
    }
}
