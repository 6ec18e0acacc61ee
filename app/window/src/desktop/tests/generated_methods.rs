//! Tests that methods which the compiler wrote are hidden, counted, shown on request, and never dialled unseen.

use super::fixture::{copy_row, deliver, execute, look_at_shop, window, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::catalogue::builder::Builder;
use redial_model::fixtures::{module, page};
use redial_model::ids::{MethodIx, Node};
use redial_model::method_table::Targets;
use redial_model::update::{CataloguePart, ConnectionUpdate};
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

const HIDDEN: &str = "2 compiler-generated hidden · show";
const CLOSURE: &str = "Till!Till.Desk+<>c..ctor()";

fn till() -> ModuleKey {
    module(9, "Till", "/opt/shop/Till.dll").key
}

/// Loads a module with three methods that a person wrote and two of the compiler.
fn with_till(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    let row = module(9, "Till", "/opt/shop/Till.dll");
    let methods = [
        ("Till.Desk", "Ring", "(int)", 0x0600_0001),
        ("Till.Desk+<>c", ".ctor", "()", 0x0600_0002),
        ("Till.Desk+<>c", "<Ring>b__0_0", "(int)", 0x0600_0003),
        ("Till.Desk+<Close>d__1", "MoveNext", "()", 0x0600_0004),
        ("Till.Desk+<Close>d__1", "SetStateMachine", "()", 0x0600_0005),
    ];
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&row));
    let mut batches = builder.push(&page(row.key, &methods)).expect("whole");
    batches.extend(builder.finish());
    let parts = batches.into_iter().map(|batch| CataloguePart::Batch(Box::new(batch)));
    deliver(&mut harness, parts.map(ConnectionUpdate::Catalogue).collect());
    execute(&mut harness, UiCommand::Filter("till".into()));
    harness
}

fn shown(harness: &Harness<'static, App>) -> usize {
    harness.state().model.list().map_or(0, |list| list.row_count())
}

fn closure(harness: &Harness<'static, App>) -> MethodIx {
    let table = harness.state().model.list().expect("Shop");
    let mut all = (0..table.catalogue.len() as u32).map(MethodIx);
    all.find(|method| table.catalogue.full_name(*method).text == CLOSURE).expect("it is loaded")
}

fn targets(harness: &Harness<'static, App>) -> Targets {
    harness.state().model.list().expect("Shop").turned_by_selection()
}

#[test]
fn hidden_methods_are_counted_and_one_click_away() {
    let mut harness = with_till(with_shop(Theme::Dark));
    assert_eq!(shown(&harness), 3);
    harness.get_by_label("Till!Till.Desk+<Close>d__1.MoveNext()");
    harness.get_by_label(HIDDEN).click();
    harness.run_steps(3);
    assert_eq!(shown(&harness), 5);
    assert!(!harness.state().settings.hide_generated, "the setting is kept");
    harness.get_by_label("Hide compiler-generated methods").click();
    harness.run_steps(3);
    assert_eq!(shown(&harness), 3);
    harness.get_by_label(HIDDEN);
    execute(&mut harness, UiCommand::ClearFilter);
    harness.get_by_label(HIDDEN);
}

#[test]
fn programs_without_such_methods_have_no_switch_in_the_way() {
    let harness = with_shop(Theme::Dark);
    assert!(harness.query_by_label_contains("compiler-generated").is_none());
}

#[test]
fn a_change_of_all_rows_leaves_hidden_methods_out() {
    for tree in [false, true] {
        let mut harness = with_till(look_at_shop(window(Theme::Dark)));
        if tree {
            execute(&mut harness, UiCommand::Tree);
        }
        execute(&mut harness, UiCommand::SelectAll);
        let hidden = closure(&harness);
        let before = targets(&harness).methods;
        assert!(!before.contains(hidden), "in the tree: {tree}");
        assert_eq!(before.len(), 3, "in the tree: {tree}");
        harness.key_press(Key::Space);
        harness.run_steps(3);
        let table = harness.state().model.list().expect("Shop");
        assert!(!table.dial(hidden).pending);
        let module = table.catalogue.module_of(hidden);
        let group = table.group(Node::Module(module));
        assert_eq!((group.methods, group.wanted), (3, Some(Level::Count)), "in the tree: {tree}");
    }
}

#[test]
fn a_dialled_method_stays_in_sight() {
    let mut harness = with_till(with_shop(Theme::Dark));
    let mut row = copy_row(0, CopyState::Live, 7);
    (row.row, row.copy.module, row.copy.token.0) = (RowId(70), till(), 0x0600_0002);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![row] })]);
    assert_eq!(shown(&harness), 4);
    harness.get_by_label(CLOSURE);
    harness.get_by_label("1 compiler-generated hidden · show");
}

#[test]
fn a_search_that_finds_only_hidden_methods_says_so() {
    let mut harness = with_till(with_shop(Theme::Dark));
    execute(&mut harness, UiCommand::Filter("SetStateMachine".into()));
    harness.get_by_label("1 method would match, but compiler-generated methods are hidden.");
    harness.get_by_label("Search compiler-generated methods").click();
    harness.run_steps(3);
    assert_eq!(shown(&harness), 1);
}

#[test]
fn going_to_a_hidden_method_shows_it() {
    let mut harness = with_till(with_shop(Theme::Dark));
    let method = closure(&harness);
    execute(&mut harness, UiCommand::Reveal(method));
    execute(&mut harness, UiCommand::ShowHidden);
    assert_eq!(shown(&harness), 5);
    harness.get_by_label(CLOSURE);
}
