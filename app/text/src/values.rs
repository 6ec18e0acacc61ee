//! Captured values as text on one line. Strings are arbitrary UTF-16 of somebody else's process: everything that a
//! terminal or a text layout would act on is escaped.

use crate::names::namespace_length;
use crate::words::grouped;
use redial_protocol::peer_text::acts;
use redial_protocol::trace::{OmittedReason, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// Formats a value as C# would write it, where C# can: `7`, `"text"`, `Friday`, `Order { Id: 7 }`, `[1, 2, …] (5)`.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_value(value, &mut text);
    text
}

/// Formats the text of a string without quotes, escaped: an exception's message, for example.
pub fn unquoted(value: &Value) -> String {
    match value {
        Value::String { units, length } => {
            let mut text = String::new();
            let _ = write_units(units, None, &mut text);
            let _ = write_cut(units.len(), *length, &mut text);
            text
        }
        other => text(other),
    }
}

/// A captured string as UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedString {
    /// The text, with U+FFFD for each lone surrogate.
    pub text: String,
    /// Whether the whole string is longer.
    pub is_cut: bool,
    /// Whether there were lone surrogates.
    pub is_lossy: bool,
}

/// Decodes a string of `length` UTF-16 units from its first ones.
pub fn decode(units: &[u16], length: u32) -> DecodedString {
    let is_cut = length as usize > units.len();
    // The cut may have split a pair of surrogates.
    let units = match units {
        [whole @ .., 0xd800..=0xdbff] if is_cut => whole,
        units => units,
    };
    let mut is_lossy = false;
    let text = char::decode_utf16(units.iter().copied()).map(|unit| {
        is_lossy |= unit.is_err();
        unit.unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    DecodedString { text: text.collect(), is_cut, is_lossy }
}

/// Makes the names of an object's fields distinct. Fields of base classes may have the same names; the second `Id`
/// becomes `Id#2`.
#[derive(Debug, Default)]
pub struct DistinctNames<'a>(HashMap<&'a str, u32>);

impl<'a> DistinctNames<'a> {
    /// Takes names that no field may have.
    pub fn reserve(names: &[&'a str]) -> DistinctNames<'a> {
        DistinctNames(names.iter().map(|name| (*name, 1)).collect())
    }

    /// Returns the name for the next field called `name`.
    pub fn next(&mut self, name: &'a str) -> Cow<'a, str> {
        let number = self.0.entry(name).or_default();
        *number += 1;
        match *number {
            1 => Cow::Borrowed(name),
            number => Cow::Owned(format!("{name}#{number}")),
        }
    }
}

/// Returns a type's name without its namespace.
pub fn short_type(name: &str) -> &str {
    match namespace_length(name) {
        0 => name,
        length => name.get(length + 1..).unwrap_or(name),
    }
}

fn write_value(value: &Value, to: &mut String) -> std::fmt::Result {
    match value {
        Value::Null => to.write_str("null"),
        Value::Bool(value) => write!(to, "{value}"),
        Value::Char(unit) => write_units(&[*unit], Some('\''), to),
        Value::Int(value) => write!(to, "{value}"),
        Value::UInt(value) => write!(to, "{value}"),
        Value::Float(bits) => to.write_str(&float(f32::from_bits(*bits))),
        Value::Double(bits) => to.write_str(&float(f64::from_bits(*bits))),
        Value::Pointer(address) => write!(to, "{address:#x}"),
        Value::String { units, length } => {
            write_units(units, Some('"'), to)?;
            write_cut(units.len(), *length, to)
        }
        Value::Enum { name: Some(name), .. } => to.write_str(name),
        Value::Enum { type_name, name: None, value } => write!(to, "{}({value})", short_type(type_name)),
        Value::Text { text, .. } => to.write_str(text),
        Value::Object { type_name, fields } => write_object(type_name, fields, to),
        Value::Collection { length, items, .. } => {
            let item = |item: &Value, to: &mut String| write_value(item, to);
            write_items(("[", "]"), *length, items, item, to)
        }
        Value::Dictionary { length, entries, .. } => {
            let entry = |(key, value): &(Value, Value), to: &mut String| {
                write_value(key, to)?;
                to.write_str(": ")?;
                write_value(value, to)
            };
            let braces = if entries.is_empty() { ("{", "}") } else { ("{ ", " }") };
            write_items(braces, *length, entries, entry, to)
        }
        Value::Omitted(reason) => write!(to, "‹{}›", reason.word()),
    }
}

/// Formats a floating-point number with the digits that identify it.
fn float<T: std::fmt::Debug + Into<f64> + Copy>(value: T) -> String {
    let wide: f64 = value.into();
    match wide {
        _ if wide.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => {
            let digits = format!("{value:?}");
            digits.strip_suffix(".0").map_or(digits.clone(), str::to_owned)
        }
    }
}

/// Writes UTF-16 units with C# escapes, between quotes if there is one. A lone surrogate is an escape, too.
fn write_units(units: &[u16], quote: Option<char>, to: &mut String) -> std::fmt::Result {
    to.extend(quote);
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok('\\') if quote.is_some() => to.write_str("\\\\")?,
            Ok(letter) if Some(letter) == quote => write!(to, "\\{letter}")?,
            Ok('\n') => to.write_str("\\n")?,
            Ok('\r') => to.write_str("\\r")?,
            Ok('\t') => to.write_str("\\t")?,
            Ok('\0') => to.write_str("\\0")?,
            Ok(letter) if acts(letter) => write!(to, "\\u{:04x}", u32::from(letter))?,
            Ok(letter) => to.push(letter),
            Err(lone) => write!(to, "\\u{:04x}", lone.unpaired_surrogate())?,
        }
    }
    to.extend(quote);
    Ok(())
}

/// Marks a string that was cut with its whole length.
fn write_cut(units: usize, length: u32, to: &mut String) -> std::fmt::Result {
    match length as usize > units {
        true => write!(to, "… ({})", grouped(length.into())),
        false => Ok(()),
    }
}

fn write_object(type_name: &str, fields: &[(String, Value)], to: &mut String) -> std::fmt::Result {
    let is_item = |(name, _): &(String, Value)| name.starts_with("Item") || name == "Rest";
    if type_name.starts_with("System.ValueTuple<") && fields.iter().all(is_item) {
        let items: Vec<String> = fields.iter().map(|(_, value)| text(value)).collect();
        return write!(to, "({})", items.join(", "));
    }
    to.write_str(short_type(type_name))?;
    if fields.is_empty() {
        return to.write_str(" {}");
    }
    let mut before = " { ";
    for (name, value) in fields {
        to.write_str(std::mem::replace(&mut before, ", "))?;
        match value {
            Value::Omitted(OmittedReason::Fields) if name.is_empty() => to.write_str("…")?,
            Value::Omitted(_) if name.is_empty() => {
                to.write_str("… ")?;
                write_value(value, to)?;
            }
            value => {
                write!(to, "{name}: ")?;
                write_value(value, to)?;
            }
        }
    }
    to.write_str(" }")
}

/// Writes the captured items of a collection, and its length if there are more.
fn write_items<T>(
    (open, close): (&str, &str),
    length: u64,
    items: &[T],
    write_item: impl Fn(&T, &mut String) -> std::fmt::Result,
    to: &mut String,
) -> std::fmt::Result {
    let cut = length > items.len() as u64;
    to.write_str(open)?;
    for (place, item) in items.iter().enumerate() {
        to.write_str(if place == 0 { "" } else { ", " })?;
        write_item(item, to)?;
    }
    match (cut, items.is_empty()) {
        (false, _) => to.write_str(close),
        (true, true) => write!(to, "…{close} ({})", grouped(length)),
        (true, false) => write!(to, ", …{close} ({})", grouped(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_look_like_tuples() {
        let fields = vec![("Item1".to_owned(), Value::Int(1)), ("Item2".to_owned(), Value::Null)];
        let of =
            |type_name: &str| text(&Value::Object { type_name: type_name.into(), fields: fields.clone() });
        assert_eq!(of("System.ValueTuple<int, string>"), "(1, null)");
        assert_eq!(of("Shop.Pair"), "Pair { Item1: 1, Item2: null }");
    }

    fn string(of: &str) -> Value {
        let units: Vec<u16> = of.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    #[track_caller]
    fn check(value: Value, expected: &str) {
        assert_eq!(text(&value), expected);
    }

    #[test]
    fn formats_primitives() {
        check(Value::Null, "null");
        check(Value::Bool(true), "true");
        check(Value::Int(i64::MIN), "-9223372036854775808");
        check(Value::UInt(u64::MAX), "18446744073709551615");
        check(Value::Pointer(0x7f31), "0x7f31");
        for (value, expected) in [
            (0.1, "0.1"),
            (1.0, "1"),
            (-0.0, "-0"),
            (1e300, "1e300"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            check(Value::Double(value.to_bits()), expected);
        }
        check(Value::Float(0.1f32.to_bits()), "0.1");
        check(Value::Float(f32::NAN.to_bits()), "NaN");
    }

    #[test]
    fn quotes_and_escapes_strings() {
        check(string("a\"b\\c'"), r#""a\"b\\c'""#);
        check(string("\n\r\t\0"), r#""\n\r\t\0""#);
        check(string("注文 🛒"), "\"注文 🛒\"");
        check(Value::Char(u16::from(b'\'')), r"'\''");
        check(Value::Char(0xd83d), r"'\ud83d'");
        check(Value::String { units: vec![0x41, 0xdc00, 0x42], length: 3 }, r#""A\udc00B""#);
        check(Value::String { units: vec![0x41; 3], length: 1_024 }, "\"AAA\"… (1,024)");
        check(Value::String { units: vec![], length: 5 }, "\"\"… (5)");
        assert_eq!(unquoted(&string("no \"disk\"\n")), "no \"disk\"\\n");
        assert_eq!(unquoted(&Value::String { units: vec![0x41], length: 2 }), "A… (2)");
        assert_eq!(unquoted(&Value::Omitted(OmittedReason::Bytes)), "‹bytes›");
    }

    #[test]
    fn escapes_everything_that_acts() {
        let hostile = "\u{1b}[2J\u{7}\u{7f}\u{85}\u{9b}31m\u{61c}\u{200e}\u{2028}\u{202e}\u{2066}";
        let expected = r#""\u001b[2J\u0007\u007f\u0085\u009b31m\u061c\u200e\u2028\u202e\u2066""#;
        check(string(hostile), expected);
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let whole = text(&Value::String { length: all.len() as u32, units: all });
        assert!(!whole.chars().any(acts));
    }

    #[test]
    fn formats_enums_and_texts() {
        let value = |name: Option<&str>| Value::Enum {
            type_name: "System.DayOfWeek".into(),
            name: name.map(str::to_owned),
            value: 9,
        };
        check(value(Some("Friday")), "Friday");
        check(value(None), "DayOfWeek(9)");
        check(Value::Text { type_name: "decimal".into(), text: "12.50".into() }, "12.50");
    }

    #[test]
    fn formats_objects_with_their_fields() {
        let object = |fields: Vec<(&str, Value)>| Value::Object {
            type_name: "Shop.Order".into(),
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        check(object(vec![]), "Order {}");
        let password = ("Password", Value::Omitted(OmittedReason::RedactedName));
        let fields = vec![("Id", Value::Int(7)), password, ("", Value::Omitted(OmittedReason::Fields))];
        check(object(fields), "Order { Id: 7, Password: ‹redacted-name›, … }");
        check(object(vec![("", Value::Omitted(OmittedReason::Bytes))]), "Order { … ‹bytes› }");
        check(object(vec![("Inner", object(vec![]))]), "Order { Inner: Order {} }");
    }

    #[test]
    fn formats_collections_with_their_length() {
        let list = |length, items: Vec<Value>| Value::Collection { type_name: "int[]".into(), length, items };
        check(list(0, vec![]), "[]");
        check(list(2, vec![Value::Int(1), Value::Int(2)]), "[1, 2]");
        check(list(5, vec![Value::Int(1), Value::Int(2)]), "[1, 2, …] (5)");
        check(list(1_000, vec![]), "[…] (1,000)");
        let dictionary = |length, entries: Vec<(Value, Value)>| Value::Dictionary {
            type_name: "Dictionary<string,int>".into(),
            length,
            entries,
        };
        check(dictionary(0, vec![]), "{}");
        check(dictionary(1, vec![(string("a"), Value::Int(1))]), "{ \"a\": 1 }");
        check(dictionary(3, vec![(string("a"), Value::Int(1))]), "{ \"a\": 1, … } (3)");
    }

    #[test]
    fn omitted_values_give_their_reason() {
        for reason in OmittedReason::ALL {
            check(Value::Omitted(reason), &format!("‹{}›", reason.word()));
        }
    }

    #[test]
    fn short_types_have_no_namespace() {
        for (name, short) in [
            ("Shop.Order", "Order"),
            ("Order", "Order"),
            ("System.Collections.Generic.List<Shop.Order>", "List<Shop.Order>"),
            ("", ""),
        ] {
            assert_eq!(short_type(name), short);
        }
    }
}
