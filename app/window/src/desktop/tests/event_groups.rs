//! Traced calls in groups: which argument makes a method slow.

use super::events::{DISCOUNT, SIZE, panel, shows};
use super::fixture::execute;
use super::snapshots::both;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::call_groups::{GroupColumn, GroupKey};

fn groups_of(harness: &Harness<'static, App>) -> Vec<String> {
    let rows = harness.query_all_by_role(Role::Row).filter_map(|node| node.accesskit_node().label());
    rows.filter(|label| label.contains(", mean ")).collect()
}

fn grouped(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = panel(theme, size);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    execute(&mut harness, UiCommand::GroupEvents(GroupKey::parse("price.Customer.Name")));
    harness.run_steps(3);
    harness
}

#[test]
fn the_menu_offers_arguments_their_fields_and_results() {
    let mut harness = panel(Theme::Dark, SIZE);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    harness.get_by_label("Group calls").click();
    harness.run_steps(3);
    for name in ["Each call", "Outcome", "percent", "price.Amount", "price.Customer.Name", "result.Amount"] {
        assert!(harness.query_by_label(name).is_some(), "{name}");
    }
    harness.get_by_label("price.Customer.Name").click();
    harness.run_steps(4);
    assert!(shows(&harness, "4 groups"));
    assert!(harness.query_by_label("Calls grouped by price.Customer.Name").is_some());
}

#[test]
fn groups_have_calls_durations_and_exceptions() {
    let mut harness = grouped(Theme::Dark, SIZE);
    let rows = groups_of(&harness);
    // 830 ns times the cube of the call's number; numbers 4, 8 and 12 fail.
    assert_eq!(rows[0], "\"Ada\": 3 calls, mean 637 µs, p99 1.43 ms, 3 exceptions", "{rows:?}");
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("no such value: 3 calls")), "{rows:?}");
    execute(&mut harness, UiCommand::SortGroups(GroupColumn::Value));
    harness.run_steps(2);
    let names = groups_of(&harness);
    let first = |name: &str| names.iter().position(|row| row.starts_with(name));
    assert!(
        first("\"Ada\"") < first("\"Barbara\"") && first("\"Barbara\"") < first("\"Grace\""),
        "{names:?}"
    );
}

#[test]
fn a_group_shows_its_calls() {
    let mut harness = grouped(Theme::Dark, SIZE);
    let row = groups_of(&harness)[0].clone();
    harness.get_by_label(&row).click();
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(4);
    assert_eq!(harness.state().events.text, "price.Customer.Name == \"Ada\"");
    assert!(shows(&harness, "3 of 13 calls"));
    assert!(groups_of(&harness).is_empty());
    // Of these calls, those with another value.
    execute(&mut harness, UiCommand::GroupEvents(GroupKey::parse("percent")));
    harness.run_steps(3);
    assert_eq!(groups_of(&harness).len(), 3);
    harness.key_press(Key::Home);
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(4);
    assert_eq!(harness.state().events.text, "(price.Customer.Name == \"Ada\") && percent == 60");
    assert!(shows(&harness, "1 of 13 calls"));
}

#[test]
fn groups_of_events() {
    both("event_groups", |theme| {
        let mut harness = grouped(theme, SIZE);
        let row = groups_of(&harness)[0].clone();
        harness.get_by_label(&row).click();
        harness.run_steps(2);
        harness
    });
}
