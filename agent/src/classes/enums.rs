//! Enums as they are captured.

use crate::capture::{EnumType, Primitive};
use crate::clr::metadata::Import;
use crate::signature::parse_field;

/// Returns the enum that a TypeDef defines; None if it is another type.
pub fn enum_type(import: &Import, type_def: u32) -> Option<EnumType> {
    let definition = import.enum_definition(type_def)?;
    let underlying = Primitive::of(&parse_field(&definition.field).ok()?)?;
    Some(EnumType { underlying, names: definition.names })
}
