//! Zeroed memory whose pages exist once touched, directly from the system: probes must not use the host's heap.

use std::ptr::NonNull;

/// Returns zeroed bytes, aligned to a page; None if the system refuses.
#[cfg(unix)]
pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous private mapping at an address that the system chooses; zero-filled on first touch.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
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

/// Gives a reservation back.
///
/// # Safety
/// It came from [`reserve`] with the same size, and nobody has its address any more.
#[cfg(unix)]
pub unsafe fn release(address: NonNull<u8>, bytes: usize) {
    // SAFETY: this function's own contract.
    unsafe { libc::munmap(address.as_ptr().cast(), bytes) };
}

/// Reserves address space, aligned to a page, for [`commit`]. Here all of it is usable at once.
#[cfg(unix)]
pub fn reserve_space(bytes: usize) -> Option<NonNull<u8>> {
    reserve(bytes)
}

/// Makes part of [`reserve_space`] usable; false if the system refuses.
///
/// # Safety
/// The range is part of it.
#[cfg(unix)]
pub unsafe fn commit(_address: NonNull<u8>, _bytes: usize) -> bool {
    true
}

/// Gives the memory of whole pages back and keeps their addresses; after a new commit they are zero. False if
/// the system does not support it.
///
/// # Safety
/// The range is part of a reservation, and nobody uses it.
#[cfg(target_os = "linux")]
pub unsafe fn give_back(address: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: this function's own contract.
    unsafe { libc::madvise(address.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// As on Linux.
///
/// # Safety
/// As there.
#[cfg(all(unix, not(target_os = "linux")))]
pub unsafe fn give_back(_address: NonNull<u8>, _bytes: usize) -> bool {
    false
}

/// Reserves address space, aligned to a page. Nothing in it is usable or charged before [`commit`].
#[cfg(windows)]
pub fn reserve_space(bytes: usize) -> Option<NonNull<u8>> {
    use windows_sys::Win32::System::Memory::{MEM_RESERVE, PAGE_NOACCESS, VirtualAlloc};
    // SAFETY: a new region at an address that the system chooses.
    let address = unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
    NonNull::new(address.cast())
}

/// Makes part of [`reserve_space`] usable, zeroed unless it was usable before; false if the system refuses.
///
/// # Safety
/// The range is part of it.
#[cfg(windows)]
pub unsafe fn commit(address: NonNull<u8>, bytes: usize) -> bool {
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, PAGE_READWRITE, VirtualAlloc};
    // SAFETY: this function's own contract. Pages that are already committed are unchanged.
    !unsafe { VirtualAlloc(address.as_ptr().cast(), bytes, MEM_COMMIT, PAGE_READWRITE) }.is_null()
}

/// As on Linux.
///
/// # Safety
/// As there.
#[cfg(windows)]
pub unsafe fn give_back(address: NonNull<u8>, bytes: usize) -> bool {
    use windows_sys::Win32::System::Memory::{MEM_DECOMMIT, VirtualFree};
    // SAFETY: this function's own contract.
    unsafe { VirtualFree(address.as_ptr().cast(), bytes, MEM_DECOMMIT) != 0 }
}

/// Returns zeroed bytes, aligned to a page; None if the system refuses.
#[cfg(windows)]
pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc};
    // SAFETY: a new committed region; Windows backs its pages on first touch and zero-fills them.
    let address = unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    NonNull::new(address.cast())
}

/// Gives a reservation back.
///
/// # Safety
/// It came from [`reserve`], and nobody has its address any more.
#[cfg(windows)]
pub unsafe fn release(address: NonNull<u8>, _bytes: usize) {
    use windows_sys::Win32::System::Memory::{MEM_RELEASE, VirtualFree};
    // SAFETY: this function's own contract.
    unsafe { VirtualFree(address.as_ptr().cast(), 0, MEM_RELEASE) };
}
