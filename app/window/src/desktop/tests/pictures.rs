//! Tests of pictures of single panels: where they are offered, and which part of the window they take.

use super::fixture::{deliver, execute, look_at_shop, rows, window_of};
use super::traced_program::window_with_calls;
use crate::commands::{SessionPurpose, UiCommand};
use crate::desktop::App;
use crate::settings::LowerTab;
use crate::settings::layouts::PanelId;
use eframe::egui::accesskit::Role;
use eframe::egui::{Rect, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::PathBuf;

const SIZE: [f32; 2] = [1_280.0, 900.0];
const ADD: &str = "Shop!Shop.Cart.Add(int)";

fn area(harness: &Harness<'static, App>, panel: PanelId) -> Rect {
    harness.state().panel_areas.of(panel).unwrap_or_else(|| panic!("{panel:?} is hidden"))
}

#[test]
fn areas_of_panels_cover_the_window_without_overlap() {
    for movable in [false, true] {
        let mut harness = window_with_calls(Theme::Dark, SIZE);
        if movable {
            execute(&mut harness, UiCommand::MovablePanels);
        }
        let shown = [PanelId::Processes, PanelId::Methods, PanelId::Details, PanelId::Log, PanelId::Events];
        let areas = shown.map(|panel| area(&harness, panel));
        for (at, one) in areas.iter().enumerate() {
            assert!(harness.ctx.content_rect().expand(1.0).contains_rect(*one), "{:?}", shown[at]);
            for other in areas.iter().skip(at + 1) {
                let common = one.intersect(*other);
                assert!(common.width().min(common.height()) < 2.0, "{one} and {other}, movable: {movable}");
            }
        }
        assert!(area(&harness, PanelId::Methods).contains(harness.get_by_label(ADD).rect().center()));
        assert!(harness.state().panel_areas.of(PanelId::Charts).is_none());
    }
}

#[test]
fn the_lower_panel_is_the_tab_that_it_shows() {
    let mut harness = window_with_calls(Theme::Dark, SIZE);
    execute(&mut harness, UiCommand::Lower(LowerTab::Timeline));
    let timeline = harness.get_by_label("Timeline of calls").rect();
    assert!(area(&harness, PanelId::Timeline).expand(1.0).contains_rect(timeline));
    assert!(harness.state().panel_areas.of(PanelId::Events).is_none());
}

#[test]
fn the_question_names_panel_and_file() {
    let mut harness = window_with_calls(Theme::Dark, SIZE);
    execute(&mut harness, UiCommand::ExportPanel(PanelId::Events));
    harness.get_by_label("Save a picture of a panel");
    harness.get_by_label("Panel: Events");
    let purpose = SessionPurpose::Picture(Some(PanelId::Events));
    let question = harness.state().dialogs.session.as_ref().expect("a question");
    assert_eq!(question.purpose, purpose);
    let file = PathBuf::from(&question.file);
    let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(name.starts_with("dotnet-events-") && name.ends_with(".png"), "{name}");
    execute(&mut harness, UiCommand::Session(purpose, "/tmp/events.png".into()));
    assert!(harness.state().dialogs.session.is_none(), "the picture must not show the question");
}

#[test]
fn a_hidden_panel_has_no_picture_and_the_log_says_why() {
    let mut harness = look_at_shop(window_of(Theme::Dark, SIZE));
    deliver(&mut harness, vec![rows()]);
    let now = harness.state().command_context();
    let hidden = UiCommand::ExportPanel(PanelId::Charts);
    assert_eq!(hidden.enabled(&now), Err("the panel is hidden: show it first"));
    assert_eq!(UiCommand::ExportPanel(PanelId::Methods).enabled(&now), Ok(()));
    harness.state_mut().take_picture("charts.png".into(), Some(PanelId::Charts));
    harness.run_steps(2);
    let entries = harness.state().model.log.entries();
    assert!(
        entries.iter().any(|entry| entry.text == "No picture was saved: the panel Charts is hidden"),
        "{entries:?}"
    );
}

#[test]
fn the_menu_of_a_tab_offers_the_picture() {
    let mut harness = window_with_calls(Theme::Dark, SIZE);
    execute(&mut harness, UiCommand::MovablePanels);
    harness.get_by_role_and_label(Role::Tab, "Methods").click_secondary();
    harness.run_steps(3);
    harness.get_by_label("Save a picture…").click();
    harness.run_steps(3);
    harness.get_by_label("Panel: Methods");
}
