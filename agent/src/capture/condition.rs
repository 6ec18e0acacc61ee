//! Conditions on the captured bytes of a call.

use super::decode::{CapturedCall, NO_ROOM, UNREADABLE};
use super::plan::{Capture, CapturePlan, PlannedValue, Primitive};
use super::record::{COLLECTION_HEADER, RecordKind, WORD};
use super::records::MAX_KEPT;
use super::shape::{ClassForm, ClassShape, Shape, StructShape};
use super::text_form::TextForm;
use redial_protocol::condition::{
    CheckedCondition, Condition, Node, Operand, Root, Scope, Stage, Text, Undecided, ValueType, Values,
};
use redial_protocol::trace::OmittedReason;
use std::collections::HashSet;
use std::sync::Arc;

/// Records and structs within each other that are followed; probes write fewer.
const MAX_NESTING: u32 = 12;
/// Nanoseconds in a tick of a `TimeSpan`.
const TICK: i64 = 100;

/// A condition as it applies to the calls of a method.
#[derive(Clone, Debug)]
pub struct CallCondition {
    /// As written.
    pub written: Arc<Condition>,
    /// Parts that the body itself decides at the beginning of a call.
    pub inline: Box<[Node]>,
    /// Parts that are decided from the captured arguments.
    pub entry: Box<[Node]>,
    /// Parts that are decided at the end of a call.
    pub exit: Box<[Node]>,
    plan: CapturePlan,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallOutcome {
    /// Its duration in nanoseconds, if it was timed.
    pub duration_ns: Option<i64>,
    /// Whether an exception ended it; then the offset of the record of its message, or 0.
    pub thrown: Option<usize>,
    /// The type of the exception, if it is known.
    pub exception_type: Option<&'static str>,
}

/// Returns the class with a number, if it is known.
pub type KnownClasses<'a> = &'a dyn Fn(u32) -> Option<&'static ClassShape>;

impl CallCondition {
    /// Makes the condition for a method with these values. `is_inline` returns whether a body can decide a part itself.
    pub fn new(
        written: Arc<Condition>,
        checked: CheckedCondition,
        plan: CapturePlan,
        is_inline: impl Fn(&Node) -> bool,
    ) -> CallCondition {
        let (mut inline, mut entry, mut exit) = (Vec::new(), Vec::new(), Vec::new());
        for part in checked.parts {
            match part.stage() {
                Stage::Entry if is_inline(&part) => inline.push(part),
                Stage::Entry => entry.push(part),
                Stage::Exit => exit.push(part),
            }
        }
        CallCondition { written, inline: inline.into(), entry: entry.into(), exit: exit.into(), plan }
    }

    /// Makes the condition for the `MoveNext` of an async method: it decides nothing there.
    pub fn decided_elsewhere(written: Arc<Condition>, plan: CapturePlan) -> CallCondition {
        CallCondition { written, inline: Box::default(), entry: Box::default(), exit: Box::default(), plan }
    }

    /// Replaces values by equal ones of plans; see [`CapturePlan::share`].
    pub fn share(&mut self, known: &mut HashSet<Arc<PlannedValue>>) {
        self.plan.share(known);
    }

    /// Whether it compares the types of exceptions.
    pub fn uses_exception_type(&self) -> bool {
        self.exit.iter().any(|part| part.has_field_of(Root::Exception, "type"))
    }

    /// Whether captured bytes decide about a call.
    pub fn needs_capture(&self) -> bool {
        !self.entry.is_empty() || !self.exit.is_empty()
    }

    /// Returns whether the parts for the beginning of a call are true, from the bytes captured so far.
    ///
    /// # Errors
    /// If that is undecided.
    pub fn holds_at_entry(
        &self,
        bytes: &[u8],
        places: usize,
        classes: KnownClasses<'_>,
    ) -> Result<bool, Undecided> {
        let call = CapturedCall { bytes, places };
        all_hold(&self.entry, &CallValues { call, plan: &self.plan, end: None, completion: None, classes })
    }

    /// Returns whether the parts for the end of a call are true.
    ///
    /// # Errors
    /// If that is undecided.
    pub fn holds_at_exit(
        &self,
        bytes: &[u8],
        places: usize,
        end: CallOutcome,
        classes: KnownClasses<'_>,
    ) -> Result<bool, Undecided> {
        let call = CapturedCall { bytes, places };
        let end = Some(end);
        all_hold(&self.exit, &CallValues { call, plan: &self.plan, end, completion: None, classes })
    }

    /// Returns whether the parts for the end of an async call are true, from the bytes captured at its start and at its
    /// completion. `end` refers to the latter.
    ///
    /// # Errors
    /// If that is undecided.
    pub fn holds_at_completion(
        &self,
        (start, completion): (&[u8], &[u8]),
        places: usize,
        (end, plan): (CallOutcome, &CapturePlan),
        classes: KnownClasses<'_>,
    ) -> Result<bool, Undecided> {
        let bytes = [start, completion].concat();
        let call = CapturedCall { bytes: &bytes, places };
        let thrown = end.thrown.map(|at| if at == 0 { 0 } else { start.len() + at });
        let (end, completion) = (Some(CallOutcome { thrown, ..end }), Some((start.len(), plan)));
        all_hold(&self.exit, &CallValues { call, plan: &self.plan, end, completion, classes })
    }
}

fn all_hold(parts: &[Node], values: &CallValues<'_>) -> Result<bool, Undecided> {
    let mut undecided = false;
    for part in parts {
        match part.holds(values) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(Undecided) => undecided = true,
        }
    }
    if undecided { Err(Undecided) } else { Ok(true) }
}

/// Returns the values that conditions on calls of a method may use.
pub fn scope(plan: &CapturePlan) -> Scope {
    let parameters = plan.parameters.iter().zip(0..).map(|(planned, index)| {
        let root = match planned.capture {
            Capture::Out(_) => Root::ArgumentAfter(index),
            _ => Root::Argument(index),
        };
        (planned.name.clone(), planned.type_name.clone(), value_type(planned), root)
    });
    let result = plan.result.as_ref().map(|planned| (planned.type_name.clone(), value_type(planned)));
    Scope { parameters: parameters.collect(), result }
}

fn value_type(planned: &PlannedValue) -> ValueType {
    let primitive = match &planned.capture {
        Capture::Omitted(reason) => return ValueType::Unavailable(reason.word().to_owned()),
        Capture::Primitive(primitive) => *primitive,
        Capture::Enum(of) => return ValueType::Enum(planned.type_name.clone(), of.names.clone()),
        Capture::String => return ValueType::String,
        Capture::Object => return ValueType::Object,
        Capture::Typed(ty) | Capture::ByRef(ty) | Capture::Out(ty) => match Primitive::of(ty) {
            Some(primitive) => primitive,
            None => return ValueType::Object,
        },
    };
    match primitive {
        Primitive::Boolean => ValueType::Bool,
        Primitive::Char => ValueType::String,
        Primitive::I1 | Primitive::I2 | Primitive::I4 | Primitive::I8 | Primitive::I => ValueType::Int,
        Primitive::R4 | Primitive::R8 => ValueType::Double,
        _ => ValueType::UInt,
    }
}

/// The values of a call.
struct CallValues<'a> {
    call: CapturedCall<'a>,
    plan: &'a CapturePlan,
    /// None at its beginning.
    end: Option<CallOutcome>,
    /// Of an async call: where the bytes of its completion begin, and its plan.
    completion: Option<(usize, &'a CapturePlan)>,
    classes: KnownClasses<'a>,
}

/// An object or struct in the bytes of a call.
#[derive(Clone, Copy)]
enum CapturedObject {
    /// Its leaves begin at an offset.
    Fields(&'static StructShape, usize),
    /// A collection of this length.
    Collection(u32),
    /// The exception that ended the call.
    Exception,
}

type Read<'a> = Result<Operand<'a, CapturedObject>, Undecided>;

impl<'c> Values for CallValues<'c> {
    type Object = CapturedObject;

    fn root(&self, root: Root) -> Read<'c> {
        let plan = self.plan;
        match root {
            Root::Argument(index) => {
                let index = usize::from(index);
                self.planned(0, index, plan.parameters.get(index).ok_or(Undecided)?)
            }
            Root::ArgumentAfter(index) => {
                let mut places = plan.after_places();
                let (_, place) = places.find(|(of, _)| *of == usize::from(index)).ok_or(Undecided)?;
                self.object_in_place(0, place)
            }
            Root::Result if self.end.is_some_and(|end| end.thrown.is_none()) => {
                let (base, plan) = self.completion.unwrap_or((0, plan));
                self.planned(base, plan.result_place(), plan.result.as_ref().ok_or(Undecided)?)
            }
            Root::Result => Err(Undecided),
            Root::Exception => Ok(match self.end.ok_or(Undecided)?.thrown {
                Some(_) => Operand::Object(CapturedObject::Exception),
                None => Operand::Null,
            }),
            Root::Duration => {
                self.end.and_then(|end| end.duration_ns).map(Operand::Duration).ok_or(Undecided)
            }
        }
    }

    fn field(&self, object: CapturedObject, name: &str) -> Read<'c> {
        match object {
            CapturedObject::Fields(shape, first) => {
                let mut at = first;
                for field in &shape.fields {
                    if field.name == name {
                        return self.shape(at, &field.shape, 0);
                    }
                    at = self.skip(at, &field.shape, 0)?;
                }
                Err(Undecided)
            }
            CapturedObject::Exception if name == "type" => {
                let name = self.end.and_then(|end| end.exception_type).ok_or(Undecided)?;
                Ok(Operand::Text(Text::Utf8(name)))
            }
            CapturedObject::Exception if name == "message" || name == "Message" => {
                match self.end.and_then(|end| end.thrown) {
                    None | Some(0) => Err(Undecided),
                    Some(at) => self.record(at),
                }
            }
            CapturedObject::Exception | CapturedObject::Collection(_) => Err(Undecided),
        }
    }

    fn size(&self, object: CapturedObject) -> Result<u64, Undecided> {
        match object {
            CapturedObject::Collection(length) => Ok(length.into()),
            _ => Err(Undecided),
        }
    }
}

impl<'c> CallValues<'c> {
    fn bytes(&self, at: usize, size: usize) -> Result<&'c [u8], Undecided> {
        let end = at.checked_add(size).ok_or(Undecided)?;
        self.call.bytes.get(at..end).ok_or(Undecided)
    }

    fn bits(&self, at: usize, size: usize) -> Result<u64, Undecided> {
        let mut bits = [0; 8];
        bits.get_mut(..size).ok_or(Undecided)?.copy_from_slice(self.bytes(at, size)?);
        Ok(u64::from_le_bytes(bits))
    }

    fn word(&self, at: usize) -> Result<u32, Undecided> {
        self.bits(at, WORD).map(|bits| bits as u32)
    }

    /// Returns the value in a place of the bytes from `base` on.
    fn planned(&self, base: usize, place: usize, planned: &PlannedValue) -> Read<'c> {
        let at = base + self.call.places + place * size_of::<u64>();
        let bits = self.bits(at, size_of::<u64>())?;
        match &planned.capture {
            Capture::Omitted(_) | Capture::Out(_) => Err(Undecided),
            Capture::Primitive(Primitive::Char) => Ok(Operand::Text(Text::Utf16(self.bytes(at, 2)?, 1))),
            Capture::Primitive(primitive) => primitive_operand(bits, *primitive),
            Capture::Enum(of) => enum_operand(bits, of.underlying),
            Capture::String => match bits {
                0 => Ok(Operand::Null),
                NO_ROOM => Err(Undecided),
                _ => {
                    let (at, kept) = (base + bits as u32 as usize, (bits >> 32) as usize);
                    let length = self.word(at)?;
                    Ok(Operand::Text(Text::Utf16(self.bytes(at + WORD, kept * 2)?, length)))
                }
            },
            Capture::Object | Capture::Typed(_) | Capture::ByRef(_) => self.object_in_place(base, place),
        }
    }

    fn object_in_place(&self, base: usize, place: usize) -> Read<'c> {
        match self.bits(base + self.call.places + place * size_of::<u64>(), size_of::<u64>())? {
            0 => Ok(Operand::Null),
            NO_ROOM | UNREADABLE => Err(Undecided),
            at => self.record(base + at as usize),
        }
    }

    fn class(&self, number: u32) -> Result<&'static ClassShape, Undecided> {
        (self.classes)(number).ok_or(Undecided)
    }

    /// Returns the value of the record at an offset.
    fn record(&self, at: usize) -> Read<'c> {
        let (kind, number) = RecordKind::of_word(self.word(at)?).ok_or(Undecided)?;
        match kind {
            RecordKind::Null => Ok(Operand::Null),
            RecordKind::Omitted | RecordKind::Pending => Err(Undecided),
            RecordKind::String => {
                let units = self.bytes(at + 2 * WORD, number as usize * 2)?;
                Ok(Operand::Text(Text::Utf16(units, self.word(at + WORD)?)))
            }
            RecordKind::Object => match &self.class(number)?.form {
                ClassForm::Object(shape) => Ok(Operand::Object(CapturedObject::Fields(shape, at + WORD))),
                ClassForm::Value { shape, .. } => self.shape(at + WORD, shape, 0),
                _ => Err(Undecided),
            },
            RecordKind::Collection | RecordKind::Dictionary => {
                let length = self.word(at + WORD)?;
                match &self.class(number)?.form {
                    ClassForm::Span { item: Shape::Primitive(Primitive::Char), .. } => {
                        let kept = self.word(at + COLLECTION_HEADER)? as usize;
                        let units = self.bytes(at + WORD + COLLECTION_HEADER, kept * 2)?;
                        Ok(Operand::Text(Text::Utf16(units, length)))
                    }
                    _ => Ok(Operand::Object(CapturedObject::Collection(length))),
                }
            }
        }
    }

    /// Returns a value whose leaves begin at an offset.
    fn shape(&self, at: usize, shape: &'static Shape, nesting: u32) -> Read<'c> {
        match shape {
            _ if nesting > MAX_NESTING => Err(Undecided),
            Shape::Primitive(Primitive::Char) => Ok(Operand::Text(Text::Utf16(self.bytes(at, 2)?, 1))),
            Shape::Primitive(primitive) => primitive_operand(self.bits(at, primitive.size())?, *primitive),
            Shape::Enum(of, _) => enum_operand(self.bits(at, of.underlying.size())?, of.underlying),
            Shape::String | Shape::Reference => self.record(at),
            Shape::Struct(shape) => Ok(Operand::Object(CapturedObject::Fields(shape, at))),
            Shape::Text(TextForm::TimeSpan, _) => {
                let ticks = self.bits(at, 8)? as i64;
                ticks.checked_mul(TICK).map(Operand::Duration).ok_or(Undecided)
            }
            Shape::Text(TextForm::Decimal, _) => {
                TextForm::decimal_as_double(self.bytes(at, 16)?).map(Operand::Double).ok_or(Undecided)
            }
            Shape::Nullable(_, _, shape) => match self.bits(at, 1)? {
                0 => Ok(Operand::Null),
                _ => self.shape(at + 1, shape, nesting + 1),
            },
            Shape::Text(..) | Shape::TaskState | Shape::Omitted(_) => Err(Undecided),
        }
    }

    /// Returns the offset behind the leaves of a value.
    fn skip(&self, at: usize, shape: &Shape, nesting: u32) -> Result<usize, Undecided> {
        if nesting > MAX_NESTING {
            return Err(Undecided);
        }
        let size = match shape {
            Shape::Primitive(primitive) => primitive.size(),
            Shape::Enum(of, _) => of.underlying.size(),
            Shape::String | Shape::Reference => return self.skip_record(at, nesting),
            Shape::Struct(shape) => return self.skip_fields(at, shape, nesting),
            Shape::Text(form, _) => form.size(),
            Shape::Nullable(_, _, shape) => return self.skip(at + 1, shape, nesting + 1),
            Shape::TaskState => WORD,
            Shape::Omitted(OmittedReason::Pending) => return Err(Undecided),
            Shape::Omitted(_) => 0,
        };
        self.bytes(at, size).map(|_| at + size)
    }

    fn skip_fields(&self, at: usize, shape: &StructShape, nesting: u32) -> Result<usize, Undecided> {
        shape.fields.iter().try_fold(at, |at, field| self.skip(at, &field.shape, nesting + 1))
    }

    fn skip_record(&self, at: usize, nesting: u32) -> Result<usize, Undecided> {
        let (kind, number) = RecordKind::of_word(self.word(at)?).ok_or(Undecided)?;
        let first = at + WORD;
        match kind {
            RecordKind::Null | RecordKind::Omitted | RecordKind::Pending => Ok(first),
            RecordKind::String => Ok(first + WORD + number as usize * 2),
            RecordKind::Object => match &self.class(number)?.form {
                ClassForm::Object(shape) => self.skip_fields(first, shape, nesting + 1),
                ClassForm::Value { shape, .. } => self.skip(first, shape, nesting + 1),
                _ => Err(Undecided),
            },
            RecordKind::Collection | RecordKind::Dictionary => {
                let kept = self.word(at + COLLECTION_HEADER)?;
                let first = first + COLLECTION_HEADER;
                if kept == 0 {
                    return Ok(first);
                }
                if kept > MAX_KEPT {
                    return Err(Undecided);
                }
                let item = self.class(self.word(at + 2 * WORD)?)?.form.item().ok_or(Undecided)?;
                (0..kept).try_fold(first, |at, _| self.skip(at, item, nesting + 1))
            }
        }
    }
}

fn primitive_operand<'a>(bits: u64, primitive: Primitive) -> Read<'a> {
    Ok(match primitive {
        Primitive::Boolean => Operand::Bool(bits as u8 != 0),
        Primitive::Char => return Err(Undecided),
        Primitive::I1 => Operand::Int((bits as i8).into()),
        Primitive::I2 => Operand::Int((bits as i16).into()),
        Primitive::I4 => Operand::Int((bits as i32).into()),
        Primitive::I8 | Primitive::I => Operand::Int(bits as i64),
        Primitive::U1 => Operand::UInt((bits as u8).into()),
        Primitive::U2 => Operand::UInt((bits as u16).into()),
        Primitive::U4 => Operand::UInt((bits as u32).into()),
        Primitive::U8 | Primitive::U | Primitive::Pointer => Operand::UInt(bits),
        Primitive::R4 => Operand::Double(f32::from_bits(bits as u32).into()),
        Primitive::R8 => Operand::Double(f64::from_bits(bits)),
    })
}

/// An enum is a signed integer, whatever its underlying type.
fn enum_operand<'a>(bits: u64, underlying: Primitive) -> Read<'a> {
    match primitive_operand(bits, underlying)? {
        Operand::Int(value) => Ok(Operand::Int(value)),
        Operand::UInt(value) => Ok(Operand::Int(value as i64)),
        Operand::Bool(value) => Ok(Operand::Int(value.into())),
        _ => Err(Undecided),
    }
}

#[cfg(test)]
#[path = "condition_tests.rs"]
mod tests;
