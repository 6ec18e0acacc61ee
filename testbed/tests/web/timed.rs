//! Times all methods of a serving program for 20 s, ten minutes in the soak. Answers stay right, calls and times of
//! its own methods are exact, no number decreases, and memory stays within its budget.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{StatusRow, WireCommand};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::{soak, truth};

use crate::server::{KEPT, Server};

/// Duration of the test in the gate.
const SECONDS: u64 = 20;
/// Answers between two readings of all numbers.
const ANSWERS: u64 = 4_000;
/// Least number of methods at level *time*, and of those that were timed.
const METHODS: (usize, usize) = (10_000, 500);
/// Largest ratio between times from different clocks.
const CLOCKS: f64 = 1.02;

/// One reading: calls and times of every row that has times.
type Readings = BTreeMap<RowId, (StatusRow, Times)>;

pub fn ensure_all_exact(server: &mut Server) -> Result<()> {
    server.load.go_on(2_000)?;
    let mut controller = Controller::connect(server.pid)?;
    controller.dial_all(&["*"], Level::Time, Lifetime::Kept)?;
    // They are recompiled as they are called.
    server.load.go_on(2_000)?;
    server.load.pause()?;
    let (began, lasts) = (Instant::now(), Duration::from_secs(soak::scaled(SECONDS, 30)));
    let mut before = read_times(&mut controller)?;
    let (mut rounds, mut used) = (0, Vec::new());
    while began.elapsed() < lasts {
        let round = Instant::now();
        server.host.ask("truth-reset", "reset")?;
        server.load.go_on(ANSWERS)?;
        server.load.pause()?;
        let took = round.elapsed();
        let truth = truth::ask(&mut server.host, "truth")?;
        let after = read_times(&mut controller)?;
        for method in KEPT {
            let called = truth
                .iter()
                .find(|(name, _)| is_same_method(name, method))
                .context("the truth lacks a method")?;
            let ((row, times), (old, last)) =
                (server_method(&after, method)?, server_method(&before, method)?);
            ensure!(
                row.calls - old.calls == *called.1,
                "{method}: {row:?} after {old:?}, in truth {}",
                called.1
            );
            ensure!(
                times.exits - last.exits == *called.1 && times.in_flight == 0,
                "{method}: {times:?} after {last:?}, in truth {}",
                called.1
            );
            // Four clients have one request each in flight.
            let (spent, most) = (times.total_ns - last.total_ns, 4.0 * took.as_nanos() as f64 * CLOCKS);
            ensure!(spent > 0 && (spent as f64) < most, "{method}: {spent} ns within {took:?}");
        }
        for (id, (old, last)) in &before {
            // The runtime's own threads keep calling between the readings of calls and times.
            let (row, times) = after.get(id).with_context(|| format!("{old:?} has no times any more"))?;
            let rests = (row.calls, times.exits, times.in_flight) == (old.calls, last.exits, 0);
            ensure!(!rests || is_consistent(times), "{row:?}: {times:?}");
            ensure!(
                last.exits <= row.calls && last.exits <= times.exits,
                "{row:?}: {times:?} after {last:?}"
            );
        }
        let status = controller.agent_status()?;
        ensure!(status.guard_trips == 0, "{status:?}");
        ensure!(status.budgets.iter().all(|budget| budget.used <= budget.limit), "{:?}", status.budgets);
        used.push(status.memory_bytes);
        before = after;
        rounds += 1;
    }
    println!(
        "{rounds} times {ANSWERS} answers with everything timed: the agent's memory {} KiB at first, {} KiB in the end",
        used.first().context("no round")? / 1_024,
        used.last().context("no round")? / 1_024
    );
    let (reverted, _) = controller.all_off()?;
    ensure!(reverted as usize > METHODS.0, "{reverted} are off");
    server.load.go_on(2_000)?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    Ok(())
}

/// Reads calls and times of all methods.
fn read_times(controller: &mut Controller) -> Result<Readings> {
    let answer = controller.ask(WireCommand::Status { pattern: None })?;
    let on = |row: &&StatusRow| {
        row.wanted == Level::Time && matches!(row.state, CopyState::Asked | CopyState::Live)
    };
    let on = answer.rows.iter().filter(on).count();
    let failed: Vec<_> = answer.rows.iter().filter(|row| row.state == CopyState::Failed).collect();
    ensure!(failed.is_empty(), "{failed:?}");
    let times: BTreeMap<_, _> = answer.times.into_iter().map(|times| (times.row, times)).collect();
    let timed =
        answer.rows.into_iter().filter_map(|row| Some((row.row, (row.clone(), *times.get(&row.row)?))));
    let all: Readings = timed.collect();
    let were_timed = all.values().filter(|(_, times)| times.exits > 0).count();
    ensure!(on >= METHODS.0 && were_timed >= METHODS.1, "{on} are on, {were_timed} were timed");
    Ok(all)
}

/// Returns whether the numbers of an idle method are consistent.
fn is_consistent(times: &Times) -> bool {
    let in_order = times.percentiles.as_ref().is_none_or(|p| {
        p.p50_ns <= p.p90_ns && p.p90_ns <= p.p99_ns && p.p99_ns as f64 <= times.max_ns as f64 * CLOCKS
    });
    in_order && times.self_ns <= times.total_ns && times.exceptions <= times.exits
}

/// Returns a method of the server itself.
fn server_method<'a>(all: &'a Readings, method: &str) -> Result<&'a (StatusRow, Times)> {
    let is = |(row, _): &&(StatusRow, Times)| {
        row.module == "web" && is_same_method(&format!("{}{}", row.method, row.signature), method)
    };
    all.values().find(is).with_context(|| format!("{method} has no times"))
}

/// Returns whether two names belong to one method, ignoring namespaces of parameters.
fn is_same_method(one: &str, other: &str) -> bool {
    let short = |name: &str| name.replace("Microsoft.AspNetCore.Http.", "");
    short(one) == short(other)
}
