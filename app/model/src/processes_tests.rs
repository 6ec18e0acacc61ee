//! Tests the rows, order and stable places of the process list.

use super::*;

fn row(pid: u32, name: &str, agent: AgentState) -> ProcessRow {
    ProcessRow {
        key: ProcessKey { pid, start: 5 },
        name: name.into(),
        user: Some("www".into()),
        group: None,
        command: Some(format!("/usr/bin/{name} --port 80")),
        runtime: Some(RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true }),
        agent,
    }
}

fn changes(changed: Vec<ProcessRow>, gone: Vec<ProcessKey>) -> ProcessChanges {
    ProcessChanges { changed, gone, trouble: None }
}

fn pids(processes: &Processes) -> Vec<u32> {
    processes.shown().map(|row| row.key.pid).collect()
}

fn plain(pid: u32, name: &str) -> ProcessRow {
    ProcessRow { runtime: None, ..row(pid, name, AgentState::None("it is not a .NET process".into())) }
}

#[test]
fn rows_come_change_and_go() {
    let mut processes = Processes::default();
    assert!(!processes.is_scanned());
    let launch = AgentState::LaunchOnly("start it with the agent".into());
    processes.apply(changes(
        vec![row(2, "shop", launch.clone()), row(1, "zoo", launch), plain(3, "bash")],
        vec![],
    ));
    assert_eq!(pids(&processes), [2, 1], "by name, without processes that are not .NET");
    assert!(processes.is_scanned());
    assert_eq!((processes.len(), processes.dotnet()), (3, 2));
    let facts = crate::fixtures::facts();
    processes.apply(changes(vec![row(1, "zoo", AgentState::Loaded(Box::new(facts)))], vec![]));
    assert_eq!(pids(&processes), [1, 2], "connectable processes come first");
    processes.apply(changes(vec![], vec![ProcessKey { pid: 1, start: 5 }]));
    assert_eq!(pids(&processes), [2]);
    processes.apply(changes(vec![], vec![ProcessKey { pid: 2, start: 4 }]));
    assert_eq!(pids(&processes), [2], "another process of the same pid");
    processes.set_show_all(true);
    assert_eq!(pids(&processes), [2, 3]);
}

fn visible(processes: &Processes) -> Vec<(u32, &'static str)> {
    let mark = |one: &VisibleProcess<'_>| match (one.is_new, one.has_ended) {
        (true, _) => "new",
        (_, true) => "ended",
        _ => "",
    };
    processes.visible().map(|one| (one.row.key.pid, mark(&one))).collect()
}

#[test]
fn rows_keep_their_places_and_new_ones_go_to_the_end() {
    let mut processes = Processes::default();
    let launch = AgentState::LaunchOnly(String::new());
    let rows = [(2, "shop"), (3, "store"), (4, "zoo")];
    processes.apply(changes(rows.map(|(pid, name)| row(pid, name, launch.clone())).into(), vec![]));
    processes.set_frozen(true);
    let key = |pid| ProcessKey { pid, start: 5 };
    let facts = crate::fixtures::facts();
    let first = row(9, "ant", AgentState::Loaded(Box::new(facts)));
    processes.apply(changes(vec![first], vec![key(3)]));
    assert_eq!(visible(&processes), [(2, ""), (3, "ended"), (4, ""), (9, "new")]);
    assert_eq!(pids(&processes), [9, 2, 4], "the underlying list is current");
    // Processes that came and went meanwhile, or came back.
    processes.apply(changes(vec![row(3, "store", launch.clone())], vec![key(9), key(77)]));
    assert_eq!(visible(&processes), [(2, ""), (3, ""), (4, ""), (9, "ended")]);
    processes.set_filter("zoo");
    assert_eq!(visible(&processes), [(4, "")], "a filter applies at once");
    processes.set_filter("");
    processes.apply(changes(vec![row(1, "ape", launch)], vec![key(4)]));
    assert_eq!(visible(&processes), [(2, ""), (3, ""), (4, "ended"), (1, "new")]);
    processes.set_frozen(false);
    assert_eq!(visible(&processes), [(1, ""), (2, ""), (3, "")]);
}

#[test]
fn keeps_some_rows_of_short_lived_processes() {
    let mut processes = Processes::default();
    let launch = AgentState::LaunchOnly(String::new());
    processes.apply(changes(vec![row(1, "shop", launch.clone()), row(2, "zoo", launch.clone())], vec![]));
    processes.set_frozen(true);
    for pid in 3..1000 {
        let gone = ProcessKey { pid: pid - 1, start: 5 };
        processes.apply(changes(vec![row(pid, "csc", launch.clone())], vec![gone]));
    }
    let stand = visible(&processes);
    assert_eq!(stand[..3], [(1, ""), (2, "ended"), (979, "ended")], "the original rows, then the newest");
    assert_eq!(stand.len(), 2 + SHORT_LIVED_ROWS + 1);
    assert_eq!(stand.last(), Some(&(999, "new")));
    assert_eq!(processes.ended.len(), 1 + SHORT_LIVED_ROWS);
}

#[test]
fn every_word_must_be_somewhere() {
    let mut processes = Processes::default();
    let launch = AgentState::LaunchOnly(String::new());
    processes.apply(changes(vec![row(21, "shop", launch.clone()), row(22, "zoo", launch)], vec![]));
    for (filter, expected) in
        [("SHOP", &[][..]), ("shop", &[21]), ("port 22", &[22]), ("8.0 www", &[21, 22]), ("mono", &[])]
    {
        processes.set_filter(filter);
        assert_eq!(pids(&processes), expected, "{filter}");
    }
    processes.set_filter("");
    assert_eq!(pids(&processes).len(), 2);
}

#[test]
fn programs_run_by_dotnet_have_their_own_title() {
    for (file, command, name) in [
        ("dotnet", Some("/usr/bin/dotnet /opt/shop/Shop.dll --live"), "Shop.dll"),
        ("dotnet.exe", Some(r"dotnet.exe C:\shop\Shop.DLL"), "Shop.DLL"),
        ("dotnet", Some("dotnet build"), "dotnet"),
        ("dotnet", None, "dotnet"),
        ("shop", Some("/opt/shop x.dll"), "shop"),
    ] {
        assert_eq!(program_name(file, command), name);
    }
}
