//! Calls and captured values as debug annotations. Single values have their type; everything else is a dictionary or an
//! array with the names of the JSON form: `$type`, `$length`, `$omitted`.

use super::proto::{AnnotationValue, DebugAnnotation};
use redial_protocol::trace::{InnerException, Outcome, TracedCall, TracedMethod, Value};
use redial_text::callers;
use redial_text::values::{DecodedString, DistinctNames, decode, unquoted};
use std::borrow::Cow;

/// Text of a null reference, for which Perfetto has no value.
const NULL: &str = "null";

/// Returns the annotations of a call. `dropped` is the number of calls of its method that were not captured.
pub fn of_call(method: &TracedMethod, call: &TracedCall, dropped: u64) -> Vec<DebugAnnotation> {
    let names: Vec<Cow<'_, str>> = (0..call.arguments.len()).map(|place| parameter(method, place)).collect();
    let mut distinct = DistinctNames::default();
    let names: Vec<Cow<'_, str>> = names.iter().map(|name| distinct.next(name)).collect();
    let arguments = names.iter().zip(&call.arguments).map(|(name, value)| of_value(name, value));
    let after = call.arguments_after.iter();
    let after = after.filter_map(|(place, value)| Some(of_value(names.get(usize::from(*place))?, value)));
    let mut all = Vec::new();
    all.extend(filled(dictionary("args", arguments.collect())));
    all.extend(filled(dictionary("after", after.collect())));
    match &call.outcome {
        Outcome::Returned(Some(value)) => all.push(of_value("result", value)),
        Outcome::Thrown { type_name, message, inner } => {
            let mut thrown = exception(type_name.as_deref(), message.as_ref());
            let inner = inner.iter().map(|InnerException { type_name, message }| DebugAnnotation {
                dict_entries: exception(type_name.as_deref(), message.as_ref()),
                ..DebugAnnotation::default()
            });
            thrown.extend(filled(array("inner", inner.collect())));
            all.push(dictionary("thrown", thrown));
        }
        Outcome::InFlight | Outcome::Returned(None) => {}
    }
    if let Some(course) = call.course {
        let mut entries = vec![single("began", AnnotationValue::Bool(course.began))];
        entries.push(single("steps", AnnotationValue::UInt(course.steps.into())));
        entries.push(single("running_ns", AnnotationValue::UInt(course.running_ns)));
        if course.completed_on != 0 {
            entries.push(single("completed_on", AnnotationValue::UInt(course.completed_on.into())));
        }
        all.push(dictionary("async", entries));
    }
    let frames = call.stack.iter().map(|frame| text("", &callers::name(frame)));
    all.extend(filled(array("stack", frames.collect())));
    all.push(text("method", &method.method));
    all.push(text("signature", &method.signature));
    all.push(text("module", &method.module));
    all.push(text("domain", &method.domain));
    if dropped > 0 {
        all.push(single("dropped", AnnotationValue::UInt(dropped)));
    }
    all
}

/// Returns the name of a parameter, or its place if the metadata has none.
fn parameter(method: &TracedMethod, place: usize) -> Cow<'_, str> {
    let name = method.parameters.get(place).map(|one| one.name.as_str()).filter(|name| !name.is_empty());
    name.map_or_else(|| Cow::Owned(format!("arg{place}")), Cow::Borrowed)
}

fn exception(type_name: Option<&str>, message: Option<&Value>) -> Vec<DebugAnnotation> {
    let type_name = text("type", type_name.unwrap_or(NULL));
    std::iter::once(type_name).chain(message.map(|message| of_value("message", message))).collect()
}

/// Returns a captured value under a name; items of arrays have none.
fn of_value(name: &str, value: &Value) -> DebugAnnotation {
    match value {
        Value::Null => text(name, NULL),
        Value::Bool(value) => single(name, AnnotationValue::Bool(*value)),
        Value::Char(unit) => string(name, &[*unit], 1),
        Value::Int(value) => single(name, AnnotationValue::Int(*value)),
        Value::UInt(value) => single(name, AnnotationValue::UInt(*value)),
        Value::Float(bits) => single(name, AnnotationValue::Double(widened(f32::from_bits(*bits)))),
        Value::Double(bits) => single(name, AnnotationValue::Double(f64::from_bits(*bits))),
        Value::Pointer(address) => single(name, AnnotationValue::Pointer(*address)),
        Value::String { units, length } => string(name, units, *length),
        Value::Enum { name: Some(word), .. } => text(name, word),
        Value::Enum { value, .. } => single(name, AnnotationValue::Int(*value)),
        Value::Text { text: shown, .. } => text(name, shown),
        Value::Object { type_name, fields } => {
            let mut names = DistinctNames::reserve(&["$type", "$omitted"]);
            let fields = fields.iter().map(|(name, value)| match value {
                Value::Omitted(reason) if name.is_empty() => text("$omitted", reason.word()),
                value => of_value(&names.next(name), value),
            });
            dictionary(name, std::iter::once(text("$type", type_name)).chain(fields).collect())
        }
        Value::Collection { type_name, length, items } => {
            let items = array("items", items.iter().map(|item| of_value("", item)).collect());
            many(name, (type_name, *length), items)
        }
        Value::Dictionary { type_name, length, entries } => {
            let keys: Vec<String> = entries.iter().map(|(key, _)| unquoted(key)).collect();
            let mut names = DistinctNames::default();
            let entries = keys.iter().zip(entries).map(|(key, (_, value))| of_value(&names.next(key), value));
            many(name, (type_name, *length), dictionary("entries", entries.collect()))
        }
        Value::Omitted(reason) => dictionary(name, vec![text("$omitted", reason.word())]),
    }
}

/// Returns the `double` with the digits that identify a `float`: 0.1, not 0.10000000149011612.
fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

fn string(name: &str, units: &[u16], length: u32) -> DebugAnnotation {
    let DecodedString { text: decoded, is_cut, is_lossy } = decode(units, length);
    if !is_cut && !is_lossy {
        return text(name, &decoded);
    }
    let length = single("$length", AnnotationValue::UInt(length.into()));
    let mut entries = vec![text("$string", &decoded), length];
    if is_lossy {
        entries.push(single("$lossy", AnnotationValue::Bool(true)));
    }
    dictionary(name, entries)
}

fn many(name: &str, (type_name, length): (&str, u64), values: DebugAnnotation) -> DebugAnnotation {
    let mut entries = vec![text("$type", type_name), single("$length", AnnotationValue::UInt(length))];
    entries.extend(filled(values));
    dictionary(name, entries)
}

/// Returns the annotation unless it is an empty dictionary or array, which Perfetto cannot tell from no value.
fn filled(of: DebugAnnotation) -> Option<DebugAnnotation> {
    (!of.dict_entries.is_empty() || !of.array_values.is_empty()).then_some(of)
}

fn single(name: &str, value: AnnotationValue) -> DebugAnnotation {
    DebugAnnotation { name: named(name), value: Some(value), ..DebugAnnotation::default() }
}

fn text(name: &str, text: &str) -> DebugAnnotation {
    single(name, AnnotationValue::String(text.to_owned()))
}

fn dictionary(name: &str, dict_entries: Vec<DebugAnnotation>) -> DebugAnnotation {
    DebugAnnotation { name: named(name), dict_entries, ..DebugAnnotation::default() }
}

fn array(name: &str, array_values: Vec<DebugAnnotation>) -> DebugAnnotation {
    DebugAnnotation { name: named(name), array_values, ..DebugAnnotation::default() }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
#[path = "annotation_tests.rs"]
mod tests;
