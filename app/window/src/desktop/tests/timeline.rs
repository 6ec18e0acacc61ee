//! The timeline of traced calls.

use super::fixture::{execute, look_at_shops, with_shop};
use super::fleet::deliver_to;
use super::snapshots::both;
use super::traced_program::{BEGAN, calls_of, window_with_calls};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::settings::LowerTab;
use eframe::egui::accesskit::Role;
use eframe::egui::{
    self, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Theme, TouchPhase, pos2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::ids::ConnectionId;

const SIZE: [f32; 2] = [1280.0, 1000.0];

fn timeline(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = window_with_calls(theme, size);
    execute(&mut harness, UiCommand::Lower(LowerTab::Timeline));
    harness.run_steps(3);
    harness
}

/// Returns the named bars from left to right, top to bottom.
fn bars(harness: &Harness<'static, App>) -> Vec<String> {
    let nodes =
        harness.query_all_by_role(Role::ListItem).map(|node| (node.rect(), node.accesskit_node().label()));
    let mut bars: Vec<(Pos2, String)> = nodes
        .filter_map(|(rect, label)| Some((rect.min, label.filter(|label| label.ends_with("ms"))?)))
        .collect();
    bars.sort_by(|one, other| (one.0.y, one.0.x).partial_cmp(&(other.0.y, other.0.x)).expect("numbers"));
    bars.into_iter().map(|(_, label)| label).collect()
}

fn view(harness: &Harness<'static, App>) -> (i64, f64) {
    let view = harness.state().lower.timeline.view().expect("a view");
    (view.start(), view.length())
}

#[test]
fn each_thread_has_a_track_with_nested_lanes() {
    let harness = timeline(Theme::Dark, SIZE);
    let expected = [
        "Cart.TryTake, 20.0 ms",
        "Catalog.Find, 3.00 ms",
        "Pricing.Discount, 9.00 ms",
        "Catalog.Find, 2.50 ms",
        "Catalog.Find, 1.50 ms",
        "Cart.TryTake, 20.0 ms",
        "Catalog.Find, 3.00 ms",
        "Pricing.Discount, 9.00 ms",
        "Catalog.Find, 2.50 ms",
        "Catalog.Find, 1.50 ms",
        "Cart.Add, 22.0 ms",
        "Cart.Add, 20.0 ms",
    ];
    assert_eq!(bars(&harness), expected);
    assert!(harness.query_by_label_contains("2,012 calls").is_some());
}

fn middle(harness: &Harness<'static, App>) -> Pos2 {
    harness.get_by_label("Timeline of calls").rect().center()
}

fn wheel(harness: &mut Harness<'static, App>, points: f32, modifiers: Modifiers) {
    harness.event(egui::Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, points),
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers,
    });
    harness.run_steps(4);
}

#[test]
fn the_wheel_zooms_to_nanoseconds_and_back() {
    let mut harness = timeline(Theme::Dark, SIZE);
    let (start, length) = view(&harness);
    harness.hover_at(middle(&harness));
    harness.run_steps(2);
    for _ in 0..60 {
        wheel(&mut harness, 200.0, Modifiers::NONE);
    }
    let (_, shortest) = view(&harness);
    assert!(shortest < 20.0 && !harness.state().lower.timeline.follows(), "{shortest} ns");
    for _ in 0..200 {
        if view(&harness).1 >= length {
            break;
        }
        wheel(&mut harness, -100.0, Modifiers::NONE);
    }
    let back = view(&harness);
    assert!((back.0 - start).abs() < length as i64, "the same time is shown: {back:?}");
    harness.get_by_label("Show all").click();
    harness.run_steps(3);
    assert!(bars(&harness).len() == 12);
}

#[test]
fn keys_pan_and_zoom_while_the_timeline_has_the_focus() {
    let mut harness = timeline(Theme::Dark, SIZE);
    harness.get_by_label("Timeline of calls").focus();
    harness.run_steps(2);
    let (start, length) = view(&harness);
    harness.key_press(Key::D);
    harness.run_steps(2);
    let moved = view(&harness);
    assert!((moved.0 - start - (length * 0.1) as i64).abs() <= 1, "{moved:?}");
    harness.key_press(Key::W);
    harness.run_steps(2);
    assert!((view(&harness).1 - length / 1.25).abs() < 1.0);
    assert_eq!(harness.state().settings.lower_tab, LowerTab::Timeline);
}

#[test]
fn a_drag_measures() {
    let mut harness = timeline(Theme::Dark, SIZE);
    let find = harness.query_all_by_label("Catalog.Find, 3.00 ms").next().expect("a bar").rect();
    let button = |pos, pressed| egui::Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    harness.event(egui::Event::PointerMoved(find.left_center()));
    harness.step();
    harness.event(button(find.left_center(), true));
    harness.step();
    harness.event(egui::Event::PointerMoved(find.center()));
    harness.step();
    harness.event(egui::Event::PointerMoved(find.right_center()));
    harness.step();
    harness.event(button(find.right_center(), false));
    harness.run_steps(2);
    let (from, to) = harness.state().lower.timeline.measured().expect("a part of time");
    let pixel = view(&harness).1 / 900.0;
    assert!(((to - from) as f64 - 3e6).abs() < 3.0 * pixel, "{} ns", to - from);
    assert!(harness.query_by_label_contains("ns) measured").is_some());
}

#[test]
fn a_call_is_shown_in_the_events_and_back() {
    let mut harness = timeline(Theme::Dark, SIZE);
    harness.query_all_by_label("Pricing.Discount, 9.00 ms").next().expect("a bar").click();
    harness.run_steps(3);
    let selected = |harness: &Harness<'static, App>| {
        let shop = harness.state().model.current_process().expect("Shop");
        shop.events.selected().map(|event| event.call.number)
    };
    assert_eq!(selected(&harness), Some(3));
    harness.get_by_label("Show in events").click();
    harness.run_steps(4);
    assert_eq!(harness.state().settings.lower_tab, LowerTab::Events);
    assert!(harness.query_by_label_contains("Pricing.Discount(number: 3) threw PricingFailed").is_some());
    // It is far below in the list of 2,012 calls.
    harness.get_by_label("Event filter").focus();
    harness.run_steps(2);
    harness.get_by_label("Event filter").type_text("find");
    harness.run_steps(4);
    let row = harness.query_all_by_label_contains("Catalog.Find(number: 7)").next().expect("a row");
    row.click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::ShowInTimeline);
    harness.run_steps(3);
    let (start, length) = view(&harness);
    let shown = start as f64 + length / 2.0 - BEGAN as f64;
    assert!((shown - 15_750_000.0).abs() < 1_000.0, "the middle is at {shown}");
    assert!(harness.query_by_label_contains("Zoom to call").is_some());
}

#[test]
fn empty_space_deselects() {
    let mut harness = timeline(Theme::Dark, SIZE);
    harness.query_all_by_label("Pricing.Discount, 9.00 ms").next().expect("a bar").click();
    harness.run_steps(3);
    assert!(harness.state().lower.timeline.selected().is_some());
    let rect = harness.get_by_label("Timeline of calls").rect();
    let empty = pos2(rect.right() - 4.0, rect.bottom() - 4.0);
    harness.hover_at(empty);
    harness.run_steps(2);
    for pressed in [true, false] {
        harness.event(egui::Event::PointerButton {
            pos: empty,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
        harness.step();
    }
    harness.run_steps(2);
    assert!(harness.state().lower.timeline.selected().is_none());
}

/// Each process has a title and tracks of its own, on one scale of time. A call leads to that of its process.
#[test]
fn merged_processes_stand_below_each_other() {
    let mut harness = look_at_shops(with_shop(Theme::Dark));
    execute(&mut harness, UiCommand::Lower(LowerTab::Timeline));
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("appear here, for each process").is_some());
    for id in [1, 2] {
        deliver_to(&mut harness, id, calls_of(id));
    }
    harness.run_steps(4);
    harness.get_by_label("Show all").click();
    harness.run_steps(4);
    let headings: Vec<(f32, String)> = harness
        .query_all_by_role(Role::Heading)
        .filter_map(|node| Some((node.rect().top(), node.accesskit_node().label()?)))
        .collect();
    let titles: Vec<String> =
        [1, 2].map(|id| harness.state().model.connections[&ConnectionId(id)].title()).into();
    let of = |title: &String| headings.iter().find(|(_, text)| text == title).expect("a title").0;
    let tops: Vec<f32> = titles.iter().map(of).collect();
    assert!(tops[0] < tops[1], "{headings:?}");
    let bar = |title: &String| format!("Cart.Add, 20.0 ms, {title}");
    for (title, top) in titles.iter().zip(&tops) {
        let found: Vec<f32> = harness.query_all_by_label(&bar(title)).map(|node| node.rect().top()).collect();
        assert!(found.len() == 1 && found[0] > *top, "{found:?} below {top}");
    }
    assert!(harness.query_by_label_contains("2 calls").is_some());
    // Both calls have the same number.
    harness.get_by_label(&bar(&titles[1])).click();
    harness.run_steps(3);
    let selected = |harness: &Harness<'static, App>| {
        let fleet = harness.state().model.fleet().expect("a fleet");
        fleet.events.selected().map(|event| event.connection)
    };
    assert_eq!(selected(&harness), Some(ConnectionId(2)));
    harness.get_by_label("Show in events").click();
    harness.run_steps(3);
    assert_eq!(harness.state().settings.lower_tab, LowerTab::Events);
    assert_eq!(selected(&harness), Some(ConnectionId(2)));
    execute(&mut harness, UiCommand::ShowInTimeline);
    harness.run_steps(3);
    let process = harness.state().lower.timeline.selected().map(|(process, _)| process);
    assert_eq!((harness.state().settings.lower_tab, process), (LowerTab::Timeline, Some(ConnectionId(2))));
}

#[test]
fn timeline_panel() {
    both("timeline", |theme| {
        let mut harness = timeline(theme, SIZE);
        harness.query_all_by_label("Pricing.Discount, 9.00 ms").next().expect("a bar").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn timeline_in_a_small_window() {
    both("timeline_small", |theme| timeline(theme, [1024.0, 700.0]));
}

#[test]
fn timeline_zoomed_in() {
    both("timeline_zoomed", |theme| {
        let mut harness = timeline(theme, [1600.0, 1000.0]);
        harness.query_all_by_label("Catalog.Find, 1.50 ms").next().expect("a bar").click();
        harness.run_steps(2);
        harness.get_by_label("Zoom to call").click();
        harness.run_steps(3);
        harness
    });
}
