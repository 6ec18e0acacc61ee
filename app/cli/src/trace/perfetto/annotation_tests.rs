//! Tests of annotations.

use super::*;
use redial_protocol::callers::CallOrigin;
use redial_protocol::trace::{OmittedReason, TracedParameter};
use redial_text::fixtures::{traced_call, traced_method};
use std::fmt::Write;

/// Formats annotations: `name=value`, `name={…}`, `name=[…]`.
fn shown(annotations: &[DebugAnnotation]) -> String {
    let mut text = String::new();
    for one in annotations {
        let separator = if text.is_empty() { "" } else { " " };
        let name = one.name.as_ref().map_or(String::new(), |name| format!("{name}="));
        let value = match &one.value {
            Some(AnnotationValue::Bool(value)) => format!("{value}"),
            Some(AnnotationValue::UInt(value)) => format!("{value}u"),
            Some(AnnotationValue::Int(value)) => format!("{value}"),
            Some(AnnotationValue::Double(value)) => format!("{value:?}"),
            Some(AnnotationValue::String(value)) => format!("{value:?}"),
            Some(AnnotationValue::Pointer(value)) => format!("{value:#x}"),
            None if !one.array_values.is_empty() => format!("[{}]", shown(&one.array_values)),
            None => format!("{{{}}}", shown(&one.dict_entries)),
        };
        write!(text, "{separator}{name}{value}").expect("a string");
    }
    text
}

#[track_caller]
fn check(value: Value, expected: &str) {
    assert_eq!(shown(&[of_value("v", &value)]), format!("v={expected}"));
}

fn string_of(text: &str) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    Value::String { length: units.len() as u32, units }
}

#[test]
fn single_values_have_their_types() {
    check(Value::Null, r#""null""#);
    check(Value::Bool(true), "true");
    check(Value::Int(i64::MIN), "-9223372036854775808");
    check(Value::UInt(u64::MAX), "18446744073709551615u");
    check(Value::Float(0.1f32.to_bits()), "0.1");
    check(Value::Float(f32::NEG_INFINITY.to_bits()), "-inf");
    check(Value::Double(1e300f64.to_bits()), "1e300");
    check(Value::Double(f64::NAN.to_bits()), "NaN");
    check(Value::Pointer(0x7f31), "0x7f31");
    let day = |name: Option<&str>| Value::Enum {
        type_name: "System.DayOfWeek".into(),
        name: name.map(str::to_owned),
        value: 5,
    };
    check(day(Some("Friday")), r#""Friday""#);
    check(day(None), "5");
    check(Value::Text { type_name: "decimal".into(), text: "3.50".into() }, r#""3.50""#);
}

#[test]
fn strings_say_what_is_missing() {
    check(string_of("a\"b\n注🛒\0\u{1b}"), r#""a\"b\n注🛒\0\u{1b}""#);
    check(Value::Char(0x41), r#""A""#);
    check(Value::Char(0xd83d), r#"{$string="�" $length=1u $lossy=true}"#);
    check(Value::String { units: vec![0x41, 0xd83d], length: 300 }, r#"{$string="A" $length=300u}"#);
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
    check(order(fields), r#"{$type="Shop.Order" Id=7 Id#2="null" $type#2=true $omitted="fields"}"#);
    let items = vec![Value::Int(1), order(vec![]), Value::Omitted(OmittedReason::Depth)];
    let list = |items| Value::Collection { type_name: "int[]".into(), length: 5, items };
    check(list(items), r#"{$type="int[]" $length=5u items=[1 {$type="Shop.Order"} {$omitted="depth"}]}"#);
    check(list(vec![]), r#"{$type="int[]" $length=5u}"#);
    let entries = vec![
        (string_of("a b"), Value::Int(1)),
        (Value::Int(7), order(vec![])),
        (string_of("7"), Value::Omitted(OmittedReason::Bytes)),
    ];
    check(
        Value::Dictionary { type_name: "D".into(), length: 3, entries },
        r#"{$type="D" $length=3u entries={a b=1 7={$type="Shop.Order"} 7#2={$omitted="bytes"}}}"#,
    );
    for reason in OmittedReason::ALL {
        check(Value::Omitted(reason), &format!("{{$omitted={:?}}}", reason.word()));
    }
}

const FACTS: &str =
    r#"method="Shop.Pricing.Discount" signature="(int, double)" module="Shop" domain="clrhost""#;

#[track_caller]
fn check_call(call: &TracedCall, expected: &str) {
    let annotations = of_call(&traced_method(), call, 0);
    assert_eq!(shown(&annotations), format!("{expected} {FACTS}"));
}

#[test]
fn calls_have_arguments_and_results() {
    check_call(&traced_call(), r#"args={order=7 rate=0.5} result="3.50""#);
    let nothing = TracedCall { outcome: Outcome::Returned(None), ..traced_call() };
    check_call(&nothing, "args={order=7 rate=0.5}");
    let changed = TracedCall {
        arguments: vec![Value::Int(1), Value::Omitted(OmittedReason::Pending), Value::Int(3)],
        arguments_after: vec![(1, Value::Int(2)), (9, Value::Int(4))],
        ..nothing.clone()
    };
    check_call(&changed, r#"args={order=1 rate={$omitted="pending"} arg2=3} after={rate=2}"#);
    let stack = vec![CallOrigin::Native, CallOrigin::Dynamic { name: "Made".into() }];
    check_call(
        &TracedCall { arguments: vec![], stack, ..nothing.clone() },
        &format!("stack=[{:?} {:?}]", callers::name(&CallOrigin::Native), "Made (generated at run time)"),
    );
    let dropped = of_call(&traced_method(), &nothing, 12);
    assert!(shown(&dropped).ends_with(" dropped=12u"));
    let without = TracedCall { arguments: vec![], ..nothing };
    assert_eq!(shown(&of_call(&traced_method(), &without, 0)), FACTS);
}

#[test]
fn parameters_of_one_name_are_told_apart() {
    let unnamed = TracedParameter { name: String::new(), type_name: "int".into() };
    let same = TracedParameter { name: "arg0".into(), type_name: "int".into() };
    let method = TracedMethod { parameters: vec![unnamed, same], ..traced_method() };
    let text = shown(&of_call(&method, &traced_call(), 0));
    assert!(text.starts_with("args={arg0=7 arg0#2=0.5} "), "{text}");
}

#[test]
fn exceptions_have_type_message_and_inner_ones() {
    let thrown = |type_name: Option<&str>, message, inner| TracedCall {
        arguments: vec![],
        outcome: Outcome::Thrown { type_name: type_name.map(str::to_owned), message, inner },
        ..traced_call()
    };
    let inner = vec![
        InnerException { type_name: Some("F".into()), message: Some(Value::Null) },
        InnerException { type_name: None, message: Some(string_of("why")) },
    ];
    check_call(
        &thrown(Some("E"), Some(Value::String { units: vec![0x6e], length: 9 }), inner),
        r#"thrown={type="E" message={$string="n" $length=9u} inner=[{type="F" message="null"} {type="null" message="why"}]}"#,
    );
    check_call(&thrown(None, None, vec![]), r#"thrown={type="null"}"#);
}
