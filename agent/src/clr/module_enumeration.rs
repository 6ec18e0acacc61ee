//! Records the modules loaded before an attach, while modules come and go. A module that unloads in between must
//! not be read any more, and another module may get its ModuleID at once. So this remembers the modules that begin
//! to unload.
#![forbid(unsafe_code)]

use super::loaded_module::LoadedModule;
use crate::sync::lock;
use std::collections::HashSet;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// Pause of an unloading thread between two checks.
const PAUSE: Duration = Duration::from_micros(200);

/// The modules that unload during the enumeration.
#[derive(Debug, Default)]
pub struct ModuleEnumeration {
    /// ModuleIDs that began to unload; None outside an enumeration.
    gone: Mutex<Option<HashSet<usize>>>,
    /// Held while a module is read.
    reading: Mutex<()>,
}

impl ModuleEnumeration {
    /// Starts to remember unloads. Call it before listing the modules.
    pub fn begin(&self) {
        *lock(&self.gone) = Some(HashSet::new());
    }

    /// Ends the enumeration.
    pub fn end(&self) {
        *lock(&self.gone) = None;
    }

    /// Runs `body` for a listed module while it cannot unload; None once it has begun to.
    pub fn while_loaded<T>(&self, id: usize, body: impl FnOnce(&LoadedModule) -> T) -> Option<T> {
        let reading = lock(&self.reading);
        // Check under the lock: `unloading` remembers the module before it waits.
        let is_gone = lock(&self.gone).as_ref().is_none_or(|gone| gone.contains(&id));
        (!is_gone).then(|| body(&LoadedModule::in_enumeration(id, reading)))
    }

    /// Handles a module that begins to unload: waits, at most until `deadline`, while any module is being read.
    /// Returns whether none is.
    pub fn unloading(&self, id: usize, deadline: Instant) -> bool {
        match lock(&self.gone).as_mut() {
            Some(gone) => gone.insert(id),
            None => return true,
        };
        while let Err(TryLockError::WouldBlock) = self.reading.try_lock() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn unloading_modules_are_not_read() {
        let modules = ModuleEnumeration::default();
        modules.begin();
        assert_eq!(modules.while_loaded(7, |module| module.id()), Some(7));
        assert!(modules.unloading(7, later()));
        assert_eq!(
            (modules.while_loaded(7, |module| module.id()), modules.while_loaded(8, |module| module.id())),
            (None, Some(8))
        );
        modules.end();
        assert!(modules.unloading(8, later()));
        assert_eq!(
            modules.while_loaded(8, |module| module.id()),
            None,
            "after the end no listed module is read"
        );
    }

    #[test]
    fn unloading_waits_for_the_reader_within_its_bound() {
        let modules = ModuleEnumeration::default();
        modules.begin();
        let (unloaded, wait) = channel();
        std::thread::scope(|scope| {
            modules.while_loaded(7, |_| {
                assert!(!modules.unloading(8, Instant::now() + Duration::from_millis(1)));
                scope.spawn(|| {
                    assert!(modules.unloading(7, later()));
                    unloaded.send(()).expect("the test still waits");
                });
                while !lock(&modules.gone).as_ref().is_some_and(|gone| gone.contains(&7)) {
                    std::thread::yield_now();
                }
                assert!(wait.try_recv().is_err(), "it waits for this reader");
            });
            wait.recv().expect("it unloads after the reader");
        });
    }
}
