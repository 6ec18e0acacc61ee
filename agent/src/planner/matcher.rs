//! Many patterns against many names, type by type.
#![forbid(unsafe_code)]

use redial_protocol::pattern::{Pattern, TypeMatch};

/// Patterns whose assembly half matches, and what of them concerns the type at hand.
pub struct Matcher<'p> {
    patterns: Vec<&'p Pattern>,
    of_type: Vec<(usize, TypeMatch<'p>)>,
    by_token: Vec<(usize, u32)>,
    hits: Vec<usize>,
}

impl<'p> Matcher<'p> {
    /// A matcher of these patterns.
    pub fn new(patterns: Vec<&'p Pattern>) -> Matcher<'p> {
        let token = |(index, pattern): (usize, &&Pattern)| Some((index, pattern.token()?));
        let by_token = patterns.iter().enumerate().filter_map(token).collect();
        Matcher { patterns, of_type: Vec::new(), by_token, hits: Vec::new() }
    }

    /// Goes on to a type, given in metadata form (``Ns.Outer`1+Inner``); false when none of its methods can match.
    pub fn enter_type(&mut self, type_name: &str) -> bool {
        self.of_type.clear();
        let matched = |(index, pattern): (usize, &&'p Pattern)| Some((index, pattern.for_type(type_name)?));
        self.of_type.extend(self.patterns.iter().enumerate().filter_map(matched));
        !self.of_type.is_empty() || !self.by_token.is_empty()
    }

    /// Indices of the patterns that match a method of that type, ascending. `parameters` gives its canonical params.
    pub fn hits(
        &mut self,
        token: u32,
        method: &str,
        arity: u32,
        parameters: impl Fn() -> String,
    ) -> &[usize] {
        self.hits.clear();
        self.hits
            .extend(self.by_token.iter().filter(|(_, wanted)| *wanted == token).map(|(index, _)| *index));
        let tokens = self.hits.len();
        for (index, matched) in &self.of_type {
            if matched.matches(method, arity, &parameters) {
                self.hits.push(*index);
            }
        }
        if tokens > 0 {
            self.hits.sort_unstable();
        }
        &self.hits
    }
}
