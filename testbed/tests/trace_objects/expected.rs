//! The values of the program `traced` as they are captured.

use anyhow::{Result, ensure};
use redial_protocol::trace::{OmittedReason, Value};
use redial_testbed::traced::text;

pub const DEPTH: Value = Value::Omitted(OmittedReason::Depth);

pub fn object(type_name: &str, fields: Vec<(&str, Value)>) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Value::Object { type_name: type_name.into(), fields }
}

pub fn collection(type_name: &str, length: u64, items: Vec<Value>) -> Value {
    Value::Collection { type_name: type_name.into(), length, items }
}

pub fn dictionary(type_name: &str, entries: Vec<(Value, Value)>) -> Value {
    Value::Dictionary { type_name: type_name.into(), length: entries.len() as u64, entries }
}

pub fn shown(type_name: &str, shown: String) -> Value {
    Value::Text { type_name: type_name.into(), text: shown }
}

pub fn ints(values: &[i64]) -> Vec<Value> {
    values.iter().copied().map(Value::Int).collect()
}

pub fn double(value: f64) -> Value {
    Value::Double(value.to_bits())
}

pub fn point(x: i64, y: f64) -> Value {
    object("Point", vec![("X", Value::Int(x)), ("Y", double(y))])
}

pub fn guid(i: i64) -> Value {
    shown("System.Guid", format!("{i:08x}-0001-0002-0304-05060708090a"))
}

fn kind(i: i64) -> Value {
    let name = if i % 2 == 0 { "Plain" } else { "Fancy" };
    Value::Enum { type_name: "Kind".into(), name: Some(name.into()), value: i % 2 }
}

/// `i / 4` with two decimals. (A product would have other ones under Wine on .NET Core 2.1, which lets the system multiply.)
fn price(i: i64) -> Value {
    shown("decimal", format!("{}.{:02}", i / 4, i % 4 * 25))
}

/// `Order.Number(i, …)` as it is captured; `next` is what it refers to, and `inner` whether it is such a reference itself.
pub fn order(i: i64, next: Value, inner: bool) -> Value {
    let or_depth = |value: Value| if inner { DEPTH } else { value };
    let seconds = |i: i64| format!("{}{:02}:{:02}:{:02}", if i > 0 { "-" } else { "" }, 0, i / 60, i % 60);
    let redacted = Value::Omitted(OmittedReason::RedactedName);
    let tags = collection(
        "System.Collections.Generic.List<string>",
        2,
        vec![text(&format!("tag {i}")), Value::Null],
    );
    let stock = dictionary(
        "System.Collections.Generic.Dictionary<string, int>",
        vec![(text("a"), Value::Int(i)), (text("b"), Value::Int(-i))],
    );
    object(
        "Order",
        vec![
            ("Name", text(&format!("order {i}"))),
            ("Kind", kind(i)),
            ("At", point(i, i as f64 * 0.5)),
            ("Count", if i % 2 == 0 { Value::Int(i) } else { Value::Null }),
            ("Price", price(i)),
            ("When", shown("System.DateTime", format!("2020-02-29T12:00:{:02}Z", i % 60))),
            ("Took", shown("System.TimeSpan", seconds(i))),
            ("Key", guid(i)),
            ("Password", redacted.clone()),
            ("Pin", redacted),
            ("Next", next),
            ("Boxed", Value::Int(i)),
            ("Numbers", or_depth(collection("int[]", 2, ints(&[i, -i])))),
            ("Tags", or_depth(tags)),
            ("Stock", or_depth(stock)),
            ("Id", Value::Int(i)),
            ("note", text("base")),
        ],
    )
}

pub fn order_with_next(i: i64) -> Value {
    order(i, order(i + 1, DEPTH, true), false)
}

/// Whether a value is as expected, except for what the bytes for one call did not suffice for.
pub fn is_cut(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Omitted(OmittedReason::Bytes), _) => true,
        (Value::Object { fields, type_name }, Value::Object { fields: wanted, type_name: wanted_name }) => {
            let is_field = |((name, actual), (wanted, expected)): (&(String, Value), &(String, Value))| {
                name == wanted && is_cut(actual, expected)
            };
            type_name == wanted_name
                && fields.len() == wanted.len()
                && fields.iter().zip(wanted).all(is_field)
        }
        (
            Value::Collection { length, items, .. },
            Value::Collection { length: wanted, items: expected, .. },
        ) => {
            length == wanted && items.iter().zip(expected).all(|(actual, expected)| is_cut(actual, expected))
        }
        (
            Value::Dictionary { length, entries, .. },
            Value::Dictionary { length: wanted, entries: expected, .. },
        ) => length == wanted && expected.starts_with(entries),
        // Strings are cut, too.
        (Value::String { units, length }, Value::String { units: wanted, length: whole }) => {
            length == whole && wanted.starts_with(units)
        }
        _ => actual == expected,
    }
}

pub fn check(actual: &[Value], expected: &[Value]) -> Result<()> {
    ensure!(actual.len() == expected.len(), "{actual:?} are not {expected:?}");
    for (actual, expected) in actual.iter().zip(expected) {
        ensure!(actual == expected, "{actual:?}\nis not\n{expected:?}");
    }
    Ok(())
}
