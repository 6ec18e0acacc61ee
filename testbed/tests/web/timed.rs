//! Everything of the serving program timed for a minute, in the soak for ten: the answers stay right, calls and times stay
//! exact, nothing drifts, and memory stays within its budget.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::ids::RowId;
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

/// What one look found: calls and times of every row that has times.
type All = BTreeMap<RowId, (StatusRow, Times)>;

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
            let called =
                truth.iter().find(|(name, _)| same(name, method)).context("the truth lacks a method")?;
            let ((row, times), (old, last)) = (of_server(&after, method)?, of_server(&before, method)?);
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
            // Four clients ask, one request each at a time.
            let (spent, most) = (times.total_ns - last.total_ns, 4.0 * took.as_nanos() as f64 * CLOCKS);
            ensure!(spent > 0 && (spent as f64) < most, "{method}: {spent} ns within {took:?}");
        }
        for (id, (row, times)) in &after {
            // The runtime's own threads call on between the reading of calls and that of times.
            let Some((_, last)) = before.get(id) else { continue };
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
    controller.all_off()?;
    server.load.go_on(2_000)?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    Ok(())
}

/// Calls and times of all methods, which make sense each by itself.
fn look(controller: &mut Controller) -> Result<All> {
    let answer = controller.ask(Command::Status { pattern: None })?;
    let on = |row: &&StatusRow| row.wanted == Level::Time && matches!(row.state, State::Asked | State::Live);
    let on = answer.rows.iter().filter(on).count();
    let failed: Vec<_> = answer.rows.iter().filter(|row| row.state == State::Failed).collect();
    ensure!(on >= METHODS && failed.is_empty(), "{on} are on, {failed:?}");
    let times: BTreeMap<_, _> = answer.times.into_iter().map(|times| (times.row, times)).collect();
    let timed =
        answer.rows.into_iter().filter_map(|row| Some((row.row, (row.clone(), *times.get(&row.row)?))));
    let all: All = timed.collect();
    for (row, one) in all.values() {
        let in_order = one.percentiles.as_ref().is_none_or(|p| {
            p.p50_ns <= p.p90_ns && p.p90_ns <= p.p99_ns && p.p99_ns as f64 <= one.max_ns as f64 * CLOCKS
        });
        // Of a recursion under way the outermost call is not in the total yet.
        let spent = one.self_ns <= one.total_ns || one.in_flight > 0;
        ensure!(in_order && spent && one.exceptions <= one.exits, "{row:?}: {one:?}");
    }
    Ok(all)
}

/// A method of the server's own.
fn of_server<'a>(all: &'a All, method: &str) -> Result<&'a (StatusRow, Times)> {
    let is = |(row, _): &&(StatusRow, Times)| {
        row.module == "web" && same(&format!("{}{}", row.method, row.signature), method)
    };
    all.values().find(is).with_context(|| format!("{method} has no times"))
}

/// Whether two names are of one method, namespaces of parameters aside.
fn same(one: &str, other: &str) -> bool {
    let short = |name: &str| name.replace("Microsoft.AspNetCore.Http.", "");
    short(one) == short(other)
}
