//! Tests of the hints when a filter has no matches: hidden methods and similar names.

use super::fixture::{deliver, execute, row, rows, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::module;
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::MethodToken;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

fn click(harness: &mut Harness<'static, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

fn shown(harness: &Harness<'static, App>) -> usize {
    harness.state().model.list().map_or(0, |list| list.row_count())
}

#[test]
fn hidden_matches_are_reported_and_shown_on_click() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    execute(&mut harness, UiCommand::Filter("Concat".into()));
    harness.get_by_label("1 method of the framework would match, but framework methods are hidden.");
    click(&mut harness, "Search framework methods");
    assert_eq!(shown(&harness), 1);
    execute(&mut harness, UiCommand::OnlyDialled);
    harness.get_by_label("1 method would match, but only dialled methods are shown.");
    execute(&mut harness, UiCommand::HideFramework);
    click(&mut harness, "Search all methods");
    assert_eq!(shown(&harness), 1, "without both filters");
    execute(&mut harness, UiCommand::OnlyDialled);
    execute(&mut harness, UiCommand::Filter("Find".into()));
    harness.get_by_label("1 method matches but is off again.");
    click(&mut harness, "Show methods now off");
    assert_eq!(shown(&harness), 1);
}

/// Returns the agent's message about the framework's `Concat`.
fn concat(state: CopyState, wanted: Level) -> ConnectionUpdate {
    let mut row = row(0, state, wanted, 3, None);
    (row.copy.module, row.copy.token) = (module(2, "", "").key, MethodToken(0x0600_0101));
    ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![row] })
}

#[test]
fn hidden_framework_dial_is_reported_and_offers_work() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![concat(CopyState::Live, Level::Count)]);
    execute(&mut harness, UiCommand::OnlyDialled);
    harness.get_by_label("1 method of the framework is dialled, but framework methods are hidden.");
    assert!(harness.query_by_label("No dials are on").is_none());
    click(&mut harness, "Show framework methods");
    assert_eq!(shown(&harness), 1);
    execute(&mut harness, UiCommand::HideFramework);
    deliver(&mut harness, vec![concat(CopyState::Off, Level::Off)]);
    harness.get_by_label("No dials are on");
    execute(&mut harness, UiCommand::Filter("Concat".into()));
    assert!(harness.query_by_label("Search framework methods").is_none(), "methods now off stay hidden");
    click(&mut harness, "Search all methods");
    assert_eq!(shown(&harness), 1);
}

#[test]
fn the_nearest_name_is_one_click_away() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Filter("Disocunt".into()));
    click(&mut harness, "Discount");
    assert_eq!((shown(&harness), harness.state().methods.text.as_str()), (1, "Discount"));
}
