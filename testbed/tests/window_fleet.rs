//! Several real processes in the window: selected by name, merged or side by side, and turned together. Later
//! processes join, and ended ones are shown as such.
#![cfg(target_os = "linux")]

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_testbed::fleet::Program;
use redial_testbed::host;
use redial_testbed::shop::LiveShop;
use redial_testbed::soak;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
/// A condition that no call of `Add` meets.
const WHEN: &str = "item == -7";
const RAISE: &str = "Shop!Shop.Cart.Raise(ref int, int)";

/// Number of Shops at the start: 3, in the soak 20.
fn fleet() -> usize {
    if soak::is_on() { 20 } else { 3 }
}

/// Opens a window on all Shops of a name, with a filter for their carts.
fn open_on(program: &Program, shops: &[LiveShop]) -> Result<Window> {
    let mut window = Window::open();
    window.0.get_by_label("Filter processes").focus();
    window.0.run_steps(2);
    window.0.get_by_label("Filter processes").type_text(&program.name);
    window.0.run_steps(2);
    let number = shops.len();
    window.click_process(shops[0].pid, "loaded")?;
    let all = format!("Select all {number} processes named {}.dll", program.name);
    window.until("the others", |window| window.0.query_by_label(&all).is_some())?;
    window.0.get_by_label(&all).click_accesskit();
    connected(&mut window, number)?;
    window.until("the methods", |window| window.shows("Hide framework"))?;
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    Ok(window)
}

fn connected(window: &mut Window, number: usize) -> Result<()> {
    let text = format!("{number} connected");
    window.until(&text, |window| window.0.query_by_label(&text).is_some())
}

fn turn_on(window: &mut Window, method: &str) {
    window.0.get_by_label(&format!("Dial of {method}")).focus();
    window.0.run_steps(2);
    window.0.key_press(Key::ArrowUp);
    window.0.run_steps(1);
}

/// Runs some rounds in each Shop, and returns the calls of a method in all of them since the last time.
fn rounds(shops: &mut [LiveShop], method: &str) -> Result<u64> {
    let mut calls = 0;
    for shop in shops {
        shop.host.ask("truth-reset", "reset")?;
        shop.rounds(20)?;
        let truth = shop.truth()?;
        calls += truth.get(method).copied().unwrap_or_default();
    }
    ensure!(calls > 0, "nothing was called");
    Ok(calls)
}

fn all_live(window: &mut Window, method: &str, number: usize, calls: u64) -> Result<()> {
    let text = format!("{number} of {number} live, ");
    window
        .until(&text, |window| window.value(method).starts_with(&text) && window.calls(method) == Some(calls))
}

#[test]
fn one_dial_covers_all_processes_of_a_name() -> Result<()> {
    let program = Program::new("Windowed")?;
    let number = fleet();
    let mut shops = program.start(number, number)?;
    let mut window = open_on(&program, &shops)?;
    turn_on(&mut window, ADD);
    window.until("all asked", |window| window.value(ADD).starts_with(&format!("0 of {number} live")))?;
    let mut calls = rounds(&mut shops, "Shop.Cart.Add(int)")?;
    all_live(&mut window, ADD, number, calls)?;

    // Two start later, and count from their first call.
    let follow = format!("Add processes named {}.dll that start later", program.name);
    window.0.get_by_label(&follow).click_accesskit();
    window.until("the box", |window| window.shows("Load the agent into them"))?;
    let mut later = program.start(2, 2)?;
    connected(&mut window, number + 2)?;
    window.until("their dials", |window| {
        window.value(ADD).starts_with(&format!("{number} of {} live", number + 2))
    })?;
    calls += rounds(&mut later, "Shop.Cart.Add(int)")?;
    shops.extend(later);
    all_live(&mut window, ADD, number + 2, calls)?;

    // Two are killed: their last numbers stay, and the others continue.
    let mut killed: Vec<LiveShop> = shops.drain(..2).collect();
    killed.iter_mut().for_each(|shop| shop.host.kill());
    connected(&mut window, number)?;
    window.until("their end", |window| window.0.query_by_label("2 ended").is_some())?;
    calls += rounds(&mut shops, "Shop.Cart.Add(int)")?;
    all_live(&mut window, ADD, number, calls)?;
    turn_on(&mut window, RAISE);
    window.until("all asked", |window| window.value(RAISE).starts_with(&format!("0 of {number} live")))?;
    rounds(&mut shops, "Shop.Cart.Raise(ref int, int)")?;
    window.until("the second dial", |window| {
        window.value(RAISE).starts_with(&format!("{number} of {number} live"))
    })?;
    window.0.get_by_label("Remove ended processes").click_accesskit();
    window.until("their going", |window| window.0.query_by_label("2 ended").is_none())?;
    ensure!(window.value(ADD).starts_with(&format!("{number} of {number} live")), "{}", window.value(ADD));

    window.0.key_press(Key::F9);
    window.until("all off", |window| {
        window.shows(&format!("All off in {number} processes: every dial is off"))
    })?;
    window.until("off", |window| window.dial(ADD) == "off")?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// With the checkbox on, the agent is also loaded into later processes that start without it.
#[test]
fn loads_the_agent_into_later_processes() -> Result<()> {
    let program = Program::new("Windowless")?;
    let mut shops = program.start(1, 1)?;
    let mut window = Window::open();
    window.select(shops[0].pid)?;
    // A single connected process can be extended to others of its name.
    window.0.key_press_modifiers(eframe::egui::Modifiers::COMMAND | eframe::egui::Modifiers::SHIFT, Key::P);
    window.0.run_steps(2);
    window.0.get_by_label_contains("Find a command").type_text("start later");
    window.0.run_steps(2);
    window.0.key_press(Key::Enter);
    window.0.run_steps(3);
    window.until("the box", |window| window.shows("Load the agent into them"))?;
    window.0.get_by_label("Load the agent into them").click_accesskit();
    window.0.run_steps(2);
    window.filter("Shop.Cart");
    window.until("the method", |window| window.dial(ADD) == "off")?;
    turn_on(&mut window, ADD);
    shops.extend(program.start(1, 0)?);
    connected(&mut window, 2)?;
    window.until("its dial", |window| window.value(ADD).contains(" of 2 live"))?;
    let calls = rounds(&mut shops, "Shop.Cart.Add(int)")?;
    all_live(&mut window, ADD, 2, calls)?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// The events panel lists the calls of all processes, and those of one that the user chooses.
#[test]
fn traced_calls_of_all_processes_stand_together() -> Result<()> {
    let program = Program::new("Traced")?;
    let mut shops = program.start(3, 3)?;
    let mut window = open_on(&program, &shops)?;
    window.0.get_by_label(ADD).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num3);
    window.until("trace asked", |window| window.value(ADD).starts_with("0 of 3 live"))?;
    window.until("the panel", |window| window.shows("The next calls of traced methods appear here."))?;
    let mut calls = Vec::new();
    for shop in &mut shops {
        calls.push(rounds(std::slice::from_mut(shop), "Shop.Cart.Add(int)")?);
    }
    let all: u64 = calls.iter().sum();
    window.until("all calls", |window| window.0.query_by_label(&format!("{all} calls")).is_some())?;
    ensure!(window.shows("Sort events by process"));
    window.0.get_by_label("Events of All processes").click_accesskit();
    window.0.run_steps(3);
    let title = format!("{}.dll ({})", program.name, shops[1].pid);
    let entry = window.0.query_all_by_label(&title).last();
    entry.ok_or_else(|| anyhow::anyhow!("no entry {title}"))?.click_accesskit();
    let some = format!("{} of {all} calls", calls[1]);
    window.until(&some, |window| window.0.query_by_label(&some).is_some())?;
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(ADD) == "off")?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// One table per process: a dial and undo affect only that process.
#[test]
fn side_by_side_dial_affects_one_process() -> Result<()> {
    let program = Program::new("Beside")?;
    let mut shops = program.start(2, 2)?;
    let mut window = open_on(&program, &shops)?;
    window.0.get_by_label("Side by side").click_accesskit();
    window.until("two tables", |window| window.0.query_all_by_label(ADD).count() == 2)?;
    let dial = format!("Dial of {ADD}");
    let says = |window: &Window| -> Vec<String> {
        let dials = window.0.query_all_by_label(&dial);
        dials.map(|node| node.value().unwrap_or_default()).collect()
    };
    window.until("their dials", |window| says(window) == ["off", "off"])?;
    window.0.get_all_by_label(&dial).nth(1).into_iter().for_each(|node| node.click_accesskit());
    window.until("one dial", |window| says(window) == ["off", "count, pending"])?;
    rounds(&mut shops, "Shop.Cart.Add(int)")?;
    window.until("one counts", |window| says(window)[1].starts_with("count, live"))?;
    // Move the focus, so that keys no longer go to the filter.
    window.0.get_all_by_label(&dial).nth(1).into_iter().for_each(|node| node.focus());
    window.0.run_steps(2);
    window.0.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::Z);
    window.until("off again", |window| says(window) == ["off", "off"])?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

fn tab(window: &mut Window, name: &str) {
    window.0.get_by_role_and_label(Role::Tab, name).click_accesskit();
    window.0.run_steps(3);
}

/// Chooses the process whose tree of calls is shown, by its title.
fn choose_calls_of(window: &mut Window, title: &str) {
    for node in window.0.query_all_by_role(Role::Button) {
        if node.accesskit_node().label().is_some_and(|label| label.starts_with("Calls of ")) {
            node.click_accesskit();
        }
    }
    window.0.run_steps(3);
    window.0.query_all_by_label(title).last().into_iter().for_each(|node| node.click_accesskit());
    window.0.run_steps(3);
}

/// The timeline has the tracks of each process under its title, and each process has a tree of calls. A condition applies in all of them.
#[test]
fn traces_processes_together() -> Result<()> {
    let program = Program::new("Traced")?;
    let mut shops = program.start(2, 2)?;
    let mut window = open_on(&program, &shops)?;
    window.0.get_by_label(ADD).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num3);
    window.until("trace", |window| {
        let dial = window.dial(ADD);
        dial.starts_with("trace, ") && !dial.contains("requesting")
    })?;
    let calls = rounds(&mut shops, "Shop.Cart.Add(int)")? / shops.len() as u64;
    tab(&mut window, "Timeline");
    for shop in &shops {
        let title = format!("{}.dll ({})", program.name, shop.pid);
        let is_titled = |window: &Window| {
            window
                .0
                .query_all_by_role(Role::Heading)
                .any(|node| node.accesskit_node().label() == Some(title.clone()))
        };
        window.until(&title, is_titled)?;
    }
    tab(&mut window, "Calls");
    for shop in &shops {
        choose_calls_of(&mut window, &format!("{}.dll ({})", program.name, shop.pid));
        window.until("its tree", |window| {
            let rows = window.0.query_all_by_role(Role::TreeItem);
            let mut rows = rows.filter_map(|node| node.accesskit_node().label());
            rows.any(|row| row.starts_with(&format!("Cart.Add: {calls} calls, total ")))
        })?;
    }

    tab(&mut window, "Events");
    window.0.get_by_label("Condition").focus();
    window.0.run_steps(2);
    window.0.get_by_label("Condition").type_text(WHEN);
    window.0.run_steps(3);
    window.0.get_by_label("Apply").click();
    let answer = format!("Trace when {WHEN} on {ADD} in 2 processes: 2 of 2 copies accepted");
    window.until("the answer", |window| window.shows(&answer))?;
    for shop in &shops {
        let pid = shop.pid.to_string();
        let agent = host::run(host::redial(&["status", &pid, "--agent", "--json"])?)?.ok()?.json()?;
        let orders = agent["orders"].as_array().cloned().unwrap_or_default();
        ensure!(orders.iter().any(|order| order["when"] == WHEN), "{agent}");
    }
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(ADD) == "off")?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}
