//! Tests of jumps to methods and of the way back.

use super::callers::{clear_calls_add, method_named};
use super::fixture::{catalogue, deliver, execute, window, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, PointerButton, Theme, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::facts;
use redial_model::ids::Node;
use redial_model::update::ConnectionUpdate;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const CLEAR: &str = "Shop!Shop.Cart.Clear()";

fn focus(harness: &Harness<'static, App>) -> String {
    let table = harness.state().model.current_table().expect("a table");
    match table.selection.focus() {
        Some(Node::Method(method)) => table.catalogue.full_name(method).text,
        other => format!("{other:?}"),
    }
}

fn filter(harness: &Harness<'static, App>) -> String {
    harness.state().model.current_table().expect("a table").list.filter().text.clone()
}

fn press(harness: &mut Harness<'static, App>, key: Key) {
    harness.key_press_modifiers(Modifiers::ALT, key);
    harness.run_steps(3);
}

#[test]
fn caller_is_revealed_and_back_returns() {
    let mut harness = clear_calls_add();
    execute(&mut harness, UiCommand::Filter("cart".into()));
    harness.get_by_role_and_label(Role::Link, CLEAR).click();
    harness.run_steps(3);
    assert_eq!((focus(&harness).as_str(), filter(&harness).as_str()), (CLEAR, "cart"), "the filter stays");
    press(&mut harness, Key::ArrowLeft);
    assert_eq!(focus(&harness), ADD);
    press(&mut harness, Key::ArrowRight);
    assert_eq!(focus(&harness), CLEAR);
    assert!(!harness.state().command_context().list.forward);
    harness.get_by_role_and_label(Role::Button, "Back").click();
    harness.run_steps(3);
    assert_eq!(focus(&harness), ADD);
    let dials = harness.state().model.log.entries().iter().filter(|entry| entry.text.contains("count on"));
    assert_eq!(dials.count(), 0, "Alt with an arrow turns no dial");
}

#[test]
fn hidden_caller_is_shown_with_an_offer() {
    let mut harness = clear_calls_add();
    execute(&mut harness, UiCommand::Filter("Add".into()));
    harness.get_by_role_and_label(Role::Link, CLEAR).click();
    harness.run_steps(3);
    assert_eq!(filter(&harness), "Add", "the filter stays");
    harness.get_by_label("The filter hides this method's row.");
    harness.get_by_label("Show its row").click();
    harness.run_steps(3);
    assert_eq!((focus(&harness).as_str(), filter(&harness).as_str()), (CLEAR, ""));
    assert!(harness.query_by_label("Show its row").is_none());
    press(&mut harness, Key::ArrowLeft);
    assert_eq!((focus(&harness).as_str(), filter(&harness).as_str()), (ADD, "Add"), "with its filter");
}

#[test]
fn clicked_rows_are_places_and_mouse_buttons_step() {
    let mut harness = with_shop(Theme::Dark);
    for name in [ADD, CLEAR] {
        harness.get_by_label(name).click();
        harness.run_steps(3);
    }
    let button = |button| Event::PointerButton {
        pos: pos2(500.0, 300.0),
        button,
        pressed: true,
        modifiers: Modifiers::NONE,
    };
    harness.input_mut().events.push(button(PointerButton::Extra1));
    harness.run_steps(3);
    assert_eq!(focus(&harness), ADD);
    harness.input_mut().events.push(button(PointerButton::Extra2));
    harness.run_steps(3);
    assert_eq!(focus(&harness), CLEAR);
}

#[test]
fn palette_goes_to_a_method() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Palette);
    harness.input_mut().events.push(Event::Text("zzqx".into()));
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("Nothing matches").is_some());
    execute(&mut harness, UiCommand::Escape);
    execute(&mut harness, UiCommand::Palette);
    harness.input_mut().events.push(Event::Text("carttotal".into()));
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(focus(&harness), method_named(&harness, "get_Total"));
    assert!(harness.state().dialogs.palette.is_none());
}

/// The window can be used from the first second without a mouse.
#[test]
fn keyboard_works_from_the_start() {
    let mut harness = window(Theme::Dark);
    super::fixture::feed(
        &mut harness,
        vec![redial_model::update::Update::Processes(super::fixture::processes())],
    );
    harness.input_mut().events.push(Event::Text("dotn".into()));
    harness.run_steps(3);
    assert_eq!(harness.state().model.processes.filter(), "dotn", "typing looks for a process");
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    let current = harness.state().model.current_process().map(|one| one.process);
    assert_eq!(current, Some(super::fixture::SHOP));
}

/// A process chosen with the arrow keys leaves the keys to its methods.
#[test]
fn arrow_keys_go_from_processes_to_methods() {
    let mut harness = window(Theme::Dark);
    super::fixture::feed(
        &mut harness,
        vec![redial_model::update::Update::Processes(super::fixture::processes())],
    );
    harness.input_mut().events.push(Event::Text("dotn".into()));
    harness.run_steps(3);
    for key in [Key::ArrowDown, Key::Enter] {
        harness.key_press(key);
        harness.run_steps(3);
    }
    let current = harness.state().model.current_process().map(|one| one.process);
    assert_eq!(current, Some(super::fixture::SHOP));
    deliver(&mut harness, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    deliver(&mut harness, catalogue());
    harness.run_steps(3);
    let first = focus(&harness);
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    assert_ne!(focus(&harness), first, "a method has been reached");
}

/// Rows below the fold are reached by the arrow keys, too.
#[test]
fn arrow_keys_reach_every_process() {
    let mut harness = window(Theme::Dark);
    let mut many = super::fixture::processes();
    many.changed.truncate(1);
    let first = many.changed[0].clone();
    many.changed.extend((0..59).map(|pid| {
        let mut row = first.clone();
        row.key.pid = 5_000 + pid;
        row
    }));
    super::fixture::feed(&mut harness, vec![redial_model::update::Update::Processes(many)]);
    let order: Vec<_> = harness.state().model.processes.visible().map(|row| row.row.key).collect();
    assert_eq!(order.len(), 60);
    let focused = |harness: &Harness<'static, App>| {
        harness
            .ctx
            .memory(|memory| memory.focused())
            .is_some_and(|id| id == crate::views::processes::filter_id())
    };
    assert!(focused(&harness), "the filter");
    for _ in 0..45 {
        harness.key_press(Key::ArrowDown);
        harness.run_steps(3);
    }
    harness.key_press(Key::ArrowUp);
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    let current = harness.state().model.current_process().map(|one| one.process);
    assert_eq!(current, Some(order[43]), "the 44th row");
}

/// From the first row the arrow key returns to the filter.
#[test]
fn arrow_up_returns_to_the_process_filter() {
    let mut harness = window(Theme::Dark);
    super::fixture::feed(
        &mut harness,
        vec![redial_model::update::Update::Processes(super::fixture::processes())],
    );
    let filter = crate::views::processes::filter_id();
    let focused = |harness: &Harness<'static, App>| harness.ctx.memory(|memory| memory.focused());
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    assert!(focused(&harness).is_some_and(|id| id != filter));
    harness.key_press(Key::ArrowUp);
    harness.run_steps(3);
    assert_eq!(focused(&harness), Some(filter));
}
