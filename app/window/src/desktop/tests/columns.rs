//! Tests that columns can be resized, moved and hidden with pointer and keyboard, and that this is kept.

use super::fixture::{deliver, execute, look_at_shop, row, second, status, window_of};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::settings::columns::{ColumnLayout, TableColumn};
use eframe::egui::accesskit::Role;
use eframe::egui::{PointerButton, Theme, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::fixtures::histogram;
use redial_model::list::SortKey;
use redial_model::update::ConnectionUpdate;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::times::TimeColumn;

/// A window in which `Add` and `get_Total` are timed.
fn timed() -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(Theme::Dark, [2_100.0, 800.0]));
    let rows =
        vec![row(0, CopyState::Live, Level::Time, 30, None), row(2, CopyState::Live, Level::Time, 10, None)];
    let of = |id, self_ns| Times { self_ns, ..histogram(id, &[(210, 10)]).times };
    deliver(
        &mut harness,
        vec![
            ConnectionUpdate::Event(Event::Rows { id: None, rows }),
            ConnectionUpdate::Event(Event::Times { id: None, times: vec![of(0, 7_500), of(2, 2_500)] }),
            ConnectionUpdate::AgentStatus(Box::new(status())),
        ],
    );
    deliver(&mut harness, vec![second(1, [0, 0])]);
    harness.run_steps(3);
    harness
}

fn header(harness: &Harness<'static, App>, label: &str) -> eframe::egui::Rect {
    harness.get_by_role_and_label(Role::ColumnHeader, label).rect()
}

fn layout(harness: &Harness<'static, App>) -> ColumnLayout {
    harness.state().settings.columns.clone()
}

fn drag(harness: &mut Harness<'static, App>, from: eframe::egui::Pos2, to: eframe::egui::Pos2) {
    harness.hover_at(from);
    harness.run_steps(1);
    harness.drag_at(from);
    harness.run_steps(1);
    harness.hover_at(from.lerp(to, 0.5));
    harness.run_steps(1);
    harness.hover_at(to);
    harness.run_steps(2);
    harness.drop_at(to);
    harness.run_steps(3);
}

#[test]
fn dragging_an_edge_resizes_a_column() {
    let mut harness = timed();
    let before = header(&harness, "Sort by calls");
    let name = header(&harness, "Sort by method");
    let edge = before.left_center();
    drag(&mut harness, edge, edge - vec2(60.0, 0.0));
    let after = header(&harness, "Sort by calls");
    assert_eq!(after.right(), before.right(), "the numbers stay at their place");
    assert!((after.width() - before.width() - 60.0).abs() < 2.0, "{before:?} {after:?}");
    assert!((name.width() - header(&harness, "Sort by method").width() - 60.0).abs() < 2.0);
    assert_eq!(layout(&harness).width(TableColumn::Calls), after.width().round());
    let sort = harness.state().model.list().expect("a table").list.sort();
    assert_eq!(sort.key, SortKey::Name, "dragging sorts nothing");
}

#[test]
fn dragging_a_header_moves_its_column() {
    let mut harness = timed();
    let (from, to) = (header(&harness, "Sort by self"), header(&harness, "Sort by calls"));
    drag(&mut harness, from.center(), to.center());
    assert!(header(&harness, "Sort by self").right() <= header(&harness, "Sort by calls").left() + 1.0);
    let order: Vec<TableColumn> = layout(&harness).columns().iter().map(|choice| choice.column).collect();
    assert_eq!(order[..3], [TableColumn::State, TableColumn::Time(TimeColumn::Own), TableColumn::Calls]);
}

#[test]
fn header_menu_hides_and_shows_columns() {
    let mut harness = timed();
    let at = header(&harness, "Sort by max").center();
    let press = |harness: &mut Harness<'static, App>, pressed| {
        let modifiers = Default::default();
        let button = PointerButton::Secondary;
        harness.input_mut().events.push(eframe::egui::Event::PointerButton {
            pos: at,
            button,
            pressed,
            modifiers,
        });
        harness.run_steps(2);
    };
    harness.hover_at(at);
    harness.run_steps(1);
    press(&mut harness, true);
    press(&mut harness, false);
    harness.get_by_label("Hide max").click();
    harness.run_steps(3);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "Sort by max").is_none());
    assert!(layout(&harness).get(TableColumn::Time(TimeColumn::Max)).hidden);
    execute(&mut harness, UiCommand::ResetColumns);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "Sort by max").is_some());
    assert_eq!(layout(&harness), ColumnLayout::default());
}

#[test]
fn dialog_arranges_columns_by_keyboard() {
    let mut harness = timed();
    execute(&mut harness, UiCommand::Columns);
    harness.get_by_role_and_label(Role::CheckBox, "Share").click_accesskit();
    harness.run_steps(3);
    assert!(layout(&harness).get(TableColumn::Share).hidden);
    harness.get_by_label("Move calls up").click_accesskit();
    harness.run_steps(3);
    assert_eq!(layout(&harness).columns()[0].column, TableColumn::Calls);
    assert!(header(&harness, "Sort by calls").right() <= header(&harness, "Sort by state").left() + 1.0);
    assert!(harness.query_by_label("Width of p99").is_some());
}

#[test]
fn share_is_of_all_self_time() {
    let harness = timed();
    let table = harness.state().model.list().expect("a table");
    assert_eq!(table.live.self_time_of_all(), 10_000);
    assert!(harness.query_by_role_and_label(Role::ColumnHeader, "Sort by share").is_some());
}

#[test]
fn column_headers_are_named_for_screen_readers() {
    let harness = timed();
    let headers = harness.query_all_by_role(Role::ColumnHeader);
    let named = headers.filter(|header| !header.accesskit_node().label().unwrap_or_default().is_empty());
    assert_eq!(named.count(), TableColumn::ALL.len() + 2, "dial and method, too");
}
