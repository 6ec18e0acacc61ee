//! Processes and refusals in the model's words.

use crate::link::discover::runtime::{self, Runtime};
use crate::link::discover::{Found, Process};
use crate::link::error::LinkError;
use crate::model::processes::{AgentState, ProcessRow, RuntimeRow, WITHOUT_AGENT};
use crate::model::update::Refused;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::Refusal;

/// Whether it makes sense to ask a process for an agent.
pub fn may_have_agent(found: &Found) -> bool {
    match found {
        Found::Runtime(runtime) => runtime.kind.obstacle().is_none(),
        Found::None => false,
        Found::Unknown { likely, .. } => *likely,
    }
}

/// The row of a process and of what its agent answered, if it was asked.
pub fn row(key: ProcessKey, process: Process, facts: Option<Result<AgentFacts, LinkError>>) -> ProcessRow {
    let runtime = runtime_row(&process.runtime, facts.as_ref().and_then(|facts| facts.as_ref().ok()));
    let agent = match (&process.runtime, facts) {
        (_, Some(Ok(facts))) => AgentState::Loaded(Box::new(facts)),
        (Found::None, _) => AgentState::None("it is not a .NET process".to_owned()),
        (Found::Runtime(Runtime { kind, .. }), None) => match kind.obstacle() {
            Some(why) => AgentState::None(why.to_owned()),
            None => AgentState::Unknown,
        },
        (_, Some(Err(LinkError::NoAgent { .. }))) => AgentState::LaunchOnly(WITHOUT_AGENT.to_owned()),
        (_, Some(Err(error))) => AgentState::Refused(error.to_string()),
        // Nothing speaks for .NET in it: not a row to look at.
        (Found::Unknown { why, .. }, None) => AgentState::None(why.clone()),
    };
    ProcessRow {
        key,
        name: process.name,
        user: process.user,
        group: process.group,
        command: process.command,
        runtime,
        agent,
    }
}

/// The agent knows its runtime better than anyone outside.
fn runtime_row(found: &Found, facts: Option<&AgentFacts>) -> Option<RuntimeRow> {
    let (kind, version) = match (facts, found) {
        (Some(facts), _) => (
            facts.runtime_kind.word(),
            Some(facts.runtime_version.clone()).filter(|version| !version.is_empty()),
        ),
        (None, Found::Runtime(runtime)) => (runtime.kind.word(), runtime.version.clone()),
        (None, _) => return None,
    };
    let tested = version.as_deref().is_some_and(|version| runtime::tested(kind, version));
    Some(RuntimeRow { kind: kind.to_owned(), version, tested })
}

/// Why a turn was refused, for a window: its buttons, not the command line's options.
pub fn refused(error: &LinkError) -> Refused {
    match error {
        LinkError::Refused(Refusal::ControlHeld(holder)) => Refused {
            why: format!(
                "the dials are controlled by {} (pid {}); take control to turn them",
                holder.program, holder.pid
            ),
            holder: Some(holder.clone()),
        },
        error => Refused { why: error.to_string(), holder: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::discover::runtime::Kind;
    use redial_protocol::message::Holder;

    fn process(runtime: Found) -> Process {
        Process { pid: 42, name: "dotnet".into(), user: None, group: None, command: None, runtime }
    }

    fn coreclr() -> Found {
        Found::Runtime(Runtime { kind: Kind::CoreClr, version: Some("8.0.31".into()) })
    }

    #[test]
    fn every_process_says_what_can_be_done() {
        let key = ProcessKey { pid: 42, start: 1 };
        let no_agent = || LinkError::NoAgent { pid: 42, name: "x".into(), advice: "y".into() };
        let aot = Found::Runtime(Runtime { kind: Kind::NativeAot, version: None });
        let hidden = |likely| Found::Unknown { why: "its memory map cannot be read".into(), likely };
        let denied = || LinkError::NotAllowed { pid: 42, why: "it is another user's".into() };
        let facts = crate::model::connection::tests::facts;
        for (found, answer, word, part) in [
            (coreclr(), Some(Ok(facts())), "loaded", ""),
            (coreclr(), Some(Err(no_agent())), "launch-only", "redial run"),
            (coreclr(), Some(Err(denied())), "refused", "another user's"),
            (coreclr(), None, "looking…", ""),
            (Found::None, None, "none", "not a .NET"),
            (aot, None, "none", "ahead of time"),
            (hidden(true), Some(Err(denied())), "refused", "another user's"),
            (hidden(false), None, "none", "memory map"),
        ] {
            let asked = may_have_agent(&found);
            assert!(answer.is_none() || asked, "{found:?}");
            let row = row(key, process(found), answer);
            assert_eq!(row.agent.word(), word);
            assert!(row.agent.reason().unwrap_or_default().contains(part), "{:?}", row.agent);
        }
    }

    #[test]
    fn runtimes_are_told_with_whether_they_are_tested() {
        let row = row(ProcessKey { pid: 1, start: 1 }, process(coreclr()), None);
        let expected = RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true };
        assert_eq!(row.runtime, Some(expected));
    }

    #[test]
    fn who_has_control_can_be_taken_from() {
        let holder = Holder { pid: 5, program: "redial dial".into() };
        let refused = refused(&LinkError::Refused(Refusal::ControlHeld(holder.clone())));
        assert_eq!(refused.holder, Some(holder));
        assert!(refused.why.contains("redial dial (pid 5)") && !refused.why.contains("--take"));
    }
}
