//! Numbers that order values: a hundred thousand calls are sorted without reading them again.
//!
//! Null comes first, then `bool`, numbers by size, texts, objects by their first fields, collections by their lengths,
//! and exceptions. Numbers in texts order by size, too: `order 9` before `order 10`.

use redial_protocol::trace::{Outcome, Value};
use redial_text::values::short_type;
use std::iter::once;

/// Bits of a key below the kind of the value.
const KIND_SHIFT: u32 = u128::BITS - 3;
const BOOL: u128 = 1;
const NUMBER: u128 = 2;
const TEXT: u128 = 3;
const OTHER: u128 = 4;
const THROWN: u128 = 5;
/// Most units of a text that count.
const MAX_UNITS: usize = 32;
/// Most objects within objects that are followed.
const MAX_DEPTH: usize = 4;

/// Returns the key of the arguments of a call: the first one; unless that is a text, the second one, too.
pub fn of_arguments(arguments: &[Value]) -> u128 {
    let key = |index: usize| arguments.get(index).map_or(0, |value| of_value(value, 0));
    let first = key(0);
    match first >> KIND_SHIFT {
        TEXT | OTHER => first,
        _ => first >> 64 << 64 | key(1) >> 64,
    }
}

/// Returns the key of the end of a call.
pub fn of_outcome(outcome: &Outcome) -> u128 {
    match outcome {
        Outcome::InFlight | Outcome::Returned(None) => 0,
        Outcome::Returned(Some(value)) => of_value(value, 0),
        Outcome::Thrown { type_name, .. } => {
            let name = type_name.as_deref().map(short_type).unwrap_or_default();
            of_kind(THROWN, beginning(name.chars()))
        }
    }
}

fn of_kind(kind: u128, rest: u128) -> u128 {
    kind << KIND_SHIFT | rest >> (u128::BITS - KIND_SHIFT)
}

fn of_value(value: &Value, depth: usize) -> u128 {
    match value {
        Value::Null => 0,
        Value::Bool(value) => of_kind(BOOL, u128::from(*value) << 127),
        Value::Int(value) | Value::Enum { value, .. } => of_number(*value as f64),
        Value::UInt(value) | Value::Pointer(value) => of_number(*value as f64),
        Value::Float(bits) => of_number(f32::from_bits(*bits).into()),
        Value::Double(bits) => of_number(f64::from_bits(*bits)),
        Value::Char(unit) => of_kind(TEXT, beginning(char::decode_utf16(once(*unit)).flatten())),
        Value::String { units, .. } => {
            let units = units.iter().copied().take(MAX_UNITS);
            of_kind(TEXT, beginning(char::decode_utf16(units).flatten()))
        }
        Value::Text { text, .. } => match text.parse() {
            Ok(number) => of_number(number),
            Err(_) => of_kind(TEXT, beginning(text.chars())),
        },
        Value::Object { fields, .. } => {
            let first = fields.first().filter(|_| depth < MAX_DEPTH);
            of_kind(OTHER, first.map_or(0, |(_, value)| of_value(value, depth + 1)))
        }
        Value::Collection { length, .. } | Value::Dictionary { length, .. } => {
            of_kind(OTHER, of_number(*length as f64))
        }
        Value::Omitted(_) => of_kind(OTHER, 0),
    }
}

fn of_number(number: f64) -> u128 {
    let bits = number.to_bits();
    // Negative numbers order backwards, below all others.
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    of_kind(NUMBER, u128::from(ordered) << 64)
}

/// Returns the first bytes of a text as a number, without case. Digits follow their number, so that numbers order by
/// size.
pub fn beginning(letters: impl Iterator<Item = char>) -> u128 {
    let mut bytes = Vec::with_capacity(24);
    let mut letters = letters.flat_map(char::to_lowercase).peekable();
    while bytes.len() < size_of::<u128>() {
        let Some(letter) = letters.next() else { break };
        if !letter.is_ascii_digit() {
            let mut buffer = [0; 4];
            bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        let mut digits = vec![letter as u8];
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            digits.push(digit as u8);
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count().min(digits.len() - 1);
        let digits = digits.get(zeros..).unwrap_or_default();
        bytes.push(b'0' + u8::try_from(digits.len()).unwrap_or(9).min(9));
        bytes.extend_from_slice(digits);
    }
    let padded = bytes.into_iter().chain(std::iter::repeat(0)).take(size_of::<u128>());
    padded.fold(0, |key, byte| key << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::OmittedReason;

    fn text(text: &str) -> Value {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    #[track_caller]
    fn check_order(keys: &[u128]) {
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:x?}");
    }

    #[test]
    fn values_sort_by_kind_and_size() {
        let object = |value| Value::Object { type_name: "Order".into(), fields: vec![("Id".into(), value)] };
        let list = |length| Value::Collection { type_name: "int[]".into(), length, items: vec![] };
        let values = [
            Value::Null,
            Value::Bool(false),
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Int(-3),
            Value::Double((-2.5f64).to_bits()),
            Value::Int(0),
            Value::Float(0.5f32.to_bits()),
            Value::Int(9),
            Value::Text { type_name: "decimal".into(), text: "9.50".into() },
            Value::Int(10),
            Value::UInt(u64::MAX),
            text(""),
            text("order 9"),
            text("Order 10"),
            text("order 010b"),
            Value::Omitted(OmittedReason::Depth),
            object(Value::Int(9)),
            list(10),
            list(11),
            object(text("x")),
        ];
        let mut keys: Vec<u128> = values.iter().map(|value| of_value(value, 0)).collect();
        let thrown =
            |name: &str| Outcome::Thrown { type_name: Some(name.into()), message: None, inner: vec![] };
        keys.extend(["System.A", "System.IO.B"].map(|name| of_outcome(&thrown(name))));
        check_order(&keys);
    }

    #[test]
    fn the_second_argument_decides_between_equal_numbers() {
        let key = |first: i64, second: i64| of_arguments(&[Value::Int(first), Value::Int(second)]);
        check_order(&[of_arguments(&[]), key(1, 9), key(1, 10), key(2, 0)]);
    }

    #[test]
    fn texts_sort_with_their_numbers() {
        check_order(&["", "a 7", "a9", "a9b", "a10", "a10b", "b", "b 2"].map(|text| beginning(text.chars())));
        assert_eq!(beginning("A 007".chars()), beginning("a 7".chars()));
        assert!(beginning("9".repeat(99).chars()) > beginning("8".repeat(99).chars()));
    }
}
