//! Traced calls in the window for a real program (`programs/traced.cs`): a key turns the dial of a method to trace, and
//! the events panel lists its calls.

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_testbed::controller::Controller;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::say;
use redial_testbed::under_agent::{self, LiveHost};
use window_driver::Window;

const FAILS: &str = "traced!Traced.Fails(int, string)";
const WAITS: &str = "traced!Traced.Waits(int, string)";

fn start(runtime: Runtime) -> Result<(LiveHost, Controller, Window)> {
    let command = programs::named("traced")?.command(runtime)?;
    let live = under_agent::start(command)?;
    let controller = live.controller()?;
    let mut window = Window::open();
    window.select(live.pid)?;
    Ok((live, controller, window))
}

fn end(mut live: LiveHost, mut controller: Controller, mut window: Window, method: &str) -> Result<()> {
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(method) == "off")?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

fn select(window: &mut Window, method: &str, name: &str) -> Result<()> {
    window.filter(name);
    window.until("the method", |window| window.dial(method) != "")?;
    window.0.get_by_label(method).click();
    window.0.run_steps(2);
    Ok(())
}

fn trace(window: &mut Window, method: &str, name: &str) -> Result<()> {
    select(window, method, name)?;
    window.0.key_press(Key::Num3);
    window.until("trace asked", |window| window.dial(method) == "trace, pending")?;
    window.until("the panel", |window| window.shows("The next calls of traced methods appear here."))
}

/// Returns the calls in the panel, from top to bottom, as `Type.Method(arguments) outcome`.
fn calls(window: &Window) -> Vec<String> {
    let rows = window.0.query_all_by_role(Role::Row).filter_map(|node| node.accesskit_node().label());
    let call = |row: String| row.split("  ").nth(3).map(str::to_owned);
    rows.filter(|row| row.contains("thread ")).filter_map(call).collect()
}

#[test]
fn calls_of_a_traced_method_are_listed() -> Result<()> {
    for runtime in [Runtime::V2_1, Runtime::V3_1, Runtime::V8_0] {
        let (mut live, controller, mut window) = start(runtime)?;
        trace(&mut window, FAILS, "Traced.Fails")?;
        say(&mut live.host, "fails 3")?;
        window.until("all calls", |window| calls(window).len() == 3)?;
        let failed = |number: u32| {
            format!(
                "Traced.Fails(number: {number}, how: \"throw\") threw InvalidOperationException: number {number}"
            )
        };
        let returned = "Traced.Fails(number: 1, how: \"return\") = 1".to_owned();
        ensure!(calls(&window) == [failed(2), returned.clone(), failed(0)], "{:?}", calls(&window));

        window.0.get_by_label("Sort events by result").click();
        window.until("sorted", |window| calls(window).last() == Some(&returned))?;
        window.0.get_by_label("Sort events by arguments").click();
        window.until("sorted", |window| calls(window) == [failed(2), returned.clone(), failed(0)])?;
        window.0.get_by_label("Sort events by arguments").click();
        window.until("reversed", |window| calls(window) == [failed(0), returned.clone(), failed(2)])?;

        window.0.get_by_role_and_label(Role::TextInput, "Event filter").focus();
        window.0.run_steps(2);
        window.0.get_by_role_and_label(Role::TextInput, "Event filter").type_text("RETURN");
        window.until("filtered", |window| calls(window) == [returned.clone()])?;
        window.until("the numbers", |window| window.shows("1 of 3 calls"))?;
        end(live, controller, window, FAILS)?;
    }
    Ok(())
}

#[test]
fn calls_in_flight_are_on_top() -> Result<()> {
    let (mut live, controller, mut window) = start(Runtime::V8_0)?;
    trace(&mut window, WAITS, "Traced.Waits")?;
    say(&mut live.host, "wait")?;
    let row = "Traced.Waits(ms: 60000, text: \"in flight\")";
    window.until("the call in flight", |window| window.shows("in flight for") && calls(window) == [row])?;
    say(&mut live.host, "leave")?;
    window.until("its end", |window| !window.shows("in flight for") && calls(window) == [row])?;
    end(live, controller, window, WAITS)
}
