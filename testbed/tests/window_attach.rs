//! The window and processes that run without the agent: it is loaded with one click, and methods can be dialled.

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

/// A window that looks at a process without the agent.
fn looking_at(pid: u32, word: &str) -> Result<Window> {
    let mut window = Window::open();
    window.choose(pid, word)?;
    window.until("what there is to say", |window| window.says("has no agent"))?;
    Ok(window)
}

fn attached_with_a_click(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime)?;
    shop.rounds(30)?;
    let mut window = looking_at(shop.pid, "attachable")?;
    window.0.get_by_label(LOAD).click();
    window.until("the connection", |window| window.says("Connected") && window.says("Hide framework"))?;
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
    attached_with_a_click(Runtime::V3_1)
}

#[test]
fn one_click_attaches_to_8_0() -> Result<()> {
    attached_with_a_click(Runtime::V8_0)
}

/// 2.1 takes it at its start only: that is said, and nothing else is offered.
#[test]
fn a_process_that_cannot_be_attached_to_says_why() -> Result<()> {
    let shop = plain(Runtime::V2_1)?;
    let mut window = looking_at(shop.pid, "launch-only")?;
    ensure!(window.0.query_by_label(LOAD).is_none() && window.says("cannot be dialled"));
    // The key does not do it either.
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::E);
    window.0.run_steps(3);
    ensure!(window.says("has no agent"));
    shop.exit().map(drop)
}
