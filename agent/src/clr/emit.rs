//! `IMetaDataEmit2`: the few tokens a probe needs in the module it stands in.

use super::bindings::IMetaDataEmit2;
use super::hresult::{ClrError, check};
use super::wide;
use windows_core::PCWSTR;

/// Write access to a module's metadata. Only StandAloneSigs and TypeRefs are ever added.
pub struct Emitter {
    emit: IMetaDataEmit2,
}

impl Emitter {
    pub(super) fn new(emit: IMetaDataEmit2) -> Emitter {
        Emitter { emit }
    }

    /// `GetTokenFromSig`: a StandAloneSig token (`0x11……`) for a signature blob.
    pub fn stand_alone_sig(&self, signature: &[u8]) -> Result<u32, ClrError> {
        let mut token = 0u32;
        // SAFETY: the API reads `len` bytes and writes none (its parameter is const in cor.h).
        check("GetTokenFromSig", unsafe {
            self.emit.GetTokenFromSig(signature.as_ptr().cast_mut(), signature.len() as u32, &mut token)
        })?;
        Ok(token)
    }

    /// `DefineTypeRefByName`.
    pub fn type_ref(&self, resolution_scope: u32, name: &str) -> Result<u32, ClrError> {
        let name = wide(name);
        let mut token = 0u32;
        // SAFETY: the name is NUL-terminated and outlives the call.
        check("DefineTypeRefByName", unsafe {
            self.emit.DefineTypeRefByName(resolution_scope, PCWSTR(name.as_ptr()), &mut token)
        })?;
        Ok(token)
    }
}
