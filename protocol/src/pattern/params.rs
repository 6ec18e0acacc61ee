//! Normal form of params, for comparing those of a pattern and of a method as text: no spaces, keywords for
//! their types, `&` after by-reference types, type parameters by number.

use super::names::{begins_list, closing, keyword_of, opening, split_outside};
use std::collections::HashMap;

/// Maximum nesting depth; deeper text is compared unchanged.
const MAX_DEPTH: u32 = 64;

/// Declared names of type parameters and their numbers (`!0`, `!!1`).
pub(super) type Declared<'a> = HashMap<&'a str, String>;

/// Returns the normal form of a method's canonical params.
pub(super) fn normalise_canonical(params: &str) -> String {
    let inner = params.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(params);
    // Also accepts pointers as in the printed form.
    if inner.contains('\\') {
        normalise(&inner.replace(r"\*", "*"), &Declared::new())
    } else {
        normalise(inner, &Declared::new())
    }
}

/// Returns the normal form of the text between the brackets of a pattern.
pub(super) fn normalise(inner: &str, declared: &Declared<'_>) -> String {
    let mut out = String::with_capacity(inner.len() + 2);
    out.push('(');
    if !inner.trim().is_empty() {
        list(inner, declared, MAX_DEPTH, &mut out);
    }
    out.push(')');
    out
}

fn list(inner: &str, declared: &Declared<'_>, depth: u32, out: &mut String) {
    for (index, entry) in split_outside(inner, ',').into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        parameter(entry, declared, depth, out);
    }
}

fn parameter(text: &str, declared: &Declared<'_>, depth: u32, out: &mut String) {
    let mut text = text.trim();
    let mut by_ref = false;
    while let Some((word, rest)) = text.split_once(char::is_whitespace) {
        match word {
            "ref" | "in" | "out" => by_ref = true,
            // `ref readonly int`, `params int[]`, `this Cart`, `scoped ref Span<int>`: not part of the
            // signature.
            "readonly" | "params" | "this" | "scoped" => {}
            _ => break,
        }
        text = rest.trim_start();
    }
    type_name(text, declared, depth, out);
    if by_ref {
        out.push('&');
    }
}

fn type_name(text: &str, declared: &Declared<'_>, depth: u32, out: &mut String) {
    let text = text.trim();
    let Some(depth) = depth.checked_sub(1) else {
        out.extend(text.chars().filter(|c| !c.is_whitespace()));
        return;
    };
    if let Some(element) = text.strip_suffix('?') {
        out.push_str("System.Nullable<");
        type_name(element, declared, depth, out);
        out.push('>');
        return;
    }
    if let Some(target) = text.strip_suffix(['*', '&']) {
        // `delegate*` has its star inside; for every other type the star is a suffix.
        type_name(target, declared, depth, out);
        out.push_str(&text[target.len()..]);
        return;
    }
    if let Some(open) = text.ends_with(']').then(|| opening(text)).flatten().filter(|open| *open > 0) {
        type_name(&text[..open], declared, depth, out);
        out.extend(text[open..].chars().filter(|c| !c.is_whitespace()));
        return;
    }
    named(text, declared, depth, out);
}

/// Normalises a name, possibly with lists of type arguments.
fn named(text: &str, declared: &Declared<'_>, depth: u32, out: &mut String) {
    let name: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(number) = declared.get(name.as_str()) {
        out.push_str(number);
        return;
    }
    if let Some(keyword) = keyword_of(&name) {
        out.push_str(keyword);
        return;
    }
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let Some(close) = closing(rest, open) else { break };
        out.extend(rest[..open].chars().filter(|c| !c.is_whitespace()));
        out.push('<');
        if begins_list(text, text.len() - rest.len() + open) {
            list(&rest[open + 1..close], declared, depth, out);
        } else {
            out.push_str(&rest[open + 1..close]);
        }
        out.push('>');
        rest = &rest[close + 1..];
    }
    out.extend(rest.chars().filter(|c| !c.is_whitespace()));
}
