//! Which values of a method a traced body captures.

use super::redaction::Redaction;
use crate::signature::{Method, Type};
use redial_protocol::limits::MAX_TRACED_PARAMETERS;
use redial_protocol::trace::OmittedReason;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// An enum as it is captured and shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    /// Its underlying type.
    pub underlying: Primitive,
    /// Names with their values; of an unsigned type, the bits.
    pub names: Vec<(String, i64)>,
}

/// How a value is captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    /// The body stores it in its place.
    Primitive(Primitive),
    /// The body stores it in its place.
    Enum(Arc<EnumType>),
    /// A probe helper copies its beginning.
    String,
    /// Not at all.
    Omitted(OmittedReason),
}

/// A parameter or result of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The values of a method that its body captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePlan {
    /// Parameters in order.
    pub parameters: Vec<PlannedValue>,
    /// The result, unless the method has none.
    pub result: Option<PlannedValue>,
}

impl CapturePlan {
    /// Returns the plan for a method. `names` are those of its parameters by number from 1; `type_name` prints a
    /// type, and `enum_type` returns the enum that a token names.
    pub fn new(
        method: &Method,
        names: &[(u32, String)],
        type_name: impl Fn(&Type) -> String,
        enum_type: impl Fn(u32) -> Option<Arc<EnumType>>,
        rules: &CaptureRules,
    ) -> CapturePlan {
        let planned = |name: &str, ty: &Type, argument: u16| {
            let type_name = type_name(ty);
            let capture = capture(rules, name, &type_name, ty, &enum_type);
            PlannedValue { name: name.to_owned(), type_name, argument, capture }
        };
        let first = u16::from(method.has_this && !method.explicit_this);
        let parameters = (1..).zip(&method.params).take(MAX_TRACED_PARAMETERS - 1).map(|(number, ty)| {
            let name = names.iter().find(|(of, _)| *of == number).map_or("", |(_, name)| name.as_str());
            planned(name, ty, (number as u16 - 1).saturating_add(first))
        });
        let result = (!matches!(plain(&method.result), Type::Void)).then(|| planned("", &method.result, 0));
        CapturePlan { parameters: parameters.collect(), result }
    }

    /// Returns the number of places of a call.
    pub fn places(&self) -> usize {
        self.parameters.len() + usize::from(self.result.is_some())
    }

    /// Returns the place of the result.
    pub fn result_place(&self) -> usize {
        self.parameters.len()
    }

    /// Whether a probe helper captures any value.
    pub fn needs_helper(&self) -> bool {
        let result = self.result.iter();
        self.parameters.iter().chain(result).any(|value| value.capture == Capture::String)
    }
}

fn capture(
    rules: &CaptureRules,
    name: &str,
    type_name: &str,
    ty: &Type,
    enum_type: impl Fn(u32) -> Option<Arc<EnumType>>,
) -> Capture {
    if let Some(reason) = rules.redaction.reason(name, type_name) {
        return Capture::Omitted(reason);
    }
    let (needs, capture) = match (Primitive::of(plain(ty)), plain(ty)) {
        (Some(primitive), _) => (CaptureLevel::Primitives, Capture::Primitive(primitive)),
        (None, Type::String) => (CaptureLevel::Strings, Capture::String),
        (None, Type::ValueType(token)) if let Some(found) = enum_type(*token) => {
            (CaptureLevel::Primitives, Capture::Enum(found))
        }
        (None, _) => (CaptureLevel::Objects, Capture::Omitted(OmittedReason::Unreadable)),
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
        CapturePlan::new(&method, &names, |ty| format!("{ty:?}"), |_| None, rules)
    }

    fn captures(plan: &CapturePlan) -> Vec<Capture> {
        plan.parameters.iter().chain(&plan.result).map(|value| value.capture.clone()).collect()
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
                Capture::Omitted(OmittedReason::Unreadable),
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
}
