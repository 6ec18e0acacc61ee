//! `redial hot` on programs whose methods have known self times: it names the hottest, keeps what it announces, and
//! changes no other dial.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, selftimes, signals};
use serde_json::Value;

on_each_runtime!(
    ranks_by_known_self_times_and_keeps_what_it_announces,
    an_interrupt_reverts_everything,
    leaves_out_what_the_budget_does_not_allow,
    changes_nothing_while_another_has_control,
    gives_up_when_nothing_is_called,
    stops_when_someone_turns_everything_off,
);

/// Methods that are on, with their levels.
fn dialled(controller: &mut Controller) -> Result<BTreeSet<(String, Level)>> {
    let rows = controller.status(None)?;
    Ok(rows.into_iter().filter(|row| row.wanted > Level::Off).map(|row| (row.method, row.wanted)).collect())
}

fn names(result: &Value) -> Vec<&str> {
    let methods = result["methods"].as_array().map(Vec::as_slice).unwrap_or_default();
    methods.iter().filter_map(|one| one["method"].as_str()).collect()
}

/// Starts the program, with a dial of someone else.
fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    let live = selftimes::start(runtime)?;
    let mut controller = live.controller()?;
    controller.dial("selftimes!Selftimes.Store(int)", Level::Count, Lifetime::Kept)?;
    Ok((live, controller))
}

/// What the program of [`start`] has on when nothing else is.
fn others() -> BTreeSet<(String, Level)> {
    BTreeSet::from([("Selftimes.Store".to_owned(), Level::Count)])
}

fn ranks_by_known_self_times_and_keeps_what_it_announces(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    // Far apart: on a busy machine, waiting for a processor is part of self time.
    live.host.ask("load 4000 200 50", "loaded")?;
    let result = live.redial("hot", &["--for", "2s", "--top", "2", "--json"])?.ok()?.json()?;
    let known = selftimes::known(&mut live.host, "still")?;
    let price = known["Selftimes.Price"];
    ensure!(known.values().all(|other| price.self_ns >= other.self_ns), "{known:?}");
    ensure!(names(&result) == ["Selftimes.Price", "Selftimes.Parse"], "{result}");
    let hottest = &result["methods"][0];
    let measured = hottest["self_ns"].as_u64().context("nanoseconds")?;
    let calls = hottest["calls"].as_u64().context("calls")?;
    // A call counts when it begins and has time when it ends: the last one may still run.
    ensure!(
        calls > 1 && measured >= (calls - 1) * 4_000_000 && measured <= price.self_ns * 2,
        "{result}: {known:?}"
    );
    ensure!(result["left_alone"] == 1 && result["kept"] == 2 && result["remaining"] == 0, "{result}");
    ensure!(result["called"].as_u64() >= Some(3), "also Serve, which has next to no self time: {result}");

    let announced = names(&result).into_iter().map(|name| (name.to_owned(), Level::Time));
    let expected: BTreeSet<_> = announced.chain(others()).collect();
    let on = dialled(&mut controller)?;
    ensure!(on == expected, "on are {on:?}");
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["held"] == 0 && agent["kept"] == 3, "{agent}");
    ensure!(agent["orders"].as_array().map(Vec::len) == Some(3), "{agent}");
    live.redial("undo", &[])?.ok()?;
    let on = dialled(&mut controller)?;
    ensure!(on == others(), "after undo, on are {on:?}");
    Ok(())
}

/// Starts a search that goes on for long, and waits until it has begun.
fn endless(live: &LiveHost) -> Result<Host> {
    let mut search = Host::start_with_merged_output(live.command("hot", &["--for", "1h"])?)?;
    search.wait_for("redial: counting the calls of ")?;
    Ok(search)
}

fn an_interrupt_reverts_everything(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    live.host.ask("load 100 100 100", "loaded")?;
    let search = endless(&live)?;
    let during = dialled(&mut controller)?;
    ensure!(during.len() > 5 && during.is_superset(&others()), "{during:?}");
    signals::interrupt(search.pid())?;
    let outcome = search.finish()?;
    ensure!(outcome.code()? == 1 && outcome.stdout.contains("redial: stopped; "), "{}", outcome.output());
    let on = dialled(&mut controller)?;
    ensure!(on == others(), "on are {on:?}");
    Ok(())
}

fn leaves_out_what_the_budget_does_not_allow(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    live.host.ask("load 1 1 1", "loaded")?;
    let result = live.redial("hot", &["--for", "1s", "--budget", "0.01", "--json"])?.ok()?.json()?;
    let costly = result["too_costly"].as_array().context("a list")?;
    ensure!(costly.len() >= 3 && costly.iter().all(|one| one["rate"].as_f64() > Some(1_000.0)), "{result}");
    let on = dialled(&mut controller)?;
    let kept = names(&result).into_iter().map(|name| (name.to_owned(), Level::Time));
    ensure!(on == kept.chain(others()).collect(), "on are {on:?}: {result}");
    let text = live.redial("hot", &["selftimes!Selftimes.P*", "--for", "1s", "--budget", "0.01"])?.ok()?;
    ensure!(text.stdout.contains("2 methods are called too often to time"), "{}", text.output());
    Ok(())
}

fn changes_nothing_while_another_has_control(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    live.host.ask("load 100 100 100", "loaded")?;
    controller.dial("selftimes!Selftimes.Never(int)", Level::Time, Lifetime::Held)?;
    let before = dialled(&mut controller)?;
    let refused = live.redial("hot", &["--for", "1s"])?;
    ensure_messages(&refused, 5, &["are controlled by", "--take"])?;
    ensure!(dialled(&mut controller)? == before);
    Ok(())
}

fn gives_up_when_nothing_is_called(runtime: Runtime) -> Result<()> {
    let (live, mut controller) = start(runtime)?;
    let outcome = live.redial("hot", &["--for", "1s"])?;
    ensure!(outcome.code()? == 6, "{}", outcome.output());
    ensure!(
        outcome.stderr.contains(" was called; search again while the program works"),
        "{}",
        outcome.output()
    );
    let nothing = live.redial("hot", &["Nope!*", "--for", "1s"])?;
    ensure!(nothing.code()? == 6, "{}", nothing.output());
    let on = dialled(&mut controller)?;
    ensure!(on == others(), "on are {on:?}");
    Ok(())
}

fn stops_when_someone_turns_everything_off(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    live.host.ask("load 100 100 100", "loaded")?;
    let mut search = Host::start_with_merged_output(live.command("hot", &["--for", "1h"])?)?;
    search.wait_for("redial: counting ")?;
    controller.all_off()?;
    let outcome = search.finish()?;
    ensure!(
        outcome.code()? == 1 && outcome.stdout.contains("someone else turned the dials off"),
        "{}",
        outcome.output()
    );
    let on = dialled(&mut controller)?;
    ensure!(on.is_empty(), "on are {on:?}");
    Ok(())
}
