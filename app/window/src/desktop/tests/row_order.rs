//! Tests of the row order while numbers change, with and without the pointer over rows.

use super::fixture::{crowd, deliver, execute, minute, row, rows, second, with_shop};
use super::times::painted;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::accesskit::Role;
use eframe::egui::{
    Event, Key as Button, Modifiers, MouseWheelSource, MouseWheelUnit, Pos2, Theme, TouchPhase, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::list::{Sort, SortKey};
use redial_model::update::ConnectionUpdate;
use redial_protocol::level::Level;
use redial_protocol::message::Event as Said;
use redial_protocol::state::CopyState;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const TOTAL: &str = "Shop!Shop.Cart.get_Total()";

/// Returns a window with more rows than fit, sorted by rate: Add, then get_Total.
fn by_rate() -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Rate, descending: true }));
    assert!(top(&harness, ADD) < top(&harness, TOTAL));
    harness
}

fn top(harness: &Harness<'static, App>, label: &str) -> f32 {
    // An open hint contains the same name.
    harness.get_by_role_and_label(Role::Row, label).rect().top()
}

fn row_of_add(harness: &Harness<'static, App>) -> Pos2 {
    harness.get_by_role_and_label(Role::Row, ADD).rect().center()
}

/// Moves the pointer out of the window for more than two seconds of the toolkit's clock.
fn leave(harness: &mut Harness<'static, App>) {
    harness.remove_cursor();
    harness.run_steps(12);
}

/// Selects another method; numbers arrive after rows no longer keep their places.
fn pick(harness: &mut Harness<'static, App>, method: &str) {
    harness.get_by_label(method).click();
    harness.run_steps(3);
    leave(harness);
    deliver(harness, vec![second(70, [0, 300]), second(71, [0, 300])]);
}

fn add_is_off() -> Vec<ConnectionUpdate> {
    let rows = vec![row(0, CopyState::Off, Level::Off, 9, None)];
    vec![ConnectionUpdate::Event(Said::Rows { id: None, rows }), second(61, [0, 300]), second(62, [0, 300])]
}

#[test]
fn methods_off_sort_by_their_last_rate() {
    let mut harness = by_rate();
    deliver(&mut harness, vec![second(61, [40, 90_000]), second(62, [40, 90_000])]);
    assert!(top(&harness, TOTAL) < top(&harness, ADD));
    let off = |id| row(id, CopyState::Off, Level::Off, 0, None);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Said::Rows { id: None, rows: vec![off(0), off(2)] })]);
    deliver(&mut harness, vec![second(63, [0, 0])]);
    assert!(top(&harness, TOTAL) < top(&harness, ADD), "although it was called twenty times as often in all");
}

#[test]
fn method_off_before_selection_keeps_its_place() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    deliver(&mut harness, add_is_off());
    assert_eq!(top(&harness, TOTAL), first);
    let place = top(&harness, ADD);
    pick(&mut harness, ADD);
    assert_eq!((top(&harness, TOTAL), top(&harness, ADD)), (first, place));
}

#[test]
fn list_at_its_top_stays_at_its_top() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    leave(&mut harness);
    deliver(&mut harness, vec![second(61, [1, 90_000]), second(62, [1, 90_000])]);
    assert_eq!(top(&harness, TOTAL), first, "the selected row sinks, and the list stays");
    assert!(top(&harness, ADD) > first);
    for command in [UiCommand::Filter("cart".into()), UiCommand::ClearFilter, UiCommand::HideFramework] {
        execute(&mut harness, command.clone());
        assert_eq!(top(&harness, TOTAL), first, "{command:?}");
    }
}

#[test]
fn scrolled_list_keeps_the_selected_row_in_place() {
    let mut harness = by_rate();
    harness.get_by_label(TOTAL).click();
    harness.run_steps(3);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, -crate::ui::theme::ROW),
        phase: TouchPhase::Move,
        source: MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(20);
    leave(&mut harness);
    let before = top(&harness, TOTAL);
    deliver(&mut harness, vec![second(61, [1, 900_000])]);
    assert_eq!(top(&harness, TOTAL), before, "it is the first now");
}

#[test]
fn dial_stays_under_the_pointer_that_turned_it() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(&format!("Dial of {ADD}")).click();
    harness.run_steps(3);
    let shop = harness.state().model.current().expect("Shop");
    let selected: Vec<_> =
        shop.table().targets().iter().map(|method| shop.table().catalogue.full_name(method).text).collect();
    assert_eq!(selected, [ADD], "turning a dial selects its row");
    deliver(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first, "a second click hits the same dial");
    harness.run_steps(40);
    assert_eq!(top(&harness, ADD), first, "however late it comes");
    leave(&mut harness);
    assert_eq!(top(&harness, ADD), first, "also after the pointer comes back");
    pick(&mut harness, TOTAL);
    assert_eq!(top(&harness, TOTAL), first);
    assert!(top(&harness, ADD) > first);
}

#[test]
fn rows_under_the_pointer_keep_their_places_until_sorted_again() {
    for by_key in [true, false] {
        let mut harness = by_rate();
        assert!(harness.query_by_label("Sort again").is_none());
        let first = top(&harness, ADD);
        harness.hover_at(row_of_add(&harness));
        harness.run_steps(3);
        deliver(&mut harness, vec![second(61, [1, 90_000])]);
        harness.run_steps(40);
        assert_eq!(top(&harness, ADD), first);
        assert!(harness.query_by_label("Sort again").is_some(), "the button appears");
        if by_key {
            harness.key_press_modifiers(Modifiers::COMMAND, Button::R);
        } else {
            harness.get_by_label("Sort again").click();
        }
        harness.run_steps(3);
        assert_eq!(top(&harness, TOTAL), first);
        assert!(harness.query_by_label("Sort again").is_none(), "rows are sorted");
        deliver(&mut harness, vec![second(62, [90_000, 1])]);
        assert_eq!(top(&harness, ADD), first, "the order follows the numbers while the pointer rests");
        harness.hover_at(row_of_add(&harness) + vec2(3.0, 1.0));
        harness.run_steps(3);
        deliver(&mut harness, vec![second(63, [1, 90_000])]);
        assert_eq!(top(&harness, ADD), first, "and is frozen again when it moves");
    }
}

#[test]
fn sort_again_button_waits_for_the_pointer() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    deliver(&mut harness, vec![second(61, [1, 90_000])]);
    assert!(painted(&harness, "Frozen at the pointer · ").is_some());
    let sign = harness.get_by_label("Sort again").rect().center();
    harness.hover_at(sign);
    harness.run_steps(40);
    assert_eq!(top(&harness, ADD), first, "the button would be gone");
    assert!(painted(&harness, "Frozen for a moment · ").is_some());
    leave(&mut harness);
    assert!(harness.query_by_label("Sort again").is_none());
    assert_eq!(top(&harness, TOTAL), first);
}

#[test]
fn rows_keep_their_places_when_the_pointer_returns() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    deliver(&mut harness, vec![second(61, [1, 90_000])]);
    assert_eq!(top(&harness, ADD), first);
    leave(&mut harness);
    assert_eq!(top(&harness, TOTAL), first);
    let place = harness.get_by_role_and_label(Role::Row, TOTAL).rect().center();
    harness.hover_at(place);
    harness.run_steps(3);
    deliver(&mut harness, vec![second(62, [90_000, 1])]);
    assert_eq!(top(&harness, TOTAL), first, "the pointer came again");
}

#[test]
fn row_turned_by_key_keeps_its_place() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    leave(&mut harness);
    harness.key_press(Button::Space);
    harness.run_steps(2);
    deliver(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first);
    harness.run_steps(12);
    assert_eq!(top(&harness, ADD), first);
    pick(&mut harness, TOTAL);
    assert_eq!(top(&harness, TOTAL), first);
    assert!(top(&harness, ADD) > first);
}

#[test]
fn held_order_sorts_once_on_request() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    execute(&mut harness, UiCommand::FreezeOrder);
    deliver(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first);
    execute(&mut harness, UiCommand::SortAgain);
    assert_eq!(top(&harness, TOTAL), first);
    deliver(&mut harness, vec![second(63, [1, 90_000]), second(64, [90_000, 1])]);
    assert_eq!(top(&harness, TOTAL), first, "it is still frozen");
}

#[test]
fn in_the_tree_rows_keep_their_places_too() {
    let mut harness = by_rate();
    execute(&mut harness, UiCommand::Tree);
    execute(&mut harness, UiCommand::Filter("shop.cart".into()));
    let first = top(&harness, ADD);
    assert!(first < top(&harness, TOTAL));
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    deliver(&mut harness, vec![second(61, [1, 90_000])]);
    assert_eq!(top(&harness, ADD), first);
    assert!(harness.query_by_label("Sort again").is_some());
    execute(&mut harness, UiCommand::SortAgain);
    assert_eq!(top(&harness, TOTAL), first);
}

#[test]
fn newly_turned_dial_stays_in_place() {
    let mut harness = by_rate();
    let new = "Shop!Shop.Pricing.Discount(Shop.Money, int)";
    let before = top(&harness, new);
    harness.get_by_label(&format!("Dial of {new}")).click();
    harness.run_steps(3);
    let rows = vec![row(6, CopyState::Asked, Level::Count, 0, None)];
    deliver(&mut harness, vec![ConnectionUpdate::Event(Said::Rows { id: None, rows })]);
    assert_eq!(top(&harness, new), before);
    leave(&mut harness);
    assert!(top(&harness, new) < before, "among the dialled");
}
