//! Memory directly from the system: probes must not use the host's heap. Address space is reserved without memory
//! behind it, and committed in steps, since a system may refuse to promise more memory than it has
//! (`vm.overcommit_memory=2`, every Windows).

use std::ptr::NonNull;

/// Bytes of a page, or a multiple of it: the unit of commitments.
pub const PAGE: usize = if cfg!(target_arch = "x86_64") { 4096 } else { 1 << 16 };

pub use native::{commit, limit, release, reserve};

/// Returns zeroed bytes, aligned to a page; None if the system refuses. Their pages exist once touched.
pub fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    let address = reserve(bytes)?;
    // SAFETY: the range was reserved just above.
    if unsafe { commit(address, bytes) } {
        return Some(address);
    }
    // SAFETY: nobody else has the address.
    unsafe { release(address, bytes) };
    None
}

#[cfg(unix)]
mod native {
    use std::ptr::NonNull;

    /// Reserves address space, aligned to a page. Nothing in it is usable or charged before [`commit`].
    pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: an anonymous private mapping at an address that the system chooses.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return None;
        }
        // Transparent huge pages would make every thread's first count cost 2 MiB. Refused advice does no harm.
        #[cfg(target_os = "linux")]
        // SAFETY: the range was mapped just above.
        unsafe {
            libc::madvise(address, bytes, libc::MADV_NOHUGEPAGE);
        }
        NonNull::new(address.cast())
    }

    /// Makes whole pages of a reservation usable, zeroed unless they were usable before; false if the system
    /// refuses.
    ///
    /// # Safety
    /// The range is part of a reservation.
    pub unsafe fn commit(address: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: this function's own contract.
        unsafe { libc::mprotect(address.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    }

    /// Gives a reservation back.
    ///
    /// # Safety
    /// It came from [`reserve`] with the same size, and nobody has its address any more.
    pub unsafe fn release(address: NonNull<u8>, bytes: usize) {
        // SAFETY: this function's own contract.
        unsafe { libc::munmap(address.as_ptr().cast(), bytes) };
    }

    /// Returns the limit on the process's address space, if there is one.
    pub fn limit() -> Option<u64> {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the out pointer is a live local.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
        (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    }
}

#[cfg(windows)]
mod native {
    use std::ptr::NonNull;
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
    };

    /// As on Unix.
    pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: a new region at an address that the system chooses.
        let address = unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
        NonNull::new(address.cast())
    }

    /// As on Unix.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn commit(address: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: this function's own contract. Pages that are already committed are unchanged.
        !unsafe { VirtualAlloc(address.as_ptr().cast(), bytes, MEM_COMMIT, PAGE_READWRITE) }.is_null()
    }

    /// As on Unix.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn release(address: NonNull<u8>, _bytes: usize) {
        // SAFETY: this function's own contract.
        unsafe { VirtualFree(address.as_ptr().cast(), 0, MEM_RELEASE) };
    }

    /// Returns None: Windows has no such limit.
    pub fn limit() -> Option<u64> {
        None
    }
}
