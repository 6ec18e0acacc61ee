//! Growable memory of a thread's timer: address space in which only the requested part is usable. It counts
//! against the budget of the arena, and unused memory goes back.

use super::address_space;
use super::arena;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum bytes to open at once.
pub const STEP: usize = 4096;

/// A stretch of address space.
#[derive(Debug)]
#[repr(C)]
pub struct GrowableRegion {
    base: NonNull<u8>,
    bytes: usize,
    /// Number of bytes from the base that are usable and counted.
    open: AtomicUsize,
}

impl GrowableRegion {
    /// Reserves this many bytes of address space, a multiple of [`STEP`]; None if the system refuses.
    pub fn new(bytes: usize) -> Option<GrowableRegion> {
        let base = address_space::reserve_space(bytes)?;
        Some(GrowableRegion { base, bytes, open: AtomicUsize::new(0) })
    }

    /// Returns the first byte. Bytes that are not open must not be touched.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Makes the first `bytes` bytes usable; they are zero until written. False if there is no room or no
    /// memory left.
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
        // SAFETY: within the stretch. Memory that another thread has made usable meanwhile is unchanged.
        if !unsafe { address_space::commit(self.base.add(open), more) } {
            arena::discharge(more);
            return false;
        }
        let before = self.open.fetch_max(wanted, Ordering::AcqRel);
        // Another thread has already counted the part that it opened meanwhile.
        arena::discharge(before.min(wanted).saturating_sub(open));
        true
    }

    /// Gives back everything after the first `bytes` bytes, a multiple of [`STEP`], if the system supports it.
    ///
    /// # Safety
    /// Nobody uses the bytes after them or opens more meanwhile.
    pub unsafe fn close_to(&self, bytes: usize) {
        let open = self.open.load(Ordering::Acquire);
        let Some(surplus) = open.checked_sub(bytes).filter(|surplus| *surplus > 0) else { return };
        // SAFETY: within the open part; the caller's contract.
        if unsafe { address_space::give_back(self.base.add(bytes), surplus) } {
            self.open.store(bytes, Ordering::Release);
            arena::discharge(surplus);
        }
    }

    /// Returns the number of open bytes.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for GrowableRegion {
    fn drop(&mut self) {
        arena::discharge(self.open());
        // SAFETY: reserved by `new`; nobody else has the address.
        unsafe { address_space::release(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_in_steps_and_is_zero_after_closing() {
        let region = GrowableRegion::new(64 * STEP).expect("there is address space");
        assert!(region.open_to(1) && region.open() == STEP);
        assert!(region.open_to(10 * STEP + 1) && region.open() == 11 * STEP);
        assert!(region.open_to(STEP) && region.open() == 11 * STEP, "already open");
        assert!(!region.open_to(64 * STEP + 1) && region.open() == 11 * STEP, "it ends there");
        // SAFETY: within the stretch.
        let last = || unsafe { region.base().add(11 * STEP - 1).as_ptr() };
        // SAFETY: it is open.
        unsafe { last().write(7) };
        // SAFETY: nobody else has it.
        unsafe { region.close_to(2 * STEP) };
        if cfg!(any(target_os = "linux", windows)) {
            assert_eq!(region.open(), 2 * STEP);
            assert!(region.open_to(11 * STEP));
            // SAFETY: it is open again.
            assert_eq!(unsafe { last().read() }, 0, "its page went back to the system");
        }
    }
}
