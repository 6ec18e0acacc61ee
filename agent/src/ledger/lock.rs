//! The ledger's lock and its signal.
//!
//! One lock, held for short work only, because host threads take it inside callbacks. Never hold it across a call
//! into the CLR, nor while summing the counters of threads (checked in debug builds: `sync::long_work`). `Context`
//! has the order of locks.
#![forbid(unsafe_code)]

use super::state::LedgerState;
use crate::sync::{ShortLock, lock};
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The ledger with its lock and its signal.
pub struct Ledger {
    state: Mutex<LedgerState>,
    changed: Condvar,
    started: Instant,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { state: Mutex::default(), changed: Condvar::new(), started: Instant::now() }
    }
}

/// The ledger's data, locked.
pub struct LockedLedger<'a> {
    state: MutexGuard<'a, LedgerState>,
    _short: ShortLock,
}

impl Deref for LockedLedger<'_> {
    type Target = LedgerState;

    fn deref(&self) -> &LedgerState {
        &self.state
    }
}

impl DerefMut for LockedLedger<'_> {
    fn deref_mut(&mut self) -> &mut LedgerState {
        &mut self.state
    }
}

impl Ledger {
    /// Returns the milliseconds of the agent's monotonic clock.
    pub fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Locks the ledger. Keep it short.
    pub fn lock(&self) -> LockedLedger<'_> {
        LockedLedger { state: lock(&self.state), _short: ShortLock::begin() }
    }

    /// Locks the ledger for a change, then wakes the waiting sessions.
    pub fn change<T>(&self, body: impl FnOnce(&mut LedgerState, u64) -> T) -> T {
        let now = self.now_ms();
        let result = body(&mut self.lock(), now);
        self.changed.notify_all();
        result
    }

    /// Waits until the ring passes `seen`, the agent stops, `other` is true at a [`Ledger::wake`], or `timeout`.
    pub fn wait(&self, seen: u64, timeout: Duration, other: impl Fn() -> bool) {
        let state = lock(&self.state);
        let nothing_new = |state: &mut LedgerState| state.ring_end() <= seen && !state.stopping() && !other();
        let _guard = self
            .changed
            .wait_timeout_while(state, timeout, nothing_new)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
    }

    /// Makes all waiting threads check their other conditions.
    pub fn wake(&self) {
        // Under the lock, so that no thread is between its check and its wait.
        let _locked = self.lock();
        self.changed.notify_all();
    }

    /// Tells all waiting threads that the agent stops.
    pub fn stop(&self) {
        self.change(|state, _| state.stop());
    }

    /// Whether the process is ending, so that nothing may call the CLR any more.
    pub fn is_stopping(&self) -> bool {
        self.lock().stopping()
    }
}
