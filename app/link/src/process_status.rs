//! Determines each process's state, meaning what can be done with it, for `ps` and the window.
#![forbid(unsafe_code)]

use super::attach::Obstacle;
use super::connect;
use super::discover::runtime;
use super::discover::{Process, RuntimeSearch};
use super::error::LinkError;
use crate::parallel;
use redial_model::processes::{AgentState, ProcessRow, RuntimeRow};
use redial_protocol::frozen::AgentFacts;

/// Processes queried in parallel, so that a hanging one does not delay the others.
const MAX_THREADS: usize = 8;

/// The agent's answer, or the error without one.
type AgentAnswer = Result<AgentFacts, LinkError>;

/// Returns the rows of processes in the same order. Queries their agents in parallel, as `program`.
pub fn rows(processes: Vec<Process>, program: &str) -> Vec<ProcessRow> {
    let threads = MAX_THREADS.min(processes.iter().filter(|process| may_have_agent(process)).count());
    parallel::map(&processes, threads, |process| query(process, program))
}

fn query(process: &Process, program: &str) -> ProcessRow {
    let asked = may_have_agent(process)
        .then(|| connect::open(process.key.pid, program).map(|session| session.facts().clone()));
    row(process, asked)
}

/// Returns whether to query a process for an agent. A stopped process does not answer.
fn may_have_agent(process: &Process) -> bool {
    let able = match &process.runtime {
        RuntimeSearch::Runtime(runtime) => runtime.obstacle().is_none(),
        RuntimeSearch::None => false,
        RuntimeSearch::Unknown { likely, .. } => *likely,
    };
    able && process.halted.is_none()
}

fn row(process: &Process, answer: Option<AgentAnswer>) -> ProcessRow {
    let runtime = runtime_row(&process.runtime, answer.as_ref().and_then(|answer| answer.as_ref().ok()));
    ProcessRow {
        key: process.key,
        name: process.name.clone(),
        user: process.user.clone(),
        group: process.group.clone(),
        command: process.command.clone(),
        runtime,
        agent: state(process, answer),
    }
}

fn state(process: &Process, answer: Option<AgentAnswer>) -> AgentState {
    if process.ended {
        return AgentState::None("it has ended, and its parent has not reaped it yet".to_owned());
    }
    match (&process.runtime, answer) {
        (_, Some(Ok(facts))) => AgentState::Loaded(Box::new(facts)),
        (RuntimeSearch::None, _) => AgentState::None("it is not a .NET process".to_owned()),
        (_, Some(Err(LinkError::NoAgent { obstacle, .. }))) => match &obstacle {
            None => AgentState::Attachable,
            Some(Obstacle::Start(why)) => AgentState::LaunchOnly(why.clone()),
            Some(other) => AgentState::Refused(other.sentence()),
        },
        (_, Some(Err(LinkError::Halted { why, .. }))) => AgentState::Stopped(why),
        (_, Some(Err(error @ LinkError::Silent { .. }))) => AgentState::Silent(error.to_string()),
        (_, Some(Err(error))) => AgentState::Refused(error.to_string()),
        (RuntimeSearch::Runtime(runtime), None) => match (runtime.obstacle(), &process.halted) {
            (Some(why), _) => AgentState::None(why),
            (None, Some(halt)) => AgentState::Stopped(halt.to_string()),
            (None, None) => AgentState::Unknown,
        },
        (RuntimeSearch::Unknown { why, likely: true }, None) => match &process.halted {
            Some(halt) => AgentState::Stopped(halt.to_string()),
            None => AgentState::Refused(why.clone()),
        },
        (RuntimeSearch::Unknown { why, likely: false }, None) => {
            AgentState::None(format!("it does not look like a .NET process, and {why}"))
        }
    }
}

/// Prefers the agent's facts about its runtime over those seen from outside.
fn runtime_row(found: &RuntimeSearch, facts: Option<&AgentFacts>) -> Option<RuntimeRow> {
    let (kind, version) = match (facts, found) {
        (Some(facts), _) => (
            facts.runtime_kind.word(),
            Some(facts.runtime_version.clone()).filter(|version| !version.is_empty()),
        ),
        (None, RuntimeSearch::Runtime(runtime)) => (runtime.kind.word(), runtime.version.clone()),
        (None, _) => return None,
    };
    let tested = version.as_deref().is_some_and(|version| runtime::tested(kind, version));
    Some(RuntimeRow { kind: kind.to_owned(), version, tested })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::Halt;
    use crate::discover::runtime::{Runtime, RuntimeKind};
    use redial_protocol::ids::ProcessKey;

    fn process(runtime: RuntimeSearch) -> Process {
        Process::for_test(42, "dotnet", runtime)
    }

    fn coreclr() -> RuntimeSearch {
        RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, Some("8.0.31")))
    }

    fn no_agent(obstacle: Option<Obstacle>) -> Option<AgentAnswer> {
        Some(Err(LinkError::NoAgent { pid: 42, name: "x".into(), obstacle }))
    }

    #[test]
    fn each_process_has_its_state() {
        let aot = RuntimeSearch::Runtime(Runtime::new(RuntimeKind::NativeAot, None));
        let foreign = || no_agent(Some(Obstacle::NoLibrary("there is no agent for linux-arm64".into())));
        let hidden = |likely| RuntimeSearch::Unknown { why: "its memory map cannot be read".into(), likely };
        let denied = || Some(Err(LinkError::NotAllowed { pid: 42, why: "it is another user's".into() }));
        let halted = || Some(Err(LinkError::Halted { pid: 42, why: Halt::Signal.to_string() }));
        let silent = || Some(Err(LinkError::Silent { pid: 42, seconds: 5 }));
        let facts = || Some(Ok(redial_model::fixtures::facts()));
        for (found, answer, word, part) in [
            (coreclr(), facts(), "loaded", ""),
            (coreclr(), no_agent(None), "attachable", ""),
            (coreclr(), no_agent(Some(Obstacle::Start("it is 2.1".into()))), "launch-only", "it is 2.1"),
            (coreclr(), no_agent(Some(Obstacle::Profiler("/apm.so".into()))), "refused", "/apm.so"),
            (coreclr(), denied(), "refused", "another user's"),
            (coreclr(), halted(), "stopped", "by a signal"),
            (coreclr(), silent(), "no answer", "did not answer within 5 s"),
            (coreclr(), None, "looking…", ""),
            (RuntimeSearch::None, None, "none", "not a .NET"),
            (aot, None, "none", "ahead of time"),
            (coreclr(), foreign(), "refused", "linux-arm64"),
            (hidden(true), denied(), "refused", "another user's"),
            (hidden(false), None, "none", "memory map"),
        ] {
            let process = process(found);
            assert!(answer.is_none() || may_have_agent(&process), "{process:?}");
            let row = row(&process, answer);
            assert_eq!(row.agent.word(), word, "{:?}", row.agent);
            assert!(row.agent.reason().unwrap_or_default().contains(part), "{:?}", row.agent);
        }
    }

    #[test]
    fn stopped_and_ended_processes_are_not_queried() {
        let debugger = Halt::Debugger { pid: 9, name: "gdb".into() };
        let stopped = Process { halted: Some(debugger), ..process(coreclr()) };
        assert!(!may_have_agent(&stopped));
        let row = query(&stopped, "redial test");
        assert_eq!(row.agent, AgentState::Stopped("it is paused in a debugger (gdb, process 9)".into()));
        let ended = Process { ended: true, ..process(RuntimeSearch::None) };
        assert!(query(&ended, "redial test").agent.reason().is_some_and(|why| why.contains("has ended")));
    }

    #[test]
    fn runtime_rows_say_whether_they_are_tested() {
        let of_version =
            |version| runtime_row(&RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, version)), None);
        let expected = RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true };
        assert_eq!(of_version(Some("8.0.31")), Some(expected));
        assert!(of_version(Some("9.0.1")).is_some_and(|runtime| !runtime.tested));
        assert!(of_version(None).is_some_and(|runtime| !runtime.tested));
        let facts = redial_model::fixtures::facts();
        let row = runtime_row(
            &RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, Some("9.0.1"))),
            Some(&facts),
        );
        assert_eq!(row.and_then(|runtime| runtime.version), Some(facts.runtime_version));
    }

    #[test]
    fn rows_keep_the_order_of_their_processes() {
        let numbered = |pid| Process { key: ProcessKey { pid, start: 1 }, ..process(RuntimeSearch::None) };
        let rows = rows([5, 3, 9].map(numbered).to_vec(), "redial test");
        assert_eq!(rows.iter().map(|row| row.key.pid).collect::<Vec<_>>(), [5, 3, 9]);
    }
}
