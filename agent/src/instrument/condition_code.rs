//! IL that decides a condition on primitive arguments: it costs less than a call of a helper. Only for parts whose value
//! cannot fail, and whose meaning IL and [`redial_protocol::condition`] share.
#![forbid(unsafe_code)]

use super::call_form::argument;
use crate::capture::{Capture, CapturePlan, Primitive};
use crate::il::{Insn, Opcode, Operand};
use redial_protocol::condition::{Comparison, Constant, Node, Root};

/// IL stack slots that the code of a part needs at most; deeper parts are left to the helper.
const MAX_STACK: u16 = 8;

/// Code that pushes a value, and the stack slots that it needs.
struct Code {
    insns: Vec<Insn>,
    stack: u16,
    kind: Kind,
}

/// The value on the IL stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// 0 or 1.
    Bool,
    /// 64 bits, signed.
    Signed,
    /// 64 bits, unsigned.
    Unsigned,
    Double,
}

/// Returns code that pushes whether a part of a condition is true, with the stack slots that it needs; None if IL cannot
/// decide it.
pub fn code(part: &Node, plan: &CapturePlan) -> Option<(Vec<Insn>, u16)> {
    let code = push(part, plan)?;
    (code.kind == Kind::Bool && code.stack <= MAX_STACK).then_some((code.insns, code.stack))
}

fn push(node: &Node, plan: &CapturePlan) -> Option<Code> {
    match node {
        Node::Constant(of) => constant(of),
        Node::Root(Root::Argument(index)) => load(usize::from(*index), plan),
        Node::Not(of) => {
            let mut code = push(of, plan).filter(|code| code.kind == Kind::Bool)?;
            code.insns.extend(is_zero());
            code.stack = code.stack.max(2);
            Some(code)
        }
        Node::And(one, other) => both(one, other, plan, Opcode::AND),
        Node::Or(one, other) => both(one, other, plan, Opcode::OR),
        Node::Compare(comparison, one, other) => compare(*comparison, push(one, plan)?, push(other, plan)?),
        Node::In(of, list) => {
            let mut all: Option<Code> = None;
            for item in list {
                let equal = compare(Comparison::Equal, push(of, plan)?, constant(item)?)?;
                all = Some(match all {
                    Some(all) => join(all, equal, [plain(Opcode::OR)], Kind::Bool),
                    None => equal,
                });
            }
            all
        }
        _ => None,
    }
}

fn both(one: &Node, other: &Node, plan: &CapturePlan, opcode: Opcode) -> Option<Code> {
    let (one, other) = (push(one, plan)?, push(other, plan)?);
    (one.kind == Kind::Bool && other.kind == Kind::Bool)
        .then(|| join(one, other, [plain(opcode)], Kind::Bool))
}

/// Returns code that pushes both values and applies instructions to them.
fn join(one: Code, other: Code, apply: impl IntoIterator<Item = Insn>, kind: Kind) -> Code {
    let mut insns = one.insns;
    insns.extend(other.insns);
    insns.extend(apply);
    Code { insns, stack: one.stack.max(other.stack.saturating_add(1)), kind }
}

fn constant(of: &Constant) -> Option<Code> {
    let (insn, kind) = match of {
        Constant::Bool(value) => (Insn::LdcI4((*value).into()), Kind::Bool),
        Constant::Int(value) => (Insn::LdcI8(*value), Kind::Signed),
        Constant::UInt(value) => match i64::try_from(*value) {
            Ok(value) => (Insn::LdcI8(value), Kind::Signed),
            Err(_) => (Insn::LdcI8(*value as i64), Kind::Unsigned),
        },
        Constant::Double(value) => (Insn::Any(Opcode::LDC_R8, Operand::R8(value.to_bits())), Kind::Double),
        Constant::Null | Constant::String(_) | Constant::Duration(_) => return None,
    };
    Some(Code { insns: vec![insn], stack: 1, kind })
}

fn load(index: usize, plan: &CapturePlan) -> Option<Code> {
    let planned = plan.parameters.get(index)?;
    let (primitive, is_enum) = match &planned.capture {
        Capture::Primitive(primitive) => (*primitive, false),
        Capture::Enum(of) => (of.underlying, true),
        _ => return None,
    };
    let mut insns = vec![argument(planned.argument)];
    let mut stack = 1;
    let kind = match primitive {
        Primitive::Boolean if !is_enum => {
            // Any value but 0 is true.
            insns.extend([Insn::LdcI4(0), plain(Opcode::CGT_UN)]);
            stack = 2;
            Kind::Bool
        }
        Primitive::I1 | Primitive::I2 | Primitive::I4 | Primitive::I8 | Primitive::I => {
            insns.push(plain(Opcode::CONV_I8));
            Kind::Signed
        }
        // Every such value is also a signed one of 64 bits.
        Primitive::U1 | Primitive::U2 | Primitive::U4 => {
            insns.push(plain(Opcode::CONV_U8));
            Kind::Signed
        }
        Primitive::U8 | Primitive::U | Primitive::Pointer => {
            insns.push(plain(Opcode::CONV_U8));
            // Conditions take enums as signed integers.
            if is_enum { Kind::Signed } else { Kind::Unsigned }
        }
        Primitive::R4 | Primitive::R8 => {
            insns.push(plain(Opcode::CONV_R8));
            Kind::Double
        }
        Primitive::Boolean | Primitive::Char => return None,
    };
    Some(Code { insns, stack, kind })
}

fn compare(comparison: Comparison, one: Code, other: Code) -> Option<Code> {
    let (one, other) = alike(one, other)?;
    let kind = one.kind;
    if kind == Kind::Bool && !comparison.is_equality() {
        return None;
    }
    let is_unsigned = kind == Kind::Unsigned;
    let is_double = kind == Kind::Double;
    let less = if is_unsigned { Opcode::CLT_UN } else { Opcode::CLT };
    let greater = if is_unsigned { Opcode::CGT_UN } else { Opcode::CGT };
    // Of numbers, `.un` also returns 1 if one is NaN (ECMA-335 III.3.23): every comparison with it is false.
    let not_less = if is_double { Opcode::CLT_UN } else { less };
    let not_greater = if is_double { Opcode::CGT_UN } else { greater };
    let [zero, equal] = is_zero();
    let apply = match comparison {
        Comparison::Equal => vec![plain(Opcode::CEQ)],
        Comparison::NotEqual => vec![plain(Opcode::CEQ), zero, equal],
        Comparison::Less => vec![plain(less)],
        Comparison::Greater => vec![plain(greater)],
        Comparison::LessOrEqual => vec![plain(not_greater), zero, equal],
        Comparison::GreaterOrEqual => vec![plain(not_less), zero, equal],
    };
    Some(join(one, other, apply, Kind::Bool))
}

/// Brings two values to one kind; None if IL has none for both.
fn alike(mut one: Code, mut other: Code) -> Option<(Code, Code)> {
    let is_constant = |code: &Code| matches!(code.insns.as_slice(), [Insn::LdcI8(value)] if *value >= 0);
    match (one.kind, other.kind) {
        (a, b) if a == b => {}
        (Kind::Double, _) => to_double(&mut other)?,
        (_, Kind::Double) => to_double(&mut one)?,
        (Kind::Unsigned, Kind::Signed) if is_constant(&other) => other.kind = Kind::Unsigned,
        (Kind::Signed, Kind::Unsigned) if is_constant(&one) => one.kind = Kind::Unsigned,
        _ => return None,
    }
    Some((one, other))
}

fn to_double(code: &mut Code) -> Option<()> {
    match code.kind {
        Kind::Signed => code.insns.push(plain(Opcode::CONV_R8)),
        Kind::Unsigned => code.insns.extend([plain(Opcode::CONV_R_UN), plain(Opcode::CONV_R8)]),
        Kind::Double => {}
        Kind::Bool => return None,
    }
    code.kind = Kind::Double;
    Some(())
}

fn is_zero() -> [Insn; 2] {
    [Insn::LdcI4(0), plain(Opcode::CEQ)]
}

fn plain(opcode: Opcode) -> Insn {
    Insn::Any(opcode, Operand::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{PlannedValue, scope};
    use redial_protocol::condition::Condition;
    use std::sync::Arc;

    fn plan() -> CapturePlan {
        let value = |name: &str, capture, argument| {
            Arc::new(PlannedValue { name: name.into(), type_name: "T".into(), argument, capture })
        };
        let primitive = |name: &str, of, argument| value(name, Capture::Primitive(of), argument);
        let parameters = vec![
            primitive("flag", Primitive::Boolean, 0),
            primitive("int", Primitive::I4, 1),
            primitive("small", Primitive::U2, 2),
            primitive("large", Primitive::U8, 3),
            primitive("real", Primitive::R4, 4),
            primitive("letter", Primitive::Char, 5),
            value("text", Capture::String, 6),
        ];
        CapturePlan { parameters, has_this: false, result: None }
    }

    fn compiled(text: &str) -> Option<(Vec<Insn>, u16)> {
        let plan = plan();
        let checked = Condition::parse(text).expect("valid").check(&scope(&plan)).expect("it fits");
        let [part] = checked.parts.as_slice() else { panic!("{text} has several parts") };
        code(part, &plan)
    }

    #[test]
    fn compiles_only_what_cannot_fail() {
        for text in [
            "flag",
            "!flag || int > 3",
            "small >= 7 && flag || int != -1",
            "large > 3 || large == 18446744073709551615u",
            "real <= 2.5 || real > int || real > large",
            "int in [1, 2, 3]",
        ] {
            assert!(compiled(text).is_some(), "{text}");
        }
        for text in [
            "int + 1 > 3",
            "large > int",
            "large > -1",
            "letter == 'x'",
            "text == 'x'",
            "duration > duration('1s')",
            "flag ? true : false",
            "flag < true",
        ] {
            assert!(compiled(text).is_none(), "{text}");
        }
    }

    #[test]
    fn comparisons_with_nan_are_false() {
        let (code, stack) = compiled("real <= 2.5").expect("it compiles");
        let end = [plain(Opcode::CGT_UN), Insn::LdcI4(0), plain(Opcode::CEQ)];
        assert_eq!((&code[code.len() - 3..], stack), (&end[..], 2));
        let (code, _) = compiled("int <= 2").expect("it compiles");
        assert_eq!(code[code.len() - 3], plain(Opcode::CGT));
        let (code, _) = compiled("large < 2").expect("it compiles");
        assert_eq!(code.last(), Some(&plain(Opcode::CLT_UN)));
    }

    #[test]
    fn deep_conditions_are_left_to_the_helper() {
        let deep = (0..MAX_STACK).fold("int > 1".to_owned(), |inner, _| format!("flag || ({inner})"));
        assert!(compiled(&deep).is_none());
    }
}
