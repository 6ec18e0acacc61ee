//! Methods read from a module's metadata, on demand. Nothing is kept: a module's 20,000 methods are read in a few
//! milliseconds, and a process may hold a million.
#![forbid(unsafe_code)]

use super::Module;
use super::names::{ModuleNames, arity_of};
use crate::clr::metadata::{Import, MethodDef};
use crate::eligibility;
use crate::planner::matcher::Matcher;
use redial_protocol::pattern::Pattern;
use redial_protocol::reason::Reason;
use std::ops::ControlFlow;
use std::sync::Arc;

/// `<Module>`, the type of global functions; `EnumTypeDefs` leaves it out.
pub const GLOBAL_TYPE: u32 = 0x0200_0001;

/// A method that a pattern matched.
pub struct Found<'a> {
    /// MethodDef token.
    pub token: u32,
    /// TypeDef token.
    pub type_token: u32,
    /// Which of the module's types that is, counted from 0.
    pub type_place: usize,
    /// Full metadata name of the type (``Ns.Outer`1+Inner``).
    pub type_name: &'a Arc<str>,
    /// Its MethodDef row.
    pub method: &'a MethodDef,
}

impl Found<'_> {
    /// Whether it or its type has type parameters.
    pub fn is_generic(&self) -> bool {
        self.type_name.contains('`') || arity_of(&self.method.signature) > 0
    }

    /// Why it has no IL, if it has none; `module` is its module.
    pub fn without_body(&self, module: &Module) -> Option<Reason> {
        let MethodDef { attributes, impl_flags, rva, .. } = *self.method;
        eligibility::without_body(attributes, impl_flags, rva, module.dynamic)
    }
}

/// Calls `visit` for each method of the module that matches any of `patterns` (their assembly half is the caller's
/// business), with the indices of those that match, ascending. Stops when `visit` breaks.
pub fn matching(
    import: &Import,
    names: &ModuleNames,
    patterns: &[&Pattern],
    visit: impl FnMut(&Found, &[usize]) -> ControlFlow<()>,
) {
    matching_from(0, import, names, patterns, visit);
}

/// As [`matching`], without the module's first types.
pub fn matching_from(
    first_type: usize,
    import: &Import,
    names: &ModuleNames,
    patterns: &[&Pattern],
    mut visit: impl FnMut(&Found, &[usize]) -> ControlFlow<()>,
) {
    let mut matcher = Matcher::new(patterns.to_vec());
    let types = std::iter::once(GLOBAL_TYPE).chain(import.type_defs());
    for (type_place, type_token) in types.enumerate().skip(first_type) {
        let Some(type_name) = names.type_name(import, type_token) else { continue };
        if !matcher.enter_type(&type_name) {
            continue;
        }
        for token in import.methods_of(type_token) {
            let Ok(method) = import.method(token) else { continue };
            let parameters = || names.canonical_parameters(import, &method.signature);
            let hits = matcher.hits(token, &method.name, arity_of(&method.signature), parameters);
            if !hits.is_empty() {
                let found = Found { token, type_token, type_place, type_name: &type_name, method: &method };
                if visit(&found, hits).is_break() {
                    return;
                }
            }
        }
    }
}
