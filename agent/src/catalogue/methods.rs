//! Reads methods from a module's metadata, on demand. Keeps nothing: a module's 20,000 methods take a few
//! milliseconds to read, and a process may have a million.
#![forbid(unsafe_code)]

use super::matched_method::{MatchedMethod, arity_of};
use super::metadata_matcher::MetadataMatcher;
use super::names::ModuleNames;
use super::supertypes::Supertypes;
use crate::clr::metadata::{GLOBAL_TYPE, Import};
use crate::planner::matcher::Matcher;
use redial_protocol::pattern::Pattern;
use std::ops::ControlFlow;

/// Types between two checks whether to stop: thousands of long patterns take a millisecond for four types.
const TYPES_PER_CHECK: usize = 64;

/// Calls `visit` for each method of the module that matches any of `patterns`, with the ascending indices of those
/// that match. The caller checks the assembly part of the patterns. Stops when `visit` breaks, or soon after `stop`
/// returns true.
pub fn matching(
    metadata: (&Import, &ModuleNames),
    supertypes: &Supertypes,
    patterns: &[&Pattern],
    stop: &dyn Fn() -> bool,
    visit: impl FnMut(&MatchedMethod, &[usize]) -> ControlFlow<()>,
) {
    matching_from(0, metadata, supertypes, patterns, stop, visit);
}

/// Like [`matching`], skipping the module's first types.
pub fn matching_from(
    first_type: usize,
    (import, names): (&Import, &ModuleNames),
    supertypes: &Supertypes,
    patterns: &[&Pattern],
    stop: &dyn Fn() -> bool,
    mut visit: impl FnMut(&MatchedMethod, &[usize]) -> ControlFlow<()>,
) {
    let mut matcher = Matcher::new(patterns.to_vec());
    let mut by_metadata = MetadataMatcher::new((import, names), supertypes, patterns);
    let types = std::iter::once(GLOBAL_TYPE).chain(import.type_defs());
    for (type_place, type_token) in types.enumerate().skip(first_type) {
        if type_place % TYPES_PER_CHECK == 0 && stop() {
            return;
        }
        if by_metadata.as_ref().is_some_and(|by_metadata| by_metadata.rules_out(type_token)) {
            continue;
        }
        let Some(type_name) = names.type_name(import, type_token) else { continue };
        let has_implementations =
            by_metadata.as_mut().is_some_and(|by_metadata| by_metadata.enter_type(type_token, &type_name));
        if !matcher.enter_type(&type_name) && !has_implementations {
            continue;
        }
        for token in import.methods_of(type_token) {
            let Ok(method) = import.method(token) else { continue };
            let parameters = || names.canonical_parameters(import, &method.signature);
            let by_name = matcher.hits(token, &method.name, arity_of(&method.signature), parameters);
            let hits = match &mut by_metadata {
                Some(by_metadata) => by_metadata.hits(token, by_name),
                None => by_name,
            };
            if !hits.is_empty() {
                let found =
                    MatchedMethod { token, type_token, type_place, type_name: &type_name, method: &method };
                if visit(&found, hits).is_break() {
                    return;
                }
            }
        }
    }
}
