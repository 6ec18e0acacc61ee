//! Captured values as JSON: numbers, strings, booleans and null where JSON has them without loss, otherwise an object
//! whose names start with `$`.

use crate::values::{DecodedString, DistinctNames, decode};
use redial_protocol::trace::Value;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// The largest integers that every JSON reader keeps exact.
const EXACT: u64 = 1 << 53;

/// A captured value.
#[derive(Clone, Copy, Debug)]
pub struct ValueJson<'a>(pub &'a Value);

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => to.serialize_none(),
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Char(unit) => string(&[*unit], 1, to),
            Value::Int(value) => integer(*value, to),
            Value::UInt(value) if *value <= EXACT => to.serialize_u64(*value),
            Value::UInt(value) => single("$int", &value.to_string(), to),
            Value::Float(bits) => match f32::from_bits(*bits) {
                value if value.is_finite() => to.serialize_f32(value),
                value => not_finite(value.into(), to),
            },
            Value::Double(bits) => match f64::from_bits(*bits) {
                value if value.is_finite() => to.serialize_f64(value),
                value => not_finite(value, to),
            },
            Value::Pointer(address) => text("System.IntPtr", &format!("{address:#x}"), to),
            Value::String { units, length } => string(units, *length, to),
            Value::Enum { name, value, .. } => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("$enum", name)?;
                map.serialize_entry("value", &ValueJson(&Value::Int(*value)))?;
                map.end()
            }
            Value::Text { type_name, text: shown } => text(type_name, shown, to),
            Value::Object { type_name, fields } => object(type_name, fields, to),
            Value::Collection { type_name, length, items } => {
                many((type_name, *length), ("items", &Values(items)), to)
            }
            Value::Dictionary { type_name, length, entries } => {
                many((type_name, *length), ("entries", &Entries(entries)), to)
            }
            Value::Omitted(reason) => single("$omitted", reason.word(), to),
        }
    }
}

fn integer<S: Serializer>(value: i64, to: S) -> Result<S::Ok, S::Error> {
    match value.unsigned_abs() <= EXACT {
        true => to.serialize_i64(value),
        false => single("$int", &value.to_string(), to),
    }
}

fn not_finite<S: Serializer>(value: f64, to: S) -> Result<S::Ok, S::Error> {
    let word = match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    };
    single("$float", word, to)
}

/// An object with one text.
fn single<S: Serializer>(name: &str, value: &str, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(name, value)?;
    map.end()
}

fn text<S: Serializer>(type_name: &str, text: &str, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(2))?;
    map.serialize_entry("$type", type_name)?;
    map.serialize_entry("text", text)?;
    map.end()
}

/// A string of `length` UTF-16 units, of which the first ones are known.
fn string<S: Serializer>(units: &[u16], length: u32, to: S) -> Result<S::Ok, S::Error> {
    let DecodedString { text, is_cut, is_lossy } = decode(units, length);
    if !is_cut && !is_lossy {
        return to.serialize_str(&text);
    }
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("$string", &text)?;
    map.serialize_entry("$length", &length)?;
    if is_lossy {
        map.serialize_entry("$lossy", &true)?;
    }
    map.end()
}

fn object<S: Serializer>(type_name: &str, fields: &[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("$type", type_name)?;
    let mut names = DistinctNames::reserve(&["$type", "$omitted"]);
    for (name, value) in fields {
        match value {
            Value::Omitted(reason) if name.is_empty() => map.serialize_entry("$omitted", reason.word())?,
            value => map.serialize_entry(&names.next(name), &ValueJson(value))?,
        }
    }
    map.end()
}

fn many<S: Serializer>(
    (type_name, length): (&str, u64),
    (name, values): (&str, &impl Serialize),
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(3))?;
    map.serialize_entry("$type", type_name)?;
    map.serialize_entry("$length", &length)?;
    map.serialize_entry(name, values)?;
    map.end()
}

struct Values<'a>(&'a [Value]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(ValueJson))
    }
}

struct Entries<'a>(&'a [(Value, Value)]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut entries = to.serialize_seq(Some(self.0.len()))?;
        for (key, value) in self.0 {
            entries.serialize_element(&[ValueJson(key), ValueJson(value)])?;
        }
        entries.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::OmittedReason;

    #[track_caller]
    fn check(value: Value, expected: &str) {
        assert_eq!(serde_json::to_string(&ValueJson(&value)).expect("JSON"), expected);
    }

    fn string_of(text: &str) -> Value {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    #[test]
    fn numbers_are_numbers_where_they_stay_exact() {
        check(Value::Null, "null");
        check(Value::Bool(false), "false");
        check(Value::Int(-5), "-5");
        check(Value::Int(1 << 53), "9007199254740992");
        check(Value::Int((1 << 53) + 1), r#"{"$int":"9007199254740993"}"#);
        check(Value::Int(-(1 << 53) - 1), r#"{"$int":"-9007199254740993"}"#);
        check(Value::Int(i64::MIN), r#"{"$int":"-9223372036854775808"}"#);
        check(Value::UInt(1 << 53), "9007199254740992");
        check(Value::UInt(u64::MAX), r#"{"$int":"18446744073709551615"}"#);
        check(Value::Float(0.1f32.to_bits()), "0.1");
        check(Value::Double(1e300f64.to_bits()), "1e+300");
        for (value, word) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")]
        {
            check(Value::Double(value.to_bits()), &format!(r#"{{"$float":"{word}"}}"#));
            check(Value::Float((value as f32).to_bits()), &format!(r#"{{"$float":"{word}"}}"#));
        }
        check(Value::Pointer(0x7f31), r#"{"$type":"System.IntPtr","text":"0x7f31"}"#);
    }

    #[test]
    fn strings_say_what_is_missing() {
        check(string_of("a\"b\n注🛒"), r#""a\"b\n注🛒""#);
        check(Value::Char(0x41), r#""A""#);
        check(Value::Char(0xd83d), r#"{"$string":"�","$length":1,"$lossy":true}"#);
        check(Value::String { units: vec![0x41; 2], length: 300 }, r#"{"$string":"AA","$length":300}"#);
        let half = Value::String { units: vec![0x41, 0xd83d], length: 3 };
        check(half, r#"{"$string":"A","$length":3}"#);
        let lone = Value::String { units: vec![0x41, 0xd83d], length: 2 };
        check(lone, r#"{"$string":"A�","$length":2,"$lossy":true}"#);
    }

    #[test]
    fn enums_and_texts_name_their_type_or_value() {
        let of = |name: Option<&str>, value| Value::Enum {
            type_name: "System.DayOfWeek".into(),
            name: name.map(str::to_owned),
            value,
        };
        check(of(Some("Friday"), 5), r#"{"$enum":"Friday","value":5}"#);
        check(of(None, -1), r#"{"$enum":null,"value":-1}"#);
        check(of(None, i64::MAX), r#"{"$enum":null,"value":{"$int":"9223372036854775807"}}"#);
        let guid = Value::Text { type_name: "System.Guid".into(), text: "0f8f…".into() };
        check(guid, r#"{"$type":"System.Guid","text":"0f8f…"}"#);
    }

    #[test]
    fn objects_and_collections_nest() {
        let order = |fields: Vec<(&str, Value)>| Value::Object {
            type_name: "Shop.Order".into(),
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        let fields = vec![
            ("Id", Value::Int(7)),
            ("Id", Value::Null),
            ("$type", Value::Bool(true)),
            ("", Value::Omitted(OmittedReason::Fields)),
        ];
        check(
            order(fields),
            r#"{"$type":"Shop.Order","Id":7,"Id#2":null,"$type#2":true,"$omitted":"fields"}"#,
        );
        let list = Value::Collection {
            type_name: "int[]".into(),
            length: 5,
            items: vec![Value::Int(1), order(vec![])],
        };
        check(list, r#"{"$type":"int[]","$length":5,"items":[1,{"$type":"Shop.Order"}]}"#);
        let dictionary = Value::Dictionary {
            type_name: "D".into(),
            length: 1,
            entries: vec![(string_of("a"), Value::Omitted(OmittedReason::Depth))],
        };
        check(dictionary, r#"{"$type":"D","$length":1,"entries":[["a",{"$omitted":"depth"}]]}"#);
    }

    #[test]
    fn omitted_values_give_their_reason() {
        for reason in OmittedReason::ALL {
            check(Value::Omitted(reason), &format!(r#"{{"$omitted":"{}"}}"#, reason.word()));
        }
    }
}
