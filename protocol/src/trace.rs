//! Traced calls: the events of the level *trace*.

use crate::callers::CallOrigin;
use crate::codec::capped;
use crate::ids::RowId;
use crate::limits::{
    MAX_INNER_EXCEPTIONS, MAX_STACK_FRAMES, MAX_TRACED_PARAMETERS, MAX_VALUE_ITEMS, MAX_VALUE_NESTING,
    MAX_VALUE_UNITS, VALUES_PER_PAGE,
};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A method as its traced calls refer to it. Sent before its first call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedMethod {
    /// Number that the calls refer to. A method that is traced in another way later gets another one.
    pub plan: u32,
    /// The row.
    pub row: RowId,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
    /// The assembly's simple name.
    pub module: String,
    /// Name of the AppDomain; for a shared copy, of the shared domain.
    pub domain: String,
    /// Captured parameters in order, `this` first if it is captured.
    #[serde(deserialize_with = "capped::<_, _, MAX_TRACED_PARAMETERS>")]
    pub parameters: Vec<TracedParameter>,
    /// Type of the result; absent for a method without one.
    pub result: Option<String>,
}

/// A parameter of a traced method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedParameter {
    /// Its name; empty if the metadata has none.
    pub name: String,
    /// Its type in C# form.
    pub type_name: String,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCall {
    /// [`TracedMethod::plan`].
    pub plan: u32,
    /// Number of the call among those of its process, in the order in which calls ended; 0 while in flight.
    pub number: u64,
    /// Beginning of the call, Unix time in nanoseconds.
    pub start_unix_ns: u64,
    /// Duration in nanoseconds; absent while in flight, and for calls that could not be timed.
    pub duration_ns: Option<u64>,
    /// Operating-system id of the thread (on Linux within the namespace of the process); 0 if unknown.
    pub thread: u32,
    /// Number of timed calls around it on its thread.
    pub depth: u32,
    /// One value for each of [`TracedMethod::parameters`].
    #[serde(deserialize_with = "capped::<_, _, MAX_TRACED_PARAMETERS>")]
    pub arguments: Vec<Value>,
    /// Values of by-reference parameters at the end of the call: index into `arguments`, value.
    #[serde(deserialize_with = "capped::<_, _, MAX_TRACED_PARAMETERS>")]
    pub arguments_after: Vec<(u16, Value)>,
    /// How it ended.
    pub outcome: Outcome,
    /// Its callers, the innermost first; empty if they were not captured.
    #[serde(deserialize_with = "capped::<_, _, MAX_STACK_FRAMES>")]
    pub stack: Vec<CallOrigin>,
    /// Its course, if it is a call of an async method that was followed: then its duration and outcome are those of the whole
    /// call. Otherwise a call of an async method ends at its first wait.
    pub course: Option<AsyncCall>,
}

/// The course of a call of an async method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsyncCall {
    /// Whether its beginning was seen. Otherwise it began before the method was traced: its arguments and duration are
    /// unknown, and it starts when it completes.
    pub began: bool,
    /// Operating-system id of the thread on which it completed; 0 while it has not, or if unknown.
    pub completed_on: u32,
    /// Steps in which it ran: one more than the awaits that had to wait. Of a call whose beginning was not seen, 1.
    pub steps: u32,
    /// Nanoseconds in which it ran itself. The rest of its duration it waited.
    pub running_ns: u64,
}

impl TracedCall {
    /// Returns the number of values, nested ones included. A page has at most [`VALUES_PER_PAGE`] in all its calls.
    pub fn values(&self) -> usize {
        let (outcome, inner) = match &self.outcome {
            Outcome::Returned(value) => (value.as_ref(), &[][..]),
            Outcome::Thrown { message, inner, .. } => (message.as_ref(), &inner[..]),
            Outcome::InFlight => (None, &[][..]),
        };
        let outcome = outcome.into_iter().chain(inner.iter().filter_map(|one| one.message.as_ref()));
        let after = self.arguments_after.iter().map(|(_, value)| value);
        self.arguments.iter().chain(after).chain(outcome).map(Value::count).sum()
    }
}

/// End of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It has not ended.
    InFlight,
    /// It returned; without a value for a method without result.
    Returned(Option<Value>),
    /// An exception left it.
    Thrown {
        /// Type of the exception, for generic types the definition; absent if unknown.
        type_name: Option<String>,
        /// Its message; absent if unknown.
        message: Option<Value>,
        /// Its inner exception, then that one's, and so on.
        #[serde(deserialize_with = "capped::<_, _, MAX_INNER_EXCEPTIONS>")]
        inner: Vec<InnerException>,
    },
}

/// The inner exception of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InnerException {
    /// Its type, for generic types the definition; absent if unknown.
    pub type_name: Option<String>,
    /// Its message; absent if unknown.
    pub message: Option<Value>,
}

/// A captured value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Value {
    /// A null reference.
    Null,
    /// A `bool`.
    Bool(bool),
    /// A `char`: one UTF-16 unit.
    Char(u16),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// The bits of a `float`.
    Float(u32),
    /// The bits of a `double`.
    Double(u64),
    /// A pointer or a native function.
    Pointer(u64),
    /// The beginning of a `string`, exactly as it was. Clean it wherever it is shown.
    String {
        /// Its first UTF-16 units.
        units: Vec<u16>,
        /// Length of the whole string in UTF-16 units.
        length: u32,
    },
    /// A value of an enum.
    Enum {
        /// The enum.
        type_name: String,
        /// Name of the value, if it has one.
        name: Option<String>,
        /// The value; of an unsigned enum, its bits.
        value: i64,
    },
    /// A value with a usual text form: `Guid`, `DateTime`, `TimeSpan`, `decimal`.
    Text {
        /// Its type.
        type_name: String,
        /// Its text.
        text: String,
    },
    /// An object or struct.
    Object {
        /// Its own class.
        type_name: String,
        /// Fields with their names. [`Value::Omitted`] under an empty name stands for all further ones.
        fields: Vec<(String, Value)>,
    },
    /// An array or list.
    Collection {
        /// Its type.
        type_name: String,
        /// Number of its items.
        length: u64,
        /// The first of them.
        items: Vec<Value>,
    },
    /// A dictionary.
    Dictionary {
        /// Its type.
        type_name: String,
        /// Number of its entries.
        length: u64,
        /// Some of them, as keys and values.
        entries: Vec<(Value, Value)>,
    },
    /// A value that was not captured.
    Omitted(OmittedReason),
}

impl Value {
    /// Returns the number of values in it, itself included.
    pub fn count(&self) -> usize {
        let inner: usize = match self {
            Value::Object { fields, .. } => fields.iter().map(|(_, value)| value.count()).sum(),
            Value::Collection { items, .. } => items.iter().map(Value::count).sum(),
            Value::Dictionary { entries, .. } => {
                entries.iter().map(|(key, value)| key.count() + value.count()).sum()
            }
            _ => 0,
        };
        1 + inner
    }
}

/// Why a value was not captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OmittedReason {
    /// It is nested too deeply.
    Depth,
    /// The object has more fields than are captured.
    Fields,
    /// The collection has more items than are captured.
    Items,
    /// The bytes for one call are used up.
    Bytes,
    /// The host allows no such capture (`REDIAL_MAX_CAPTURE`).
    Capped,
    /// Its name is on the list of names to hide.
    RedactedName,
    /// Its type is on the list of types to hide.
    RedactedType,
    /// It cannot be read.
    Unreadable,
    /// Its class was not known yet, and is from the next call on. Or it is an `out` parameter of a call that has not
    /// ended.
    Pending,
    /// The call began before it was traced.
    Unseen,
}

impl OmittedReason {
    /// Every reason.
    pub const ALL: [OmittedReason; 10] = [
        OmittedReason::Depth,
        OmittedReason::Fields,
        OmittedReason::Items,
        OmittedReason::Bytes,
        OmittedReason::Capped,
        OmittedReason::RedactedName,
        OmittedReason::RedactedType,
        OmittedReason::Unreadable,
        OmittedReason::Pending,
        OmittedReason::Unseen,
    ];

    /// Returns its index in [`OmittedReason::ALL`].
    pub fn index(self) -> u32 {
        self as u32
    }

    /// Returns the word for output and JSON.
    pub fn word(self) -> &'static str {
        match self {
            OmittedReason::Depth => "depth",
            OmittedReason::Fields => "fields",
            OmittedReason::Items => "items",
            OmittedReason::Bytes => "bytes",
            OmittedReason::Capped => "capped",
            OmittedReason::RedactedName => "redacted-name",
            OmittedReason::RedactedType => "redacted-type",
            OmittedReason::Unreadable => "unreadable",
            OmittedReason::Pending => "pending",
            OmittedReason::Unseen => "unseen",
        }
    }
}

/// Calls of a row that were not captured, since its counters began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCalls {
    /// The row.
    pub row: RowId,
    /// Calls beyond the rate that the dial or the host allows.
    pub over_rate: u64,
    /// Calls for which a thread had no memory left, or that were nested too deeply.
    pub no_room: u64,
    /// Calls for which the dial's condition could not be decided.
    pub undecided: u64,
}

/// The layout of [`Value`], decoded level by level.
#[derive(Deserialize)]
enum Layout {
    Null,
    Bool(bool),
    Char(u16),
    Int(i64),
    UInt(u64),
    Float(u32),
    Double(u64),
    Pointer(u64),
    String {
        #[serde(deserialize_with = "capped::<_, _, MAX_VALUE_UNITS>")]
        units: Vec<u16>,
        length: u32,
    },
    Enum {
        type_name: String,
        name: Option<String>,
        value: i64,
    },
    Text {
        type_name: String,
        text: String,
    },
    Object {
        type_name: String,
        #[serde(deserialize_with = "capped::<_, _, MAX_VALUE_ITEMS>")]
        fields: Vec<(String, Value)>,
    },
    Collection {
        type_name: String,
        length: u64,
        #[serde(deserialize_with = "capped::<_, _, MAX_VALUE_ITEMS>")]
        items: Vec<Value>,
    },
    Dictionary {
        type_name: String,
        length: u64,
        #[serde(deserialize_with = "capped::<_, _, MAX_VALUE_ITEMS>")]
        entries: Vec<(Value, Value)>,
    },
    Omitted(OmittedReason),
}

impl From<Layout> for Value {
    fn from(layout: Layout) -> Value {
        match layout {
            Layout::Null => Value::Null,
            Layout::Bool(value) => Value::Bool(value),
            Layout::Char(unit) => Value::Char(unit),
            Layout::Int(value) => Value::Int(value),
            Layout::UInt(value) => Value::UInt(value),
            Layout::Float(bits) => Value::Float(bits),
            Layout::Double(bits) => Value::Double(bits),
            Layout::Pointer(address) => Value::Pointer(address),
            Layout::String { units, length } => Value::String { units, length },
            Layout::Enum { type_name, name, value } => Value::Enum { type_name, name, value },
            Layout::Text { type_name, text } => Value::Text { type_name, text },
            Layout::Object { type_name, fields } => Value::Object { type_name, fields },
            Layout::Collection { type_name, length, items } => Value::Collection { type_name, length, items },
            Layout::Dictionary { type_name, length, entries } => {
                Value::Dictionary { type_name, length, entries }
            }
            Layout::Omitted(reason) => Value::Omitted(reason),
        }
    }
}

thread_local! {
    /// Values around the one that is being decoded.
    static NESTING: Cell<usize> = const { Cell::new(0) };
    /// Values that the page being decoded may still have; absent outside a page.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// For `#[serde(deserialize_with)]` on the calls or exceptions of a page. Refuses more than `MAX` of them, and more than
/// [`VALUES_PER_PAGE`] values in all of them.
pub(crate) fn of_page<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    LEFT.set(Some(VALUES_PER_PAGE));
    let page = capped::<_, _, MAX>(deserializer);
    LEFT.set(None);
    page
}

/// Counts one more value of the page that is being decoded; returns whether it may have it.
fn take_value() -> bool {
    match LEFT.get() {
        Some(0) => false,
        left => {
            LEFT.set(left.map(|left| left.saturating_sub(1)));
            true
        }
    }
}

/// A level of nesting, while it lives.
struct Level;

impl Level {
    fn enter() -> Option<Level> {
        NESTING.with(|nesting| {
            let deep = nesting.get();
            (deep < MAX_VALUE_NESTING).then(|| {
                nesting.set(deep + 1);
                Level
            })
        })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        NESTING.with(|nesting| nesting.set(nesting.get().saturating_sub(1)));
    }
}

// By hand, so that a peer cannot make the decoder use up its stack.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let _level = Level::enter().ok_or_else(|| D::Error::custom("a value is nested too deeply"))?;
        if !take_value() {
            return Err(D::Error::custom("a page has too many values"));
        }
        Layout::deserialize(deserializer).map(Value::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::message::Event;

    fn call(values: usize) -> TracedCall {
        let nulls = |count| Value::Collection {
            type_name: String::new(),
            length: 0,
            items: vec![Value::Null; count],
        };
        let full = MAX_VALUE_ITEMS + 1;
        let mut arguments = vec![nulls(MAX_VALUE_ITEMS); values / full];
        arguments.extend((!values.is_multiple_of(full)).then(|| nulls(values % full - 1)));
        TracedCall {
            plan: 1,
            number: 1,
            start_unix_ns: 1,
            duration_ns: None,
            thread: 1,
            depth: 0,
            arguments,
            arguments_after: vec![],
            outcome: Outcome::InFlight,
            stack: vec![],
            course: None,
        }
    }

    #[test]
    fn a_page_has_a_limited_number_of_values() {
        let half = VALUES_PER_PAGE / 4;
        assert_eq!(call(half).values(), half);
        let page = |extra: usize| {
            let calls = vec![call(half), call(half), call(half), call(half + extra)];
            let event = Event::Calls { id: None, methods: vec![], calls, dropped: vec![], unread: 0 };
            codec::decode::<Event>(&codec::encode(&event).expect("it is small"))
        };
        for _ in 0..2 {
            assert!(page(0).is_ok());
            assert!(page(1).is_err_and(|error| error.to_string().contains("too many values")));
        }
        let alone = codec::encode(&call(half)).expect("it is small");
        assert!(codec::decode::<TracedCall>(&alone).is_ok(), "only pages are limited");
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(Value::Null, |inner, _| Value::Collection {
            type_name: "A[]".into(),
            length: 1,
            items: vec![inner],
        })
    }

    #[test]
    fn deeply_nested_values_are_refused_without_using_up_the_stack() {
        let deepest = nested(MAX_VALUE_NESTING);
        let bytes = codec::encode(&deepest).expect("it is small");
        assert_eq!(codec::decode::<Value>(&bytes), Ok(deepest));
        let bytes = codec::encode(&nested(MAX_VALUE_NESTING + 1)).expect("it is small");
        assert!(codec::decode::<Value>(&bytes).is_err());
        // Written by hand: encoding such a value would itself use up the stack.
        let level = codec::encode(&nested(2)).expect("it is small");
        let hostile = level[..level.len() - 1].repeat(200_000);
        assert!(codec::decode::<Value>(&hostile).is_err());
        assert_eq!(codec::decode::<Value>(&codec::encode(&Value::Null).unwrap()), Ok(Value::Null));
    }
}
