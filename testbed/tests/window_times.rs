//! Times in the window for a real program. A key turns its dial to time; numbers and histogram appear and equal
//! the program's own knowledge of its calls (`programs/timed.cs`) and the agent's exits.

mod window_driver;

use anyhow::{Context, Result, ensure};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_BUCKETS;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::times::Times;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent;
use window_driver::Window;

const SLEEP: &str = "timed!Timed.Sleep(int)";
const HISTOGRAM: &str = "Latency histogram of timed!Timed.Sleep(int)";
/// Error of three digits and a bucket.
const OFF: f64 = 0.03;

/// Lets the program sleep, and returns bounds of the median of all its sleeps in nanoseconds.
fn sleep(host: &mut Host, times: u32, ms: u32) -> Result<(f64, f64)> {
    host.say(&format!("sleep {times} {ms}"))?;
    let mut median = None;
    loop {
        let line = host.next_line()?;
        if line == "end" {
            return median.context("nothing is known of Sleep");
        }
        let words: Vec<&str> = line.split(' ').collect();
        if words.get(1) == Some(&"Timed.Sleep(int)") {
            let number =
                |at: usize| -> Result<f64> { Ok(words.get(at).with_context(|| line.clone())?.parse()?) };
            median = Some((number(8)?, number(9)?));
        }
    }
}

/// Parses the duration after a name in a text: `p50 5.12 ms, …`.
fn duration(text: &str, name: &str) -> Result<f64> {
    let (_, rest) = text.split_once(&format!("{name} ")).with_context(|| format!("no {name} in {text}"))?;
    let mut words = rest.split([' ', ',', '\n']);
    let number: f64 = words.next().context("a number")?.parse()?;
    let unit = match words.next() {
        Some("ns") => 1.0,
        Some("µs") => 1e3,
        Some("ms") => 1e6,
        Some("s") => 1e9,
        other => anyhow::bail!("{other:?} is no unit: {text}"),
    };
    Ok(number * unit)
}

fn histogram(controller: &mut Controller, row: RowId) -> Result<RowHistogram> {
    match controller.ask(WireCommand::Histogram { row })?.reply {
        Reply::Histogram(histogram) => Ok(histogram),
        other => anyhow::bail!("{other:?}"),
    }
}

/// Checks that a histogram and times of one moment agree.
fn ensure_whole(histogram: &RowHistogram, times: &Times) -> Result<()> {
    let all: u64 = histogram.counts().map(|(_, calls)| calls).sum();
    ensure!((all, histogram.times.exits) == (times.exits, times.exits), "{histogram:?} {times:?}");
    ensure!(histogram.buckets.is_sorted_by(|one, next| one < next), "{histogram:?}");
    ensure!(histogram.buckets.iter().all(|bucket| usize::from(*bucket) < MAX_BUCKETS), "{histogram:?}");
    let longest = histogram.times.max_ns as f64;
    let last = u32::from(*histogram.buckets.last().context("calls")?);
    let fits = histogram.lower_ns(last) <= longest + 1.0 && longest <= histogram.lower_ns(last + 1) + 1.0;
    ensure!(fits, "the longest call is not in the last bucket: {histogram:?}");
    Ok(())
}

#[test]
fn digit_key_turns_on_times() -> Result<()> {
    let command = programs::named("timed")?.command(Runtime::V8_0)?;
    let mut live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let mut window = Window::open();
    window.select(live.pid)?;
    window.filter("Timed.Sleep");
    window.until("the method", |window| window.dial(SLEEP) == "off")?;
    ensure!(!window.shows("Sort by self"), "nothing is timed yet");

    window.0.get_by_label(SLEEP).click();
    window.0.run_steps(2);
    window.0.get_by_label(&format!("Dial of {SLEEP}")).hover();
    window
        .until("what is known of its cost", |window| window.shows("set it to count to see its call rate"))?;
    window.0.remove_cursor();
    window.0.key_press(Key::Num2);
    window.0.run_steps(2);
    window.until("time asked", |window| window.dial(SLEEP) == "time, pending")?;
    window.until("the columns", |window| window.shows("Sort by self") && window.shows("Sort by total"))?;

    let (inner, outer) = sleep(&mut live.host, 12, 5)?;
    window.until("twelve calls", |window| {
        window.value(SLEEP).contains("live, 12 calls, p50 ") && window.value(SLEEP).contains("in flight 0")
    })?;
    let said = window.value(SLEEP);
    let reported = duration(&said, "p50")?;
    ensure!(reported >= inner * (1.0 - OFF) && reported <= outer * (1.0 + OFF), "{said}: {inner} to {outer}");
    ensure!(duration(&said, "max")? >= reported * (1.0 - OFF), "{said}");

    window.until("the histogram", |window| window.value(HISTOGRAM).starts_with("12 calls: p50 "))?;
    let reported = duration(&window.value(HISTOGRAM), "p50")?;
    ensure!(
        reported >= inner * (1.0 - OFF) && reported <= outer * (1.0 + OFF),
        "{}",
        window.value(HISTOGRAM)
    );
    let (row, times) = controller.timed(SLEEP)?;
    ensure_whole(&histogram(&mut controller, row.row)?, &times)?;
    ensure!(times.exits == 12, "{times:?}");

    // Calls after a mark are shown separately from those before.
    window.0.get_by_label("Mark").click_accesskit();
    window.until("the mark", |window| window.value(HISTOGRAM).starts_with("0 calls since the mark"))?;
    sleep(&mut live.host, 3, 40)?;
    window.until("what came since", |window| {
        window.value(HISTOGRAM).starts_with("3 calls since the mark: p50 ")
    })?;
    let said = window.value(HISTOGRAM);
    ensure!(duration(&said, "p50")? >= 39.9e6 * (1.0 - OFF), "{said}");
    ensure!(said.contains("\n12 calls before it: p50 "), "{said}");
    let (_, times) = controller.timed(SLEEP)?;
    ensure_whole(&histogram(&mut controller, row.row)?, &times)?;

    // After off the times stay visible.
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial(SLEEP) == "off")?;
    ensure!(window.value(SLEEP).contains("15 calls, last times: p50 ") && window.shows("Sort by self"));
    controller.dial("timed!Timed.Busy", Level::Count, Lifetime::Kept)?;
    for row in [RowId(9_999), controller.row("timed!Timed.Busy(int)")?.row] {
        let refused = controller.ask(WireCommand::Histogram { row })?.reply;
        ensure!(matches!(refused, Reply::Refused(Refusal::Unsupported(_))), "{refused:?}");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}
