//! Conditions mean what the `cel` crate says, on random expressions and values.

use cel::{Context, Program, Value};
use redial_protocol::condition::{
    Condition, Constant, Node, Operand, Root, Scope, Text, Undecided, ValueType, Values,
};
use std::collections::HashMap;

/// Expressions to compare.
const CASES: u64 = 100_000;

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The value of a variable or field.
#[derive(Clone, Debug)]
enum Sample {
    Constant(Constant),
    Object(Vec<(&'static str, Sample)>),
}

impl Sample {
    fn int(random: &mut Random) -> Sample {
        let odd = [0, 1, -1, 2, 3, 7, 10, i64::MAX, i64::MIN, i64::MAX - 1, 1 << 53, (1 << 53) + 1];
        Sample::Constant(Constant::Int(*random.one_of(&odd)))
    }

    fn uint(random: &mut Random) -> Sample {
        Sample::Constant(Constant::UInt(*random.one_of(&[0, 1, 2, 3, 7, 10, u64::MAX, i64::MAX as u64 + 1])))
    }

    /// Not a number is left out, and what would lead to it: the crate cannot compare it, while to CEL's specification
    /// and to us every comparison with it is false.
    fn double(random: &mut Random) -> Sample {
        let odd = [0.5, 1.0, 2.0, 2.5, -3.0, 7.0, 9_007_199_254_740_992.0];
        Sample::Constant(Constant::Double(*random.one_of(&odd)))
    }

    fn text(random: &mut Random) -> Sample {
        Sample::Constant(Constant::String((*random.one_of(&TEXTS)).into()))
    }

    fn operand(&self) -> Operand<'_, &[(&'static str, Sample)]> {
        match self {
            Sample::Object(fields) => Operand::Object(fields),
            Sample::Constant(Constant::Null) => Operand::Null,
            Sample::Constant(Constant::Bool(value)) => Operand::Bool(*value),
            Sample::Constant(Constant::Int(value)) => Operand::Int(*value),
            Sample::Constant(Constant::UInt(value)) => Operand::UInt(*value),
            Sample::Constant(Constant::Double(value)) => Operand::Double(*value),
            Sample::Constant(Constant::String(text)) => Operand::Text(Text::Utf8(text)),
            Sample::Constant(Constant::Duration(ns)) => Operand::Duration(*ns),
        }
    }

    fn value(&self) -> Value {
        match self {
            Sample::Object(fields) => {
                let map: HashMap<String, Value> =
                    fields.iter().map(|(name, field)| ((*name).to_owned(), field.value())).collect();
                map.into()
            }
            Sample::Constant(Constant::Null | Constant::Duration(_)) => Value::Null,
            Sample::Constant(Constant::Bool(value)) => Value::Bool(*value),
            Sample::Constant(Constant::Int(value)) => Value::Int(*value),
            Sample::Constant(Constant::UInt(value)) => Value::UInt(*value),
            Sample::Constant(Constant::Double(value)) => Value::Float(*value),
            Sample::Constant(Constant::String(text)) => Value::String(text.to_string().into()),
        }
    }
}

const TEXTS: [&str; 9] = ["", "a", "ab", "abc", "b", "é", "名前", "a😀", "\u{ffff}"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
const NAMES: [&str; 10] = ["i1", "i2", "u1", "u2", "d1", "d2", "s1", "s2", "b1", "o"];

/// The values of the names, then the exception.
struct Call(Vec<Sample>);

impl Call {
    fn random(random: &mut Random) -> Call {
        let inner = vec![("x", Sample::int(random)), ("s", Sample::text(random))];
        let fields = vec![
            ("a", Sample::int(random)),
            ("s", Sample::text(random)),
            ("n", Sample::Constant(Constant::Null)),
            ("m", Sample::Object(inner)),
        ];
        let bool = Sample::Constant(Constant::Bool(random.below(2) == 0));
        let thrown = vec![("type", Sample::text(random)), ("message", Sample::text(random))];
        let exception = match random.below(2) {
            0 => Sample::Constant(Constant::Null),
            _ => Sample::Object(thrown),
        };
        let values = [
            Sample::int(random),
            Sample::int(random),
            Sample::uint(random),
            Sample::uint(random),
            Sample::double(random),
            Sample::double(random),
            Sample::text(random),
            Sample::text(random),
            bool,
            Sample::Object(fields),
            exception,
        ];
        Call(values.into())
    }
}

impl Values for Call {
    type Object = *const [(&'static str, Sample)];

    fn root(&self, root: Root) -> Result<Operand<'_, Self::Object>, Undecided> {
        let index = match root {
            Root::Argument(index) => usize::from(index),
            Root::Exception => NAMES.len(),
            _ => return Err(Undecided),
        };
        Ok(named(self.0[index].operand()))
    }

    fn field(&self, object: Self::Object, name: &str) -> Result<Operand<'_, Self::Object>, Undecided> {
        let objects = self.0.iter().flat_map(|sample| match sample {
            Sample::Object(fields) => {
                let inner = fields.iter().filter_map(|(_, field)| match field {
                    Sample::Object(inner) => Some(inner),
                    Sample::Constant(_) => None,
                });
                std::iter::once(fields).chain(inner).collect()
            }
            Sample::Constant(_) => Vec::new(),
        });
        let mut fields = objects.filter(|fields| std::ptr::eq(fields.as_slice(), object)).flatten();
        let found = fields.find(|(of, _)| *of == name);
        found.map(|(_, sample)| named(sample.operand())).ok_or(Undecided)
    }

    fn size(&self, _: Self::Object) -> Result<u64, Undecided> {
        Err(Undecided)
    }
}

type Fields = [(&'static str, Sample)];

fn named<'a>(operand: Operand<'a, &'a Fields>) -> Operand<'a, *const Fields> {
    match operand {
        Operand::Object(fields) => Operand::Object(std::ptr::from_ref(fields)),
        Operand::Null => Operand::Null,
        Operand::Bool(value) => Operand::Bool(value),
        Operand::Int(value) => Operand::Int(value),
        Operand::UInt(value) => Operand::UInt(value),
        Operand::Double(value) => Operand::Double(value),
        Operand::Text(text) => Operand::Text(text),
        Operand::Enum(value, _) => Operand::Int(value),
        Operand::Duration(value) => Operand::Duration(value),
    }
}

/// Returns a random expression of about this depth; mostly of sensible types.
fn boolean(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return (*random.one_of(&["true", "false", "b1", "b1", "o.s == s1", "i1 < i2"])).to_owned();
    }
    let depth = depth - 1;
    match random.below(12) {
        0 | 1 => format!("({} && {})", boolean(random, depth), boolean(random, depth)),
        2 | 3 => format!("({} || {})", boolean(random, depth), boolean(random, depth)),
        4 => format!("!({})", boolean(random, depth)),
        5 => {
            let (yes, no) = (boolean(random, depth), boolean(random, depth));
            format!("({} ? {yes} : {no})", boolean(random, depth))
        }
        6 => {
            let test = random.one_of(&["startsWith", "endsWith", "contains"]);
            format!("{}.{test}({})", text(random), text(random))
        }
        7 => {
            let list: Vec<String> = (0..random.below(4)).map(|_| literal(random)).collect();
            format!("{} in [{}]", number(random, depth), list.join(", "))
        }
        8 => format!("{} {} {}", text(random), comparison(random), text(random)),
        9 => {
            let sign = random.one_of(&["==", "!="]);
            let one_of = ["o.n", "o.m.s", "o.missing", "i1", "s1", "d1", "u1", "b1", "exception"];
            format!(
                "{} {sign} {}",
                random.one_of(&one_of),
                random.one_of(&["null", "o.n", "i2", "s2", "1.0", "true"])
            )
        }
        10 => (*random.one_of(&["has(o.a)", "has(o.m.x)", "o.missing > 1", "o.a > 1"])).to_owned(),
        _ => format!("{} {} {}", number(random, depth), comparison(random), number(random, depth)),
    }
}

fn comparison(random: &mut Random) -> &'static str {
    COMPARISONS[random.below(COMPARISONS.len())]
}

fn text(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("{:?}", random.one_of(&TEXTS[..7])),
        _ => {
            let all = ["s1", "s2", "o.s", "o.m.s", "s1", "s2", "exception.type", "exception.message"];
            (*random.one_of(&all)).to_owned()
        }
    }
}

fn literal(random: &mut Random) -> String {
    let all = ["0", "1", "-1", "7", "2u", "10u", "0.5", "2.5", "9223372036854775807", "1.0"];
    (*random.one_of(&all)).to_owned()
}

fn number(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(3) == 0 {
        let names = ["i1", "i2", "u1", "u2", "d1", "d2", "o.a", "o.m.x"];
        return if random.below(3) == 0 { literal(random) } else { (*random.one_of(&names)).to_owned() };
    }
    let depth = depth - 1;
    match random.below(8) {
        0 => format!("size({})", text(random)),
        1 => format!("-({})", number(random, depth)),
        2 => format!("double({})", number(random, depth)),
        3 => format!("int({})", number(random, depth)),
        4 => format!("uint({})", number(random, depth)),
        _ => {
            let operator = *random.one_of(&["+", "-", "*", "/", "%"]);
            let right = if matches!(operator, "/" | "%") { 0 } else { depth };
            format!("({} {operator} {})", number(random, depth), number(random, right))
        }
    }
}

/// Every variable may be anything, so that types are those of the values, as in CEL without a checker.
fn scope() -> Scope {
    let parameters = NAMES.iter().zip(0..).map(|(name, index)| {
        ((*name).to_owned(), "object".to_owned(), ValueType::Object, Root::Argument(index))
    });
    Scope { parameters: parameters.collect(), result: None }
}

#[test]
fn conditions_mean_the_same_as_in_cel() {
    let scope = scope();
    let (mut compared, mut outcomes, mut refused) = (0_u64, [0_u64; 3], 0_u64);
    let mut random = Random(1);
    while compared < CASES {
        let depth = 1 + random.below(4);
        let text = boolean(&mut random, depth);
        let checked = Condition::parse(&text)
            .map_err(|error| error.to_string())
            .and_then(|condition| condition.check(&scope).map_err(|problem| problem.to_string()));
        let Ok(checked) = checked else {
            // Too long, or never true: constants of types that do not fit.
            refused += 1;
            continue;
        };
        let program = Program::compile(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for _ in 0..10 {
            let call = Call::random(&mut random);
            let mut context = Context::default();
            for (name, sample) in NAMES.iter().chain(&["exception"]).zip(&call.0) {
                context.add_variable_from_value(*name, sample.value());
            }
            let expected = match program.execute(&context) {
                Ok(Value::Bool(value)) => Ok(value),
                Ok(_) | Err(_) => Err(Undecided),
            };
            let found = all(&checked.parts, &call);
            assert_eq!(found, expected, "{text} with {:?}", call.0);
            compared += 1;
            outcomes[match expected {
                Ok(true) => 0,
                Ok(false) => 1,
                Err(Undecided) => 2,
            }] += 1;
        }
    }
    assert!(outcomes.iter().all(|count| *count > CASES / 20), "{outcomes:?}");
    assert!(refused < CASES / 4, "{refused}");
}

fn all(parts: &[Node], call: &Call) -> Result<bool, Undecided> {
    let results: Vec<_> = parts.iter().map(|part| part.holds(call)).collect();
    if results.contains(&Ok(false)) {
        return Ok(false);
    }
    if results.iter().all(|result| *result == Ok(true)) { Ok(true) } else { Err(Undecided) }
}
