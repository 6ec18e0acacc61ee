//! Movable panels in the window, with a real program: a panel is moved by its tab, the layout is saved and is there
//! after a restart, and a reset returns to the standard layout and loses nothing else.

mod window_driver;

use anyhow::{Context, Result, ensure};
use eframe::egui::accesskit::Role;
use eframe::egui::{Pos2, Rect, vec2};
use egui_kittest::kittest::Queryable;
use redial_testbed::runtimes::Runtime;
use redial_testbed::selftimes;
use window_driver::Window;

const METHOD: &str = "selftimes!Selftimes.Price(int)";

fn tab(window: &Window, name: &str) -> Option<Rect> {
    window.0.query_by_role_and_label(Role::Tab, name).map(|tab| tab.rect())
}

fn choose(window: &mut Window, menu: &str, entry: &str) {
    window.0.get_by_label(menu).click();
    window.0.run_steps(3);
    window.0.get_by_label(entry).click();
    window.0.run_steps(3);
}

fn drag(window: &mut Window, from: Pos2, to: Pos2) {
    window.0.hover_at(from);
    window.0.run_steps(2);
    window.0.drag_at(from);
    window.0.run_steps(2);
    for step in 1..=4 {
        window.0.hover_at(from + (to - from) * (step as f32 / 4.0));
        window.0.run_steps(2);
    }
    window.0.drop_at(to);
    window.0.run_steps(4);
}

#[test]
fn a_moved_panel_survives_a_restart_and_a_reset_loses_nothing() -> Result<()> {
    let live = selftimes::start(Runtime::V8_0)?;
    let mut window = Window::open();
    window.select(live.pid)?;
    window.filter("Price");
    window.until("the row", |window| window.shows(METHOD))?;
    choose(&mut window, "Layout", "Movable panels");
    let log = tab(&window, "Log").context("the log's tab")?;
    let details = tab(&window, "Details").context("the tab of the details")?;
    ensure!(log.top() > details.top() + 200.0, "{log} {details}");
    drag(&mut window, log.center(), details.right_center() + vec2(8.0, 0.0));
    let moved = tab(&window, "Log").context("the moved log")?;
    ensure!((moved.top() - details.top()).abs() < 3.0, "{moved} {details}");
    choose(&mut window, "Layout", "Layouts…");
    window.0.get_by_role_and_label(Role::TextInput, "Save the current layout as").type_text("log beside");
    window.0.run_steps(3);
    window.0.get_by_role_and_label(Role::Button, "Save").click();
    window.0.run_steps(3);

    let mut window = window.reopen();
    ensure!(tab(&window, "Log") == Some(moved), "the restarted window shows the same layout");
    window.select(live.pid)?;
    window.filter("Price");
    window.until("the row", |window| window.shows(METHOD))?;
    choose(&mut window, "Layout", "Reset layout");
    ensure!(tab(&window, "Log").is_none() && window.shows("Log"), "the standard layout");
    ensure!(window.shows(METHOD) && window.value("Method filter") == "Price", "the filter stays");
    choose(&mut window, "Layout", "log beside");
    ensure!(tab(&window, "Log") == Some(moved), "the saved layout is still there");
    Ok(())
}
