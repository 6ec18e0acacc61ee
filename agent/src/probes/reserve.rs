//! Zeroed memory whose pages exist once touched, straight from the system: probes must not use the host's heap.

use std::ptr::NonNull;

/// So many bytes of zeros, aligned to a page; None when the system refuses.
#[cfg(unix)]
pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous private mapping at an address of the system's choosing; zero-filled on first touch.
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
    // Transparent huge pages would make every thread's first count cost 2 MiB. Advice that is refused does no harm.
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
    // SAFETY: as this function's own contract.
    unsafe { libc::munmap(address.as_ptr().cast(), bytes) };
}

/// Address space of so many bytes, aligned to a page, to [`commit`] of. Here all of it can be used at once.
#[cfg(unix)]
pub fn reserve_space(bytes: usize) -> Option<NonNull<u8>> {
    reserve(bytes)
}

/// Makes part of [`reserve_space`] usable; false when the system refuses.
///
/// # Safety
/// It is part of it.
#[cfg(unix)]
pub unsafe fn commit(_address: NonNull<u8>, _bytes: usize) -> bool {
    true
}

/// Gives the memory of whole pages back and keeps their addresses: once they are committed anew they are zeros. False where
/// the system knows no such thing.
///
/// # Safety
/// It is part of what was reserved here, and nobody uses it.
#[cfg(target_os = "linux")]
pub unsafe fn give_back(address: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: as this function's own contract.
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

/// Address space of so many bytes, aligned to a page, of which nothing can be used before [`commit`], nor is charged.
#[cfg(windows)]
pub fn reserve_space(bytes: usize) -> Option<NonNull<u8>> {
    use windows_sys::Win32::System::Memory::{MEM_RESERVE, PAGE_NOACCESS, VirtualAlloc};
    // SAFETY: a fresh region at an address of the system's choosing.
    let address = unsafe { VirtualAlloc(std::ptr::null(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
    NonNull::new(address.cast())
}

/// Makes part of [`reserve_space`] usable, zeros unless it was usable before; false when the system refuses.
///
/// # Safety
/// It is part of it.
#[cfg(windows)]
pub unsafe fn commit(address: NonNull<u8>, bytes: usize) -> bool {
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, PAGE_READWRITE, VirtualAlloc};
    // SAFETY: as this function's own contract. Pages that are committed already stay as they are.
    !unsafe { VirtualAlloc(address.as_ptr().cast(), bytes, MEM_COMMIT, PAGE_READWRITE) }.is_null()
}

/// As on Linux.
///
/// # Safety
/// As there.
#[cfg(windows)]
pub unsafe fn give_back(address: NonNull<u8>, bytes: usize) -> bool {
    use windows_sys::Win32::System::Memory::{MEM_DECOMMIT, VirtualFree};
    // SAFETY: as this function's own contract.
    unsafe { VirtualFree(address.as_ptr().cast(), bytes, MEM_DECOMMIT) != 0 }
}

/// So many bytes of zeros, aligned to a page; None when the system refuses.
#[cfg(windows)]
pub fn reserve(bytes: usize) -> Option<NonNull<u8>> {
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc};
    // SAFETY: a fresh committed region; Windows backs its pages on first touch and zero-fills them.
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
    // SAFETY: as this function's own contract.
    unsafe { VirtualFree(address.as_ptr().cast(), 0, MEM_RELEASE) };
}
