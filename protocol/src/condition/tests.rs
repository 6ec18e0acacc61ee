//! Tests of conditions: their meaning, positions of problems, and types.

use super::*;

/// The values of a call, and of the objects in it.
struct Call {
    roots: Vec<(Root, Value)>,
}

#[derive(Clone, Copy)]
enum Value {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(&'static str),
    Cut(&'static [u8], u32),
    Duration(i64),
    Object(&'static [(&'static str, Value)]),
    Missing,
}

impl Values for Call {
    type Object = &'static [(&'static str, Value)];

    fn root(&self, root: Root) -> Result<Operand<'_, Self::Object>, Undecided> {
        let found = self.roots.iter().find(|(of, _)| *of == root);
        found.map_or(Err(Undecided), |(_, value)| operand(*value))
    }

    fn field(&self, object: Self::Object, name: &str) -> Result<Operand<'_, Self::Object>, Undecided> {
        let found = object.iter().find(|(of, _)| *of == name);
        found.map_or(Err(Undecided), |(_, value)| operand(*value))
    }

    fn size(&self, object: Self::Object) -> Result<u64, Undecided> {
        Ok(object.len() as u64)
    }
}

fn operand(value: Value) -> Result<Operand<'static, <Call as Values>::Object>, Undecided> {
    Ok(match value {
        Value::Null => Operand::Null,
        Value::Bool(value) => Operand::Bool(value),
        Value::Int(value) => Operand::Int(value),
        Value::UInt(value) => Operand::UInt(value),
        Value::Double(value) => Operand::Double(value),
        Value::Text(text) => Operand::Text(Text::Utf8(text)),
        Value::Cut(bytes, length) => Operand::Text(Text::Utf16(bytes, length)),
        Value::Duration(ns) => Operand::Duration(ns),
        Value::Object(fields) => Operand::Object(fields),
        Value::Missing => return Err(Undecided),
    })
}

const CUSTOMER: Value = Value::Object(&[("Name", Value::Text("Ada")), ("Secret", Value::Missing)]);
const ORDER: Value =
    Value::Object(&[("Total", Value::Double(99.5)), ("Customer", CUSTOMER), ("Gift", Value::Null)]);

fn scope() -> Scope {
    let day = ValueType::Enum("Shop.Day".into(), vec![("Monday".into(), 1), ("Friday".into(), 5)]);
    let parameters = [
        ("quantity", "int", ValueType::Int),
        ("flags", "uint", ValueType::UInt),
        ("price", "double", ValueType::Double),
        ("name", "string", ValueType::String),
        ("order", "Shop.Order", ValueType::Object),
        ("day", "Shop.Day", day),
        ("result", "int", ValueType::Int),
        ("isGift", "bool", ValueType::Bool),
        ("wait", "System.TimeSpan", ValueType::Duration),
        ("password", "string", ValueType::Unavailable("redacted-name".into())),
        ("long", "string", ValueType::String),
        ("@event", "string", ValueType::String),
    ];
    let parameters = parameters
        .into_iter()
        .zip(0..)
        .map(|((name, ty, of), index)| (name.to_owned(), ty.to_owned(), of, Root::Argument(index)));
    Scope { parameters: parameters.collect(), result: Some(("string".into(), ValueType::String)) }
}

fn call() -> Call {
    let values = [
        Value::Int(3),
        Value::UInt(7),
        Value::Double(2.5),
        Value::Text("A-7731"),
        ORDER,
        Value::Int(5),
        Value::Int(-1),
        Value::Bool(true),
        Value::Duration(2_000_000_000),
        Value::Missing,
        Value::Cut(&[b'a', 0, b'b', 0], 3),
        Value::Text("sale"),
    ];
    let mut roots: Vec<_> = (0..).map(Root::Argument).zip(values).collect();
    roots.extend([
        (Root::Result, Value::Text("ok")),
        (Root::Duration, Value::Duration(12_000_000)),
        (Root::Exception, Value::Null),
    ]);
    Call { roots }
}

/// Returns the result of a condition for the sample call; None if it is undecided.
fn holds(text: &str) -> Option<bool> {
    let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let checked = condition.check(&scope()).unwrap_or_else(|problem| panic!("{text}: {problem}"));
    let results: Vec<_> = checked.parts.iter().map(|part| part.holds(&call())).collect();
    if results.contains(&Ok(false)) {
        return Some(false);
    }
    results.iter().all(|result| *result == Ok(true)).then_some(true)
}

#[test]
fn conditions_hold_as_in_cel() {
    for text in [
        "quantity == 3 && price > 2.0",
        "quantity * 2 + 1 == 7",
        "price * double(quantity) >= 7.5",
        "flags % 4u == 3u",
        "quantity < 7u || false",
        "-quantity == -3 && !(quantity > 3)",
        "name.startsWith('A-') && name.endsWith(\"31\") && name.contains('77')",
        "size(name) == 6 && name.size() < 7",
        "order.Total < 100.0 && order.Customer.Name == 'Ada'",
        "order.Gift == null && order != null && !has(order.Gift) && has(order.Customer)",
        "day == \"Friday\" && day in ['Monday', 'Friday'] && day > 1",
        "quantity in [1, 2, 3] && !(name in ['x', 'y'])",
        "args.result == -1 && result == 'ok'",
        "duration > duration('10ms') && duration <= duration(\"12ms\")",
        "exception == null",
        "exception == null || exception.type == 'A.B' || exception.message == 'no'",
        "isGift ? price > 1.0 : false",
        "wait == duration('2s') && wait + wait > duration('3s')",
        "false ? order.Missing > 1 : true",
        "quantity == 3 || order.Missing > 1",
        "long.startsWith('ab') && long != 'ab' && long != 'abcd' && long < 'b'",
        "event == 'sale' && args.event == 'sale' && 0x1F == 31",
        "\"a\\u0041\\n\" == 'aA\\n'",
        "size(order) == 3",
        "1.5e3 == 1500.0 && 12u == 12u && 3 == 3u && 3 == 3.0",
    ] {
        assert_eq!(holds(text), Some(true), "{text}");
    }
    for text in [
        "quantity > 3",
        "name == 'A-7732'",
        "price != price || order.Total > 100",
        "order.Missing > 1 && false",
    ] {
        assert_eq!(holds(text), Some(false), "{text}");
    }
    for text in [
        "order.Missing > 1",
        "order.Customer.Secret == 'x'",
        "quantity / (quantity - 3) == 1",
        "order.Gift.Name == 'x'",
        "order.Total",
        "long == 'abc'",
        "long.endsWith('c')",
        "9223372036854775807 + quantity > 0",
        "order.Customer > 3",
    ] {
        assert_eq!(holds(text), None, "{text}");
    }
}

#[test]
fn problems_have_their_position() {
    let parse = |text: &str| Condition::parse(text).expect_err(text).to_string();
    assert_eq!(parse("quantity = 3"), "the condition needs '==' here\n  quantity = 3\n           ^");
    for (text, at) in [
        ("", 0),
        ("a &&", 4),
        ("a == 'x", 5),
        ("(a", 2),
        ("a b", 2),
        ("f(a)", 0),
        ("a.matches('x')", 2),
        ("99999999999999999999", 0),
        ("9223372036854775808", 0),
        ("duration(5)", 9),
        ("duration('5')", 9),
        ("has(a)", 4),
        ("a in b", 5),
        ("12x", 0),
        ("'\\q'", 0),
        ("1 ; 2", 2),
    ] {
        let error = Condition::parse(text).expect_err(text);
        assert_eq!(error.problem.at(), at, "{text}: {error}");
    }
    let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
    let long = vec!["a"; 40].join(" && ");
    for text in [deep.as_str(), &long, &"!".repeat(2000), &"x".repeat(1025)] {
        let error = Condition::parse(text).expect_err("it is too long");
        assert!(matches!(error.problem, ConditionProblem::TooLong { .. }), "{error}");
    }
}

#[test]
fn conditions_that_do_not_fit_say_what_the_method_offers() {
    let check = |text: &str| {
        let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error}"));
        condition.check(&scope()).expect_err(text)
    };
    let unknown = check("isGift && amount > 3");
    assert_eq!(unknown.at(), 10);
    let text = unknown.to_string();
    for part in ["no value 'amount'", "quantity (int)", "args.result (int)", "result (string)", "duration"] {
        assert!(text.contains(part), "{text}");
    }
    let day = check("day == 'Sunday'").to_string();
    assert_eq!(day, "Shop.Day has no value 'Sunday'; it has Monday, Friday");
    for (text, part) in [
        ("quantity > 'x'", "'>' does not take int and string"),
        ("quantity + 1.5 > 2.0", "convert one with double()"),
        ("flags + 1 > 2u", "write numbers as 1u"),
        ("quantity == null", "'==' does not take int and null"),
        ("quantity", "it takes bool"),
        ("name && isGift", "it takes bool"),
        ("quantity.x == 1", "'.x' does not take int"),
        ("size(quantity) == 1", "'size' does not take int"),
        ("duration > 10", "'>' does not take duration and int"),
        ("password == 'x'", "'password' is not available: redacted-name"),
        ("args.nothing == 1", "no value 'nothing'"),
        ("name.contains(1)", "'contains' does not take string and int"),
        ("name in [quantity]", "needs a literal"),
        ("quantity in ['x']", "'in' does not take int and string"),
        ("int(name) == 1", "'int' does not take string"),
    ] {
        let problem = check(text).to_string();
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn parts_are_known_at_their_stage() {
    let condition =
        Condition::parse("quantity > 1 && (result == 'x' || quantity > 2) && order.A.B == 1").expect("valid");
    let checked = condition.check(&scope()).expect("it fits");
    let stages: Vec<Stage> = checked.parts.iter().map(Node::stage).collect();
    assert_eq!(stages, [Stage::Entry, Stage::Exit, Stage::Entry]);
    assert_eq!(checked.at(Stage::Exit).count(), 1);
    assert_eq!(checked.parts.iter().map(Node::path_length).max(), Some(2));
}
