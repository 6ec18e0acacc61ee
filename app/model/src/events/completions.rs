//! Completions of names in conditions.

use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, Value};
use std::ops::Range;

/// Most completions offered at once.
const MAX_OFFERED: usize = 12;

/// Functions and names that every method has, each with its meaning.
const ALWAYS: [(&str, &str); 12] = [
    ("exception", "null, or the exception"),
    ("duration", "duration of the call"),
    ("duration(\"10ms\")", "a duration"),
    ("size(", "length of a text or collection"),
    ("has(", "whether a field is not null"),
    ("int(", "converts a number"),
    ("uint(", "converts a number"),
    ("double(", "converts a number"),
    ("true", ""),
    ("false", ""),
    ("null", ""),
    ("in [", "one of several literals"),
];

/// Functions of a text.
const OF_TEXT: [(&str, &str); 4] = [
    ("contains(", "whether it contains a text"),
    ("startsWith(", "whether it begins with a text"),
    ("endsWith(", "whether it ends with a text"),
    ("size()", "its length"),
];

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// Its type or meaning.
    pub note: String,
}

/// Completions of the word before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The word to replace, in characters.
    pub range: Range<usize>,
    /// The completions, best first.
    pub offers: Vec<Completion>,
}

/// Returns completions for the word before the cursor, which is a number of characters. `method` and `call` are the method
/// and its latest call, if known: the fields of an object are those that the call shows.
pub fn completions(
    text: &str,
    cursor: usize,
    method: Option<&TracedMethod>,
    call: Option<&TracedCall>,
) -> Completions {
    let before: Vec<char> = text.chars().take(cursor).collect();
    let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let start = before.len() - before.iter().rev().take_while(|letter| is_word(letter)).count();
    let word: String = before.get(start..).unwrap_or_default().iter().collect();
    let is_member = start > 0 && before.get(start - 1) == Some(&'.');
    let starts_number = word.starts_with(|letter: char| letter.is_ascii_digit());
    if is_in_text(&before) || starts_number || word.is_empty() && !is_member && !text.trim().is_empty() {
        return Completions::default();
    }
    let all = match is_member {
        true => members(&path(before.get(..start - 1).unwrap_or_default()), method, call),
        false => names(method),
    };
    let lower = word.to_lowercase();
    let fits = |one: &Completion| one.text.to_lowercase().starts_with(&lower) && one.text != word;
    Completions { range: start..cursor, offers: all.into_iter().filter(fits).take(MAX_OFFERED).collect() }
}

/// Returns whether a text literal is open at the end.
fn is_in_text(before: &[char]) -> bool {
    let mut open = None;
    let mut is_escaped = false;
    for letter in before {
        match (open, letter) {
            (None, '"' | '\'') => open = Some(*letter),
            (Some(_), '\\') if !is_escaped => {
                is_escaped = true;
                continue;
            }
            (Some(quote), letter) if quote == *letter && !is_escaped => open = None,
            _ => {}
        }
        is_escaped = false;
    }
    open.is_some()
}

/// Returns the names at the end of a text: `order.Customer` gives both.
fn path(before: &[char]) -> Vec<String> {
    let is_path = |letter: &&char| letter.is_alphanumeric() || **letter == '_' || **letter == '.';
    let mut letters: Vec<char> = before.iter().rev().take_while(is_path).copied().collect();
    letters.reverse();
    let text: String = letters.into_iter().collect();
    text.split('.').map(str::to_owned).collect()
}

fn offer(text: &str, note: &str) -> Completion {
    Completion { text: text.to_owned(), note: note.to_owned() }
}

fn names(method: Option<&TracedMethod>) -> Vec<Completion> {
    let is_taken = |name: &str| matches!(name, "result" | "exception" | "duration");
    let parameters =
        method.into_iter().flat_map(|method| &method.parameters).filter(|one| !one.name.is_empty());
    let parameters = parameters.map(|one| match is_taken(&one.name) {
        true => offer(&format!("args.{}", one.name), &one.type_name),
        false => offer(&one.name, &one.type_name),
    });
    let result = match method {
        Some(method) => method.result.as_ref().map(|type_name| offer("result", type_name)),
        None => Some(offer("result", "the result")),
    };
    parameters.chain(result).chain(ALWAYS.iter().map(|(text, note)| offer(text, note))).collect()
}

fn members(path: &[String], method: Option<&TracedMethod>, call: Option<&TracedCall>) -> Vec<Completion> {
    let [first, rest @ ..] = path else { return Vec::new() };
    let (first, rest) = match rest {
        [name, rest @ ..] if first == "args" => (name, rest),
        rest => (first, rest),
    };
    if first == "args" {
        let parameters = method.into_iter().flat_map(|method| &method.parameters);
        return parameters.map(|one| offer(&one.name, &one.type_name)).collect();
    }
    if first == "exception" {
        return vec![offer("message", "string"), offer("type", "string")];
    }
    let parameter = method.and_then(|method| method.parameters.iter().position(|one| one.name == *first));
    let root = call.and_then(|call| match (&call.outcome, parameter) {
        (_, Some(index)) => call.arguments.get(index),
        (Outcome::Returned(value), None) if first == "result" => value.as_ref(),
        _ => None,
    });
    let is_text = method.is_some_and(|method| {
        let type_name = match parameter {
            Some(index) => method.parameters.get(index).map(|one| one.type_name.as_str()),
            None => method.result.as_deref().filter(|_| first == "result"),
        };
        rest.is_empty() && matches!(type_name, Some("string" | "char"))
    });
    let value = rest.iter().try_fold(root, |value, name| match value {
        Some(Value::Object { fields, .. }) => {
            Some(fields.iter().find(|(field, _)| field == name).map(|(_, value)| value))
        }
        _ => None,
    });
    let of_text = || OF_TEXT.iter().map(|(text, note)| offer(text, note)).collect();
    match value.flatten() {
        Some(Value::Object { fields, .. }) => {
            let named = fields.iter().filter(|(name, _)| !name.is_empty());
            named.map(|(name, _)| offer(name, "field")).collect()
        }
        Some(Value::Collection { .. } | Value::Dictionary { .. }) => vec![offer("size()", "number of items")],
        Some(Value::Null) | None => of_text(),
        Some(Value::String { .. } | Value::Char(_)) => of_text(),
        Some(_) if is_text => of_text(),
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::TracedParameter;
    use redial_text::fixtures::{traced_call, traced_method};

    fn method() -> TracedMethod {
        let mut method = traced_method();
        let parameter = |name: &str| TracedParameter { name: name.into(), type_name: "string".into() };
        method.parameters.extend([parameter("name"), parameter("duration")]);
        method
    }

    fn call() -> TracedCall {
        let text = Value::String { units: vec![0x61], length: 1 };
        let inner =
            Value::Object { type_name: "Customer".into(), fields: vec![("Name".into(), text.clone())] };
        let fields = vec![("Customer".to_owned(), inner), ("Count".to_owned(), Value::Int(1))];
        let order = Value::Object { type_name: "Order".into(), fields };
        TracedCall { arguments: vec![order, Value::Null, text.clone(), text], ..traced_call() }
    }

    #[track_caller]
    fn check(text: &str, start: usize, expected: &[&str]) {
        let (method, call) = (method(), call());
        let found = completions(text, text.chars().count(), Some(&method), Some(&call));
        let texts: Vec<&str> = found.offers.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, expected, "{text}");
        assert!(expected.is_empty() || found.range == (start..text.chars().count()), "{:?}", found.range);
    }

    #[test]
    fn completes_names_of_the_method() {
        check("or", 0, &["order"]);
        check("rate > 0.2 && R", 14, &["rate", "result"]);
        check("dur", 0, &["duration", "duration(\"10ms\")"]);
        check("args", 0, &["args.duration"]);
        check("args.d", 5, &["duration"]);
        check("si", 0, &["size("]);
        check("order", 0, &[]);
        let all = completions("", 0, Some(&method()), None);
        assert_eq!(all.offers.first(), Some(&offer("order", "int")));
        assert!(!completions("", 0, None, None).offers.is_empty());
    }

    #[test]
    fn completes_fields_that_the_latest_call_shows() {
        check("order.", 6, &["Customer", "Count"]);
        check("has(order.Customer.n", 19, &["Name"]);
        check("order.Customer.Name.st", 20, &["startsWith("]);
        check("name.c", 5, &["contains("]);
        check("exception.", 10, &["message", "type"]);
        check("order.Count.", 12, &[]);
    }

    #[test]
    fn offers_nothing_in_literals_and_after_operators() {
        check("name == \"or", 9, &[]);
        check("name == \"\\\"or", 11, &[]);
        check("rate > ", 7, &[]);
        check("rate > 1", 7, &[]);
        check("name == \"x\" && or", 15, &["order"]);
    }
}
