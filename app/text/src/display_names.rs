//! The parts of a method's name as tables display it: `Cart.Add` whole, its namespace apart, and a word for code that
//! the compiler made of it: `Cart.Add (async)`. The names of such code are conventions of the C# compiler; no standard
//! defines them.

use crate::names::{explicit_length, namespace_length};
use std::iter::once;
use std::ops::Range;

/// What a `MoveNext` implements, if its type has more methods to tell by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMachine {
    /// An async method.
    Async,
    /// An iterator.
    Iterator,
    /// Either of the two.
    Unknown,
}

/// The parts of `Namespace.Type.Method` as byte ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayName {
    /// The namespace.
    pub namespace: Range<usize>,
    /// The type, with its outer types.
    pub type_name: Range<usize>,
    /// The interface of an explicit implementation, with the dot after it.
    pub interface: Range<usize>,
    /// The method's own name; for a local function, the outer method's name first.
    pub method: Vec<Range<usize>>,
    /// The type parameters of a method that became a type.
    pub parameters: Range<usize>,
    /// Words about generated code: `async`, `lambda 0`, `async local`. Empty for code as it was written.
    pub generated: String,
}

impl DisplayName {
    /// Returns the parts of `name`, in which the method begins at `method`. `machine` is asked about a `MoveNext`.
    pub fn of(name: &str, method: usize, machine: impl FnOnce() -> StateMachine) -> DisplayName {
        let type_end = method.saturating_sub(1);
        let type_name = name.get(..type_end).unwrap_or_default();
        let namespace = namespace_length(type_name);
        let start = if namespace == 0 { 0 } else { namespace + 1 };
        let own = name.get(method..).unwrap_or_default();
        let written = || {
            let interface = method + explicit_length(own);
            DisplayName {
                namespace: 0..namespace,
                type_name: start..type_end,
                interface: method..interface,
                method: once(interface..name.len()).collect(),
                ..DisplayName::default()
            }
        };
        let generated = match own {
            "MoveNext" => state_machine(name, type_end, machine),
            _ => closure(name, method..name.len()).map(|(method, word)| Generated {
                owner: type_end,
                method,
                parameters: 0..0,
                words: word,
            }),
        };
        let Some(Generated { owner, method, parameters, words }) = generated else { return written() };
        // Lambdas and local functions live in classes of their own inside the type.
        let owner_name = name.get(start..owner).unwrap_or_default();
        let owner = match owner_name.rsplit_once('+') {
            Some((outer, last)) if last.starts_with("<>c") => start + outer.len(),
            _ => owner,
        };
        DisplayName {
            namespace: 0..namespace,
            type_name: start..owner,
            interface: 0..0,
            method,
            parameters,
            generated: words,
        }
    }

    /// Returns `Type.Method (async)`.
    pub fn text(&self, name: &str) -> String {
        let part = |range: &Range<usize>| name.get(range.clone()).unwrap_or_default();
        let method: Vec<&str> = self.method.iter().map(part).collect();
        let mut text = part(&self.type_name).to_owned();
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(part(&self.interface));
        text.push_str(&method.join("."));
        text.push_str(part(&self.parameters));
        if !self.generated.is_empty() {
            text.push_str(&format!(" ({})", self.generated));
        }
        text
    }
}

/// Generated code: where its type's name ends, the method it belongs to, and words for it.
struct Generated {
    owner: usize,
    method: Vec<Range<usize>>,
    parameters: Range<usize>,
    words: String,
}

/// Reads `Shop.Cart+<Add>d__1<T>.MoveNext`, in which the type's name ends at `end`. Lambdas and local functions have
/// state machines of their own: `<<Add>b__0_1>d`.
fn state_machine(name: &str, end: usize, machine: impl FnOnce() -> StateMachine) -> Option<Generated> {
    let type_name = name.get(..end)?;
    let plus = type_name.rfind("+<")?;
    let rest = type_name.get(plus + 2..)?;
    let close = rest.rfind(">d")?;
    let inner = plus + 2..plus + 2 + close;
    let suffix = rest.get(close + 2..)?;
    let ordinal = suffix.strip_prefix("__").unwrap_or(suffix);
    let parameters = ordinal.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = suffix.starts_with("__") && parameters.len() < ordinal.len();
    if !(parameters.is_empty() || parameters.starts_with('<')) || !(is_numbered || suffix == parameters) {
        return None;
    }
    let word = match machine() {
        StateMachine::Async => "async",
        StateMachine::Iterator => "iterator",
        StateMachine::Unknown => "state machine",
    };
    let (method, words) = match closure(name, inner.clone()) {
        Some((method, closure)) => (method, format!("{word} {closure}")),
        None if is_numbered => (vec![inner], word.to_owned()),
        None => return None,
    };
    Some(Generated { owner: plus, method, parameters: end - parameters.len()..end, words })
}

/// Reads `<Add>b__3_1`, a lambda in `Add`, and `<Add>g__Check|3_0`, the local function `Check` in `Add`.
fn closure(name: &str, range: Range<usize>) -> Option<(Vec<Range<usize>>, String)> {
    let inner = name.get(range.clone())?.strip_prefix('<')?;
    let start = range.start + 1;
    if let Some(close) = inner.rfind(">b__") {
        let number = inner.get(close + 4..)?;
        let number = number.rsplit('_').next().unwrap_or(number);
        let number: String = number.chars().take_while(char::is_ascii_digit).collect();
        return (!number.is_empty())
            .then(|| (once(start..start + close).collect(), format!("lambda {number}")));
    }
    let close = inner.rfind(">g__")?;
    let local = inner.get(close + 4..)?;
    let length = local.find('|')?;
    let from = start + close + 4;
    Some((vec![start..start + close, from..from + length], "local".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::method_start;

    fn shown(name: &str) -> (String, String) {
        let parts = DisplayName::of(name, method_start(name), || StateMachine::Async);
        (parts.text(name), name[parts.namespace].to_owned())
    }

    #[test]
    fn generated_code_is_named_after_its_method() {
        for (name, expected) in [
            ("Shop.Cart.Add", "Cart.Add"),
            ("Shop.Cart..ctor", "Cart..ctor"),
            ("Shop.Cart+<Add>d__1.MoveNext", "Cart.Add (async)"),
            ("Shop.Box<T>+Inner+<Map>d__12<U>.MoveNext", "Box<T>+Inner.Map<U> (async)"),
            ("Program+<<Main>$>d__0.MoveNext", "Program.<Main>$ (async)"),
            ("Shop.Cart+<>c.<Add>b__0_1", "Cart.Add (lambda 1)"),
            ("Shop.Cart+<>c__DisplayClass4_0.<Add>b__2", "Cart.Add (lambda 2)"),
            ("Shop.Cart+<>c+<<Add>b__0_1>d.MoveNext", "Cart.Add (async lambda 1)"),
            ("Shop.Cart.<Add>g__Check|3_0", "Cart.Add.Check (local)"),
            ("Shop.Cart+<<Add>g__Check|3_0>d.MoveNext", "Cart.Add.Check (async local)"),
            ("Shop.Cart+Steps.MoveNext", "Cart+Steps.MoveNext"),
            ("Shop.Cart+<Add>d__.MoveNext", "Cart+<Add>d__.MoveNext"),
            ("Shop.Cart+<Add>d__1.Dispose", "Cart+<Add>d__1.Dispose"),
            ("Shop.Cart+<Add>e__1.MoveNext", "Cart+<Add>e__1.MoveNext"),
            ("Program.<Main>$", "Program.<Main>$"),
            ("Main", "Main"),
        ] {
            assert_eq!(shown(name).0, expected, "{name}");
        }
    }

    #[test]
    fn namespace_and_interface_are_parts_of_their_own() {
        assert_eq!(shown("A.B.Cart.Add"), ("Cart.Add".into(), "A.B".into()));
        assert_eq!(shown("Cart.Add"), ("Cart.Add".into(), String::new()));
        let name = "A.Cart.System.Collections.IEnumerator.get_Current";
        let parts = DisplayName::of(name, 7, || StateMachine::Unknown);
        assert_eq!(&name[parts.interface.clone()], "System.Collections.IEnumerator.");
        assert_eq!(parts.text(name), "Cart.System.Collections.IEnumerator.get_Current");
    }
}
