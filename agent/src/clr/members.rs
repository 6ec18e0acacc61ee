//! Resolves the tokens in a body through `IMetaDataImport2`. Blobs point into the module's metadata and are copied.

use super::hresult::{ClrError, check};
use super::metadata::Import;
use windows_core::PWSTR;

/// `fdStatic` and `fdLiteral` (`CorFieldAttr`).
const STATIC: u32 = 0x10;
const LITERAL: u32 = 0x40;

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

/// A field with more of its row.
pub(super) struct FieldRow {
    pub(super) member: Member,
    pub(super) is_static: bool,
    /// The value of a constant of an integral type, widened to 64 bits; of an unsigned type, the bits.
    pub(super) constant: Option<i64>,
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
        self.field_row(token).map(|row| row.member)
    }

    /// Reads a FieldDef row with its attributes and constant.
    pub(super) fn field_row(&self, token: u32) -> Result<FieldRow, ClrError> {
        let (mut parent, mut blob, mut size) = (0u32, std::ptr::null_mut(), 0u32);
        let (mut attributes, mut constant_type, mut constant, mut constant_units) =
            (0u32, 0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetFieldProps", |name, units, written| {
            // SAFETY: as in `type_def_name`.
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
                    &mut constant_units,
                )
            }
        })?;
        let bytes = integer_size(constant_type).filter(|_| attributes & LITERAL != 0 && !constant.is_null());
        // SAFETY: the constant of a literal field is in the module's metadata, with the size of its type (ECMA-335
        // II.22.9).
        let constant = bytes.map(|bytes| unsafe { super::buffers::blob(constant.cast(), bytes) });
        // SAFETY: the call above returned both.
        let signature = unsafe { super::buffers::blob(blob, size) };
        Ok(FieldRow {
            member: Member { parent, name, signature },
            is_static: attributes & STATIC != 0,
            constant: constant.map(|bytes| widened(&bytes, constant_type)),
        })
    }

    /// Returns the fields of a type in order of declaration; those that cannot be read are missing.
    pub(super) fn field_rows(&self, type_def: u32) -> impl Iterator<Item = Result<FieldRow, ClrError>> {
        let tokens = self.tokens(|handle, out, max, count| {
            // SAFETY: the handle is ours until CloseEnum; `out` has room for `max` tokens.
            unsafe { self.import.EnumFields(handle, type_def, out, max, count) }
        });
        tokens.into_iter().map(|token| self.field_row(token))
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

/// Returns the bytes of a constant of an integral type, by its ELEMENT_TYPE.
fn integer_size(element_type: u32) -> Option<u32> {
    Some(match element_type {
        0x02 | 0x04 | 0x05 => 1,
        0x03 | 0x06 | 0x07 => 2,
        0x08 | 0x09 => 4,
        0x0A | 0x0B => 8,
        _ => return None,
    })
}

fn widened(bytes: &[u8], element_type: u32) -> i64 {
    let mut all = [0; 8];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let bits = i64::from_le_bytes(all);
    match element_type {
        0x04 => i64::from(bits as i8),
        0x06 => i64::from(bits as i16),
        0x08 => i64::from(bits as i32),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_widened_by_their_type() {
        assert_eq!(widened(&[0xFE], 0x04), -2);
        assert_eq!(widened(&[0xFE], 0x05), 0xFE);
        assert_eq!(widened(&[0xFF, 0xFF], 0x06), -1);
        assert_eq!(widened(&[0xFF, 0xFF, 0xFF, 0xFF], 0x08), -1);
        assert_eq!(widened(&[0xFF, 0xFF, 0xFF, 0xFF], 0x09), 0xFFFF_FFFF);
        assert_eq!(widened(&[0xFF; 8], 0x0B), -1);
        assert_eq!((integer_size(0x08), integer_size(0x0E)), (Some(4), None));
    }
}
