//! Meanings of HRESULTs, from corerror.h and winerror.h. The agent needs them for its own log, which has no
//! controller, and controllers for the numbers that the agent sends.

/// Explains an HRESULT for users, always including its number.
pub fn words(hresult: u32) -> String {
    let known = match hresult {
        0x8007_000E => "the process is out of memory (E_OUTOFMEMORY)",
        0x8007_0057 => "the runtime rejected an argument (E_INVALIDARG)",
        0x8000_4001 => "this runtime does not offer it (E_NOTIMPL)",
        0x8000_4005 => "the runtime gave no reason (E_FAIL)",
        0x8013_1350 => "the function has not been compiled yet (CORPROF_E_FUNCTION_NOT_COMPILED)",
        0x8013_1351 => "the data is not complete yet (CORPROF_E_DATAINCOMPLETE)",
        0x8013_1363 => {
            "the runtime does not allow this call at this point (CORPROF_E_UNSUPPORTED_CALL_SEQUENCE)"
        }
        0x8013_1372 => "the flag cannot be set after the start (CORPROF_E_IMMUTABLE_FLAGS_SET)",
        0x8013_137A => "the module is dynamic (CORPROF_E_MODULE_IS_DYNAMIC)",
        0x8013_137C => "ReJIT is not enabled in this process (CORPROF_E_REJIT_NOT_ENABLED)",
        0x8013_137D => "the function has no active recompilation (CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND)",
        0x8013_138A => "Hot Reload may change the module (CORPROF_E_MODULE_IS_ENC)",
        0x8013_137E => "the function is in a collectible assembly (CORPROF_E_FUNCTION_IS_COLLECTIBLE)",
        _ => return format!("HRESULT 0x{:08x}", hresult),
    };
    format!("{known}, HRESULT 0x{:08x}", hresult)
}
