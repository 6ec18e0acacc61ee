//! Pictures of the window in both themes, compared with those committed. `UPDATE_SNAPSHOTS=1` makes them anew; look at
//! each before committing it.

use super::stage::{act, feed, minute, processes, rows, tell, window, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::list::{Filter, Key, Sort};
use crate::model::update::{Told, Update};
use eframe::egui::{Key as Button, Modifiers, Theme};
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults};

/// Drivers differ in the last bit of a colour and at edges; a widget in the wrong place has thousands of pixels.
const DIFFERENT_PIXELS: usize = 400;

fn both(name: &str, build: impl Fn(Theme) -> Harness<'static, App>) {
    let mut results = SnapshotResults::new();
    for (theme, word) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        let mut harness = build(theme);
        harness.remove_cursor();
        harness.run_steps(3);
        let options = SnapshotOptions::new().threshold(1.2).max_failed_pixels(DIFFERENT_PIXELS);
        harness.snapshot_options(format!("{name}_{word}"), &options);
        results.extend_harness(&mut harness);
    }
}

fn counting(theme: Theme) -> Harness<'static, App> {
    let mut harness = with_shop(theme);
    tell(&mut harness, vec![rows()]);
    tell(&mut harness, minute());
    harness
}

#[test]
fn first_run() {
    both("first_run", |theme| {
        let mut harness = window(theme);
        feed(&mut harness, vec![Update::Processes(Default::default())]);
        harness
    });
}

#[test]
fn processes_to_pick() {
    both("processes", |theme| {
        let mut harness = window(theme);
        feed(&mut harness, vec![Update::Processes(processes())]);
        harness
    });
}

#[test]
fn dials_in_every_state() {
    both("dials", |theme| {
        let mut harness = counting(theme);
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn a_filter_with_its_matches() {
    both("filter", |theme| {
        let mut harness = counting(theme);
        harness.state_mut().methods.text = "cart t".into();
        act(&mut harness, Command::Filter("cart t".into()));
        harness
    });
}

#[test]
fn nothing_matches() {
    both("no_match", |theme| {
        let mut harness = with_shop(theme);
        harness.state_mut().methods.text = "checkout".into();
        act(&mut harness, Command::Filter("checkout".into()));
        harness
    });
}

#[test]
fn a_tree_with_mixed_groups() {
    both("tree", |theme| {
        let mut harness = counting(theme);
        act(&mut harness, Command::Tree);
        harness.state_mut().methods.text = "shop".into();
        act(&mut harness, Command::Filter("shop".into()));
        harness.get_by_label("type Cart").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn the_process_is_gone() {
    both("gone", |theme| {
        let mut harness = counting(theme);
        tell(&mut harness, vec![Told::Lost { why: "process 4242 has ended".into(), retry: None }]);
        harness
    });
}

#[test]
fn the_palette_says_why_not() {
    both("palette", |theme| {
        let mut harness = window(theme);
        harness.key_press_modifiers(Modifiers::COMMAND.plus(Modifiers::SHIFT), Button::P);
        harness.run_steps(6);
        harness
    });
}

#[test]
fn the_launch_dialog() {
    both("launch", |theme| {
        let mut harness = window(theme);
        harness.state_mut().settings.launch.program = "dotnet".into();
        harness.state_mut().settings.launch.dials = "Shop!*=loud".into();
        act(&mut harness, Command::Launch);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn the_sheet_of_keys() {
    both("keys", |theme| {
        let mut harness = window(theme);
        act(&mut harness, Command::Keys);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn several_selected_sorted_by_rate() {
    both("several", |theme| {
        let mut harness = counting(theme);
        act(&mut harness, Command::Sort(Sort { key: Key::Rate, descending: true }));
        let filter = Filter { only_dialled: true, ..Filter::default() };
        harness.state_mut().model.current_mut().expect("Shop").set_filter(filter);
        act(&mut harness, Command::SelectAll);
        harness
    });
}
