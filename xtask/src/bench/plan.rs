//! Row `plan`: a dry run of fifty overlapping lines of a dial set over more than 100,000 methods of real modules.

use std::time::Instant;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_testbed::controller::Controller;

use super::context::Bench;
use super::figures::{Figure, Target};
use super::many::Many;

/// Copies of `Big`: together with the framework's own, well over 100,000 methods.
const COPIES: u32 = 6;
/// Lines of the set.
const LINES: usize = 50;
/// Most milliseconds for 100,000 methods.
const PLANNED: f64 = 100.0;

/// Measures each runtime in a process of its own.
pub fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for runtime in bench.runtimes.iter().copied() {
        let many = Many::start(bench, runtime, COPIES)?;
        let mut controller = Controller::connect(many.pid)?;
        let (mut took, mut methods) = (Vec::new(), 0);
        for _ in 0..bench.pairs {
            let begun = Instant::now();
            let answer = controller.ask(WireCommand::Plan { orders: lines(), lifetime: Lifetime::Kept })?;
            let elapsed = begun.elapsed().as_secs_f64() * 1000.0;
            let Reply::Plan(plan) = answer.reply else { anyhow::bail!("{:?}", answer.reply) };
            ensure!(plan.matched >= 100_000 && plan.per_order.iter().all(|hits| *hits > 0), "{plan:?}");
            methods = plan.matched;
            took.push(elapsed * 100_000.0 / methods as f64);
        }
        let what = format!(
            "{}: plan of {LINES} overlapping lines, per 100,000 of {methods} methods",
            runtime.name()
        );
        figures.push(Figure::of(&what, "ms", &took, Target::Median(PLANNED)));
    }
    Ok(figures)
}

/// Returns lines that cover everything first, then parts of it, alternately on and off, each overriding earlier ones.
fn lines() -> Vec<Order> {
    let patterns = std::iter::once("*".to_owned()).chain((1..LINES).map(|number| match number % 4 {
        0 => format!("Big{}!Big.C{number}*.*", number % COPIES as usize),
        1 => format!("Big.C{number}*.*"),
        2 => format!("*.*{}*", (b'a' + (number / 2) as u8) as char),
        _ => format!("Big*!*.M{number}*"),
    }));
    let level = |index: usize| if index % 3 == 2 { Level::Off } else { Level::Count };
    patterns.enumerate().map(|(index, pattern)| Order::new(pattern, level(index))).collect()
}
