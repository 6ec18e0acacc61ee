//! The window and processes without the agent: one click loads it, and methods can be dialled.

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_testbed::host::Host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const LOAD: &str = "Load the agent into the process";

/// Shop without the agent.
fn plain(runtime: Runtime) -> Result<LiveShop> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok(LiveShop { host, pid })
}

/// Opens a window on a process without the agent.
fn open_on(pid: u32, word: &str) -> Result<Window> {
    let mut window = Window::open();
    window.click_process(pid, word)?;
    window.until("what there is to say", |window| window.shows("has no agent"))?;
    Ok(window)
}

fn attach_with_a_click(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime)?;
    shop.rounds(30)?;
    let mut window = open_on(shop.pid, "attachable")?;
    window.0.get_by_label(LOAD).click();
    window.until("the connection", |window| window.shows("Connected") && window.shows("Hide framework"))?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    window.0.get_by_label(&format!("Dial of {ADD}")).focus();
    window.0.run_steps(2);
    window.0.key_press(Key::ArrowUp);
    window.until("asked", |window| window.dial(ADD) == "count, pending")?;
    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(40)?;
    let truth = shop.truth()?["Shop.Cart.Add(int)"];
    window.until("every call", |window| window.calls(ADD) == Some(truth))?;
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(ADD) == "off")?;
    shop.exit().map(drop)
}

#[test]
fn one_click_attaches_to_3_1() -> Result<()> {
    attach_with_a_click(Runtime::V3_1)
}

#[test]
fn one_click_attaches_to_8_0() -> Result<()> {
    attach_with_a_click(Runtime::V8_0)
}

/// 2.1 accepts an agent only at its start: the window says so and offers nothing else.
#[test]
fn explains_why_attach_is_impossible() -> Result<()> {
    let shop = plain(Runtime::V2_1)?;
    let mut window = open_on(shop.pid, "launch-only")?;
    ensure!(window.0.query_by_label(LOAD).is_none() && window.shows("cannot be dialled"));
    // The key does not work either.
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::E);
    window.0.run_steps(3);
    ensure!(window.shows("has no agent"));
    shop.exit().map(drop)
}
