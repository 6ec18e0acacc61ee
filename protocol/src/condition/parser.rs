//! Parses a condition.

use super::lexer::{Token, tokens};
use super::node::{Arithmetic, Comparison, Constant, NumberType, StringTest};
use super::problem::ConditionProblem;
use super::syntax::{Expr, ExprKind};
use crate::duration;
use crate::limits::{MAX_CONDITION_CHARS, MAX_CONDITION_DEPTH, MAX_CONDITION_NODES};

type Parsed = Result<Expr, ConditionProblem>;

/// Parses a condition.
pub(super) fn parse(text: &str) -> Parsed {
    if text.chars().count() > MAX_CONDITION_CHARS {
        return Err(ConditionProblem::TooLong { at: MAX_CONDITION_CHARS as u32 });
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens, next: 0, nodes: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.expected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<(u32, Token)>,
    next: usize,
    nodes: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn at(&self) -> u32 {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |(at, _)| *at)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        self.next += usize::from(found);
        found
    }

    fn needs(&mut self, sign: &'static str) -> Result<(), ConditionProblem> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(&format!("'{sign}'"))) }
    }

    fn expected(&self, wanted: &str) -> ConditionProblem {
        ConditionProblem::Expected { at: self.at(), wanted: wanted.to_owned() }
    }

    fn node(&mut self, at: u32, kind: ExprKind) -> Parsed {
        self.nodes += 1;
        if self.nodes > MAX_CONDITION_NODES {
            return Err(ConditionProblem::TooLong { at });
        }
        Ok(Expr { at, kind })
    }

    /// Parses a part that may nest without end.
    fn nested(&mut self, parse: impl FnOnce(&mut Parser) -> Parsed) -> Parsed {
        if self.depth == MAX_CONDITION_DEPTH {
            return Err(ConditionProblem::TooLong { at: self.at() });
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed {
        self.nested(|parser| {
            let condition = parser.or()?;
            let at = parser.at();
            if !parser.takes("?") {
                return Ok(condition);
            }
            let yes = parser.or()?;
            parser.needs(":")?;
            let no = parser.expression()?;
            parser.node(at, ExprKind::If(Box::new([condition, yes, no])))
        })
    }

    /// Parses operators of one strength from left to right. `of` returns the expression for a sign.
    fn left_to_right(
        &mut self,
        operand: fn(&mut Parser) -> Parsed,
        of: impl Fn(&'static str, Box<Expr>, Box<Expr>) -> ExprKind,
        signs: &[&'static str],
    ) -> Parsed {
        let mut left = operand(self)?;
        // Each operator makes the tree deeper.
        let depth = self.depth;
        loop {
            let at = self.at();
            let Some(sign) = signs.iter().find(|sign| self.takes(sign)) else { break };
            self.depth += 1;
            if self.depth > MAX_CONDITION_DEPTH {
                return Err(ConditionProblem::TooLong { at });
            }
            let right = operand(self)?;
            left = self.node(at, of(sign, Box::new(left), Box::new(right)))?;
            if !matches!(*sign, "&&" | "||" | "+" | "-" | "*" | "/" | "%") {
                break;
            }
        }
        self.depth = depth;
        Ok(left)
    }

    fn or(&mut self) -> Parsed {
        self.left_to_right(Parser::and, |_, one, other| ExprKind::Or(one, other), &["||"])
    }

    fn and(&mut self) -> Parsed {
        self.left_to_right(Parser::comparison, |_, one, other| ExprKind::And(one, other), &["&&"])
    }

    fn comparison(&mut self) -> Parsed {
        let compare = |sign, one, other| {
            let comparison = match sign {
                "==" => Comparison::Equal,
                "!=" => Comparison::NotEqual,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                _ => Comparison::GreaterOrEqual,
            };
            ExprKind::Compare(comparison, one, other)
        };
        let left = self.left_to_right(Parser::sum, compare, &["==", "!=", "<=", ">=", "<", ">"])?;
        let at = self.at();
        if *self.peek() != Token::Name("in".into()) {
            return Ok(left);
        }
        self.next += 1;
        self.needs("[")?;
        let mut list = Vec::new();
        while !self.takes("]") {
            if !list.is_empty() {
                self.needs(",")?;
            }
            list.push(self.unary()?);
        }
        self.node(at, ExprKind::In(Box::new(left), list))
    }

    fn sum(&mut self) -> Parsed {
        let sum = |sign, one, other| {
            let operator = if sign == "+" { Arithmetic::Add } else { Arithmetic::Subtract };
            ExprKind::Arithmetic(operator, one, other)
        };
        self.left_to_right(Parser::product, sum, &["+", "-"])
    }

    fn product(&mut self) -> Parsed {
        let product = |sign, one, other| {
            let operator = match sign {
                "*" => Arithmetic::Multiply,
                "/" => Arithmetic::Divide,
                _ => Arithmetic::Modulo,
            };
            ExprKind::Arithmetic(operator, one, other)
        };
        self.left_to_right(Parser::unary, product, &["*", "/", "%"])
    }

    fn unary(&mut self) -> Parsed {
        self.nested(|parser| {
            let at = parser.at();
            if parser.takes("!") {
                let of = parser.unary()?;
                return parser.node(at, ExprKind::Not(Box::new(of)));
            }
            if !parser.takes("-") {
                return parser.member();
            }
            if let Token::Int(value) = *parser.peek() {
                parser.next += 1;
                let negative = 0_i64.checked_sub_unsigned(value);
                let bad =
                    || ConditionProblem::BadLiteral { at, text: format!("-{value}"), kind: "number".into() };
                return parser.node(at, ExprKind::Constant(Constant::Int(negative.ok_or_else(bad)?)));
            }
            let of = parser.unary()?;
            parser.node(at, ExprKind::Negate(Box::new(of)))
        })
    }

    fn member(&mut self) -> Parsed {
        let mut of = self.primary()?;
        let depth = self.depth;
        loop {
            let at = self.at();
            if !self.takes(".") {
                self.depth = depth;
                return Ok(of);
            }
            self.depth += 1;
            if self.depth > MAX_CONDITION_DEPTH {
                return Err(ConditionProblem::TooLong { at });
            }
            let at = self.at();
            let Token::Name(name) = self.take() else {
                self.next -= 1;
                return Err(self.expected("the name of a field or function"));
            };
            if !self.takes("(") {
                of = self.node(at, ExprKind::Field(Box::new(of), name))?;
                continue;
            }
            let test = match name.as_str() {
                "size" => {
                    self.needs(")")?;
                    of = self.node(at, ExprKind::Size(Box::new(of)))?;
                    continue;
                }
                "contains" => StringTest::Contains,
                "startsWith" => StringTest::StartsWith,
                "endsWith" => StringTest::EndsWith,
                _ => return Err(ConditionProblem::UnknownFunction { at, name }),
            };
            let by = self.expression()?;
            self.needs(")")?;
            of = self.node(at, ExprKind::Test(test, Box::new(of), Box::new(by)))?;
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let constant = match self.take() {
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.needs(")")?;
                return Ok(inner);
            }
            Token::Int(value) => match i64::try_from(value) {
                Ok(value) => Constant::Int(value),
                Err(_) => {
                    let kind = "signed number; write it with a u at the end".into();
                    return Err(ConditionProblem::BadLiteral { at, text: value.to_string(), kind });
                }
            },
            Token::UInt(value) => Constant::UInt(value),
            Token::Double(value) => Constant::Double(value),
            Token::String(text) => Constant::String(text.into()),
            Token::Name(name) => match name.as_str() {
                "true" => Constant::Bool(true),
                "false" => Constant::Bool(false),
                "null" => Constant::Null,
                _ if self.takes("(") => return self.function(at, name),
                "in" => {
                    self.next -= 1;
                    return Err(self.expected("a value"));
                }
                _ => return self.node(at, ExprKind::Name(name)),
            },
            Token::Sign(_) | Token::End => {
                self.next -= 1;
                return Err(self.expected("a value"));
            }
        };
        self.node(at, ExprKind::Constant(constant))
    }

    fn function(&mut self, at: u32, name: String) -> Parsed {
        let number = match name.as_str() {
            "duration" => {
                let at = self.at();
                let Token::String(text) = self.take() else {
                    self.next -= 1;
                    return Err(self.expected("a duration in quotes, such as \"10ms\""));
                };
                self.needs(")")?;
                let ns = duration::parse_threshold(&text).ok().and_then(|ns| i64::try_from(ns).ok());
                let bad =
                    ConditionProblem::BadLiteral { at, text, kind: "duration; write it like 10ms".into() };
                return self.node(at, ExprKind::Constant(Constant::Duration(ns.ok_or(bad)?)));
            }
            "size" => None,
            "has" => {
                let inner = self.expression()?;
                let ExprKind::Field(of, field) = inner.kind else {
                    let wanted = "a field, as in has(order.customer)".into();
                    return Err(ConditionProblem::Expected { at: inner.at, wanted });
                };
                self.needs(")")?;
                return self.node(at, ExprKind::Has(of, field));
            }
            "int" => Some(NumberType::Int),
            "uint" => Some(NumberType::UInt),
            "double" => Some(NumberType::Double),
            _ => return Err(ConditionProblem::UnknownFunction { at, name }),
        };
        let of = Box::new(self.expression()?);
        self.needs(")")?;
        let kind = match number {
            Some(number) => ExprKind::Convert(number, of),
            None => ExprKind::Size(of),
        };
        self.node(at, kind)
    }
}
