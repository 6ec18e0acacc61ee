//! Row `hostile`: the throughput of a host beside a client that does everything in its power to the agent, against the
//! same client on a socket that discards everything.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Result;
use redial_testbed::busy_host::BusyHost;
use redial_testbed::discarding_server::DiscardingServer;
use redial_testbed::hostility::Hostility;
use redial_testbed::runtimes::Runtime;

use super::context::Bench;
use super::report::{Limit, Row};

/// Allowed time per answer, against the control: 0.9 of the throughput.
const SLOWER: f64 = 1.11;
/// Time until the client's sessions are there, and the agent's reserve of processor time is used up.
const LEAD_IN: Duration = Duration::from_secs(4);

/// Measures a web server on 8.0 and Shop's loop elsewhere, one process for all pairs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let time = Duration::from_secs(if bench.quick { 8 } else { 60 });
    let host = RefCell::new(BusyHost::start(runtime, bench.built.agent())?);
    let rate = || host.borrow_mut().rate(time, || Ok(()));
    // Warm-up.
    host.borrow_mut().rate(LEAD_IN, || Ok(()))?;
    let microseconds = |rate: f64| 1e6 / rate;
    let pairs = bench.pairs(
        || {
            let server = DiscardingServer::start("bench-hostile")?;
            let _client = Hostility::start(server.path());
            std::thread::sleep(LEAD_IN);
            rate().map(microseconds)
        },
        || {
            let _client = Hostility::start(&host.borrow().socket()?);
            std::thread::sleep(LEAD_IN);
            rate().map(microseconds)
        },
    )?;
    host.into_inner().end()?;
    let work = if runtime == Runtime::V8_0 { "answers of a web server" } else { "rounds of Shop" };
    let subject = format!("{work} beside a hostile client");
    Ok(vec![Row::of(subject, runtime.name(), "µs each", pairs).at_most(Limit::Ratio(SLOWER))])
}
