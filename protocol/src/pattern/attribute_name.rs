//! Names of attributes in patterns.

use super::glob::Glob;

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
    pub(super) fn new(name: &str) -> AttributeName {
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
