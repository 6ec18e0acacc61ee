//! What the window says and offers of a process that has ended, has no agent, or has nothing to turn off.

use super::stage::{act, feed, processes, row, rows, second, tell, window, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::connection::Status;
use crate::model::connection::tests::facts;
use crate::model::ids::ConnectionId;
use crate::model::processes::{AgentState, ProcessChanges};
use crate::model::update::{Retry, Told, Update};
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;

const BILLING: ProcessKey = ProcessKey { pid: 977, start: 3 };

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

#[test]
fn what_has_ended_is_not_offered_to_be_connected_to_again() {
    let mut harness = with_shop(Theme::Dark);
    let lost = |retry| vec![Told::Lost { why: "the agent closed the connection".into(), retry }];
    tell(&mut harness, lost(Retry::Asked));
    assert!(says(&harness, "Connect again"));
    tell(&mut harness, lost(Retry::Never));
    assert!(!says(&harness, "Connect again"));
    assert_eq!(Command::Reconnect.enabled(&harness.state().situation()), Err("the process has ended"));

    // Ended before its methods were read.
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(processes())]);
    act(&mut harness, Command::Select(super::stage::SHOP));
    tell(&mut harness, vec![Told::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }]);
    assert!(says(&harness, "process 4242 has ended") && !says(&harness, "Connect again"));
}

#[test]
fn a_process_that_is_stopped_is_said_to_be_paused_until_it_goes_on() {
    let mut harness = with_shop(Theme::Dark);
    let why = "it is stopped by a signal (SIGCONT lets it go on)";
    let rate = |harness: &Harness<'static, App>| {
        let connection = harness.state().model.current().expect("a process");
        connection.live.row(RowId(0)).and_then(|row| row.rate)
    };
    tell(&mut harness, vec![rows(), second(1, [5, 5]), second(2, [7, 5])]);
    assert_eq!(rate(&harness), Some(7.0));
    tell(&mut harness, vec![Told::Paused(Some(why.to_owned()))]);
    assert_eq!(rate(&harness), Some(0.0), "what stands calls nothing");
    assert!(says(&harness, "paused") && harness.query_by_label(why).is_some());
    assert!(says(&harness, &format!("(pid 4242) says nothing now: {why}")), "the log has it, too");
    tell(&mut harness, vec![Told::Paused(None), second(6, [8, 5])]);
    assert_eq!(rate(&harness), Some(2.0), "in all four seconds");
    assert!(!says(&harness, "paused") && says(&harness, "connected") && says(&harness, "(pid 4242) goes on"));
    // A connection that was lost over it, and made again.
    for again in [Told::Lost { why: why.into(), retry: Retry::Asked }, Told::Connected(Box::new(facts()))] {
        tell(&mut harness, vec![Told::Paused(Some(why.to_owned())), again]);
        assert!(!says(&harness, "paused"));
    }
}

#[test]
fn a_process_without_the_agent_is_said_to_have_none_and_met_when_it_has() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(processes())]);
    act(&mut harness, Command::Select(BILLING));
    let why = "process 977 (billing) runs without the agent; start it with `redial run -- COMMAND`";
    let lost = Told::Lost { why: why.into(), retry: Retry::WithAgent };
    tell(&mut harness, vec![Told::Connecting, lost]);
    assert!(says(&harness, "billing (977) runs without the agent"));
    assert!(says(&harness, "Start the program anew"));
    for odd in ["tries again", "Trying again", "Connect again", "cannot be dialled yet"] {
        assert!(!says(&harness, odd), "{odd}");
    }
    let status = |harness: &Harness<'static, App>| {
        harness.state().model.connections.get(&ConnectionId(1)).map(|one| one.status.clone())
    };
    let mut row = harness.state().model.processes.get(BILLING).cloned().expect("billing");
    row.agent = AgentState::Loaded(Box::new(facts()));
    let changes = ProcessChanges { changed: vec![row], ..ProcessChanges::default() };
    feed(&mut harness, vec![Update::Processes(changes)]);
    assert_eq!(status(&harness), Some(Status::Connecting), "it is tried by itself");
}

#[test]
fn of_what_went_off_before_nobody_says_that_it_was_never_dialled() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::SelectAll);
    let ends = |harness: &mut Harness<'static, App>| {
        let why = "process 4242 has ended".to_owned();
        tell(harness, vec![Told::Lost { why, retry: Retry::Never }]);
    };
    let rows = vec![row(0, State::Off, Level::Off, 9, None)];
    tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows })]);
    ends(&mut harness);
    assert!(says(&harness, "nothing was on") && !says(&harness, "never dialled"));
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::SelectAll);
    ends(&mut harness);
    assert!(says(&harness, "never dialled") && !says(&harness, "nothing was on"));
}

#[test]
fn the_button_alarms_only_while_a_dial_is_on() {
    let mut harness = with_shop(Theme::Dark);
    let alarm = crate::ui::theme::DARK.alarm;
    let pixels = |harness: &mut Harness<'static, App>| {
        let image = harness.render().expect("a picture");
        image.pixels().filter(|pixel| pixel.0[..3] == alarm.to_array()[..3]).count()
    };
    assert_eq!(pixels(&mut harness), 0);
    tell(&mut harness, vec![rows()]);
    assert!(pixels(&mut harness) > 1_000);
}

#[test]
fn lateness_is_said_while_it_lasts() {
    let mut harness = with_shop(Theme::Dark);
    let fold = |t_ms, dropped| {
        let delta = CounterDelta { t_ms, rows: vec![], calls: vec![] };
        vec![Told::Event(Event::Counters { delta, dropped })]
    };
    tell(&mut harness, fold(1_000, 3));
    assert!(says(&harness, "numbers are late") && !says(&harness, "dropped"));
    tell(&mut harness, fold(1_250, 3));
    assert!(!says(&harness, "numbers are late"));
}
