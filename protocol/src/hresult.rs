//! Names of HRESULTs, from corerror.h and winerror.h. The agent names them in its mark, which has no controller;
//! controllers explain the numbers that the agent sends.

/// Returns the symbolic name of an HRESULT that the profiling API is known to return.
pub fn name(hresult: u32) -> Option<&'static str> {
    Some(match hresult {
        0x8007_000E => "E_OUTOFMEMORY",
        0x8007_0057 => "E_INVALIDARG",
        0x8000_4001 => "E_NOTIMPL",
        0x8000_4005 => "E_FAIL",
        0x8013_1350 => "CORPROF_E_FUNCTION_NOT_COMPILED",
        0x8013_1351 => "CORPROF_E_DATAINCOMPLETE",
        0x8013_1363 => "CORPROF_E_UNSUPPORTED_CALL_SEQUENCE",
        0x8013_1372 => "CORPROF_E_IMMUTABLE_FLAGS_SET",
        0x8013_137A => "CORPROF_E_MODULE_IS_DYNAMIC",
        0x8013_137C => "CORPROF_E_REJIT_NOT_ENABLED",
        0x8013_137D => "CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND",
        0x8013_137E => "CORPROF_E_FUNCTION_IS_COLLECTIBLE",
        0x8013_138A => "CORPROF_E_MODULE_IS_ENC",
        _ => return None,
    })
}
