//! A bound on what all sessions take together.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// At most `LIMIT` of something.
#[derive(Default)]
pub(super) struct Quota<const LIMIT: usize> {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A taken amount, given back on drop.
pub(super) struct Share<const LIMIT: usize> {
    quota: &'static Quota<LIMIT>,
    amount: usize,
}

impl<const LIMIT: usize> Quota<LIMIT> {
    /// Takes `amount`, waiting for at most `longest`; None if it got none. Even the largest `amount` is granted
    /// when nothing else is taken.
    pub(super) fn take(&'static self, amount: usize, longest: Duration) -> Option<Share<LIMIT>> {
        let amount = amount.min(LIMIT);
        let full = |taken: &mut usize| *taken + amount > LIMIT;
        let (mut taken, _) = self
            .freed
            .wait_timeout_while(lock(&self.taken), longest, full)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if full(&mut taken) {
            return None;
        }
        *taken += amount;
        Some(Share { quota: self, amount })
    }
}

impl<const LIMIT: usize> Drop for Share<LIMIT> {
    fn drop(&mut self) {
        let mut taken = lock(&self.quota.taken);
        *taken = taken.saturating_sub(self.amount);
        self.quota.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_others_and_serves_the_largest_alone() {
        let quota: &'static Quota<10> = Box::leak(Box::default());
        let first = quota.take(6, Duration::ZERO).unwrap();
        assert!(quota.take(5, Duration::ZERO).is_none());
        let second = quota.take(4, Duration::ZERO).unwrap();
        let waiting = std::thread::spawn(|| quota.take(99, Duration::from_secs(60)).is_some());
        drop(first);
        drop(second);
        assert!(waiting.join().unwrap());
        assert_eq!(*lock(&quota.taken), 0);
    }
}
