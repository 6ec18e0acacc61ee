//! Enum types: their underlying types and the names of their values (ECMA-335 II.14.3).

use super::metadata::Import;

/// Full name of the base class of enums.
const BASE: &str = "System.Enum";
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

impl Import<'_> {
    /// Returns the enum that a TypeDef defines; None if it is another type.
    pub fn enum_definition(&self, type_def: u32) -> Option<EnumDefinition> {
        if self.base_class_name(type_def).as_deref() != Some(BASE) {
            return None;
        }
        let mut definition = EnumDefinition { field: Vec::new(), names: Vec::new() };
        for row in self.field_rows(type_def).take(MAX_NAMES).flatten() {
            match (row.is_static, row.constant) {
                (false, _) => definition.field = row.member.signature,
                (true, Some(value)) => definition.names.push((row.member.name, value)),
                (true, None) => {}
            }
        }
        (!definition.field.is_empty()).then_some(definition)
    }
}
