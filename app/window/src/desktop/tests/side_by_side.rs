//! Tests of several processes: details side by side, the process list under the pointer, stopping launched
//! programs, and processes that end meanwhile.

use super::fixture::{
    SHOP, execute, feed, look_at_shops, processes, row, shop, window, window_of, with_shop,
};
use super::fleet::{ADD, deliver_to, merged, rows};
use crate::commands::{CopyFormat, UiCommand};
use crate::desktop::App;
use eframe::egui::accesskit::Role;
use eframe::egui::{Modifiers, Rect, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::list::{Sort, SortKey};
use redial_model::process_choice::Arrangement;
use redial_model::processes::{AgentState, ProcessChanges};
use redial_model::selection::SelectionMode;
use redial_model::update::{ConnectionUpdate, LaunchUpdate, Retry, Update};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn place(harness: &Harness<'static, App>, label: &str) -> Rect {
    harness.get_by_label(label).rect()
}

fn ends(harness: &mut Harness<'static, App>, id: u32, pid: u32) {
    let why = format!("process {pid} has ended");
    deliver_to(harness, id, vec![ConnectionUpdate::Lost { why, retry: Retry::Never }]);
}

#[test]
fn side_by_side_details_follow_the_current_process() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 111), (2, 22_222), (3, 333)] {
        rows(&mut harness, id, CopyState::Live, calls);
    }
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    assert!(shows(&harness, "No method selected"));
    harness.get_all_by_label(ADD).next().expect("two").click();
    harness.run_steps(3);
    let knob = "Dial of the selection";
    let details = harness.get_by_label(knob).rect().left();
    // Numbers right of the knob's left edge belong to the details panel.
    let number = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label(text).any(|label| label.rect().left() > details)
    };
    assert!(number(&harness, "111") && !number(&harness, "22,222"));
    harness.get_by_label("Show Shop.dll (4243)").click();
    harness.run_steps(3);
    assert!(number(&harness, "22,222") && !number(&harness, "111"), "the same method in another process");
    harness.get_by_label(knob).click();
    harness.run_steps(3);
    let turned = [1, 2, 3]
        .map(|id| harness.state().model.connections[&ConnectionId(id)].table.changes.pending().len());
    assert_eq!(turned, [0, 1, 0]);
}

#[test]
fn side_by_side_details_report_a_missing_method() {
    let mut harness = look_at_shops(window(Theme::Dark));
    deliver_to(&mut harness, 2, super::fixture::crowd_of(3));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    harness.get_by_label("Crowd!Crowd.Type0.Method0()").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.current, Some(ConnectionId(2).into()));
    let lacks = "This process has not loaded the selection.";
    assert!(!shows(&harness, lacks));
    execute(&mut harness, UiCommand::Focus(ConnectionId(1)));
    assert!(shows(&harness, lacks));
}

#[test]
fn side_by_side_names_hidden_processes() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    harness.get_by_label("Not visible: Shop.dll (4244)").hover();
    harness.run_steps(40);
    assert!(shows(&harness, "use the sums of all 3 processes"));
    execute(&mut harness, UiCommand::SideBySideFrom(1));
    execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Calls, descending: true }));
    harness.get_by_label("Not visible: Shop.dll (4242); sorted by sums of all 3");
    let mut wide = look_at_shops(window_of(Theme::Dark, [1_900.0, 720.0]));
    execute(&mut wide, UiCommand::Arrange(Arrangement::SideBySide));
    assert!(!shows(&wide, "Not visible"));
}

/// All tables share one order, and the pointer over any of them freezes it.
#[test]
fn side_by_side_tables_share_one_held_order() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Calls, descending: true }));
    let clear = "Shop!Shop.Cart.Clear()";
    let calls = |harness: &mut Harness<'static, App>, id, of_add, of_clear| {
        let live = |index, calls| row(index, CopyState::Live, Level::Count, calls, None);
        let rows = vec![live(0, of_add), live(1, of_clear)];
        deliver_to(harness, id, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
        harness.run_steps(3);
    };
    let tops = |harness: &Harness<'static, App>, label: &str| {
        harness.query_all_by_role_and_label(Role::Row, label).map(|row| row.rect().top()).collect::<Vec<_>>()
    };
    calls(&mut harness, 1, 10, 5);
    calls(&mut harness, 2, 10, 5);
    let (first, second) = (tops(&harness, ADD), tops(&harness, clear));
    assert!(first[0] == first[1] && first[0] < second[0] && second[0] == second[1], "{first:?} {second:?}");
    let pane = harness.query_all_by_role_and_label(Role::Row, ADD).last().expect("a row").rect();
    harness.hover_at(pane.center());
    harness.run_steps(3);
    calls(&mut harness, 1, 10, 500);
    assert_eq!((tops(&harness, ADD), tops(&harness, clear)), (first.clone(), second.clone()), "it is frozen");
    assert!(shows(&harness, "Sort again"));
    execute(&mut harness, UiCommand::SortAgain);
    assert_eq!((tops(&harness, ADD), tops(&harness, clear)), (second, first), "by the sums of both");
}

#[test]
fn narrow_window_hides_details_for_two_processes() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [900.0, 600.0]));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    harness.get_all_by_label(ADD).next().expect("one").click();
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label(ADD).count(), 2);
    assert!(harness.query_by_label("Dial of the selection").is_none());
}

/// Returns the rows of the process list from top to bottom.
fn listed(harness: &Harness<'static, App>) -> Vec<String> {
    let rows = harness.query_all_by_role(Role::ListItem);
    let mut rows: Vec<(f32, String)> =
        rows.map(|row| (row.rect().top(), row.accesskit_node().label().unwrap_or_default())).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let short = |label: String| {
        let ended = if label.ends_with(", ended") { " ended" } else { "" };
        label.split(',').next().unwrap_or_default().to_owned() + ended
    };
    rows.into_iter().map(|(_, label)| short(label)).collect()
}

#[test]
fn process_list_is_still_under_the_pointer() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(processes())]);
    let billing = "billing 977, .NET 8.0.31 · www, agent launch-only";
    let before = place(&harness, billing);
    harness.hover_at(before.center());
    harness.run_steps(3);
    let mut news = processes();
    news.changed.truncate(1);
    news.changed[0].key.pid = 50;
    news.changed[0].name = "accounts".into();
    news.changed[0].agent = AgentState::Loaded(Box::new(redial_model::fixtures::facts()));
    news.gone = vec![SHOP];
    feed(&mut harness, vec![Update::Processes(news)]);
    assert_eq!(place(&harness, billing), before);
    assert_eq!(listed(&harness), ["dotnet 4242 ended", "billing 977", "reports 31", "accounts 50"]);
    // An ended process cannot be selected, and a range skips it.
    harness.get_by_label(billing).click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Choose(shop(4242), SelectionMode::Extend));
    let chosen: Vec<u32> = harness.state().model.chosen().iter().map(|key| key.pid).collect();
    assert!(!chosen.contains(&4242), "{chosen:?}");
    harness.remove_cursor();
    harness.run_steps(3);
    assert_eq!(listed(&harness), ["accounts 50", "billing 977", "reports 31"]);
}

fn launch(harness: &mut Harness<'static, App>, pid: u32) -> Ticket {
    let now = harness.state().now();
    let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
    let news = [LaunchUpdate::Started { pid }, LaunchUpdate::Loaded(shop(pid))];
    feed(harness, news.map(|one| Update::Launch(ticket, one)).into());
    ticket
}

#[test]
fn status_bar_stops_launched_programs_of_a_fleet() {
    let mut harness = look_at_shops(window(Theme::Dark));
    assert!(!shows(&harness, "launched here"), "none of them was");
    let tickets = [4243, 4244].map(|pid| launch(&mut harness, pid));
    let stop = place(&harness, "Stop 2 launched here");
    assert!(stop.top() > 660.0, "in the status bar: {stop}");
    harness.get_by_label("Stop 2 launched here").click();
    harness.run_steps(3);
    let stopped = |harness: &Harness<'static, App>| {
        tickets.map(|ticket| harness.state().model.launched[&ticket].stopping.is_some())
    };
    assert_eq!(stopped(&harness), [true; 2]);
    harness.get_by_label("Kill 2 launched here");
    feed(&mut harness, vec![Update::Launch(tickets[0], LaunchUpdate::Ended { how: "with code 0".into() })]);
    harness.get_by_label("Kill 1 launched here");
    // Side by side, the button is for the current one.
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    execute(&mut harness, UiCommand::SideBySideFrom(1));
    assert!(harness.query_by_label("Kill").is_none());
    execute(&mut harness, UiCommand::Focus(ConnectionId(3)));
    harness.get_by_label("Kill");
}

/// Neither with several processes nor with one, at any width.
#[test]
fn no_row_moves_when_a_process_ends() {
    for size in [[1180.0, 720.0], [900.0, 600.0], [600.0, 420.0]] {
        let mut harness = look_at_shops(window_of(Theme::Dark, size));
        for id in 1..=3 {
            rows(&mut harness, id, CopyState::Live, 100);
        }
        let (before, button) = (place(&harness, ADD), place(&harness, "Per process"));
        ends(&mut harness, 1, 4242);
        harness.get_by_label("1 ended");
        assert_eq!((place(&harness, ADD), place(&harness, "Per process")), (before, button), "{size:?}");
        assert_eq!(merged(&harness).catalogue.running_domains(), 2);
        let ended = place(&harness, "1 ended");
        assert!(ended.right() <= size[0] && ended.bottom() <= before.top(), "{size:?}: {ended}");
    }
    // Side by side, its table stays in place until it is removed.
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    let second = |harness: &Harness<'static, App>| {
        let adds = harness.query_all_by_label(ADD).map(|row| row.rect());
        adds.max_by(|one, other| one.left().total_cmp(&other.left()))
    };
    let before = second(&harness);
    ends(&mut harness, 1, 4242);
    feed(&mut harness, vec![Update::Processes(ProcessChanges { gone: vec![SHOP], ..Default::default() })]);
    assert_eq!(second(&harness), before);
    assert!(shows(&harness, "Show Shop.dll (4242)"));
    execute(&mut harness, UiCommand::DropEnded);
    assert!(!shows(&harness, "Show Shop.dll (4242)") && shows(&harness, "Show Shop.dll (4244)"));
    let mut harness = with_shop(Theme::Dark);
    let before = place(&harness, ADD);
    ends(&mut harness, 1, 4242);
    let line = place(&harness, "Process 4242 has ended; showing its last numbers");
    assert_eq!(place(&harness, ADD), before);
    assert!(line.top() > before.bottom(), "it is below the rows");
}

#[test]
fn side_by_side_copies_nothing_of_missing_rows() {
    let mut harness = look_at_shops(window(Theme::Dark));
    deliver_to(&mut harness, 2, super::fixture::crowd_of(3));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    harness.get_by_label("Crowd!Crowd.Type0.Method0()").click();
    harness.run_steps(3);
    harness.get_by_label("Crowd!Crowd.Type0.Method1()").click_modifiers(Modifiers::COMMAND);
    harness.run_steps(3);
    for (id, copied) in [(1, "Copied 0 methods"), (2, "Copied 2 methods")] {
        execute(&mut harness, UiCommand::Focus(ConnectionId(id)));
        execute(&mut harness, UiCommand::Copy(CopyFormat::Text));
        let entries = harness.state().model.log.entries();
        assert_eq!(entries.back().map(|entry| entry.text.as_str()), Some(copied));
    }
}
