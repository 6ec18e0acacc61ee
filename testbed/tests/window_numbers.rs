//! Numbers since a moment and of the last seconds, in the window for a real program, against what the program did since.

mod window_driver;

use anyhow::{Context, Result, ensure};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use redial_testbed::host::Host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent;
use window_driver::Window;

const SLEEP: &str = "timed!Timed.Sleep(int)";
const THROWS: &str = "timed!Timed.Throws(int)";
const HISTOGRAM: &str = "Latency histogram of timed!Timed.Sleep(int)";

/// Lets the program do something, and waits until it has.
fn run_command(host: &mut Host, what: &str) -> Result<()> {
    host.say(what)?;
    while host.next_line()? != "end" {}
    Ok(())
}

/// Returns the milliseconds after a name: `p50 5.12 ms, …`.
fn milliseconds(text: &str, name: &str) -> Result<f64> {
    let (_, rest) = text.split_once(&format!("{name} ")).with_context(|| format!("no {name} in {text}"))?;
    let (number, _) = rest.split_once(" ms").with_context(|| text.to_owned())?;
    Ok(number.parse()?)
}

fn choose(window: &mut Window, entry: &str) {
    window.0.get_by_label_contains("Numbers: ").click_accesskit();
    window.0.run_steps(3);
    window.0.get_by_label(entry).click_accesskit();
    window.0.run_steps(3);
}

#[test]
fn numbers_since_now_equal_what_the_program_did_since() -> Result<()> {
    for runtime in [Runtime::V8_0, Runtime::V3_1] {
        since_now(runtime).with_context(|| format!("{runtime:?}"))?;
    }
    Ok(())
}

fn since_now(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("timed")?.command(runtime)?)?;
    let mut controller = live.controller()?;
    let mut window = Window::open();
    window.select(live.pid)?;
    window.filter("Timed.Sleep");
    window.until("the method", |window| window.dial(SLEEP) == "off")?;
    window.0.get_by_label(SLEEP).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num2);
    window.until("time asked", |window| window.dial(SLEEP) == "time, pending")?;
    run_command(&mut live.host, "sleep 12 5")?;
    let ended = |window: &Window, calls: &str| {
        let value = window.value(SLEEP);
        value.contains(&format!("live, {calls}, ")) && value.contains("in flight 0")
    };
    window.until("twelve calls", |window| ended(window, "12 calls"))?;

    choose(&mut window, "Since now");
    window.until("no calls since", |window| window.value(SLEEP).contains("live, 0 calls, exceptions 0"))?;
    ensure!(window.shows("Numbers since "), "it says so");
    window.until("the histogram at the mark", |window| window.shows("No call has ended in this range"))?;
    run_command(&mut live.host, "sleep 3 40")?;
    window.until("three calls", |window| {
        ended(window, "3 calls") && window.value(SLEEP).contains("3 calls, p50 ")
    })?;
    // The bounds of buckets depend on the processor's clock: 40.1 ms may be shown as 39.5.
    let value = window.value(SLEEP);
    ensure!(milliseconds(&value, "p50")? >= 39.0 && milliseconds(&value, "total")? >= 117.0, "{value}");
    window.until("their histogram", |window| window.value(HISTOGRAM).starts_with("3 calls: p50 "))?;
    let histogram = window.value(HISTOGRAM);
    ensure!(milliseconds(&histogram, "p50")? >= 39.0, "{histogram}");
    let (_, times) = controller.timed(SLEEP)?;
    ensure!(times.exits == 15, "the agent counts on: {times:?}");

    // A method that is dialled after the mark begins at zero, with its exceptions.
    window.filter("Timed.Throws");
    window.until("the other", |window| window.dial(THROWS) == "off")?;
    window.0.get_by_label(THROWS).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num2);
    window.until("its time", |window| window.dial(THROWS) == "time, pending")?;
    run_command(&mut live.host, "throw 9")?;
    window.until("its exceptions", |window| {
        let value = window.value(THROWS);
        value.contains("live, 27 calls, p50 ") && value.contains("exceptions 9, in flight 0")
    })?;

    window.filter("Timed.Sleep");
    choose(&mut window, "Last 10 s");
    run_command(&mut live.host, "sleep 2 5")?;
    window.until("two calls", |window| ended(window, "2 calls"))?;
    window.until("ten seconds without", |window| ended(window, "0 calls"))?;
    choose(&mut window, "Totals");
    window.until("all calls", |window| ended(window, "17 calls"))?;
    choose(&mut window, "Since now");
    run_command(&mut live.host, "sleep 1 5")?;
    window.until("one call", |window| ended(window, "1 call"))?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    live.host.finish()?.ok()?;
    window.until("the end", |window| window.shows("has ended"))?;
    ensure!(window.value(SLEEP).contains("1 call, "), "the last numbers stay: {}", window.value(SLEEP));
    Ok(())
}
