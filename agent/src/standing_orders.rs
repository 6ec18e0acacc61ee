//! The standing orders, as other threads than the ReJIT thread see them.
#![forbid(unsafe_code)]

use crate::planner::{Orders, Published, Standing};
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The standing orders. Only the ReJIT thread changes them.
#[derive(Debug)]
pub struct StandingOrders {
    /// Orders to match newly loaded modules against; some may not have been applied yet.
    expected: Mutex<Arc<[Arc<Standing>]>>,
    published: Mutex<Arc<Published>>,
    any: AtomicBool,
}

impl Default for StandingOrders {
    fn default() -> StandingOrders {
        StandingOrders {
            expected: Mutex::new(Arc::from([])),
            published: Mutex::default(),
            any: AtomicBool::new(false),
        }
    }
}

impl StandingOrders {
    /// Makes the orders known to threads that load modules, before they are applied.
    pub fn anticipate(&self, orders: &Orders) -> Arc<[Arc<Standing>]> {
        let expected: Arc<[Arc<Standing>]> = Arc::from(orders.tidied());
        self.any.store(!expected.is_empty(), Ordering::Release);
        *lock(&self.expected) = Arc::clone(&expected);
        expected
    }

    /// Makes the orders known to sessions as well, after they have been applied: a session that sees orders gone
    /// sees none of their effects any more.
    pub fn publish(&self, orders: &Orders, undoable: usize) {
        let published = Arc::new(Published { orders: self.anticipate(orders), undoable });
        let before = std::mem::replace(&mut *lock(&self.published), published);
        drop(before);
    }

    /// Returns the standing orders, as last published.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&lock(&self.published))
    }

    /// Whether any order stands or is about to.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Whether an order may match methods of an assembly, or methods of others once it is loaded.
    pub fn may_match(&self, assembly: &str) -> bool {
        if !self.any() {
            return false;
        }
        let expected = Arc::clone(&lock(&self.expected));
        let patterns = expected.iter().map(|standing| &standing.pattern);
        patterns.into_iter().any(|pattern| pattern.names_supertype() || pattern.matches_assembly(assembly))
    }
}
