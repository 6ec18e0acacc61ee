//! Tests that nothing moves under the pointer, is cut off, or overlaps.

use super::fixture::{
    crowd_of, deliver, execute, feed, look_at_shops, rows, shops, window, window_of, with_shop,
};
use super::fleet::{ADD, deliver_to, logged};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::ui::theme::ROW;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Rect, Theme, TouchPhase, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::ids::{ConnectionId, Node};
use redial_model::log::LogKind;
use redial_model::process_choice::Arrangement;
use redial_model::processes::AgentState;
use redial_model::update::{ConnectionUpdate, Now, Retry, Update};
use std::time::Duration;

fn row(harness: &Harness<'static, App>, name: &str, nth: usize) -> Option<Rect> {
    let mut rows: Vec<Rect> =
        harness.query_all_by_role_and_label(Role::Row, name).map(|row| row.rect()).collect();
    rows.sort_by(|one, other| one.left().total_cmp(&other.left()));
    rows.get(nth).copied()
}

pub(super) fn scroll(harness: &mut Harness<'static, App>, at: Rect, rows: f32) {
    harness.hover_at(at.center());
    harness.run_steps(3);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, -rows * ROW),
        phase: TouchPhase::Move,
        source: MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(20);
}

/// A note that appears must not move another row under the pointer.
#[test]
fn process_without_agent_moves_no_row() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Follow);
    let before = row(&harness, ADD, 0).expect("it is shown");
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 5000;
    later.changed[0].agent = AgentState::Attachable;
    feed(&mut harness, vec![Update::Processes(later)]);
    for _ in 0..2 {
        let now = harness.state().now();
        let later = Now { mono: now.mono + Duration::from_secs(4), ..now };
        harness.state_mut().clock = crate::desktop::Clock::Stands(later);
        harness.run_steps(3);
    }
    let lost = ConnectionUpdate::Lost { why: "it does not answer".into(), retry: Retry::Asked };
    deliver_to(&mut harness, 3, vec![lost]);
    let text = "2 reasons: Shop.dll (4244): it does not answer";
    let note = harness.get_by_label(text).rect();
    assert_eq!(row(&harness, ADD, 0), Some(before), "no row moves");
    assert!(note.bottom() <= before.top() && note.right() <= before.right() + 20.0);
    harness.hover_at(note.center());
    harness.run_steps(20);
    let whole = "Shop.dll (5000): started without the agent and does not join: tick “Load the agent into \
                 them”, or its own box in the process list";
    assert!(harness.query_by_label(whole).is_some(), "the hint has the whole text");
}

#[test]
fn side_by_side_rows_are_aligned() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        let all = harness.state().model.connections[&ConnectionId(id)].table.catalogue.len();
        crowd_in(&mut harness, id, 1_500);
        assert_eq!(harness.state().model.connections[&ConnectionId(id)].table.catalogue.len(), all + 1_500);
    }
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    let crowd = |number: usize| format!("Crowd!Crowd.Type0.Method{number}()");
    let both = |harness: &Harness<'static, App>, name: &str| (row(harness, name, 0), row(harness, name, 1));
    let (left, right) = both(&harness, &crowd(0));
    let right = right.expect("it is shown twice");
    assert_eq!(left.expect("it is shown").top(), right.top());
    scroll(&mut harness, right, 30.0);
    let (left, right) = both(&harness, &crowd(30));
    let (left, right) = (left.expect("the other scrolls along"), right.expect("it was scrolled to"));
    assert_eq!(left.top(), right.top());
    assert!(row(&harness, &crowd(0), 0).is_none());
    // The same with a key.
    left_click(&mut harness, left);
    harness.key_press(Key::End);
    harness.run_steps(3);
    harness.remove_cursor();
    harness.run_steps(3);
    let list = harness.state().model.list().expect("the rows of both");
    let Some(Node::Method(last)) = list.row_at(list.row_count() - 1) else { panic!("a table of methods") };
    let (left, right) = both(&harness, &list.catalogue.full_name(last).text);
    assert_eq!(left.expect("the last").top(), right.expect("in both").top());
}

fn left_click(harness: &mut Harness<'static, App>, at: Rect) {
    harness.hover_at(at.center());
    harness.drag_at(at.center());
    harness.run_steps(2);
    harness.drop_at(at.center());
    harness.run_steps(3);
}

/// Where a process lacks a method there is a blank row, and common methods are aligned.
#[test]
fn side_by_side_a_process_has_a_blank_where_it_lacks_a_method() {
    let mut harness = look_at_shops(window(Theme::Dark));
    crowd_in(&mut harness, 2, 1_500);
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    let crowd = |number: usize| format!("Crowd!Crowd.Type0.Method{number}()");
    let there = row(&harness, &crowd(0), 0).expect("the second has it");
    assert!(row(&harness, &crowd(0), 1).is_none() && there.left() > 580.0, "only the second");
    harness.hover_at(there.center() - vec2(there.width(), 0.0));
    harness.run_steps(20);
    let blank = format!("Shop.dll (4242) has not loaded {}", crowd(0));
    assert_eq!(harness.query_all_by_label(&blank).count(), 2, "the row and its hint explain it");
    // Keys skip methods it lacks, and stop at the end of the list of all.
    execute(&mut harness, UiCommand::Focus(ConnectionId(1)));
    harness.remove_cursor();
    harness.key_press(Key::End);
    harness.run_steps(3);
    let (left, right) =
        (row(&harness, ADD, 0).expect("the first"), row(&harness, ADD, 1).expect("the second"));
    assert_eq!(left.top(), right.top());
    // A slow change misaligns no table.
    harness.get_all_by_label(&format!("Dial of {ADD}")).nth(1).expect("the second").click();
    harness.run_steps(3);
    let now = harness.state().now();
    let later = Now { mono: now.mono + Duration::from_secs(1), ..now };
    harness.state_mut().clock = crate::desktop::Clock::Stands(later);
    harness.run_steps(4);
    assert!(harness.query_by_label("Progress of the change").is_some());
    assert_eq!(row(&harness, ADD, 0).map(|row| row.top()), row(&harness, ADD, 1).map(|row| row.top()));
}

/// Loads another module into one of the Shops.
fn crowd_in(harness: &mut Harness<'static, App>, id: u32, methods: u32) {
    deliver_to(harness, id, crowd_of(methods));
}

#[test]
fn totals_never_overlap_the_filter() {
    for size in [[1180.0, 720.0], [853.0, 533.0], [600.0, 400.0]] {
        let mut harness = look_at_shops(window_of(Theme::Dark, size));
        execute(&mut harness, UiCommand::Arrange(Arrangement::Separate));
        execute(&mut harness, UiCommand::HideFramework);
        execute(&mut harness, UiCommand::Filter("shop".into()));
        let filter = harness.get_by_label("Method filter").rect();
        let totals = harness.get_by_label("30 of 39 methods in 3 processes").rect();
        assert!(filter.right() <= totals.left(), "{size:?}: {filter} {totals}");
        assert!(totals.right() <= size[0], "{size:?}: {totals}");
    }
}

#[test]
fn mixed_knob_explains_a_click() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    let knob = "Dial of module Shop";
    harness.get_by_label(knob).hover();
    harness.run_steps(20);
    // One of ten has no body; another is set to count and refused.
    assert!(harness.query_by_label("A click sets all 9 to count; 4 are on now.").is_some());
    harness.get_by_label(knob).click();
    harness.run_steps(3);
    let asked = logged(&harness, LogKind::Request);
    assert!(asked.len() == 1 && asked[0].starts_with("count on 9 methods"), "{asked:?}");
}
