//! `ICorProfilerFunctionControl`: where `GetReJITParameters` leaves our body.

use super::bindings::{COR_IL_MAP, ICorProfilerFunctionControl};
use super::hresult::{ClrError, check};

/// Hands a body and its map of (original offset, new offset) pairs to the CLR, which copies both.
///
/// # Errors
/// When the CLR takes either not.
pub fn set_body(
    control: &ICorProfilerFunctionControl,
    body: &[u8],
    offsets: &[(u32, u32)],
) -> Result<(), ClrError> {
    let map: Vec<COR_IL_MAP> = offsets
        .iter()
        .map(|(old, new)| COR_IL_MAP { oldOffset: *old, newOffset: *new, fAccurate: true.into() })
        .collect();
    // SAFETY: the reference lives inside GetReJITParameters, the only place where the object may be called; both
    // slices outlive the calls.
    unsafe {
        // The map first: should it be refused, the body has not been taken yet.
        check("SetILInstrumentedCodeMap", control.SetILInstrumentedCodeMap(&map))?;
        check("SetILFunctionBody", control.SetILFunctionBody(body))
    }
}
