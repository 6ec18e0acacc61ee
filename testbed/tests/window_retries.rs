//! The window follows processes of a name. It reports those without the agent, and loads an agent later if that
//! first failed. Needs its own process, because it changes the environment.
#![cfg(target_os = "linux")]

mod window_driver;

use anyhow::Result;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_testbed::artefacts;
use redial_testbed::fleet::Program;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";

#[test]
fn retries_loading_the_agent() -> Result<()> {
    let program = Program::new("Windowbad")?;
    let mut shops = program.start(1, 1)?;
    let agent = artefacts::agent()?;
    // SAFETY: no other thread of this process that could read the environment runs yet.
    unsafe { std::env::set_var("REDIAL_AGENT", program.late_agent()) };
    let mut window = Window::open();
    window.select(shops[0].pid)?;
    window.0.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    window.0.run_steps(2);
    window.0.get_by_label_contains("Find a command").type_text("start later");
    window.0.run_steps(2);
    window.0.key_press(Key::Enter);
    window.0.run_steps(3);
    window.until("the box", |window| window.shows("Load the agent into them"))?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    window.0.get_by_label(&format!("Dial of {ADD}")).focus();
    window.0.run_steps(2);
    window.0.key_press(Key::ArrowUp);

    // Without the option to load the agent, the window reports that it is missing.
    shops.extend(program.start(2, 0)?);
    let title = |pid: u32| format!("{}.dll ({pid})", program.name);
    let titles = [title(shops[1].pid), title(shops[2].pid)];
    window.until("what is said of both", |window| {
        titles
            .iter()
            .all(|title| window.shows(&format!("{title} started without the agent and does not join")))
    })?;
    window.0.get_by_label("Load the agent into them").click_accesskit();
    window.until("why it is not loaded", |window| {
        let failures = |title: &String| {
            window.0.query_all_by_label_contains(&format!("{title}: the agent was not loaded")).count()
        };
        titles.iter().all(|title| failures(title) >= 1)
    })?;
    let mut ended = shops.remove(1);
    ended.host.kill();
    window.until("its end", |window| window.0.query_by_label("1 ended").is_some())?;
    program.put_agent(&agent)?;
    window.until("both", |window| window.0.query_by_label("2 connected").is_some())?;
    window.until("its dial", |window| window.value(ADD).starts_with("0 of 2 live"))?;
    let mut calls = 0;
    for shop in &mut shops {
        shop.host.ask("truth-reset", "reset")?;
        shop.rounds(20)?;
        calls += shop.truth()?.get("Shop.Cart.Add(int)").copied().unwrap_or_default();
    }
    window.until("every call", |window| {
        window.value(ADD).starts_with("2 of 2 live") && window.calls(ADD) == Some(calls)
    })?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}
