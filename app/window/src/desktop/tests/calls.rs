//! The tree of traced calls and its flame graph.

use super::fixture::{execute, look_at_shops, with_shop};
use super::fleet::deliver_to;
use super::snapshots::both;
use super::traced_program::{calls_of, window_with_calls};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::settings::LowerTab;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::ids::ConnectionId;

const SIZE: [f32; 2] = [1280.0, 1000.0];

fn calls(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = window_with_calls(theme, size);
    execute(&mut harness, UiCommand::Lower(LowerTab::Calls));
    harness.run_steps(3);
    harness
}

/// Returns the rows with their levels, from top to bottom.
fn rows(harness: &Harness<'static, App>) -> Vec<String> {
    let nodes = harness.query_all_by_role(Role::TreeItem);
    let mut rows: Vec<(f32, String)> = nodes
        .filter_map(|node| {
            let level = node.accesskit_node().level().unwrap_or(1);
            Some((node.rect().top(), format!("{level} {}", node.accesskit_node().label()?)))
        })
        .filter(|(_, row)| row.contains(", total "))
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn expand(harness: &mut Harness<'static, App>, row: &str) {
    harness.query_all_by_label_contains(row).next().expect("a row").click_accesskit();
    harness.run_steps(3);
    harness.key_press(Key::ArrowRight);
    harness.run_steps(3);
}

#[test]
fn calls_stand_below_their_callers_with_total_and_self() {
    let mut harness = calls(Theme::Dark, SIZE);
    assert_eq!(
        rows(&harness),
        [
            "1 Cart.TryTake: 2 calls, total 40.0 ms, self 11.0 ms",
            "1 Cart.Clear: 2,000 calls, total 12.0 ms, self 12.0 ms",
        ]
    );
    expand(&mut harness, "Cart.TryTake: 2 calls");
    expand(&mut harness, "Pricing.Discount: 2 calls");
    assert_eq!(
        rows(&harness),
        [
            "1 Cart.TryTake: 2 calls, total 40.0 ms, self 11.0 ms",
            "2 Cart.Add (async): 2 calls, total 42.0 ms, self 1.80 ms",
            "2 Pricing.Discount: 2 calls, total 18.0 ms, self 15.0 ms",
            "3 Catalog.Find: 2 calls, total 3.00 ms, self 3.00 ms",
            "2 Catalog.Find: 4 calls, total 11.0 ms, self 11.0 ms",
            "1 Cart.Clear: 2,000 calls, total 12.0 ms, self 12.0 ms",
        ]
    );
    harness.get_by_label("Sort calls by self").click();
    harness.run_steps(3);
    assert_eq!(rows(&harness)[0], "1 Cart.Clear: 2,000 calls, total 12.0 ms, self 12.0 ms");
    assert!(harness.query_by_label("2,012 traced calls").is_some());
}

#[test]
fn each_of_several_processes_has_its_own_tree() {
    let mut harness = look_at_shops(with_shop(Theme::Dark));
    execute(&mut harness, UiCommand::Lower(LowerTab::Calls));
    let titles = [1, 2].map(|id| harness.state().model.connections[&ConnectionId(id)].title());
    let shows = |harness: &mut Harness<'static, App>, calls: &str, time: &str| {
        harness.run_steps(3);
        assert_eq!(rows(harness), [format!("1 Cart.Add: {calls}, total {time}, self {time}")]);
    };
    for _ in 0..2 {
        deliver_to(&mut harness, 2, calls_of(2));
    }
    shows(&mut harness, "2 calls", "40.0 ms");
    deliver_to(&mut harness, 1, calls_of(1));
    shows(&mut harness, "1 call", "20.0 ms");
    harness.get_by_label(&format!("Calls of {}", titles[0])).click();
    harness.run_steps(3);
    harness.query_all_by_label(&titles[1]).last().expect("a menu entry").click();
    shows(&mut harness, "2 calls", "40.0 ms");
    assert!(harness.query_by_label(&format!("Calls of {}", titles[1])).is_some());
    assert!(harness.query_by_label("Select method").is_none(), "the list has rows of several processes");
}

#[test]
fn a_search_shows_the_paths_to_its_matches() {
    let mut harness = calls(Theme::Dark, SIZE);
    harness.get_by_label("Search calls").focus();
    harness.run_steps(2);
    harness.get_by_label("Search calls").type_text("catalog find");
    harness.run_steps(3);
    let shown: Vec<String> =
        rows(&harness).iter().map(|row| row.split(':').next().unwrap_or_default().into()).collect();
    assert_eq!(shown, ["1 Cart.TryTake", "2 Pricing.Discount", "3 Catalog.Find", "2 Catalog.Find"]);
    assert!(harness.query_by_label("2 matches").is_some());
}

#[test]
fn escape_empties_the_search_and_keeps_the_filter() {
    let mut harness = calls(Theme::Dark, SIZE);
    execute(&mut harness, UiCommand::Filter("Cart".to_owned()));
    harness.get_by_label("Search calls").focus();
    harness.run_steps(2);
    harness.get_by_label("Search calls").type_text("catalog");
    harness.run_steps(3);
    assert_eq!(harness.state().lower.calls.search, "catalog");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert_eq!(harness.state().lower.calls.search, "");
    harness.query_all_by_label_contains("Cart.TryTake: 2 calls").next().expect("a row").click_accesskit();
    harness.run_steps(3);
    assert_eq!(harness.ctx.memory(|memory| memory.focused()), Some(crate::views::calls::canvas_id()));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert_eq!(harness.ctx.memory(|memory| memory.focused()), None);
    assert_eq!(harness.state().methods.text, "Cart");
}

#[test]
fn zooms_can_be_taken_back() {
    let mut harness = calls(Theme::Dark, SIZE);
    harness.get_by_label("Flame graph").click();
    harness.run_steps(3);
    let bars = |harness: &Harness<'static, App>| {
        let bars = harness.query_all_by_role(Role::TreeItem).filter_map(|node| node.accesskit_node().label());
        let mut bars: Vec<String> = bars.filter(|label| label.contains(" including callees")).collect();
        bars.sort();
        bars
    };
    let all = [
        "Cart.Clear: 12.0 ms including callees",
        "Cart.TryTake: 41.8 ms including callees",
        "Catalog.Find: 11.0 ms including callees",
        "Catalog.Find: 3.00 ms including callees",
        "Pricing.Discount: 18.0 ms including callees",
    ];
    let wide = |harness: &Harness<'static, App>| {
        bars(harness).into_iter().filter(|bar| !bar.contains("async")).collect::<Vec<_>>()
    };
    assert_eq!(wide(&harness), all);
    harness.query_all_by_label_contains("Pricing.Discount: 18.0 ms").next().expect("a bar").click();
    harness.run_steps(3);
    assert_eq!(wide(&harness), [all[3], all[4]]);
    harness.get_by_label("Zoom back").click();
    harness.run_steps(3);
    assert_eq!(wide(&harness), all);
    harness.get_by_label("Zoom forward").click();
    harness.run_steps(3);
    assert_eq!(wide(&harness), [all[3], all[4]]);
    harness.get_by_label("Flame graph of calls").focus();
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    harness.run_steps(3);
    assert_eq!(wide(&harness), all);
}

#[test]
fn clearing_forgets_the_tree() {
    let mut harness = calls(Theme::Dark, SIZE);
    harness.get_by_label("Clear").click();
    harness.run_steps(3);
    assert!(rows(&harness).is_empty());
    assert!(harness.query_by_label_contains("The next calls of traced methods appear here.").is_some());
}

#[test]
fn call_tree() {
    both("calls_tree", |theme| {
        let mut harness = calls(theme, SIZE);
        expand(&mut harness, "Cart.TryTake: 2 calls");
        expand(&mut harness, "Pricing.Discount: 2 calls");
        harness
    });
}

#[test]
fn flame_graph() {
    both("calls_flame", |theme| {
        let mut harness = calls(theme, [1600.0, 1000.0]);
        harness.get_by_label("Flame graph").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn call_tree_in_a_small_window() {
    both("calls_small", |theme| {
        let mut harness = calls(theme, [1024.0, 700.0]);
        harness.get_by_label("Search calls").focus();
        harness.run_steps(2);
        harness.get_by_label("Search calls").type_text("find");
        harness.run_steps(3);
        harness
    });
}
