//! Which row is where while numbers change: under the eyes, under the pointer.

use super::stage::{act, crowd, minute, row, rows, second, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::list::{Key, Sort};
use crate::model::update::Told;
use eframe::egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, Theme, TouchPhase, vec2};
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
    harness.get_by_label(label).rect().top()
}

fn add_is_off() -> Vec<Told> {
    let rows = vec![row(0, State::Off, Level::Off, 9, None)];
    vec![Told::Event(Said::Rows { id: None, rows }), second(61, [0, 300]), second(62, [0, 300])]
}

#[test]
fn who_looks_at_the_top_is_shown_the_top() {
    let mut harness = by_rate();
    let first = top(&harness, ADD);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    tell(&mut harness, add_is_off());
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
    // More than two seconds of the toolkit's clock.
    harness.run_steps(12);
    assert_eq!(top(&harness, TOTAL), first);
    assert!(top(&harness, ADD) > first);
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
    harness.run_steps(12);
    assert!(top(&harness, new) < before, "among the dialled");
}
