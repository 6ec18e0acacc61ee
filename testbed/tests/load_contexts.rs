//! Copies of one file in several load contexts: each is dialled alone by its ModuleID, all of them by name; another
//! version of the file is matched by name and not by token.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::csharp::Compilation;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, Live, ensure_said};
use redial_testbed::{cache, on_each_runtime, programs};

on_each_runtime!(
    a_dial_of_one_copy_counts_only_its_calls,
    a_copy_that_loads_later_counts_from_its_first_call,
    a_new_version_is_matched_by_name,
    the_il_of_one_copy_is_shown,
);

const ADD: &str = "Copied!Copied.Counter.Add(int)";

/// The program with this many copies whose code has run, and a session.
fn start(runtime: Runtime, copies: usize) -> Result<(Live, Controller)> {
    let mut live = under_agent::start(programs::named("alc")?.command(runtime)?)?;
    for copy in 0..copies {
        load(&mut live, copy)?;
        call(&mut live, copy, 2)?;
    }
    let controller = live.controller()?;
    Ok((live, controller))
}

fn load(live: &mut Live, copy: usize) -> Result<()> {
    live.host.ask("load", &format!("loaded {copy} ")).map(drop)
}

/// The same assembly built anew: its method has another token there, and another method has its.
fn newer_version() -> Result<PathBuf> {
    let source = cache::checkout().join("testbed/programs/alc/Copied/Counter.cs");
    let mut newer = Compilation::library("Copied", vec![source]);
    newer.options.push("-define:NEWER".into());
    newer.build()
}

fn call(live: &mut Live, copy: usize, times: usize) -> Result<()> {
    live.host.ask(&format!("call {copy} {times}"), &format!("called {copy} ")).map(drop)
}

/// Calls each of `copies` copies, no two as often as each other; checks that exactly those of which `counts` holds
/// have rows that grew by that, and no other has.
fn only(
    live: &mut Live,
    controller: &mut Controller,
    copies: usize,
    counts: impl Fn(usize) -> bool,
) -> Result<()> {
    let modules = copies_of(controller)?;
    ensure!(modules.len() == copies, "{} modules are there, not {copies}", modules.len());
    let of = |rows: &[StatusRow], module: u64| {
        rows.iter().filter(|row| row.copy.module.module_id == module).map(|row| row.calls).sum::<u64>()
    };
    let before = controller.status(Some("Copied!*"))?;
    for copy in 0..copies {
        call(live, copy, 10 * (copy + 1))?;
    }
    let after = controller.status(Some("Copied!*"))?;
    for (copy, module) in modules.into_iter().enumerate() {
        let counted = of(&after, module) - of(&before, module);
        let expected = if counts(copy) { 10 * (copy + 1) as u64 } else { 0 };
        ensure!(counted == expected, "copy {copy} counted {counted}, not {expected}: {after:?}");
    }
    ensure!(after.iter().all(|row| row.method == "Copied.Counter.Add"), "{after:?}");
    Ok(())
}

/// ModuleIDs of the copies, in order of loading.
fn copies_of(controller: &mut Controller) -> Result<Vec<u64>> {
    let (_, mut modules) = controller.modules()?;
    modules.retain(|module| module.name == "Copied");
    modules.sort_by_key(|module| module.key.generation);
    Ok(modules.into_iter().map(|module| module.key.module_id).collect())
}

fn turn(controller: &mut Controller, order: Order, copies: u64) -> Result<()> {
    let report = controller.order(vec![order.clone()], Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (copies, copies), "{order:?}: {report:?}");
    Ok(())
}

fn one(level: Level, module: u64) -> Order {
    Order { copy: Some(module), ..Order::new(ADD, level) }
}

fn end(mut live: Live, controller: &mut Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_said(&live.host.finish()?, 0, &[])
}

fn a_dial_of_one_copy_counts_only_its_calls(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 3)?;
    let copies = copies_of(&mut controller)?;
    turn(&mut controller, one(Level::Count, copies[1]), 1)?;
    only(&mut live, &mut controller, 3, |copy| copy == 1)?;
    let row = controller.row(ADD)?;
    ensure!((row.copy.module.module_id, row.state) == (copies[1], CopyState::Live), "{row:?}");
    // A copy that comes is not that one, though it is the same file.
    load(&mut live, 3)?;
    only(&mut live, &mut controller, 4, |copy| copy == 1)?;
    // The latest order decides for each.
    turn(&mut controller, Order::new(ADD, Level::Count), 4)?;
    turn(&mut controller, one(Level::Off, copies[1]), 1)?;
    only(&mut live, &mut controller, 4, |copy| copy != 1)?;
    turn(&mut controller, one(Level::Count, copies[1]), 1)?;
    turn(&mut controller, one(Level::Off, copies[2]), 1)?;
    only(&mut live, &mut controller, 4, |copy| copy != 2)?;
    turn(&mut controller, Order::new(ADD, Level::Off), 4)?;
    only(&mut live, &mut controller, 4, |_| false)?;
    end(live, &mut controller)
}

fn a_copy_that_loads_later_counts_from_its_first_call(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 3)?;
    turn(&mut controller, Order::new(ADD, Level::Count), 3)?;
    only(&mut live, &mut controller, 3, |_| true)?;
    for copy in 3..8 {
        load(&mut live, copy)?;
        only(&mut live, &mut controller, copy + 1, |_| true)?;
    }
    turn(&mut controller, Order::new(ADD, Level::Off), 8)?;
    load(&mut live, 8)?;
    only(&mut live, &mut controller, 9, |_| false)?;
    end(live, &mut controller)
}

fn a_new_version_is_matched_by_name(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 1)?;
    turn(&mut controller, Order::new(ADD, Level::Count), 1)?;
    only(&mut live, &mut controller, 1, |_| true)?;
    let path = newer_version()?.display().to_string();
    let mvid = live.host.ask(&format!("load {path}"), "loaded 1 ")?;
    // The method that now has the old token is called as often as the one with the name.
    only(&mut live, &mut controller, 2, |_| true)?;
    let rows = controller.status(Some(ADD))?;
    ensure!(rows.len() == 2 && rows[0].copy.token != rows[1].copy.token, "{rows:?}");
    let (_, modules) = controller.modules()?;
    let newer = modules.iter().find(|module| module.path == path).context("the newer version is listed")?;
    ensure!(newer.mvid.eq_ignore_ascii_case(&mvid), "{newer:?} is not {mvid}");
    let newer_row = rows.iter().find(|row| row.copy.module == newer.key).context("it has a row")?;
    // Its token is a name of its own: in the older version it names nothing.
    let by_token = format!("Copied!0x{:08x}", newer_row.copy.token.0);
    turn(&mut controller, Order::new(&by_token, Level::Off), 1)?;
    only(&mut live, &mut controller, 2, |copy| copy == 0)?;
    end(live, &mut controller)
}

/// Which of several copies is meant is asked; with `--copy` that one is shown, its own IL or what runs in it.
fn the_il_of_one_copy_is_shown(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 2)?;
    live.host.ask(&format!("load {}", newer_version()?.display()), "loaded 2 ")?;
    let copies = copies_of(&mut controller)?;
    let ids: Vec<String> = copies.iter().map(|copy| format!("{copy:#x}")).collect();
    let which = live.redial("il", &[ADD])?;
    ensure_said(&which, 2, &["is loaded 3 times; choose one with --copy ", &ids[0], &ids[1], &ids[2]])?;
    ensure_said(&live.redial("il", &[ADD, "--copy", "0x10"])?, 6, &["is in module 0x10"])?;

    turn(&mut controller, one(Level::Count, copies[1]), 1)?;
    only(&mut live, &mut controller, 3, |copy| copy == 1)?;
    for (copy, id) in ids.iter().enumerate() {
        let read = |further: &[&str]| {
            live.redial("il", &[&[ADD, "--copy", id, "--json"], further].concat())?.ok()?.json()
        };
        let own = read(&[])?;
        ensure!(own["module_id"] == id.as_str() && own["source"] == "original", "copy {copy}: {own}");
        // The newer file's body is another.
        ensure!(
            own["instructions"].to_string().contains("Copied.Counter.Twice") == (copy == 2),
            "copy {copy}: {own}"
        );
        let instrumented = read(&["--instrumented"])?;
        let source = if copy == 1 { "handed-over" } else { "would-be" };
        ensure!(instrumented["source"] == source, "copy {copy}: {instrumented}");
    }
    end(live, &mut controller)
}
