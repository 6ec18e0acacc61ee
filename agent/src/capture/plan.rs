//! Which values of a method a traced body captures.

use super::redaction::Redaction;
use crate::planted_fault;
use crate::signature::{Method, Type};
use redial_protocol::limits::MAX_TRACED_PARAMETERS;
use redial_protocol::trace::OmittedReason;
use std::collections::HashSet;
use std::sync::Arc;

/// What the host allows to capture, `REDIAL_MAX_CAPTURE`. Ordered, so that a cap is a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaptureLevel {
    /// No value.
    None,
    /// Numbers, characters, truth values and pointers.
    Primitives,
    /// Those and strings.
    Strings,
    /// Everything that can be captured.
    #[default]
    Objects,
}

impl CaptureLevel {
    /// Returns the level that a word names, if any.
    pub fn from_word(word: &str) -> Option<CaptureLevel> {
        Some(match word {
            "none" => CaptureLevel::None,
            "primitives" => CaptureLevel::Primitives,
            "strings" => CaptureLevel::Strings,
            "objects" => CaptureLevel::Objects,
            _ => return None,
        })
    }
}

/// The host's rules for capturing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureRules {
    /// The highest level.
    pub highest: CaptureLevel,
    /// Names and types that are never read.
    pub redaction: Redaction,
}

/// A value that a body can store by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named like the types of signatures
pub enum Primitive {
    Boolean,
    Char,
    I1,
    U1,
    I2,
    U2,
    I4,
    U4,
    I8,
    U8,
    R4,
    R8,
    I,
    U,
    /// A pointer or a native function.
    Pointer,
}

impl Primitive {
    /// Returns the primitive that a type of a signature is, if it is one.
    pub fn of(ty: &Type) -> Option<Primitive> {
        Some(match ty {
            Type::Boolean => Primitive::Boolean,
            Type::Char => Primitive::Char,
            Type::I1 => Primitive::I1,
            Type::U1 => Primitive::U1,
            Type::I2 => Primitive::I2,
            Type::U2 => Primitive::U2,
            Type::I4 => Primitive::I4,
            Type::U4 => Primitive::U4,
            Type::I8 => Primitive::I8,
            Type::U8 => Primitive::U8,
            Type::R4 => Primitive::R4,
            Type::R8 => Primitive::R8,
            Type::I => Primitive::I,
            Type::U => Primitive::U,
            Type::Ptr(_) | Type::FnPtr(_) => Primitive::Pointer,
            _ => return None,
        })
    }

    /// Returns its size in bytes.
    pub fn size(self) -> usize {
        match self {
            Primitive::Boolean | Primitive::I1 | Primitive::U1 => 1,
            Primitive::Char | Primitive::I2 | Primitive::U2 => 2,
            Primitive::I4 | Primitive::U4 | Primitive::R4 => 4,
            Primitive::I8 | Primitive::U8 | Primitive::R8 => 8,
            Primitive::I | Primitive::U | Primitive::Pointer => size_of::<usize>(),
        }
    }
}

/// An enum as it is captured and shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnumType {
    /// Its underlying type.
    pub underlying: Primitive,
    /// Names with their values; of an unsigned type, the bits.
    pub names: Vec<(String, i64)>,
}

/// How a value is captured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Capture {
    /// The body stores it in its place.
    Primitive(Primitive),
    /// The body stores it in its place.
    Enum(Arc<EnumType>),
    /// A probe helper copies its beginning.
    String,
    /// A probe helper captures the object by its own class.
    Object,
    /// A probe helper captures a value of this type, a struct or a generic parameter, by the type that it has when the
    /// method runs.
    Typed(Type),
    /// A probe helper captures the value of this type that it refers to.
    ByRef(Type),
    /// As [`Capture::ByRef`], but the value means something at the end of a call only.
    Out(Type),
    /// Not at all.
    Omitted(OmittedReason),
}

impl Capture {
    /// Returns the type that a body needs a token for, if it needs one.
    pub fn token_type(&self) -> Option<&Type> {
        match self {
            Capture::Typed(ty) | Capture::ByRef(ty) | Capture::Out(ty) => Some(ty),
            _ => None,
        }
    }

    /// Whether it is captured by reference, also at the end of a call.
    pub fn is_by_ref(&self) -> bool {
        matches!(self, Capture::ByRef(_) | Capture::Out(_))
    }

    /// Whether a probe helper captures it.
    pub fn needs_helper(&self) -> bool {
        matches!(self, Capture::String | Capture::Object | Capture::Typed(_) | Capture::ByRef(_))
    }
}

/// A parameter or result of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlannedValue {
    /// Its name; empty for a result.
    pub name: String,
    /// Its type in C# form.
    pub type_name: String,
    /// Number of the argument in IL; meaningless for a result.
    pub argument: u16,
    /// How it is captured.
    pub capture: Capture,
}

impl PlannedValue {
    /// Returns about the bytes that it takes, with its texts.
    pub fn bytes(&self) -> usize {
        size_of::<PlannedValue>() + self.name.capacity() + self.type_name.capacity()
    }
}

/// The values of a method that its body captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePlan {
    /// Parameters in order, `this` first if it is captured.
    pub parameters: Vec<Arc<PlannedValue>>,
    /// Whether the first parameter is `this`.
    pub has_this: bool,
    /// The result, unless the method has none.
    pub result: Option<Arc<PlannedValue>>,
}

/// What the metadata says about a method's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// The signature.
    pub method: &'a Method,
    /// Names by number from 1.
    pub names: &'a [(u32, String)],
    /// Numbers of `out` parameters.
    pub out: &'a [u32],
    /// The type of `this`: a class, or for methods of structs the struct. None if it is not captured.
    pub this: Option<&'a Type>,
}

/// The number of places that a helper can address.
const MAX_PLACES: usize = MAX_TRACED_PARAMETERS;

impl CapturePlan {
    /// Returns the plan for a method. `type_name` prints a type, and `enum_type` returns the enum that a token names.
    pub fn new(
        of: Parameters<'_>,
        type_name: impl Fn(&Type) -> String,
        enum_type: impl Fn(u32) -> Option<Arc<EnumType>>,
        rules: &CaptureRules,
    ) -> CapturePlan {
        let planned = |name: &str, ty: &Type, argument: u16, is_out: bool| {
            let type_name = type_name(ty);
            let capture = capture(rules, (name, &type_name), ty, is_out, &enum_type);
            PlannedValue { name: name.to_owned(), type_name, argument, capture }
        };
        let method = of.method;
        let this = of.this.map(|ty| match ty {
            Type::ValueType(_) | Type::Generic { value_type: true, .. } => PlannedValue {
                type_name: type_name(ty),
                ..planned("this", &Type::ByRef(Box::new(ty.clone())), 0, false)
            },
            _ => planned("this", ty, 0, false),
        });
        let first = u16::from(method.has_this && !method.explicit_this);
        let parameters = (1..).zip(&method.params).map(|(number, ty)| {
            let name = of.names.iter().find(|(of, _)| *of == number).map_or("", |(_, name)| name.as_str());
            // As C# writes a parameter with that name.
            let name = if name == "this" { "@this" } else { name };
            planned(name, ty, (number as u16 - 1).saturating_add(first), of.out.contains(&number))
        });
        let mut parameters: Vec<_> = this.into_iter().chain(parameters).take(MAX_PLACES - 1).collect();
        planted_fault::exchange(
            &mut parameters,
            |one, other| one.capture == other.capture,
            |one, other| std::mem::swap(&mut one.argument, &mut other.argument),
        );
        let parameters = parameters.into_iter().map(Arc::new).collect();
        let has_result = !matches!(plain(&method.result), Type::Void);
        let result = has_result.then(|| Arc::new(planned("", &method.result, 0, false)));
        CapturePlan { parameters, has_this: of.this.is_some(), result }
    }

    /// Returns the number of places of a call.
    pub fn places(&self) -> usize {
        self.after_places().map(|(_, place)| place + 1).max().unwrap_or(self.places_of_values())
    }

    fn places_of_values(&self) -> usize {
        self.parameters.len() + usize::from(self.result.is_some())
    }

    /// Returns the place of the result.
    pub fn result_place(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the parameters that are captured at the end of a call, too, as indices, with their places there.
    pub fn after_places(&self) -> impl Iterator<Item = (usize, usize)> {
        // `this` of a struct is mostly as it was.
        let parameters = self.parameters.iter().enumerate().skip(usize::from(self.has_this));
        let by_ref = parameters.filter(|(_, value)| value.capture.is_by_ref());
        by_ref.map(|(index, _)| index).zip(self.places_of_values()..MAX_PLACES)
    }

    /// Iterates over the parameters and the result.
    pub fn values(&self) -> impl Iterator<Item = &PlannedValue> {
        self.parameters.iter().chain(&self.result).map(|value| &**value)
    }

    /// Replaces values by equal ones of other plans: most methods of a program share theirs with others.
    pub fn share(&mut self, known: &mut HashSet<Arc<PlannedValue>>) {
        for value in self.parameters.iter_mut().chain(&mut self.result) {
            match known.get(value) {
                Some(shared) => *value = Arc::clone(shared),
                None => drop(known.insert(Arc::clone(value))),
            }
        }
        self.parameters.shrink_to_fit();
    }

    /// Returns how many values probe helpers capture in a call.
    pub fn captures(&self) -> usize {
        let at_first = self.values().filter(|value| value.capture.needs_helper()).count();
        at_first + self.after_places().count()
    }
}

fn capture(
    rules: &CaptureRules,
    (name, type_name): (&str, &str),
    ty: &Type,
    is_out: bool,
    enum_type: impl Fn(u32) -> Option<Arc<EnumType>>,
) -> Capture {
    if let Some(reason) = rules.redaction.reason(name, type_name) {
        return Capture::Omitted(reason);
    }
    let unreadable = Capture::Omitted(OmittedReason::Unreadable);
    let (needs, capture) = match (Primitive::of(plain(ty)), plain(ty)) {
        (Some(primitive), _) => (CaptureLevel::Primitives, Capture::Primitive(primitive)),
        (None, Type::String) => (CaptureLevel::Strings, Capture::String),
        (None, Type::ValueType(token)) if let Some(found) = enum_type(*token) => {
            (CaptureLevel::Primitives, Capture::Enum(found))
        }
        (None, Type::ByRef(referent)) => {
            let ty = plain(referent).clone();
            let needs = match ty {
                Type::String => CaptureLevel::Strings,
                _ if Primitive::of(&ty).is_some() => CaptureLevel::Primitives,
                _ => CaptureLevel::Objects,
            };
            match ty {
                // Pointers have no class.
                Type::Ptr(_) | Type::FnPtr(_) | Type::TypedByRef => (needs, unreadable),
                ty if is_out => (needs, Capture::Out(ty)),
                ty => (needs, Capture::ByRef(ty)),
            }
        }
        (None, plain) => {
            let capture = match plain {
                Type::ValueType(_)
                | Type::Generic { value_type: true, .. }
                | Type::Var(_)
                | Type::MVar(_) => Capture::Typed(plain.clone()),
                Type::Object
                | Type::Class(_)
                | Type::SzArray(_)
                | Type::Array { .. }
                | Type::Generic { value_type: false, .. } => Capture::Object,
                _ => unreadable,
            };
            (CaptureLevel::Objects, capture)
        }
    };
    if needs > rules.highest { Capture::Omitted(OmittedReason::Capped) } else { capture }
}

/// Returns a type without its custom modifiers.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Modified { inner, .. } => plain(inner),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::parse_method;

    fn plan(rules: &CaptureRules) -> CapturePlan {
        // instance string M(int, string, object, byte*)
        let method = parse_method(&[0x20, 4, 0x0E, 0x08, 0x0E, 0x1C, 0x0F, 0x05]).expect("a method");
        let names = [(1, "id".to_owned()), (2, "pass_Word".to_owned()), (3, "tag".to_owned())];
        let of = Parameters { method: &method, names: &names, out: &[], this: None };
        CapturePlan::new(of, |ty| format!("{ty:?}"), |_| None, rules)
    }

    fn captures(plan: &CapturePlan) -> Vec<Capture> {
        plan.values().map(|value| value.capture.clone()).collect()
    }

    #[test]
    fn plans_by_type_and_hides_by_name() {
        let plan = plan(&CaptureRules::default());
        let arguments: Vec<u16> = plan.parameters.iter().map(|value| value.argument).collect();
        assert_eq!((arguments, plan.places(), plan.result_place()), (vec![1, 2, 3, 4], 5, 4));
        assert_eq!(
            captures(&plan),
            [
                Capture::Primitive(Primitive::I4),
                Capture::Omitted(OmittedReason::RedactedName),
                Capture::Object,
                Capture::Primitive(Primitive::Pointer),
                Capture::String,
            ]
        );
        assert_eq!(plan.parameters[3].name, "", "the metadata has none");
    }

    #[test]
    fn the_host_caps_captures() {
        let capped = || Capture::Omitted(OmittedReason::Capped);
        let at = |highest| captures(&plan(&CaptureRules { highest, ..CaptureRules::default() }));
        let redacted = Capture::Omitted(OmittedReason::RedactedName);
        assert_eq!(at(CaptureLevel::None), [capped(), redacted, capped(), capped(), capped()]);
        assert_eq!(at(CaptureLevel::Primitives)[4], capped());
        assert_eq!(at(CaptureLevel::Strings)[4], Capture::String);
        assert_eq!(at(CaptureLevel::Strings)[2], capped());
    }
    #[test]
    fn by_reference_parameters_have_a_second_place() {
        // instance void M(ref int, out Guid (a value type), ref byte*, T)
        let blob = [0x20, 4, 0x01, 0x10, 0x08, 0x10, 0x11, 0x05, 0x10, 0x0F, 0x05, 0x13, 0x00];
        let method = parse_method(&blob).expect("a method");
        let this = Type::ValueType(0x0200_0002);
        let of = Parameters { method: &method, names: &[], out: &[2], this: Some(&this) };
        let plan = CapturePlan::new(of, |ty| format!("{ty:?}"), |_| None, &CaptureRules::default());
        assert_eq!(
            captures(&plan),
            [
                Capture::ByRef(this.clone()),
                Capture::ByRef(Type::I4),
                Capture::Out(Type::ValueType(0x0100_0001)),
                Capture::Omitted(OmittedReason::Unreadable),
                Capture::Typed(Type::Var(0)),
            ]
        );
        assert_eq!(plan.after_places().collect::<Vec<_>>(), [(1, 5), (2, 6)]);
        assert_eq!((plan.places(), plan.parameters[0].name.as_str()), (7, "this"));
        let primitives = CaptureRules { highest: CaptureLevel::Primitives, ..CaptureRules::default() };
        let capped = CapturePlan::new(of, |ty| format!("{ty:?}"), |_| None, &primitives);
        assert_eq!(capped.after_places().collect::<Vec<_>>(), [(1, 5)]);
    }
}
