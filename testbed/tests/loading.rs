//! Two hundred modules load on eight threads while standing orders change: no deadlock, and every first call
//! after a matching order counts.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;

use anyhow::{Result, anyhow, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{StatusRow, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, full_name};
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{generate, on_each_runtime, programs};

on_each_runtime!(counts_first_calls_while_orders_change, launcher_orders_count_every_first_call);

const MODULES: u32 = 200;
const THREADS: &str = "8";

fn modules(runtime: Runtime) -> Result<Command> {
    let mut command = programs::named("modules")?.command(runtime)?;
    command.arg(generate::tiny_libraries(MODULES)?).arg(THREADS);
    Ok(command)
}

fn orders(numbers: impl IntoIterator<Item = u32>, level: Level) -> Vec<Order> {
    let pattern = |number| format!("Lib{number}!Lib{number}.Worker.*");
    numbers.into_iter().map(|number| Order::new(pattern(number), level)).collect()
}

fn turn(controller: &mut Controller, orders: Vec<Order>) -> Result<()> {
    let command = WireCommand::RequestReJit { orders, later: true, take: false, lifetime: Lifetime::Kept };
    controller.turn(command)?.map(drop).map_err(|refusal| anyhow!("refused: {refusal:?}"))
}

fn rows(controller: &mut Controller) -> Result<BTreeMap<String, StatusRow>> {
    Ok(controller.status(Some("Lib*!*"))?.into_iter().map(|row| (full_name(&row), row)).collect())
}

/// Returns the number of the library that a method belongs to.
fn library(method: &str) -> Option<u32> {
    method.strip_prefix("Lib")?.split('!').next()?.parse().ok()
}

/// Checks every count against the truth: equal for a permanent order, never higher otherwise.
fn compare(truth: &Truth, rows: &BTreeMap<String, StatusRow>, stood: impl Fn(u32) -> bool) -> Result<()> {
    ensure!(truth.len() == 2 * MODULES as usize, "{} methods in the truth", truth.len());
    for (method, expected) in truth {
        let number = library(method).ok_or_else(|| anyhow!("no library in {method}"))?;
        match rows.get(method) {
            Some(row) if stood(number) => {
                ensure!((row.state, row.calls) == (CopyState::Live, *expected), "{expected} calls: {row:?}");
            }
            None if stood(number) => ensure!(false, "{method} was never dialled"),
            Some(row) => ensure!(row.calls <= *expected, "{expected} calls: {row:?}"),
            None => {}
        }
    }
    Ok(())
}

fn ensure_no_deadline_missed(controller: &mut Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!((status.missed_deadlines, status.guard_trips) == (0, 0), "{status:?}");
    Ok(())
}

fn ensure_end(mut live: LiveHost) -> Result<()> {
    live.host.close_input();
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

fn counts_first_calls_while_orders_change(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(modules(runtime)?)?;
    let mut controller = live.controller()?;
    // Even libraries have an order from the start. Odd ones get and lose theirs while all load.
    turn(&mut controller, orders((0..MODULES).step_by(2), Level::Count))?;
    let mut changing = live.controller()?;
    let (loaded, all_loaded) = std::sync::mpsc::channel::<()>();
    let changer = thread::spawn(move || -> Result<u32> {
        let mut turns = 0;
        // At least once over all of them, and on until everything is loaded.
        loop {
            for odd in (1..MODULES).step_by(20) {
                let some = || (odd..odd + 20).step_by(2);
                turn(&mut changing, orders(some(), Level::Count))?;
                turn(&mut changing, orders(some(), Level::Off))?;
                turns += 2;
            }
            if all_loaded.try_recv().is_ok() {
                return Ok(turns);
            }
        }
    });
    for _ in 0..4 {
        live.host.ask(&format!("start {}", MODULES / 4), "started")?;
        live.host.ask("wait", "loaded")?;
    }
    loaded.send(())?;
    let turns = changer.join().map_err(|_| anyhow!("the changing thread panicked"))??;
    ensure!(turns >= 20, "{turns} turns");
    let at_load = truth::ask(&mut live.host, "truth")?;
    compare(&at_load, &rows(&mut controller)?, |number| number % 2 == 0)?;
    ensure_no_deadline_missed(&mut controller)?;

    // Dials that are off by now no longer count; those that are on keep counting.
    let before = rows(&mut controller)?;
    live.host.ask("call", "called 200")?;
    let after = rows(&mut controller)?;
    for (method, row) in &after {
        let odd = library(method).is_some_and(|number| number % 2 == 1);
        let expected = u64::from(!odd && method.contains("First"));
        ensure!(row.calls == before[method].calls + expected, "{} before: {row:?}", before[method].calls);
        ensure!(!odd || (row.state, row.wanted) == (CopyState::Off, Level::Off), "{row:?}");
    }
    // One order turns everything on again; it counts from the next call.
    turn(&mut controller, vec![Order::new("Lib*!*", Level::Count)])?;
    live.host.ask("call", "called 200")?;
    let last = rows(&mut controller)?;
    let counted = last.iter().filter(|(method, row)| {
        method.contains("First") && row.calls == after.get(*method).map_or(0, |row| row.calls) + 1
    });
    ensure!(counted.count() == MODULES as usize, "{last:?}");
    ensure_no_deadline_missed(&mut controller)?;
    ensure_end(live)
}

/// A wildcard set before anything loads, and all modules at once.
fn launcher_orders_count_every_first_call(runtime: Runtime) -> Result<()> {
    for _ in 0..2 {
        let run = host::redial_run(&["--dial", "Lib*!Lib*.Worker.*=count"], &modules(runtime)?)?;
        let mut live = under_agent::start_prepared(run)?;
        let mut controller = live.controller()?;
        live.host.ask(&format!("start {MODULES}"), "started")?;
        live.host.ask("wait", "loaded 200")?;
        let truth = truth::ask(&mut live.host, "truth")?;
        compare(&truth, &rows(&mut controller)?, |_| true)?;
        ensure_no_deadline_missed(&mut controller)?;
        ensure_end(live)?;
    }
    Ok(())
}
