//! Turns bits into values.

use super::plan::{EnumType, Primitive};
use redial_protocol::trace::{OmittedReason, Value};

/// Returns a value of an enum from its bits.
pub(super) fn enum_value(bits: u64, of: &EnumType, type_name: &str) -> Value {
    let value = match primitive_value(bits, of.underlying) {
        Value::Int(value) => value,
        Value::UInt(value) => value as i64,
        Value::Bool(value) => i64::from(value),
        Value::Char(unit) => i64::from(unit),
        _ => return Value::Omitted(OmittedReason::Unreadable),
    };
    let name = of.names.iter().find(|(_, of)| *of == value).map(|(name, _)| name.clone());
    Value::Enum { type_name: type_name.to_owned(), name, value }
}

/// Returns a primitive value from its bits; those beyond its width mean nothing.
pub(super) fn primitive_value(bits: u64, primitive: Primitive) -> Value {
    match primitive {
        Primitive::Boolean => Value::Bool(bits as u8 != 0),
        Primitive::Char => Value::Char(bits as u16),
        Primitive::I1 => Value::Int(i64::from(bits as i8)),
        Primitive::U1 => Value::UInt(u64::from(bits as u8)),
        Primitive::I2 => Value::Int(i64::from(bits as i16)),
        Primitive::U2 => Value::UInt(u64::from(bits as u16)),
        Primitive::I4 => Value::Int(i64::from(bits as i32)),
        Primitive::U4 => Value::UInt(u64::from(bits as u32)),
        Primitive::I8 | Primitive::I => Value::Int(bits as i64),
        Primitive::U8 | Primitive::U => Value::UInt(bits),
        Primitive::R4 => Value::Float(bits as u32),
        Primitive::R8 => Value::Double(bits),
        Primitive::Pointer => Value::Pointer(bits),
    }
}
