//! The cost budget as sessions see it.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::cost::CostBudget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The budget as last published by the ReJIT thread.
#[derive(Debug, Default)]
pub struct PublishedBudget {
    budget: Mutex<CostBudget>,
    /// Number of changes so far.
    changes: AtomicU64,
}

impl PublishedBudget {
    /// Publishes a budget; returns whether it changed.
    pub fn put(&self, budget: &CostBudget) -> bool {
        let mut published = lock(&self.budget);
        if *published == *budget {
            return false;
        }
        budget.clone_into(&mut published);
        self.changes.fetch_add(1, Ordering::Release);
        true
    }

    /// Returns the last published budget.
    pub fn get(&self) -> CostBudget {
        lock(&self.budget).clone()
    }

    /// Returns the number of changes so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}
