//! Finds the dials of a launch that matched nothing, from its agents' notes.
#![forbid(unsafe_code)]

use super::error::case_matters;
use super::launch::{LaunchNotes, MarkEntry};
use redial_text::words;
use redial_text::words::printable;
use serde::Serialize;

/// A dial that matched nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// As the user gave it.
    dial: String,
    /// Patterns that would have matched.
    suggestions: Vec<String>,
}

/// Returns the dials that matched nothing in any process with the agent; none if no process has it.
pub fn unmatched(dials: &[String], marks: &[MarkEntry], noted: &LaunchNotes) -> Vec<Unmatched> {
    if !marks.iter().any(|mark| matches!(mark, MarkEntry::Loaded(_))) {
        return Vec::new();
    }
    let left = dials.iter().enumerate().filter(|(index, _)| !noted.matched.contains(index));
    let one = |(index, dial): (usize, &String)| Unmatched {
        dial: dial.clone(),
        suggestions: noted.suggestions.get(&index).cloned().unwrap_or_default(),
    };
    left.map(one).collect()
}

impl Unmatched {
    /// Returns a sentence for after the program's end; `what` is how the user gave the dial: `--dial`.
    pub fn sentence(&self, what: &str) -> String {
        self.words(what, "matched nothing", "")
    }

    /// Returns a sentence for while the program runs, which stays true whatever loads later.
    pub fn sentence_while_running(&self, what: &str) -> String {
        self.words(what, "matched nothing at startup", " but still applies to code that loads later")
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
    fn reports_dials_that_no_process_matched() {
        let dials = ["A.B=count", "A.C=count", "A.D=off"].map(String::from);
        let suggestions = BTreeMap::from([(1, vec!["A.Cc".to_owned(), "A.*".to_owned()])]);
        let noted = LaunchNotes { matched: BTreeSet::from([0]), suggestions };
        let loaded = [MarkEntry::Loaded(ProcessKey { pid: 1, start: 1 })];
        let unmatched_now = unmatched(&dials, &loaded, &noted);
        let sentences: Vec<String> = unmatched_now.iter().map(|one| one.sentence("--dial")).collect();
        assert_eq!(
            sentences,
            [
                "--dial 'A.C=count' matched nothing; did you mean 'A.Cc' or 'A.*'?",
                "--dial 'A.D=off' matched nothing"
            ]
        );
        assert_eq!(
            unmatched_now[1].sentence_while_running("the dial"),
            "the dial 'A.D=off' matched nothing at startup but still applies to code that loads later"
        );
        assert_eq!(unmatched(&dials, &[MarkEntry::Inert("so".into())], &noted), [], "nobody looked");
    }
}
