//! Tests of switching between processes, alone and together: state that is kept, and process names in the log.

use super::fixture::{
    SHOP, catalogue, choose_shops, crowd, execute, feed, look_at_shops, nothing_counted, shop, shops, status,
    window,
};
use super::fleet::{ADD, deliver_to, logged, merged};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::facts;
use redial_model::ids::ConnectionId;
use redial_model::list::{Filter, Sort, SortKey as By};
use redial_model::log::LogKind;
use redial_model::process_choice::Arrangement;
use redial_model::selection::SelectionMode;
use redial_model::update::{ConnectionUpdate, LaunchUpdate, Update};
use redial_protocol::message::{AgentStatus, Event, Holder};

const BY_RATE: Sort = Sort { key: By::Rate, descending: true };

/// Returns a window with two Shops whose methods are loaded; the first is shown alone.
fn two() -> Harness<'static, App> {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    for (id, pid) in [(1, 4243), (2, 4242)] {
        execute(&mut harness, UiCommand::Select(shop(pid)));
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
        deliver_to(&mut harness, id, catalogue());
    }
    harness
}

fn tick(harness: &mut Harness<'static, App>, pid: u32) {
    execute(harness, UiCommand::Choose(shop(pid), SelectionMode::Toggle));
}

fn look(harness: &Harness<'static, App>) -> (Filter, Sort) {
    let connection = harness.state().model.current().expect("a current process");
    (connection.table().list.filter().clone(), connection.table().list.sort())
}

fn selected(harness: &Harness<'static, App>) -> usize {
    harness.state().model.current().map_or(0, |connection| connection.table().selection.len())
}

#[test]
fn framework_filter_can_be_set_without_a_process() {
    let mut harness = two();
    let before = look(&harness).0.hide_framework;
    execute(&mut harness, UiCommand::Disconnect);
    assert!(harness.state().model.current().is_none());
    execute(&mut harness, UiCommand::HideFramework);
    execute(&mut harness, UiCommand::Select(shop(4243)));
    assert_eq!(look(&harness).0.hide_framework, !before);
}

/// A stray key must not turn an earlier selection.
#[test]
fn reopened_process_starts_without_selection() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Select(SHOP));
    crowd(&mut harness, 1_500);
    let top =
        |harness: &Harness<'static, App>| harness.query_by_label("Crowd!Crowd.Type0.Method0()").is_some();
    assert!(top(&harness));
    harness.key_press(Key::End);
    harness.run_steps(3);
    assert!(!top(&harness) && selected(&harness) == 1);
    execute(&mut harness, UiCommand::SelectAll);
    assert!(selected(&harness) > 1_500);
    for elsewhere in [UiCommand::Select(shop(4243)), UiCommand::Choose(shop(4243), SelectionMode::Toggle)] {
        execute(&mut harness, elsewhere);
        assert_eq!(selected(&harness), 0);
        execute(&mut harness, UiCommand::Select(SHOP));
        assert_eq!(selected(&harness), 0);
        assert!(top(&harness));
        harness.key_press(Key::Space);
        harness.run_steps(3);
        assert_eq!(logged(&harness, LogKind::Request), [] as [String; 0]);
        execute(&mut harness, UiCommand::SelectAll);
    }
    // The process is still current.
    execute(&mut harness, UiCommand::Select(SHOP));
    assert!(selected(&harness) > 1_500);
}

/// After turning everything off, no dial held by this window may stay on anywhere.
#[test]
fn all_off_includes_dials_held_in_other_processes() {
    let off = |harness: &mut Harness<'static, App>| {
        let before = logged(harness, LogKind::Request).len();
        execute(harness, UiCommand::AllOff);
        logged(harness, LogKind::Request).len() - before
    };
    let mut harness = two();
    assert_eq!(off(&mut harness), 1, "nothing is held in the other");
    let mut holds = |pid| {
        let holder = Some(Holder { pid, program: "redial".into() });
        let account = AgentStatus { control: holder.clone(), held: 3, ..status() };
        let control = ConnectionUpdate::Event(Event::Control(holder));
        deliver_to(&mut harness, 1, vec![control, ConnectionUpdate::AgentStatus(Box::new(account))]);
        off(&mut harness)
    };
    assert_eq!(holds(std::process::id()), 2);
    assert_eq!(holds(9), 1, "others' dials there stay");
}

#[test]
fn waits_for_dials_still_being_read() {
    let shows = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    assert!(!harness.state().dials_on().more, "no agent answers");
    for id in 1..=3 {
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
        deliver_to(&mut harness, id, vec![super::fixture::rows(), nothing_counted()]);
    }
    assert!(shows(&harness, "3 of 3 connected, reading dials…"), "the rows have no methods yet");
    assert!(harness.state().dials_on().more);
    for id in 1..=3 {
        deliver_to(&mut harness, id, catalogue());
    }
    assert!(shows(&harness, "3 of 3 connected") && !shows(&harness, "reading dials…"));
    assert!(shows(&harness, "All dials off in 3 processes (9)"));
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Paused(Some("it is paused in a debugger".into()))]);
    assert!(shows(&harness, "3 of 3 connected, 1 paused"));
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    assert!(shows(&harness, "reading dials…"), "a new session sends its rows again");
    execute(&mut harness, UiCommand::Select(SHOP));
    assert!(shows(&harness, "Connected, reading dials…"));
    deliver_to(&mut harness, 1, vec![nothing_counted()]);
    assert!(!shows(&harness, "reading dials…"));
}

#[test]
fn all_off_names_its_processes_before_and_after() {
    let mut harness = two();
    let shows = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    assert!(!shows(&harness, "All dials off in"));
    let holder = Some(Holder { pid: std::process::id(), program: "redial".into() });
    let account = AgentStatus { control: holder.clone(), held: 3, ..status() };
    let control = ConnectionUpdate::Event(Event::Control(holder));
    deliver_to(
        &mut harness,
        1,
        vec![control, ConnectionUpdate::AgentStatus(Box::new(account)), super::fixture::rows()],
    );
    assert!(shows(&harness, "All dials off in 2 processes (3)"), "including processes not shown");
    execute(&mut harness, UiCommand::AllOff);
    let asked = |harness: &Harness<'static, App>, id| {
        let changes = &harness.state().model.connections[&ConnectionId(id)].table.changes;
        changes.pending().last().expect("all off").ticket
    };
    let tickets = [1, 2].map(|id| asked(&harness, id));
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::AllOff(tickets[0], Ok((3, 0)))]);
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::AllOff(tickets[1], Ok((0, 0)))]);
    let text = "All off: every dial is off in Shop.dll (4243), 3 reverted to the original IL";
    assert!(harness.query_by_label(text).is_some(), "nothing contradicts it beside");
    assert!(shows(&harness, "All off: no dial was on in Shop.dll (4242)"), "the log has it");
    assert!(
        harness.state().model.connections[&ConnectionId(2)].table.changes.undoable().is_none(),
        "nothing was done"
    );
}

#[test]
fn selection_survives_arrangement_changes() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::SelectAll);
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    assert_eq!(selected(&harness), 10, "the selection of the merged list");
    harness.get_all_by_label(ADD).nth(1).expect("two tables").click();
    harness.run_steps(3);
    assert_eq!((harness.state().model.current, selected(&harness)), (Some(ConnectionId(2).into()), 1));
    execute(&mut harness, UiCommand::Focus(ConnectionId(1)));
    assert_eq!(selected(&harness), 1);
    for (arrangement, rows) in [
        (Arrangement::Separate, 1),
        (Arrangement::Merged, 1),
        (Arrangement::Separate, 3),
        (Arrangement::Merged, 1),
        (Arrangement::SideBySide, 1),
    ] {
        execute(&mut harness, UiCommand::Arrange(arrangement));
        assert_eq!(selected(&harness), rows, "{arrangement:?}");
    }
    // A process shown all along keeps the selection; another starts without.
    for (pid, rows) in [(4242, 1), (4243, 0)] {
        execute(&mut harness, UiCommand::Select(shop(pid)));
        assert_eq!(selected(&harness), rows, "{pid}");
    }
}

/// A key applies to the latest selection, even in the same frame.
#[test]
fn side_by_side_keys_apply_to_the_latest_selection() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    harness.get_all_by_label(ADD).next().expect("two tables").click();
    harness.run_steps(3);
    let key = |key| eframe::egui::Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Default::default(),
    };
    harness.input_mut().events.extend([key(Key::ArrowDown), key(Key::Space)]);
    harness.run_steps(3);
    assert_eq!(logged(&harness, LogKind::Request), ["Shop.dll (4242): count on Shop!Shop.Cart.Clear()"]);
}

#[test]
fn order_and_filter_survive_process_switches() {
    let mut harness = two();
    execute(&mut harness, UiCommand::Sort(BY_RATE));
    execute(&mut harness, UiCommand::Filter("cart".into()));
    let mine = look(&harness);
    assert_eq!((mine.1, mine.0.text.as_str()), (BY_RATE, "cart"));
    tick(&mut harness, 4243);
    assert!(harness.state().model.is_merged());
    assert_eq!(look(&harness), mine, "for two as for one");
    assert_eq!(merged(&harness).list.len(), 5);
    for arrangement in [Arrangement::SideBySide, Arrangement::Merged] {
        execute(&mut harness, UiCommand::Arrange(arrangement));
        assert_eq!(look(&harness), mine, "{arrangement:?}");
    }
    tick(&mut harness, 4242);
    assert_eq!(harness.state().model.current, Some(ConnectionId(1).into()), "a single one again");
    assert_eq!(look(&harness), mine);
    assert_eq!(harness.state().methods.text, "cart", "the field shows it");
    // Another process has no filter of its own.
    execute(&mut harness, UiCommand::Select(SHOP));
    assert_eq!((look(&harness), harness.state().methods.text.as_str()), (mine, "cart"));
    execute(&mut harness, UiCommand::ClearFilter);
    execute(&mut harness, UiCommand::OnlyDialled);
    execute(&mut harness, UiCommand::FreezeOrder);
    execute(&mut harness, UiCommand::Sort(Sort::default()));
    let mine = look(&harness);
    execute(&mut harness, UiCommand::Select(shop(4243)));
    assert_eq!((look(&harness), harness.state().methods.text.as_str()), (mine.clone(), ""));
    assert!(mine.0.only_dialled && harness.state().command_context().switches.freeze_order);
    // The filter outlives a connection.
    execute(&mut harness, UiCommand::OnlyDialled);
    execute(&mut harness, UiCommand::Filter("cart".into()));
    execute(&mut harness, UiCommand::Disconnect);
    assert_eq!(harness.state().model.current, None);
    execute(&mut harness, UiCommand::Select(SHOP));
    assert_eq!((look(&harness).0.text.as_str(), harness.state().methods.text.as_str()), ("cart", "cart"));
}

#[test]
fn log_names_processes() {
    let mut harness = two();
    harness.get_by_label(&format!("Dial of {ADD}")).click();
    harness.run_steps(3);
    let line = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    let named = format!("request: Shop.dll (4242): count on {ADD}");
    assert!(line(&harness, &named), "whatever is shown");
    execute(&mut harness, UiCommand::Select(shop(4243)));
    assert!(line(&harness, &named));
    tick(&mut harness, 4242);
    assert!(line(&harness, &named), "also where both are merged");
    execute(&mut harness, UiCommand::Select(SHOP));
    assert!(line(&harness, &named));
    // The notification names it, too.
    execute(&mut harness, UiCommand::Select(shop(4243)));
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::NotAttached("no room".into())]);
    let shown_text =
        harness.query_all_by_label_contains("Shop.dll (4242): the agent was not loaded: no room");
    assert_eq!(shown_text.count(), 2, "in the log and in the notification");
}

#[test]
fn a_launched_program_joins_several_and_replaces_one() {
    let launch = |harness: &mut Harness<'static, App>| {
        let now = harness.state().now();
        let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
        harness.state_mut().pending.launch = Some(ticket);
        let news = [LaunchUpdate::Started { pid: 4244 }, LaunchUpdate::Loaded(shop(4244))];
        feed(harness, news.map(|one| Update::Launch(ticket, one)).into());
        let chosen = harness.state().model.chosen();
        chosen.iter().map(|key| key.pid).collect::<Vec<_>>()
    };
    let mut harness = two();
    assert_eq!(launch(&mut harness), [4244]);
    assert_eq!(logged(&harness, LogKind::Notice), [] as [String; 0]);
    let mut harness = two();
    tick(&mut harness, 4243);
    assert_eq!(launch(&mut harness), [4242, 4243, 4244], "the earlier selection stays");
    let text = logged(&harness, LogKind::Notice);
    assert!(
        text.len() == 1 && text[0].starts_with("Shop.dll (4244) was added to the selected processes"),
        "{text:?}"
    );
}

#[test]
fn says_no_dials_are_on_once_they_are_read() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    execute(&mut harness, UiCommand::Select(SHOP));
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    deliver_to(&mut harness, 1, catalogue());
    execute(&mut harness, UiCommand::OnlyDialled);
    assert!(harness.query_by_label("Reading dials…").is_some());
    assert!(harness.query_by_label("No dials are on").is_none());
    deliver_to(&mut harness, 1, vec![nothing_counted()]);
    assert!(harness.query_by_label("Reading dials…").is_none());
    assert!(harness.query_by_label("No dials are on").is_some());
}
