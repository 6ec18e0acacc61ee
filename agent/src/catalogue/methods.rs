//! Reads methods from a module's metadata, on demand. Keeps nothing: a module's 20,000 methods take a few
//! milliseconds to read, and a process may have a million.
#![forbid(unsafe_code)]

use super::implementation_search::ImplementationSearch;
use super::matched_method::{MatchedMethod, arity_of};
use super::metadata_matcher::MetadataMatcher;
use super::names::ModuleNames;
use crate::clr::metadata::{GLOBAL_TYPE, Import, MethodDef};
use crate::planner::matcher::Matcher;
use redial_protocol::pattern::Pattern;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Types between two checks whether to stop: thousands of long patterns take a millisecond for four types.
const TYPES_PER_CHECK: usize = 64;

/// Calls `visit` for each method of the module that matches any of `patterns`, with the ascending indices of those
/// that match. The caller checks the assembly part of the patterns. Stops when `visit` breaks, or soon after the
/// search is stopped.
pub fn matching(
    metadata: (&Import, &ModuleNames),
    search: &ImplementationSearch,
    patterns: &[&Pattern],
    visit: impl FnMut(&MatchedMethod, &[usize]) -> ControlFlow<()>,
) {
    matching_from(0, metadata, search, patterns, visit);
}

/// Like [`matching`], skipping the module's first types.
pub fn matching_from(
    first_type: usize,
    (import, names): (&Import, &ModuleNames),
    search: &ImplementationSearch,
    patterns: &[&Pattern],
    mut visit: impl FnMut(&MatchedMethod, &[usize]) -> ControlFlow<()>,
) {
    let mut matcher = MethodMatcher::new((import, names), search, patterns);
    let types = std::iter::once(GLOBAL_TYPE).chain(import.type_defs());
    for (type_place, type_token) in types.enumerate().skip(first_type) {
        if type_place % TYPES_PER_CHECK == 0 && search.is_stopped() {
            return;
        }
        let Some(type_name) = matcher.enter_type(type_token) else { continue };
        for token in import.methods_of(type_token) {
            let Ok(method) = import.method(token) else { continue };
            let hits = matcher.hits(token, &method);
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

/// Finds the patterns that match single methods of a module.
pub struct MethodMatcher<'a> {
    import: &'a Import<'a>,
    names: &'a ModuleNames,
    by_name: Matcher<'a>,
    by_metadata: Option<MetadataMatcher<'a>>,
}

impl<'a> MethodMatcher<'a> {
    /// Makes a matcher for these patterns. The caller checks their assembly part.
    pub fn new(
        (import, names): (&'a Import<'a>, &'a ModuleNames),
        search: &'a ImplementationSearch<'a>,
        patterns: &'a [&'a Pattern],
    ) -> MethodMatcher<'a> {
        let by_metadata = MetadataMatcher::new((import, names), search, patterns);
        MethodMatcher { import, names, by_name: Matcher::new(patterns.to_vec()), by_metadata }
    }

    /// Moves on to a type and returns its name; None if none of its methods can match.
    fn enter_type(&mut self, type_token: u32) -> Option<Arc<str>> {
        if self.by_metadata.as_ref().is_some_and(|by_metadata| by_metadata.rules_out(type_token)) {
            return None;
        }
        let type_name = self.names.type_name(self.import, type_token)?;
        let by_metadata = self.by_metadata.as_mut();
        let has_implementations =
            by_metadata.is_some_and(|by_metadata| by_metadata.enter_type(type_token, &type_name));
        (self.by_name.enter_type(&type_name) || has_implementations).then_some(type_name)
    }

    /// Returns the ascending indices of the patterns that match a method of the current type.
    fn hits(&mut self, token: u32, method: &MethodDef) -> &[usize] {
        let parameters = || self.names.canonical_parameters(self.import, &method.signature);
        let by_name = self.by_name.hits(token, &method.name, arity_of(&method.signature), parameters);
        match &mut self.by_metadata {
            Some(by_metadata) => by_metadata.hits(token, by_name),
            None => by_name,
        }
    }

    /// Returns the ascending indices of the patterns that match a method.
    pub fn hits_of(&mut self, token: u32) -> Vec<usize> {
        let Ok(method) = self.import.method(token) else { return Vec::new() };
        match self.enter_type(method.type_def) {
            Some(_) => self.hits(token, &method).to_vec(),
            None => Vec::new(),
        }
    }
}
