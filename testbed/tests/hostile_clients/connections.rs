//! Connections without end.

use std::time::{Duration, Instant};

use anyhow::Result;
use redial_testbed::process_facts::Fact;
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::TargetHost;
use redial_testbed::{on_each_runtime, soak};

use crate::shop;

on_each_runtime!(connects_at_a_high_rate_leave_nothing_behind);

fn connects_at_a_high_rate_leave_nothing_behind(runtime: Runtime) -> Result<()> {
    const PER_SECOND: u32 = 1_000;
    let time = Duration::from_secs(soak::scaled(3, 20));
    let host = TargetHost::start(shop(runtime)?)?;
    let mut other = host.live.controller()?;
    let (threads, connections) = (host.fact(Fact::Threads)?, host.connections()?);
    let begun = Instant::now();
    let mut connects = 0;
    while begun.elapsed() < time {
        drop(host.connect()?);
        connects += 1;
        if connects % PER_SECOND == 0 {
            other.agent_status()?;
        }
        std::thread::sleep((Duration::from_secs(1) * connects / PER_SECOND).saturating_sub(begun.elapsed()));
    }
    let rate = f64::from(connects) / begun.elapsed().as_secs_f64();
    eprintln!("{rate:.0} connects a second for {:.1?}", begun.elapsed());
    other.agent_status()?;
    host.wait_for_no_more_than(threads, connections)
}
