//! COM by hand: one class factory, one callback object, neither ever freed. Every callback but three does nothing.

use core::ffi::c_void;

use crate::com::{E_FAIL, Guid, Hresult, S_OK};
use crate::hooks::{initialize, shutdown};

/// More than `ICorProfilerCallback11` has.
const SLOTS: usize = 128;

/// One entry of a table of methods.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Slot(*const ());

#[repr(C)]
struct Object {
    table: &'static [Slot; SLOTS],
}

// SAFETY: the tables and objects are constant.
unsafe impl Sync for Slot {}

static FACTORY: Object = Object { table: &FACTORY_TABLE };
static CALLBACK: Object = Object { table: &CALLBACK_TABLE };

static FACTORY_TABLE: [Slot; SLOTS] = {
    let mut table = unknown();
    table[3] = Slot(create_instance as *const ());
    table
};

static CALLBACK_TABLE: [Slot; SLOTS] = {
    let mut table = unknown();
    table[3] = Slot(initialize as *const ());
    table[4] = Slot(shutdown as *const ());
    // `JITInlining` (corprof.idl): the only one under our masks with something to answer.
    table[28] = Slot(may_inline as *const ());
    table
};

/// `IUnknown`, and methods that do nothing whatever their arguments: in both calling conventions the caller cleans up.
const fn unknown() -> [Slot; SLOTS] {
    let mut table = [Slot(succeed as *const ()); SLOTS];
    table[0] = Slot(query_interface as *const ());
    table[1] = Slot(count_reference as *const ());
    table[2] = Slot(count_reference as *const ());
    table
}

unsafe extern "system" fn succeed() -> Hresult {
    S_OK
}

unsafe extern "system" fn may_inline(
    _this: *mut c_void,
    _caller: usize,
    _callee: usize,
    allowed: *mut i32,
) -> Hresult {
    // SAFETY: the CLR passes room for a BOOL.
    unsafe { *allowed = 1 };
    S_OK
}

unsafe extern "system" fn count_reference(_this: *mut c_void) -> u32 {
    1
}

/// The CLR asks for versions of one interface, which all begin alike.
unsafe extern "system" fn query_interface(
    this: *mut c_void,
    _iid: *const Guid,
    object: *mut *mut c_void,
) -> Hresult {
    // SAFETY: room for a pointer (COM contract).
    unsafe { *object = this };
    S_OK
}

unsafe extern "system" fn create_instance(
    _this: *mut c_void,
    _outer: *mut c_void,
    _iid: *const Guid,
    object: *mut *mut c_void,
) -> Hresult {
    // SAFETY: room for a pointer (COM contract).
    unsafe { *object = std::ptr::from_ref(&CALLBACK).cast_mut().cast() };
    S_OK
}

/// Hands out the class factory, whatever the class (COM).
///
/// # Safety
/// The arguments follow the COM contract of `DllGetClassObject`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(
    _class: *const Guid,
    _iid: *const Guid,
    object: *mut *mut c_void,
) -> Hresult {
    if object.is_null() {
        return E_FAIL;
    }
    // SAFETY: checked for null above; room for a pointer (COM contract).
    unsafe { *object = std::ptr::from_ref(&FACTORY).cast_mut().cast() };
    S_OK
}
