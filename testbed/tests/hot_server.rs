//! `redial hot` on a real server under load, from a cold start: it names the method with the most self time, and leaves
//! no dial that it has not announced.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::{self, Host, redial_run};
use redial_testbed::single_file::{Server, command};
use serde_json::Value;

/// Conversations to measure the server on its own.
const CONVERSATIONS: u32 = 60;
/// The search and the check measure different calls, and the hottest methods differ by a fifth. So which is first
/// varies, but no method is first with less than half the time of another.
const SAME_RANK: u64 = 2;

#[test]
fn finds_the_hottest_method_of_a_single_file_server() -> Result<()> {
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let pid = server.host.only_child()?;
    let mut search = Host::start(host::redial(&["hot", &pid.to_string(), "--for", "8s", "--json"])?)?;
    while search.is_running()? {
        server.conversation()?;
    }
    let outcome = search.finish()?.ok()?;
    let result = outcome.json()?;
    println!("{}", outcome.stderr);
    let announced: BTreeSet<String> = methods(&result)?;
    let hottest = &result["methods"][0];
    let hottest = name(hottest).context("a method")?;
    println!("left out: {}", result["too_costly"]);
    let first: Vec<&Value> = result["methods"].as_array().into_iter().flatten().take(3).collect();
    println!("the hottest of {} methods: {first:#?}", announced.len());

    let mut controller = Controller::connect(pid)?;
    let rows = controller.status(None)?;
    let on: BTreeSet<String> = rows
        .iter()
        .filter(|row| row.wanted > Level::Off)
        .map(|row| format!("{}!{}{}", row.module, row.method, row.signature))
        .collect();
    ensure!(on == announced, "on, but not announced: {:?}", on.difference(&announced).collect::<Vec<_>>());
    let Reply::Orders { orders, .. } = controller.ask(WireCommand::Orders)?.reply else {
        anyhow::bail!("no orders")
    };
    ensure!(orders.len() == announced.len(), "{} orders for {} methods", orders.len(), announced.len());

    // The same without the search: time everything but what it left out, and compare.
    let (_, modules) = controller.modules()?;
    let own: BTreeSet<String> = modules
        .into_iter()
        .filter(|module| !redial_model::catalogue::framework::is_framework(&module.name, &module.path))
        .filter(|module| !module.dynamic && module.methods > 0)
        .map(|module| format!("{}!*", module.name))
        .collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    controller.dial_all(&own, Level::Time, Lifetime::Held)?;
    let left_out = result["too_costly"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|one| Some(format!("{}!{}", one["module"].as_str()?, one["token"].as_str()?)));
    let left_out: Vec<String> = left_out.collect();
    if !left_out.is_empty() {
        let left_out: Vec<&str> = left_out.iter().map(String::as_str).collect();
        controller.dial_all(&left_out, Level::Count, Lifetime::Held)?;
    }
    // The first conversations compile.
    (0..10).try_for_each(|_| server.conversation().map(drop))?;
    let before = self_times(&mut controller)?;
    (0..CONVERSATIONS).try_for_each(|_| server.conversation().map(drop))?;
    let after = self_times(&mut controller)?;
    let grown = after.iter().map(|(method, ns)| (ns - before.get(method).copied().unwrap_or(0), method));
    let mut grown: Vec<(u64, &String)> = grown.collect();
    grown.sort();
    let top: Vec<_> = grown.iter().rev().take(3).collect();
    println!("timed alone: {top:?}");
    let (most_ns, most) = *top.first().context("a method")?;
    let alone_ns =
        grown.iter().find(|(_, method)| **method == hottest).context("timed alone, it has no time")?.0;
    ensure!(alone_ns * SAME_RANK >= *most_ns, "timed alone, {hottest} has {alone_ns} ns: {top:?}");
    let searched_ns = self_ns(&result, most).with_context(|| format!("{most} is not in the result"))?;
    let hottest_ns = self_ns(&result, &hottest).context("self time")?;
    ensure!(searched_ns * SAME_RANK >= hottest_ns, "the search gave {most} {searched_ns} ns: {first:#?}");
    drop(controller);
    server.finish()?;
    Ok(())
}

fn name(method: &Value) -> Option<String> {
    let text = |field: &str| method[field].as_str();
    Some(format!("{}!{}{}", text("module")?, text("method")?, text("signature")?))
}

fn self_ns(result: &Value, method: &str) -> Option<u64> {
    let mut methods = result["methods"].as_array()?.iter();
    methods.find(|one| name(one).as_deref() == Some(method))?["self_ns"].as_u64()
}

fn methods(result: &Value) -> Result<BTreeSet<String>> {
    let methods = result["methods"].as_array().context("a list")?;
    methods.iter().map(|one| name(one).context("a method")).collect()
}

fn self_times(controller: &mut Controller) -> Result<std::collections::BTreeMap<String, u64>> {
    let answer = controller.ask(WireCommand::Status { pattern: None })?;
    let rows: std::collections::BTreeMap<_, _> = answer
        .rows
        .iter()
        .map(|row| (row.row, format!("{}!{}{}", row.module, row.method, row.signature)))
        .collect();
    let mut times = std::collections::BTreeMap::new();
    for one in &answer.times {
        *times.entry(rows[&one.row].clone()).or_default() += one.self_ns;
    }
    Ok(times)
}
