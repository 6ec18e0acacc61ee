//! Turns the records of captured objects into values.

use super::plan::Primitive;
use super::primitives::{enum_value, primitive_value};
use super::record::{RecordKind, WORD};
use super::shape::{ClassForm, ClassShape, Shape, StructShape};
use redial_protocol::trace::{OmittedReason, Value};
use std::sync::Arc;

/// Returns the shape of the class with a number, if it is known.
pub type Classes<'a> = &'a dyn Fn(u32) -> Option<Arc<ClassShape>>;

/// Records within records that are followed; probes write fewer.
const MAX_NESTING: u32 = 8;

/// Items of a collection, and characters of a span, that are read; probes write fewer.
pub(super) const MAX_KEPT: u32 = 256;

/// The bytes of a call, with the shapes that they refer to.
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) classes: Classes<'a>,
}

impl Records<'_> {
    /// Reads the record at an offset and moves the offset behind it. None if the bytes are not such a record.
    pub(super) fn read(&self, at: &mut usize, nesting: u32) -> Option<Value> {
        let (kind, number) = RecordKind::of_word(self.word(at)?)?;
        if nesting > MAX_NESTING {
            return None;
        }
        match kind {
            RecordKind::Null => Some(Value::Null),
            RecordKind::Omitted => {
                OmittedReason::ALL.get(number as usize).map(|reason| Value::Omitted(*reason))
            }
            RecordKind::String => {
                let length = self.word(at)?;
                Some(Value::String { units: self.units(at, number as usize)?, length })
            }
            RecordKind::Pending => Some(match (self.classes)(number) {
                Some(class) => Value::Object {
                    type_name: class.type_name.clone(),
                    fields: vec![(String::new(), Value::Omitted(OmittedReason::Pending))],
                },
                None => Value::Omitted(OmittedReason::Pending),
            }),
            RecordKind::Object => {
                let class = (self.classes)(number)?;
                match &class.form {
                    ClassForm::Object(shape) => self.structure(at, shape, nesting),
                    ClassForm::Value { shape, .. } => self.shape(at, shape, nesting),
                    _ => None,
                }
            }
            RecordKind::Collection => self.collection(at, number, nesting),
            RecordKind::Dictionary => self.dictionary(at, number, nesting),
        }
    }

    fn take(&self, at: &mut usize, size: usize) -> Option<&[u8]> {
        let end = at.checked_add(size)?;
        let bytes = self.bytes.get(*at..end)?;
        *at = end;
        Some(bytes)
    }

    fn word(&self, at: &mut usize) -> Option<u32> {
        self.take(at, WORD)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn bits(&self, at: &mut usize, size: usize) -> Option<u64> {
        let mut bits = [0; 8];
        bits.get_mut(..size)?.copy_from_slice(self.take(at, size)?);
        Some(u64::from_le_bytes(bits))
    }

    fn units(&self, at: &mut usize, count: usize) -> Option<Vec<u16>> {
        let units = self.take(at, count.checked_mul(2)?)?.chunks_exact(2);
        Some(units.filter_map(|unit| unit.try_into().ok()).map(u16::from_le_bytes).collect())
    }

    fn shape(&self, at: &mut usize, shape: &Shape, nesting: u32) -> Option<Value> {
        Some(match shape {
            Shape::Primitive(primitive) => primitive_value(self.bits(at, primitive.size())?, *primitive),
            Shape::Enum(of, name) => enum_value(self.bits(at, of.underlying.size())?, of, name),
            Shape::String | Shape::Reference => self.read(at, nesting + 1)?,
            Shape::Struct(shape) => self.structure(at, shape, nesting)?,
            Shape::Text(form, type_name) => {
                let size = form.parts().iter().map(|(_, size)| size).sum();
                match form.text(self.take(at, size)?) {
                    Some(text) => Value::Text { type_name: type_name.clone(), text },
                    None => Value::Omitted(OmittedReason::Unreadable),
                }
            }
            Shape::Nullable(_, _, shape) => {
                let has_value = self.bits(at, 1)? != 0;
                let value = self.shape(at, shape, nesting)?;
                if has_value { value } else { Value::Null }
            }
            Shape::TaskState => task_state(self.bits(at, 4)? as u32),
            Shape::Omitted(reason) => Value::Omitted(*reason),
        })
    }

    fn structure(&self, at: &mut usize, shape: &StructShape, nesting: u32) -> Option<Value> {
        let mut fields = Vec::with_capacity(shape.fields.len());
        for field in &shape.fields {
            fields.push((field.name.clone(), self.shape(at, &field.shape, nesting)?));
        }
        fields.extend(shape.missing.map(|reason| (String::new(), Value::Omitted(reason))));
        Some(Value::Object { type_name: shape.type_name.clone(), fields })
    }

    /// Reads the header of a collection: its length, and the number of captured items, after finding their shape.
    fn header(&self, at: &mut usize) -> Option<(u32, Arc<ClassShape>, u32)> {
        let length = self.word(at)?;
        let items = (self.classes)(self.word(at)?)?;
        Some((length, items, self.word(at)?.min(MAX_KEPT)))
    }

    fn collection(&self, at: &mut usize, class: u32, nesting: u32) -> Option<Value> {
        let class = (self.classes)(class)?;
        let (length, items, kept) = self.header(at)?;
        let item = items.form.item()?;
        if let (ClassForm::Span { .. }, Shape::Primitive(Primitive::Char)) = (&class.form, item) {
            return Some(Value::String { units: self.units(at, kept as usize)?, length });
        }
        let items = (0..kept).map(|_| self.shape(at, item, nesting)).collect::<Option<_>>()?;
        Some(Value::Collection { type_name: class.type_name.clone(), length: length.into(), items })
    }

    fn dictionary(&self, at: &mut usize, class: u32, nesting: u32) -> Option<Value> {
        let class = (self.classes)(class)?;
        let (length, items, kept) = self.header(at)?;
        let mut entries = Vec::new();
        for _ in 0..kept {
            let Value::Object { fields, .. } = self.shape(at, items.form.item()?, nesting)? else {
                return None;
            };
            entries.extend(used_entry(fields));
        }
        Some(Value::Dictionary { type_name: class.type_name.clone(), length: length.into(), entries })
    }
}

impl ClassForm {
    /// Returns the shape of its items.
    pub(super) fn item(&self) -> Option<&Shape> {
        match self {
            ClassForm::Array { item, .. } | ClassForm::Span { item, .. } => Some(item),
            _ => None,
        }
    }
}

/// Returns key and value of a dictionary's entry; None if the entry is free. Such entries have a negative hash code
/// (.NET Core 2.1) or continue below -1 (later).
fn used_entry(fields: Vec<(String, Value)>) -> Option<(Value, Value)> {
    let (mut key, mut value) = (None, None);
    for (name, field) in fields {
        match (name.as_str(), field) {
            ("hashCode", Value::Int(hash)) if hash < 0 => return None,
            ("next", Value::Int(next)) if next < -1 => return None,
            ("key", field) => key = Some(field),
            ("value", field) => value = Some(field),
            _ => {}
        }
    }
    key.zip(value)
}

/// Returns the `TaskStatus` that the flags of a task mean.
fn task_state(flags: u32) -> Value {
    const STATES: [(u32, &str, i64); 7] = [
        (0x20_0000, "Faulted", 7),
        (0x40_0000, "Canceled", 6),
        (0x100_0000, "RanToCompletion", 5),
        (0x80_0000, "WaitingForChildrenToComplete", 4),
        (0x2_0000, "Running", 3),
        (0x1_0000, "WaitingToRun", 2),
        (0x200_0000, "WaitingForActivation", 1),
    ];
    let state = STATES.iter().find(|(flag, ..)| flags & flag != 0);
    let (name, value) = state.map_or(("Created", 0), |(_, name, value)| (*name, *value));
    Value::Enum {
        type_name: "System.Threading.Tasks.TaskStatus".to_owned(),
        name: Some(name.to_owned()),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::shape::FieldShape;

    fn field(name: &str, shape: Shape) -> FieldShape {
        FieldShape { name: name.into(), offset: 0, shape }
    }

    fn structure(fields: Vec<FieldShape>, missing: Option<OmittedReason>) -> StructShape {
        StructShape { type_name: "Shop.Order".into(), fields, missing }
    }

    fn classes(number: u32) -> Option<Arc<ClassShape>> {
        let int = || Shape::Primitive(Primitive::I4);
        let form = match number {
            1 => ClassForm::Object(structure(
                vec![
                    field("Id", int()),
                    field("Name", Shape::String),
                    field("Pin", Shape::Omitted(OmittedReason::RedactedName)),
                    field("Next", Shape::Reference),
                    field("Count", Shape::Nullable(0, 4, Box::new(int()))),
                ],
                Some(OmittedReason::Fields),
            )),
            2 => ClassForm::Array { item: int(), stride: 4, rank: 1 },
            3 => ClassForm::List { items: 8, size: 16 },
            4 => ClassForm::Dictionary { entries: 8, count: 16, free: 20 },
            5 => ClassForm::Array {
                item: Shape::Struct(structure(
                    vec![
                        field("hashCode", Shape::Primitive(Primitive::U4)),
                        field("next", int()),
                        field("key", int()),
                        field("value", int()),
                    ],
                    None,
                )),
                stride: 16,
                rank: 1,
            },
            _ => return None,
        };
        Some(Arc::new(ClassShape { type_name: format!("class {number}"), form }))
    }

    fn read(bytes: &[u8]) -> Option<Value> {
        let mut at = 0;
        let value = Records { bytes, classes: &classes }.read(&mut at, 0)?;
        assert_eq!(at, bytes.len(), "every byte belongs to it");
        Some(value)
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn objects_have_their_fields() {
        let mut bytes = words(&[RecordKind::Object.word(1), 7, RecordKind::String.word(2), 5]);
        bytes.extend([b'h', 0, b'i', 0]);
        bytes.extend(words(&[RecordKind::Pending.word(2)]));
        bytes.push(1);
        bytes.extend(words(&[9]));
        let hi = Value::String { units: vec![104, 105], length: 5 };
        let pending = Value::Object {
            type_name: "class 2".into(),
            fields: vec![(String::new(), Value::Omitted(OmittedReason::Pending))],
        };
        let expected = |count| Value::Object {
            type_name: "Shop.Order".into(),
            fields: vec![
                ("Id".into(), Value::Int(7)),
                ("Name".into(), hi.clone()),
                ("Pin".into(), Value::Omitted(OmittedReason::RedactedName)),
                ("Next".into(), pending.clone()),
                ("Count".into(), count),
                (String::new(), Value::Omitted(OmittedReason::Fields)),
            ],
        };
        assert_eq!(read(&bytes), Some(expected(Value::Int(9))));
        let flag = bytes.len() - 5;
        bytes[flag] = 0;
        assert_eq!(read(&bytes), Some(expected(Value::Null)));
        for cut in 0..bytes.len() {
            let records = Records { bytes: &bytes[..cut], classes: &classes };
            assert_eq!(records.read(&mut 0, 0), None, "{cut}");
        }
    }

    #[test]
    fn collections_have_their_items() {
        let list = words(&[RecordKind::Collection.word(3), 100, 2, 3, 1, 2, 3]);
        let expected = Value::Collection {
            type_name: "class 3".into(),
            length: 100,
            items: vec![Value::Int(1), Value::Int(2), Value::Int(3)],
        };
        assert_eq!(read(&list), Some(expected));
        let free = -3_i32 as u32;
        let dictionary = words(&[
            RecordKind::Dictionary.word(4),
            2,
            5,
            3,
            1,
            u32::MAX,
            10,
            11,
            2,
            free,
            0,
            0,
            3,
            0,
            20,
            21,
        ]);
        let expected = Value::Dictionary {
            type_name: "class 4".into(),
            length: 2,
            entries: vec![(Value::Int(10), Value::Int(11)), (Value::Int(20), Value::Int(21))],
        };
        assert_eq!(read(&dictionary), Some(expected));
    }

    #[test]
    fn bytes_that_are_no_records_are_no_values() {
        let endless = words(&[RecordKind::Collection.word(3), u32::MAX, 2, u32::MAX]);
        for bytes in [words(&[u32::MAX]), words(&[RecordKind::Object.word(99)]), endless, vec![1, 2]] {
            assert_eq!(Records { bytes: &bytes, classes: &classes }.read(&mut 0, 0), None, "{bytes:?}");
        }
    }

    #[test]
    fn tasks_have_their_state() {
        let name = |flags| match task_state(flags) {
            Value::Enum { name, .. } => name,
            _ => None,
        };
        assert_eq!(name(0x100_0000).as_deref(), Some("RanToCompletion"));
        assert_eq!(name(0x220_0000).as_deref(), Some("Faulted"));
        assert_eq!(name(0).as_deref(), Some("Created"));
    }
}
