//! Code that the runtime cannot recompile: collectible, emitted and dynamic methods. The agent refuses it, and
//! the host continues.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::Remainder;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{host, on_each_runtime, programs, soak};
use redial_text::diagnostics::{Reader, row_notes};

on_each_runtime!(
    refuses_code_that_cannot_be_recompiled,
    standing_orders_refuse_it_too,
    unloaded_context_leaves_lost_rows,
);

const TWICE: &str = "*.Work.Twice(int)";

fn start(runtime: Runtime) -> Result<LiveHost> {
    under_agent::start(programs::named("collectible")?.command(runtime)?)
}

/// Loads a kind of code. Returns false if the runtime lacks it (collectible on 2.1).
fn load(live: &mut LiveHost, kind: &str) -> Result<bool> {
    live.host.say(&format!("load {kind}"))?;
    Ok(live.host.next_line()?.starts_with("loaded"))
}

fn call(live: &mut LiveHost, kind: &str, times: u32) -> Result<()> {
    live.host.ask(&format!("call {kind} {times}"), "called").map(drop)
}

fn refusals(live: &LiveHost, controller: &mut Controller) -> Result<Vec<(String, CopyState, String)>> {
    ensure!(live.pid == controller.pid());
    let rows = controller.status(Some(TWICE))?;
    let row = |row: redial_protocol::message::StatusRow| {
        (
            row.module,
            row.state,
            row.note.map(|note| row_notes::note(note, Reader::CommandLine).into_owned()).unwrap_or_default(),
        )
    };
    Ok(rows.into_iter().map(row).collect())
}

fn refuses_code_that_cannot_be_recompiled(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let mut controller = live.controller()?;
    let mut kinds = Vec::new();
    for kind in ["run", "collect", "method", "collectible"] {
        if load(&mut live, kind)? {
            call(&mut live, kind, 3)?;
            kinds.push(kind);
        }
    }
    ensure!(kinds.contains(&"collectible") == (runtime != Runtime::V2_1), "{kinds:?}");
    // A dynamic method belongs to no module, so it is not found.
    let findable = kinds.len() as u64 - 1;
    let report = controller.dial(TWICE, Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (findable, 0), "{report:?}");
    let allowed = [Reason::Dynamic, Reason::Collectible];
    ensure!(report.refused_by_reason.iter().all(|(reason, _)| allowed.contains(reason)), "{report:?}");
    ensure!(report.refused_by_reason.iter().map(|(_, copies)| copies).sum::<u64>() == findable, "{report:?}");
    ensure_messages(&live.redial("dial", &["Emitted_run!*", "count"])?, 1, &[])?;
    for kind in &kinds {
        call(&mut live, kind, 50)?;
    }
    // Its counterpart in a normal context is dialled; the others beside it are not.
    ensure!(load(&mut live, "plain")?);
    let outcome = live.redial("dial", &[TWICE, "count"])?;
    ensure_messages(&outcome, 7, &[])?;
    ensure!(outcome.stdout.contains("1 accepted"), "{}", outcome.output());
    for kind in kinds.iter().chain(&["plain"]) {
        call(&mut live, kind, 50)?;
    }
    let mut live_rows = 0;
    for row in controller.status(Some(TWICE))? {
        match row.state {
            CopyState::Live => {
                ensure!(row.calls == 50, "{row:?}");
                live_rows += 1;
            }
            CopyState::Refused => ensure!(row.calls == 0 && row.note.is_some(), "{row:?}"),
            _ => ensure!(false, "{row:?}"),
        }
    }
    ensure!(live_rows == 1, "{live_rows} rows are live");
    ensure!(controller.all_off()? == (1, 0));
    for kind in kinds.iter().chain(&["plain"]) {
        call(&mut live, kind, 50)?;
    }
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

fn standing_orders_refuse_it_too(runtime: Runtime) -> Result<()> {
    let program = programs::named("collectible")?.command(runtime)?;
    let dial = format!("{TWICE}=count");
    let mut live = under_agent::start_prepared(host::redial_run(&["--dial", &dial], &program)?)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    for kind in ["collectible", "run", "collect", "method", "plain"] {
        if load(&mut live, kind)? {
            call(&mut live, kind, 20)?;
        }
    }
    // Loading does not wait for the scan of a module that is refused anyway.
    controller.wait_until("a collectible copy to be refused", |dials| {
        runtime == Runtime::V2_1
            || dials.values().any(|row| row.module == "Gathered" && row.state == CopyState::Refused)
    })?;
    let rows = refusals(&live, &mut controller)?;
    let gathered: Vec<_> = rows.iter().filter(|(module, ..)| module == "Gathered").collect();
    let refused =
        gathered.iter().filter(|(_, state, note)| *state == CopyState::Refused && !note.is_empty()).count();
    ensure!(refused == usize::from(runtime != Runtime::V2_1), "{rows:?}");
    let plain = controller.status(Some("Gathered!*.Twice"))?;
    ensure!(plain.iter().map(|row| row.calls).sum::<u64>() == 20, "{plain:?}");
    ensure!(controller.agent_status()?.missed_deadlines == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Repeated many times, so that the runtime reuses ModuleIDs.
fn unloaded_context_leaves_lost_rows(runtime: Runtime) -> Result<()> {
    /// Unloaded modules whose rows the agent still shows.
    const SHOWN: usize = 16;
    let times = soak::scaled(20, 50) as usize;
    let mut live = start(runtime)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    ensure!(load(&mut live, "plain")?);
    let report = controller.dial(TWICE, Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    if !load(&mut live, "collectible")? {
        ensure!(runtime == Runtime::V2_1);
        return Ok(());
    }
    for round in 1..=times {
        if round > 1 {
            ensure!(load(&mut live, "collectible")?);
        }
        call(&mut live, "collectible", 3)?;
        call(&mut live, "plain", 3)?;
        // On a busy machine the agent may scan a module after its first call.
        controller.wait_until("the row to be refused", |dials| {
            dials.values().any(|row| row.state == CopyState::Refused)
        })?;
        live.host.ask("unload", "unloaded")?;
        controller.wait_until("the row to be lost", |dials| {
            dials.values().filter(|row| row.state == CopyState::Lost).count() == round
        })?;
    }
    let remains = controller.agent_status()?.remains;
    let is_unfinished = |one: &Remainder| matches!(one, Remainder::UnfinishedReads { .. });
    ensure!(!remains.iter().any(is_unfinished), "{remains:?}");
    let rows = controller.status(Some(TWICE))?;
    ensure!(rows.len() == SHOWN + 1, "{} rows", rows.len());
    for row in &rows {
        match row.state {
            CopyState::Live => ensure!(row.calls == 3 * times as u64, "{row:?}"),
            CopyState::Lost => {
                ensure!(row.calls == 0 && row.version.is_none() && row.wanted == Level::Off, "{row:?}")
            }
            _ => ensure!(false, "{row:?}"),
        }
    }
    // Every reported generation had its own key.
    let mut keys: Vec<_> = controller.dials().values().map(|row| row.copy.module).collect();
    keys.sort_unstable();
    keys.dedup();
    ensure!(keys.len() == times + 1, "two lives of a module share a key: {:?}", controller.dials());
    // The standing order matches only what is loaded now.
    let report = controller.dial(TWICE, Level::Count, Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}
