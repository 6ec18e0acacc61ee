//! Finds the methods of a type that calls of members of an interface or base class may run.
//!
//! A pattern names the interface or class X and its members. A method of a type T matches if it has a body and
//! - T declares it to implement such a member (an explicit implementation);
//! - T lists X, directly or by another interface, and the method is public and virtual with the member's name and
//!   parameters;
//! - T has X from a base class, or X is one, and the method overrides a method with the member's name and parameters;
//! - T is X, and the method is such a member itself;
//! - a class that derives from T lists X and inherits the method ([`super::inherited`]).
//!
//! A member that is implemented explicitly is not implemented by name as well (ECMA-335 II.12.2).
#![forbid(unsafe_code)]

use super::explicit::{ExplicitImplementation, explicit_implementations};
use super::implementation_search::ImplementationSearch;
use super::matched_method::arity_of;
use super::names::ModuleNames;
use super::supertypes::{Supertype, Supertypes, with_arguments};
use crate::clr::metadata::{Import, MethodDef};
use redial_protocol::pattern::{NameBytes, Pattern, TypeMatch};
use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Patterns that name an interface or base class, each with its index.
pub type SupertypePatterns<'p> = [(usize, &'p Pattern)];

/// A virtual method of the type, with a body.
struct OwnMethod {
    token: u32,
    method: MethodDef,
    arity: u32,
    /// Canonical.
    parameters: String,
}

/// A type whose methods are matched.
struct ImplementingType<'a> {
    explicit: Vec<ExplicitImplementation>,
    /// By name.
    methods: HashMap<String, Vec<OwnMethod>>,
    supertypes: &'a Supertypes<'a>,
    found: Vec<(u32, usize)>,
}

/// Returns the MethodDef tokens of the methods of a type that the patterns match, each with the index of a pattern,
/// ascending. The caller checks attributes.
pub fn implementations(
    search: &ImplementationSearch,
    (import, names): (&Import, &ModuleNames),
    (type_def, type_name): (u32, &Arc<str>),
    patterns: &SupertypePatterns,
) -> Vec<(u32, usize)> {
    let named = |name: &str| -> Vec<(usize, TypeMatch<'_>)> {
        patterns.iter().filter_map(|(at, pattern)| Some((*at, pattern.for_supertype(name)?))).collect()
    };
    let supertypes = &search.supertypes;
    let all = supertypes.of(import, names, type_def);
    let with_patterns =
        |one: Supertype| Some(named(&one.name)).filter(|of| !of.is_empty()).map(|of| (one, of));
    let matched: Vec<_> = all.into_iter().filter_map(with_patterns).collect();
    let itself = named(type_name);
    let mut found = Vec::new();
    for one in search.inherited_from(import.module().id()).get(&type_def).into_iter().flatten() {
        for (at, of) in named(&one.interface) {
            if of.matches(&one.member, one.arity, || one.parameters.clone()) {
                found.push((one.method, at));
            }
        }
    }
    if matched.is_empty() && itself.is_empty() {
        return ascending(found);
    }
    let explicit =
        if matched.is_empty() { Vec::new() } else { explicit_implementations(import, names, type_def) };
    let mut methods: HashMap<String, Vec<OwnMethod>> = HashMap::new();
    let mut with_bodies = HashMap::new();
    for token in import.methods_of(type_def) {
        let Ok(method) = import.method(token) else { continue };
        if method.is_abstract() {
            continue;
        }
        let parameters = names.canonical_parameters(import, &method.signature);
        with_bodies.insert(token, parameters.clone());
        if method.is_virtual() {
            let arity = arity_of(&method.signature);
            methods.entry(method.name.clone()).or_default().push(OwnMethod {
                token,
                method,
                arity,
                parameters,
            });
        }
    }
    let mut of_type = ImplementingType { explicit, methods, supertypes, found };
    of_type.add_explicit(&with_bodies, named);
    // Members of an interface hide those of the interfaces that it lists, and implement none of them.
    if !import.type_shape(type_def).is_interface {
        for (supertype, of) in &matched {
            of_type.add_implicit(supertype, of);
        }
    }
    of_type.add_members(&itself);
    ascending(of_type.found)
}

fn ascending(mut found: Vec<(u32, usize)>) -> Vec<(u32, usize)> {
    found.sort_unstable();
    found.dedup();
    found
}

impl ImplementingType<'_> {
    /// Adds the methods that the type declares to implement members. `bodies` has the parameters of its methods.
    fn add_explicit<'p>(
        &mut self,
        bodies: &HashMap<u32, String>,
        named: impl Fn(&str) -> Vec<(usize, TypeMatch<'p>)>,
    ) {
        for one in &self.explicit {
            let Some(parameters) = bodies.get(&one.method) else { continue };
            for (at, of) in named(&one.type_name) {
                if of.matches(&one.member, one.arity, || parameters.clone()) {
                    self.found.push((one.method, at));
                }
            }
        }
    }

    /// Adds the methods that implement or override members of a supertype by their name.
    fn add_implicit(&mut self, supertype: &Supertype, patterns: &[(usize, TypeMatch<'_>)]) {
        let members = self.supertypes.members(&supertype.definition);
        let inherited_explicit = supertype
            .by
            .as_ref()
            .map(|base| (self.supertypes.explicit(&base.definition), std::rc::Rc::clone(&base.arguments)));
        let overrides = supertype.is_base || supertype.by.is_some();
        for member in members.iter() {
            let Some(methods) = self.methods.get(&member.name) else { continue };
            let bytes = NameBytes::of(&member.name);
            if patterns.iter().all(|(_, of)| of.rules_out(bytes)) {
                continue;
            }
            let is_explicit = |all: &[ExplicitImplementation], own: &[String]| {
                all.iter().any(|one| supertype.is_declared(one, own, member))
            };
            let is_declared = is_explicit(&self.explicit, &[])
                || inherited_explicit.as_ref().is_some_and(|(all, own)| is_explicit(all, own));
            if is_declared {
                continue;
            }
            let parameters = LazyCell::new(|| with_arguments(&member.parameters, &supertype.arguments));
            for own in methods {
                let may = if overrides { !own.method.is_new() } else { own.method.is_public() };
                if !may || own.arity != member.arity || own.parameters != **parameters {
                    continue;
                }
                let matches =
                    |of: &TypeMatch<'_>| of.matches(&member.name, member.arity, || own.parameters.clone());
                let matched = patterns.iter().filter(|(_, of)| matches(of));
                self.found.extend(matched.map(|(at, _)| (own.token, *at)));
            }
        }
    }

    /// Adds the type's own virtual methods.
    fn add_members(&mut self, patterns: &[(usize, TypeMatch<'_>)]) {
        for (name, methods) in &self.methods {
            for own in methods {
                let matches = |of: &TypeMatch<'_>| of.matches(name, own.arity, || own.parameters.clone());
                let matched = patterns.iter().filter(|(_, of)| matches(of));
                self.found.extend(matched.map(|(at, _)| (own.token, *at)));
            }
        }
    }
}
