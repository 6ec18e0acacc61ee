//! Conditions as checked against a method.

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    String(Box<str>),
    /// A duration in nanoseconds.
    Duration(i64),
}

/// A value of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The captured parameter with this index.
    Argument(u16),
    /// The captured parameter with this index, at the end of the call.
    ArgumentAfter(u16),
    /// The result.
    Result,
    /// The exception; null for a call that returned.
    Exception,
    /// The duration.
    Duration,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named like the operators
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Returns the operator.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// Whether it is `==` or `!=`.
    pub fn is_equality(self) -> bool {
        matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named like the operators
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    /// Returns the operator.
    pub fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

/// A test of a string by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named like the functions
pub enum StringTest {
    Contains,
    StartsWith,
    EndsWith,
}

impl StringTest {
    /// Returns the function's name.
    pub fn name(self) -> &'static str {
        match self {
            StringTest::Contains => "contains",
            StringTest::StartsWith => "startsWith",
            StringTest::EndsWith => "endsWith",
        }
    }
}

/// A type that a number is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named like the types
pub enum NumberType {
    Int,
    UInt,
    Double,
}

impl NumberType {
    /// Returns the function's name.
    pub fn name(self) -> &'static str {
        match self {
            NumberType::Int => "int",
            NumberType::UInt => "uint",
            NumberType::Double => "double",
        }
    }
}

/// A checked expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // named like the expressions
pub enum Node {
    Constant(Constant),
    Root(Root),
    Field(Box<Node>, Box<str>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    /// The condition, then both alternatives.
    If(Box<[Node; 3]>),
    Size(Box<Node>),
    Test(StringTest, Box<Node>, Box<Node>),
    In(Box<Node>, Box<[Constant]>),
    Has(Box<Node>, Box<str>),
    Convert(NumberType, Box<Node>),
}

/// The part of a call at whose end an expression is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// At the beginning.
    Entry,
    /// At the end.
    Exit,
}

impl Node {
    /// Returns when its value is known.
    pub fn stage(&self) -> Stage {
        match self {
            Node::Root(Root::Argument(_)) | Node::Constant(_) => Stage::Entry,
            Node::Root(_) => Stage::Exit,
            Node::Field(of, _)
            | Node::Not(of)
            | Node::Negate(of)
            | Node::Size(of)
            | Node::In(of, _)
            | Node::Has(of, _)
            | Node::Convert(_, of) => of.stage(),
            Node::And(one, other)
            | Node::Or(one, other)
            | Node::Compare(_, one, other)
            | Node::Arithmetic(_, one, other)
            | Node::Test(_, one, other) => one.stage().max(other.stage()),
            Node::If(parts) => parts.iter().map(Node::stage).max().unwrap_or(Stage::Entry),
        }
    }

    /// Returns the largest number of fields after each other, such as 2 for `order.customer.name`.
    pub fn path_length(&self) -> usize {
        match self {
            Node::Root(_) | Node::Constant(_) => 0,
            Node::Field(of, _) | Node::Has(of, _) => of.path_length() + 1,
            Node::Not(of) | Node::Negate(of) | Node::Size(of) | Node::In(of, _) | Node::Convert(_, of) => {
                of.path_length()
            }
            Node::And(one, other)
            | Node::Or(one, other)
            | Node::Compare(_, one, other)
            | Node::Arithmetic(_, one, other)
            | Node::Test(_, one, other) => one.path_length().max(other.path_length()),
            Node::If(parts) => parts.iter().map(Node::path_length).max().unwrap_or_default(),
        }
    }
}

/// A condition that fits a method: parts that must all be true.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedCondition {
    /// The parts, in the order written.
    pub parts: Vec<Node>,
}

impl CheckedCondition {
    /// Returns the parts that are known at a stage, and not earlier.
    pub fn at(&self, stage: Stage) -> impl Iterator<Item = &Node> {
        self.parts.iter().filter(move |part| part.stage() == stage)
    }
}
