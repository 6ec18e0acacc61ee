//! Copies of one file in several load contexts: each is dialled alone by its ModuleID, all of them by name.
//! Another version of the file is matched by name and not by token.

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};

on_each_runtime!(
    dial_of_one_copy_counts_only_its_calls,
    later_copy_counts_from_its_first_call,
    matches_new_version_by_name,
    shows_il_of_one_copy,
);

const ADD: &str = "Copied!Copied.Counter.Add(int)";

/// Starts the program with this many copies whose code has run, and connects a session.
fn start(runtime: Runtime, copies: usize) -> Result<(LiveHost, Controller)> {
    let mut live = under_agent::start(programs::named("alc")?.command(runtime)?)?;
    for copy in 0..copies {
        load(&mut live, copy)?;
        call(&mut live, copy, 2)?;
    }
    let controller = live.controller()?;
    Ok((live, controller))
}

fn load(live: &mut LiveHost, copy: usize) -> Result<()> {
    live.host.ask("load", &format!("loaded {copy} ")).map(drop)
}

fn call(live: &mut LiveHost, copy: usize, times: usize) -> Result<()> {
    live.host.ask(&format!("call {copy} {times}"), &format!("called {copy} ")).map(drop)
}

/// Calls each of `copies` copies a different number of times. Checks that exactly the copies accepted by
/// `counts` have rows that grew by that number.
fn ensure_only_counted_in(
    live: &mut LiveHost,
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

/// Returns the ModuleIDs of the copies in loading order.
fn copies_of(controller: &mut Controller) -> Result<Vec<u64>> {
    let (_, mut modules) = controller.modules()?;
    modules.retain(|module| module.name == "Copied");
    modules.sort_by_key(|module| module.key.generation);
    Ok(modules.into_iter().map(|module| module.key.module_id).collect())
}

fn turn(controller: &mut Controller, order: Order, copies: u64) -> Result<()> {
    let report = controller.order(vec![order.clone()], Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (copies, copies), "{order:?}: {report:?}");
    Ok(())
}

fn copy_order(level: Level, module: u64) -> Order {
    Order { copy: Some(module), ..Order::new(ADD, level) }
}

fn end(mut live: LiveHost, controller: &mut Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure!(controller.all_off()?.1 == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

fn dial_of_one_copy_counts_only_its_calls(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 3)?;
    let copies = copies_of(&mut controller)?;
    turn(&mut controller, copy_order(Level::Count, copies[1]), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 3, |copy| copy == 1)?;
    let row = controller.row(ADD)?;
    ensure!((row.copy.module.module_id, row.state) == (copies[1], CopyState::Live), "{row:?}");
    // A later copy is a different one, although it comes from the same file.
    load(&mut live, 3)?;
    ensure_only_counted_in(&mut live, &mut controller, 4, |copy| copy == 1)?;
    // The latest order decides for each copy.
    turn(&mut controller, Order::new(ADD, Level::Count), 4)?;
    turn(&mut controller, copy_order(Level::Off, copies[1]), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 4, |copy| copy != 1)?;
    turn(&mut controller, copy_order(Level::Count, copies[1]), 1)?;
    turn(&mut controller, copy_order(Level::Off, copies[2]), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 4, |copy| copy != 2)?;
    turn(&mut controller, Order::new(ADD, Level::Off), 4)?;
    ensure_only_counted_in(&mut live, &mut controller, 4, |_| false)?;
    end(live, &mut controller)
}

fn later_copy_counts_from_its_first_call(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 3)?;
    turn(&mut controller, Order::new(ADD, Level::Count), 3)?;
    ensure_only_counted_in(&mut live, &mut controller, 3, |_| true)?;
    for copy in 3..8 {
        load(&mut live, copy)?;
        ensure_only_counted_in(&mut live, &mut controller, copy + 1, |_| true)?;
    }
    turn(&mut controller, Order::new(ADD, Level::Off), 8)?;
    load(&mut live, 8)?;
    ensure_only_counted_in(&mut live, &mut controller, 9, |_| false)?;
    end(live, &mut controller)
}

fn matches_new_version_by_name(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 1)?;
    turn(&mut controller, Order::new(ADD, Level::Count), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 1, |_| true)?;
    let path = programs::newer_copied()?.display().to_string();
    let mvid = live.host.ask(&format!("load {path}"), "loaded 1 ")?;
    // The method with the old token is called as often as the one with the name.
    ensure_only_counted_in(&mut live, &mut controller, 2, |_| true)?;
    let rows = controller.status(Some(ADD))?;
    ensure!(rows.len() == 2 && rows[0].copy.token != rows[1].copy.token, "{rows:?}");
    let (_, modules) = controller.modules()?;
    let newer = modules.iter().find(|module| module.path == path).context("the newer version is listed")?;
    ensure!(newer.mvid.eq_ignore_ascii_case(&mvid), "{newer:?} is not {mvid}");
    let newer_row = rows.iter().find(|row| row.copy.module == newer.key).context("it has a row")?;
    // Its token alone names a method; in the older version it names none.
    let by_token = format!("Copied!0x{:08x}", newer_row.copy.token.0);
    turn(&mut controller, Order::new(&by_token, Level::Off), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 2, |copy| copy == 0)?;
    end(live, &mut controller)
}

/// With several copies the command asks for one. `--copy` shows that one's own IL or its current body.
fn shows_il_of_one_copy(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime, 2)?;
    live.host.ask(&format!("load {}", programs::newer_copied()?.display()), "loaded 2 ")?;
    let copies = copies_of(&mut controller)?;
    let ids: Vec<String> = copies.iter().map(|copy| format!("{copy:#x}")).collect();
    let which = live.redial("il", &[ADD])?;
    ensure_messages(&which, 2, &["is loaded 3 times; choose one with --copy ", &ids[0], &ids[1], &ids[2]])?;
    ensure_messages(&live.redial("il", &[ADD, "--copy", "0x10"])?, 6, &["is in module 0x10"])?;

    turn(&mut controller, copy_order(Level::Count, copies[1]), 1)?;
    ensure_only_counted_in(&mut live, &mut controller, 3, |copy| copy == 1)?;
    for (copy, id) in ids.iter().enumerate() {
        let read = |further: &[&str]| {
            live.redial("il", &[&[ADD, "--copy", id, "--json"], further].concat())?.ok()?.json()
        };
        let own = read(&[])?;
        ensure!(own["module_id"] == id.as_str() && own["source"] == "original", "copy {copy}: {own}");
        // The newer file has a different body.
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
