//! Tests of movable panels and of saved layouts.

use super::fixture::{deliver, execute, look_at_shop, minute, rows, still, window_of};
use super::gestures::last_logged;
use crate::commands::UiCommand;
use crate::desktop::{App, Options};
use crate::settings::layouts::{PanelId, Side};
use crate::ui::icons::Icon;
use eframe::egui::accesskit::{Role, Toggled};
use eframe::egui::{Pos2, Rect, Theme, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::log::LogKind;
use redial_protocol::level::Level;
use std::path::{Path, PathBuf};

const ADD: &str = "Shop!Shop.Cart.Add(int)";

fn shop(size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(Theme::Dark, size));
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness
}

fn movable(size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = shop(size);
    execute(&mut harness, UiCommand::MovablePanels);
    harness
}

fn tab(harness: &Harness<'static, App>, name: &str) -> Option<Rect> {
    harness.query_by_role_and_label(Role::Tab, name).map(|tab| tab.rect())
}

fn drag(harness: &mut Harness<'static, App>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.run_steps(2);
    harness.drag_at(from);
    harness.run_steps(2);
    for step in 1..=4 {
        harness.hover_at(from + (to - from) * (step as f32 / 4.0));
        harness.run_steps(2);
    }
    harness.drop_at(to);
    harness.run_steps(4);
}

/// Checks that every panel can be shown and has its tab within the window.
fn assert_all_reachable(harness: &mut Harness<'static, App>) {
    for panel in PanelId::ALL {
        if !harness.state().shows(panel) {
            execute(harness, UiCommand::Panel(panel));
        }
        assert!(harness.state().shows(panel), "{panel:?}");
        let place = tab(harness, panel.title()).unwrap_or_else(|| panic!("no tab {panel:?}"));
        assert!(harness.ctx.content_rect().contains_rect(place.shrink(1.0)), "{panel:?} at {place}");
    }
}

#[test]
fn movable_panels_show_the_same_at_the_same_places() {
    let mut harness = movable([1_180.0, 720.0]);
    for name in ["Processes", "Methods", "Details", "Log"] {
        assert!(tab(&harness, name).is_some(), "{name}");
    }
    assert!(tab(&harness, "Events").is_none(), "the lower panel was hidden");
    assert!(harness.query_by_label(ADD).is_some());
    assert!(harness.query_by_label("Dial of the selection").is_some());
    let at = |name| tab(&harness, name).expect("a tab").left();
    assert!(at("Processes") < at("Methods") && at("Methods") < at("Details"));
    execute(&mut harness, UiCommand::MovablePanels);
    assert!(tab(&harness, "Methods").is_none() && harness.query_by_label(ADD).is_some());
}

#[test]
fn a_dragged_tab_moves_its_panel() {
    let mut harness = movable([1_180.0, 720.0]);
    let (log, details) = (tab(&harness, "Log").expect("log"), tab(&harness, "Details").expect("details"));
    assert!(log.top() > details.top() + 200.0);
    // Among the tabs of the details.
    drag(&mut harness, log.center(), details.right_center() + vec2(8.0, 0.0));
    let moved = tab(&harness, "Log").expect("log");
    assert!((moved.top() - details.top()).abs() < 3.0 && moved.left() > details.left(), "{moved} {details}");
    assert!(harness.state().shows(PanelId::Log) && !harness.state().shows(PanelId::Details));
    let saved = harness.state().settings.layouts.dock.clone().expect("kept");
    assert_ne!(Some(saved), {
        execute(&mut harness, UiCommand::ResetLayout);
        execute(&mut harness, UiCommand::MovablePanels);
        harness.state().settings.layouts.dock.clone()
    });
    assert!(tab(&harness, "Log").expect("log").top() > details.top() + 200.0, "reset");
}

#[test]
fn a_dragged_splitter_resizes_panels() {
    let mut harness = movable([1_180.0, 720.0]);
    let before = tab(&harness, "Methods").expect("methods").left();
    let at = Pos2::new(before - 2.0, 400.0);
    drag(&mut harness, at, at + vec2(80.0, 0.0));
    let after = tab(&harness, "Methods").expect("methods").left();
    assert!((after - before - 80.0).abs() < 6.0, "{before} became {after}");
}

#[test]
fn everything_is_reachable_in_a_small_window() {
    let mut harness = movable([1_024.0, 700.0]);
    assert_all_reachable(&mut harness);
    assert!(harness.query_all_by_label(ADD).next().is_some());
    for side in Side::ALL {
        for panel in [PanelId::Log, PanelId::Timeline, PanelId::Processes, PanelId::Methods] {
            execute(&mut harness, UiCommand::MovePanel(panel, side));
            assert_all_reachable(&mut harness);
        }
    }
}

#[test]
fn the_keyboard_hides_shows_and_moves_panels() {
    let mut harness = shop([1_180.0, 720.0]);
    execute(&mut harness, UiCommand::MovePanel(PanelId::Log, Side::Left));
    let (log, methods) = (tab(&harness, "Log").expect("log"), tab(&harness, "Methods").expect("methods"));
    assert!(log.right() < methods.left(), "moving makes panels movable");
    for (command, name) in
        [(UiCommand::Log, "Log"), (UiCommand::ProcessList, "Processes"), (UiCommand::Details, "Details")]
    {
        execute(&mut harness, command.clone());
        assert!(tab(&harness, name).is_none(), "{name} is hidden");
        execute(&mut harness, command);
        assert!(tab(&harness, name).is_some(), "{name} is shown");
    }
    harness.get_by_label("Hide Log").click();
    harness.run_steps(3);
    assert!(tab(&harness, "Log").is_none());
    assert!(harness.query_by_label("Hide Methods").is_none(), "the methods stay");
}

/// Two tabs of the lower panel at once.
#[test]
fn panels_of_calls_stand_beside_each_other() {
    let mut harness = movable([1_600.0, 1_000.0]);
    execute(&mut harness, UiCommand::Events);
    execute(&mut harness, UiCommand::MovePanel(PanelId::Charts, Side::Bottom));
    let state = harness.state();
    assert!(state.shows(PanelId::Events) && state.shows(PanelId::Charts));
    assert!(harness.query_by_label("Event filter").is_some());
}

struct SettingsFolder(PathBuf);

impl SettingsFolder {
    fn new(name: &str) -> SettingsFolder {
        let folder = std::env::temp_dir().join(format!("redial-layouts-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        SettingsFolder(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("window.json")
    }
}

impl Drop for SettingsFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(file: &Path) -> Harness<'static, App> {
    let options = Options { settings: Some(file.to_path_buf()), ..still() };
    let mut harness = Harness::builder()
        .with_size([1_180.0, 720.0])
        .with_max_steps(20)
        .build_eframe(|creation| App::new(&creation.egui_ctx, options));
    harness.run_steps(3);
    look_at_shop(harness)
}

#[test]
fn layouts_are_kept_chosen_and_reset_without_loss() {
    let folder = SettingsFolder::new("kept");
    let mut harness = open(&folder.file());
    execute(&mut harness, UiCommand::SaveFilter("Cart".into()));
    execute(&mut harness, UiCommand::SaveLayout("plain".into()));
    execute(&mut harness, UiCommand::MovePanel(PanelId::Log, Side::Right));
    execute(&mut harness, UiCommand::Layouts);
    harness.get_by_label("Save the current layout as").focus();
    harness.run_steps(2);
    harness.event(eframe::egui::Event::Text("log at the right".into()));
    harness.run_steps(2);
    harness.get_by_label("Save").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Escape);
    let right = tab(&harness, "Log").expect("log");
    drop(harness);

    let mut harness = open(&folder.file());
    assert_eq!(tab(&harness, "Log"), Some(right), "the next start shows the same");
    execute(&mut harness, UiCommand::ResetLayout);
    assert!(tab(&harness, "Log").is_none());
    assert_eq!(harness.state().settings.filters, ["Cart"]);
    assert_eq!(harness.state().settings.layouts.named.len(), 2, "saved layouts stay");
    execute(&mut harness, UiCommand::ChooseLayout("log at the right".into()));
    assert_eq!(tab(&harness, "Log"), Some(right));
    execute(&mut harness, UiCommand::ChooseLayout("plain".into()));
    assert!(tab(&harness, "Log").is_none());
    execute(&mut harness, UiCommand::DeleteLayout("plain".into()));
    let names: Vec<String> =
        harness.state().settings.layouts.named.iter().map(|one| one.name.clone()).collect();
    assert_eq!(names, ["log at the right"]);
}

#[test]
fn a_damaged_layout_gives_the_standard_one_and_a_notice() {
    let folder = SettingsFolder::new("damaged");
    let text = r#"{"version": 1, "filters": ["Cart"], "layouts": {"movable": true, "dock": {"root": 7}}}"#;
    std::fs::write(folder.file(), text).expect("written");
    let harness = open(&folder.file());
    assert!(tab(&harness, "Methods").is_none() && harness.query_by_label(ADD).is_some());
    assert!(last_logged(&harness, LogKind::Notice).contains("a saved layout could not be used"));
    let copy = folder.0.join("window.json.bad1");
    assert_eq!(std::fs::read_to_string(copy).expect("a copy"), text);
    assert_eq!(harness.state().settings.filters, ["Cart"]);
}

#[test]
fn a_file_without_layouts_gives_the_standard_one() {
    let folder = SettingsFolder::new("older");
    std::fs::write(folder.file(), r#"{"version": 1, "filters": ["Cart"]}"#).expect("written");
    let harness = open(&folder.file());
    assert!(tab(&harness, "Methods").is_none());
    assert_eq!(harness.state().settings.filters, ["Cart"]);
    assert_eq!(harness.state().model.log.newest(LogKind::Notice), None);
}

#[test]
fn the_palette_moves_panels_and_chooses_layouts() {
    let mut harness = shop([1_180.0, 720.0]);
    execute(&mut harness, UiCommand::SaveLayout("wide".into()));
    execute(&mut harness, UiCommand::Palette);
    harness.event(eframe::egui::Event::Text("move log to the left".into()));
    harness.run_steps(3);
    harness.key_press(eframe::egui::Key::Enter);
    harness.run_steps(4);
    assert!(tab(&harness, "Log").is_some_and(|place| place.left() < 20.0));
    execute(&mut harness, UiCommand::Palette);
    harness.event(eframe::egui::Event::Text("use layout wide".into()));
    harness.run_steps(3);
    harness.key_press(eframe::egui::Key::Enter);
    harness.run_steps(4);
    assert!(tab(&harness, "Log").is_none());
}

#[test]
fn menus_show_icons_and_ticks_without_changing_names() {
    let mut harness = shop([1_180.0, 720.0]);
    harness.get_by_label("View").click();
    harness.run_steps(3);
    let log = harness.get_by_role_and_label(Role::CheckBox, "Show the log");
    assert_eq!(log.accesskit_node().toggled(), Some(Toggled::True));
    assert!(harness.query_by_label("Columns…").is_some());
    let painted = |icon: Icon| super::times::painted(&harness, &icon.unicode().to_string()).is_some();
    assert!(painted(Icon::Check) && painted(Icon::Columns3) && painted(Icon::Sun));
    assert!(!painted(Icon::PanelBottom), "the tick takes its place while the log is shown");
}

/// Otherwise the keys after it would turn dials.
#[test]
fn the_filter_shows_its_panel() {
    let mut harness = movable([1_180.0, 720.0]);
    let log = tab(&harness, "Log").expect("log").center();
    let methods = tab(&harness, "Methods").expect("methods").center();
    drag(&mut harness, log, methods);
    harness.state_mut().show_panel(PanelId::Log);
    harness.run_steps(3);
    assert!(!harness.state().shows(PanelId::Methods), "the log is in front");
    execute(&mut harness, UiCommand::FocusFilter);
    harness.run_steps(3);
    assert!(harness.state().shows(PanelId::Methods));
    let focused = harness.ctx.memory(|memory| memory.focused());
    assert_eq!(focused, Some(crate::views::methods_toolbar::filter_id()));
}

#[test]
fn moving_a_panel_keeps_the_arrangement() {
    let mut harness = movable([1_180.0, 720.0]);
    execute(&mut harness, UiCommand::MovePanel(PanelId::Details, Side::Left));
    let details = tab(&harness, "Details").expect("details").left();
    execute(&mut harness, UiCommand::MovablePanels);
    execute(&mut harness, UiCommand::MovePanel(PanelId::Log, Side::Right));
    assert!(tab(&harness, "Details").is_some_and(|place| place.left() - details < 5.0));
}

#[test]
fn tracing_shows_the_calls() {
    let mut harness = movable([1_600.0, 1_000.0]);
    execute(&mut harness, UiCommand::Lower(crate::settings::LowerTab::Charts));
    assert!(!harness.state().shows_calls());
    let shop = harness.state_mut().model.current_process_mut().expect("Shop");
    shop.session.facts.as_mut().expect("facts").levels.push(Level::Trace);
    execute(&mut harness, UiCommand::TurnTo(Level::Trace));
    assert!(harness.state().shows(PanelId::Events));
    assert!(harness.query_by_label("Hide events").is_none(), "its tab has the button");
}
