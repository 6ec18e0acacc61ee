//! Everything of the serving program timed for a minute, in the soak for ten: the answers stay right, calls and times stay
//! exact, nothing drifts, and memory stays within its budget.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Command, StatusRow};
use redial_protocol::state::State;
use redial_protocol::times::Times;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::{soak, truth};

use crate::server::{KEPT, Server};

/// How long it serves, minutes.
const MINUTES: u64 = 1;
/// Answers between two looks at all numbers.
const ANSWERS: u64 = 4_000;
/// Methods that are timed, at least.
const METHODS: usize = 10_000;
/// What a count and a time from different clocks may differ by.
const CLOCKS: f64 = 1.02;

/// The rows of the server's methods by name, with their times.
type Rows = BTreeMap<String, (StatusRow, Times)>;

pub fn serves_timed(server: &mut Server) -> Result<()> {
    server.load.go_on(2_000)?;
    let mut controller = Controller::connect(server.pid)?;
    controller.dial_all(&["*"], Level::Time, Stay::Kept)?;
    // They are compiled anew as they are called.
    server.load.go_on(2_000)?;
    server.load.pause()?;
    let (began, lasts) = (Instant::now(), Duration::from_secs(60 * soak::scaled(MINUTES, 10)));
    let mut before = look(&mut controller)?;
    let (mut rounds, mut used) = (0, Vec::new());
    while began.elapsed() < lasts {
        let round = Instant::now();
        server.host.ask("truth-reset", "reset")?;
        server.load.go_on(ANSWERS)?;
        server.load.pause()?;
        let took = round.elapsed();
        let truth = truth::ask(&mut server.host, "truth")?;
        let after = look(&mut controller)?;
        for method in KEPT {
            let called = truth.iter().find(|(name, _)| same(name, method)).context("the truth lacks a method")?;
            let ((row, times), (old, last)) = (&after[method], &before[method]);
            ensure!(row.calls - old.calls == *called.1, "{method}: {row:?} after {old:?}, in truth {}", called.1);
            ensure!(
                times.exits - last.exits == *called.1 && times.in_flight == 0,
                "{method}: {times:?} after {last:?}, in truth {}",
                called.1
            );
            // Four clients ask, one request each at a time.
            let (spent, most) = (times.total_ns - last.total_ns, 4.0 * took.as_nanos() as f64 * CLOCKS);
            ensure!(spent > 0 && (spent as f64) < most, "{method}: {spent} ns within {took:?}");
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
    controller.all_off()?;
    server.load.go_on(2_000)?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    Ok(())
}

/// All rows, each of which makes sense; those of the server's own methods.
fn look(controller: &mut Controller) -> Result<Rows> {
    let answer = controller.ask(Command::Status { pattern: None })?;
    let times: BTreeMap<_, _> = answer.times.into_iter().map(|times| (times.row, times)).collect();
    let on = |row: &&StatusRow| row.wanted == Level::Time && matches!(row.state, State::Asked | State::Live);
    let on = answer.rows.iter().filter(on).count();
    let failed: Vec<_> = answer.rows.iter().filter(|row| row.state == State::Failed).collect();
    ensure!(on >= METHODS && failed.is_empty(), "{on} are on, {failed:?}");
    for (row, one) in answer.rows.iter().filter_map(|row| Some((row, times.get(&row.row)?))) {
        let in_order = one.percentiles.as_ref().is_none_or(|p| {
            p.p50_ns <= p.p90_ns && p.p90_ns <= p.p99_ns && p.p99_ns as f64 <= one.max_ns as f64 * CLOCKS
        });
        let exits = one.exits <= row.calls && one.exceptions <= one.exits;
        // Of a recursion under way the outermost call is not in the total yet.
        let spent = one.self_ns <= one.total_ns || one.in_flight > 0;
        ensure!(in_order && exits && spent, "{row:?}: {one:?}");
    }
    let of_server = |row: StatusRow| {
        let times = *times.get(&row.row)?;
        let name = KEPT.iter().find(|name| same(&format!("{}{}", row.method, row.signature), name))?;
        (row.module == "web").then(|| ((*name).to_owned(), (row, times)))
    };
    let rows: Rows = answer.rows.into_iter().filter_map(of_server).collect();
    ensure!(rows.len() == KEPT.len(), "times of {:?} only", rows.keys());
    Ok(rows)
}

/// Whether two names are of one method, namespaces of parameters aside.
fn same(one: &str, other: &str) -> bool {
    let short = |name: &str| name.replace("Microsoft.AspNetCore.Http.", "");
    short(one) == short(other)
}
