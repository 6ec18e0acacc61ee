//! Locks that a caught fault of ours cannot poison: the data behind them is valid between any two statements.
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard};

/// Locks, whoever panicked with it held before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
