//! Estimates the memory that the CLR keeps because of the agent's requests.
#![forbid(unsafe_code)]

use redial_protocol::cost::{CLR_BYTES_PER_COMPILATION, CLR_BYTES_PER_REQUEST, CLR_BYTES_PER_REVERT};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of methods in the requests sent to the CLR. It keeps a record for each, called or not.
#[derive(Debug, Default)]
pub struct KeptMemory {
    requested: AtomicU64,
    reverted: AtomicU64,
}

impl KeptMemory {
    /// Counts the methods of a `RequestReJIT` that succeeded.
    pub(super) fn add_requested(&self, methods: usize) {
        self.requested.fetch_add(methods as u64, Ordering::Relaxed);
    }

    /// Counts the methods that a `RequestRevert` reverted.
    pub(super) fn add_reverted(&self, methods: usize) {
        self.reverted.fetch_add(methods as u64, Ordering::Relaxed);
    }

    /// Returns the estimated bytes for all requests and for this number of compilations.
    pub fn bytes(&self, compilations: u64) -> u64 {
        let parts = [
            (compilations, CLR_BYTES_PER_COMPILATION),
            (self.requested.load(Ordering::Relaxed), CLR_BYTES_PER_REQUEST),
            (self.reverted.load(Ordering::Relaxed), CLR_BYTES_PER_REVERT),
        ];
        parts.iter().fold(0, |sum, (number, each)| sum.saturating_add(number.saturating_mul(*each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_and_compilation_is_kept() {
        let kept = KeptMemory::default();
        assert_eq!(kept.bytes(0), 0);
        kept.add_requested(2);
        kept.add_requested(3);
        kept.add_reverted(4);
        let requests = 5 * CLR_BYTES_PER_REQUEST + 4 * CLR_BYTES_PER_REVERT;
        assert_eq!(kept.bytes(7), requests + 7 * CLR_BYTES_PER_COMPILATION);
    }
}
