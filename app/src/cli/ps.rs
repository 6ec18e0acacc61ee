//! `redial ps`: .NET processes, the state of the agent in each, and what can be done.

use super::arguments;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::discover::runtime::{self, Runtime};
use crate::link::discover::{self, Found, Process};
use crate::link::error::LinkError;
use crate::model::processes::program_name;
use crate::output::json::{ControlJson, ProcessJson, RuntimeJson};
use crate::output::table::{Table, number, text, wide};
use crate::output::{Out, terminal_columns};
use redial_protocol::frozen::AgentFacts;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Processes asked at once: one that hangs must not delay the others.
const ASKED_AT_ONCE: usize = 8;

/// Lists processes.
pub fn run(arguments: &arguments::Ps) -> Result<Exit, Failure> {
    let processes = discover::all()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot list processes: {error}")))?;
    let listed = processes.into_iter().filter(|process| arguments.all || speaks_for_dotnet(&process.runtime));
    let rows = describe_all(listed.collect());
    let mut out = Out::new();
    if arguments.json {
        out.json(&rows)?;
    } else if rows.is_empty() {
        out.line("no .NET process found (start one with `redial run -- COMMAND`, or list all with `redial ps --all`)")?;
    } else {
        for line in table(&rows).lines(terminal_columns()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn speaks_for_dotnet(found: &Found) -> bool {
    match found {
        Found::Runtime(_) => true,
        Found::None => false,
        Found::Unknown { likely, .. } => *likely,
    }
}

/// Describes processes in their order, asking the agents side by side.
fn describe_all(processes: Vec<Process>) -> Vec<ProcessJson> {
    let count = processes.len();
    let waiting = Mutex::new(processes.into_iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..ASKED_AT_ONCE.min(count) {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((index, process)) = next else { return };
                    let row = describe(process);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, row));
                }
            });
        }
    });
    let mut rows = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn describe(process: Process) -> ProcessJson {
    let facts = match &process.runtime {
        Found::None => None,
        Found::Runtime(runtime) if runtime.kind.obstacle().is_some() => None,
        Found::Runtime(_) | Found::Unknown { .. } => {
            Some(connect::open(process.pid, "redial ps").map(|session| session.facts().clone()))
        }
    };
    row(process, facts)
}

/// The row of a process and of what its agent answered, if it was asked.
fn row(process: Process, facts: Option<Result<AgentFacts, LinkError>>) -> ProcessJson {
    let (agent, reason) = match (&process.runtime, &facts) {
        (_, Some(Ok(_))) => ("loaded", None),
        (Found::None, _) => ("none", Some("it is not a .NET process".to_owned())),
        (Found::Runtime(Runtime { kind, .. }), _) if kind.obstacle().is_some() => {
            ("none", kind.obstacle().map(str::to_owned))
        }
        (Found::Unknown { why, .. }, _) => ("refused", Some(why.clone())),
        (Found::Runtime(_), Some(Err(LinkError::NoAgent { attachable, advice, .. }))) => {
            (if *attachable { "attachable" } else { "launch-only" }, Some(advice.clone()))
        }
        (Found::Runtime(_), Some(Err(error))) => ("refused", Some(error.to_string())),
        (Found::Runtime(_), None) => ("launch-only", None),
    };
    let facts = facts.and_then(Result::ok);
    ProcessJson {
        pid: process.pid,
        name: program_name(&process.name, process.command.as_deref()),
        group: process.group,
        user: process.user,
        runtime: runtime_json(&process.runtime, facts.as_ref()),
        agent,
        control: facts.as_ref().and_then(|facts| facts.holder.as_ref()).map(ControlJson::from),
        kept: facts.as_ref().map(|facts| facts.kept),
        reason,
        command: process.command,
    }
}

/// The agent knows its runtime better than anyone outside.
fn runtime_json(found: &Found, facts: Option<&AgentFacts>) -> Option<RuntimeJson> {
    let (kind, version) = match (facts, found) {
        (Some(facts), _) => (
            facts.runtime_kind.word(),
            Some(facts.runtime_version.clone()).filter(|version| !version.is_empty()),
        ),
        (None, Found::Runtime(runtime)) => (runtime.kind.word(), runtime.version.clone()),
        (None, _) => return None,
    };
    let tested = version.as_deref().map(|version| runtime::tested(kind, version));
    Some(RuntimeJson { kind, version, tested })
}

fn table(rows: &[ProcessJson]) -> Table {
    let mut table = Table::new(&[
        number("PID"),
        wide("NAME"),
        text("USER"),
        text("RUNTIME"),
        text("AGENT"),
        wide("COMMAND"),
    ]);
    for row in rows {
        let runtime = row.runtime.as_ref().map_or(String::new(), |runtime| match &runtime.version {
            Some(version) => format!("{} {version}", runtime.kind),
            None => runtime.kind.to_owned(),
        });
        // Only "refused" needs its reason at first sight; the others say what to do by their word.
        let last = match (&row.command, row.agent, &row.reason) {
            (_, "refused", Some(reason)) => format!("({reason})"),
            (command, ..) => command.clone().unwrap_or_default(),
        };
        table.row(vec![
            row.pid.to_string(),
            row.name.clone(),
            row.user.clone().unwrap_or_default(),
            runtime,
            row.agent.to_owned(),
            last,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::discover::runtime::Kind;
    use redial_protocol::frozen::RuntimeKind;
    use redial_protocol::ids::ProcessKey;
    use redial_protocol::message::Holder;
    use serde_json::json;

    fn process(runtime: Found) -> Process {
        Process {
            pid: 42,
            name: "dotnet".into(),
            user: Some("www".into()),
            group: None,
            command: Some("dotnet shop.dll".into()),
            runtime,
        }
    }

    fn coreclr() -> Found {
        Found::Runtime(Runtime { kind: Kind::CoreClr, version: Some("9.0.1".into()) })
    }

    fn facts() -> AgentFacts {
        AgentFacts {
            protocol: 1,
            agent_version: "0.1.0".into(),
            process: ProcessKey { pid: 42, start: 1 },
            runtime_kind: RuntimeKind::CoreClr,
            runtime_version: "8.0.31".into(),
            levels: vec![],
            holder: Some(Holder { pid: 7, program: "redial dial".into() }),
            live: 3,
            kept: 2,
            held: 1,
            clr_kept_bytes: 0,
        }
    }

    #[test]
    fn a_loaded_agent_speaks_for_itself() {
        let row = serde_json::to_value(row(process(coreclr()), Some(Ok(facts())))).expect("JSON");
        assert_eq!(
            row,
            json!({
                "pid": 42, "name": "shop.dll", "group": null, "user": "www",
                "runtime": {"kind": "coreclr", "version": "8.0.31", "tested": true},
                "agent": "loaded", "control": {"pid": 7, "program": "redial dial"}, "kept": 2, "reason": null,
                "command": "dotnet shop.dll",
            })
        );
    }

    #[test]
    fn without_an_agent_it_can_be_attached_or_only_launched() {
        let error = |attachable| LinkError::NoAgent {
            pid: 42,
            name: "dotnet".into(),
            attachable,
            advice: "start it with x".into(),
        };
        assert_eq!(row(process(coreclr()), Some(Err(error(true)))).agent, "attachable");
        let row = row(process(coreclr()), Some(Err(error(false))));
        assert_eq!((row.agent, row.reason.as_deref()), ("launch-only", Some("start it with x")));
        assert_eq!(row.runtime.as_ref().map(|runtime| runtime.tested), Some(Some(false)));
        assert_eq!(row.kept, None);
        assert!(table(&[row]).lines(Some(80)).iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn what_cannot_be_dialled_says_why() {
        let aot = Found::Runtime(Runtime { kind: Kind::NativeAot, version: None });
        let unreadable = Found::Unknown { why: "its memory map cannot be read".into(), likely: true };
        for (found, agent, part) in [
            (Found::None, "none", "not a .NET"),
            (aot, "none", "ahead of time"),
            (unreadable, "refused", "memory map"),
        ] {
            let row = row(process(found), None);
            assert_eq!(row.agent, agent);
            assert!(row.reason.as_deref().is_some_and(|reason| reason.contains(part)), "{:?}", row.reason);
        }
    }
}
