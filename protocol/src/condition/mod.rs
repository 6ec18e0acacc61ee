//! Conditions on traced calls: a subset of CEL, the Common Expression Language, over a method's arguments, result,
//! exception and duration.
//!
//! Owns the grammar, the types and the meaning; pure. It must not know where values come from ([`Values`]).
//!
//! # Grammar
//! - Literals: `true`, `false`, `null`, `12`, `0x1F`, `12u`, `1.5`, `"text"`, `'text'`, `duration("10ms")`.
//! - Operators as in CEL, weakest first: `a ? b : c`, `||`, `&&`, `== != < <= > >= in`, `+ -`, `* / %`, `! -`, `.field`.
//!   `x in [1, 2]` takes a list of literals.
//! - Functions: `size(x)`, `x.size()`, `x.contains(y)`, `x.startsWith(y)`, `x.endsWith(y)`, `has(x.field)`, `int(x)`,
//!   `uint(x)`, `double(x)`.
//! - Names: the method's parameters, `this`, `result`, `exception` (null, or an object with `type` and `message`), `duration`.
//!   A parameter with one of the last three names is `args.result`, and so on; `args.` works for every parameter.
//!
//! # Meaning
//! As in CEL: arithmetic takes two numbers of one type and fails beyond its range; comparisons take any two numbers. A
//! part that fails, or whose value was not captured, is undecided. `false && undecided` is false and `true || undecided`
//! is true; a call whose whole condition is undecided is counted, not kept. Signed integers of C#
//! are `int`, unsigned ones `uint`, `float` and `decimal` are `double`, `char` is a string, an enum is `int` and compares
//! with the names of its values, `TimeSpan` is a duration. The size of a string counts code points.

mod check;
mod evaluate;
mod lexer;
mod node;
mod parser;
mod problem;
mod syntax;
mod text;

pub use check::{Scope, ValueType};
pub use evaluate::{Operand, Undecided, Values};
pub use node::{CheckedCondition, Comparison, Constant, Node, Root, Stage};
pub use problem::{ConditionError, ConditionProblem};
pub use text::Text;

use syntax::{Expr, ExprKind};

/// A condition as written, parsed. Two are equal if their texts are.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    expr: Expr,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        self.text == other.text
    }
}

impl Eq for Condition {}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// The first problem, with its position.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let text = text.trim().to_owned();
        match parser::parse(&text) {
            Ok(expr) => Ok(Condition { text, expr }),
            Err(problem) => Err(ConditionError { text, problem }),
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its outermost operator says something is true or false. Otherwise it is a name, literal or calculation,
    /// which any other text may look like.
    pub fn is_test(&self) -> bool {
        !matches!(
            self.expr.kind,
            ExprKind::Constant(_)
                | ExprKind::Name(_)
                | ExprKind::Field(..)
                | ExprKind::Negate(_)
                | ExprKind::Arithmetic(..)
                | ExprKind::Size(_)
                | ExprKind::Convert(..)
        )
    }

    /// Checks it against the values of a method.
    ///
    /// # Errors
    /// The first problem, with its position.
    pub fn check(&self, scope: &Scope) -> Result<CheckedCondition, ConditionProblem> {
        check::check(&self.expr, scope)
    }
}

#[cfg(test)]
mod tests;
