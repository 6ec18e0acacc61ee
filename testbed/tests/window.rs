//! The window itself, driven through AccessKit as by a screen reader, with a real agent in a real process.

mod window_driver;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{LiveShop, plain_name};
#[cfg(target_os = "linux")]
use redial_testbed::signals::Stopped;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const FIND: &str = "Shop!Shop.Cart.Peek(int)";
const RAISE: &str = "Shop!Shop.Cart.Raise(ref int, int)";

fn truth(shop: &mut LiveShop) -> Result<BTreeMap<String, u64>> {
    Ok(shop.truth()?.into_iter().map(|(name, calls)| (plain_name(&name), calls)).collect())
}

fn of(truth: &BTreeMap<String, u64>, method: &str) -> u64 {
    let name = method.split_once('!').map_or(method, |(_, name)| name);
    truth.get(&plain_name(name)).copied().unwrap_or(0)
}

/// Finds the process, filters, turns the knob by keys, drag and SetValue, sees exact counts rise, turns all
/// off, sees them stop. Then the displayed process is killed.
#[test]
fn knobs_turn_by_keys_drag_and_value() -> Result<()> {
    let mut shop = LiveShop::start(Runtime::V8_0, &["--no-inlining"], 2, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart");
    window.until("the methods", |window| {
        [ADD, FIND, RAISE].iter().all(|method| window.dial(method) == "off")
    })?;

    let label = |method: &str| format!("Dial of {method}");
    window.0.get_by_label(&label(ADD)).focus();
    window.0.run_steps(2);
    window.0.key_press(Key::ArrowUp);
    window.0.run_steps(2);
    let from = window.0.get_by_label(&label(FIND)).rect().center();
    window.0.drag_at(from);
    window.0.run_steps(2);
    // One level up.
    window.0.hover_at(from - vec2(0.0, 20.0));
    window.0.run_steps(2);
    window.0.drop_at(from - vec2(0.0, 20.0));
    window.0.run_steps(2);
    window.0.get_by_label(&label(RAISE)).set_value_accesskit(1.0);
    window.0.run_steps(2);
    let asked = |window: &Window, method: &str| window.dial(method) == "count, pending";
    window.until("asked", |window| [ADD, FIND, RAISE].iter().all(|method| asked(window, method)))?;

    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(40)?;
    let counted = truth(&mut shop)?;
    for method in [ADD, FIND, RAISE] {
        let calls = of(&counted, method);
        ensure!(calls > 0, "Shop does not call {method}: {counted:?}");
        window.until(&format!("{calls} calls of {method}"), |window| {
            window.calls(method) == Some(calls) && window.dial(method) == "count, live"
        })?;
    }

    window.0.key_press(Key::F9);
    window.until("all off", |window| [ADD, FIND, RAISE].iter().all(|method| window.dial(method) == "off"))?;
    window.until("the agent's word", |window| window.shows("every dial is off"))?;
    shop.rounds(40)?;
    let after = shop.status()?;
    for method in [ADD, FIND, RAISE] {
        let name = plain_name(method.split_once('!').context("a module")?.1);
        let calls = after.get(&name).map(|counted| counted.calls);
        ensure!(calls == Some(of(&counted, method)), "{method} was counted on: {calls:?}");
        ensure!(window.calls(method) == calls, "the window says {:?} of {method}", window.calls(method));
    }

    shop.host.kill();
    window.until("the end", |window| window.shows("has ended") && window.shows("its last numbers"))?;
    ensure!(window.calls(ADD) == Some(of(&counted, ADD)), "its last numbers stay");
    Ok(())
}

/// An unreachable agent in a live process, in two ways: stopped, so that it does not answer, and with its
/// socket moved away. The window reports that, keeps the last numbers, changes nothing, and reconnects by
/// itself.
#[test]
#[cfg(target_os = "linux")]
fn reconnects_to_an_unreachable_agent() -> Result<()> {
    let mut shop = LiveShop::start(Runtime::V8_0, &["--no-inlining"], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart.Add");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    let dial = format!("Dial of {ADD}");
    window.0.get_by_label(&dial).set_value_accesskit(1.0);
    window.until("asked", |window| window.dial(ADD) == "count, pending")?;
    shop.rounds(10)?;
    window.until("live", |window| window.dial(ADD) == "count, live")?;
    let before = shop.status()?.get(&plain_name("Shop.Cart.Add(int)")).map_or(0, |counted| counted.calls);
    window.until("the count", |window| window.calls(ADD) == Some(before) && before > 0)?;

    let stopped = Stopped::stop(shop.pid)?;
    // Before the next try: a connection made while it was stopped would get its answer once it continues.
    let socket = socket_of(shop.pid)?;
    let aside = socket.with_extension("aside");
    std::fs::rename(&socket, &aside)?;
    window.until("that it does not answer", |window| {
        window.shows("paused: it is stopped by a signal")
            && window.shows("its last numbers")
            && window.shows("Retrying")
    })?;
    ensure!(window.calls(ADD) == Some(before), "the last numbers stay");
    ensure!(window.value(ADD).starts_with("was live"), "what runs is not known: {}", window.value(ADD));
    drop(stopped);
    window.until("that it cannot be found", |window| window.shows("can no longer be found"))?;
    window.0.get_by_label(&dial).click();
    window.0.run_steps(3);
    ensure!(window.dial(ADD) == "count, was live", "it turned: {}", window.dial(ADD));
    std::fs::rename(&aside, &socket)?;

    // Held dials went off with their connection; the count continues from its old value.
    window.until("the agent again", |window| {
        window.dial(ADD) == "off" && !window.shows("its last numbers") && window.calls(ADD) == Some(before)
    })?;
    window.0.get_by_label(&dial).set_value_accesskit(1.0);
    window.until("asked again", |window| window.dial(ADD) == "count, pending")?;
    shop.rounds(10)?;
    let after = shop.status()?.get(&plain_name("Shop.Cart.Add(int)")).map_or(0, |counted| counted.calls);
    window.until("more calls", |window| window.calls(ADD) == Some(after) && after > before)?;
    shop.exit().map(drop)
}

/// Returns the socket of a process's agent.
#[cfg(target_os = "linux")]
fn socket_of(pid: u32) -> Result<std::path::PathBuf> {
    let name = redial_protocol::endpoint::socket_name(redial_protocol::process::key_of(pid)?);
    let sockets = std::fs::read_to_string("/proc/net/unix")?;
    let path =
        sockets.lines().filter_map(|line| line.split_whitespace().nth(7)).find(|path| path.ends_with(&name));
    path.map(Into::into).with_context(|| format!("{name} is not among the sockets of this machine"))
}

/// The framework included: first a question, answered by a key, then everything on, and off again by one key.
#[test]
fn asks_before_turning_a_whole_program() -> Result<()> {
    let mut shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.0.get_by_label("Hide framework").click();
    window.until("the framework", |window| window.shows(" methods"))?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.0.run_steps(3);
    window.0.key_press(Key::Space);
    window
        .until("the question", |window| window.shows("dials to count?") && window.shows("other modules"))?;
    window.0.key_press(Key::Escape);
    window.until("no question", |window| !window.shows("dials to count?"))?;
    ensure!(!window.shows("accepted"), "something was turned");
    window.0.key_press(Key::Space);
    window.until("the agent's plan", |window| {
        window.shows("dials to count?") && window.shows("will be recompiled") && window.shows("are generic")
    })?;
    window.0.key_press(Key::Enter);
    window.until("the answer", |window| {
        // By then the log has moved past the answer; the button and the list show what is on.
        !window.shows("dials to count?") && window.shows("All dials off (") && window.shows("without a body")
    })?;
    shop.rounds(5)?;
    window.0.key_press(Key::F9);
    window.until("all off", |window| window.shows("every dial is off"))?;
    let left: Vec<_> =
        shop.status()?.into_iter().filter(|(_, counted)| counted.state.contains("live")).collect();
    ensure!(left.is_empty(), "{left:?}");
    shop.exit().map(drop)
}

/// The window shows the last change of another controller and its author, and can undo it.
#[test]
fn undoes_the_last_change_of_any_controller() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart.Add");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    shop.redial("dial", &["Shop!Shop.Cart.Add", "count", "--for", "10m"])?.ok()?;
    window.until("its dial", |window| window.dial(ADD).starts_with("count"))?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::I);
    window.until("who turned it", |window| {
        window.shows("Shop!Shop.Cart.Add = count")
            && window.shows("redial dial (pid ")
            && (window.shows("kept for 9m ") || window.shows("kept for 10m"))
            && window.shows("1 change can be undone")
    })?;
    window.0.get_by_label("Undo anyone's last change").click();
    window.until("off", |window| window.dial(ADD) == "off" && window.shows("0 changes can be undone"))?;
    shop.exit().map(drop)
}

/// A command takes control for its change. The window reports that and shows the numbers of both.
#[test]
fn reports_loss_of_control() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    window.0.get_by_label(&format!("Dial of {ADD}")).set_value_accesskit(1.0);
    window.until("control", |window| window.shows("Control: this window"))?;
    shop.redial("dial", &["Shop!Shop.Cart.Peek", "count", "--take"])?.ok()?;
    window.until("whose it is now", |window| {
        window.shows("Control went from this window") && window.shows("Control: free")
    })?;
    window.until("both numbers", |window| {
        window.shows("2 on: 1 kept, 1 held") && window.shows("All dials off (2, 1 not yours)")
    })?;
    window.0.key_press(Key::F9);
    window
        .until("all off", |window| window.shows("every dial is off in") && window.shows("), 2 reverted"))?;
    shop.exit().map(drop)
}

/// Methods without a body say so, turn nothing, and do not make a group mixed that another controller turned.
#[test]
fn methods_without_body_do_not_mix_a_group() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.ICart");
    let method = "Shop!Shop.ICart.Touch(int)";
    window.until("the interface's method", |window| window.dial(method) == "off, no body")?;
    window.0.get_by_label(&format!("Dial of {method}")).click();
    window.0.get_by_label(method).click();
    window.0.run_steps(3);
    window.0.key_press(Key::Space);
    window.until("the reason", |window| window.shows("refused: it has no IL body"))?;
    ensure!(shop.status()?.is_empty(), "it was asked for");

    window.0.key_press(Key::Escape);
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    window.0.run_steps(3);
    let group = "Dial of module Shop";
    window.until("the module", |window| window.value(group) == "off")?;
    let report = shop.redial("dial", &["Shop!*", "count"])?.ok()?;
    ensure!(report.stdout.contains("without a body"), "{report:?}");
    window.until("all of it at count", |window| window.value(group).starts_with("count, "))?;
    // One of them off makes it mixed, and the window shows that too.
    shop.redial("dial", &[ADD, "off"])?.ok()?;
    window.until("mixed", |window| window.value(group).starts_with("mixed, "))?;
    shop.exit().map(drop)
}

/// The log and the method's row show why the agent refused a method.
#[test]
fn explains_a_refused_dial() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.0.get_by_label("Hide framework").click();
    window.filter("CastHelpers.StelemRef(");
    let dial = "Dial of System.Private.CoreLib!System.Runtime.CompilerServices.CastHelpers.StelemRef(";
    window.until("a helper of the runtime", |window| window.shows(dial))?;
    window.0.get_by_label_contains(dial).click();
    window.until("the refusal", |window| window.shows("the runtime itself calls it"))?;
    let refused = |window: &Window| {
        window.0.get_by_label_contains(dial).value().is_some_and(|value| value == "count, refused")
    };
    window.until("its state", refused)?;
    shop.exit().map(drop)
}

/// With a capped agent the knob offers fewer levels and says so instead of turning.
#[test]
fn capped_agent_offers_fewer_levels() -> Result<()> {
    let shop = LiveShop::start(Runtime::V8_0, &[], 1, &[("REDIAL_MAX_LEVEL", "off")])?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    window.filter("Shop.Cart.Add");
    window.until("the methods", |window| window.dial(ADD) == "off")?;
    window.0.get_by_label(&format!("Dial of {ADD}")).set_value_accesskit(1.0);
    window.until("the reason", |window| window.shows("REDIAL_MAX_LEVEL"))?;
    ensure!(window.dial(ADD) == "off", "it turned");
    shop.exit().map(drop)
}
