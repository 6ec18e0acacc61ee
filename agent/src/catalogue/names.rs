//! Readable names: types with their enclosing types and generic parameters, methods, parameter lists.
#![forbid(unsafe_code)]

use super::matched_method::{MatchedMethod, arity_of};
use crate::clr::metadata::Import;
use crate::signature::{self, Form, Type, TypeNames};
use redial_protocol::pattern::Pattern;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Deepest nesting of types to follow; metadata that nests deeper is corrupt.
const MAX_NESTING: usize = 64;

/// Names of one module's types, each read once. Lives as long as one pass over the module.
#[derive(Default)]
pub struct ModuleNames {
    types: RefCell<HashMap<u32, Option<Arc<str>>>>,
    /// Parameter lists by signature, for methods without type parameters and without passing modes: five of six
    /// signatures repeat.
    parameters: RefCell<HashMap<Box<[u8]>, Arc<str>>>,
    /// Type parameters of the last queried type: methods of a type are read one after another.
    type_parameters: RefCell<(u32, Rc<[String]>)>,
}

/// A method's names within its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnNames<'a> {
    /// `Method<U>`.
    pub method: Cow<'a, str>,
    /// `(PARAMS)` in C# form.
    pub parameters: Arc<str>,
}

/// A method's names for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodNames {
    /// `Namespace.Type<T>.Method<U>`.
    pub method: String,
    /// `(PARAMS)` in C# form.
    pub signature: String,
    /// Full metadata name of the type (``Ns.Outer`1+Inner``), as patterns compare it.
    pub type_name: Arc<str>,
    /// Metadata name of the method.
    pub name: String,
    /// Number of its own generic parameters.
    pub arity: u32,
    /// The parameters as patterns compare them, where type parameters make them differ from `signature`.
    pub canonical: Option<Box<str>>,
}

impl MethodNames {
    /// `Module!Type.Method(PARAMS)`, a pattern for exactly this method.
    pub fn full_name(&self, module: &str) -> String {
        format!("{module}!{}{}", self.method, self.signature)
    }

    /// Whether a pattern matches this method, ignoring its assembly and token. Reads no metadata: the module may
    /// have unloaded.
    pub fn match_pattern(&self, pattern: &Pattern) -> bool {
        let canonical = || self.canonical.as_deref().unwrap_or(&self.signature).to_owned();
        pattern
            .for_type(&self.type_name)
            .is_some_and(|matched| matched.matches(&self.name, self.arity, canonical))
    }
}

impl ModuleNames {
    /// Returns the full metadata name of a TypeDef or TypeRef (``Ns.Outer`1+Inner``).
    pub fn type_name(&self, import: &Import, token: u32) -> Option<Arc<str>> {
        if let Some(known) = self.types.borrow().get(&token) {
            return known.clone();
        }
        let name = full_name(import, token).map(Arc::from);
        self.types.borrow_mut().insert(token, name.clone());
        name
    }

    /// Returns the parameter list in the form that patterns compare.
    pub fn canonical_parameters(&self, import: &Import, blob: &[u8]) -> String {
        let mut out = String::new();
        signature::canonical_parameters(blob, &Resolver { names: self, import }, &mut out);
        out
    }

    /// Returns the TypeDef or TypeRef token that a token names, which may be a TypeSpec of an instance of a generic type,
    /// with the instance's type arguments in canonical form.
    pub fn instance(&self, import: &Import, token: u32) -> Option<(u32, Vec<String>)> {
        const TYPE_SPEC: u32 = 0x1B;
        if token >> 24 != TYPE_SPEC {
            return Some((token, Vec::new()));
        }
        let spec = import.type_spec(token).ok()?;
        let Type::Generic { token, arguments, .. } = signature::parse_type_spec(&spec).ok()? else {
            return None;
        };
        let canonical = |argument: &Type| {
            let mut text = String::new();
            let resolver = Resolver { names: self, import };
            signature::append_type(argument, Form::Canonical, &resolver, &mut text);
            text
        };
        Some((token, arguments.iter().map(canonical).collect()))
    }

    /// Returns the type's display name.
    pub fn display_type(&self, import: &Import, type_token: u32, type_name: &str) -> String {
        if !type_name.contains('`') {
            return type_name.to_owned();
        }
        signature::display_type_name(type_name, &self.type_parameters(import, type_token, type_name))
    }

    fn type_parameters(&self, import: &Import, type_token: u32, type_name: &str) -> Rc<[String]> {
        if !type_name.contains('`') {
            return Rc::default();
        }
        let mut last = self.type_parameters.borrow_mut();
        if last.0 != type_token {
            *last = (type_token, import.generic_parameters(type_token).into());
        }
        Rc::clone(&last.1)
    }

    /// Returns the names of a type's generic parameters, those of enclosing types first.
    pub fn generic_parameters(&self, import: &Import, type_token: u32) -> Rc<[String]> {
        match self.type_name(import, type_token) {
            Some(name) => self.type_parameters(import, type_token, &name),
            None => Rc::default(),
        }
    }

    /// Returns a type of a signature in C# form, with the names of generic parameters of its type and method.
    pub fn display_signature_type(
        &self,
        import: &Import,
        ty: &Type,
        of_type: &[String],
        of_method: &[String],
    ) -> String {
        let mut shown = String::new();
        let form = Form::Display { of_type, of_method, passing: &[] };
        signature::append_type(ty, form, &Resolver { names: self, import }, &mut shown);
        shown
    }

    /// Returns a method's display name and parameters.
    pub fn own<'a>(&self, import: &Import, found: &'a MatchedMethod) -> OwnNames<'a> {
        let blob = &found.method.signature;
        // Few methods have such parameters; query only those.
        let may_pass = signature::may_pass_by_reference(blob);
        let plain = !may_pass && !found.is_generic();
        let known = |blob: &[u8]| self.parameters.borrow().get(blob).map(Arc::clone);
        if let Some(parameters) = plain.then(|| known(blob)).flatten() {
            return OwnNames { method: Cow::Borrowed(&found.method.name), parameters };
        }
        let of_type = self.type_parameters(import, found.type_token, found.type_name);
        let of_method = if arity_of(blob) > 0 { import.generic_parameters(found.token) } else { Vec::new() };
        let passing = if may_pass { import.passing(found.token) } else { Vec::new() };
        let resolver = Resolver { names: self, import };
        let mut shown = String::new();
        signature::display_parameters(blob, &resolver, &of_type, &of_method, &passing, &mut shown);
        let parameters: Arc<str> = shown.into();
        if plain {
            self.parameters.borrow_mut().insert(blob.as_slice().into(), Arc::clone(&parameters));
        }
        let method = match of_method.as_slice() {
            [] => Cow::Borrowed(found.method.name.as_str()),
            own => Cow::Owned(format!("{}<{}>", found.method.name, own.join(", "))),
        };
        OwnNames { method, parameters }
    }

    /// Returns all names of a method.
    pub fn display(&self, import: &Import, found: &MatchedMethod) -> MethodNames {
        let (type_name, blob) = (found.type_name, &found.method.signature);
        let own = self.own(import, found);
        let canonical = found.is_generic().then(|| self.canonical_parameters(import, blob).into_boxed_str());
        MethodNames {
            method: format!("{}.{}", self.display_type(import, found.type_token, type_name), own.method),
            signature: own.parameters.to_string(),
            type_name: Arc::clone(type_name),
            name: found.method.name.clone(),
            arity: arity_of(blob),
            canonical,
        }
    }
}

pub(super) struct Resolver<'a> {
    pub(super) names: &'a ModuleNames,
    pub(super) import: &'a Import<'a>,
}

impl TypeNames for Resolver<'_> {
    fn type_name(&self, token: u32) -> Option<String> {
        self.names.type_name(self.import, token).map(|name| name.to_string())
    }
}

fn full_name(import: &Import, token: u32) -> Option<String> {
    let mut parts = Vec::new();
    let mut at = token;
    for _ in 0..MAX_NESTING {
        let (name, outer) = match at >> 24 {
            0x02 => (import.type_def_name(at).ok()?, import.enclosing(at)),
            0x01 => {
                let (scope, name) = import.type_ref(at).ok()?;
                (name, (scope >> 24 == 0x01).then_some(scope))
            }
            _ => return None,
        };
        parts.push(name);
        match outer {
            Some(outer) => at = outer,
            None => {
                parts.reverse();
                return Some(parts.join("+"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(signature: &str, canonical: Option<&str>) -> MethodNames {
        MethodNames {
            method: "N.Box<T>.Put<U>".into(),
            signature: signature.into(),
            type_name: "N.Box`1".into(),
            name: "Put".into(),
            arity: 1,
            canonical: canonical.map(Into::into),
        }
    }

    #[test]
    fn matches_parameters_without_metadata() {
        let matches = |names: &MethodNames, pattern: &str| {
            names.match_pattern(&Pattern::parse(pattern).expect("a pattern"))
        };
        let plain = names("(ref int, string)", None);
        assert!(matches(&plain, "N.Box<A>.Put<B>(ref int, string)"));
        assert!(matches(&plain, "N.Box<A>.Put<B>( ref  int,string )"));
        assert!(matches(&plain, "N.Box<A>.Put<B>(out int, string)"));
        assert!(!matches(&plain, "N.Box<A>.Put<B>(int, string)"));
        let filled = names("(out int, in string)", None);
        for pattern in ["(out int, in string)", "(ref int, ref string)", "(in int,out string)"] {
            assert!(matches(&filled, &format!("N.Box<A>.Put<B>{pattern}")), "{pattern}");
        }
        assert!(!matches(&filled, "N.Box<A>.Put<B>(int, string)"));
        let generic = names("(T, U)", Some("(!0,!!0)"));
        assert!(matches(&generic, "N.Box<A>.Put<B>(A, B)"));
        assert!(!matches(&generic, "N.Box<A>.Put<B>(B, A)"));
        assert!(matches(&names("(byte\\*)", None), "N.Box<A>.Put<B>(byte\\*)"));
    }
}
