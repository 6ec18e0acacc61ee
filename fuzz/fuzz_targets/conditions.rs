//! Conditions: any text is refused with a position in it, or parsed; a condition that fits evaluates without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::condition::{Condition, Operand, Root, Scope, Text, Undecided, ValueType, Values};

/// Values of every type; every object has every field.
struct Call;

impl Values for Call {
    type Object = ();

    fn root(&self, root: Root) -> Result<Operand<'_, ()>, Undecided> {
        Ok(match root {
            Root::Argument(0) => Operand::Int(i64::MIN),
            Root::Argument(1) => Operand::UInt(u64::MAX),
            Root::Argument(2) => Operand::Double(f64::NAN),
            Root::Argument(3) => Operand::Text(Text::Utf16(&[0xFF, 0xDB, 0x41, 0], 9)),
            Root::Argument(4) => Operand::Bool(true),
            Root::Argument(_) => Operand::Object(()),
            Root::ArgumentAfter(_) => return Err(Undecided),
            Root::Result => Operand::Text(Text::Utf8("é名😀")),
            Root::Exception => Operand::Null,
            Root::Duration => Operand::Duration(i64::MIN),
        })
    }

    fn field(&self, (): (), name: &str) -> Result<Operand<'_, ()>, Undecided> {
        self.root(Root::Argument((name.len() % 7) as u16))
    }

    fn size(&self, (): ()) -> Result<u64, Undecided> {
        Ok(u64::MAX)
    }
}

fn scope() -> Scope {
    let day = ValueType::Enum("Day".into(), vec![("Monday".into(), i64::MIN)]);
    let types = [
        ("a", ValueType::Int),
        ("b", ValueType::UInt),
        ("c", ValueType::Double),
        ("d", ValueType::String),
        ("e", ValueType::Bool),
        ("f", ValueType::Object),
        ("g", day),
        ("h", ValueType::Duration),
        ("i", ValueType::Unavailable("capped".into())),
    ];
    let parameters = types.into_iter().zip(0..).map(|((name, of), index)| {
        (name.to_owned(), "type".to_owned(), of, Root::Argument(index))
    });
    Scope { parameters: parameters.collect(), result: Some(("string".into(), ValueType::String)) }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let condition = match Condition::parse(text) {
        Ok(condition) => condition,
        Err(error) => {
            assert!(error.problem.at() as usize <= error.text.chars().count(), "{error:?}");
            return;
        }
    };
    let again = Condition::parse(condition.text()).expect("its text parses");
    assert_eq!(again, condition);
    match condition.check(&scope()) {
        Ok(checked) => checked.parts.iter().for_each(|part| {
            let _ = (part.holds(&Call), part.stage(), part.path_length());
        }),
        Err(problem) => assert!(problem.at() as usize <= condition.text().chars().count(), "{problem:?}"),
    }
});
