//! Tests the scanner on this machine.

use super::*;
use std::process::{Child, Command, Stdio};

fn sleeper() -> Child {
    let program = if cfg!(windows) { "cmd" } else { "cat" };
    Command::new(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a harmless program")
}

fn pids(rows: &[ProcessRow]) -> Vec<u32> {
    rows.iter().map(|row| row.key.pid).collect()
}

#[test]
fn processes_come_once_and_go() {
    let mut known = ScanState::default();
    let first = known.scan();
    assert!(!pids(&first.changed).contains(&std::process::id()), "a window does not dial itself");
    let mut child = sleeper();
    let changes = known.scan();
    let row = changes.changed.iter().find(|row| row.key.pid == child.id()).expect("it is new");
    assert!(row.key.start != 0 && row.runtime.is_none(), "{row:?}");
    assert_eq!(row.agent, AgentState::None("it is not a .NET process".into()));
    assert!(!matters(row), "it wakes nobody");
    let (key, again) = (row.key, known.scan());
    assert!(!pids(&again.changed).contains(&child.id()), "nothing new about it");
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(known.scan().gone.iter().filter(|gone| **gone == key).count(), 1);
    assert!(!known.scan().gone.contains(&key));
}

#[test]
fn queries_agents_again_with_growing_delays() {
    let mut known = ScanState::default();
    let row = ProcessRow {
        key: ProcessKey { pid: 1, start: 1 },
        name: "shop".into(),
        user: None,
        group: None,
        command: None,
        runtime: None,
        agent: AgentState::Attachable,
    };
    let now = Instant::now();
    let mut waits = Vec::new();
    for time in 0..5 {
        assert_eq!(known.record(&row, now), time == 0, "it is reported once");
        waits.push((known.rows[&row.key].next - now).as_secs());
    }
    assert_eq!(waits, [1, 3, 9, 10, 10]);
    assert!(known.record(&ProcessRow { agent: AgentState::Unknown, ..row.clone() }, now));
    known.reset_inspections();
    assert!(known.rows[&row.key].next <= Instant::now());
}
