//! Memory that a thread's timer needs the more of the deeper its calls and the more its methods are: address space, of
//! which so much is there as was asked for. It is within the budget of the arena, and what is not needed any more goes back.

use super::arena;
use super::reserve;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Least that is asked for at once, bytes.
pub const STEP: usize = 4096;

/// A stretch of address space.
#[derive(Debug)]
#[repr(C)]
pub struct Steps {
    base: NonNull<u8>,
    bytes: usize,
    /// From the base on, so many bytes may be used, and are counted.
    open: AtomicUsize,
}

impl Steps {
    /// So many bytes of address space, a multiple of [`STEP`]; None when the system refuses.
    pub fn new(bytes: usize) -> Option<Steps> {
        let base = reserve::reserve_space(bytes)?;
        Some(Steps { base, bytes, open: AtomicUsize::new(0) })
    }

    /// Its first byte. What is not open must not be touched.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Makes the first so many bytes usable, zeros as long as nobody wrote to them; false when there is no such room, or
    /// no memory left.
    pub fn open_to(&self, bytes: usize) -> bool {
        let wanted = bytes.next_multiple_of(STEP);
        let open = self.open.load(Ordering::Acquire);
        if wanted <= open {
            return true;
        }
        let more = wanted - open;
        if wanted > self.bytes || !arena::charge(more) {
            return false;
        }
        // SAFETY: within the stretch. What another thread made usable meanwhile stays as it is.
        if !unsafe { reserve::commit(self.base.add(open), more) } {
            arena::discharge(more);
            return false;
        }
        let before = self.open.fetch_max(wanted, Ordering::AcqRel);
        // What another thread opened meanwhile was counted by it.
        arena::discharge(before.min(wanted).saturating_sub(open));
        true
    }

    /// Gives back what is behind the first so many bytes, a multiple of [`STEP`], where the system lets it.
    ///
    /// # Safety
    /// Nobody uses what is behind them, nor opens more meanwhile.
    pub unsafe fn close_to(&self, bytes: usize) {
        let open = self.open.load(Ordering::Acquire);
        let Some(surplus) = open.checked_sub(bytes).filter(|surplus| *surplus > 0) else { return };
        // SAFETY: within what is open; the caller's contract.
        if unsafe { reserve::give_back(self.base.add(bytes), surplus) } {
            self.open.store(bytes, Ordering::Release);
            arena::discharge(surplus);
        }
    }

    /// Bytes that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        arena::discharge(self.open());
        // SAFETY: reserved by `new`; whoever drops it has given its address to nobody.
        unsafe { reserve::release(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_in_steps_and_is_empty_again_once_it_was_closed() {
        let steps = Steps::new(64 * STEP).expect("there is address space");
        assert!(steps.open_to(1) && steps.open() == STEP);
        assert!(steps.open_to(10 * STEP + 1) && steps.open() == 11 * STEP);
        assert!(steps.open_to(STEP) && steps.open() == 11 * STEP, "it is open already");
        assert!(!steps.open_to(64 * STEP + 1) && steps.open() == 11 * STEP, "it ends there");
        // SAFETY: within the stretch.
        let last = || unsafe { steps.base().add(11 * STEP - 1).as_ptr() };
        // SAFETY: it is open.
        unsafe { last().write(7) };
        // SAFETY: nobody else has it.
        unsafe { steps.close_to(2 * STEP) };
        if cfg!(any(target_os = "linux", windows)) {
            assert_eq!(steps.open(), 2 * STEP);
            assert!(steps.open_to(11 * STEP));
            // SAFETY: it is open again.
            assert_eq!(unsafe { last().read() }, 0, "its page went back to the system");
        }
    }
}
