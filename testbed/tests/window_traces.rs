//! Traced calls in the window for a real program: a key turns the dial of a method to trace, and the panel shows its calls
//! (`programs/traced.cs`), those in flight first.

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::say;
use redial_testbed::under_agent;
use window_driver::Window;

const FAILS: &str = "traced!Traced.Fails(int, string)";
const WAITS: &str = "traced!Traced.Waits(int, string)";

fn trace(window: &mut Window, method: &str, name: &str) -> Result<()> {
    window.filter(name);
    window.until("the method", |window| window.dial(method) == "off")?;
    window.0.get_by_label(method).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num3);
    window.until("trace asked", |window| window.dial(method) == "trace, pending")?;
    window.until("the list", |window| window.shows("Its next calls will be traced."))
}

#[test]
fn digit_key_turns_on_traces() -> Result<()> {
    let command = programs::named("traced")?.command(Runtime::V8_0)?;
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let mut window = Window::open();
    window.select(live.pid)?;

    trace(&mut window, FAILS, "Traced.Fails")?;
    say(&mut live.host, "fails 2")?;
    window.until("the call that failed", |window| {
        window.shows("(number: 0, how: \"throw\") threw InvalidOperationException: number 0")
    })?;
    window.until("the other one", |window| window.shows("(number: 1, how: \"return\") = 1"))?;

    trace(&mut window, WAITS, "Traced.Waits")?;
    say(&mut live.host, "wait")?;
    window
        .until("the call in flight", |window| window.shows("In flight") && window.shows("\"in flight\")"))?;
    say(&mut live.host, "leave")?;
    window.until("its end", |window| window.shows("Latest calls"))?;

    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(WAITS) == "off")?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}
