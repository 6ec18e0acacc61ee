//! The hooks themselves, and the callbacks that install them and report at shutdown.

use core::arch::naked_asm;
use core::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::com::{self, E_FAIL, Hresult, S_OK};

/// `COR_PRF_MONITOR_ENTERLEAVE`
const MONITOR_ENTER_LEAVE: u32 = 0x1000;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Slots of `ICorProfilerInfo3` (corprof.idl: 3 of `IUnknown`, 33 of the first version, 21 of the second).
const QUERY_INTERFACE: usize = 0;
const SET_EVENT_MASK: usize = 16;
const SET_ENTER_LEAVE_HOOKS_3: usize = 61;

/// A method of the call: it is entered, left, or left by a tail call. The CLR asks that every register be kept.
type Hook = unsafe extern "system" fn();

#[unsafe(naked)]
unsafe extern "system" fn enter() {
    naked_asm!("inc qword ptr [rip + {calls}]", "ret", calls = sym CALLS)
}

#[unsafe(naked)]
unsafe extern "system" fn enter_exact() {
    naked_asm!("lock inc qword ptr [rip + {calls}]", "ret", calls = sym CALLS)
}

#[unsafe(naked)]
unsafe extern "system" fn nothing() {
    naked_asm!("ret")
}

/// `ICorProfilerCallback::Initialize`.
///
/// # Safety
/// `info` is a live `IUnknown` of the CLR.
pub unsafe extern "system" fn initialize(_this: *mut c_void, info: *mut c_void) -> Hresult {
    if let Some(mask) = std::env::var_os("BENCH_MASK") {
        let Some(mask) = mask.to_str().and_then(|mask| mask.parse().ok()) else { return E_FAIL };
        // SAFETY: the CLR passes a live IUnknown.
        return unsafe { ask_for(info, mask) };
    }
    let exact = std::env::var_os("BENCH_HOOKS").is_some_and(|form| form == "exact");
    // SAFETY: the CLR passes a live IUnknown.
    if unsafe { install(info, if exact { enter_exact } else { enter }) } { S_OK } else { E_FAIL }
}

type SetEventMask = unsafe extern "system" fn(*mut c_void, u32) -> Hresult;

/// Sets the hooks. False when the CLR refuses.
///
/// # Safety
/// `info` is a live `IUnknown` of the CLR.
unsafe fn install(info: *mut c_void, on_enter: Hook) -> bool {
    type SetHooks = unsafe extern "system" fn(*mut c_void, Hook, Hook, Hook) -> Hresult;
    // SAFETY: the caller's contract is passed on.
    let Some(info3) = (unsafe { info_3(info) }) else { return false };
    // SAFETY: slots and types are those of ICorProfilerInfo3; the hooks keep every register.
    unsafe {
        let set_mask: SetEventMask = std::mem::transmute(com::method(info3, SET_EVENT_MASK));
        let set_hooks: SetHooks = std::mem::transmute(com::method(info3, SET_ENTER_LEAVE_HOOKS_3));
        set_mask(info3, MONITOR_ENTER_LEAVE) == S_OK && set_hooks(info3, on_enter, nothing, nothing) == S_OK
    }
}

/// Asks for events and sets no hooks.
///
/// # Safety
/// `info` is a live `IUnknown` of the CLR.
unsafe fn ask_for(info: *mut c_void, mask: u32) -> Hresult {
    // SAFETY: the caller's contract is passed on; slot and type are those of ICorProfilerInfo3.
    unsafe {
        let Some(info3) = info_3(info) else { return E_FAIL };
        let set_mask: SetEventMask = std::mem::transmute(com::method(info3, SET_EVENT_MASK));
        set_mask(info3, mask)
    }
}

/// The CLR's `ICorProfilerInfo3`.
///
/// # Safety
/// `info` is a live `IUnknown` of the CLR.
unsafe fn info_3(info: *mut c_void) -> Option<*mut c_void> {
    type Query = unsafe extern "system" fn(*mut c_void, *const com::Guid, *mut *mut c_void) -> Hresult;
    let mut info3 = std::ptr::null_mut();
    // SAFETY: the slot of a live IUnknown; both pointers are live.
    let found = unsafe {
        let query: Query = std::mem::transmute(com::method(info, QUERY_INTERFACE));
        query(info, &com::PROFILER_INFO_3, &mut info3)
    };
    (found == S_OK && !info3.is_null()).then_some(info3)
}

/// `ICorProfilerCallback::Shutdown`.
///
/// # Safety
/// None needed; the signature is the CLR's.
pub unsafe extern "system" fn shutdown(_this: *mut c_void) -> Hresult {
    if std::env::var_os("BENCH_MASK").is_some() {
        return S_OK;
    }
    eprintln!("hooked {}", CALLS.load(Ordering::Relaxed));
    S_OK
}
