//! Guards queries about machine code whose owner is unknown until the CLR answers: it may free the owner meanwhile.
#![forbid(unsafe_code)]

use crate::clr::loaded_module::wait_for_readers;
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

/// How long after a module begins to unload, or a dynamic method to be destroyed, it may disappear.
const UNLOAD_TIME: Duration = Duration::from_millis(100);
/// Pause between two attempts to query code.
pub const CODE_PAUSE: Duration = Duration::from_millis(5);

/// Queries about machine code.
#[derive(Default)]
pub struct CodeQueries {
    modules: Removals,
    dynamic_methods: Removals,
    /// No more queries, ever.
    closed: AtomicBool,
}

/// Removals of owners of one kind.
#[derive(Default)]
struct Removals {
    /// Read-locked during a query.
    readers: RwLock<()>,
    /// When a removal last began.
    began: Mutex<Option<Instant>>,
}

impl Removals {
    /// Records the beginning of a removal; every later query sees it.
    fn begin(&self) {
        *lock(&self.began) = Some(Instant::now());
    }

    /// Runs `query` unless a removal may be under way. A removal that begins during the query waits for it.
    fn unless_removing<T>(&self, query: impl FnOnce() -> T) -> Option<T> {
        let _reading = self.readers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let stay = lock(&self.began).is_none_or(|since| since.elapsed() >= UNLOAD_TIME);
        stay.then(query)
    }
}

impl CodeQueries {
    /// Records that a module begins to unload.
    pub fn begin_unload(&self) {
        self.modules.begin();
    }

    /// Waits for present queries; returns whether they ended in time.
    pub fn wait_for_queries(&self, deadline: Instant) -> bool {
        wait_for_readers(&self.modules.readers, deadline)
    }

    /// Records that a dynamic method is about to be destroyed, and waits for present queries about such methods;
    /// returns whether they ended in time.
    pub fn destroy_dynamic_method(&self, deadline: Instant) -> bool {
        self.dynamic_methods.begin();
        wait_for_readers(&self.dynamic_methods.readers, deadline)
    }

    /// Ends all queries for good.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Runs `query`, which asks the CLR about the owner of code, while no module unloads. None if that is impossible
    /// until `until`, or for good.
    pub fn while_modules_stay<T>(&self, until: Instant, query: impl Fn() -> T) -> Option<T> {
        loop {
            let answer = self.modules.unless_removing(|| (!self.closed.load(Ordering::Acquire)).then(&query));
            match answer {
                Some(answer) => return answer,
                None if Instant::now() >= until => return None,
                None => std::thread::sleep(CODE_PAUSE),
            }
        }
    }

    /// Runs `query`, which asks the CLR about the owner of code, unless a dynamic method may be being destroyed now.
    pub fn while_dynamic_methods_stay<T>(&self, query: impl FnOnce() -> T) -> Option<T> {
        self.dynamic_methods.unless_removing(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(1)
    }

    #[test]
    fn dynamic_methods_are_left_alone_while_destroyed() {
        let queries = CodeQueries::default();
        assert_eq!(queries.while_dynamic_methods_stay(|| 1), Some(1));
        assert!(queries.destroy_dynamic_method(soon()));
        assert_eq!(queries.while_dynamic_methods_stay(|| 1), None, "it may still be under way");
        assert_eq!(queries.while_modules_stay(soon(), || 2), Some(2), "other code stays");
        *lock(&queries.dynamic_methods.began) = Instant::now().checked_sub(UNLOAD_TIME);
        assert_eq!(queries.while_dynamic_methods_stay(|| 3), Some(3));
    }

    #[test]
    fn destructions_wait_for_present_queries() {
        let queries = CodeQueries::default();
        let waited = queries.while_dynamic_methods_stay(|| {
            std::thread::scope(|scope| scope.spawn(|| queries.destroy_dynamic_method(soon())).join().ok())
        });
        assert_eq!(waited, Some(Some(false)), "the query was still there");
    }

    #[test]
    fn code_is_left_alone_while_modules_unload_and_after_the_end() {
        let queries = CodeQueries::default();
        queries.begin_unload();
        assert!(queries.wait_for_queries(soon()));
        assert_eq!(queries.while_modules_stay(soon(), || 1), None);
        *lock(&queries.modules.began) = Instant::now().checked_sub(UNLOAD_TIME);
        assert_eq!(queries.while_modules_stay(soon(), || 1), Some(1));
        queries.close();
        assert_eq!(queries.while_modules_stay(soon(), || 1), None);
    }
}
