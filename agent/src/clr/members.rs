//! `IMetaDataImport2`: what the tokens in a body mean. Blobs point into the module's metadata and are copied.

use super::hresult::{ClrError, check};
use super::metadata::Import;
use windows_core::PWSTR;

/// A field, or a member that a MemberRef names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// TypeDef, TypeRef, TypeSpec, ModuleRef or MethodDef token of what it belongs to.
    pub parent: u32,
    /// Metadata name.
    pub name: String,
    /// Signature blob.
    pub signature: Vec<u8>,
}

impl Import {
    /// A MemberRef's row.
    pub fn member_ref(&self, token: u32) -> Result<Member, ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetMemberRefProps", |name, units, written| {
            // SAFETY: as in `type_def_name`.
            unsafe {
                self.import.GetMemberRefProps(token, &mut parent, name, units, written, &mut blob, &mut size)
            }
        })?;
        // SAFETY: what the call above answered.
        Ok(Member { parent, name, signature: unsafe { super::blob(blob, size) } })
    }

    /// A FieldDef's row.
    pub fn field(&self, token: u32) -> Result<Member, ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        let (mut attributes, mut constant_type, mut constant, mut constant_size) =
            (0u32, 0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetFieldProps", |name, units, written| {
            // SAFETY: as in `type_def_name`; the constant is not looked at.
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
        // SAFETY: what the call above answered.
        Ok(Member { parent, name, signature: unsafe { super::blob(blob, size) } })
    }

    /// A MethodSpec: the token of the method, and the blob with what it is instantiated over.
    pub fn method_spec(&self, token: u32) -> Result<(u32, Vec<u8>), ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.import.GetMethodSpecProps(token, &mut parent, &mut blob, &mut size) };
        check("GetMethodSpecProps", hresult)?;
        // SAFETY: what the call above answered.
        Ok((parent, unsafe { super::blob(blob, size) }))
    }

    /// A TypeSpec's blob.
    pub fn type_spec(&self, token: u32) -> Result<Vec<u8>, ClrError> {
        let (mut blob, mut size) = (std::ptr::null_mut(), 0u32);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.import.GetTypeSpecFromToken(token, &mut blob, &mut size) };
        check("GetTypeSpecFromToken", hresult)?;
        // SAFETY: what the call above answered.
        Ok(unsafe { super::blob(blob, size) })
    }

    /// At most `limit` UTF-16 units of a string literal, and whether there are more.
    pub fn user_string(&self, token: u32, limit: usize) -> Result<(String, bool), ClrError> {
        let mut buffer = self.buffer.borrow_mut();
        let mut length = 0u32;
        // SAFETY: the buffer has the length given; the out pointer is a live local. A literal that is longer than the buffer
        // is cut (CLDB_S_TRUNCATION).
        let hresult = unsafe {
            self.import.GetUserString(
                token,
                Some(PWSTR(buffer.as_mut_ptr())),
                buffer.len() as u32,
                &mut length,
            )
        };
        check("GetUserString", hresult)?;
        // It is not NUL-terminated, and may have a NUL in it.
        let shown = buffer.get(..(length as usize).min(limit)).unwrap_or(&buffer);
        Ok((String::from_utf16_lossy(shown), length as usize > limit))
    }
}
