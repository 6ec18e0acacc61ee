//! Tests of the details' sections: each collapses by pointer and keyboard, and stays so.

use super::fixture::{deliver, look_at_shop, minute, rows, window_of};
use super::times::painted;
use crate::desktop::App;
use crate::settings::sections::DetailSection;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};

const ADD: &str = "Shop!Shop.Cart.Add(int)";

fn counted() -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(Theme::Dark, [1_180.0, 720.0]));
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness
}

fn is_open(harness: &Harness<'static, App>, title: &str) -> Option<bool> {
    let heading = harness.query_by_role_and_label(Role::DisclosureTriangle, title)?;
    heading.accesskit_node().data().is_expanded()
}

#[test]
fn a_section_collapses_by_pointer_and_keyboard() {
    let mut harness = counted();
    assert_eq!(is_open(&harness, "Numbers"), Some(true));
    assert!(painted(&harness, "Now").is_some());
    harness.get_by_role_and_label(Role::DisclosureTriangle, "Numbers").click();
    harness.run_steps(3);
    assert_eq!(is_open(&harness, "Numbers"), Some(false));
    assert!(painted(&harness, "Now").is_none(), "its numbers are hidden");
    let closed: Vec<DetailSection> = harness.state().settings.closed_sections.iter().copied().collect();
    assert_eq!(closed, [DetailSection::Numbers]);
    harness.get_by_role_and_label(Role::DisclosureTriangle, "Numbers").focus();
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(is_open(&harness, "Numbers") == Some(true) && painted(&harness, "Now").is_some());
    assert!(harness.state().settings.closed_sections.is_empty());
}

#[test]
fn a_collapsed_section_stays_collapsed_for_other_methods() {
    let mut harness = counted();
    let caption = |harness: &Harness<'static, App>| {
        let all = harness.query_all_by_role(Role::DisclosureTriangle);
        let mut labels = all.filter_map(|one| one.accesskit_node().label());
        labels.find(|label| label.starts_with("Last minute, peak"))
    };
    let title = caption(&harness).expect("the rate");
    harness.get_by_role_and_label(Role::DisclosureTriangle, &title).click();
    harness.run_steps(3);
    assert_eq!(is_open(&harness, &title), Some(false));
    harness.get_by_label("Shop!Shop.Cart.get_Total()").click();
    harness.run_steps(3);
    let title = caption(&harness).expect("the rate of the other");
    assert_eq!(is_open(&harness, &title), Some(false));
}
