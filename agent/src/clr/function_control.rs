//! `ICorProfilerFunctionControl`: receives the instrumented body in `GetReJITParameters`.

use super::bindings::{COR_IL_MAP, ICorProfilerFunctionControl};
use super::hresult::{ClrError, check};

/// Passes a body and its map of (original offset, new offset) pairs to the CLR, which copies both.
///
/// # Errors
/// When the CLR rejects one of them.
pub fn set_body(
    control: &ICorProfilerFunctionControl,
    body: &[u8],
    offsets: &[(u32, u32)],
) -> Result<(), ClrError> {
    let map: Vec<COR_IL_MAP> = offsets
        .iter()
        .map(|(old, new)| COR_IL_MAP { oldOffset: *old, newOffset: *new, fAccurate: true.into() })
        .collect();
    // SAFETY: the reference is valid inside GetReJITParameters, the only place that may call the object; both
    // slices outlive the calls.
    unsafe {
        // Set the map first: if the CLR rejects it, it has not taken the body yet.
        check("SetILInstrumentedCodeMap", control.SetILInstrumentedCodeMap(&map))?;
        check("SetILFunctionBody", control.SetILFunctionBody(body))
    }
}
