//! Splits a condition into tokens.

use super::problem::ConditionProblem;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(u64),
    UInt(u64),
    Double(f64),
    String(String),
    Sign(&'static str),
    End,
}

/// Two characters come before one.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "=",
];

/// Returns the tokens with their positions; the last one is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(u32, Token)>, ConditionProblem> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = chars.get(at).copied() {
        let start = at;
        if first.is_whitespace() {
            at += 1;
            continue;
        }
        let token = if first.is_alphabetic() || first == '_' || first == '@' {
            at += 1;
            Token::Name(take_while(&chars, &mut at, start, |c| c.is_alphanumeric() || c == '_'))
        } else if first.is_ascii_digit() {
            number(&chars, &mut at)?
        } else if first == '"' || first == '\'' {
            string(&chars, &mut at)?
        } else {
            let rest: String = chars.iter().skip(at).take(2).collect();
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let Some(sign) = sign.filter(|sign| *sign != "=") else {
                let wanted = if first == '=' { "'=='" } else { "a value or an operator" };
                return Err(ConditionProblem::Expected { at: start as u32, wanted: wanted.into() });
            };
            at += sign.len();
            Token::Sign(sign)
        };
        tokens.push((start as u32, token));
    }
    tokens.push((chars.len() as u32, Token::End));
    Ok(tokens)
}

fn take_while(chars: &[char], at: &mut usize, start: usize, wanted: impl Fn(char) -> bool) -> String {
    while chars.get(*at).is_some_and(|c| wanted(*c)) {
        *at += 1;
    }
    chars.get(start..*at).unwrap_or_default().iter().collect()
}

fn number(chars: &[char], at: &mut usize) -> Result<Token, ConditionProblem> {
    let start = *at;
    let bad = |text: String| ConditionProblem::BadLiteral { at: start as u32, text, kind: "number".into() };
    let is_hex = chars.get(start) == Some(&'0') && matches!(chars.get(start + 1), Some('x' | 'X'));
    let mut text = if is_hex {
        *at += 2;
        take_while(chars, at, start + 2, |c| c.is_ascii_hexdigit())
    } else {
        take_while(chars, at, start, |c| c.is_ascii_digit())
    };
    let mut is_double = false;
    if !is_hex && chars.get(*at) == Some(&'.') && chars.get(*at + 1).is_some_and(char::is_ascii_digit) {
        is_double = true;
        *at += 1;
        text = take_while(chars, at, start, |c| c.is_ascii_digit());
    }
    if !is_hex && matches!(chars.get(*at), Some('e' | 'E')) {
        is_double = true;
        *at += 1;
        if matches!(chars.get(*at), Some('+' | '-')) {
            *at += 1;
        }
        text = take_while(chars, at, start, |c| c.is_ascii_digit());
    }
    let is_unsigned = !is_double && matches!(chars.get(*at), Some('u' | 'U'));
    if is_unsigned {
        *at += 1;
    }
    if chars.get(*at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
        return Err(bad(take_while(chars, at, start, |c| c.is_alphanumeric() || c == '_')));
    }
    if is_double {
        return text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map(Token::Double)
            .ok_or(bad(text));
    }
    let value = u64::from_str_radix(&text, if is_hex { 16 } else { 10 });
    match value {
        Ok(value) if is_unsigned => Ok(Token::UInt(value)),
        Ok(value) => Ok(Token::Int(value)),
        Err(_) => Err(bad(text)),
    }
}

fn string(chars: &[char], at: &mut usize) -> Result<Token, ConditionProblem> {
    let start = *at;
    let quote = chars.get(start).copied();
    let bad = |end: usize| ConditionProblem::BadLiteral {
        at: start as u32,
        text: chars.get(start..end.min(chars.len())).unwrap_or_default().iter().collect(),
        kind: "text; it needs a closing quote, and the escapes are \\\" \\' \\\\ \\n \\r \\t \\uXXXX".into(),
    };
    let mut text = String::new();
    *at += 1;
    loop {
        let Some(c) = chars.get(*at).copied() else { return Err(bad(chars.len())) };
        *at += 1;
        if Some(c) == quote {
            return Ok(Token::String(text));
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        let escape = chars.get(*at).copied();
        *at += 1;
        text.push(match escape {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('"' | '\'' | '\\')) => c,
            Some('u') => {
                let digits: String = chars.get(*at..*at + 4).unwrap_or_default().iter().collect();
                *at += 4;
                let unit = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4);
                unit.and_then(char::from_u32).ok_or_else(|| bad(*at))?
            }
            _ => return Err(bad(*at)),
        });
    }
}
