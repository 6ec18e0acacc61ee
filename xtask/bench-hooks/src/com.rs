//! COM types: result codes, interface ids, and access to an object's methods.

use core::ffi::c_void;

/// A COM result code.
pub type Hresult = i32;

/// Success.
pub const S_OK: Hresult = 0;
/// Unspecified failure.
pub const E_FAIL: Hresult = 0x8000_4005_u32 as Hresult;

/// A GUID as it lies in memory.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Guid(u32, u16, u16, [u8; 8]);

/// `IID_ICorProfilerInfo3`
pub const PROFILER_INFO_3: Guid =
    Guid(0xB555_ED4F, 0x452A, 0x4E54, [0x8B, 0x39, 0xB5, 0x36, 0x0B, 0xAD, 0x32, 0xA0]);

/// A method of a COM object by its slot.
///
/// # Safety
/// `object` is a live COM object with at least so many slots.
pub unsafe fn method(object: *mut c_void, slot: usize) -> *const () {
    // SAFETY: an object begins with the address of its table (COM).
    unsafe {
        let table: *const *const () = *object.cast();
        *table.add(slot)
    }
}
