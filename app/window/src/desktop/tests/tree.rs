//! Tests of the method tree: sorting within groups, and the notes on collapsed groups.

use super::fixture::{deliver, execute, minute, rows, second, with_shop};
use super::gestures::last_logged;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Theme, accesskit};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::ids::Node;
use redial_model::log::LogKind;
use redial_model::method_table::Shape;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const CLEAR: &str = "Shop!Shop.Cart.Clear()";
const TOTAL: &str = "Shop!Shop.Cart.get_Total()";

fn tree() -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    execute(&mut harness, UiCommand::Tree);
    execute(&mut harness, UiCommand::Filter("shop".into()));
    harness
}

fn top(harness: &Harness<'static, App>, label: &str) -> f32 {
    harness.get_by_label(label).rect().top()
}

fn sort_by(harness: &mut Harness<'static, App>, column: &str) {
    harness.get_by_label(&format!("Sort by {column}")).click();
    harness.run_steps(3);
}

/// Returns the types and methods of namespace Shop from top to bottom, visible or not.
fn order(harness: &Harness<'static, App>) -> (Vec<String>, Vec<String>) {
    let shop = harness.state().model.current().expect("Shop");
    let rows = shop.table().tree.rows().iter().map(|row| row.node);
    let named = |node| (shop.table().catalogue.label(node).to_owned(), node);
    let (methods, groups): (Vec<_>, Vec<_>) =
        rows.map(named).partition(|(_, node)| matches!(node, Node::Method(_)));
    let types = groups.into_iter().filter(|(_, node)| matches!(node, Node::Type(_)));
    (types.map(|(name, _)| name).collect(), methods.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn click_on_header_sorts_within_groups() {
    let mut harness = tree();
    let (by_name, _) = order(&harness);
    assert_eq!(by_name, ["Box<T>", "Cart", "Catalog", "Catalog+Shelf", "ICart", "Pricing"]);
    sort_by(&mut harness, "calls");
    assert_eq!(
        harness.state().model.current().map(|shop| shop.table().shape),
        Some(Shape::Tree),
        "it stays a tree"
    );
    let (types, methods) = order(&harness);
    assert_eq!(
        types,
        ["Cart", "Catalog", "Box<T>", "Catalog+Shelf", "ICart", "Pricing"],
        "groups sort by their contents"
    );
    assert_eq!(methods[..4], ["Add", "get_Total", "Clear", "TryTake"]);
    assert!(top(&harness, ADD) < top(&harness, TOTAL) && top(&harness, TOTAL) < top(&harness, CLEAR));

    sort_by(&mut harness, "calls");
    let (types, methods) = order(&harness);
    assert_eq!(types[4..], ["Catalog", "Cart"], "reversed");
    assert_eq!(methods[methods.len() - 2..], ["get_Total", "Add"]);
    sort_by(&mut harness, "method");
    assert_eq!(order(&harness).0, by_name);
    sort_by(&mut harness, "method");
    assert!(order(&harness).0.iter().eq(by_name.iter().rev()));
    for (column, first) in [("dial", "Cart"), ("state", "Pricing"), ("per second", "Cart")] {
        sort_by(&mut harness, column);
        assert_eq!(order(&harness).0[0], first, "{column}");
    }
}

#[test]
fn numbers_that_change_move_no_row_for_a_while() {
    let mut harness = tree();
    sort_by(&mut harness, "per second");
    let (add, total) = (top(&harness, ADD), top(&harness, TOTAL));
    assert!(add < total);
    deliver(&mut harness, vec![second(61, [1, 900_000]), second(62, [1, 900_000])]);
    assert_eq!((top(&harness, ADD), top(&harness, TOTAL)), (add, total));
    sort_by(&mut harness, "per second");
    sort_by(&mut harness, "per second");
    assert!(top(&harness, TOTAL) < top(&harness, ADD), "a click applies them at once");
}

#[test]
fn collapsed_group_counts_its_selected_methods() {
    let mut harness = tree();
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    let modifiers = eframe::egui::Modifiers::COMMAND;
    harness.get_by_label(TOTAL).click_modifiers(modifiers);
    harness.run_steps(3);
    let shows = |harness: &Harness<'static, App>, label: &str| {
        harness.get_by_label(label).accesskit_node().value().unwrap_or_default()
    };
    assert_eq!(shows(&harness, "type Cart"), "", "they are visible");
    harness.get_by_label("Expand type Cart").click();
    harness.run_steps(3);
    assert!(harness.query_by_label(ADD).is_none());
    assert_eq!(shows(&harness, "type Cart"), "2 selected inside");
    assert_eq!(shows(&harness, "type Catalog"), "");
    harness.get_by_label("type Cart").click();
    harness.run_steps(3);
    assert_eq!(shows(&harness, "type Cart"), "", "the type itself is selected");
}

#[test]
fn tree_expands_single_groups() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    for shown in ["module Shop", "namespace Shop", "type Cart", "type Pricing"] {
        assert!(harness.query_by_label(shown).is_some(), "{shown}");
    }
    assert!(harness.query_by_label_contains("AppDomain clrhost").is_none(), "the only one has no row");
    assert!(harness.query_by_label(ADD).is_none());
    harness.get_by_label("Expand module Shop").click();
    harness.run_steps(6);
    assert!(harness.query_by_label("namespace Shop").is_none(), "once collapsed by hand it stays collapsed");
}

/// Above it is only the AppDomain, which has no row and must not be selected unseen.
#[test]
fn left_on_a_collapsed_module_selects_nothing_else() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    harness.get_by_label("module Shop").click();
    harness.run_steps(3);
    for _ in 0..2 {
        harness.key_press(Key::ArrowLeft);
        harness.run_steps(3);
        let module = harness.get_by_label("module Shop").accesskit_node().toggled();
        assert_eq!(module, Some(accesskit::Toggled::True));
        assert!(harness.query_by_label("namespace Shop").is_none(), "collapsed");
    }
}

#[test]
fn selected_group_selects_its_methods_in_the_table() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    harness.get_by_label("type Cart").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Tree);
    let selected = |harness: &Harness<'static, App>, label: &str| {
        harness.get_by_label(label).accesskit_node().toggled() == Some(accesskit::Toggled::True)
    };
    let cart = ["Add(int)", "Clear()", "TryTake(int, out int)", "get_Total()"]
        .map(|method| format!("Shop!Shop.Cart.{method}"));
    assert!(cart.iter().all(|method| selected(&harness, method)));
    assert!(!selected(&harness, "Shop!Shop.Catalog.Find(string)"));
    let context = harness.ctx.clone();
    let add = harness.state().model.current().and_then(|shop| {
        (0..shop.table().row_count()).filter_map(|place| shop.table().row_at(place)).find(|node| match node {
            redial_model::ids::Node::Method(method) => shop.table().catalogue.full_name(*method).text == ADD,
            _ => false,
        })
    });
    let pick = UiCommand::Pick(add.expect("Add"), redial_model::selection::SelectionMode::Toggle);
    harness.state_mut().execute(&context, pick);
    harness.run_steps(3);
    assert!(!selected(&harness, ADD), "one of them is deselected");
    assert!(cart.iter().filter(|method| *method != ADD).all(|method| selected(&harness, method)));
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(last_logged(&harness, LogKind::Request).starts_with("count on 3 methods"));
}
