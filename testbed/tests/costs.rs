//! The cost of dials, actual and planned: measured in the process from its call rates.

use anyhow::{Context, Result, ensure};
use redial_testbed::host;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::{on_each_runtime, truth, under_agent};
use serde_json::Value;

on_each_runtime!(reports_actual_and_planned_costs);

fn reports_actual_and_planned_costs(runtime: Runtime) -> Result<()> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    let live = under_agent::start(command)?;
    let mut shop = LiveShop { pid: live.pid, host: live.host };

    let costs = shop.redial("status", &["--agent", "--json"])?.ok()?.json()?["costs"].clone();
    let ns = |level: &str| -> Result<f64> {
        let mut costs = costs.as_array().context("an array")?.iter();
        costs.find(|cost| cost["level"] == level).and_then(|cost| cost["ns"].as_f64()).context("no cost")
    };
    let (count, time) = (ns("count")?, ns("time")?);
    ensure!(count < time && time < 100_000.0, "{costs}");

    // None of these methods is called or dialled.
    let plan =
        |level: &str| shop.redial("dial", &["Shop!Shop.Cart.*", level, "--plan", "--json"])?.ok()?.json();
    ensure!(plan("time")?["expected_cost_percent"].is_null());
    shop.redial("dial", &["Shop!Shop.Cart.*", "count"])?.ok()?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 300", "looped")?;

    let plan =
        |level: &str| shop.redial("dial", &["Shop!Shop.Cart.*", level, "--plan", "--json"])?.ok()?.json();
    let percent = |plan: Value| plan["expected_cost_percent"].as_f64().context("no planned cost");
    let (as_counted, as_timed) = (percent(plan("count")?)?, percent(plan("time")?)?);
    ensure!(as_counted > 0.0 && as_timed > 0.0, "{as_counted} {as_timed}");
    let watched = host::run(host::redial(&[
        "watch",
        &shop.pid.to_string(),
        "--json",
        "--interval",
        "200",
        "--count",
        "4",
    ])?)?;
    let watched = watched.ok()?;
    let last: Value = serde_json::from_str(watched.stdout.lines().last().context("no line")?)?;
    // From the rates and the cost in the same line.
    let rates: f64 =
        last["dials"].as_array().context("dials")?.iter().filter_map(|dial| dial["rate"].as_f64()).sum();
    let (reported, expected) = (last["cost_percent"].as_f64().context("no cost")?, rates * count / 1e7);
    ensure!(
        rates > 0.0 && (reported - expected).abs() <= expected * 0.01 + 1e-9,
        "{reported} is not {expected}"
    );
    truth::ask(&mut shop.host, "loop off")?;
    shop.exit().map(drop)
}
