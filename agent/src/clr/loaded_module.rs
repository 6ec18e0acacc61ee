//! Proof that a module is loaded, for as long as the proof lives.
//!
//! Calls into the CLR that take a ModuleID take a [`LoadedModule`] instead, so that no stale ModuleID gets there,
//! within the 100 ms bound of an unload. Such a proof comes from three places: a [`ModuleLife`], which the unloading
//! thread waits for; the enumeration after an attach ([`super::module_enumeration`]); and a callback of the CLR about
//! the module.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

/// Pause of an unloading thread between two attempts.
const UNLOAD_PAUSE: Duration = Duration::from_micros(200);

/// A module that cannot finish unloading while this exists (within the bound of [`ModuleLife::wait_for_readers`]).
#[derive(Debug)]
pub struct LoadedModule<'a> {
    id: usize,
    hold: Hold<'a>,
}

/// Prevents the unload from finishing.
#[derive(Debug)]
enum Hold<'a> {
    /// The unloading thread waits for readers of this life.
    Reader(&'a ModuleLife, #[expect(dead_code, reason = "held until it is dropped")] RwLockReadGuard<'a, ()>),
    /// The unloading thread waits for the enumeration.
    Enumeration(#[expect(dead_code, reason = "held until it is dropped")] MutexGuard<'a, ()>),
    /// The CLR waits for the callback.
    Callback,
}

impl<'a> LoadedModule<'a> {
    /// Makes the proof for the module that the CLR passed to the running callback.
    ///
    /// # Safety
    /// The CLR passed this ModuleID to a callback, that callback has not returned, and the proof is dropped before
    /// it does.
    pub unsafe fn in_callback(id: usize) -> LoadedModule<'a> {
        LoadedModule { id, hold: Hold::Callback }
    }

    /// Makes the proof for a module of an enumeration, which holds up the module's unload.
    pub(super) fn in_enumeration(id: usize, reading: MutexGuard<'a, ()>) -> LoadedModule<'a> {
        LoadedModule { id, hold: Hold::Enumeration(reading) }
    }

    /// Returns the ModuleID.
    pub fn id(&self) -> usize {
        self.id
    }

    /// Whether the module began to unload, so that the unloading thread waits for this reader.
    pub fn is_gone(&self) -> bool {
        match &self.hold {
            Hold::Reader(life, _) => life.is_gone(),
            Hold::Enumeration(_) | Hold::Callback => false,
        }
    }
}

/// One life of a loaded module. Readers hold a [`LoadedModule`]; the thread that unloads the module waits for them.
#[derive(Debug)]
pub struct ModuleLife {
    id: usize,
    /// Set before the module unloads: from then on no reader begins, and long readers stop.
    gone: AtomicBool,
    /// Read-locked by readers. Only ever tried for writing, so a reader may lock it again.
    readers: RwLock<()>,
}

impl ModuleLife {
    /// Makes the life of a module that is loaded now.
    pub fn of(module: &LoadedModule) -> ModuleLife {
        ModuleLife::new(module.id)
    }

    /// Makes a life for tests of code that knows modules by name and number only.
    #[cfg(test)]
    pub fn sample(id: usize) -> ModuleLife {
        ModuleLife::new(id)
    }

    fn new(id: usize) -> ModuleLife {
        ModuleLife { id, gone: AtomicBool::new(false), readers: RwLock::new(()) }
    }

    /// Returns the ModuleID, as a name. It does not prove that the module is still loaded.
    pub fn id(&self) -> usize {
        self.id
    }

    /// Keeps the module from unloading; None once it unloads.
    pub fn loaded(&self) -> Option<LoadedModule<'_>> {
        let reading = self.readers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Check under the lock: `end` sets the flag before `wait_for_readers` waits.
        (!self.is_gone()).then_some(LoadedModule { id: self.id, hold: Hold::Reader(self, reading) })
    }

    /// Whether the module unloads or has unloaded. Long readers check this and stop.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Marks the module as unloading.
    pub fn end(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Waits until all readers of the module are done, at most until `deadline`; returns whether they are.
    pub fn wait_for_readers(&self, deadline: Instant) -> bool {
        wait_for_readers(&self.readers, deadline)
    }
}

/// Waits until all read locks taken before are released, at most until `deadline`; returns whether they are.
pub fn wait_for_readers(readers: &RwLock<()>, deadline: Instant) -> bool {
    while let Err(TryLockError::WouldBlock) = readers.try_write() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(UNLOAD_PAUSE);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readershold_up_the_end_within_its_bound() {
        let life = ModuleLife::sample(7);
        let soon = || Instant::now() + Duration::from_millis(1);
        {
            let outer = life.loaded().expect("it is loaded");
            let inner = life.loaded().expect("a reader may read again");
            assert_eq!((outer.id(), inner.id()), (7, 7));
            assert!(!inner.is_gone());
            life.end();
            assert!(inner.is_gone(), "a long reader notices and leaves");
            let began = Instant::now();
            assert!(!life.wait_for_readers(soon()), "they are still there");
            assert!(began.elapsed() >= Duration::from_millis(1));
        }
        assert!(life.loaded().is_none());
        assert!(life.wait_for_readers(Instant::now() + Duration::from_secs(60)));
    }
}
