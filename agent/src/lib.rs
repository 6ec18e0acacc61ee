//! Redial's agent: a CLR profiler that reports the methods of its process over a pipe and turns dials on them.
//!
//! This file only holds the exports. The CLR loads the library, asks `DllGetClassObject` for the class factory and
//! continues with `ICorProfilerCallback` (see `com`).
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

pub mod agent;
pub mod attach;
pub mod audit;
pub mod caller_names;
pub mod capture;
pub mod catalogue;
pub mod classes;
pub mod clr;
pub mod com;
pub mod context;
pub mod control;
pub mod cost_budget;
pub mod eligibility;
pub mod events;
pub mod guard;
pub mod hot_reload;
pub mod il;
pub mod inbox;
pub mod inlining;
pub mod instrument;
pub mod known_bad;
pub mod launcher_orders;
pub mod ledger;
pub mod planner;
pub mod planted_fault;
pub mod platform;
pub mod probes;
pub mod rejit;
pub mod runtime;
pub mod server;
pub mod signature;
pub mod standing_orders;
pub mod startup;
pub mod sync;
pub mod thrown_exceptions;
pub mod traces;

use core::ffi::c_void;
use windows_core::{GUID, HRESULT};

/// Returns the class factory of [`redial_protocol::AGENT_CLSID`] (COM).
///
/// # Safety
/// The arguments follow the COM contract of `DllGetClassObject`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(
    clsid: *const GUID,
    iid: *const GUID,
    object: *mut *mut c_void,
) -> HRESULT {
    guard::guard(clr::hresult::E_FAIL, || {
        // SAFETY: the caller follows the same contract.
        unsafe { com::class_object(clsid, iid, object) }
    })
}

/// Always refuses: the agent's callbacks and threads may outlive the last reference (COM).
#[unsafe(no_mangle)]
pub extern "system" fn DllCanUnloadNow() -> HRESULT {
    clr::hresult::S_FALSE
}
