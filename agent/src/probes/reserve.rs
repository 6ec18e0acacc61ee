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
