//! Errors on the way to an agent, with their exit codes.
#![forbid(unsafe_code)]

use super::attach::Obstacle;
use crate::exit::{Exit, Failure};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::message::Refusal;
use redial_text::diagnostics::{Reader, refusals};
use redial_text::{programs, words};

/// An error of the link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no such process.
    #[error("no process {0}")]
    NoProcess(u32),
    /// The process cannot be dialled at all.
    #[error("process {pid} ({name}) cannot be dialled: {why}")]
    Unsuitable {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The reason.
        why: String,
    },
    /// A .NET process without an agent.
    #[error("process {pid} ({name}) runs without the agent; {}", Obstacle::advice(.obstacle.as_ref(), *.pid))]
    NoAgent {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Why `redial attach` cannot load it now; `None` if nothing visible prevents it.
        obstacle: Option<Obstacle>,
    },
    /// This user may not connect.
    #[error("process {pid} may not be dialled by this user: {why}")]
    NotAllowed {
        /// Process id.
        pid: u32,
        /// The reason.
        why: String,
    },
    /// Connecting failed for another reason.
    #[error("cannot connect to the agent in process {pid}: {why}")]
    Connect {
        /// Process id.
        pid: u32,
        /// The reason.
        why: String,
    },
    /// The two sides speak different protocols.
    #[error(
        "the agent in process {pid} is version {agent_version} (protocol {agent_protocol}), this program is version \
         {} (protocol {PROTOCOL_VERSION}): only `redial ps` and `redial off {pid}` work between these \
         versions; use the agent's own version of `redial`, or restart the process with this one",
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// Process id.
        pid: u32,
        /// The agent's version.
        agent_version: String,
        /// The agent's protocol.
        agent_protocol: u32,
    },
    /// The agent refused the whole command.
    #[error("{}", refusal(.0, Reader::CommandLine))]
    Refused(Refusal),
    /// The process ended.
    #[error("process {0} has ended")]
    Ended(u32),
    /// The agent closed the connection though its process runs.
    #[error("the agent in process {pid} closed the connection{}", because(.why))]
    Closed {
        /// Process id.
        pid: u32,
        /// The reason, if known.
        why: Option<String>,
    },
    /// The agent did not answer in time.
    #[error("the agent in process {pid} did not answer within {seconds} s")]
    Silent {
        /// Process id.
        pid: u32,
        /// Seconds waited.
        seconds: u64,
    },
    /// The process is halted, so no answer can come.
    #[error("process {pid} does not answer: {why}")]
    Halted {
        /// Process id.
        pid: u32,
        /// How it is halted: stopped, or paused in a debugger.
        why: String,
    },
    /// The agent was still answering when the time for the whole answer was over.
    #[error("the agent in process {pid} did not finish its answer within {seconds} s; it may be faulty")]
    Unfinished {
        /// Process id.
        pid: u32,
        /// Seconds waited.
        seconds: u64,
    },
    /// The agent sends more than any command needs.
    #[error("the agent in process {pid} sends more than {limit} in answer to one command; it may be faulty")]
    TooMuch {
        /// Process id.
        pid: u32,
        /// The exceeded limit: "5 methods".
        limit: String,
    },
    /// The peer sent invalid data.
    #[error("the peer in process {pid} does not speak Redial's protocol: {why}")]
    Garbled {
        /// Process id.
        pid: u32,
        /// The problem.
        why: String,
    },
    /// The user interrupted the command.
    #[error("interrupted")]
    Interrupted,
}

fn because(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
}

/// Words a refusal.
pub fn refusal(refusal: &Refusal, reader: Reader) -> String {
    match refusal {
        Refusal::BadPattern(problem) => refusals::pattern_problem(problem),
        Refusal::OverLimit(limit) => refusals::limit(limit),
        Refusal::AgentOff(reason) => refusals::unavailable(reason),
        Refusal::Unsupported(reason) => refusals::unsupported(reason, reader),
        Refusal::ControlHeld(holder) => {
            let take = match reader {
                Reader::CommandLine => "--take takes control from it",
                Reader::Window => "take control to turn them",
            };
            format!("the dials are controlled by {}; {take}", programs::controller(holder))
        }
        Refusal::NothingMatched { suggestions } => nothing_matched(None, suggestions),
        Refusal::NothingToUndo => "there is no change to undo".to_owned(),
        Refusal::Cancelled => "cancelled; all dials are as they were before".to_owned(),
    }
}

/// Returns the sentence for "nothing matched", with suggestions. `pattern` is the pattern, if known.
pub fn nothing_matched(pattern: Option<&str>, suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        return "nothing matched".to_owned();
    }
    let quoted: Vec<String> = suggestions.iter().map(|suggestion| format!("'{suggestion}'")).collect();
    let case = pattern.map(|pattern| case_matters(pattern, suggestions)).unwrap_or_default();
    format!("nothing matched{case}; did you mean {}?", words::either(&quoted))
}

/// Returns a remark if `pattern` differs from a suggestion only in case; otherwise an empty string.
pub fn case_matters(pattern: &str, suggestions: &[String]) -> &'static str {
    let name = pattern.split('(').next().unwrap_or(pattern);
    let differs = |suggestion: &String| {
        suggestion.to_lowercase().ends_with(&name.to_lowercase()) && !suggestion.ends_with(name)
    };
    if suggestions.iter().any(differs) { " (names are case-sensitive)" } else { "" }
}

impl LinkError {
    /// Returns the exit code for the command line.
    pub fn exit(&self) -> Exit {
        match self {
            LinkError::NoProcess(_) | LinkError::Unsuitable { .. } | LinkError::Ended(_) => Exit::NoProcess,
            LinkError::NoAgent { .. } => Exit::NoAgent,
            LinkError::Refused(Refusal::BadPattern(_)) => Exit::Usage,
            LinkError::Refused(Refusal::ControlHeld(_)) => Exit::ControlHeld,
            LinkError::Refused(Refusal::NothingMatched { .. } | Refusal::NothingToUndo) => {
                Exit::NothingMatched
            }
            LinkError::Interrupted => Exit::Done,
            LinkError::Refused(_)
            | LinkError::NotAllowed { .. }
            | LinkError::Connect { .. }
            | LinkError::Version { .. }
            | LinkError::Closed { .. }
            | LinkError::Silent { .. }
            | LinkError::Unfinished { .. }
            | LinkError::TooMuch { .. }
            | LinkError::Halted { .. }
            | LinkError::Garbled { .. } => Exit::Failed,
        }
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        Failure::new(error.exit(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::Limit;
    use redial_protocol::message::Holder;
    use redial_protocol::pattern::PatternError;

    #[test]
    fn refusals_have_their_codes_and_sentences() {
        let held = Refusal::ControlHeld(Holder { pid: 77, program: "redial app".into() });
        let cases = [
            (
                Refusal::BadPattern(PatternError::Brackets { pattern: "Shop.*(".into() }.into()),
                Exit::Usage,
                "the brackets",
            ),
            (held, Exit::ControlHeld, "the Redial window (pid 77); --take"),
            (Refusal::NothingMatched { suggestions: vec![] }, Exit::NothingMatched, "nothing matched"),
            (
                Refusal::NothingMatched { suggestions: vec!["*.Add".into(), "Shop!*".into()] },
                Exit::NothingMatched,
                "did you mean '*.Add' or 'Shop!*'?",
            ),
            (Refusal::OverLimit(Limit::StandingOrders { limit: 1024 }), Exit::Failed, "1024"),
            (Refusal::NothingToUndo, Exit::NothingMatched, "no change to undo"),
            (Refusal::Cancelled, Exit::Failed, "as they were before"),
        ];
        for (refusal, exit, part) in cases {
            let failure = Failure::from(LinkError::Refused(refusal));
            assert_eq!(failure.exit(), exit);
            assert!(failure.to_string().contains(part), "{failure}");
        }
    }

    #[test]
    fn mentions_case_only_if_it_matters() {
        let similar = ["Shop.Tally.Add".to_owned(), "*.Add".to_owned()];
        let said = |pattern| nothing_matched(Some(pattern), &similar);
        let expected =
            "nothing matched (names are case-sensitive); did you mean 'Shop.Tally.Add' or '*.Add'?";
        for pattern in ["shop.tally.add", "tally.add(int)", "add"] {
            assert_eq!(said(pattern), expected);
        }
        for pattern in ["Tally.Add", "Shop.Taly.Add", "Add"] {
            assert_eq!(said(pattern), "nothing matched; did you mean 'Shop.Tally.Add' or '*.Add'?");
        }
    }

    #[test]
    fn a_version_mismatch_names_both() {
        let text =
            LinkError::Version { pid: 5, agent_version: "9.9.9".into(), agent_protocol: 77 }.to_string();
        assert!(text.contains("9.9.9") && text.contains("protocol 77"), "{text}");
        assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
        assert!(text.contains(&format!("protocol {PROTOCOL_VERSION}")), "{text}");
    }
}
