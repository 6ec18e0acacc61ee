//! Explains HRESULTs. Values come from corerror.h and winerror.h.
#![forbid(unsafe_code)]

use windows_core::HRESULT;

/// A call into the CLR that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {}", label(*hresult))]
pub struct ClrError {
    /// The API that failed.
    pub call: &'static str,
    /// The result it returned.
    pub hresult: HRESULT,
}

/// `S_FALSE`.
pub const S_FALSE: HRESULT = HRESULT(1);
/// `E_FAIL`.
pub const E_FAIL: HRESULT = HRESULT(0x8000_4005_u32 as i32);
/// `E_NOTIMPL`.
pub const E_NOTIMPL: HRESULT = HRESULT(0x8000_4001_u32 as i32);
/// `E_POINTER`.
pub const E_POINTER: HRESULT = HRESULT(0x8000_4003_u32 as i32);
/// `CLASS_E_CLASSNOTAVAILABLE`.
pub const CLASS_E_CLASSNOTAVAILABLE: HRESULT = HRESULT(0x8004_0111_u32 as i32);
/// `CLASS_E_NOAGGREGATION`.
pub const CLASS_E_NOAGGREGATION: HRESULT = HRESULT(0x8004_0110_u32 as i32);
/// `CLDB_E_RECORD_NOTFOUND`: the metadata has no such row.
pub const CLDB_E_RECORD_NOTFOUND: HRESULT = HRESULT(0x8013_1130_u32 as i32);
/// `CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND`: nothing to revert.
pub const CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND: HRESULT = HRESULT(0x8013_137D_u32 as i32);
/// `CORPROF_E_FUNCTION_IS_PARAMETERIZED`: a generic method, which has no single FunctionID.
pub const CORPROF_E_FUNCTION_IS_PARAMETERIZED: HRESULT = HRESULT(0x8013_135D_u32 as i32);
/// `CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER`.
pub const CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER: HRESULT = HRESULT(0x8013_136F_u32 as i32);
/// `CORPROF_E_SUSPENSION_IN_PROGRESS`: a garbage collection or another profiler has suspended the runtime.
pub const CORPROF_E_SUSPENSION_IN_PROGRESS: HRESULT = HRESULT(0x8013_1388_u32 as i32);
/// `CORPROF_E_REJIT_NOT_ENABLED`: the runtime will accept no request.
pub const CORPROF_E_REJIT_NOT_ENABLED: HRESULT = HRESULT(0x8013_137C_u32 as i32);
/// `CORPROF_E_PROFILER_CANCEL_ACTIVATION`: Initialize asks to be unloaded without an error in the log.
pub const CORPROF_E_PROFILER_CANCEL_ACTIVATION: HRESULT = HRESULT(0x8013_1375_u32 as i32);

/// Turns an HRESULT into a result that names the call.
pub fn check(call: &'static str, hresult: HRESULT) -> Result<(), ClrError> {
    if hresult.is_ok() { Ok(()) } else { Err(ClrError { call, hresult }) }
}

/// Returns name and number of an HRESULT, for the agent's mark; sessions get the number.
fn label(hresult: HRESULT) -> String {
    let code = hresult.0 as u32;
    redial_protocol::hresult::name(code)
        .map_or_else(|| format!("HRESULT {code:#010x}"), |name| format!("{name} ({code:#010x})"))
}
