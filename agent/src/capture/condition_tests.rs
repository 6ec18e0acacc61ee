//! Tests conditions on records as probes write them.

use super::super::plan::EnumType;
use super::super::shape::FieldShape;
use super::*;
use crate::signature::Type;

const PLACES: usize = 8;

fn planned(name: &str, capture: Capture) -> Arc<PlannedValue> {
    Arc::new(PlannedValue { name: name.into(), type_name: "T".into(), argument: 0, capture })
}

fn plan() -> CapturePlan {
    let day = EnumType { underlying: Primitive::U1, names: vec![("Monday".into(), 1)] };
    CapturePlan {
        parameters: vec![
            planned("object", Capture::Object),
            planned("text", Capture::String),
            planned("day", Capture::Enum(Arc::new(day))),
            planned("small", Capture::Primitive(Primitive::I1)),
            planned("found", Capture::Out(Type::I4)),
            planned("hidden", Capture::Omitted(OmittedReason::RedactedName)),
        ],
        has_this: false,
        result: Some(planned("", Capture::Primitive(Primitive::R4))),
    }
}

fn field(name: &str, shape: Shape) -> FieldShape {
    FieldShape { name: name.into(), offset: 0, shape }
}

/// Class 1 is an object with fields of every kind, class 2 an array of objects, class 3 an `int`.
fn class(number: u32) -> Option<&'static ClassShape> {
    let int = || Shape::Primitive(Primitive::I4);
    let inner = StructShape {
        type_name: "S".into(),
        fields: vec![field("X", int()), field("Y", int())],
        missing: None,
    };
    let fields = vec![
        field("Tags", Shape::Reference),
        field("Name", Shape::String),
        field("Inner", Shape::Struct(inner)),
        field("Count", Shape::Nullable(0, 4, Box::new(int()))),
        field("Pin", Shape::Omitted(OmittedReason::RedactedName)),
        field("Took", Shape::Text(TextForm::TimeSpan, "TimeSpan".into())),
        field("Price", Shape::Text(TextForm::Decimal, "decimal".into())),
        field("Last", int()),
    ];
    let form = match number {
        1 => ClassForm::Object(StructShape { type_name: "Order".into(), fields, missing: None }),
        2 => ClassForm::Array { item: Shape::Reference, stride: 8, rank: 1 },
        3 => ClassForm::Value { shape: int(), size: 4 },
        _ => return None,
    };
    Some(Box::leak(Box::new(ClassShape { type_name: "class".into(), form })))
}

fn words(bytes: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
}

fn string(bytes: &mut Vec<u8>, text: &str, length: u32) {
    let units: Vec<u16> = text.encode_utf16().collect();
    words(bytes, &[RecordKind::String.word(units.len() as u32), length]);
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
}

/// A call with an object that holds `[null, 7, "in"]`, a name, and further fields behind them.
fn call() -> Vec<u8> {
    let places = plan().places();
    let mut bytes = vec![0; PLACES + places * 8];
    let mut place = |at: usize, bits: u64| bytes[PLACES + at * 8..][..8].copy_from_slice(&bits.to_le_bytes());
    let first = (PLACES + places * 8) as u64;
    place(0, first);
    place(2, 0xAA01);
    place(3, 0xFE);
    place(6, u64::from(2.5_f32.to_bits()));
    words(&mut bytes, &[RecordKind::Object.word(1), RecordKind::Collection.word(2), 5, 2, 3]);
    words(&mut bytes, &[RecordKind::Null.word(0), RecordKind::Object.word(3), 7]);
    string(&mut bytes, "in", 2);
    string(&mut bytes, "Ada", 3);
    words(&mut bytes, &[11, 12]);
    bytes.push(1);
    words(&mut bytes, &[13]);
    bytes.extend((-20_i64).to_le_bytes());
    words(&mut bytes, &[2 << 16, 0, 1999, 0, 99]);
    let at = bytes.len() as u64;
    words(&mut bytes, &[300]);
    bytes.extend("ab".encode_utf16().flat_map(u16::to_le_bytes));
    bytes[PLACES + 8..][..8].copy_from_slice(&(at | 2 << 32).to_le_bytes());
    let at = bytes.len() as u64;
    words(&mut bytes, &[RecordKind::Object.word(3), 42]);
    bytes[PLACES + 7 * 8..][..8].copy_from_slice(&at.to_le_bytes());
    bytes
}

fn condition(text: &str) -> CallCondition {
    let written = Arc::new(Condition::parse(text).expect("it is valid"));
    let checked = written.check(&scope(&plan())).expect("it fits");
    CallCondition::new(written, checked, plan(), |_| false)
}

/// Returns whether a condition is true for the call; None if it is undecided.
fn holds(text: &str, bytes: &[u8], thrown: Option<usize>) -> Option<bool> {
    let condition = condition(text);
    let exception_type = thrown.filter(|at| *at != 0).map(|_| "Shop.NoStock");
    let end = CallOutcome { duration_ns: Some(5_000), thrown, exception_type };
    let entry = condition.holds_at_entry(bytes, PLACES, &class).ok()?;
    Some(entry && condition.holds_at_exit(bytes, PLACES, end, &class).ok()?)
}

#[test]
fn reads_fields_behind_values_of_any_length() {
    let call = call();
    for text in [
        "object.Name == 'Ada' && object.Inner.X == 11 && object.Inner.Y == 12",
        "object.Count == 13 && object.Took < duration('1s') && object.Price == 19.99 && object.Last == 99",
        "size(object.Tags) == 5 && has(object.Tags)",
        "day == 'Monday' && small == -2 && result == 2.5 && exception == null",
        "text.startsWith('ab') && text != 'ab' && size(text) == 300 && found == 42",
        "duration == duration('5us')",
    ] {
        assert_eq!(holds(text, &call, None), Some(true), "{text}");
    }
    for text in ["object.Pin == 1", "object.Nothing == 1", "text.endsWith('b')", "object.Tags.x == 1"] {
        assert_eq!(holds(text, &call, None), None, "{text}");
    }
}

#[test]
fn calls_that_fail_have_an_exception_and_no_result() {
    let mut call = call();
    let at = call.len();
    string(&mut call, "no stock", 8);
    assert_eq!(holds("exception.message.contains('stock')", &call, Some(at)), Some(true));
    assert_eq!(holds("exception.type == 'Shop.NoStock'", &call, Some(at)), Some(true));
    assert_eq!(holds("exception.type.endsWith('Exception')", &call, Some(at)), Some(false));
    assert_eq!(holds("exception.type == 'Shop.NoStock'", &call, Some(0)), None);
    assert_eq!(holds("exception == null || exception.type == 'X'", &call, None), Some(true));
    assert_eq!(holds("exception != null", &call, Some(0)), Some(true));
    assert_eq!(holds("exception.message == 'x'", &call, Some(0)), None);
    assert_eq!(holds("result > 1.0", &call, Some(at)), None);
}

#[test]
fn bytes_that_end_early_decide_nothing() {
    let call = call();
    for end in 0..call.len() {
        let cut = &call[..end];
        let last = holds("object.Last == 99 && small == -2", cut, None);
        assert!(last.is_none() || last == Some(true), "{end}");
    }
    assert_eq!(holds("object.Last == 99", &call[..PLACES], None), None);
}

#[test]
fn collections_of_impossible_lengths_decide_nothing() {
    let mut call = call();
    let first = PLACES + plan().places() * 8;
    let kept = first + 4 * WORD;
    for wrong in [9_999, u32::MAX] {
        call[kept..kept + WORD].copy_from_slice(&wrong.to_le_bytes());
        assert_eq!(holds("object.Last == 99", &call, None), None);
    }
}

#[test]
fn hidden_values_are_refused() {
    let written = Condition::parse("hidden == 1").expect("it is valid");
    let problem = written.check(&scope(&plan())).expect_err("it is hidden");
    assert!(problem.to_string().contains("redacted-name"), "{problem}");
}
