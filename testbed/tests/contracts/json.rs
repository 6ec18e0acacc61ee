//! Field names of every `--json` output, from real processes.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{LiveShop, ReportFile};
use redial_testbed::{programs, under_agent};
use serde_json::Value;

/// Adds `prefix.field` for every field of `value`, items of arrays as `[]`.
fn fields(prefix: &str, value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = format!("{prefix}.{name}");
                fields(&path, value, into);
                into.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(&format!("{prefix}[]"), item, into)),
        _ => {}
    }
}

fn shop() -> Result<Command> {
    let mut command = programs::shop()?.command(Runtime::V8_0)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

/// Every value on standard output: one document, or a line each.
fn values(text: &str) -> Result<Vec<Value>> {
    if let Ok(one) = serde_json::from_str(text) {
        return Ok(vec![one]);
    }
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))).collect()
}

/// Adds the fields of what `redial COMMAND PID ARGUMENTS` prints.
fn record(
    shop: &LiveShop,
    found: &mut BTreeSet<String>,
    name: &str,
    command: &str,
    arguments: &[&str],
) -> Result<()> {
    let outcome = shop.redial(command, arguments)?;
    ensure!(matches!(outcome.code()?, 0 | 7), "{name}: {}", outcome.output());
    values(&outcome.stdout)?.iter().for_each(|value| fields(name, value, found));
    Ok(())
}

#[test]
fn json_fields_stay() -> Result<()> {
    let mut found = BTreeSet::new();
    let live = under_agent::start(shop()?)?;
    let mut shop = LiveShop { pid: live.pid, host: live.host };
    record(&shop, &mut found, "modules", "modules", &["--json"])?;
    record(&shop, &mut found, "methods", "methods", &["Shop!Shop.Cart.*", "--json"])?;
    record(&shop, &mut found, "il", "il", &["Shop!Shop.Cart.Add(int)", "--json"])?;
    record(
        &shop,
        &mut found,
        "il instrumented",
        "il",
        &["Shop!Shop.Cart.Add(int)", "--instrumented", "--json"],
    )?;
    record(&shop, &mut found, "dial --plan", "dial", &["Shop!Shop.Cart.*", "count", "--plan", "--json"])?;
    record(
        &shop,
        &mut found,
        "dial",
        "dial",
        &["Shop!Shop.Cart.*", "time", "--slower-than", "1ns", "--callers", "--json"],
    )?;
    record(&shop, &mut found, "dial refused", "dial", &["Shop!*", "count", "--json"])?;
    record(
        &shop,
        &mut found,
        "dial again",
        "dial",
        &["Shop!Shop.*.*", "time", "--slower-than", "1ns", "--callers", "--json"],
    )?;
    record(&shop, &mut found, "budget", "budget", &["500", "--json"])?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 300", "looped")?;
    record(&shop, &mut found, "status", "status", &["--json"])?;
    record(&shop, &mut found, "status --calls", "status", &["--calls", "--json"])?;
    if !cfg!(windows) {
        record(&shop, &mut found, "status --callers", "status", &["--callers", "--json"])?;
    }
    record(&shop, &mut found, "status --agent", "status", &["--agent", "--json"])?;
    record(&shop, &mut found, "watch", "watch", &["--json", "--interval", "100", "--count", "3"])?;
    record(
        &shop,
        &mut found,
        "watch --sum",
        "watch",
        &["--sum", "--json", "--interval", "100", "--count", "2"],
    )?;
    record(&shop, &mut found, "status --sum", "status", &["--sum", "--json"])?;
    record(&shop, &mut found, "trace", "trace", &["Shop!Shop.Cart.Add", "-n", "5", "--json"])?;
    record(&shop, &mut found, "dial trace", "dial", &["Shop!Shop.Cart.*", "trace", "--json"])?;
    shop.host.ask("loop wait 300", "looped")?;
    record(&shop, &mut found, "events", "events", &["--last", "--json"])?;
    record(&shop, &mut found, "exceptions", "exceptions", &["-n", "1", "--json"])?;
    record(&shop, &mut found, "snapshot", "snapshot", &["--json"])?;
    let pid = shop.pid.to_string();
    record(&shop, &mut found, "diff", "diff", &[&pid, "--json"])?;
    record(&shop, &mut found, "undo", "undo", &["--json"])?;
    record(&shop, &mut found, "off", "off", &["--json"])?;
    let hot = ["Shop!*", "--for", "1s", "--budget", "0.01", "--json"];
    record(&shop, &mut found, "hot", "hot", &hot)?;
    record(&shop, &mut found, "hot", "hot", &["Shop!*", "--for", "1s", "--budget", "1000", "--json"])?;
    for (name, arguments) in [("ps", ["ps", "--json"]), ("doctor", ["doctor", "--json"])] {
        for value in values(&host::run(host::redial(&arguments)?)?.stdout)? {
            fields(name, &value, &mut found);
        }
    }
    drop(shop);
    let report = ReportFile::new("contracts")?;
    let mut command = programs::shop()?.command(Runtime::V8_0)?;
    command.args(["--exact", "10", "--threads", "1"]);
    host::run(host::redial_run(&["--dial", "Shop!Shop.Cart.*=count", "--report", report.path()], &command)?)?
        .ok()?;
    fields("report", &report.read()?, &mut found);
    super::check("json", &found)
}
