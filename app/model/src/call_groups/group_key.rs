//! The value by which traced calls are grouped.

use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, Value};
use redial_text::traced_calls::{UNKNOWN_TYPE, name};
use redial_text::values;
use std::borrow::Cow;
use std::fmt::{Display, Formatter};

/// Words of conditions, which stand for no parameter of that name.
const RESERVED: [&str; 3] = ["result", "exception", "duration"];
/// Depth of the fields that are offered.
const MAX_DEPTH: usize = 3;
/// Keys that are offered for one call.
const MAX_OFFERED: usize = 60;

/// A value that calls of one group share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKey {
    /// A parameter, or a field of it: its name and the names of fields.
    Argument(String, Vec<String>),
    /// The result, or a field of it.
    Result(Vec<String>),
    /// Whether the call returned, or the type of its exception.
    Outcome,
    /// The thread.
    Thread,
    /// The method.
    Method,
}

/// The value of a call for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupValue<'c> {
    /// Its text.
    pub text: Cow<'c, str>,
    /// A condition that such calls meet, if one can say it.
    pub condition: Option<String>,
}

impl Display for GroupKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let fields = match self {
            GroupKey::Argument(name, fields) => {
                let args = if RESERVED.contains(&name.as_str()) { "args." } else { "" };
                write!(f, "{args}{name}")?;
                fields
            }
            GroupKey::Result(fields) => {
                f.write_str("result")?;
                fields
            }
            GroupKey::Outcome => return f.write_str("exception"),
            GroupKey::Thread => return f.write_str("thread"),
            GroupKey::Method => return f.write_str("method"),
        };
        fields.iter().try_for_each(|field| write!(f, ".{field}"))
    }
}

impl GroupKey {
    /// Parses `order`, `order.Customer.Name`, `args.result`, `result.Total`, `exception`, `thread` or `method`. A parameter
    /// called `thread` or `method` is `args.thread`.
    pub fn parse(text: &str) -> Option<GroupKey> {
        let mut names = text.trim().split('.').map(str::to_owned);
        let first = names.next().filter(|name| !name.is_empty())?;
        let key = match first.as_str() {
            "args" => GroupKey::Argument(names.next()?, names.collect()),
            "result" => GroupKey::Result(names.collect()),
            "exception" | "thread" | "method" if names.next().is_some() => return None,
            "exception" => GroupKey::Outcome,
            "thread" => GroupKey::Thread,
            "method" => GroupKey::Method,
            _ => GroupKey::Argument(first, names.collect()),
        };
        let names = match &key {
            GroupKey::Argument(name, fields) => [std::slice::from_ref(name), fields].concat(),
            GroupKey::Result(fields) => fields.clone(),
            _ => Vec::new(),
        };
        names.iter().all(|name| !name.is_empty()).then_some(key)
    }

    /// Returns the keys that calls of a method can be grouped by, as far as this call shows: fields follow their object.
    pub fn of(method: &TracedMethod, call: &TracedCall) -> Vec<GroupKey> {
        let mut keys = Vec::new();
        for parameter in method.parameters.iter().filter(|one| !one.name.is_empty()) {
            let make = |fields: &[String]| GroupKey::Argument(parameter.name.clone(), fields.to_vec());
            with_fields(make(&[]).find(method, call), &mut Vec::new(), &make, &mut keys);
        }
        if method.result.is_some() {
            let make = |fields: &[String]| GroupKey::Result(fields.to_vec());
            with_fields(make(&[]).find(method, call), &mut Vec::new(), &make, &mut keys);
        }
        keys
    }

    /// Returns the captured value of a call; `None` if it has none, or if the key is none of values.
    pub fn find<'c>(&self, method: &TracedMethod, call: &'c TracedCall) -> Option<&'c Value> {
        let (root, fields) = match self {
            GroupKey::Argument(name, fields) => {
                let index = method.parameters.iter().position(|one| one.name == *name)?;
                let is_out = method.parameters.get(index)?.type_name.starts_with("out ");
                let after = || call.arguments_after.iter().find(|(of, _)| usize::from(*of) == index);
                let value = if is_out { &after()?.1 } else { call.arguments.get(index)? };
                (value, fields)
            }
            GroupKey::Result(fields) => match &call.outcome {
                Outcome::Returned(Some(value)) => (value, fields),
                _ => return None,
            },
            GroupKey::Outcome | GroupKey::Thread | GroupKey::Method => return None,
        };
        fields.iter().try_fold(root, |value, name| match value {
            Value::Object { fields, .. } => {
                fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
            }
            _ => None,
        })
    }

    /// Returns the value of a call for this key; `None` if it has none.
    pub fn value<'c>(&self, method: &'c TracedMethod, call: &'c TracedCall) -> Option<GroupValue<'c>> {
        let plain = |text| GroupValue { text, condition: None };
        match (self, &call.outcome) {
            (GroupKey::Argument(..) | GroupKey::Result(_), _) => {
                let value = self.find(method, call)?;
                let condition = literal(value).map(|literal| format!("{self} == {literal}"));
                Some(GroupValue { text: Cow::Owned(values::text(value)), condition })
            }
            (GroupKey::Outcome, Outcome::InFlight) => None,
            (GroupKey::Outcome, Outcome::Returned(_)) => Some(GroupValue {
                text: Cow::Borrowed("returned"),
                condition: Some("exception == null".to_owned()),
            }),
            (GroupKey::Outcome, Outcome::Thrown { type_name: Some(name), .. }) => Some(GroupValue {
                text: Cow::Borrowed(values::short_type(name)),
                condition: quoted(name).map(|name| format!("exception.type == {name}")),
            }),
            (GroupKey::Outcome, Outcome::Thrown { type_name: None, .. }) => {
                Some(plain(Cow::Borrowed(UNKNOWN_TYPE)))
            }
            (GroupKey::Thread, _) if call.thread == 0 => None,
            (GroupKey::Thread, _) => Some(plain(Cow::Owned(call.thread.to_string()))),
            (GroupKey::Method, _) => Some(plain(Cow::Borrowed(name(method)))),
        }
    }
}

/// Adds a key and those of the fields that its value shows.
fn with_fields(
    value: Option<&Value>,
    path: &mut Vec<String>,
    make: &dyn Fn(&[String]) -> GroupKey,
    to: &mut Vec<GroupKey>,
) {
    if to.len() >= MAX_OFFERED {
        return;
    }
    to.push(make(path));
    let Some(Value::Object { fields, .. }) = value.filter(|_| path.len() < MAX_DEPTH) else { return };
    for (name, value) in fields.iter().filter(|(name, _)| !name.is_empty()) {
        path.push(name.clone());
        with_fields(Some(value), path, make, to);
        path.pop();
    }
}

/// Returns the value as conditions write it, if they can.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::UInt(value) => Some(value.to_string()),
        Value::Float(_) | Value::Double(_) => {
            let text = values::text(value);
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
            (is_number && !text.is_empty()).then(|| if text.contains('.') { text } else { text + ".0" })
        }
        Value::String { units, length } if *length as usize == units.len() => {
            quoted(&String::from_utf16(units).ok()?)
        }
        Value::Char(unit) => quoted(&String::from_utf16(&[*unit]).ok()?),
        Value::Enum { name: Some(name), .. } => quoted(name),
        Value::Enum { name: None, value, .. } => Some(value.to_string()),
        _ => None,
    }
}

/// Quotes a text for a condition; `None` for one with characters that would have to be escaped.
fn quoted(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter != '"' && letter != '\\' && !letter.is_control();
    text.chars().all(is_plain).then(|| format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventFilter, EventQuery, TracedEvent};
    use redial_protocol::trace::TracedParameter;
    use redial_text::fixtures::{traced_call, traced_method};
    use std::sync::Arc;

    fn text(text: &str) -> Value {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    fn event() -> (TracedMethod, TracedCall) {
        let mut method = traced_method();
        let parameter =
            |name: &str, type_name: &str| TracedParameter { name: name.into(), type_name: type_name.into() };
        method.parameters = vec![
            parameter("order", "Shop.Order"),
            parameter("result", "double"),
            parameter("count", "out int"),
            parameter("day", "System.DayOfWeek"),
        ];
        method.result = Some("Shop.Order".into());
        let customer =
            Value::Object { type_name: "Customer".into(), fields: vec![("Name".into(), text("Ada"))] };
        let fields = vec![("Customer".into(), customer), ("Express".into(), Value::Bool(true))];
        let order = Value::Object { type_name: "Order".into(), fields };
        let day = Value::Enum { type_name: "System.DayOfWeek".into(), name: Some("Friday".into()), value: 5 };
        let arguments = vec![order.clone(), Value::Double(2f64.to_bits()), Value::Null, day];
        let arguments_after = vec![(2, Value::Int(7))];
        let outcome = Outcome::Returned(Some(order));
        (method, TracedCall { arguments, arguments_after, outcome, ..traced_call() })
    }

    fn key(text: &str) -> GroupKey {
        GroupKey::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for text in
            ["order", "order.Customer.Name", "args.result", "result", "result.Express", "thread", "method"]
        {
            assert_eq!(key(text).to_string(), text);
        }
        assert_eq!(key("args.thread"), GroupKey::Argument("thread".into(), vec![]));
        for text in ["", " ", ".", "order.", "order..Name", "args", "args.", "thread.x", "result."] {
            assert_eq!(GroupKey::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_call_shows_its_keys() {
        let (method, call) = event();
        let keys: Vec<String> = GroupKey::of(&method, &call).iter().map(GroupKey::to_string).collect();
        let fields = ["Customer", "Customer.Name", "Express"];
        let order = fields.map(|field| format!("order.{field}"));
        let result = fields.map(|field| format!("result.{field}"));
        let mut expected = vec!["order".to_owned()];
        expected.extend(order);
        expected.extend(["args.result", "count", "day", "result"].map(str::to_owned));
        expected.extend(result);
        assert_eq!(keys, expected);
    }

    #[test]
    fn conditions_find_the_calls_of_a_value() {
        let (method, call) = event();
        let of = |text: &str| key(text).value(&method, &call);
        let shown = TracedEvent::new(Arc::new(method.clone()), call.clone());
        for (name, expected) in [
            ("order.Customer.Name", "\"Ada\""),
            ("order.Express", "true"),
            ("args.result", "2"),
            ("count", "7"),
            ("day", "Friday"),
            ("result.Customer.Name", "\"Ada\""),
            ("exception", "returned"),
        ] {
            let value = of(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(value.text, expected, "{name}");
            let condition = value.condition.unwrap_or_else(|| panic!("{name}"));
            let filter = EventFilter::parse(&condition).unwrap_or_else(|error| panic!("{error}"));
            assert!(matches!(filter, EventFilter::Condition(_)), "{condition}");
            assert!(EventQuery { filter, ..EventQuery::default() }.matcher()(&shown), "{condition}");
        }
        assert_eq!(of("order.Missing"), None);
        assert_eq!(of("order").and_then(|value| value.condition), None, "an object");
        assert_eq!(of("method").map(|value| value.text.into_owned()), Some("Pricing.Discount".to_owned()));
    }

    #[test]
    fn texts_that_conditions_cannot_write_have_none() {
        assert_eq!(literal(&text("a\"b")), None);
        assert_eq!(literal(&text("a\nb")), None);
        assert_eq!(literal(&Value::Double(f64::NAN.to_bits())), None);
        assert_eq!(literal(&Value::Double(1e300f64.to_bits())), None);
        assert_eq!(literal(&Value::Double((-0.5f64).to_bits())), Some("-0.5".to_owned()));
        let cut = Value::String { units: vec![0x61], length: 2 };
        assert_eq!(literal(&cut), None, "the rest is not known");
    }
}
