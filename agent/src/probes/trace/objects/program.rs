//! What a helper does for objects of a class.

use crate::capture::Primitive;
use crate::capture::record::RecordKind;
use crate::capture::shape::{ClassForm, ClassShape, MAX_ITEMS, Shape, Step, StructShape};
use redial_protocol::trace::OmittedReason;
use std::sync::Arc;

/// Characters captured of a span of characters: as many as of a string.
const MAX_CHARACTERS: usize = 255;

/// Offset of the number of items in an array, four bytes: the address of the class comes first.
pub(super) const ARRAY_LENGTH: usize = size_of::<usize>();
/// Offset of the items in an array of one dimension.
const ARRAY_ITEMS: usize = 2 * size_of::<usize>();

/// The program of a class. It is never freed.
#[derive(Debug)]
pub struct ClassProgram {
    /// Number of the class.
    pub(super) number: u32,
    /// Whether values lie where they are stored, instead of references.
    pub(super) is_value: bool,
    pub(super) action: Action,
    pub(super) shape: Arc<ClassShape>,
}

/// Offsets count from the beginning of an object, or of a value of a value type.
#[derive(Debug)]
pub(super) enum Action {
    Fields(Steps),
    Value { steps: Steps, size: usize },
    String,
    Array(Items),
    List { items: usize, size: usize },
    Dictionary { entries: usize, count: usize, free: usize },
    Span { items: Items, address: usize, length: usize },
    Omit(OmittedReason),
}

#[derive(Debug)]
pub(super) struct Items {
    pub(super) steps: Steps,
    pub(super) stride: usize,
    /// Offset of the first item in an array.
    pub(super) first: usize,
    /// Maximum number of captured items.
    pub(super) most: usize,
}

/// Steps that are executed one after another.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) steps: Box<[Step]>,
    /// Bytes that they write at least.
    pub(super) minimum: usize,
}

impl Steps {
    fn of_shape(shape: &Shape) -> Steps {
        let mut steps = Vec::new();
        shape.append_steps(0, &mut steps);
        Steps::new(steps)
    }

    fn of_fields(shape: &StructShape) -> Steps {
        let mut steps = Vec::new();
        shape.append_steps(0, &mut steps);
        Steps::new(steps)
    }

    fn new(steps: Vec<Step>) -> Steps {
        let minimum = steps.iter().map(|step| step.minimum()).sum();
        Steps { steps: steps.into(), minimum }
    }
}

impl ClassProgram {
    /// Returns the program of the class with a number and shape.
    pub fn new(number: u32, shape: Arc<ClassShape>) -> ClassProgram {
        let items = |item: &Shape, stride: u32, most: usize, first: usize| Items {
            steps: Steps::of_shape(item),
            stride: stride as usize,
            first,
            most,
        };
        let action = match &shape.form {
            ClassForm::Object(fields) => Action::Fields(Steps::of_fields(fields)),
            ClassForm::Value { shape, size } => {
                Action::Value { steps: Steps::of_shape(shape), size: *size as usize }
            }
            ClassForm::String => Action::String,
            ClassForm::Array { item, stride, rank } => {
                // Lengths and lower bounds of several dimensions come before the items.
                let bounds = if *rank > 1 { *rank as usize * 2 * size_of::<u32>() } else { 0 };
                Action::Array(items(item, *stride, MAX_ITEMS, ARRAY_ITEMS + bounds))
            }
            ClassForm::List { items, size } => Action::List { items: *items as usize, size: *size as usize },
            ClassForm::Dictionary { entries, count, free } => Action::Dictionary {
                entries: *entries as usize,
                count: *count as usize,
                free: *free as usize,
            },
            ClassForm::Span { item, stride, address, length } => {
                let is_text = *item == Shape::Primitive(Primitive::Char);
                let most = if is_text { MAX_CHARACTERS } else { MAX_ITEMS };
                Action::Span {
                    items: items(item, *stride, most, 0),
                    address: *address as usize,
                    length: *length as usize,
                }
            }
            ClassForm::Omitted { reason, .. } => Action::Omit(*reason),
        };
        ClassProgram { number, is_value: shape.form.is_value(), action, shape }
    }
}

/// Returns the first word of the record of a value that is not captured.
pub(super) fn omitted(reason: OmittedReason) -> u32 {
    RecordKind::Omitted.word(reason.index())
}
