//! Going through methods of a real program in the window: a caller is one click away, *Back* returns, the palette
//! finds methods by letters, and columns stay where they were put.

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::accesskit::{Role, Toggled};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";

/// Returns whether a method's row is selected.
fn is_selected(window: &Window, method: &str) -> bool {
    let row = window.0.query_by_role_and_label(Role::Row, method);
    row.is_some_and(|row| row.accesskit_node().toggled() == Some(Toggled::True))
}

#[test]
fn finds_methods_and_returns_to_them() -> Result<()> {
    let mut shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    // A click takes the focus from the filter; the key would be text there.
    window.0.get_by_role_and_label(Role::Row, ADD).click();
    window.until("the selection", |window| is_selected(window, ADD))?;
    window.0.key_press(Key::Num2);
    window.until("the timing", |window| window.dial(ADD).starts_with("time"))?;
    shop.rounds(3)?;
    window.until("its share", |window| {
        let header = window.0.query_by_role_and_label(Role::ColumnHeader, "Sort by calls");
        header.is_some() && window.value(ADD).contains("p50")
    })?;
    // The palette finds another method by a few of its letters.
    window.0.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    window.0.run_steps(3);
    window.0.get_by_role_and_label(Role::TextInput, "Find a command").type_text("cartpeek");
    window.until("the method in the palette", |window| window.shows("Cart.Peek"))?;
    window.0.key_press(Key::Enter);
    window.until("Peek", |window| !is_selected(window, ADD) && window.shows("Back"))?;
    window.0.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    window.until("the first method again", |window| is_selected(window, ADD))?;
    ensure!(window.dial(ADD).starts_with("time"), "no key turned a dial: {}", window.dial(ADD));
    window.0.key_press(Key::F9);
    window.until("all off", |window| window.shows("every dial is off"))?;
    shop.exit().map(drop)
}

/// Pinning puts a method above 3,000 others in every order.
#[test]
fn pins_a_method_above_all_others() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    window.0.get_by_role_and_label(Role::Row, ADD).click_accesskit();
    window.until("the selection", |window| is_selected(window, ADD))?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::K);
    window.0.run_steps(3);
    window.0.key_press(Key::Escape);
    window.0.run_steps(3);
    let order = |window: &Window| {
        let mut rows: Vec<_> = window.0.query_all_by_role(Role::Row).collect();
        rows.sort_by(|one, other| one.rect().top().total_cmp(&other.rect().top()));
        rows.iter().filter_map(|row| row.accesskit_node().label()).collect::<Vec<String>>()
    };
    let mut orders = Vec::new();
    for header in ["Sort by method", "Sort by method"] {
        window.0.get_by_role_and_label(Role::ColumnHeader, header).click_accesskit();
        window.0.run_steps(3);
        let rows = order(&window);
        ensure!(rows.first().is_some_and(|first| first == ADD) && rows.len() > 2, "{rows:?}");
        orders.push(rows);
    }
    ensure!(orders[0] != orders[1], "the second click reverses the others: {orders:?}");
    shop.exit().map(drop)
}
