//! Enum types: their underlying types and the names of their values (ECMA-335 II.14.3).

use super::hresult::ClrError;
use super::metadata::Import;

/// Full name of the base class of enums.
const BASE: &str = "System.Enum";
/// `fdStatic` and `fdLiteral` (`CorFieldAttr`).
const STATIC: u32 = 0x10;
const LITERAL: u32 = 0x40;
/// Names read of one enum.
const MAX_NAMES: usize = 512;

/// An enum type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDefinition {
    /// Signature blob of the field that holds a value: it has the underlying type.
    pub field: Vec<u8>,
    /// Names with their values in order of declaration, widened to 64 bits; of an unsigned type, the bits.
    pub names: Vec<(String, i64)>,
}

struct EnumField {
    name: String,
    attributes: u32,
    signature: Vec<u8>,
    value: Option<i64>,
}

impl Import<'_> {
    /// Returns the enum that a TypeDef defines; None if it is another type.
    pub fn enum_definition(&self, type_def: u32) -> Option<EnumDefinition> {
        if self.base_class_name(type_def).as_deref() != Some(BASE) {
            return None;
        }
        let tokens = self.tokens(|handle, out, max, count| {
            // SAFETY: the handle is ours until CloseEnum; `out` has room for `max` tokens.
            unsafe { self.import.EnumFields(handle, type_def, out, max, count) }
        });
        let mut definition = EnumDefinition { field: Vec::new(), names: Vec::new() };
        for field in tokens.into_iter().take(MAX_NAMES).filter_map(|token| self.enum_field(token).ok()) {
            match (field.attributes & STATIC, field.value) {
                (0, _) => definition.field = field.signature,
                (_, Some(value)) => definition.names.push((field.name, value)),
                (_, None) => {}
            }
        }
        (!definition.field.is_empty()).then_some(definition)
    }

    fn enum_field(&self, token: u32) -> Result<EnumField, ClrError> {
        let (mut parent, mut blob, mut size, mut attributes) = (0u32, std::ptr::null_mut(), 0u32, 0u32);
        let (mut constant_type, mut constant, mut constant_size) = (0u32, std::ptr::null_mut(), 0u32);
        let name = self.name("GetFieldProps", |name, units, written| {
            // SAFETY: the name's buffer has the length given (`name`); out pointers are live locals.
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
        let bytes = integer_size(constant_type).filter(|_| attributes & LITERAL != 0 && !constant.is_null());
        // SAFETY: the constant of a literal field is in the module's metadata, with the size of its type (ECMA-335
        // II.22.9).
        let value = bytes.map(|bytes| unsafe { super::buffers::blob(constant.cast(), bytes) });
        let value = value.map(|bytes| widened(&bytes, constant_type));
        // SAFETY: the call above returned both.
        let signature = unsafe { super::buffers::blob(blob, size) };
        Ok(EnumField { name, attributes, signature, value })
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
