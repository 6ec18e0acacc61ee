//! The window on several AppDomains and on several load contexts: the scope of a knob, confirmation questions
//! and merged rows. The domains are real, in **an unsupported configuration of a real runtime** (see
//! `src/bin/many-domains`).
#![cfg(target_os = "linux")]

mod window_driver;

use anyhow::{Context, Result, ensure};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_testbed::runtimes::Runtime;
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{domains, programs};
use window_driver::Window;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const ADD: &str = "domains!Domains.Work.Add(int)";
const PARSE: &str = "System.Private.CoreLib!System.Version.ParseVersion(System.ReadOnlySpan<char>, bool)";
const COPY: &str = "Copied!Copied.Counter.Add(int)";

/// Starts the host with the agent, creates the domains, compiles their code, and opens a window on it.
fn start(names: &[&str]) -> Result<(LiveHost, Window)> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    let mut window = Window::open();
    window.select(live.pid)?;
    Ok((live, window))
}

fn in_domain(method: &str, domain: &str) -> String {
    format!("{method} in {domain}")
}

/// Calls everything in every domain, a different number of times in each. Returns the host's counts.
fn call(live: &mut LiveHost, names: &[&str]) -> Result<Truth> {
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

fn end(mut live: LiveHost, window: Window) -> Result<()> {
    let mut controller = live.controller()?;
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    drop(window);
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// A domain's knob turns the methods in that domain, a row's dial only the copy there. Only their calls count.
#[test]
fn domain_knob_counts_only_its_calls() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut window) = start(&names)?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    let knob = |name: &str| format!("Dial of AppDomain {name}");
    window.until("the domains", |window| names.iter().all(|name| window.shows(&knob(name))))?;
    ensure!(!window.shows("Dial of AppDomain EE Shared"), "nothing of the framework is shown");
    click(&mut window, &knob("Second"));
    // Do not look in the log, where later lines soon push the answer out of sight.
    window.until("the answer", |window| {
        window.value(&knob("Second")) == "count, 0 of 9 live"
            && window.shows("Accepted by the runtime; live from")
    })?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    window.filter("Work.Add");
    let value = |name: &str| in_domain(ADD, name);
    window.until("the rows", |window| names.iter().all(|name| window.shows(&value(name))))?;
    let did = call(&mut live, &names)?;
    let calls = did[&format!("Second/{}", ADD.replace("(int)", ""))];
    window.until("its calls", |window| window.calls(&value("Second")) == Some(calls))?;
    for other in ["First", "Third"] {
        ensure!(
            window.dial(&value(other)) == "off" && window.calls(&value(other)).is_none(),
            "{other} counts"
        );
    }
    // A domain created later appears by itself and is not dialled.
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

/// The core library has one copy for all domains. The window asks, and does nothing without a yes.
#[test]
fn asks_before_dialling_a_shared_copy() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let (mut live, mut window) = start(&names)?;
    window.0.get_by_label("Hide framework").click();
    window.filter("Version.ParseVersion");
    window.until("the method", |window| window.dial(PARSE) == "off")?;
    let dial = format!("Dial of {PARSE}");
    click(&mut window, &dial);
    window.until("the question", |window| {
        window.shows("serves 3 AppDomains, so the change affects all of them: First, Second and Third")
    })?;
    window.0.key_press(Key::Escape);
    window.until("no question", |window| !window.shows("serves 3"))?;
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

/// The knob of an IIS application also applies to the AppDomain that a recycle starts, and to no other
/// application.
#[test]
fn knob_of_an_iis_application_survives_a_recycle() -> Result<()> {
    let (root, shop) =
        ("/LM/W3SVC/1/ROOT-1-133012345678901234", "/LM/W3SVC/1/ROOT/Shop-1-133012345678901235");
    let next = "/LM/W3SVC/1/ROOT/Shop-2-133012345678901236";
    let (mut live, mut window) = start(&[root, shop])?;
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    let knob = |name: &str| format!("Dial of AppDomain {name}");
    window.until("the domains", |window| window.shows(&knob(root)) && window.shows(&knob(shop)))?;
    click(&mut window, &knob(shop));
    window.until("the answer", |window| window.value(&knob(shop)) == "count, 0 of 9 live")?;
    domains::unload(&mut live.host, shop)?;
    domains::create(&mut live.host, &[next])?;
    window.until("the next domain", |window| {
        window.value(&knob(next)) == "count, 0 of 9 live" && window.value(&knob(shop)) == "off, lost"
    })?;
    ensure!(window.value(&knob(root)) == "off", "the other application is dialled");
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::T);
    window.filter("Work.Add");
    let did = call(&mut live, &[root, next])?;
    let calls = did[&format!("{next}/{}", ADD.replace("(int)", ""))];
    window.until("its calls", |window| window.calls(&in_domain(ADD, next)) == Some(calls))?;
    ensure!(window.dial(&in_domain(ADD, root)) == "off", "the other application counts");
    end(live, window)
}

/// A merged row stands for all copies, including later ones; after undo it applies to none of them.
#[test]
fn merged_dial_includes_later_copies() -> Result<()> {
    let mut names = vec!["First", "Second"];
    let (mut live, mut window) = start(&names)?;
    window.filter("Work.Add");
    window.until("the rows", |window| window.shows(&in_domain(ADD, "First")))?;
    click(&mut window, "Merge copies");
    window.until("one row", |window| window.dial(ADD) == "off" && !window.shows(&in_domain(ADD, "First")))?;
    click(&mut window, &format!("Dial of {ADD}"));
    window
        .until("asked", |window| window.dial(ADD).starts_with("count") && window.shows("2 of 2 accepted"))?;
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

/// Loads three copies of a module in load contexts, and selects the one row of their method.
fn start_copies() -> Result<(LiveHost, Window)> {
    let mut live = under_agent::start(programs::named("alc")?.command(Runtime::V8_0)?)?;
    for copy in 0..3 {
        live.host.ask("load", &format!("loaded {copy} "))?;
        live.host.ask(&format!("call {copy} 2"), &format!("called {copy} "))?;
    }
    let mut window = Window::open();
    window.select(live.pid)?;
    window.filter("Counter.Add");
    window.until("the copies", |window| {
        window.0.query_all_by_label_contains(&format!("Dial of {COPY}")).count() == 3
    })?;
    click(&mut window, "Merge copies");
    window.until("one row", |window| window.shows(COPY) && window.dial(COPY) == "off")?;
    click(&mut window, COPY);
    Ok((live, window))
}

/// Copies in load contexts of one AppDomain: each has a dial in the panel of the selected method.
#[test]
fn each_load_context_copy_has_its_own_dial() -> Result<()> {
    let (mut live, mut window) = start_copies()?;
    let mut modules = live.controller()?.modules()?.1;
    modules.retain(|module| module.name == "Copied");
    modules.sort_by_key(|module| module.key.generation);
    let generation = modules.get(1).context("there are three")?.key.generation;
    window.until("the panel", |window| window.shows("3 copies"))?;
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

/// The histogram and percentiles of a merged row are those of all copies together.
#[test]
fn merged_copies_have_one_histogram() -> Result<()> {
    let (mut live, mut window) = start_copies()?;
    window.0.key_press(Key::Num2);
    window.0.run_steps(3);
    window.until("timed", |window| {
        let dial = window.dial(COPY);
        dial.starts_with("time, ") && !dial.contains("requesting")
    })?;
    for copy in 0..3 {
        live.host.ask(&format!("call {copy} {}", 10 * (copy + 1)), &format!("called {copy} "))?;
    }
    let chart = format!("Latency histogram of {COPY}");
    window.until("the calls of all copies", |window| {
        window.shows(&chart) && window.value(&chart).starts_with("60 calls: p50 ")
    })?;
    ensure!(!window.shows("Percentiles need the histograms of all copies"));
    live.host.ask("call 1 5", "called 1 ")?;
    window.until("later calls", |window| window.value(&chart).starts_with("65 calls: p50 "))?;
    end(live, window)
}
