//! Parts of a pattern that select methods by attributes, or by the interface or base class whose members they
//! implement: `[Shop.Audit]` and `implements:Shop.IOrderHandler.Handle*`.

use super::glob::{Glob, STAR};
use super::names::closing;
use super::parse::PatternError;

/// Begins a pattern that names an interface or base class.
pub(super) const IMPLEMENTS: &str = "implements:";
/// End of the type name of an attribute, which patterns may omit as C# does.
const ATTRIBUTE: &str = "Attribute";

/// An attribute that methods or their types must carry.
#[derive(Clone, Debug)]
pub struct AttributeName {
    /// In C# form, without type parameters.
    name: Glob,
    /// Whether it has a namespace or an enclosing type, so that it is the whole name.
    whole: bool,
}

impl AttributeName {
    fn new(name: &str) -> AttributeName {
        AttributeName { name: Glob::new(name.to_owned()), whole: name.contains(['.', '+']) }
    }

    /// Returns whether an attribute has this name, given its type in metadata form.
    pub fn matches(&self, type_name: &str) -> bool {
        let name = without_arity(type_name);
        let name = if self.whole { &name } else { name.rsplit(['.', '+']).next().unwrap_or_default() };
        let short = name.strip_suffix(ATTRIBUTE).filter(|short| !short.is_empty());
        self.name.matches(name) || short.is_some_and(|short| self.name.matches(short))
    }
}

/// Text of a pattern between the assembly and the params, without spaces and with stars as [`STAR`].
pub(super) struct Selected<'t> {
    pub(super) attributes: Vec<AttributeName>,
    /// Whether the names are those of an interface or base class and its members.
    pub(super) implements: bool,
    pub(super) names: &'t str,
}

/// Splits off what selects methods other than by name. `text` is the whole pattern as typed.
pub(super) fn cut_selectors<'t>(body: &'t str, text: &str) -> Result<Selected<'t>, PatternError> {
    let mut attributes = Vec::new();
    let mut names = body;
    while names.starts_with('[') {
        let position = position(text, '[', attributes.len());
        let pattern = || text.to_owned();
        let close = closing(names, 0)
            .filter(|close| names[*close..].starts_with(']'))
            .ok_or_else(|| PatternError::OpenAttribute { pattern: pattern(), position })?;
        let name = &names[1..close];
        if name.is_empty() {
            return Err(PatternError::NoAttribute { pattern: pattern(), position });
        }
        if name.contains(['(', ',', '=', '"', ':', '[', '<']) {
            return Err(PatternError::AttributeArguments { pattern: pattern(), position });
        }
        attributes.push(AttributeName::new(name));
        names = &names[close + 1..];
    }
    let implemented = names.strip_prefix(IMPLEMENTS);
    if implemented.is_some_and(str::is_empty) {
        let position = text.find(':').map_or(0, |colon| text[..colon].chars().count() + 1);
        return Err(PatternError::NoInterface { pattern: text.to_owned(), position });
    }
    Ok(Selected { attributes, implements: implemented.is_some(), names: implemented.unwrap_or(names) })
}

/// Returns the position, from 1, of the `nth` occurrence of a character.
fn position(text: &str, wanted: char, nth: usize) -> usize {
    let mut places = text.chars().enumerate().filter(|(_, c)| *c == wanted).map(|(index, _)| index + 1);
    places.nth(nth).unwrap_or(1)
}

/// Removes the numbers of type parameters from a type in metadata form: ``Ns.Outer`1+Inner`` becomes
/// `Ns.Outer+Inner`.
pub(super) fn without_arity(type_name: &str) -> String {
    let mut out = String::with_capacity(type_name.len());
    for (index, segment) in type_name.split('+').enumerate() {
        if index > 0 {
            out.push('+');
        }
        let arity = segment.rsplit_once('`').filter(|(_, number)| number.parse::<u16>().is_ok());
        out.push_str(arity.map_or(segment, |(name, _)| name));
    }
    out
}

/// Returns whether a part of a pattern stands for every name.
pub(super) fn is_any(names: &str) -> bool {
    names.chars().all(|c| c == STAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_match_with_and_without_namespace_and_ending() {
        let matches =
            |name: &str, type_name: &str| AttributeName::new(&name.replace('*', "\0")).matches(type_name);
        for (name, type_name) in [
            ("HttpGet", "Web.HttpGetAttribute"),
            ("HttpGetAttribute", "Web.HttpGetAttribute"),
            ("HttpGet", "HttpGet"),
            ("Web.HttpGet", "Web.HttpGetAttribute"),
            ("Audit", "Shop.Outer+AuditAttribute"),
            ("Shop.Outer+Audit", "Shop.Outer+AuditAttribute"),
            ("Http*", "Web.HttpGetAttribute"),
            ("Web.*", "Web.Mvc.HttpGetAttribute"),
            ("Typed", "Shop.TypedAttribute`1"),
            ("*", "Attribute"),
            ("Attribute", "Attribute"),
        ] {
            assert!(matches(name, type_name), "{name} {type_name}");
        }
        for (name, type_name) in [
            ("HttpGet", "Web.HttpGetterAttribute"),
            ("Get", "Web.HttpGetAttribute"),
            ("Mvc.HttpGet", "Web.Mvc.HttpGetAttribute"),
            ("Web.HttpGet", "Web.Mvc.HttpGetAttribute"),
            ("httpget", "Web.HttpGetAttribute"),
            ("Outer", "Shop.Outer+AuditAttribute"),
            ("HttpGetAttributeAttribute", "Web.HttpGetAttribute"),
        ] {
            assert!(!matches(name, type_name), "{name} {type_name}");
        }
    }

    #[test]
    fn removes_numbers_of_type_parameters() {
        for (type_name, expected) in
            [("Ns.Outer`1+Inner", "Ns.Outer+Inner"), ("A`2+B`1", "A+B"), ("A`x", "A`x"), ("", "")]
        {
            assert_eq!(without_arity(type_name), expected);
        }
    }
}
