//! The calls of a web server with every method traced.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::trace::{Outcome, Value};
use redial_testbed::controller::Controller;
use redial_testbed::host::DEADLINE;
use redial_testbed::load;
use redial_testbed::traced::{dropped, ensure_bounded, list};

use crate::server::Server;

const TOTAL: &str = "Web.Cart.Total";

/// Checks captured values of calls that the load makes, the agent's memory, and that calls beyond the rates are reported.
pub fn ensure_captured(server: &mut Server, controller: &mut Controller) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    // Other methods may use up the rate of the process in a second.
    let calls = loop {
        let calls = list(controller, false)?;
        if !calls.of(TOTAL).is_empty() {
            break calls;
        }
        ensure!(Instant::now() < deadline, "no call of {TOTAL} is captured");
        server.load.go_on(50)?;
    };
    for call in calls.of(TOTAL) {
        let Some(Value::Int(items)) = call.arguments.first() else { anyhow::bail!("{call:?}") };
        let total = i64::from(load::total(u32::try_from(*items)?));
        ensure!(call.outcome == Outcome::Returned(Some(Value::Int(total))), "{call:?} is not {total}");
    }
    server.load.pause()?;
    ensure_bounded(controller)?;
    // No method is missing in the list of all.
    let (all, of_server) = (dropped(controller, None)?, dropped(controller, Some("web!*"))?);
    let (row, _) = of_server.first_key_value().context("none of the server's own calls was dropped")?;
    ensure!(of_server.keys().all(|row| all.contains_key(row)), "some of {row:?}… are missing in {all:?}");
    server.load.go_on(1)
}
