//! Charts over time of the selected methods.

use super::fixture::{CONNECTION, deliver, execute, look_at_shop, row, second, window_of};
use super::snapshots::both;
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::desktop::clock::Clock;
use crate::settings::LowerTab;
use eframe::egui::{Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::histogram;
use redial_model::update::{ConnectionUpdate, Now, Update};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;
use std::time::Duration;

const SIZE: [f32; 2] = [1280.0, 1000.0];

/// Lets a second pass.
fn pass(harness: &mut Harness<'static, App>, seconds: u64) {
    let Now { mono, unix_ms } = harness.state().now();
    harness.state_mut().clock =
        Clock::Stands(Now { mono: mono + Duration::from_secs(seconds), unix_ms: unix_ms + 1_000 * seconds });
    harness.step();
}

/// Selects `Add` and `get_Total`, which are called for a minute.
pub(super) fn charts(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(theme, size));
    let rows = [0, 2].map(|index| row(index, CopyState::Live, Level::Time, 0, None)).to_vec();
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
    harness.run_steps(2);
    harness.get_by_label("Shop!Shop.Cart.get_Total()").click_modifiers(Modifiers::COMMAND);
    harness.run_steps(2);
    execute(&mut harness, UiCommand::Lower(LowerTab::Charts));
    let mut calls = 0;
    for at in 1..=60_u64 {
        pass(&mut harness, 1);
        let wave = at * 7 % 40;
        calls += 2_000 + 30 * wave;
        let mut updates = vec![second(at, [2_000 + 30 * wave, 400 + 5 * wave])];
        let slow = if at % 30 < 6 { 40 * at } else { 3 };
        for index in [0_u32, 2] {
            let buckets = [(300 + 20 * index as u16, calls), (420 + 20 * index as u16, slow + 60 * at)];
            updates.push(ConnectionUpdate::Histogram(
                redial_protocol::ids::RowId(index),
                Ok(Box::new(histogram(index, &buckets))),
            ));
        }
        let now = harness.state().now();
        harness.state_mut().model.apply(Update::Connection(CONNECTION, updates), now);
    }
    harness.run_steps(2);
    harness
}

fn shows(harness: &Harness<'static, App>, text: &str) -> bool {
    harness.query_all_by_label_contains(text).next().is_some()
}

#[test]
fn selected_methods_have_lines_with_their_latest_numbers() {
    let harness = charts(Theme::Dark, SIZE);
    for chart in ["calls per second", "duration p50 (dashed), p99", "exceptions per second"] {
        assert!(shows(&harness, &format!("Chart of {chart}")), "{chart}");
    }
    // The calls of second 59 are seen in second 60: 59 · 7 % 40 = 13.
    assert!(shows(&harness, "Cart.Add  2,390/s") && shows(&harness, "Cart.get_Total  465/s"));
    let charts = &harness.state().model.charts;
    let lengths: Vec<_> =
        charts.charted().map(|(_, series)| (series.samples().count(), series.durations().count())).collect();
    assert!(lengths.iter().all(|(samples, durations)| *samples > 55 && *durations > 30), "{lengths:?}");
}

#[test]
fn the_charts_follow_until_they_are_moved() {
    let mut harness = charts(Theme::Dark, SIZE);
    let chart =
        harness.query_all_by_label_contains("Chart of calls per second").next().expect("a chart").rect();
    let visible = |harness: &Harness<'static, App>| {
        let range = harness.state().lower.charts.visible().expect("shown");
        (range.start().round(), range.end().round())
    };
    let (start, end) = visible(&harness);
    assert_eq!(end - start, 300.0);
    pass(&mut harness, 10);
    harness.run_steps(2);
    assert_eq!(visible(&harness), (start + 10.0, end + 10.0));
    harness.hover_at(chart.center());
    harness.run_steps(2);
    harness.event(eframe::egui::Event::MouseWheel {
        unit: eframe::egui::MouseWheelUnit::Point,
        delta: eframe::egui::vec2(0.0, 100.0),
        phase: eframe::egui::TouchPhase::Move,
        source: eframe::egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(6);
    assert!(!harness.state().lower.charts.follows);
    let zoomed = visible(&harness);
    assert!(zoomed.1 - zoomed.0 < 250.0, "{zoomed:?}");
    pass(&mut harness, 10);
    harness.run_steps(2);
    assert_eq!(visible(&harness), zoomed);
    harness.get_by_label("1 min").click();
    harness.run_steps(3);
    assert_eq!(visible(&harness), (end + 20.0 - 60.0, end + 20.0));
}

#[test]
fn charts_without_a_selection_explain_what_to_do() {
    let mut harness = look_at_shop(window_of(Theme::Dark, SIZE));
    execute(&mut harness, UiCommand::Lower(LowerTab::Charts));
    assert!(shows(&harness, "Select methods whose dials are on"));
}

#[test]
fn charts_panel() {
    both("charts", |theme| charts(theme, SIZE));
}

#[test]
fn charts_in_a_small_window() {
    both("charts_small", |theme| charts(theme, [1024.0, 700.0]));
}
