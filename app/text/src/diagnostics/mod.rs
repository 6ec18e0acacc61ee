//! Wording of the agent's diagnostics. The agent sends codes with parameters; every sentence about them is written
//! here, for the reader that will see it.
//!
//! A sentence is a clause that starts in lower case and has no final period, so that it can follow a name or a colon.

pub mod agent_notes;
pub mod audit;
pub mod change_warnings;
pub mod hresults;
mod il_violations;
pub mod reasons;
pub mod refusals;
pub mod row_notes;

/// The reader of a sentence. A sentence names options and commands on the command line, but buttons in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A reader of the command line or of its JSON.
    CommandLine,
    /// A reader of the window.
    Window,
}

impl Reader {
    /// Returns the text for this reader.
    pub fn choose<'a>(self, command_line: &'a str, window: &'a str) -> &'a str {
        match self {
            Reader::CommandLine => command_line,
            Reader::Window => window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::samples;
    use redial_protocol::reason::Reason;

    /// Returns every sentence for a reader.
    fn sentences(reader: Reader) -> Vec<String> {
        let mut all: Vec<String> =
            Reason::ALL.into_iter().map(|reason| reasons::sentence(reason, reader).to_owned()).collect();
        all.extend(samples::ROW_NOTES.iter().map(|note| row_notes::note(*note, reader).into_owned()));
        all.extend(samples::times_notes().iter().map(|note| row_notes::times_note(note, reader)));
        all.extend(
            samples::change_warnings().iter().map(|warning| change_warnings::sentence(warning, reader)),
        );
        all.extend(samples::pattern_problems().iter().map(refusals::pattern_problem));
        all.extend(samples::LIMITS.iter().map(refusals::limit));
        all.extend(samples::UNAVAILABLE.iter().map(refusals::unavailable));
        all.extend(samples::unsupported().iter().map(|one| refusals::unsupported(one, reader)));
        all.extend(samples::REMAINDERS.iter().map(agent_notes::remainder));
        all.extend(samples::RESOURCES.iter().map(|one| agent_notes::resource(*one).to_owned()));
        all.extend(samples::BUDGET_PROBLEMS.iter().map(agent_notes::budget_problem));
        all.extend(samples::IL_VIOLATIONS.iter().map(il_violations::sentence));
        all.extend(samples::audit_actions().iter().map(audit::action));
        all
    }

    #[test]
    fn every_code_has_a_clause() {
        for reader in [Reader::CommandLine, Reader::Window] {
            for sentence in sentences(reader) {
                assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{sentence}");
                assert!(!sentence.contains('\n') && !sentence.contains("  "), "{sentence}");
            }
        }
    }

    #[test]
    fn the_window_names_no_commands_or_options() {
        for sentence in sentences(Reader::Window) {
            let names = ["`redial ", "--all-domains", "--callers", "--completions", "--agent"];
            assert!(names.iter().all(|name| !sentence.contains(name)), "{sentence}");
        }
        let all = sentences(Reader::CommandLine).join("\n");
        for name in
            ["--all-domains", "--callers", "`redial status`", "`redial status --agent`", "--completions"]
        {
            assert!(all.contains(name), "{name}");
        }
    }
}
