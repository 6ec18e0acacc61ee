//! Entering what was loaded before an attach, while modules come and go. One that unloads in between must not be read
//! any more, and its ModuleID may be another module's at once: what has begun to unload is remembered meanwhile.
#![forbid(unsafe_code)]

use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// How long an unloading thread sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(200);

/// What unloads while stock is taken.
#[derive(Debug, Default)]
pub struct Stock {
    /// ModuleIDs that began to unload; None while no stock is taken.
    gone: Mutex<Option<HashSet<usize>>>,
    /// Held while a module is read.
    reading: Mutex<()>,
}

impl Stock {
    /// From now on unloads are remembered. Before the list of modules is asked for.
    pub fn begin(&self) {
        *lock(&self.gone) = Some(HashSet::new());
    }

    /// Stock is taken.
    pub fn end(&self) {
        *lock(&self.gone) = None;
    }

    /// Runs `body` for a module of the list while it cannot unload; None once it has begun to.
    pub fn while_loaded<T>(&self, id: usize, body: impl FnOnce() -> T) -> Option<T> {
        let _reading = lock(&self.reading);
        // Looked at under the lock: `unloading` remembers before it waits.
        let is_gone = lock(&self.gone).as_ref().is_none_or(|gone| gone.contains(&id));
        (!is_gone).then(body)
    }

    /// A module begins to unload: waits, at most `longest`, while one is being read.
    pub fn unloading(&self, id: usize, longest: Duration) {
        match lock(&self.gone).as_mut() {
            Some(gone) => gone.insert(id),
            None => return,
        };
        let deadline = Instant::now() + longest;
        while let Err(TryLockError::WouldBlock) = self.reading.try_lock() {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_began_to_unload_is_not_read() {
        let stock = Stock::default();
        stock.begin();
        assert_eq!(stock.while_loaded(7, || 1), Some(1));
        stock.unloading(7, LONG);
        assert_eq!((stock.while_loaded(7, || 1), stock.while_loaded(8, || 2)), (None, Some(2)));
        stock.end();
        stock.unloading(8, LONG);
        assert_eq!(stock.while_loaded(8, || 2), None, "after the end nothing of the list is read");
    }

    #[test]
    fn unloading_waits_for_the_reader_within_its_bound() {
        let stock = Stock::default();
        stock.begin();
        let (unloaded, wait) = channel();
        std::thread::scope(|scope| {
            stock.while_loaded(7, || {
                stock.unloading(8, Duration::from_millis(1));
                scope.spawn(|| {
                    stock.unloading(7, LONG);
                    unloaded.send(()).expect("heard");
                });
                while !lock(&stock.gone).as_ref().is_some_and(|gone| gone.contains(&7)) {
                    std::thread::yield_now();
                }
                assert!(wait.try_recv().is_err(), "it waits for this reader");
            });
            wait.recv().expect("unloaded once nobody reads");
        });
    }
}
