//! `redial` against an agent that lies in every field of every message. It never panics, acts on a terminal,
//! takes more than 256 MiB, or waits longer than its time-outs.
#![cfg(target_os = "linux")]

mod answers;
mod captured;
mod client;
mod commands;
mod disguise;
mod floods;
mod lie;
mod server;
mod window;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result, ensure};
use redial_testbed::soak;

use commands::CommandCase;
use disguise::Disguise;
use floods::FloodSize::{Beyond, Within};
use floods::{Flood, Flooding};
use server::liars;

/// Commands at once. Most of them wait.
const AT_ONCE: usize = 6;
/// Failures reported in full.
const REPORTED: usize = 12;

/// Every command runs against several liars, each with its own seed. `REDIAL_LIE_SEED` sets the first seed.
#[test]
fn every_command_withstands_lies() -> Result<()> {
    let first = std::env::var("REDIAL_LIE_SEED").ok().map(|seed| seed.parse()).transpose()?.unwrap_or(1);
    let _disguise = Disguise::new()?;
    let cases = commands::all();
    let seeds = first..first + soak::scaled(6, 100);
    let runs: Vec<(u64, &CommandCase)> =
        seeds.flat_map(|seed| cases.iter().map(move |case| (seed, case))).collect();
    let (mut failures, with_output) = check_all(&runs);
    let (failed, all) = (failures.len(), runs.len());
    failures.truncate(REPORTED);
    ensure!(failed == 0, "{failed} of {all} failed:\n{}", failures.join("\n\n"));
    // Lies that are refused at once test little.
    ensure!(with_output > all / 3, "only {with_output} of {all} commands printed results");
    Ok(())
}

/// Checks runs, several at once. Returns descriptions of those that fail and the number of those with results.
fn check_all(runs: &[(u64, &CommandCase)]) -> (Vec<String>, usize) {
    let (next, with_output) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((seed, case)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match case.check(liars(*seed)).with_context(|| format!("seed {seed}: {case:?}")) {
                Ok(end) => {
                    with_output.fetch_add(usize::from(!end.stdout.is_empty()), Ordering::Relaxed);
                }
                Err(error) => failures.lock().expect("no panic holds it").push(format!("{error:#}")),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    (failures.into_inner().expect("no panic holds it"), with_output.into_inner())
}

/// The commands that a flood concerns.
const FLOODS: [(Flood, &[&str]); 14] = [
    (
        Flood::SmallRows,
        &["status", "status --json", "status --sum", "status --sum --json", WATCH, WATCH_JSON],
    ),
    (Flood::LongRows, &["status", "status --json", "status --sum", WATCH, WATCH_JSON]),
    (Flood::SlowestCalls, &["status --calls", "status --json"]),
    (Flood::SmallMethods, &["methods --limit 3000000", "methods --limit 3000000 --json", "il A.B"]),
    (Flood::LongMethods, &["methods --limit 3000000", "methods --limit 3000000 --json"]),
    (Flood::SmallLines, &["il A.B --instrumented", "il A.B --json"]),
    (Flood::LongLine, &["il A.B"]),
    (Flood::LongModule, &["modules", "methods"]),
    (Flood::SharedModules, &["modules", "modules --json", "methods"]),
    (Flood::Progress, &["off", "dial A.B off", "dial A.B count --json"]),
    (Flood::SmallCalls, &["events", "events --json --count 5", TRACE]),
    (Flood::SmallValues, &["events --json", "events --wide", TRACE]),
    (Flood::TracedMethods, &["events", "events --json", TRACE]),
    (Flood::Counters, &["watch --sum --count 2 --interval 500", WATCH, WATCH_JSON]),
];
const TRACE: &str = "trace A.* -n 5";
const WATCH: &str = "watch --count 2 --interval 500";
const WATCH_JSON: &str = "watch --json --count 2 --interval 500";

/// Floods of every kind, just within the limits and over them.
#[test]
fn floods_fit_into_memory() -> Result<()> {
    let mut failures = Vec::new();
    for ((flood, commands), size) in FLOODS.into_iter().flat_map(|flood| [(flood, Within), (flood, Beyond)]) {
        // The first command stands for the others outside the soak.
        for words in &commands[..if soak::is_on() { commands.len() } else { 1 }] {
            let (command, rest) = words.split_once(' ').unwrap_or((words, ""));
            let case = CommandCase::of(format!("{command} SELF {rest}").trim());
            let scripts: server::MakeScript = Arc::new(move |_| Box::new(Flooding(flood, size)));
            match case.check(scripts).with_context(|| format!("{flood:?} {size:?}: {case:?}")) {
                // What the limits allow is shown.
                Ok(end) if size == Within && !end.status.success() => {
                    failures.push(format!("{flood:?} {size:?}: {case:?}: {}", end.output()));
                }
                Ok(end) => eprintln!("{flood:?} {size:?} {case:?}: {}, {} KiB", end.status, end.peak_kib),
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// The window's worker and model take the same lies.
#[test]
fn the_window_withstands_lies() -> Result<()> {
    for seed in 1..=soak::scaled(3, 200) {
        window::check(liars(seed)).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}
