//! Counts are exact: Redial's counts of Shop's methods equal Shop's own, on every runtime, from the first call
//! and from the middle of a run, in reports and live.

use anyhow::{Context, Result, ensure};
use redial_protocol::diagnostics::Remainder;
use redial_testbed::controller::Controller;
use redial_testbed::host::{Host, redial, redial_run, run};
use redial_testbed::on_each_runtime;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{
    self, Counts, EVERYTHING, KNOWN_TYPES, LiveShop, MethodCount, ReportFile, differences,
};
use redial_testbed::truth::{self, Truth};
use serde_json::Value;

/// Optimises, and inlines, at the first compilation.
const EAGER: [(&str, &str); 2] = [("DOTNET_TieredCompilation", "0"), ("COMPlus_TieredCompilation", "0")];

/// Checks counts against the truth. An empty truth is an error, since it would match anything.
fn ensure_exact(truth: &Truth, before: &Counts, counts: &Counts) -> Result<()> {
    let wrong = differences(truth, before, counts, |_, _| true);
    ensure!(truth.values().sum::<u64>() > 0, "nothing was called");
    ensure!(wrong.is_empty(), "not exact:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// `run` sets the dials before anything loads. The report has the truth, and Shop behaves as without the agent.
fn counts_exactly_from_the_first_call(runtime: Runtime) -> Result<()> {
    const CART: &[&str] = &["Shop!Shop.Cart.*=count"];
    const ALL: &[&str] = &["Shop!*=count", "Plugin!*=count"];
    for (number, (dials, threads)) in
        [(CART, "1"), (CART, "8"), (ALL, "1"), (ALL, "8")].into_iter().enumerate()
    {
        let mut command = programs::shop()?.command(runtime)?;
        command.args(["--exact", "150", "--threads", threads]);
        let mut plain = programs::shop()?.command(runtime)?;
        plain.args(["--exact", "150", "--threads", threads]);
        let expected = run(plain)?.ok()?;

        let report = ReportFile::new(&format!("counts-{}-{number}", runtime.name()))?;
        let mut options = vec!["--report", report.path()];
        dials.iter().for_each(|dial| options.extend(["--dial", *dial]));
        let outcome = run(redial_run(&options, &command)?)?.ok()?;
        assert_eq!(outcome.stdout, expected.stdout, "what Shop prints");
        assert_eq!(outcome.stderr, "");

        let report = report.read()?;
        assert_eq!((&report["exit_code"], &report["complete"]), (&0.into(), &true.into()), "{report}");
        let counts = shop::of_json(&report["status"])?;
        for row in report["status"].as_array().context("an array of rows")? {
            let live = |instance: &Value| instance["state"] == "live";
            let compiled = row["instances"].as_array().is_some_and(|instances| instances.iter().any(live));
            ensure!(compiled == (row["state"] == "live"), "state and instances differ: {row}");
        }
        let mut truth = truth::read(&outcome.stdout)?;
        truth.retain(|method, _| dials == ALL || method.starts_with("Shop.Cart."));
        ensure_exact(&truth, &Counts::new(), &counts)
            .with_context(|| format!("{dials:?}, {threads} threads"))?;
        for (method, calls) in &truth {
            let counted = &counts[&shop::plain_name(method)];
            let (state, version) = if *calls > 0 { ("live", Some(1)) } else { ("asked", None) };
            assert_eq!((counted.state.as_str(), counted.version), (state, version), "{method}");
        }
        let others = counts.keys().filter(|name| !name.starts_with("Shop.Cart.")).count();
        assert_eq!(others > 0, dials == ALL, "what else was dialled");
    }
    Ok(())
}

/// `redial dial` sets dials while threads stand at a barrier. Counts are exact from there on, in `status`, in
/// `watch` and for a controller, whatever the JIT had inlined before.
fn counts_exactly_from_a_barrier_on(runtime: Runtime) -> Result<()> {
    let known = shop::known_methods()?;
    for (threads, patterns) in [(1, &EVERYTHING[..]), (8, &EVERYTHING), (8, &KNOWN_TYPES)] {
        let mut shop = LiveShop::start(runtime, &[], threads, &[])?;
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(60)?;
        shop.host.ask("truth-reset", "reset")?;
        dial(&shop, patterns)?;
        let before = shop.status()?;
        assert!(before.len() >= known.len(), "{before:?}");
        assert!(before.values().all(|counted| counted.calls == 0 && counted.state == "asked"), "{before:?}");
        for rounds in [1, 40, 200] {
            shop.rounds(rounds)?;
            let truth = shop.truth()?;
            ensure_exact(&truth, &before, &shop.status()?)?;
        }
        ensure_agreement(&mut shop)?;
        shop.exit()?;
    }
    Ok(())
}

/// Dials set while threads call without a pause: exact from the next barrier on.
fn counts_exactly_after_dialling_a_busy_loop(runtime: Runtime) -> Result<()> {
    for patterns in [&EVERYTHING[..], &KNOWN_TYPES] {
        let mut shop = LiveShop::start(runtime, &[], 8, &[])?;
        shop.host.ask("load-plugin", "plugin")?;
        shop.host.ask("loop on", "looping")?;
        shop.host.ask("loop wait 500", "looped")?;
        dial(&shop, patterns)?;
        shop.host.ask("loop wait 200", "looped")?;
        let looped = truth::ask(&mut shop.host, "loop off")?;
        let during = shop.status()?;
        for (method, calls) in &looped {
            let counted =
                during.get(&shop::plain_name(method)).with_context(|| format!("no row of {method}"))?;
            ensure!(counted.calls <= *calls, "{method}: counted {} of {calls}", counted.calls);
        }
        let add = &during["Shop.Cart.Add(int)"];
        assert!(add.calls > 0 && add.state == "live", "200 rounds after the dial: {add:?}");
        shop.host.ask("truth-reset", "reset")?;
        shop.rounds(100)?;
        let truth = shop.truth()?;
        ensure_exact(&truth, &during, &shop.status()?)?;
        shop.exit()?;
    }
    Ok(())
}

/// Optimised at the first compilation, callers certainly contain inlined callees. The agent recompiles them
/// without inlining, so that every call counts; with the dial off they get their own code back.
fn counts_inlined_callees(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 2, &EAGER)?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.rounds(20)?;
    for _ in 0..3 {
        shop.host.ask("truth-reset", "reset")?;
        dial(&shop, &KNOWN_TYPES)?;
        let before = shop.status()?;
        shop.rounds(20)?;
        let counts = shop.status()?;
        ensure_exact(&shop.truth()?, &before, &counts)?;
        assert!(counts.values().all(|counted| counted.note.is_none()), "{counts:?}");
        assert!(recompiled_callers(shop.pid)? > 0, "no caller had inlined anything, so nothing was tested");
        shop.redial("off", &[])?.ok()?;
        assert_eq!(recompiled_callers(shop.pid)?, 0, "all is off");
        let off = shop.status()?;
        shop.rounds(20)?;
        assert_eq!(shop.status()?, off, "something counts after all was turned off");
    }
    shop.exit().map(drop)
}

/// Returns the number of recompiled callers in the agent's status.
fn recompiled_callers(pid: u32) -> Result<u64> {
    let remains = Controller::connect(pid)?.agent_status()?.remains;
    let recompiled = remains.iter().find_map(|one| match one {
        Remainder::RecompiledCallers { methods } => Some(*methods),
        _ => None,
    });
    Ok(recompiled.unwrap_or(0))
}

/// Callers and callees turned on and off one after the other. Every dialled method counts all its calls,
/// whichever callers were recompiled or turned off meanwhile.
fn counts_callers_and_callees_in_any_order(runtime: Runtime) -> Result<()> {
    const CALLERS: &str = "Shop!Shop.Clerk.*";
    const MONEY: &str = "Shop!Shop.Money.*";
    const CART: &str = "Shop!Shop.Cart.*";
    const CHANGES: [(&str, &str); 12] = [
        (CALLERS, "count"),
        (MONEY, "count"),
        // Its own code contains a method that is still dialled.
        (CALLERS, "off"),
        (CART, "count"),
        (CALLERS, "count"),
        (MONEY, "off"),
        (CALLERS, "off"),
        (MONEY, "count"),
        (CART, "off"),
        (CALLERS, "count"),
        (MONEY, "off"),
        (CALLERS, "off"),
    ];
    let mut shop = LiveShop::start(runtime, &[], 2, &EAGER)?;
    shop.rounds(20)?;
    let mut helped = 0;
    for (number, (pattern, level)) in CHANGES.into_iter().enumerate() {
        shop.redial("dial", &[pattern, level])?.ok()?;
        shop.host.ask("truth-reset", "reset")?;
        let before = shop.status()?;
        shop.rounds(20)?;
        let (truth, counts) = (shop.truth()?, shop.status()?);
        helped += recompiled_callers(shop.pid)?;
        ensure!(truth.values().sum::<u64>() > 0, "nothing was called");
        let on = |counted: &MethodCount| matches!(counted.state.as_str(), "asked" | "live");
        let wrong = differences(&truth, &before, &counts, |_, counted| on(counted));
        ensure!(wrong.is_empty(), "after turn {number}, {pattern} {level}:\n  {}", wrong.join("\n  "));
        assert!(counts.values().all(|counted| counted.note.is_none()), "{counts:?}");
        for (method, counted) in counts.iter().filter(|(_, counted)| !on(counted)) {
            assert_eq!(counted.calls, before[method].calls, "{method} is off after turn {number}");
        }
    }
    ensure!(helped > 0, "no caller had inlined anything, so nothing was tested");
    assert_eq!(recompiled_callers(shop.pid)?, 0, "all is off");
    shop.exit().map(drop)
}

/// The same, dialled before the first call: the agent keeps the JIT from inlining. Counts are exact whether or
/// not the callers are dialled too.
fn prevents_inlining_from_the_first_call(runtime: Runtime) -> Result<()> {
    for patterns in [&EVERYTHING[..], &KNOWN_TYPES] {
        let dials: Vec<String> = patterns.iter().map(|pattern| format!("{pattern}=count")).collect();
        let options: Vec<&str> = dials.iter().flat_map(|dial| ["--dial", dial]).collect();
        let mut shop = LiveShop::start(runtime, &options, 2, &EAGER)?;
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(50)?;
        let (truth, counts) = (shop.truth()?, shop.status()?);
        ensure_exact(&truth, &Counts::new(), &counts)?;
        assert!(counts.values().all(|counted| counted.note.is_none()), "{counts:?}");
        shop.exit()?;
    }
    Ok(())
}

on_each_runtime!(
    counts_exactly_from_the_first_call,
    counts_exactly_from_a_barrier_on,
    counts_exactly_after_dialling_a_busy_loop,
    counts_inlined_callees,
    counts_callers_and_callees_in_any_order,
    prevents_inlining_from_the_first_call,
);

/// Runs `redial dial` for each pattern and checks that nothing is refused.
fn dial(shop: &LiveShop, patterns: &[&str]) -> Result<()> {
    for pattern in patterns {
        let dialled = shop.redial("dial", &[pattern, "count", "--json"])?.ok()?.json()?;
        assert!(dialled["accepted"].as_u64() > Some(0), "{pattern}: {dialled}");
        assert_eq!(dialled["refused"], serde_json::json!([]), "{pattern}");
    }
    Ok(())
}

/// Checks that at rest `watch`, `status` and a controller show the same numbers.
fn ensure_agreement(shop: &mut LiveShop) -> Result<()> {
    let status = shop.status()?;
    let pid = shop.pid.to_string();
    let mut watch = Host::start(redial(&["watch", &pid, "--json", "--interval", "20", "--count", "3"])?)?;
    for line in 0..3 {
        let line: serde_json::Value =
            serde_json::from_str(&watch.next_line().context(format!("line {line}"))?)?;
        assert_eq!(shop::of_json(&line["dials"])?, status);
        assert_eq!(line["dropped"], 0);
    }
    watch.finish()?.ok()?;
    let mut controller = Controller::connect(shop.pid)?;
    assert_eq!(shop::of_rows(&controller.status(None)?), status);
    controller.subscribe(None)?;
    controller.wait_until("every row", |dials| shop::of_rows(dials.values()) == status)
}
