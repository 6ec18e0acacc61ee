//! Evaluates checked conditions. Takes no memory, and time bounded by the sizes of condition and values.

use super::node::{Arithmetic, Comparison, Constant, Node, NumberType, Root};
use super::text::Text;
use std::cmp::Ordering;

/// A part that has no value: it fails, or was not captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided;

/// The values of a call.
pub trait Values {
    /// Identifies an object among them.
    type Object: Copy;

    /// Returns a value of the call.
    ///
    /// # Errors
    /// If it was not captured.
    fn root(&self, root: Root) -> Result<Operand<'_, Self::Object>, Undecided>;

    /// Returns a field of an object.
    ///
    /// # Errors
    /// If the object has no such field, or it was not captured.
    fn field(&self, object: Self::Object, name: &str) -> Result<Operand<'_, Self::Object>, Undecided>;

    /// Returns the number of items of a collection.
    ///
    /// # Errors
    /// If it is none.
    fn size(&self, object: Self::Object) -> Result<u64, Undecided>;
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a, O> {
    /// `null`.
    Null,
    /// A `bool`.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    Text(Text<'a>),
    /// A value of an enum: its number and, if known, its name. Equal to both.
    Enum(i64, &'a str),
    /// A duration in nanoseconds.
    Duration(i64),
    /// Anything else.
    Object(O),
}

type Evaluated<'a, V> = Result<Operand<'a, <V as Values>::Object>, Undecided>;

impl Node {
    /// Returns whether it is true for a call.
    ///
    /// # Errors
    /// If it is undecided.
    pub fn holds<V: Values>(&self, values: &V) -> Result<bool, Undecided> {
        match self.evaluate(values)? {
            Operand::Bool(value) => Ok(value),
            _ => Err(Undecided),
        }
    }

    fn evaluate<'a, V: Values>(&'a self, values: &'a V) -> Evaluated<'a, V> {
        match self {
            Node::Constant(constant) => Ok(operand(constant)),
            Node::Root(root) => values.root(*root),
            Node::Field(of, name) => match of.evaluate(values)? {
                Operand::Object(object) => values.field(object, name),
                _ => Err(Undecided),
            },
            Node::Has(of, name) => match of.evaluate(values)? {
                Operand::Object(object) => {
                    Ok(Operand::Bool(!matches!(values.field(object, name)?, Operand::Null)))
                }
                _ => Err(Undecided),
            },
            Node::Not(of) => Ok(Operand::Bool(!of.holds(values)?)),
            Node::And(one, other) => either(one, other, values, false),
            Node::Or(one, other) => either(one, other, values, true),
            Node::Negate(of) => match of.evaluate(values)? {
                Operand::Int(value) => value.checked_neg().map(Operand::Int).ok_or(Undecided),
                Operand::Double(value) => Ok(Operand::Double(-value)),
                Operand::Duration(value) => value.checked_neg().map(Operand::Duration).ok_or(Undecided),
                _ => Err(Undecided),
            },
            Node::Compare(comparison, one, other) => {
                compare(*comparison, &one.evaluate(values)?, &other.evaluate(values)?).map(Operand::Bool)
            }
            Node::Arithmetic(operator, one, other) => {
                calculate(*operator, &one.evaluate(values)?, &other.evaluate(values)?)
            }
            Node::If(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.holds(values)? { yes.evaluate(values) } else { no.evaluate(values) }
            }
            Node::Size(of) => match of.evaluate(values)? {
                Operand::Text(text) => Ok(Operand::Int(text.size() as i64)),
                Operand::Object(object) => {
                    i64::try_from(values.size(object)?).map(Operand::Int).map_err(|_| Undecided)
                }
                _ => Err(Undecided),
            },
            Node::Test(test, of, by) => match (of.evaluate(values)?, by.evaluate(values)?) {
                (Operand::Text(of), Operand::Text(by)) => {
                    of.test(*test, by).map(Operand::Bool).ok_or(Undecided)
                }
                _ => Err(Undecided),
            },
            Node::In(of, list) => {
                let value = of.evaluate(values)?;
                let mut undecided = false;
                for constant in list {
                    match compare(Comparison::Equal, &value, &operand(constant)) {
                        Ok(true) => return Ok(Operand::Bool(true)),
                        Ok(false) => {}
                        Err(Undecided) => undecided = true,
                    }
                }
                if undecided { Err(Undecided) } else { Ok(Operand::Bool(false)) }
            }
            Node::Convert(number, of) => convert(*number, &of.evaluate(values)?),
        }
    }
}

/// Evaluates `&&` (`decisive` is false) or `||` (true): either side alone may decide.
fn either<'a, V: Values>(one: &'a Node, other: &'a Node, values: &'a V, decisive: bool) -> Evaluated<'a, V> {
    let first = one.holds(values);
    if first == Ok(decisive) {
        return Ok(Operand::Bool(decisive));
    }
    match (first, other.holds(values)) {
        (_, Ok(value)) if value == decisive => Ok(Operand::Bool(decisive)),
        (Ok(_), Ok(_)) => Ok(Operand::Bool(!decisive)),
        _ => Err(Undecided),
    }
}

fn operand<O>(constant: &Constant) -> Operand<'_, O> {
    match constant {
        Constant::Null => Operand::Null,
        Constant::Bool(value) => Operand::Bool(*value),
        Constant::Int(value) => Operand::Int(*value),
        Constant::UInt(value) => Operand::UInt(*value),
        Constant::Double(value) => Operand::Double(*value),
        Constant::String(text) => Operand::Text(Text::Utf8(text)),
        Constant::Duration(value) => Operand::Duration(*value),
    }
}

fn compare<O>(
    comparison: Comparison,
    one: &Operand<'_, O>,
    other: &Operand<'_, O>,
) -> Result<bool, Undecided> {
    if comparison.is_equality() {
        let equal = equals(one, other)?;
        return Ok(equal == (comparison == Comparison::Equal));
    }
    let order = match (one, other) {
        (Operand::Bool(a), Operand::Bool(b)) => Some(a.cmp(b)),
        (Operand::Duration(a), Operand::Duration(b)) => Some(a.cmp(b)),
        (Operand::Text(a), Operand::Text(b)) => Some(a.compare(*b).ok_or(Undecided)?),
        _ => numeric_order(one, other)?,
    };
    // A comparison with NaN is false.
    Ok(order.is_some_and(|order| match comparison {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

/// Values of different types are not equal, except numbers of the same value.
fn equals<O>(one: &Operand<'_, O>, other: &Operand<'_, O>) -> Result<bool, Undecided> {
    match (one, other) {
        (Operand::Null, Operand::Null) => Ok(true),
        (Operand::Bool(a), Operand::Bool(b)) => Ok(a == b),
        (Operand::Duration(a), Operand::Duration(b)) => Ok(a == b),
        (Operand::Text(a), Operand::Text(b)) => a.equals(*b).ok_or(Undecided),
        (Operand::Enum(_, name), Operand::Text(text)) | (Operand::Text(text), Operand::Enum(_, name)) => {
            text.equals(Text::Utf8(name)).ok_or(Undecided)
        }
        // Two objects may have equal fields that were not captured.
        (Operand::Object(_), Operand::Object(_)) => Err(Undecided),
        _ => Ok(numeric_order(one, other).is_ok_and(|order| order == Some(Ordering::Equal))),
    }
}

/// Returns the order of two numbers; None if one is NaN.
fn numeric_order<O>(one: &Operand<'_, O>, other: &Operand<'_, O>) -> Result<Option<Ordering>, Undecided> {
    Ok(match (one, other) {
        (Operand::Enum(value, _), other) => numeric_order(&Operand::<O>::Int(*value), other)?,
        (one, Operand::Enum(value, _)) => numeric_order(one, &Operand::<O>::Int(*value))?,
        (Operand::Int(a), Operand::Int(b)) => Some(a.cmp(b)),
        (Operand::UInt(a), Operand::UInt(b)) => Some(a.cmp(b)),
        (Operand::Int(a), Operand::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Operand::UInt(a), Operand::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Operand::Double(a), Operand::Double(b)) => a.partial_cmp(b),
        (Operand::Double(a), Operand::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Operand::Double(a), Operand::UInt(b)) => a.partial_cmp(&(*b as f64)),
        (Operand::Int(a), Operand::Double(b)) => (*a as f64).partial_cmp(b),
        (Operand::UInt(a), Operand::Double(b)) => (*a as f64).partial_cmp(b),
        _ => return Err(Undecided),
    })
}

fn calculate<'a, O>(
    operator: Arithmetic,
    one: &Operand<'_, O>,
    other: &Operand<'_, O>,
) -> Result<Operand<'a, O>, Undecided> {
    let value = match (one, other) {
        (Operand::Int(a), Operand::Int(b)) => match operator {
            Arithmetic::Add => a.checked_add(*b),
            Arithmetic::Subtract => a.checked_sub(*b),
            Arithmetic::Multiply => a.checked_mul(*b),
            Arithmetic::Divide => a.checked_div(*b),
            Arithmetic::Modulo => a.checked_rem(*b),
        }
        .map(Operand::Int),
        (Operand::UInt(a), Operand::UInt(b)) => match operator {
            Arithmetic::Add => a.checked_add(*b),
            Arithmetic::Subtract => a.checked_sub(*b),
            Arithmetic::Multiply => a.checked_mul(*b),
            Arithmetic::Divide => a.checked_div(*b),
            Arithmetic::Modulo => a.checked_rem(*b),
        }
        .map(Operand::UInt),
        (Operand::Double(a), Operand::Double(b)) => match operator {
            Arithmetic::Add => Some(a + b),
            Arithmetic::Subtract => Some(a - b),
            Arithmetic::Multiply => Some(a * b),
            Arithmetic::Divide => Some(a / b),
            Arithmetic::Modulo => None,
        }
        .map(Operand::Double),
        (Operand::Duration(a), Operand::Duration(b)) => match operator {
            Arithmetic::Add => a.checked_add(*b),
            Arithmetic::Subtract => a.checked_sub(*b),
            _ => None,
        }
        .map(Operand::Duration),
        _ => None,
    };
    value.ok_or(Undecided)
}

fn convert<'a, O>(number: NumberType, value: &Operand<'_, O>) -> Result<Operand<'a, O>, Undecided> {
    // 2^63 and 2^64, exactly.
    const INT_END: f64 = 9_223_372_036_854_775_808.0;
    const UINT_END: f64 = 18_446_744_073_709_551_616.0;
    let converted = match (number, value) {
        (number, Operand::Enum(value, _)) => return convert(number, &Operand::<O>::Int(*value)),
        (NumberType::Int, Operand::Int(value)) => Some(Operand::Int(*value)),
        (NumberType::Int, Operand::UInt(value)) => i64::try_from(*value).ok().map(Operand::Int),
        (NumberType::Int, Operand::Double(value)) => {
            (*value > -INT_END && *value < INT_END).then_some(Operand::Int(*value as i64))
        }
        (NumberType::UInt, Operand::UInt(value)) => Some(Operand::UInt(*value)),
        (NumberType::UInt, Operand::Int(value)) => u64::try_from(*value).ok().map(Operand::UInt),
        (NumberType::UInt, Operand::Double(value)) => {
            (*value >= 0.0 && *value < UINT_END).then_some(Operand::UInt(*value as u64))
        }
        (NumberType::Double, Operand::Double(value)) => Some(Operand::Double(*value)),
        (NumberType::Double, Operand::Int(value)) => Some(Operand::Double(*value as f64)),
        (NumberType::Double, Operand::UInt(value)) => Some(Operand::Double(*value as f64)),
        _ => None,
    };
    converted.ok_or(Undecided)
}
