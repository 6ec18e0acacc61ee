//! `redial ps`: lists .NET processes and the state of the agent in each.

use super::arguments;
use crate::output::json::{ControlJson, ProcessJson, RuntimeJson};
use crate::output::table::{Table, number, text, wide};
use crate::output::{Out, terminal_columns};
use redial_link::attach::Obstacle;
use redial_link::exit::{Exit, Failure};
use redial_link::{discover, process_status};
use redial_model::processes::{AgentState, ProcessRow, program_name};

/// Lists processes.
pub fn run(arguments: &arguments::PsArguments) -> Result<Exit, Failure> {
    let mut processes = discover::all()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot list processes: {error}")))?;
    processes.retain(|process| arguments.all || process.may_be_dotnet());
    // Keep groups together.
    processes.sort_by_key(|process| (process.group.is_none(), process.group.clone(), process.key.pid));
    let rows: Vec<ProcessJson> = process_status::rows(processes, "redial ps").into_iter().map(json).collect();
    let mut out = Out::new();
    if arguments.json {
        out.json(&rows)?;
    } else if rows.is_empty() {
        out.line("no .NET process found; start one with `redial run -- COMMAND`, or list all with `redial ps --all`")?;
    } else {
        for line in table(&rows).lines(terminal_columns()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn json(row: ProcessRow) -> ProcessJson {
    let agent = row.agent.word();
    let reason = match &row.agent {
        AgentState::Attachable => Some(Obstacle::advice(None, row.key.pid)),
        AgentState::LaunchOnly(why) => {
            Some(Obstacle::advice(Some(&Obstacle::Start(why.clone())), row.key.pid))
        }
        state => state.reason().map(str::to_owned),
    };
    let facts = match row.agent {
        AgentState::Loaded(facts) => Some(facts),
        _ => None,
    };
    ProcessJson {
        pid: row.key.pid,
        name: program_name(&row.name, row.command.as_deref()),
        group: row.group,
        user: row.user,
        runtime: row.runtime.map(|runtime| RuntimeJson {
            tested: runtime.version.as_ref().map(|_| runtime.tested),
            kind: runtime.kind,
            version: runtime.version,
        }),
        agent,
        control: facts.as_ref().and_then(|facts| facts.holder.as_ref()).map(ControlJson::from),
        kept: facts.as_ref().map(|facts| facts.kept),
        reason,
        command: row.command,
    }
}

fn table(rows: &[ProcessJson]) -> Table {
    let any = |has: fn(&ProcessJson) -> bool| rows.iter().any(has);
    let (grouped, controlled) = (any(|row| row.group.is_some()), any(|row| row.control.is_some()));
    let explained = any(|row| explanation(row).is_some());
    let mut columns = vec![number("PID"), wide("NAME")];
    columns.extend(grouped.then(|| wide("GROUP")));
    columns.extend([text("USER"), text("RUNTIME"), text("AGENT")]);
    columns.extend(controlled.then(|| wide("CONTROL")));
    columns.push(wide("COMMAND"));
    columns.extend(explained.then(|| wide("REASON")));
    let mut table = Table::new(&columns);
    for row in rows {
        let mut cells = vec![row.pid.to_string(), row.name.clone()];
        cells.extend(grouped.then(|| row.group.clone().unwrap_or_default()));
        cells.extend([row.user.clone().unwrap_or_default(), runtime(row), row.agent.to_owned()]);
        let control = || row.control.as_ref().map(ControlJson::words).unwrap_or_default();
        cells.extend(controlled.then(control));
        cells.push(row.command.clone().unwrap_or_default());
        cells.extend(explained.then(|| explanation(row).unwrap_or_default().to_owned()));
        table.row(cells);
    }
    table
}

fn runtime(row: &ProcessJson) -> String {
    let Some(RuntimeJson { kind, version, tested }) = &row.runtime else { return String::new() };
    let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let note = if *tested == Some(false) { ", not tested" } else { "" };
    format!("{kind}{version}{note}")
}

/// Returns the reason for the states that need one.
fn explanation(row: &ProcessJson) -> Option<&str> {
    row.reason.as_deref().filter(|_| matches!(row.agent, "launch-only" | "stopped" | "no answer" | "refused"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::processes::RuntimeRow;
    use redial_protocol::frozen::AgentFacts;
    use redial_protocol::ids::ProcessKey;
    use redial_protocol::message::Holder;
    use serde_json::json;

    fn row(version: &str, agent: AgentState) -> ProcessRow {
        ProcessRow {
            key: ProcessKey { pid: 42, start: 1 },
            name: "dotnet".into(),
            user: Some("www".into()),
            group: None,
            command: Some("dotnet shop.dll".into()),
            runtime: Some(RuntimeRow {
                kind: "coreclr".into(),
                version: Some(version.into()).filter(|version: &String| !version.is_empty()),
                tested: version == "8.0.31",
            }),
            agent,
        }
    }

    fn facts() -> Box<AgentFacts> {
        let holder = Some(Holder { pid: 7, program: "redial dial".into() });
        Box::new(AgentFacts { kept: 2, holder, ..redial_model::fixtures::facts() })
    }

    #[test]
    fn json_of_a_process_with_the_agent() {
        let row = serde_json::to_value(json(row("8.0.31", AgentState::Loaded(facts())))).expect("JSON");
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
    fn rows_without_the_agent_say_what_to_do() {
        let attachable = json(row("9.0.1", AgentState::Attachable));
        assert_eq!(
            (attachable.agent, attachable.reason.as_deref(), attachable.kept),
            ("attachable", Some("load it with `redial attach 42`"), None)
        );
        assert_eq!(attachable.runtime.as_ref().map(|runtime| runtime.tested), Some(Some(false)));
        let unknown = json(row("", AgentState::Refused("it is another user's".into())));
        assert_eq!(unknown.runtime.as_ref().map(|runtime| runtime.tested), Some(None));
        assert_eq!((unknown.agent, unknown.reason.as_deref()), ("refused", Some("it is another user's")));
    }

    #[test]
    fn the_table_omits_empty_columns() {
        let stopped = row("9.0.1", AgentState::Stopped("it is stopped by a signal".into()));
        let grouped = ProcessRow { group: Some("shop.service".into()), ..stopped };
        let rows =
            [row("8.0.31", AgentState::Attachable), row("8.0.31", AgentState::Loaded(facts())), grouped];
        let rows = rows.map(json);
        assert_eq!(
            table(&rows[..1]).lines(None),
            [
                "PID  NAME      USER  RUNTIME         AGENT       COMMAND",
                " 42  shop.dll  www   coreclr 8.0.31  attachable  dotnet shop.dll",
            ]
        );
        let lines = table(&rows).lines(None);
        assert!(lines[0].contains("GROUP") && lines[0].contains("CONTROL") && lines[0].contains("REASON"));
        assert!(lines[2].contains("redial dial (pid 7)"), "{lines:#?}");
        assert!(
            lines[3].contains("shop.service") && lines[3].contains("coreclr 9.0.1, not tested"),
            "{lines:#?}"
        );
        assert!(lines[3].contains("stopped  ") && lines[3].contains("by a signal"), "{lines:#?}");
    }
}
