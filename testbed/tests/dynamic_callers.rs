//! Callers that disappear: dynamic methods call dialled methods and are destroyed while their names are looked up.
#![cfg(target_os = "linux")]

use anyhow::{Result, bail, ensure};
use redial_protocol::callers::{CallOrigin, Caller};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::{Order, TimeOptions};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{generate, programs, soak, under_agent};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

on_each_runtime!(names_dynamic_callers_while_others_are_destroyed);

const HOT: &str = "Hot!Hot.H*.M*";

/// Numbers of calls by origin.
type Calls = BTreeMap<CallOrigin, u64>;

fn callers(controller: &mut Controller, row: RowId) -> Result<Vec<Caller>> {
    match controller.ask(WireCommand::Callers { row })?.reply {
        Reply::Callers(listed) => Ok(listed.callers),
        other => bail!("{other:?}"),
    }
}

fn named(name: &str) -> CallOrigin {
    CallOrigin::Dynamic { name: name.into() }
}

/// Two threads call a thousand methods from places that are new all the time, and destroy the callers. The agent never
/// reads a name that the runtime has freed: it leaves such callers unnamed, or finds them gone.
fn names_dynamic_callers_while_others_are_destroyed(runtime: Runtime) -> Result<()> {
    let mut command = programs::named("dynamic")?.command(runtime)?;
    command.arg(generate::hot_library()?);
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    let options = TimeOptions { callers: true, ..TimeOptions::default() };
    controller.order(vec![Order { options, ..Order::new(HOT, Level::Time) }], Lifetime::Kept)?;
    live.host.ask("keep", "kept")?;
    let rows = controller.status(Some(HOT))?;
    for row in &rows {
        let listed = callers(&mut controller, row.row)?;
        let made = named("Made");
        ensure!(matches!(&listed[..], [one] if one.origin == made && one.calls == 1), "{listed:?}");
    }

    let rounds = soak::scaled(20, 10);
    live.host.say(&format!("churn {rounds}"))?;
    let ended = AtomicBool::new(false);
    let ask = || -> Result<Calls> {
        let mut found = Calls::new();
        while !ended.load(Ordering::Acquire) {
            for row in &rows {
                for caller in callers(&mut controller, row.row)? {
                    *found.entry(caller.origin).or_default() += caller.calls;
                }
                if ended.load(Ordering::Acquire) {
                    break;
                }
            }
        }
        Ok(found)
    };
    let found = std::thread::scope(|scope| -> Result<Calls> {
        let asking = scope.spawn(ask);
        let churned = live.host.wait_for(&format!("churned {rounds}"));
        ended.store(true, Ordering::Release);
        churned?;
        asking.join().unwrap_or_else(|_| bail!("the asking thread panicked"))
    })?;
    println!("{}: {found:?}", runtime.name());
    // Native where the runtime stops the thread at its return.
    let possible = [named("Made"), named(""), CallOrigin::Gone, CallOrigin::Native];
    ensure!(found.keys().all(|origin| possible.contains(origin)), "{found:?}");
    let status = controller.agent_status()?;
    ensure!(status.guard_trips == 0, "{status:?}");
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}
