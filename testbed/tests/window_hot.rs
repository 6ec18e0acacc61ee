//! *Find hot methods* in the window, with a real program whose self times are known: one click finds and keeps them, and
//! stopping reverts everything.

mod window_driver;

use anyhow::{Result, ensure};
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_testbed::controller::Controller;
use redial_testbed::runtimes::Runtime;
use redial_testbed::selftimes;
use window_driver::Window;

/// Methods that are on.
fn dialled(controller: &mut Controller) -> Result<Vec<String>> {
    let rows = controller.status(None)?;
    Ok(rows.into_iter().filter(|row| row.wanted > Level::Off).map(|row| row.method).collect())
}

/// Chooses an entry of the menu *Dials*.
fn choose(window: &mut Window, entry: &str) {
    window.0.get_by_label("Dials").click();
    window.0.run_steps(3);
    window.0.get_by_label(entry).click();
    window.0.run_steps(3);
}

#[test]
fn one_click_finds_and_keeps_hot_methods() -> Result<()> {
    let mut live = selftimes::start(Runtime::V8_0)?;
    let mut controller = live.controller()?;
    live.host.ask("load 300 100 30", "loaded")?;
    let mut window = Window::open();
    window.select(live.pid)?;

    choose(&mut window, "Find hot methods");
    window.until("the search", |window| window.shows("Counting the calls of "))?;
    ensure!(!dialled(&mut controller)?.is_empty());
    window.0.get_by_label("Stop").click();
    window.until("the end", |window| window.shows("the search was stopped; its dials are off again"))?;
    ensure!(dialled(&mut controller)?.is_empty(), "{:?}", dialled(&mut controller)?);

    choose(&mut window, "Find hot methods");
    window.until("the hottest", |window| {
        window.shows("Selftimes.Price(int) has the most self time")
            && window.shows("at time until turned off")
    })?;
    window.until("the methods", |window| {
        window.dial("selftimes!Selftimes.Price(int)").starts_with("time, live")
    })?;
    let on = dialled(&mut controller)?;
    ensure!(
        on.contains(&"Selftimes.Price".to_owned()) && !on.contains(&"Selftimes.Never".to_owned()),
        "{on:?}"
    );
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["held"] == 0 && agent["kept"].as_u64() == Some(on.len() as u64), "{agent}");
    let mine = format!("All dials off ({}) ", on.len());
    window.until("its dials to count as this window's", |window| window.shows(&mine))?;
    // The window's own dials still work.
    window.0.key_press(eframe::egui::Key::F9);
    window.until("no dial", |window| !window.dial("selftimes!Selftimes.Price(int)").starts_with("time"))?;
    Ok(())
}
