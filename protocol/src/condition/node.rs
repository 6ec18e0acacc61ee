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
    /// Iterates over its operands.
    fn operands(&self) -> impl Iterator<Item = &Node> {
        let all = match self {
            Node::Root(_) | Node::Constant(_) => [None; 3],
            Node::Field(of, _)
            | Node::Not(of)
            | Node::Negate(of)
            | Node::Size(of)
            | Node::In(of, _)
            | Node::Has(of, _)
            | Node::Convert(_, of) => [Some(&**of), None, None],
            Node::And(one, other)
            | Node::Or(one, other)
            | Node::Compare(_, one, other)
            | Node::Arithmetic(_, one, other)
            | Node::Test(_, one, other) => [Some(&**one), Some(&**other), None],
            Node::If(parts) => parts.each_ref().map(Some),
        };
        all.into_iter().flatten()
    }

    /// Returns when its value is known.
    pub fn stage(&self) -> Stage {
        match self {
            Node::Root(Root::Argument(_)) => Stage::Entry,
            Node::Root(_) => Stage::Exit,
            _ => self.operands().map(Node::stage).max().unwrap_or(Stage::Entry),
        }
    }

    /// Returns the largest number of fields after each other, such as 2 for `order.customer.name`.
    pub fn path_length(&self) -> usize {
        let own = usize::from(matches!(self, Node::Field(..) | Node::Has(..)));
        own + self.operands().map(Node::path_length).max().unwrap_or_default()
    }

    /// Whether it uses this field of a value of the call.
    pub fn has_field_of(&self, root: Root, field: &str) -> bool {
        let is_it = match self {
            Node::Field(of, name) | Node::Has(of, name) => **of == Node::Root(root) && **name == *field,
            _ => false,
        };
        is_it || self.operands().any(|operand| operand.has_field_of(root, field))
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
