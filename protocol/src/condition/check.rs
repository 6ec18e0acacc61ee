//! Checks a condition against the values of a method.

use super::node::{Arithmetic, CheckedCondition, Constant, Node, NumberType, Root};
use super::problem::ConditionProblem;
use super::syntax::{Expr, ExprKind};
use crate::limits::MAX_CONDITION_OFFERS;

/// The type of a value in conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `bool`.
    Bool,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    UInt,
    /// Floating-point numbers.
    Double,
    /// `string` and `char`.
    String,
    /// `TimeSpan`.
    Duration,
    /// An enum: its name, and names and values of its members.
    Enum(String, Vec<(String, i64)>),
    /// Anything else, with fields that are looked up in each object.
    Object,
    /// `null`.
    Null,
    /// A value that cannot be used; the reason, a word.
    Unavailable(String),
}

/// The values of a method.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Name, type in C# form, type in conditions and place of each parameter.
    pub parameters: Vec<(String, String, ValueType, Root)>,
    /// Type of the result in C# form and in conditions; None if the method has none.
    pub result: Option<(String, ValueType)>,
}

/// Prefix that makes a name that of a parameter.
const ARGUMENTS: &str = "args";

/// Returns the condition for a method with these values.
pub(super) fn check(expr: &Expr, scope: &Scope) -> Result<CheckedCondition, ConditionProblem> {
    let mut parts = Vec::new();
    add_parts(expr, scope, &mut parts)?;
    Ok(CheckedCondition { parts })
}

fn add_parts(expr: &Expr, scope: &Scope, parts: &mut Vec<Node>) -> Result<(), ConditionProblem> {
    if let ExprKind::And(one, other) = &expr.kind {
        add_parts(one, scope, parts)?;
        return add_parts(other, scope, parts);
    }
    parts.push(scope.bool_of(expr, "&&")?);
    Ok(())
}

impl ValueType {
    /// Returns its name for messages.
    fn name(&self) -> &str {
        match self {
            ValueType::Bool => "bool",
            ValueType::Int => "int",
            ValueType::UInt => "uint",
            ValueType::Double => "double",
            ValueType::String => "string",
            ValueType::Duration => "duration",
            ValueType::Enum(name, _) => name,
            ValueType::Object => "an object",
            ValueType::Null => "null",
            ValueType::Unavailable(_) => "an unavailable value",
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, ValueType::Int | ValueType::UInt | ValueType::Double | ValueType::Enum(..))
    }

    /// Whether values of both types may be equal.
    fn may_equal(&self, other: &ValueType) -> bool {
        let is_open = |ty: &ValueType| *ty == ValueType::Object;
        // Strings and objects may be null; `x == null` of a number is always false, and most likely a mistake.
        let may_be_null =
            |ty: &ValueType| matches!(ty, ValueType::Object | ValueType::String | ValueType::Null);
        match (self, other) {
            (ValueType::Null, ty) | (ty, ValueType::Null) => may_be_null(ty),
            _ => is_open(self) || is_open(other) || self.may_compare(other) || self == other,
        }
    }

    /// Whether one value may be less than the other.
    fn may_compare(&self, other: &ValueType) -> bool {
        let is_ordered = |ty: &ValueType| {
            matches!(ty, ValueType::Bool | ValueType::String | ValueType::Duration | ValueType::Object)
        };
        match (self, other) {
            (ValueType::Object, ty) | (ty, ValueType::Object) => ty.is_number() || is_ordered(ty),
            _ => self.is_number() && other.is_number() || self == other && is_ordered(self),
        }
    }
}

/// A checked expression with its type.
type Typed = (Node, ValueType);
type Checked = Result<Typed, ConditionProblem>;

impl Scope {
    fn check(&self, expr: &Expr) -> Checked {
        let at = expr.at;
        let wrong = |operator: &str, types: String| {
            Err(ConditionProblem::WrongTypes { at, operator: operator.to_owned(), types })
        };
        Ok(match &expr.kind {
            ExprKind::Constant(constant) => (Node::Constant(constant.clone()), type_of(constant)),
            ExprKind::Name(name) => return self.name(at, name),
            ExprKind::Field(of, field) => {
                if matches!(&of.kind, ExprKind::Name(name) if name == ARGUMENTS) && !self.has(ARGUMENTS) {
                    return self.parameter(at, field);
                }
                let of = self.object(of, field)?;
                let ty = field_type(&of, at, field)?;
                (Node::Field(Box::new(of), field.as_str().into()), ty)
            }
            ExprKind::Has(of, field) => {
                let of = self.object(of, "has")?;
                field_type(&of, at, field)?;
                (Node::Has(Box::new(of), field.as_str().into()), ValueType::Bool)
            }
            ExprKind::Not(of) => (Node::Not(Box::new(self.bool_of(of, "!")?)), ValueType::Bool),
            ExprKind::And(one, other) => {
                let (one, other) = (self.bool_of(one, "&&")?, self.bool_of(other, "&&")?);
                (Node::And(Box::new(one), Box::new(other)), ValueType::Bool)
            }
            ExprKind::Or(one, other) => {
                let (one, other) = (self.bool_of(one, "||")?, self.bool_of(other, "||")?);
                (Node::Or(Box::new(one), Box::new(other)), ValueType::Bool)
            }
            ExprKind::Negate(of) => {
                let (of, ty) = self.check(of)?;
                if !matches!(ty, ValueType::Int | ValueType::Double | ValueType::Object | ValueType::Duration)
                {
                    return wrong("-", ty.name().to_owned());
                }
                (Node::Negate(Box::new(of)), ty)
            }
            ExprKind::Compare(comparison, one, other) => {
                let (one, other) = self.both(one, other)?;
                let fits = match comparison.is_equality() {
                    true => one.1.may_equal(&other.1),
                    false => one.1.may_compare(&other.1),
                };
                if !fits {
                    return wrong(comparison.sign(), format!("{} and {}", one.1.name(), other.1.name()));
                }
                (Node::Compare(*comparison, Box::new(one.0), Box::new(other.0)), ValueType::Bool)
            }
            ExprKind::Arithmetic(operator, one, other) => {
                let (one, other) = (self.check(one)?, self.check(other)?);
                let Some(ty) = arithmetic_type(*operator, &one.1, &other.1) else {
                    return wrong(operator.sign(), arithmetic_advice(&one.1, &other.1));
                };
                (Node::Arithmetic(*operator, Box::new(one.0), Box::new(other.0)), ty)
            }
            ExprKind::If(parts) => {
                let [condition, yes, no] = &**parts;
                let condition = self.bool_of(condition, "?")?;
                let (yes, no) = (self.check(yes)?, self.check(no)?);
                let ty = if yes.1 == no.1 { yes.1 } else { ValueType::Object };
                (Node::If(Box::new([condition, yes.0, no.0])), ty)
            }
            ExprKind::Size(of) => {
                let (of, ty) = self.check(of)?;
                if !matches!(ty, ValueType::String | ValueType::Object) {
                    return wrong("size", ty.name().to_owned());
                }
                (Node::Size(Box::new(of)), ValueType::Int)
            }
            ExprKind::Test(test, of, by) => {
                let (of, by) = (self.check(of)?, self.check(by)?);
                let is_text = |ty: &ValueType| matches!(ty, ValueType::String | ValueType::Object);
                if !is_text(&of.1) || !is_text(&by.1) {
                    return wrong(test.name(), format!("{} and {}", of.1.name(), by.1.name()));
                }
                (Node::Test(*test, Box::new(of.0), Box::new(by.0)), ValueType::Bool)
            }
            ExprKind::In(of, list) => {
                let (of, ty) = self.check(of)?;
                let mut constants = Vec::new();
                for item in list {
                    let (node, item_type) =
                        self.named_value(&ty, item)?.map_or_else(|| self.check(item), Ok)?;
                    let Node::Constant(constant) = node else {
                        let wanted = "a literal".into();
                        return Err(ConditionProblem::Expected { at: item.at, wanted });
                    };
                    if !ty.may_equal(&item_type) {
                        return wrong("in", format!("{} and {}", ty.name(), item_type.name()));
                    }
                    constants.push(constant);
                }
                (Node::In(Box::new(of), constants.into()), ValueType::Bool)
            }
            ExprKind::Convert(number, of) => {
                let (of, ty) = self.check(of)?;
                if !ty.is_number() && ty != ValueType::Object {
                    return wrong(number.name(), ty.name().to_owned());
                }
                let ty = match number {
                    NumberType::Int => ValueType::Int,
                    NumberType::UInt => ValueType::UInt,
                    NumberType::Double => ValueType::Double,
                };
                (Node::Convert(*number, Box::new(of)), ty)
            }
        })
    }

    fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(of, ..)| of == name)
    }

    /// Checks an operand that must be a `bool`.
    fn bool_of(&self, expr: &Expr, operator: &str) -> Result<Node, ConditionProblem> {
        let (node, ty) = self.check(expr)?;
        match ty {
            ValueType::Bool | ValueType::Object => Ok(node),
            ty => Err(ConditionProblem::WrongTypes {
                at: expr.at,
                operator: operator.to_owned(),
                types: format!("{}; it takes bool", ty.name()),
            }),
        }
    }

    /// Checks what a field is taken from.
    fn object(&self, expr: &Expr, operator: &str) -> Result<Node, ConditionProblem> {
        let (node, ty) = self.check(expr)?;
        match ty {
            ValueType::Object => Ok(node),
            ty => Err(ConditionProblem::WrongTypes {
                at: expr.at,
                operator: format!(".{operator}"),
                types: ty.name().to_owned(),
            }),
        }
    }

    /// Checks both sides of a comparison; a text beside an enum is one of its values.
    fn both(&self, one: &Expr, other: &Expr) -> Result<(Typed, Typed), ConditionProblem> {
        let (left, right) = (self.check(one)?, self.check(other)?);
        if let Some(value) = self.named_value(&left.1, other)? {
            return Ok((left, value));
        }
        if let Some(value) = self.named_value(&right.1, one)? {
            return Ok((value, right));
        }
        Ok((left, right))
    }

    /// Returns the value of an enum that a literal names; None if either is something else.
    fn named_value(&self, ty: &ValueType, expr: &Expr) -> Result<Option<Typed>, ConditionProblem> {
        let (ValueType::Enum(enum_name, values), ExprKind::Constant(Constant::String(name))) =
            (ty, &expr.kind)
        else {
            return Ok(None);
        };
        match values.iter().find(|(of, _)| **of == **name) {
            Some((_, value)) => Ok(Some((Node::Constant(Constant::Int(*value)), ty.clone()))),
            None => Err(ConditionProblem::UnknownEnumValue {
                at: expr.at,
                name: name.to_string(),
                enum_name: enum_name.clone(),
                offers: values.iter().map(|(name, _)| name.clone()).take(MAX_CONDITION_OFFERS).collect(),
            }),
        }
    }

    fn name(&self, at: u32, name: &str) -> Checked {
        match (name, &self.result) {
            ("result", Some((_, ValueType::Unavailable(why)))) => {
                let (name, why) = (name.to_owned(), why.clone());
                Err(ConditionProblem::Unavailable { at, name, why })
            }
            ("result", Some((_, ty))) => Ok((Node::Root(Root::Result), ty.clone())),
            ("exception", _) => Ok((Node::Root(Root::Exception), ValueType::Object)),
            ("duration", _) => Ok((Node::Root(Root::Duration), ValueType::Duration)),
            ("result", None) if !self.has(name) => Err(self.unknown(at, name)),
            _ => self.parameter(at, name),
        }
    }

    fn parameter(&self, at: u32, name: &str) -> Checked {
        let found = self.parameters.iter().find(|(of, ..)| of == name);
        match found.or_else(|| self.parameters.iter().find(|(of, ..)| of.strip_prefix('@') == Some(name))) {
            Some((name, _, ValueType::Unavailable(why), _)) => {
                Err(ConditionProblem::Unavailable { at, name: name.clone(), why: why.clone() })
            }
            Some((_, _, ty, root)) => Ok((Node::Root(*root), ty.clone())),
            None => Err(self.unknown(at, name)),
        }
    }

    fn unknown(&self, at: u32, name: &str) -> ConditionProblem {
        let is_taken = |name: &str| {
            matches!(name, "exception" | "duration") || name == "result" && self.result.is_some()
        };
        let parameters =
            self.parameters.iter().filter(|(name, ..)| !name.is_empty()).map(|(name, ty, ..)| {
                let prefix = if is_taken(name) { "args." } else { "" };
                format!("{prefix}{name} ({ty})")
            });
        let result = self.result.iter().map(|(ty, _)| format!("result ({ty})"));
        let always = ["exception", "duration"].map(str::to_owned);
        let offers = parameters.take(MAX_CONDITION_OFFERS - 3).chain(result).chain(always).collect();
        ConditionProblem::UnknownName { at, name: name.to_owned(), offers }
    }
}

/// Returns the type of a field, as far as it is known before a call.
fn field_type(of: &Node, at: u32, field: &str) -> Result<ValueType, ConditionProblem> {
    match (of, field) {
        (Node::Root(Root::Exception), "type" | "message" | "Message") => Ok(ValueType::String),
        (Node::Root(Root::Exception), _) => Err(ConditionProblem::UnknownName {
            at,
            name: format!("exception.{field}"),
            offers: ["exception.type (string)", "exception.message (string)"].map(str::to_owned).into(),
        }),
        _ => Ok(ValueType::Object),
    }
}

fn type_of(constant: &Constant) -> ValueType {
    match constant {
        Constant::Null => ValueType::Null,
        Constant::Bool(_) => ValueType::Bool,
        Constant::Int(_) => ValueType::Int,
        Constant::UInt(_) => ValueType::UInt,
        Constant::Double(_) => ValueType::Double,
        Constant::String(_) => ValueType::String,
        Constant::Duration(_) => ValueType::Duration,
    }
}

/// Returns the type of a result; None if the operator does not take these types.
fn arithmetic_type(operator: Arithmetic, one: &ValueType, other: &ValueType) -> Option<ValueType> {
    let fits = |ty: &ValueType| match ty {
        ValueType::Int | ValueType::UInt | ValueType::Object => true,
        ValueType::Double => operator != Arithmetic::Modulo,
        ValueType::Duration => matches!(operator, Arithmetic::Add | Arithmetic::Subtract),
        _ => false,
    };
    match (one, other) {
        (ValueType::Object, ty) | (ty, ValueType::Object) => fits(ty).then_some(ValueType::Object),
        _ => (one == other && fits(one)).then(|| one.clone()),
    }
}

fn arithmetic_advice(one: &ValueType, other: &ValueType) -> String {
    let convert = match (one, other) {
        _ if one == other || !one.is_number() || !other.is_number() => "",
        (ValueType::Double, _) | (_, ValueType::Double) => "; convert one with double()",
        (ValueType::UInt, _) | (_, ValueType::UInt) => "; convert one with int(), or write numbers as 1u",
        _ => "; convert one with int()",
    };
    format!("{} and {}{convert}", one.name(), other.name())
}
