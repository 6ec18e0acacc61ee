//! Which row is where while numbers change: under the eyes, under the pointer.

use super::stage::{act, crowd, minute, row, rows, second, tell, with_shop};
use super::times::painted;
use crate::commands::Command;
use crate::desktop::App;
use crate::model::list::{Key, Sort};
use crate::model::update::Told;
use eframe::egui::accesskit::Role;
use eframe::egui::{
    Event, Key as Button, Modifiers, MouseWheelSource, MouseWheelUnit, Pos2, Theme, TouchPhase, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_protocol::message::Event as Said;
use redial_protocol::state::State;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const TOTAL: &str = "Shop!Shop.Cart.get_Total()";

/// More rows than fit, the most called a second first: Add, then get_Total.
fn by_rate() -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    tell(&mut harness, vec![rows()]);
    tell(&mut harness, minute());
    act(&mut harness, Command::Sort(Sort { key: Key::Rate, descending: true }));
    assert!(top(&harness, ADD) < top(&harness, TOTAL));
    harness
}

fn top(harness: &Harness<'static, App>, label: &str) -> f32 {
    // A hint that is open has the same name in it.
    harness.get_by_role_and_label(Role::Row, label).rect().top()
}

fn row_of_add(harness: &Harness<'static, App>) -> Pos2 {
    harness.get_by_role_and_label(Role::Row, ADD).rect().center()
}

/// The pointer leaves the window, and more than two seconds of the toolkit's clock pass.
fn leave(harness: &mut Harness<'static, App>) {
    harness.remove_cursor();
    harness.run_steps(12);
}

/// Picks another method, and numbers come after the moment in which rows keep their places.
fn pick(harness: &mut Harness<'static, App>, method: &str) {
    harness.get_by_label(method).click();
    harness.run_steps(3);
    leave(harness);
    tell(harness, vec![second(70, [0, 300]), second(71, [0, 300])]);
}

fn add_is_off() -> Vec<Told> {
    let rows = vec![row(0, State::Off, Level::Off, 9, None)];
    vec![Told::Event(Said::Rows { id: None, rows }), second(61, [0, 300]), second(62, [0, 300])]
}

#[test]
fn what_is_off_stands_by_how_often_it_was_called_last() {
    let mut harness = by_rate();
    tell(&mut harness, vec![second(61, [40, 90_000]), second(62, [40, 90_000])]);
    assert!(top(&harness, TOTAL) < top(&harness, ADD));
    let off = |id| row(id, State::Off, Level::Off, 0, None);
    tell(&mut harness, vec![Told::Event(Said::Rows { id: None, rows: vec![off(0), off(2)] })]);
    tell(&mut harness, vec![second(63, [0, 0])]);
    assert!(top(&harness, TOTAL) < top(&harness, ADD), "though that was called twenty times as often in all");
}

#[test]
fn what_was_off_before_it_was_picked_stays_where_it_is() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    tell(&mut harness, add_is_off());
    assert_eq!(top(&harness, TOTAL), first);
    let place = top(&harness, ADD);
    pick(&mut harness, ADD);
    assert_eq!((top(&harness, TOTAL), top(&harness, ADD)), (first, place));
}

#[test]
fn who_looks_at_the_top_is_shown_the_top() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    leave(&mut harness);
    tell(&mut harness, vec![second(61, [1, 90_000]), second(62, [1, 90_000])]);
    assert_eq!(top(&harness, TOTAL), first, "the row selected sinks, and the list stays");
    assert!(top(&harness, ADD) > first);
    for command in [Command::Filter("cart".into()), Command::ClearFilter, Command::HideFramework] {
        act(&mut harness, command.clone());
        assert_eq!(top(&harness, TOTAL), first, "{command:?}");
    }
}

#[test]
fn who_has_scrolled_away_keeps_the_selected_row_in_its_place() {
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
    tell(&mut harness, vec![second(61, [1, 900_000])]);
    assert_eq!(top(&harness, TOTAL), before, "it is the first now");
}

#[test]
fn a_dial_stays_under_the_pointer_that_turned_it() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(&format!("dial of {ADD}")).click();
    harness.run_steps(3);
    let shop = harness.state().model.current().expect("Shop");
    let selected: Vec<_> =
        shop.targets().iter().map(|method| shop.catalogue.full_name(method).text).collect();
    assert_eq!(selected, [ADD], "the row whose dial is turned is selected");
    tell(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first, "a second click meets the same dial");
    harness.run_steps(40);
    assert_eq!(top(&harness, ADD), first, "however late it comes");
    leave(&mut harness);
    assert_eq!(top(&harness, ADD), first, "and who comes back for it finds it");
    pick(&mut harness, TOTAL);
    assert_eq!(top(&harness, TOTAL), first);
    assert!(top(&harness, ADD) > first);
}

#[test]
fn rows_under_the_pointer_keep_their_places_until_sorted_again() {
    for by_key in [true, false] {
        let mut harness = by_rate();
        assert!(harness.query_by_label("sort again").is_none());
        let first = top(&harness, ADD);
        harness.hover_at(row_of_add(&harness));
        harness.run_steps(3);
        tell(&mut harness, vec![second(61, [1, 90_000])]);
        harness.run_steps(40);
        assert_eq!(top(&harness, ADD), first);
        assert!(harness.query_by_label("sort again").is_some(), "a sign says so");
        if by_key {
            harness.key_press_modifiers(Modifiers::COMMAND, Button::R);
        } else {
            harness.get_by_label("sort again").click();
        }
        harness.run_steps(3);
        assert_eq!(top(&harness, TOTAL), first);
        assert!(harness.query_by_label("sort again").is_none(), "it has been");
        tell(&mut harness, vec![second(62, [90_000, 1])]);
        assert_eq!(top(&harness, ADD), first, "the order follows the numbers while the pointer rests");
        harness.hover_at(row_of_add(&harness) + vec2(3.0, 1.0));
        harness.run_steps(3);
        tell(&mut harness, vec![second(63, [1, 90_000])]);
        assert_eq!(top(&harness, ADD), first, "and is held again when it moves");
    }
}

#[test]
fn the_sign_waits_for_the_pointer_that_came_for_it() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    tell(&mut harness, vec![second(61, [1, 90_000])]);
    assert!(painted(&harness, "held at the pointer · ").is_some());
    let sign = harness.get_by_label("sort again").rect().center();
    harness.hover_at(sign);
    harness.run_steps(40);
    assert_eq!(top(&harness, ADD), first, "it would not be there any more");
    assert!(painted(&harness, "held for a moment · ").is_some());
    leave(&mut harness);
    assert!(harness.query_by_label("sort again").is_none());
    assert_eq!(top(&harness, TOTAL), first);
}

#[test]
fn rows_keep_their_places_whenever_the_pointer_comes() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    tell(&mut harness, vec![second(61, [1, 90_000])]);
    assert_eq!(top(&harness, ADD), first);
    leave(&mut harness);
    assert_eq!(top(&harness, TOTAL), first);
    let place = harness.get_by_role_and_label(Role::Row, TOTAL).rect().center();
    harness.hover_at(place);
    harness.run_steps(3);
    tell(&mut harness, vec![second(62, [90_000, 1])]);
    assert_eq!(top(&harness, TOTAL), first, "it came again");
}

#[test]
fn a_row_turned_by_a_key_keeps_its_place_until_another_is_picked() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    leave(&mut harness);
    harness.key_press(Button::Space);
    harness.run_steps(2);
    tell(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first);
    harness.run_steps(12);
    assert_eq!(top(&harness, ADD), first);
    pick(&mut harness, TOTAL);
    assert_eq!(top(&harness, TOTAL), first);
    assert!(top(&harness, ADD) > first);
}

#[test]
fn an_order_that_is_held_is_sorted_once_when_asked() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    act(&mut harness, Command::HoldOrder);
    tell(&mut harness, add_is_off());
    assert_eq!(top(&harness, ADD), first);
    act(&mut harness, Command::SortAgain);
    assert_eq!(top(&harness, TOTAL), first);
    tell(&mut harness, vec![second(63, [1, 90_000]), second(64, [90_000, 1])]);
    assert_eq!(top(&harness, TOTAL), first, "it is held still");
}

#[test]
fn in_the_tree_rows_keep_their_places_too() {
    let mut harness = by_rate();
    act(&mut harness, Command::Tree);
    act(&mut harness, Command::Filter("shop.cart".into()));
    let first = top(&harness, ADD);
    assert!(first < top(&harness, TOTAL));
    harness.hover_at(row_of_add(&harness));
    harness.run_steps(3);
    tell(&mut harness, vec![second(61, [1, 90_000])]);
    assert_eq!(top(&harness, ADD), first);
    assert!(harness.query_by_label("sort again").is_some());
    act(&mut harness, Command::SortAgain);
    assert_eq!(top(&harness, TOTAL), first);
}

#[test]
fn a_dial_turned_for_the_first_time_stays_too() {
    let mut harness = by_rate();
    let new = "Shop!Shop.Pricing.Discount(Shop.Money, int)";
    let before = top(&harness, new);
    harness.get_by_label(&format!("dial of {new}")).click();
    harness.run_steps(3);
    let rows = vec![row(6, State::Asked, Level::Count, 0, None)];
    tell(&mut harness, vec![Told::Event(Said::Rows { id: None, rows })]);
    assert_eq!(top(&harness, new), before);
    leave(&mut harness);
    assert!(top(&harness, new) < before, "among the dialled");
}
