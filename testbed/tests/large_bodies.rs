//! The JIT does not optimize methods above 60,000 bytes of IL. A level whose code would take a method there is refused.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::sources::LARGE_BODIES;
use redial_testbed::{on_each_runtime, programs, under_agent};

const LEVELS: [Level; 3] = [Level::Count, Level::Time, Level::Trace];

fn refuses_what_would_not_be_optimized(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) =
        under_agent::start_controlled(programs::large_bodies()?.command(runtime)?)?;
    let mut refused = Vec::new();
    for (index, bytes) in LARGE_BODIES.into_iter().enumerate() {
        let method = format!("large!Large.Body{bytes}");
        let plain = live.host.ask(&format!("call {index}"), "result")?;
        for level in LEVELS {
            let report = controller.order(vec![Order::new(method.as_str(), level)], Lifetime::Kept)?;
            ensure!(report.matched == 1, "{report:?}");
            let is_refused = report.refused_by_reason == [(Reason::NotOptimized, 1)];
            ensure!(is_refused || report.accepted == 1, "{bytes} at {level}: {report:?}");
            let before = controller.row(&method)?.calls;
            ensure!(live.host.ask(&format!("call {index}"), "result")? == plain);
            let row = controller.row(&method)?;
            if is_refused {
                refused.push((bytes, level));
                ensure!((row.state, row.calls) == (CopyState::Refused, before), "{row:?}");
            } else {
                ensure!((row.state, row.calls) == (CopyState::Live, before + 1), "{row:?}");
            }
        }
        controller.off(&method)?;
    }
    println!("{refused:?}");
    let [_, nearly, full, _] = LARGE_BODIES;
    // The largest is not optimized anyway.
    ensure!(refused.iter().all(|(bytes, _)| [nearly, full].contains(bytes)), "{refused:?}");
    ensure!(refused.contains(&(nearly, Level::Trace)) && !refused.contains(&(nearly, Level::Count)));
    ensure!(LEVELS.into_iter().all(|level| refused.contains(&(full, level))), "{refused:?}");
    ensure!(controller.agent_status()?.guard_trips == 0);
    // After a refused level, a lower one works.
    let method = format!("large!Large.Body{nearly}");
    controller.order(vec![Order::new(method.as_str(), Level::Trace)], Lifetime::Kept)?;
    let report = controller.order(vec![Order::new(method.as_str(), Level::Count)], Lifetime::Kept)?;
    ensure!(report.accepted == 1, "{report:?}");
    live.host.say("exit")?;
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

on_each_runtime!(refuses_what_would_not_be_optimized);
