//! The window on several AppDomains, and on several load contexts: what a knob turns, what is asked first, what is
//! merged. The domains are real, in **an unsupported configuration of a real runtime** (see `src/bin/many-domains`).
#![cfg(target_os = "linux")]

mod window_driver;

use anyhow::{Context, Result, ensure};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_testbed::runtimes::Runtime;
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, Live, ensure_said};
use redial_testbed::{domains, programs};
use window_driver::Window;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const ADD: &str = "domains!Domains.Work.Add(int)";
const PARSE: &str = "System.Private.CoreLib!System.Version.ParseVersion(System.ReadOnlySpan<char>, bool)";
const COPY: &str = "Copied!Copied.Counter.Add(int)";

/// The host under the agent, with these domains whose code has been compiled, and a window that looks at it.
fn start(names: &[&str]) -> Result<(Live, Window)> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    let mut window = Window::open();
    window.pick(live.pid)?;
    Ok((live, window))
}

fn in_domain(method: &str, domain: &str) -> String {
    format!("{method} in {domain}")
}

/// Calls everything in every domain, no two as often as each other; what the host did.
fn call(live: &mut Live, names: &[&str]) -> Result<Truth> {
    let before = truth::ask(&mut live.host, "truth")?;
    for (times, name) in (1..).zip(names) {
        for kind in ["add", "same", "size", "parse"] {
            domains::call(&mut live.host, name, kind, 10 * times)?;
        }
    }
    Ok(domains::grown(&before, &truth::ask(&mut live.host, "truth")?))
}

fn click(window: &mut Window, label: &str) {
    window.0.get_by_label(label).click();
    window.0.run_steps(3);
}

fn end(mut live: Live, window: Window) -> Result<()> {
    let mut controller = live.controller()?;
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    drop(window);
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_said(&live.host.finish()?, 0, &[])
}

/// One domain's knob turns what is in that domain, one row's dial the copy there; only their calls count.
#[test]
fn a_domains_knob_counts_only_its_calls() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut window) = start(&names)?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    let knob = |name: &str| format!("Dial of AppDomain {name}");
    window.until("the domains", |window| names.iter().all(|name| window.says(&knob(name))))?;
    ensure!(!window.says("Dial of AppDomain EE Shared"), "nothing of the framework is shown");
    click(&mut window, &knob("Second"));
    // Not by the log: the answer's line is soon followed by more lines than it shows.
    window.until("the answer", |window| {
        window.value(&knob("Second")) == "count, 0 of 9 live" && window.says("Armed: takes effect")
    })?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    window.filter("Work.Add");
    let value = |name: &str| in_domain(ADD, name);
    window.until("the rows", |window| names.iter().all(|name| window.says(&value(name))))?;
    let did = call(&mut live, &names)?;
    let calls = did[&format!("Second/{}", ADD.replace("(int)", ""))];
    window.until("its calls", |window| window.calls(&value("Second")) == Some(calls))?;
    for other in ["First", "Third"] {
        ensure!(
            window.dial(&value(other)) == "off" && window.calls(&value(other)).is_none(),
            "{other} counts"
        );
    }
    // A domain made later shows without being asked for, and is not meant.
    domains::create(&mut live.host, &["Fourth"])?;
    domains::ask(&mut live.host, "round 1", "round 1")?;
    names.push("Fourth");
    window.until("the fourth", |window| window.dial(&value("Fourth")) == "off")?;
    // One copy off again, by its row; another on.
    click(&mut window, &format!("Dial of {}", value("Second")));
    click(&mut window, &format!("Dial of {}", value("Third")));
    window.until("turned", |window| {
        window.dial(&value("Second")) == "off" && window.dial(&value("Third")).starts_with("count, pending")
    })?;
    let before = window.calls(&value("Second")).context("it counted")?;
    let did = call(&mut live, &names)?;
    let calls = did[&format!("Third/{}", ADD.replace("(int)", ""))];
    window.until("calls of the third", |window| window.calls(&value("Third")) == Some(calls))?;
    ensure!(window.calls(&value("Second")) == Some(before), "it is off");
    end(live, window)
}

/// One copy of the core library serves all: the window asks, and does nothing until it is told yes.
#[test]
fn what_is_shared_is_dialled_for_all_or_not() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let (mut live, mut window) = start(&names)?;
    window.0.get_by_label("Hide framework").click();
    window.filter("Version.ParseVersion");
    window.until("the method", |window| window.dial(PARSE) == "off")?;
    let dial = format!("Dial of {PARSE}");
    click(&mut window, &dial);
    window.until("the question", |window| {
        window.says("serves 3 AppDomains, so the change affects all of them: First, Second and Third")
    })?;
    window.0.key_press(Key::Escape);
    window.until("no question", |window| !window.says("serves 3"))?;
    call(&mut live, &names)?;
    ensure!(live.controller()?.status(None)?.is_empty(), "something was turned");

    click(&mut window, &dial);
    click(&mut window, "Change in all AppDomains");
    window.until("asked", |window| window.dial(PARSE) == "count, pending")?;
    let did = call(&mut live, &names)?;
    let calls = domains::part(&did, |_| true, "System.Private.CoreLib!").values().sum();
    window.until("the calls of all", |window| window.calls(PARSE) == Some(calls))?;
    click(&mut window, &dial);
    window.until("off", |window| window.dial(PARSE) == "off")?;
    end(live, window)
}

/// Merged, a row is all copies, those to come too; undone, it stands for none of them.
#[test]
fn a_merged_dial_is_for_every_copy_now_and_later() -> Result<()> {
    let mut names = vec!["First", "Second"];
    let (mut live, mut window) = start(&names)?;
    window.filter("Work.Add");
    window.until("the rows", |window| window.says(&in_domain(ADD, "First")))?;
    click(&mut window, "Merge copies");
    window.until("one row", |window| window.dial(ADD) == "off" && !window.says(&in_domain(ADD, "First")))?;
    click(&mut window, &format!("Dial of {ADD}"));
    window
        .until("asked", |window| window.dial(ADD).starts_with("count") && window.says("2 of 2 accepted"))?;
    domains::create(&mut live.host, &["Third"])?;
    names.push("Third");
    let did = call(&mut live, &names)?;
    let calls = domains::part(&did, |_| true, "domains!Domains.Work.Add").values().sum();
    window.until("the calls of all three", |window| window.calls(ADD) == Some(calls))?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.until("off", |window| window.dial(ADD) == "off")?;
    click(&mut window, "Merge copies");
    for name in &names {
        window.until("each by itself", |window| window.dial(&in_domain(ADD, name)) == "off")?;
    }
    end(live, window)
}

/// Copies in load contexts of one AppDomain: each has a dial in the panel of the selected method.
#[test]
fn each_load_contexts_copy_has_a_dial_of_its_own() -> Result<()> {
    let mut live = under_agent::start(programs::named("alc")?.command(Runtime::V8_0)?)?;
    for copy in 0..3 {
        live.host.ask("load", &format!("loaded {copy} "))?;
        live.host.ask(&format!("call {copy} 2"), &format!("called {copy} "))?;
    }
    let mut modules = live.controller()?.modules()?.1;
    modules.retain(|module| module.name == "Copied");
    modules.sort_by_key(|module| module.key.generation);
    let generation = modules.get(1).context("there are three")?.key.generation;
    let mut window = Window::open();
    window.pick(live.pid)?;
    window.filter("Counter.Add");
    window.until("the copies", |window| {
        window.0.query_all_by_label_contains(&format!("Dial of {COPY}")).count() == 3
    })?;
    click(&mut window, "Merge copies");
    window.until("one row", |window| window.says(COPY) && window.dial(COPY) == "off")?;
    click(&mut window, COPY);
    window.until("the panel", |window| window.says("3 copies"))?;
    let part = format!("Dial of copy #{generation} in ");
    window.0.get_by_label_contains(&part).click();
    window.0.run_steps(3);
    window.until("asked", |window| {
        window.0.get_by_label_contains(&part).value().is_some_and(|value| value == "count, pending")
    })?;
    for copy in 0..3 {
        live.host.ask(&format!("call {copy} {}", 10 * (copy + 1)), &format!("called {copy} "))?;
    }
    window.until("the calls of that one", |window| window.calls(COPY) == Some(20))?;
    let rows = live.controller()?.status(Some("Copied!*"))?;
    let [row] = rows.as_slice() else { anyhow::bail!("one copy is dialled: {rows:?}") };
    ensure!(row.copy.module == modules[1].key && row.calls == 20, "{row:?}");
    end(live, window)
}
