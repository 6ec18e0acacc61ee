//! What dials may cost, as sessions know it.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::cost::CostBudget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The budget as the ReJIT thread told it last.
#[derive(Debug, Default)]
pub struct Told {
    budget: Mutex<CostBudget>,
    /// Counts the changes.
    changes: AtomicU64,
}

impl Told {
    /// Tells it; whether it is another than before.
    pub fn put(&self, budget: &CostBudget) -> bool {
        let mut told = lock(&self.budget);
        if *told == *budget {
            return false;
        }
        budget.clone_into(&mut told);
        self.changes.fetch_add(1, Ordering::Release);
        true
    }

    /// As it was told last.
    pub fn get(&self) -> CostBudget {
        lock(&self.budget).clone()
    }

    /// Number of changes so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}
