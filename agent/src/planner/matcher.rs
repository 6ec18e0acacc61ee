//! Matches many patterns against many names, type by type.
#![forbid(unsafe_code)]

use redial_protocol::pattern::{NameBytes, Pattern, TypeMatch};

/// Patterns with a matching assembly part, narrowed to the current type.
pub struct Matcher<'p> {
    /// Patterns by name, each with its index.
    by_name: Vec<(usize, &'p Pattern)>,
    of_type: Vec<(usize, TypeMatch<'p>)>,
    /// Tokens with the indices of their patterns, ascending: there may be thousands.
    by_token: Vec<(u32, usize)>,
    hits: Vec<usize>,
}

impl<'p> Matcher<'p> {
    /// Makes a matcher for these patterns.
    pub fn new(patterns: Vec<&'p Pattern>) -> Matcher<'p> {
        let (mut by_name, mut by_token) = (Vec::new(), Vec::new());
        for (index, pattern) in patterns.into_iter().enumerate() {
            match pattern.token() {
                Some(token) => by_token.push((token, index)),
                None => by_name.push((index, pattern)),
            }
        }
        by_token.sort_unstable();
        Matcher { by_name, of_type: Vec::new(), by_token, hits: Vec::new() }
    }

    /// Moves on to a type, given in metadata form (``Ns.Outer`1+Inner``); false if none of its methods can match.
    pub fn enter_type(&mut self, type_name: &str) -> bool {
        self.of_type.clear();
        let matched = |(index, pattern): &(usize, &'p Pattern)| Some((*index, pattern.for_type(type_name)?));
        self.of_type.extend(self.by_name.iter().filter_map(matched));
        !self.of_type.is_empty() || !self.by_token.is_empty()
    }

    /// Returns the ascending indices of the patterns that match a method of the current type. `parameters` returns
    /// its canonical parameters.
    pub fn hits(
        &mut self,
        token: u32,
        method: &str,
        arity: u32,
        parameters: impl Fn() -> String,
    ) -> &[usize] {
        self.hits.clear();
        let first = self.by_token.partition_point(|(wanted, _)| *wanted < token);
        let named = self.by_token.iter().skip(first).take_while(|(wanted, _)| *wanted == token);
        self.hits.extend(named.map(|(_, index)| *index));
        let tokens = self.hits.len();
        let bytes = NameBytes::of(method);
        for (index, matched) in &self.of_type {
            if !matched.rules_out(bytes) && matched.matches(method, arity, &parameters) {
                self.hits.push(*index);
            }
        }
        if tokens > 0 {
            self.hits.sort_unstable();
        }
        &self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_and_tokens_in_order() {
        let patterns: Vec<Pattern> =
            ["S!0x06000002", "S!A.M", "S!0x06000007", "S!0x06000002", "S!*", "S!0x06000001"]
                .iter()
                .map(|pattern| Pattern::parse(pattern).unwrap())
                .collect();
        let mut matcher = Matcher::new(patterns.iter().collect());
        let mut hits = |token: u32, method: &str| matcher.hits(token, method, 0, String::new).to_vec();
        assert_eq!(hits(0x0600_0002, "M"), [0, 3], "no type was entered");
        assert!(matcher.enter_type("A"));
        let mut hits = |token: u32, method: &str| matcher.hits(token, method, 0, String::new).to_vec();
        assert_eq!(hits(0x0600_0002, "M"), [0, 1, 3, 4]);
        assert_eq!(hits(0x0600_0001, "N"), [4, 5]);
        assert_eq!(hits(0x0600_0003, "N"), [4]);
        let mut named = Matcher::new(patterns.iter().skip(1).take(1).collect());
        assert!(!named.enter_type("B"), "nothing of it can match");
    }
}
