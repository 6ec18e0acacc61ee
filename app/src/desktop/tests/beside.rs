//! Several processes looked at: details side by side, the list on the left under the pointer, stopping what was launched,
//! and what ends while one reads.

use super::several::{ADD, merged, rows, told};
use super::stage::{SHOP, act, feed, look_at_shops, processes, row, shop, window, window_of, with_shop};
use crate::commands::{Command, Form};
use crate::desktop::App;
use crate::model::ids::{ConnectionId, Ticket};
use crate::model::list::{Key, Sort};
use crate::model::processes::{AgentState, ProcessChanges};
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::model::update::{Launch, Retry, Told, Update};
use eframe::egui::accesskit::Role;
use eframe::egui::{Modifiers, Rect, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn place(harness: &Harness<'static, App>, label: &str) -> Rect {
    harness.get_by_label(label).rect()
}

fn ends(harness: &mut Harness<'static, App>, id: u32, pid: u32) {
    let why = format!("process {pid} has ended");
    told(harness, id, vec![Told::Lost { why, retry: Retry::Never }]);
}

#[test]
fn side_by_side_the_details_are_of_the_process_looked_at() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 111), (2, 22_222), (3, 333)] {
        rows(&mut harness, id, State::Live, calls);
    }
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    assert!(says(&harness, "Nothing selected"));
    harness.get_all_by_label(ADD).next().expect("two").click();
    harness.run_steps(3);
    let knob = "dial of the selection";
    let details = harness.get_by_label(knob).rect().left();
    // Numbers to the right of the knob's left edge are those of the details.
    let number = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label(text).any(|label| label.rect().left() > details)
    };
    assert!(number(&harness, "111") && !number(&harness, "22,222"));
    harness.get_by_label("look at Shop.dll (4243)").click();
    harness.run_steps(3);
    assert!(number(&harness, "22,222") && !number(&harness, "111"), "the same method in another process");
    harness.get_by_label(knob).click();
    harness.run_steps(3);
    let turned =
        [1, 2, 3].map(|id| harness.state().model.connections[&ConnectionId(id)].turns.pending().len());
    assert_eq!(turned, [0, 1, 0]);
}

#[test]
fn side_by_side_the_details_say_that_a_process_lacks_what_is_picked() {
    let mut harness = look_at_shops(window(Theme::Dark));
    told(&mut harness, 2, super::stage::crowd_of(3));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    harness.get_by_label("Crowd!Crowd.Type0.Method0()").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.current, Some(ConnectionId(2)));
    let lacks = "This process has not loaded what is picked.";
    assert!(!says(&harness, lacks));
    act(&mut harness, Command::Focus(ConnectionId(1)));
    assert!(says(&harness, lacks));
}

#[test]
fn side_by_side_those_that_are_not_in_sight_are_named() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    harness.get_by_label("not in sight: Shop.dll (4244)").hover();
    harness.run_steps(40);
    assert!(says(&harness, "in the order of the sums of all 3 processes"));
    act(&mut harness, Command::BesideFrom(1));
    act(&mut harness, Command::Sort(Sort { key: Key::Calls, descending: true }));
    harness.get_by_label("not in sight: Shop.dll (4242); sorted by sums of all 3");
    let mut wide = look_at_shops(window_of(Theme::Dark, [1_900.0, 720.0]));
    act(&mut wide, Command::Arrange(Arrangement::Beside));
    assert!(!says(&wide, "not in sight"));
}

/// One order is for all panes, and the pointer in any of them holds it.
#[test]
fn side_by_side_no_row_moves_under_the_pointer_and_all_are_sorted_alike() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    act(&mut harness, Command::Sort(Sort { key: Key::Calls, descending: true }));
    let clear = "Shop!Shop.Cart.Clear()";
    let calls = |harness: &mut Harness<'static, App>, id, of_add, of_clear| {
        let live = |index, calls| row(index, State::Live, Level::Count, calls, None);
        let rows = vec![live(0, of_add), live(1, of_clear)];
        told(harness, id, vec![Told::Event(Event::Rows { id: None, rows })]);
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
    assert_eq!((tops(&harness, ADD), tops(&harness, clear)), (first.clone(), second.clone()), "it is held");
    assert!(says(&harness, "sort again"));
    act(&mut harness, Command::SortAgain);
    assert_eq!((tops(&harness, ADD), tops(&harness, clear)), (second, first), "by what both have together");
}

#[test]
fn in_a_narrow_window_two_processes_need_the_room_of_the_details() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [900.0, 600.0]));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    harness.get_all_by_label(ADD).next().expect("one").click();
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label(ADD).count(), 2);
    assert!(harness.query_by_label("dial of the selection").is_none());
}

/// The rows of the list on the left, from top to bottom.
fn listed(harness: &Harness<'static, App>) -> Vec<String> {
    let rows = harness.query_all_by_role(Role::ListItem);
    let mut rows: Vec<(f32, String)> =
        rows.map(|row| (row.rect().top(), row.accesskit_node().label().unwrap_or_default())).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let short = |said: String| {
        let ended = if said.ends_with(", ended") { " ended" } else { "" };
        said.split(',').next().unwrap_or_default().to_owned() + ended
    };
    rows.into_iter().map(|(_, said)| short(said)).collect()
}

#[test]
fn under_the_pointer_no_process_moves() {
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
    news.changed[0].agent = AgentState::Loaded(Box::new(crate::model::connection::tests::facts()));
    news.gone = vec![SHOP];
    feed(&mut harness, vec![Update::Processes(news)]);
    assert_eq!(place(&harness, billing), before);
    assert_eq!(listed(&harness), ["dotnet 4242 ended", "billing 977", "reports 31", "accounts 50"]);
    // Which one ended is no row to be chosen, and a range leaves it out.
    harness.get_by_label(billing).click();
    harness.run_steps(3);
    act(&mut harness, Command::Choose(shop(4242), Mode::Extend));
    let chosen: Vec<u32> = harness.state().model.chosen().iter().map(|key| key.pid).collect();
    assert!(!chosen.contains(&4242), "{chosen:?}");
    harness.remove_cursor();
    harness.run_steps(3);
    assert_eq!(listed(&harness), ["accounts 50", "billing 977", "reports 31"]);
}

fn launch(harness: &mut Harness<'static, App>, pid: u32) -> Ticket {
    let now = harness.state().now();
    let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
    let news = [Launch::Started { pid }, Launch::Loaded(shop(pid))];
    feed(harness, news.map(|one| Update::Launch(ticket, one)).into());
    ticket
}

#[test]
fn what_was_launched_is_stopped_at_the_bottom_while_several_are_looked_at() {
    let mut harness = look_at_shops(window(Theme::Dark));
    assert!(!says(&harness, "launched here"), "none of them was");
    let tickets = [4243, 4244].map(|pid| launch(&mut harness, pid));
    let stop = place(&harness, "Stop 2 launched here");
    assert!(stop.top() > 660.0, "in the strip: {stop}");
    harness.get_by_label("Stop 2 launched here").click();
    harness.run_steps(3);
    let told = |harness: &Harness<'static, App>| {
        tickets.map(|ticket| harness.state().model.launched[&ticket].stopping.is_some())
    };
    assert_eq!(told(&harness), [true; 2]);
    harness.get_by_label("Kill 2 launched here");
    feed(&mut harness, vec![Update::Launch(tickets[0], Launch::Ended { how: "with code 0".into() })]);
    harness.get_by_label("Kill 1 launched here");
    // Side by side it is for the one that is looked at.
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    act(&mut harness, Command::BesideFrom(1));
    assert!(harness.query_by_label("Kill").is_none());
    act(&mut harness, Command::Focus(ConnectionId(3)));
    harness.get_by_label("Kill");
}

/// Neither one of several nor one looked at alone, at no width.
#[test]
fn no_row_moves_when_a_process_ends() {
    for size in [[1180.0, 720.0], [900.0, 600.0], [600.0, 420.0]] {
        let mut harness = look_at_shops(window_of(Theme::Dark, size));
        for id in 1..=3 {
            rows(&mut harness, id, State::Live, 100);
        }
        let (before, button) = (place(&harness, ADD), place(&harness, "a row each"));
        ends(&mut harness, 1, 4242);
        harness.get_by_label("1 ended");
        assert_eq!((place(&harness, ADD), place(&harness, "a row each")), (before, button), "{size:?}");
        assert_eq!(merged(&harness).catalogue.domains_there(), 2);
        let ended = place(&harness, "1 ended");
        assert!(ended.right() <= size[0] && ended.bottom() <= before.top(), "{size:?}: {ended}");
    }
    // Side by side its pane stays where it is, until it is taken out.
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    let second = |harness: &Harness<'static, App>| {
        let adds = harness.query_all_by_label(ADD).map(|row| row.rect());
        adds.max_by(|one, other| one.left().total_cmp(&other.left()))
    };
    let before = second(&harness);
    ends(&mut harness, 1, 4242);
    feed(&mut harness, vec![Update::Processes(ProcessChanges { gone: vec![SHOP], ..Default::default() })]);
    assert_eq!(second(&harness), before);
    assert!(says(&harness, "look at Shop.dll (4242)"));
    act(&mut harness, Command::DropEnded);
    assert!(!says(&harness, "look at Shop.dll (4242)") && says(&harness, "look at Shop.dll (4244)"));
    let mut harness = with_shop(Theme::Dark);
    let before = place(&harness, ADD);
    ends(&mut harness, 1, 4242);
    let line = place(&harness, "process 4242 has ended; these are its last numbers");
    assert_eq!(place(&harness, ADD), before);
    assert!(line.top() > before.bottom(), "it stands below the rows");
}

#[test]
fn side_by_side_nothing_is_copied_of_a_process_that_lacks_what_is_picked() {
    let mut harness = look_at_shops(window(Theme::Dark));
    told(&mut harness, 2, super::stage::crowd_of(3));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    harness.get_by_label("Crowd!Crowd.Type0.Method0()").click();
    harness.run_steps(3);
    harness.get_by_label("Crowd!Crowd.Type0.Method1()").click_modifiers(Modifiers::COMMAND);
    harness.run_steps(3);
    for (id, copied) in [(1, "copied 0 methods"), (2, "copied 2 methods")] {
        act(&mut harness, Command::Focus(ConnectionId(id)));
        act(&mut harness, Command::Copy(Form::Text));
        let entries = harness.state().model.log.entries();
        assert_eq!(entries.back().map(|entry| entry.text.as_str()), Some(copied));
    }
}
