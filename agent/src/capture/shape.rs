//! Shapes of objects and structs: which of their bytes a probe captures, and what these bytes mean.

use super::plan::{EnumType, Primitive};
use super::text_form::TextForm;
use redial_protocol::trace::OmittedReason;
use std::sync::Arc;

/// Fields captured of an object, those of its structs included.
pub const MAX_FIELDS: usize = 20;
/// Items captured of a collection.
pub const MAX_ITEMS: usize = 16;
/// Objects within objects that are captured: the object itself, and those that its fields refer to.
pub const MAX_DEPTH: u32 = 2;

/// How a field, an item or a struct is captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Copied.
    Primitive(Primitive),
    /// Copied.
    Enum(Arc<EnumType>, String),
    /// A reference to a string.
    String,
    /// A reference to an object, captured by its own class.
    Reference,
    /// A struct, by its fields.
    Struct(StructShape),
    /// A struct with a usual text form, such as a date.
    Text(TextForm, String),
    /// `Nullable<T>`: offset of its flag, offset of its value, and the value.
    Nullable(u32, u32, Box<Shape>),
    /// The state of a `Task`: four bytes of flags.
    TaskState,
    /// Not at all.
    Omitted(OmittedReason),
}

/// The captured fields of an object or struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructShape {
    /// Name of the type in C# form.
    pub type_name: String,
    /// The fields.
    pub fields: Vec<FieldShape>,
    /// Why some fields are missing.
    pub missing: Option<OmittedReason>,
}

/// A captured field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldShape {
    /// Its name; of an automatic property, that of the property.
    pub name: String,
    /// Its offset from the beginning of the object or struct.
    pub offset: u32,
    /// How it is captured.
    pub shape: Shape,
}

/// How objects of a class, or values of a struct, are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassShape {
    /// Name of the class in C# form.
    pub type_name: String,
    /// How.
    pub form: ClassForm,
}

/// Kinds of classes. Offsets count from the beginning of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassForm {
    /// A class, by its fields.
    Object(StructShape),
    /// A value type. Offsets count from the beginning of the value; `size` is that of a value in bytes.
    Value {
        /// How a value is captured.
        shape: Shape,
        /// Bytes of a value.
        size: u32,
    },
    /// `string`.
    String,
    /// An array. The items of one with several dimensions are captured as they lie in memory.
    Array {
        /// How an item is captured.
        item: Shape,
        /// Bytes from one item to the next.
        stride: u32,
        /// Number of dimensions.
        rank: u32,
    },
    /// `List<T>`.
    List {
        /// Offset of the reference to the array with its items.
        items: u32,
        /// Offset of the number of its items.
        size: u32,
    },
    /// `Dictionary<K, V>`.
    Dictionary {
        /// Offset of the reference to the array with its entries.
        entries: u32,
        /// Offset of the number of entries that were ever used.
        count: u32,
        /// Offset of the number of those that are free again.
        free: u32,
    },
    /// `Span<T>` or `ReadOnlySpan<T>`. Offsets count from the beginning of the value.
    Span {
        /// How an item is captured.
        item: Shape,
        /// Bytes from one item to the next.
        stride: u32,
        /// Offset of the address of the first item.
        address: u32,
        /// Offset of the number of items.
        length: u32,
    },
    /// Nothing is captured of it. `is_value`: a value type.
    Omitted {
        /// Why.
        reason: OmittedReason,
        /// Whether it is a value type.
        is_value: bool,
    },
}

/// What a probe does for one leaf of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copies bytes.
    Copy {
        /// Where they begin.
        offset: u32,
        /// How many.
        size: u32,
    },
    /// Writes a record of the string that a reference refers to.
    String {
        /// Where the reference is.
        offset: u32,
    },
    /// Writes a record of the object that a reference refers to.
    Reference {
        /// Where the reference is.
        offset: u32,
    },
}

impl Step {
    /// Returns the offset behind what the step reads.
    pub fn end(self) -> usize {
        match self {
            Step::Copy { offset, size } => offset as usize + size as usize,
            Step::String { offset } | Step::Reference { offset } => offset as usize + size_of::<usize>(),
        }
    }

    /// Returns the bytes that the step writes at least.
    pub fn minimum(self) -> usize {
        match self {
            Step::Copy { size, .. } => size as usize,
            Step::String { .. } | Step::Reference { .. } => super::record::WORD,
        }
    }
}

impl ClassForm {
    /// Whether values of it lie where they are stored, instead of references.
    pub fn is_value(&self) -> bool {
        match self {
            ClassForm::Value { .. } | ClassForm::Span { .. } => true,
            ClassForm::Omitted { is_value, .. } => *is_value,
            _ => false,
        }
    }
}

impl Shape {
    /// Appends the steps that capture a value at an offset.
    pub fn append_steps(&self, offset: u32, steps: &mut Vec<Step>) {
        let copy = |offset: u32, size: usize, steps: &mut Vec<Step>| {
            let size = size as u32;
            match steps.last_mut() {
                Some(Step::Copy { offset: first, size: before }) if *first + *before == offset => {
                    *before += size
                }
                _ => steps.push(Step::Copy { offset, size }),
            }
        };
        match self {
            Shape::Primitive(primitive) => copy(offset, primitive.size(), steps),
            Shape::Enum(of, _) => copy(offset, of.underlying.size(), steps),
            Shape::String => steps.push(Step::String { offset }),
            Shape::Reference => steps.push(Step::Reference { offset }),
            Shape::Struct(shape) => shape.append_steps(offset, steps),
            Shape::Text(form, _) => {
                form.parts().iter().for_each(|(at, size)| copy(offset + at, *size, steps))
            }
            Shape::Nullable(flag, value, shape) => {
                copy(offset + flag, 1, steps);
                shape.append_steps(offset + value, steps);
            }
            Shape::TaskState => copy(offset, 4, steps),
            Shape::Omitted(_) => {}
        }
    }

    /// Returns the number of its leaves, each value that is not captured included.
    pub fn leaves(&self) -> usize {
        match self {
            Shape::Struct(shape) => {
                shape.fields.iter().map(|field| field.shape.leaves()).sum::<usize>().max(1)
            }
            Shape::Nullable(_, _, shape) => shape.leaves(),
            _ => 1,
        }
    }
}

impl StructShape {
    /// Appends the steps that capture the fields of an object or struct at an offset.
    pub fn append_steps(&self, offset: u32, steps: &mut Vec<Step>) {
        self.fields.iter().for_each(|field| field.shape.append_steps(offset + field.offset, steps));
    }
}

/// Returns the name of the property whose field this is, or the field's own name.
pub fn shown_name(name: &str) -> &str {
    let property = name.strip_prefix('<').and_then(|rest| rest.split_once(">k__BackingField"));
    property.map_or(name, |(property, _)| property)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_values_are_one_copy() {
        let field = |offset, shape| FieldShape { name: String::new(), offset, shape };
        let pair = StructShape {
            type_name: "Pair".into(),
            fields: vec![
                field(0, Shape::Primitive(Primitive::I4)),
                field(4, Shape::Primitive(Primitive::I4)),
                field(16, Shape::Primitive(Primitive::U1)),
            ],
            missing: None,
        };
        let fields = vec![
            field(8, Shape::String),
            field(16, Shape::Struct(pair.clone())),
            field(40, Shape::Omitted(OmittedReason::RedactedName)),
            field(48, Shape::Nullable(0, 8, Box::new(Shape::Primitive(Primitive::I8)))),
            field(64, Shape::Reference),
        ];
        let shape = StructShape { type_name: "Order".into(), fields, missing: None };
        let mut steps = Vec::new();
        shape.append_steps(0, &mut steps);
        let expected = [
            Step::String { offset: 8 },
            Step::Copy { offset: 16, size: 8 },
            Step::Copy { offset: 32, size: 1 },
            Step::Copy { offset: 48, size: 1 },
            Step::Copy { offset: 56, size: 8 },
            Step::Reference { offset: 64 },
        ];
        assert_eq!(steps, expected);
        assert_eq!(steps.iter().map(|step| step.minimum()).sum::<usize>(), 4 + 8 + 1 + 1 + 8 + 4);
        assert_eq!(Shape::Struct(shape).leaves(), 7);
    }

    #[test]
    fn fields_of_properties_have_their_names() {
        assert_eq!(shown_name("<Total>k__BackingField"), "Total");
        assert_eq!(shown_name("_total"), "_total");
        assert_eq!(shown_name("<>4__this"), "<>4__this");
    }
}
