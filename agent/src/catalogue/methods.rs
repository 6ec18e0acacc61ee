//! Methods read from a module's metadata, on demand. Nothing is kept: a module's 20,000 methods are read in a few
//! milliseconds, and a process may hold a million.
#![forbid(unsafe_code)]

use super::names::{ModuleNames, arity_of};
use crate::clr::metadata::{Import, MethodDef};
use redial_protocol::pattern::Pattern;
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
    /// Full metadata name of the type (``Ns.Outer`1+Inner``).
    pub type_name: &'a Arc<str>,
    /// Its MethodDef row.
    pub method: &'a MethodDef,
}

/// Calls `visit` for each method of the module that matches any of `patterns` (their assembly half is the caller's
/// business), with the indices of those that match, ascending. Stops when `visit` breaks.
pub fn matching(
    import: &Import,
    names: &ModuleNames,
    patterns: &[&Pattern],
    mut visit: impl FnMut(&Found, &[usize]) -> ControlFlow<()>,
) {
    let mut hits = Vec::new();
    for type_token in std::iter::once(GLOBAL_TYPE).chain(import.type_defs()) {
        let Some(type_name) = names.type_name(import, type_token) else { continue };
        let by_name: Vec<_> = patterns.iter().map(|pattern| pattern.for_type(&type_name)).collect();
        let by_token = patterns.iter().any(|pattern| pattern.token().is_some());
        if !by_token && by_name.iter().all(Option::is_none) {
            continue;
        }
        for token in import.methods_of(type_token) {
            let Ok(method) = import.method(token) else { continue };
            let arity = arity_of(&method.signature);
            hits.clear();
            for (index, pattern) in patterns.iter().enumerate() {
                let hit = match (pattern.token(), by_name.get(index)) {
                    (Some(wanted), _) => wanted == token,
                    (None, Some(Some(matched))) => matched.matches(&method.name, arity, || {
                        names.canonical_parameters(import, &method.signature)
                    }),
                    _ => false,
                };
                if hit {
                    hits.push(index);
                }
            }
            if !hits.is_empty() {
                let found = Found { token, type_token, type_name: &type_name, method: &method };
                if visit(&found, &hits).is_break() {
                    return;
                }
            }
        }
    }
}
