//! Parses a pattern as typed.

use super::error::PatternError;
use super::glob::{Glob, STAR};
use super::matching::{Pattern, Split, Target};
use super::names::{cut_list, metadata_of_keyword, opening, split_outside};
use super::params::{self, Declared};
use super::selectors::{Selected, cut_selectors, is_any};
use crate::limits::{MAX_PATTERN, MAX_PATTERN_DOTS};

impl Pattern {
    /// Parses a pattern as typed.
    ///
    /// # Errors
    /// A sentence that says what is wrong and where.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        parse(text)
    }
}

fn parse(text: &str) -> Result<Pattern, PatternError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(PatternError::Empty);
    }
    if text.len() > MAX_PATTERN {
        return Err(PatternError::TooLong { length: text.len() });
    }
    let unescaped = unescape(text)?;
    let pattern = || text.to_owned();
    let (names, params) =
        cut_params(&unescaped).ok_or_else(|| PatternError::Brackets { pattern: pattern() })?;
    let (assembly, body) = match cut_assembly(names) {
        Some((assembly, body)) => (Some(without_spaces(assembly)), without_spaces(body)),
        None => (None, without_spaces(names)),
    };
    if assembly.as_ref().is_some_and(String::is_empty) {
        return Err(PatternError::NoAssembly { pattern: pattern() });
    }
    if body.is_empty() {
        return Err(PatternError::NoMethod { pattern: pattern() });
    }
    let Selected { attributes, implements, names } = cut_selectors(&body, text)?;
    if names.is_empty() && params.is_some() {
        return Err(PatternError::NoMethod { pattern: pattern() });
    }
    if let Some(inner) = params {
        check_params(inner, text)?;
    }
    let assembly = assembly.map(Glob::new);
    let by_metadata = implements || !attributes.is_empty();
    let token =
        names.get(..2).filter(|start| start.eq_ignore_ascii_case("0x")).map(|_| token(names)).transpose()?;
    let target = match token {
        Some(_) if by_metadata => return Err(PatternError::SelectedToken { pattern: pattern() }),
        Some(token) => {
            if params.is_some() || assembly.as_ref().is_none_or(Glob::has_wildcard) {
                return Err(PatternError::TokenAlone { pattern: pattern() });
            }
            Target::Token(token)
        }
        None if implements => {
            Target::Implements { splits: member_splits(names, params)?, body: names.to_owned() }
        }
        // Nothing after the attributes stands for all methods that carry them.
        None => Target::Named { splits: splits(names, params)?, body: names.to_owned() },
    };
    let wildcard = by_metadata || unescaped.contains(STAR);
    Ok(Pattern { wildcard, text: text.to_owned(), assembly, attributes, target })
}

/// Replaces wildcards with [`STAR`] and removes escapes.
fn unescape(text: &str) -> Result<String, PatternError> {
    if let Some(index) = text.chars().position(char::is_control) {
        return Err(PatternError::Control { escaped: text.escape_debug().collect(), position: index + 1 });
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().enumerate();
    while let Some((index, c)) = chars.next() {
        match c {
            '*' => out.push(STAR),
            '\\' => match chars.next() {
                Some((_, escaped @ ('*' | '\\'))) => out.push(escaped),
                _ => return Err(PatternError::Backslash { pattern: text.to_owned(), position: index + 1 }),
            },
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Splits the text into the names and the text between the final brackets, if any; None if the brackets do not
/// match.
fn cut_params(text: &str) -> Option<(&str, Option<&str>)> {
    if text.ends_with(')') {
        let open = opening(text)?;
        return text[open..].starts_with('(').then(|| (&text[..open], Some(&text[open + 1..text.len() - 1])));
    }
    // Round brackets inside <…> can be part of a method's name, for explicit implementations of generic
    // interfaces. Those inside […] get an error of their own.
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '<' | '[' => open.push(c),
            '(' if open.is_empty() => return None,
            '(' => open.push(c),
            '>' if open.last() == Some(&'<') => drop(open.pop()),
            ']' if open.last() == Some(&'[') => drop(open.pop()),
            ')' if open.last() == Some(&'(') => drop(open.pop()),
            ')' => return None,
            _ => {}
        }
    }
    (!open.contains(&'(')).then_some((text, None))
}

/// Splits at the first `!` outside brackets.
fn cut_assembly(names: &str) -> Option<(&str, &str)> {
    let first = split_outside(names, '!').first()?.len();
    Some((&names[..first], names.get(first + 1..)?))
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn check_params(inner: &str, text: &str) -> Result<(), PatternError> {
    let pattern = || text.to_owned();
    let balanced = |open, close| inner.matches(open).count() == inner.matches(close).count();
    if !(balanced('<', '>') && balanced('(', ')') && balanced('[', ']')) {
        return Err(PatternError::Brackets { pattern: pattern() });
    }
    if inner.trim().is_empty() {
        return Ok(());
    }
    for (index, parameter) in split_outside(inner, ',').into_iter().enumerate() {
        if parameter.trim().is_empty() {
            return Err(PatternError::EmptyParameter { pattern: pattern(), position: index + 1 });
        }
        if parameter.trim_start().starts_with('(') {
            return Err(PatternError::Tuple {
                pattern: pattern(),
                tuple: parameter.trim().replace(STAR, "*"),
            });
        }
    }
    Ok(())
}

fn token(body: &str) -> Result<u32, PatternError> {
    let bad = || PatternError::BadToken { token: body.replace(STAR, "*") };
    let digits =
        body.get(2..).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())).ok_or_else(bad)?;
    let token = u32::from_str_radix(digits, 16).map_err(|_| bad())?;
    // Table 6 is MethodDef (ECMA-335 II.22.26); row 0 does not exist.
    if token >> 24 == 6 && token & 0x00ff_ffff != 0 { Ok(token) } else { Err(bad()) }
}

fn splits(body: &str, params: Option<&str>) -> Result<Vec<Split>, PatternError> {
    if is_any(body) {
        return Ok(vec![split("\0", "\0", params)]);
    }
    let dots = dots(body)?;
    Ok(dots.into_iter().map(|dot| split(&body[..dot], &body[dot + 1..], params)).collect())
}

/// Like [`splits`], but the whole may also be a type, for all its members.
fn member_splits(names: &str, params: Option<&str>) -> Result<Vec<Split>, PatternError> {
    let whole = split(names, "\0", params);
    let dots = dots(names)?.into_iter().map(|dot| split(&names[..dot], &names[dot + 1..], params));
    Ok(std::iter::once(whole).chain(dots).collect())
}

/// Returns the places of the dots outside brackets.
fn dots(body: &str) -> Result<Vec<usize>, PatternError> {
    let mut dots = Vec::new();
    let mut position = 0;
    for part in split_outside(body, '.') {
        position += part.len();
        dots.push(position);
        position += 1;
    }
    dots.pop();
    if dots.len() > MAX_PATTERN_DOTS {
        return Err(PatternError::TooManyDots { dots: dots.len() });
    }
    Ok(dots)
}

fn split(type_half: &str, method_half: &str, params: Option<&str>) -> Split {
    let mut declared = Declared::new();
    let type_name = metadata_type(type_half, &mut declared);
    let (method, list) = cut_list(method_half);
    if let Some(entries) = &list {
        declare(entries, "!!", 0, &mut declared);
    }
    let method = Glob::new(method.to_owned());
    let arity = match &list {
        Some(entries) => Some(entries.len() as u32),
        // With params the pattern means one overload, as printed.
        None if params.is_some() && !method.has_wildcard() => Some(0),
        None => None,
    };
    let params = params.map(|inner| Glob::new(params::normalise(inner, &declared)));
    Split { type_name: Glob::new(type_name), method, arity, params }
}

/// Returns the metadata form of a type half and records the type parameters it declares.
pub(super) fn metadata_type<'a>(half: &'a str, declared: &mut Declared<'a>) -> String {
    if let Some(name) = metadata_of_keyword(half) {
        return name;
    }
    let mut out = String::with_capacity(half.len());
    let mut count = 0;
    for (index, segment) in split_outside(half, '+').into_iter().enumerate() {
        if index > 0 {
            out.push('+');
        }
        let (name, list) = cut_list(segment);
        out.push_str(name);
        if let Some(entries) = list {
            out.push('`');
            out.push_str(&entries.len().to_string());
            declare(&entries, "!", count, declared);
            count += entries.len();
        }
    }
    out
}

/// Records names. Keywords, wildcards and empty entries (`List<int>`, `List<*>`, `List<>`) only count.
fn declare<'a>(entries: &[&'a str], prefix: &str, first: usize, declared: &mut Declared<'a>) {
    for (index, entry) in entries.iter().enumerate() {
        if !entry.is_empty() && !entry.contains(STAR) && metadata_of_keyword(entry).is_none() {
            declared.insert(entry, format!("{prefix}{}", first + index));
        }
    }
}
