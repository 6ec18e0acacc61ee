//! One traced call with its method, and what sorting and filtering need of it.

use redial_protocol::callers::CallOrigin;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, TracedParameter, Value};
use redial_text::traced_calls::{arguments, first_argument, name, outcome};
use std::cmp::Ordering;
use std::sync::Arc;

/// One traced call. Made on a worker thread, since formatting takes time.
#[derive(Debug, PartialEq, Eq)]
pub struct TracedEvent {
    /// Its method.
    pub method: Arc<TracedMethod>,
    /// The call.
    pub call: TracedCall,
    /// Name, arguments and outcome in lower case; a line each.
    search: Box<str>,
    /// Ends of name and arguments in `search`.
    ends: [u32; 2],
    /// Bytes of memory, estimated.
    bytes: u32,
}

/// A column of the table of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventColumn {
    /// The beginning of the call.
    #[default]
    Time,
    /// The thread.
    Thread,
    /// The duration.
    Duration,
    /// The method.
    Method,
    /// The arguments.
    Arguments,
    /// The result or the exception.
    Outcome,
}

impl EventColumn {
    /// Every column, from left to right.
    pub const ALL: [EventColumn; 6] = [
        EventColumn::Time,
        EventColumn::Thread,
        EventColumn::Duration,
        EventColumn::Method,
        EventColumn::Arguments,
        EventColumn::Outcome,
    ];

    /// Returns whether values that sort alike may differ in their text.
    fn has_text(self) -> bool {
        matches!(self, EventColumn::Method | EventColumn::Arguments | EventColumn::Outcome)
    }
}

impl TracedEvent {
    /// Prepares a call.
    pub fn new(method: Arc<TracedMethod>, call: TracedCall) -> TracedEvent {
        let parts = [name(&method).to_owned(), arguments(&method, &call), outcome(&call)];
        let [name, arguments, outcome] = parts.map(|part| clean(&part).to_lowercase().replace('\n', " "));
        let name_end = name.len() as u32;
        let ends = [name_end, name_end + 1 + arguments.len() as u32];
        let search = format!("{name}\n{arguments}\n{outcome}").into_boxed_str();
        let bytes = size_of::<TracedEvent>() + search.len() + heap_bytes(&call);
        TracedEvent { method, call, search, ends, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }

    /// Returns its memory, estimated.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Returns name, arguments and outcome in lower case, a line each.
    pub fn search_text(&self) -> &str {
        &self.search
    }

    /// Returns the part of a column that [`TracedEvent::compare`] orders by first.
    pub(super) fn sort_key(&self, column: EventColumn) -> u64 {
        match column {
            EventColumn::Time => self.call.start_unix_ns,
            EventColumn::Thread => self.call.thread.into(),
            EventColumn::Duration => self.call.duration_ns.map_or(0, |ns| ns.saturating_add(1)),
            EventColumn::Method => 0,
            EventColumn::Arguments => first_argument(&self.method, &self.call).map_or(0, value_key),
            EventColumn::Outcome => match &self.call.outcome {
                Outcome::InFlight | Outcome::Returned(None) => 0,
                Outcome::Returned(Some(value)) => value_key(value),
                Outcome::Thrown { .. } => THROWN << CLASS_SHIFT,
            },
        }
    }

    /// Orders two calls whose keys of a column are equal.
    pub(super) fn compare(&self, other: &TracedEvent, column: EventColumn) -> Ordering {
        match column.has_text() {
            true => natural(self.text(column), other.text(column)),
            false => Ordering::Equal,
        }
    }

    fn text(&self, column: EventColumn) -> &str {
        let [name, arguments] = self.ends.map(|end| end as usize);
        let range = match column {
            EventColumn::Method => 0..name,
            EventColumn::Arguments => name..arguments,
            _ => arguments..self.search.len(),
        };
        self.search.get(range).unwrap_or_default()
    }
}

/// Kinds of values in the order of sorting: in the upper bits of a key.
const CLASS_SHIFT: u32 = 61;
const NUMBER: u64 = 2;
const TEXT: u64 = 3;
const OTHER: u64 = 4;
const THROWN: u64 = 5;

/// Returns a number that grows with the value: null, then `bool`, numbers by size, texts, anything else.
fn value_key(value: &Value) -> u64 {
    let class = |class: u64, rest: u64| class << CLASS_SHIFT | rest >> (u64::BITS - CLASS_SHIFT);
    let number = |number: f64| {
        let bits = number.to_bits();
        // Negative numbers order backwards, below all others.
        class(NUMBER, if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
    };
    match value {
        Value::Null => class(0, 0),
        Value::Bool(value) => class(1, u64::from(*value) << 63),
        Value::Int(value) | Value::Enum { value, .. } => number(*value as f64),
        Value::UInt(value) | Value::Pointer(value) => number(*value as f64),
        Value::Float(bits) => number(f32::from_bits(*bits).into()),
        Value::Double(bits) => number(f64::from_bits(*bits)),
        Value::Char(_) | Value::String { .. } | Value::Text { .. } => class(TEXT, 0),
        Value::Object { .. } | Value::Collection { .. } | Value::Dictionary { .. } | Value::Omitted(_) => {
            class(OTHER, 0)
        }
    }
}

/// Orders texts, with the numbers in them by size: `order 9` before `order 10`.
fn natural(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    loop {
        let same = one.iter().zip(other).take_while(|(a, b)| a == b && !a.is_ascii_digit()).count();
        (one, other) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
        let (Some(a), Some(b)) = (one.first(), other.first()) else { return one.len().cmp(&other.len()) };
        if !a.is_ascii_digit() || !b.is_ascii_digit() {
            return a.cmp(b);
        }
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ((a, rest_a), (b, rest_b)) = (one.split_at(digits(one)), other.split_at(digits(other)));
        let significant = |digits: &[u8]| digits.iter().take_while(|digit| **digit == b'0').count();
        let (a, b) =
            (a.get(significant(a)..).unwrap_or_default(), b.get(significant(b)..).unwrap_or_default());
        match a.len().cmp(&b.len()).then_with(|| a.cmp(b)) {
            Ordering::Equal => (one, other) = (rest_a, rest_b),
            order => return order,
        }
    }
}

fn heap_bytes(call: &TracedCall) -> usize {
    let after = call.arguments_after.iter().map(|(_, value)| value);
    let (outcome, inner) = match &call.outcome {
        Outcome::Returned(value) => (value.as_ref(), 0),
        Outcome::Thrown { message, inner, .. } => {
            let messages = inner.iter().filter_map(|one| one.message.as_ref()).map(value_bytes);
            (message.as_ref(), messages.sum())
        }
        Outcome::InFlight => (None, 0),
    };
    let frame = |frame: &CallOrigin| match frame {
        CallOrigin::Method { module, method, signature, .. } => module.len() + method.len() + signature.len(),
        CallOrigin::Dynamic { name } => name.len(),
        CallOrigin::Native | CallOrigin::Gone => 0,
    };
    let stack: usize = call.stack.iter().map(|one| size_of::<CallOrigin>() + frame(one)).sum();
    call.arguments.iter().chain(after).chain(outcome).map(value_bytes).sum::<usize>() + inner + stack
}

fn value_bytes(value: &Value) -> usize {
    let inner = match value {
        Value::String { units, .. } => 2 * units.len(),
        Value::Enum { type_name, name, .. } => type_name.len() + name.as_ref().map_or(0, String::len),
        Value::Text { type_name, text } => type_name.len() + text.len(),
        Value::Object { type_name, fields } => {
            let fields =
                fields.iter().map(|(name, value)| size_of::<String>() + name.len() + value_bytes(value));
            type_name.len() + fields.sum::<usize>()
        }
        Value::Collection { type_name, items, .. } => {
            type_name.len() + items.iter().map(value_bytes).sum::<usize>()
        }
        Value::Dictionary { type_name, entries, .. } => {
            let entries = entries.iter().map(|(key, value)| value_bytes(key) + value_bytes(value));
            type_name.len() + entries.sum::<usize>()
        }
        _ => 0,
    };
    size_of::<Value>() + inner
}

/// Returns the memory of a method, estimated.
pub fn method_bytes(method: &TracedMethod) -> usize {
    let parameter =
        |one: &TracedParameter| size_of::<TracedParameter>() + one.name.len() + one.type_name.len();
    let texts = [&method.method, &method.signature, &method.module, &method.domain];
    2 * size_of::<TracedMethod>()
        + texts.into_iter().map(String::len).sum::<usize>()
        + method.parameters.iter().map(parameter).sum::<usize>()
        + method.result.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_text::fixtures::{traced_call, traced_method};

    fn event(call: TracedCall) -> TracedEvent {
        TracedEvent::new(Arc::new(traced_method()), call)
    }

    #[test]
    fn searches_all_columns_in_lower_case() {
        let event = event(traced_call());
        assert_eq!(event.search_text(), "pricing.discount\norder: 7, rate: 0.5\n = 3.50");
        assert_eq!(event.text(EventColumn::Method), "pricing.discount");
        assert!(event.bytes() > size_of::<TracedEvent>() + event.search_text().len());
    }

    #[test]
    fn numbers_sort_by_size() {
        let keys: Vec<u64> = [
            Value::Null,
            Value::Bool(false),
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Int(-3),
            Value::Double((-2.5f64).to_bits()),
            Value::Int(0),
            Value::Float(0.5f32.to_bits()),
            Value::Int(9),
            Value::Int(10),
            Value::UInt(u64::MAX),
            Value::Text { type_name: String::new(), text: String::new() },
            Value::Omitted(redial_protocol::trace::OmittedReason::Depth),
        ]
        .iter()
        .map(value_key)
        .collect();
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
        let thrown = Outcome::Thrown { type_name: None, message: None, inner: vec![] };
        let thrown = event(TracedCall { outcome: thrown, ..traced_call() });
        assert!(keys.iter().all(|key| *key < thrown.sort_key(EventColumn::Outcome)), "exceptions come last");
    }

    #[test]
    fn texts_sort_with_their_numbers() {
        let mut texts = vec!["b 2", "a10b", "a9b", "a 007", "a 7", "a9", "", "a10"];
        texts.sort_by(|one, other| natural(one, other));
        assert_eq!(texts, ["", "a 007", "a 7", "a9", "a9b", "a10", "a10b", "b 2"]);
    }
}
