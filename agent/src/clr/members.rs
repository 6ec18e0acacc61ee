//! Resolves the tokens in a body through `IMetaDataImport2`. Blobs point into the module's metadata and are copied.

use super::hresult::{ClrError, check};
use super::metadata::Import;
use windows_core::PWSTR;

/// A field, or the member that a MemberRef names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// TypeDef, TypeRef, TypeSpec, ModuleRef or MethodDef token of its parent.
    pub parent: u32,
    /// Metadata name.
    pub name: String,
    /// Signature blob.
    pub signature: Vec<u8>,
}

impl Import<'_> {
    /// Reads a MemberRef row.
    pub fn member_ref(&self, token: u32) -> Result<Member, ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetMemberRefProps", |name, units, written| {
            // SAFETY: as in `type_def_name`.
            unsafe {
                self.import.GetMemberRefProps(token, &mut parent, name, units, written, &mut blob, &mut size)
            }
        })?;
        // SAFETY: the call above returned both.
        Ok(Member { parent, name, signature: unsafe { super::buffers::blob(blob, size) } })
    }

    /// Reads a FieldDef row.
    pub fn field(&self, token: u32) -> Result<Member, ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        let (mut attributes, mut constant_type, mut constant, mut constant_size) =
            (0u32, 0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetFieldProps", |name, units, written| {
            // SAFETY: as in `type_def_name`; nothing reads the constant.
            unsafe {
                self.import.GetFieldProps(
                    token,
                    &mut parent,
                    name,
                    units,
                    written,
                    &mut attributes,
                    &mut blob,
                    &mut size,
                    &mut constant_type,
                    &mut constant,
                    &mut constant_size,
                )
            }
        })?;
        // SAFETY: the call above returned both.
        Ok(Member { parent, name, signature: unsafe { super::buffers::blob(blob, size) } })
    }

    /// Reads a MethodSpec: the method's token and the blob of its type arguments.
    pub fn method_spec(&self, token: u32) -> Result<(u32, Vec<u8>), ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.import.GetMethodSpecProps(token, &mut parent, &mut blob, &mut size) };
        check("GetMethodSpecProps", hresult)?;
        // SAFETY: the call above returned both.
        Ok((parent, unsafe { super::buffers::blob(blob, size) }))
    }

    /// Reads a TypeSpec's blob.
    pub fn type_spec(&self, token: u32) -> Result<Vec<u8>, ClrError> {
        let (mut blob, mut size) = (std::ptr::null_mut(), 0u32);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.import.GetTypeSpecFromToken(token, &mut blob, &mut size) };
        check("GetTypeSpecFromToken", hresult)?;
        // SAFETY: the call above returned both.
        Ok(unsafe { super::buffers::blob(blob, size) })
    }

    /// Reads at most `limit` UTF-16 units of a string literal; true if the literal is longer.
    pub fn user_string(&self, token: u32, limit: usize) -> Result<(String, bool), ClrError> {
        let mut buffer = self.buffer.borrow_mut();
        let mut length = 0u32;
        // SAFETY: the buffer has the length given; the out pointer is a live local. The call truncates a literal
        // that does not fit (CLDB_S_TRUNCATION).
        let hresult = unsafe {
            self.import.GetUserString(
                token,
                Some(PWSTR(buffer.as_mut_ptr())),
                buffer.len() as u32,
                &mut length,
            )
        };
        check("GetUserString", hresult)?;
        // The literal is not NUL-terminated, and may contain a NUL.
        let shown = buffer.get(..(length as usize).min(limit)).unwrap_or(&buffer);
        Ok((String::from_utf16_lossy(shown), length as usize > limit))
    }
}
