//! Adds the few tokens that a probe needs to its module, through `IMetaDataEmit2`.

use super::bindings::IMetaDataEmit2;
use super::buffers::wide;
use super::hresult::{ClrError, check};
use super::loaded_module::LoadedModule;
use std::marker::PhantomData;
use windows_core::PCWSTR;

/// Write access to a module's metadata. The agent only ever adds StandAloneSigs, TypeRefs and TypeSpecs.
pub struct Emitter<'m> {
    emit: IMetaDataEmit2,
    module: PhantomData<&'m LoadedModule<'m>>,
}

impl<'m> Emitter<'m> {
    pub(super) fn new(_module: &'m LoadedModule<'m>, emit: IMetaDataEmit2) -> Emitter<'m> {
        Emitter { emit, module: PhantomData }
    }

    /// `GetTokenFromSig`: returns a StandAloneSig token (`0x11……`) for a signature blob.
    pub fn stand_alone_sig(&self, signature: &[u8]) -> Result<u32, ClrError> {
        let mut token = 0u32;
        // SAFETY: the API reads `len` bytes and writes none (its parameter is const in cor.h).
        check("GetTokenFromSig", unsafe {
            self.emit.GetTokenFromSig(signature.as_ptr().cast_mut(), signature.len() as u32, &mut token)
        })?;
        Ok(token)
    }

    /// `GetTokenFromTypeSpec`: returns a TypeSpec token (`0x1B……`) for a signature blob.
    pub fn type_spec(&self, signature: &[u8]) -> Result<u32, ClrError> {
        let mut token = 0u32;
        // SAFETY: the API reads `len` bytes and writes none (its parameter is const in cor.h).
        check("GetTokenFromTypeSpec", unsafe {
            self.emit.GetTokenFromTypeSpec(signature.as_ptr().cast_mut(), signature.len() as u32, &mut token)
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
