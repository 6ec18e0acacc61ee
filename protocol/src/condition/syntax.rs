//! Conditions as parsed, before anything is known about the method.

use super::node::{Arithmetic, Comparison, Constant, NumberType, StringTest};

/// An expression with its position: the number of characters before it, or before its operator.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: u32,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Constant(Constant),
    Name(String),
    Field(Box<Expr>, String),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// The condition, then both alternatives.
    If(Box<[Expr; 3]>),
    Size(Box<Expr>),
    Test(StringTest, Box<Expr>, Box<Expr>),
    In(Box<Expr>, Vec<Expr>),
    Has(Box<Expr>, String),
    Convert(NumberType, Box<Expr>),
}
