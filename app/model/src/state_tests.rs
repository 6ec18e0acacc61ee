//! Tests connections and launches of the whole model.

use super::*;
use crate::update::ConnectionUpdate;

#[test]
fn closed_connections_ignore_updates() {
    let mut model = Model::default();
    let (one, two) = (ProcessKey { pid: 1, start: 1 }, ProcessKey { pid: 2, start: 1 });
    let (first, new) = model.open(one, "shop");
    assert!(new && model.open(one, "shop") == (first, false));
    let (second, _) = model.open(two, "zoo");
    assert_ne!(first, second);
    assert_eq!(model.current_process().map(|connection| connection.name.as_str()), Some("zoo"));
    model.open(one, "shop");
    assert_eq!(model.current, Some(first.into()));
    model.close(first);
    assert!(model.current().is_none() && model.connection_to(one).is_none());
    let updates = vec![ConnectionUpdate::Notice("too late".into())];
    model.apply(Update::Connection(first, updates), Now::default());
    assert!(model.log.entries().is_empty());
    let (third, new) = model.open(one, "shop");
    assert!(new && third != first, "ids are never reused");
    model.refresh(Now::default());
}

#[test]
fn processes_leave_in_the_order_they_ended() {
    use crate::selection::SelectionMode;
    let mut model = Model::default();
    let keys = [1, 2, 3].map(|pid| ProcessKey { pid, start: 1 });
    keys.iter().for_each(|key| model.choose(*key, SelectionMode::Toggle));
    model.look_at_chosen(|_, _| "shop".to_owned(), Now::default());
    for (second, key) in (1..).zip([keys[2], keys[0], keys[1]]) {
        let id = model.connection_to(key).expect("it was chosen").id;
        let updates = vec![ConnectionUpdate::Lost { why: "it has ended".into(), retry: Retry::Never }];
        model.apply(Update::Connection(id, updates), Now { mono: Duration::from_secs(second), unix_ms: 0 });
    }
    let pids = |model: &Model| model.ended().iter().map(|one| one.process.pid).collect::<Vec<_>>();
    assert_eq!(pids(&model), [3, 1, 2]);
    let gone = model.connection_to(keys[2]).expect("it is still there").id;
    assert_eq!(model.drop_ended(2), [gone]);
    assert_eq!((pids(&model), model.chosen()), (vec![1, 2], &keys[..2]));
}

#[test]
fn follows_a_launched_program_to_its_end() {
    let mut model = Model::default();
    let ticket = model.begin_launch("shop", Now::default());
    let key = ProcessKey { pid: 9, start: 3 };
    for launch in [
        LaunchUpdate::Started { pid: 9 },
        LaunchUpdate::Loaded(key),
        LaunchUpdate::Loaded(ProcessKey { pid: 10, start: 4 }),
        LaunchUpdate::Ended { how: "with code 3".into() },
    ] {
        model.apply(Update::Launch(ticket, launch), Now::default());
    }
    let launched = &model.launched[&ticket];
    assert_eq!((launched.pid, launched.agent), (Some(9), Some(key)), "the first agent is the program's");
    assert_eq!(launched.ended.as_deref(), Some("with code 3"));
    let failed = model.begin_launch("nothing", Now::default());
    model.apply(Update::Launch(failed, LaunchUpdate::Failed("program not found".into())), Now::default());
    let newest = model.log.newest(LogKind::Failure).map(|entry| entry.text.as_str());
    assert_eq!(newest, Some("program not found"));
}

#[test]
fn an_answering_agent_is_listed_at_once() {
    use crate::processes::{AgentState, ProcessChanges, ProcessRow};
    let mut model = Model::default();
    let key = ProcessKey { pid: 1, start: 1 };
    let row = ProcessRow {
        key,
        name: "shop".into(),
        user: None,
        group: None,
        command: None,
        runtime: None,
        agent: AgentState::Refused("it did not answer".into()),
    };
    let changes = ProcessChanges { changed: vec![row], ..ProcessChanges::default() };
    model.apply(Update::Processes(changes), Now::default());
    let (id, _) = model.open(key, "shop");
    let facts = Box::new(crate::fixtures::facts());
    model.apply(Update::Connection(id, vec![ConnectionUpdate::Connected(facts)]), Now::default());
    assert!(model.processes.get(key).is_some_and(|row| row.agent.can_connect()));
}

#[test]
fn kills_a_program_only_after_asking_it_to_end() {
    let mut model = Model::default();
    let at = |seconds| Now { mono: Duration::from_secs(seconds), unix_ms: 0 };
    let ticket = model.begin_launch("shop", at(0));
    assert_eq!(model.begin_stop(ticket, at(1)), None, "it does not run yet");
    let key = ProcessKey { pid: 9, start: 3 };
    model.apply(Update::Launch(ticket, LaunchUpdate::Started { pid: 9 }), at(1));
    model.apply(Update::Launch(ticket, LaunchUpdate::Loaded(key)), at(1));
    let meant = |model: &Model| model.launched_to_stop().iter().map(|(one, _)| *one).collect::<Vec<_>>();
    assert_eq!(meant(&model), [ticket], "even if it is not shown");
    assert!(model.launched_in_sight().is_none());
    model.open(key, "shop");
    assert_eq!(model.launched_in_sight().map(|(one, _)| one), Some(ticket));
    let left = [0, 1, 2].map(|second| {
        let mut asked = model.launched[&ticket].clone();
        asked.stopping = Some(Duration::from_secs(1));
        asked.left_alone(at(second).mono)
    });
    assert_eq!(left, [Some(KILL_DELAY), Some(KILL_DELAY), None]);
    assert_eq!(model.launched[&ticket].left_alone(at(0).mono), None, "not asked yet");
    let stops = [1, 1, 2].map(|second| model.begin_stop(ticket, at(second)));
    assert_eq!(stops, [Some(false), None, Some(true)], "a double click asks once");
    model.apply(Update::Launch(ticket, LaunchUpdate::Stopping { killed: false }), at(2));
    let newest = model.log.newest(LogKind::Answer).map(|entry| entry.text.as_str());
    assert_eq!(newest, Some("asked shop to end; “Kill” ends it at once"));
    model.apply(Update::Launch(ticket, LaunchUpdate::Ended { how: "by signal 9".into() }), at(3));
    assert_eq!((model.begin_stop(ticket, at(9)), meant(&model)), (None, vec![]));
}

#[test]
fn stops_shown_programs_without_killing_others() {
    let mut model = Model::default();
    let at = |seconds| Now { mono: Duration::from_secs(seconds), unix_ms: 0 };
    let key = |pid| ProcessKey { pid, start: 3 };
    let tickets = [9, 8, 7].map(|pid| {
        let ticket = model.begin_launch("shop", at(0));
        model.apply(Update::Launch(ticket, LaunchUpdate::Started { pid }), at(1));
        model.apply(Update::Launch(ticket, LaunchUpdate::Loaded(key(pid))), at(1));
        ticket
    });
    // Two that were launched and one that was not.
    model.choose_more([key(9), key(8), key(5)]);
    drop(model.look_at_chosen(|_, _| "shop".to_owned(), at(1)));
    assert!(model.is_merged());
    let meant = |model: &Model| model.launched_to_stop().iter().map(|(one, _)| *one).collect::<Vec<_>>();
    assert_eq!(meant(&model), tickets[..2]);
    assert_eq!(model.begin_stop(tickets[0], at(2)), Some(false));
    assert_eq!(meant(&model), tickets[1..2], "the other was asked already");
    assert_eq!(model.begin_stop(tickets[1], at(2)), Some(false));
    assert_eq!(meant(&model), tickets[..2], "now both can be killed");
    for ticket in &tickets[..2] {
        model.apply(Update::Launch(*ticket, LaunchUpdate::Ended { how: "with code 0".into() }), at(3));
    }
    assert!(model.launched_looked_at().is_empty());
    assert_eq!(meant(&model), tickets[2..], "the newest running one, if none is shown");
}
