//! Matches patterns by interface and attribute, which names alone do not decide, type by type.
#![forbid(unsafe_code)]

use super::attributes::NamedAttributes;
use super::implementation_search::ImplementationSearch;
use super::implementations::implementations;
use super::names::ModuleNames;
use crate::clr::metadata::Import;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;

/// Those of some patterns that name an interface, a base class or an attribute, for one module.
pub struct MetadataMatcher<'a> {
    import: &'a Import<'a>,
    names: &'a ModuleNames,
    search: &'a ImplementationSearch<'a>,
    patterns: &'a [&'a Pattern],
    /// Those that name an interface or base class, with their indices.
    by_supertype: Vec<(usize, &'a Pattern)>,
    /// The attributes that patterns name, if one does.
    attributes: Option<NamedAttributes>,
    /// Whether every pattern names attributes, so that types without any have no match.
    all_by_attribute: bool,
    type_def: u32,
    /// Methods of the current type that implement members, with the indices of patterns, ascending.
    implementations: Vec<(u32, usize)>,
    hits: Vec<usize>,
}

impl<'a> MetadataMatcher<'a> {
    /// Makes a matcher; None if names decide what these patterns match.
    pub fn new(
        (import, names): (&'a Import<'a>, &'a ModuleNames),
        search: &'a ImplementationSearch<'a>,
        patterns: &'a [&'a Pattern],
    ) -> Option<MetadataMatcher<'a>> {
        if !patterns.iter().any(|pattern| pattern.needs_metadata()) {
            return None;
        }
        let numbered = patterns.iter().copied().enumerate();
        let has_attributes = |pattern: &&Pattern| !pattern.attributes().is_empty();
        Some(MetadataMatcher {
            import,
            names,
            search,
            patterns,
            by_supertype: numbered.filter(|(_, pattern)| pattern.names_supertype()).collect(),
            attributes: patterns
                .iter()
                .any(has_attributes)
                .then(|| NamedAttributes::read(import, names, patterns)),
            all_by_attribute: patterns.iter().all(has_attributes),
            type_def: 0,
            implementations: Vec::new(),
            hits: Vec::new(),
        })
    }

    /// Whether a type has no match, whatever the names of its methods.
    pub fn rules_out(&self, type_def: u32) -> bool {
        self.all_by_attribute
            && self.attributes.as_ref().is_some_and(|attributes| !attributes.has_any(type_def))
    }

    /// Moves on to a type; false if none of its methods implements a member that a pattern names.
    pub fn enter_type(&mut self, type_def: u32, type_name: &Arc<str>) -> bool {
        self.type_def = type_def;
        self.implementations.clear();
        if !self.by_supertype.is_empty() {
            let metadata = (self.import, self.names);
            let of_type = (type_def, type_name);
            self.implementations = implementations(self.search, metadata, of_type, &self.by_supertype);
        }
        !self.implementations.is_empty()
    }

    /// Returns the ascending indices of the patterns that match a method of the current type; `by_name` are those of the
    /// patterns whose names match.
    pub fn hits(&mut self, method: u32, by_name: &[usize]) -> &[usize] {
        let first = self.implementations.partition_point(|(token, _)| *token < method);
        let implemented = self.implementations.iter().skip(first).take_while(|(token, _)| *token == method);
        let all = by_name.iter().copied().chain(implemented.map(|(_, at)| *at));
        let has_attributes = |at: &usize| {
            let attributes = self.patterns.get(*at).map(|pattern| pattern.attributes()).unwrap_or_default();
            attributes.is_empty()
                || self
                    .attributes
                    .as_ref()
                    .is_some_and(|known| known.has_all(self.type_def, method, attributes))
        };
        self.hits.clear();
        self.hits.extend(all.filter(has_attributes));
        self.hits.sort_unstable();
        &self.hits
    }
}
