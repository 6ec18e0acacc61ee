//! Which dials of a launch never matched anything, by what its agents noted.
#![forbid(unsafe_code)]

use super::error::case_matters;
use super::launch::{Mark, Noted};
use crate::output::table::printable;
use crate::output::words;
use serde::Serialize;

/// A dial that matched nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// As given.
    dial: String,
    /// Patterns that would have matched.
    suggestions: Vec<String>,
}

/// Those of `dials` that nothing matched in any process the agent was loaded into; none where it was in none.
pub fn unmatched(dials: &[String], marks: &[Mark], noted: &Noted) -> Vec<Unmatched> {
    if !marks.iter().any(|mark| matches!(mark, Mark::Loaded(_))) {
        return Vec::new();
    }
    let left = dials.iter().enumerate().filter(|(index, _)| !noted.matched.contains(index));
    let one = |(index, dial): (usize, &String)| Unmatched {
        dial: dial.clone(),
        suggestions: noted.near.get(&index).cloned().unwrap_or_default(),
    };
    left.map(one).collect()
}

impl Unmatched {
    /// A sentence about it once the program has ended; `what` is what the dial was given as: `--dial`.
    pub fn sentence(&self, what: &str) -> String {
        self.words(what, "matched nothing", "")
    }

    /// The same while it runs, which stays true whatever loads later.
    pub fn so_far(&self, what: &str) -> String {
        self.words(what, "matched nothing at the start", ", and stands for what loads later")
    }

    fn words(&self, what: &str, verb: &str, then: &str) -> String {
        let pattern =
            self.dial.rsplit_once('=').map_or(self.dial.as_str(), |(pattern, _)| pattern.trim_end());
        let case = case_matters(pattern, &self.suggestions);
        let nothing = format!("{what} '{}' {verb}{case}{then}", printable(&self.dial));
        let quoted: Vec<String> =
            self.suggestions.iter().map(|one| format!("'{}'", printable(one))).collect();
        match quoted.is_empty() {
            true => nothing,
            false => format!("{nothing}; did you mean {}?", words::either(&quoted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ProcessKey;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn what_no_process_matched_is_told() {
        let dials = ["A.B=count", "A.C=count", "A.D=off"].map(String::from);
        let near = BTreeMap::from([(1, vec!["A.Cc".to_owned(), "A.*".to_owned()])]);
        let noted = Noted { matched: BTreeSet::from([0]), near };
        let loaded = [Mark::Loaded(ProcessKey { pid: 1, start: 1 })];
        let unmatched_now = unmatched(&dials, &loaded, &noted);
        let told: Vec<String> = unmatched_now.iter().map(|one| one.sentence("--dial")).collect();
        assert_eq!(
            told,
            [
                "--dial 'A.C=count' matched nothing; did you mean 'A.Cc' or 'A.*'?",
                "--dial 'A.D=off' matched nothing"
            ]
        );
        assert_eq!(
            unmatched_now[1].so_far("the dial"),
            "the dial 'A.D=off' matched nothing at the start, and stands for what loads later"
        );
        assert_eq!(unmatched(&dials, &[Mark::Inert("so".into())], &noted), [], "nobody looked");
    }
}
