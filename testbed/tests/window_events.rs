//! Traced calls in the window for a real program (`programs/traced.cs`): a key turns the dial of a method to trace, and
//! the events panel lists its calls.

mod window_driver;

use anyhow::{Context, Result, bail, ensure};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::StandingOrder;
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

fn orders(controller: &mut Controller) -> Result<Vec<StandingOrder>> {
    let reply = controller.ask(WireCommand::Orders)?.reply;
    let Reply::Orders { orders, .. } = reply else { bail!("{reply:?}") };
    Ok(orders)
}

fn select(window: &mut Window, method: &str, name: &str) -> Result<()> {
    window.filter(name);
    window.until("the method", |window| !window.dial(method).is_empty())?;
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

        // A condition, and a mistake in one.
        window.0.key_press(Key::Escape);
        window.until("no filter", |window| calls(window).len() == 3)?;
        type_into(&mut window, "Event filter", "exception != null && number > 1");
        window.until("filtered", |window| calls(window) == [failed(2)])?;
        type_into(&mut window, "Event filter", " &&");
        window.until("a mistake", |window| window.shows("Filter: the condition needs"))?;
        type_into(&mut window, "Event filter", " missing == 1");
        window.until("a wrong name", |window| window.shows("the method has no value 'missing'"))?;
        window.0.key_press(Key::Escape);
        window.until("no filter", |window| calls(window).len() == 3)?;
        type_into(&mut window, "Event filter", "exception.type == \"System.InvalidOperationException\"");
        window.until("filtered", |window| calls(window).len() == 2)?;
        end(live, controller, window, FAILS)?;
    }
    Ok(())
}

/// Types into a text field of the panel.
fn type_into(window: &mut Window, field: &str, text: &str) {
    window.0.get_by_role_and_label(Role::TextInput, field).focus();
    window.0.run_steps(2);
    window.0.get_by_role_and_label(Role::TextInput, field).type_text(text);
    window.0.run_steps(3);
}

#[test]
fn conditions_are_edited_in_place() -> Result<()> {
    let (mut live, mut controller, mut window) = start(Runtime::V8_0)?;
    trace(&mut window, FAILS, "Traced.Fails")?;
    say(&mut live.host, "fails 4")?;
    window.until("all calls", |window| calls(window).len() == 4)?;

    // Names are completed, and mistakes shown as typed.
    type_into(&mut window, "Condition", "num");
    window.until("a completion", |window| window.shows("Insert number"))?;
    window.0.key_press(Key::Tab);
    window.0.run_steps(3);
    ensure!(window.value("Condition") == "number", "{}", window.value("Condition"));
    type_into(&mut window, "Condition", " >= ");
    window.until("a mistake", |window| window.shows("(At character 10.)"))?;
    type_into(&mut window, "Condition", "2 && numbr == 1");
    window.until("a wrong name", |window| {
        window.shows("The method has no value 'numbr'; it has number (int)")
    })?;
    window.0.key_press(Key::Enter);
    window.0.run_steps(5);
    say(&mut live.host, "fails 4")?;
    window.until("eight calls", |window| calls(window).len() == 8)?;

    // A condition that fits applies.
    window.0.key_press(Key::Escape);
    window.until("the end of the draft", |window| window.value("Condition").is_empty())?;
    type_into(&mut window, "Condition", "number >= 2");
    window.0.key_press(Key::Enter);
    window.until("its body", |window| {
        window.shows("trace when number >= 2 on traced!Traced.Fails(int, string): 1 of 1")
    })?;
    window.0.get_by_label("Clear").click();
    window.0.run_steps(3);
    say(&mut live.host, "fails 4")?;
    window.until("two calls", |window| calls(window).len() == 2)?;
    ensure!(calls(&window).iter().all(|call| call.contains("number: 2") || call.contains("number: 3")));
    let orders = orders(&mut controller)?;
    ensure!(orders.last().is_some_and(|one| one.order.when.as_deref() == Some("number >= 2")), "{orders:?}");
    end(live, controller, window, FAILS)
}

#[test]
fn a_condition_that_the_agent_refuses_changes_nothing() -> Result<()> {
    let (mut live, mut controller, mut window) = start(Runtime::V8_0)?;
    trace(&mut window, FAILS, "Traced.Fails")?;
    say(&mut live.host, "fails 1")?;
    window.until("the call", |window| calls(window).len() == 1)?;
    // The window does not know the parameters of a method without calls.
    select(&mut window, WAITS, "Traced.Waits")?;
    type_into(&mut window, "Condition", "milliseconds > 3");
    window.0.key_press(Key::Enter);
    window.until("the refusal", |window| {
        window.shows("The method has no value 'milliseconds'; it has ms (int)")
            && window.shows("Nothing was changed")
    })?;
    window.until("the dial as it was", |window| window.dial(WAITS) == "off")?;
    ensure!(orders(&mut controller)?.iter().all(|one| one.order.when.is_none()));
    end(live, controller, window, WAITS)
}

#[test]
fn a_pause_keeps_the_calls_shown() -> Result<()> {
    let (mut live, controller, mut window) = start(Runtime::V8_0)?;
    trace(&mut window, FAILS, "Traced.Fails")?;
    say(&mut live.host, "fails 1")?;
    window.until("the call", |window| calls(window).len() == 1)?;
    window.0.get_by_label("Pause").click();
    window.0.run_steps(3);
    say(&mut live.host, "fails 3")?;
    window.until("news", |window| window.shows("3 new · 1 call"))?;
    ensure!(calls(&window).len() == 1);
    window.0.get_by_label("Pause").click();
    window.until("all calls", |window| calls(window).len() == 4)?;
    end(live, controller, window, FAILS)
}

const SHAPES: &str = "traced!Traced.Objects(Order, Base, object, object)";

#[test]
fn the_selected_call_shows_its_values() -> Result<()> {
    let (mut live, mut controller, mut window) = start(Runtime::V8_0)?;
    trace(&mut window, SHAPES, "Traced.Objects")?;
    redial_testbed::traced::warm_up(&mut live.host, &mut controller, "shapes")?;
    window.0.get_by_label("Clear").click();
    window.0.run_steps(3);
    say(&mut live.host, "shape 7")?;
    window.until("the call", |window| calls(window).len() == 1)?;
    window.0.get_by_label_contains("Traced.Objects(order: Order { ").click();
    for line in ["order: Order", "Id: 7", "Name: \"order 7\"", "Password: ‹redacted-name›", "result: Order"]
    {
        window.until("its values", |window| window.0.query_all_by_label(line).next().is_some())?;
    }
    window.0.get_by_label("Copy").click_accesskit();
    window.0.run_steps(3);
    window.0.get_by_label("Copy call as JSON").click_accesskit();
    let copied = window.copied().context("nothing was copied")?;
    let json: serde_json::Value = serde_json::from_str(&copied)?;
    ensure!(json["args"][0]["value"]["Id"] == 7 && json["method"] == "Traced.Objects", "{json}");
    end(live, controller, window, SHAPES)
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
