//! What can go wrong on the way to an agent, each with its exit code.
#![forbid(unsafe_code)]

use super::attach::Obstacle;
use crate::exit::{Exit, Failure};
use crate::output::words;
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::message::Refusal;

/// A failure of the link.
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
        /// Why.
        why: String,
    },
    /// A .NET process without an agent.
    #[error("process {pid} ({name}) runs without the agent; {}", Obstacle::advice(.obstacle.as_ref(), *.pid))]
    NoAgent {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Why `redial attach` cannot load it now; None when it can, as far as can be told without asking.
        obstacle: Option<Obstacle>,
    },
    /// This user may not connect.
    #[error("process {pid} may not be dialled by this user: {why}")]
    NotAllowed {
        /// Process id.
        pid: u32,
        /// Why.
        why: String,
    },
    /// Connecting failed otherwise.
    #[error("cannot connect to the agent in process {pid}: {why}")]
    Connect {
        /// Process id.
        pid: u32,
        /// Why.
        why: String,
    },
    /// The two sides speak different protocols.
    #[error(
        "the agent in process {pid} is version {agent_version} (protocol {agent_protocol}), this program is version \
         {} (protocol {PROTOCOL_VERSION}): only `redial ps` and `redial off {pid}` work between them; use the \
         `redial` that belongs to the agent, or start the process again with this one",
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
    #[error("{}", refusal(.0))]
    Refused(Refusal),
    /// The process ended.
    #[error("process {0} has ended")]
    Ended(u32),
    /// The agent closed the connection though the process runs.
    #[error("the agent in process {pid} closed the connection{}", because(.why))]
    Closed {
        /// Process id.
        pid: u32,
        /// Why, if it is known.
        why: Option<String>,
    },
    /// No answer in time.
    #[error("the agent in process {pid} did not answer within {seconds} s")]
    Silent {
        /// Process id.
        pid: u32,
        /// The time waited.
        seconds: u64,
    },
    /// No answer, and none can come.
    #[error("process {pid} does not answer: {why}")]
    Halted {
        /// Process id.
        pid: u32,
        /// Why: it is stopped, or paused in a debugger.
        why: String,
    },
    /// Bytes that make no sense.
    #[error("what answers for process {pid} does not speak Redial's protocol: {why}")]
    Garbled {
        /// Process id.
        pid: u32,
        /// What is wrong.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

fn because(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
}

fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::BadPattern(sentence)
        | Refusal::OverLimit(sentence)
        | Refusal::AgentOff(sentence)
        | Refusal::Unsupported(sentence) => sentence.clone(),
        Refusal::ControlHeld(holder) => format!(
            "the dials are controlled by {} (pid {}); --take takes control from it",
            holder.program, holder.pid
        ),
        Refusal::NothingMatched { suggestions } => nothing_matched(None, suggestions),
        Refusal::NothingToUndo => "there is no change to undo".to_owned(),
        Refusal::Cancelled => "cancelled; what it had turned was turned back".to_owned(),
    }
}

/// The sentence for "nothing matched", with what would have. `pattern` is what matched nothing, where that is known.
pub fn nothing_matched(pattern: Option<&str>, suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        return "nothing matched".to_owned();
    }
    let quoted: Vec<String> = suggestions.iter().map(|suggestion| format!("'{suggestion}'")).collect();
    let case = pattern.map(|pattern| case_matters(pattern, suggestions)).unwrap_or_default();
    format!("nothing matched{case}; did you mean {}?", words::either(&quoted))
}

/// A word about upper and lower case, where one of these patterns differs from another in nothing else; else nothing.
pub fn case_matters(pattern: &str, suggestions: &[String]) -> &'static str {
    let name = pattern.split('(').next().unwrap_or(pattern);
    let differs = |suggestion: &String| {
        suggestion.to_lowercase().ends_with(&name.to_lowercase()) && !suggestion.ends_with(name)
    };
    if suggestions.iter().any(differs) { ", since upper and lower case matter" } else { "" }
}

impl LinkError {
    /// The exit code it stands for.
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
    use redial_protocol::message::Holder;

    #[test]
    fn refusals_have_their_codes_and_sentences() {
        let held = Refusal::ControlHeld(Holder { pid: 77, program: "redial app".into() });
        let cases = [
            (Refusal::BadPattern("the pattern ends inside brackets".into()), Exit::Usage, "inside brackets"),
            (held, Exit::ControlHeld, "redial app (pid 77); --take"),
            (Refusal::NothingMatched { suggestions: vec![] }, Exit::NothingMatched, "nothing matched"),
            (
                Refusal::NothingMatched { suggestions: vec!["*.Add".into(), "Shop!*".into()] },
                Exit::NothingMatched,
                "did you mean '*.Add' or 'Shop!*'?",
            ),
            (Refusal::OverLimit("at most 1,024 orders".into()), Exit::Failed, "1,024"),
            (Refusal::NothingToUndo, Exit::NothingMatched, "no change to undo"),
            (Refusal::Cancelled, Exit::Failed, "turned back"),
        ];
        for (refusal, exit, part) in cases {
            let failure = Failure::from(LinkError::Refused(refusal));
            assert_eq!(failure.exit(), exit);
            assert!(failure.to_string().contains(part), "{failure}");
        }
    }

    #[test]
    fn that_case_matters_is_told_where_it_does() {
        let near = ["Shop.Tally.Add".to_owned(), "*.Add".to_owned()];
        let said = |pattern| nothing_matched(Some(pattern), &near);
        let expected =
            "nothing matched, since upper and lower case matter; did you mean 'Shop.Tally.Add' or '*.Add'?";
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
