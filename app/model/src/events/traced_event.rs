//! One traced call with its method, and what sorting and filtering need of it.

use super::sort_keys;
use crate::ids::ConnectionId;
use redial_protocol::callers::CallOrigin;
use redial_protocol::ids::RowId;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, TracedParameter, Value};
use redial_text::traced_calls::{arguments, name, outcome, own_arguments};
use std::cmp::Ordering;
use std::sync::Arc;

/// The row of a method in one of several processes.
pub type EventRow = (RowId, ConnectionId);

/// One traced call. Made on a worker thread, since formatting takes time.
#[derive(Debug, PartialEq, Eq)]
pub struct TracedEvent {
    /// Its method.
    pub method: Arc<TracedMethod>,
    /// The call.
    pub call: TracedCall,
    /// The connection to the process that made it.
    pub connection: ConnectionId,
    /// Name, arguments and outcome in lower case; a line each.
    search: Box<str>,
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
    /// The process.
    Process,
    /// The method.
    Method,
    /// The arguments.
    Arguments,
    /// The result or the exception.
    Outcome,
}

impl EventColumn {
    /// Every column, from left to right.
    pub const ALL: [EventColumn; 7] = [
        EventColumn::Time,
        EventColumn::Thread,
        EventColumn::Duration,
        EventColumn::Process,
        EventColumn::Method,
        EventColumn::Arguments,
        EventColumn::Outcome,
    ];
}

impl TracedEvent {
    /// Prepares a call.
    pub fn new(method: Arc<TracedMethod>, call: TracedCall) -> TracedEvent {
        let parts = [name(&method).to_owned(), arguments(&method, &call), outcome(&call)];
        let [name, arguments, outcome] = parts.map(|part| clean(&part).to_lowercase().replace('\n', " "));
        let search = format!("{name}\n{arguments}\n{outcome}").into_boxed_str();
        let bytes = size_of::<TracedEvent>() + search.len() + heap_bytes(&call);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        TracedEvent { method, call, connection: ConnectionId::default(), search, bytes }
    }

    /// Sets the process that made the call.
    #[must_use]
    pub fn of(self, connection: ConnectionId) -> TracedEvent {
        TracedEvent { connection, ..self }
    }

    /// Returns the row of its method.
    pub fn row(&self) -> EventRow {
        (self.method.row, self.connection)
    }

    /// Returns its memory, estimated.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Returns name, arguments and outcome in lower case, a line each.
    pub fn search_text(&self) -> &str {
        &self.search
    }

    /// Returns a number that grows with the value of a column. Of texts, their beginning counts.
    pub(super) fn sort_key(&self, column: EventColumn) -> u128 {
        match column {
            EventColumn::Time => self.call.start_unix_ns.into(),
            EventColumn::Thread => self.call.thread.into(),
            EventColumn::Duration => self.call.duration_ns.map_or(0, |ns| u128::from(ns) + 1),
            EventColumn::Process => self.connection.0.into(),
            EventColumn::Method => sort_keys::beginning(self.method_name().chars()),
            EventColumn::Arguments => sort_keys::of_arguments(own_arguments(&self.method, &self.call)),
            EventColumn::Outcome => sort_keys::of_outcome(&self.call.outcome),
        }
    }

    /// Orders two calls whose keys of a column are equal.
    pub(super) fn compare(&self, other: &TracedEvent, column: EventColumn) -> Ordering {
        match column {
            EventColumn::Method if !Arc::ptr_eq(&self.method, &other.method) => {
                self.method_name().cmp(other.method_name())
            }
            _ => Ordering::Equal,
        }
    }

    /// Returns `Type.Method` in lower case.
    fn method_name(&self) -> &str {
        self.search.lines().next().unwrap_or_default()
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
        assert_eq!(event.method_name(), "pricing.discount");
        assert!(event.bytes() > size_of::<TracedEvent>() + event.search_text().len());
    }
}
