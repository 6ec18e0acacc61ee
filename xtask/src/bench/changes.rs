//! Row `changes`: the user's waiting time, from connecting to the whole catalogue, from a change to its acceptance, and
//! to the first counted call; and the bytes on the pipe.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::many::{self, Many};

/// Copies of `Big`: together with the framework's own, well over 100,000 methods.
const COPIES: u32 = 6;
/// Most milliseconds for the catalogue of 100,000 methods.
const CATALOGUE: f64 = 100.0;
/// Most milliseconds from a change of one method to its acceptance.
const ACCEPTED: f64 = 1.0;
/// Most milliseconds for 10,000 methods, on .NET 5 and later.
const BATCH: f64 = 20.0;
/// Most milliseconds until a hot method is live.
const LIVE: f64 = 2.0;
/// Most milliseconds until 1,000 hot methods are live.
const HOT_LIVE: f64 = 15.0;
/// The agent merges changes of a copy that are less than 50 ms apart; a measurement must not wait for that.
const APART: Duration = Duration::from_millis(80);

/// Measures each runtime in a process of its own.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for runtime in bench.runtimes.iter().copied() {
        let mut many = Many::start(bench, runtime, COPIES)?;
        figures.extend(catalogue(bench, runtime, &many)?);
        let mut controller = many.watch()?;
        figures.extend(single(bench, runtime, &mut controller)?);
        figures.extend(hot(bench, runtime, &mut many, &mut controller)?);
        figures.extend(batch(runtime, &mut controller)?);
    }
    Ok(figures)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn catalogue(bench: &Bench, runtime: Runtime, many: &Many) -> Result<Vec<Figure>> {
    let (mut took, mut bytes, mut methods) = (Vec::new(), Vec::new(), 0);
    for _ in 0..bench.pairs {
        let begun = Instant::now();
        let mut controller = Controller::connect(many.pid)?;
        controller.ask(WireCommand::Modules)?;
        let answer = controller.ask(WireCommand::Methods { pattern: None, limit: u64::MAX })?;
        let elapsed = milliseconds(begun);
        let Reply::Methods { matched, .. } = answer.reply else { anyhow::bail!("{:?}", answer.reply) };
        let sent: usize = answer.methods.iter().map(|page| page.token.len()).sum();
        ensure!(sent as u64 == matched && matched >= 100_000, "{sent} of {matched} methods");
        methods = matched;
        took.push(elapsed * 100_000.0 / matched as f64);
        bytes.push(controller.received_bytes() as f64 / matched as f64);
    }
    let on = runtime.name();
    Ok(vec![
        Figure::of(
            &format!("{on}: from connecting to complete catalogue, per 100,000 of {methods} methods"),
            "ms",
            &took,
            Target::Median(CATALOGUE),
        ),
        Figure::of(&format!("{on}: received for it, per method"), "bytes", &bytes, Target::None),
    ])
}

/// Changes one method at a time. The very first change adds metadata to the module.
fn single(bench: &Bench, runtime: Runtime, controller: &mut Controller) -> Result<Vec<Figure>> {
    let classes = if bench.quick { 1 } else { 5 };
    let (mut on, mut off) = (Vec::new(), Vec::new());
    let before = controller.received_bytes();
    for (class, method) in methods(0..classes) {
        let pattern = format!("Hot!Hot.H{class}.M{method}(int)");
        let begun = Instant::now();
        let report = controller.dial(&pattern, Level::Count, Lifetime::Kept)?;
        on.push(milliseconds(begun));
        ensure!(report.accepted == 1, "{pattern}: {report:?}");
    }
    let bytes = (controller.received_bytes() - before) as f64 / on.len() as f64;
    std::thread::sleep(APART);
    for (class, method) in methods(0..classes) {
        let begun = Instant::now();
        controller.off(&format!("Hot!Hot.H{class}.M{method}(int)"))?;
        off.push(milliseconds(begun));
    }
    let of = runtime.name();
    Ok(vec![
        Figure::of(&format!("{of}: `dial` of one method to accepted"), "ms", &on, Target::P99(ACCEPTED)),
        Figure::of(&format!("{of}: `off` of one method to accepted"), "ms", &off, Target::P99(ACCEPTED)),
        Figure::of(&format!("{of}: received for a change"), "bytes", &[bytes], Target::None),
    ])
}

fn methods(classes: std::ops::Range<u32>) -> impl Iterator<Item = (u32, u32)> {
    classes.flat_map(|class| (0..100).map(move |method| (class, method)))
}

/// Measures the time from a change to live, for one and for a thousand methods that a thread calls all the time.
fn hot(bench: &Bench, runtime: Runtime, many: &mut Many, controller: &mut Controller) -> Result<Vec<Figure>> {
    many.host.ask("hammer", "hammering")?;
    let mut one = Vec::new();
    for (class, method) in methods(6..if bench.quick { 7 } else { 9 }) {
        let name = format!("Hot.H{class}.M{method}");
        let begun = Instant::now();
        controller.dial(&format!("Hot!{name}(int)"), Level::Count, Lifetime::Kept)?;
        controller.wait_until("that the hot method is live", |dials| {
            dials.values().any(|row| row.method == name && row.state == CopyState::Live)
        })?;
        one.push(milliseconds(begun));
    }
    // Every row has been reported by now.
    controller.dial(many::HOT, Level::Count, Lifetime::Kept)?;
    many::wait_for_all(controller, CopyState::Live)?;
    let (mut accepted, mut live) = (Vec::new(), Vec::new());
    for _ in 0..bench.pairs {
        std::thread::sleep(APART);
        controller.off(many::HOT)?;
        many::wait_for_all(controller, CopyState::Off)?;
        std::thread::sleep(APART);
        let begun = Instant::now();
        controller.dial(many::HOT, Level::Count, Lifetime::Kept)?;
        accepted.push(milliseconds(begun));
        many::wait_for_live(controller)?;
        live.push(milliseconds(begun));
    }
    controller.off(many::HOT)?;
    many.host.ask("stop", "stopped")?;
    let on = runtime.name();
    Ok(vec![
        Figure::of(&format!("{on}: `dial` of a hot method to live"), "ms", &one, Target::Median(LIVE)),
        Figure::of(&format!("{on}: 1,000 hot methods to accepted"), "ms", &accepted, Target::None),
        Figure::of(&format!("{on}: 1,000 hot methods to live"), "ms", &live, Target::Median(HOT_LIVE)),
        Figure::of(
            &format!("{on}: for comparison, first calls of the same 1,000, compiled by the runtime alone"),
            "ms",
            &[many.first_calls],
            Target::None,
        ),
    ])
}

/// Turns on ten thousand methods of a module that was never dialled, and off again.
fn batch(runtime: Runtime, controller: &mut Controller) -> Result<Vec<Figure>> {
    let (mut on, mut off, mut again, mut accepted) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for number in 0..COPIES {
        let pattern = many::big(number);
        for times in [&mut on, &mut again] {
            let begun = Instant::now();
            let report = controller.dial(&pattern, Level::Count, Lifetime::Kept)?;
            times.push(milliseconds(begun));
            ensure!(report.accepted >= 10_000 && report.refused.is_empty(), "{pattern}: {report:?}");
            accepted = report.accepted;
            std::thread::sleep(APART);
            let begun = Instant::now();
            controller.off(&pattern)?;
            off.push(milliseconds(begun));
            std::thread::sleep(APART);
        }
    }
    let most = if runtime == Runtime::V8_0 { Target::Median(BATCH) } else { Target::None };
    let figure = |what: &str, numbers: &[f64], target| {
        Figure::of(
            &format!("{}: {accepted} methods in one change, {what}", runtime.name()),
            "ms",
            numbers,
            target,
        )
    };
    Ok(vec![figure("first time", &on, most), figure("once more", &again, most), figure("off", &off, most)])
}
