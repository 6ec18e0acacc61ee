//! What a filter finds nothing in says what was left out, and what may have been meant.

use super::stage::{act, rows, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

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

#[test]
fn the_nearest_name_is_one_click_away() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Filter("Disocunt".into()));
    click(&mut harness, "Discount");
    assert_eq!((shown(&harness), harness.state().methods.text.as_str()), (1, "Discount"));
}
