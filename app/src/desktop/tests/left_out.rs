//! What a filter finds nothing in says what was left out, and what may have been meant.

use super::stage::{act, row, rows, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::catalogue::builder::tests::module;
use crate::model::update::Told;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::ids::MethodToken;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;

fn click(harness: &mut Harness<'static, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

fn shown(harness: &Harness<'static, App>) -> usize {
    harness.state().model.list().map_or(0, |list| list.row_count())
}

#[test]
fn what_the_switches_leave_out_is_told_and_searched_by_one_click() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![rows()]);
    act(&mut harness, Command::Filter("Concat".into()));
    harness.get_by_label("1 method of the framework would fit, but those are hidden.");
    click(&mut harness, "Search the framework, too");
    assert_eq!(shown(&harness), 1);
    act(&mut harness, Command::OnlyDialled);
    harness.get_by_label("1 method would fit, but only dialled ones are shown.");
    act(&mut harness, Command::HideFramework);
    click(&mut harness, "Search all methods");
    assert_eq!(shown(&harness), 1, "without both switches");
    act(&mut harness, Command::OnlyDialled);
    act(&mut harness, Command::Filter("Find".into()));
    harness.get_by_label("1 method that would fit was dialled and is off again.");
    click(&mut harness, "Show what is off again");
    assert_eq!(shown(&harness), 1);
}

/// What the agent says of the framework's `Concat`.
fn concat(state: State, wanted: Level) -> Told {
    let mut row = row(0, state, wanted, 3, None);
    (row.copy.module, row.copy.token) = (module(2, "", "").key, MethodToken(0x0600_0101));
    Told::Event(Event::Rows { id: None, rows: vec![row] })
}

#[test]
fn a_dial_of_the_framework_is_told_where_it_is_hidden_and_no_offer_leads_nowhere() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![concat(State::Live, Level::Count)]);
    act(&mut harness, Command::OnlyDialled);
    harness.get_by_label("1 method of the framework is dialled, but those are hidden.");
    assert!(harness.query_by_label("No dial is on").is_none());
    click(&mut harness, "Show those of the framework");
    assert_eq!(shown(&harness), 1);
    act(&mut harness, Command::HideFramework);
    tell(&mut harness, vec![concat(State::Off, Level::Off)]);
    harness.get_by_label("No dial is on");
    act(&mut harness, Command::Filter("Concat".into()));
    assert!(
        harness.query_by_label("Search the framework, too").is_none(),
        "what is off again stays left out"
    );
    click(&mut harness, "Search all methods");
    assert_eq!(shown(&harness), 1);
}

#[test]
fn the_nearest_name_is_one_click_away() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Filter("Disocunt".into()));
    click(&mut harness, "Discount");
    assert_eq!((shown(&harness), harness.state().methods.text.as_str()), (1, "Discount"));
}
