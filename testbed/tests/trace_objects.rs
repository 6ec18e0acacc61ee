//! Traced objects, structs and collections have the fields and items that the program knows (`programs/traced.cs`).

use anyhow::{Context, Result, ensure};
use redial_protocol::trace::{OmittedReason, Outcome, TracedCall, Value};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{Calls, end, list, say, start, trace};

fn dump(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) = start(runtime)?;
    trace(&mut controller, "traced!Traced.*")?;
    trace(&mut controller, "traced!Box`1.*")?;
    trace(&mut controller, "traced!Point.Scaled")?;
    for _ in 0..20 {
        say(&mut live.host, "shapes 1")?;
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let calls = list(&mut controller, false)?;
    let mut last = std::collections::BTreeMap::new();
    for call in &calls.calls { last.insert((call.plan, call.arguments.iter().map(|one| format!("{one:?}").len()).sum::<usize>()), call); }
    for call in last.values() {
        println!("{} {}", calls.methods[&call.plan].method, calls.methods[&call.plan].signature);
        for value in &call.arguments { println!("    {value:?}"); }
        println!("  after {:?}", call.arguments_after);
        println!("  = {:?}", call.outcome);
    }
    end(live, controller)
}

on_each_runtime!(dump);
