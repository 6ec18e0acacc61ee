//! Tests of texts and actions for processes that have ended, have no agent, or have nothing to turn off.

use super::fixture::{deliver, execute, feed, processes, row, rows, second, window, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::ui::capitalized;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::connection::Status;
use redial_model::fixtures::facts;
use redial_model::ids::ConnectionId;
use redial_model::processes::{AgentState, ProcessChanges};
use redial_model::update::{ConnectionUpdate, Retry, Update};
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

const BILLING: ProcessKey = ProcessKey { pid: 977, start: 3 };

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

#[test]
fn ended_process_offers_no_reconnection() {
    let mut harness = with_shop(Theme::Dark);
    let lost = |retry| vec![ConnectionUpdate::Lost { why: "the agent closed the connection".into(), retry }];
    deliver(&mut harness, lost(Retry::Asked));
    assert!(shows(&harness, "Reconnect"));
    deliver(&mut harness, lost(Retry::Never));
    assert!(!shows(&harness, "Reconnect"));
    assert_eq!(
        UiCommand::Reconnect.enabled(&harness.state().command_context()),
        Err("the process has ended")
    );

    // Ended before its methods were loaded.
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(processes())]);
    execute(&mut harness, UiCommand::Select(super::fixture::SHOP));
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
    );
    assert!(shows(&harness, "Process 4242 has ended") && !shows(&harness, "Reconnect"));
}

#[test]
fn stopped_process_is_shown_as_paused() {
    let mut harness = with_shop(Theme::Dark);
    let why = "it is stopped by a signal (SIGCONT resumes it)";
    let rate = |harness: &Harness<'static, App>| {
        let connection = harness.state().model.current().expect("a process");
        connection.table().live.row(RowId(0)).and_then(|row| row.rate)
    };
    deliver(&mut harness, vec![rows(), second(1, [5, 5]), second(2, [7, 5])]);
    assert_eq!(rate(&harness), Some(7.0));
    deliver(&mut harness, vec![ConnectionUpdate::Paused(Some(why.to_owned()))]);
    assert_eq!(rate(&harness), Some(0.0), "a paused process calls nothing");
    assert!(shows(&harness, "Paused") && harness.query_by_label(&capitalized(why)).is_some());
    assert!(shows(&harness, &format!("paused: {why}")), "the log has it, too");
    deliver(&mut harness, vec![ConnectionUpdate::Paused(None), second(6, [8, 5])]);
    assert_eq!(rate(&harness), Some(2.0), "over all four seconds");
    assert!(
        harness.query_by_label("Paused").is_none()
            && shows(&harness, "Connected")
            && shows(&harness, ": continues")
    );
    // The pause cost the connection, which was then made again.
    for again in [
        ConnectionUpdate::Lost { why: why.into(), retry: Retry::Asked },
        ConnectionUpdate::Connected(Box::new(facts())),
    ] {
        deliver(&mut harness, vec![ConnectionUpdate::Paused(Some(why.to_owned())), again]);
        assert!(harness.query_by_label("Paused").is_none());
    }
}

#[test]
fn process_without_agent_connects_once_it_has_one() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(processes())]);
    execute(&mut harness, UiCommand::Select(BILLING));
    let why = "process 977 (billing) runs without the agent; start it with `redial run -- COMMAND`";
    let lost = ConnectionUpdate::Lost { why: why.into(), retry: Retry::WithAgent };
    deliver(&mut harness, vec![ConnectionUpdate::Connecting, lost]);
    assert!(shows(&harness, "billing (977) has no agent"));
    assert!(shows(&harness, "Launch the program from here"));
    for odd in ["Retrying", "Trying again", "Reconnect", "cannot be dialled yet"] {
        assert!(!shows(&harness, odd), "{odd}");
    }
    let status = |harness: &Harness<'static, App>| {
        harness.state().model.connections.get(&ConnectionId(1)).map(|one| one.session.status.clone())
    };
    let mut row = harness.state().model.processes.get(BILLING).cloned().expect("billing");
    row.agent = AgentState::Loaded(Box::new(facts()));
    let changes = ProcessChanges { changed: vec![row], ..ProcessChanges::default() };
    feed(&mut harness, vec![Update::Processes(changes)]);
    assert_eq!(status(&harness), Some(Status::Connecting), "it is tried automatically");
}

#[test]
fn method_off_before_is_not_never_dialled() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::SelectAll);
    let ends = |harness: &mut Harness<'static, App>| {
        let why = "process 4242 has ended".to_owned();
        deliver(harness, vec![ConnectionUpdate::Lost { why, retry: Retry::Never }]);
    };
    let rows = vec![row(0, CopyState::Off, Level::Off, 9, None)];
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    ends(&mut harness);
    assert!(shows(&harness, "Was off") && !shows(&harness, "Never dialled"));
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::SelectAll);
    ends(&mut harness);
    assert!(shows(&harness, "Never dialled") && !shows(&harness, "Was off"));
}

#[test]
fn the_button_alarms_only_while_a_dial_is_on() {
    let mut harness = with_shop(Theme::Dark);
    let alarm = crate::ui::theme::DARK.alarm;
    let pixels = |harness: &mut Harness<'static, App>| {
        let image = harness.render().expect("a picture");
        image.pixels().filter(|pixel| pixel.0[..3] == alarm.to_array()[..3]).count()
    };
    let hover = |harness: &mut Harness<'static, App>, label: &str| {
        harness.get_by_label_contains(label).hover();
        harness.run_steps(3);
    };
    hover(&mut harness, "All dials off");
    assert_eq!(pixels(&mut harness), 0, "nothing is on");
    deliver(&mut harness, vec![rows()]);
    assert!(pixels(&mut harness) > 1_000);
    hover(&mut harness, "Launch…");
    assert_eq!(pixels(&mut harness), 0, "it is outlined until the pointer is on it");
    hover(&mut harness, "All dials off");
    assert!(pixels(&mut harness) > 1_000);
}

#[test]
fn late_numbers_are_reported_while_late() {
    let mut harness = with_shop(Theme::Dark);
    let fold = |t_ms, dropped| {
        let delta = CounterDelta { t_ms, rows: vec![], calls: vec![] };
        vec![ConnectionUpdate::Event(Event::Counters { delta, dropped })]
    };
    deliver(&mut harness, fold(1_000, 3));
    assert!(shows(&harness, "Numbers are late") && !shows(&harness, "dropped"));
    deliver(&mut harness, fold(1_250, 3));
    assert!(!shows(&harness, "Numbers are late"));
}
