//! The calls of a web server with every method traced.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::ids::RowId;
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::{Outcome, Value};
use redial_testbed::controller::Controller;
use redial_testbed::host::DEADLINE;
use redial_testbed::load;
use redial_testbed::traced::Calls;

use crate::server::Server;

const TOTAL: &str = "web!Web.Cart.Total(int)";

/// Most memory of all threads' areas and kept calls together (`docs/design/trace.md`).
pub const MAX_BYTES: u64 = (48 + 16) << 20;
/// Most memory for a row and its plan.
pub const MAX_BYTES_OF_METHOD: u64 = 1536;

/// Checks captured values of calls that the load makes, and that calls beyond the rates are reported.
pub fn ensure_captured(server: &mut Server, controller: &mut Controller) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    // Other methods may use up the rate of the process in a second.
    let calls = loop {
        let (calls, _) = list(controller, Some(TOTAL))?;
        if !calls.calls.is_empty() {
            break calls;
        }
        ensure!(Instant::now() < deadline, "no call of {TOTAL} is captured");
        server.load.go_on(50)?;
    };
    for call in &calls.calls {
        let Some(Value::Int(items)) = call.arguments.first() else { anyhow::bail!("{call:?}") };
        let total = i64::from(load::total(u32::try_from(*items)?));
        ensure!(call.outcome == Outcome::Returned(Some(Value::Int(total))), "{call:?} is not {total}");
    }
    server.load.pause()?;
    let (calls, dropped) = list(controller, None)?;
    let sum: u64 = dropped.values().sum();
    println!(
        "everything traced: {} calls of {} methods are kept; {sum} calls of {} methods were dropped",
        calls.calls.len(),
        calls.methods.len(),
        dropped.len()
    );
    ensure!(calls.methods.len() > 100, "calls of {} methods are kept", calls.methods.len());
    ensure!(sum > 1_000, "{sum} calls are reported as dropped");
    // No method is missing in the list of all.
    let (_, of_server) = list(controller, Some("web!*"))?;
    ensure!(!of_server.is_empty(), "none of the server's own calls was dropped");
    let missing: Vec<_> = of_server.iter().filter(|(row, _)| !dropped.contains_key(row)).collect();
    ensure!(missing.is_empty(), "{missing:?} are missing among {} rows", dropped.len());
    server.load.go_on(1)
}

/// Returns the kept calls, and the numbers of those that were dropped by row.
fn list(controller: &mut Controller, pattern: Option<&str>) -> Result<(Calls, BTreeMap<RowId, u64>)> {
    let answer =
        controller.ask(WireCommand::Calls { pattern: pattern.map(str::to_owned), in_flight: false })?;
    let (mut calls, mut dropped) = (Calls::default(), BTreeMap::new());
    for page in &answer.calls {
        calls.take(page)?;
        if let Event::Calls { dropped: of_page, .. } = page {
            dropped.extend(of_page.iter().map(|one| (one.row, one.over_rate + one.no_room)));
        }
    }
    calls.calls.iter().try_for_each(|call| calls.methods.get(&call.plan).map(drop).context("a method"))?;
    Ok((calls, dropped))
}
