//! `redial attach`: the agent in a process that runs. What it finds there, and that it counts exactly from then on;
//! `refusals`: that each process it cannot be attached to is left as it was, with a sentence.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use redial_testbed::controller::Controller;
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counts, EVERYTHING, KNOWN_TYPES, LiveShop, differences};
use redial_testbed::{artefacts, generate, programs, truth};
use serde_json::Value;

const NOW: &str = "loaded the agent into process";
const BEFORE: &str = "already";
/// Everything is optimised, and inlined, when it is first compiled.
const EAGER: [(&str, &str); 2] = [("DOTNET_TieredCompilation", "0"), ("COMPlus_TieredCompilation", "0")];

/// One test a runtime that can be attached to.
macro_rules! on_attachable_runtimes {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            #[test]
            fn net_3_1() -> ::anyhow::Result<()> {
                super::$test(super::Runtime::V3_1)
            }
            #[test]
            fn net_8_0() -> ::anyhow::Result<()> {
                super::$test(super::Runtime::V8_0)
            }
        }
    )+};
}

mod elsewhere;
mod ended;
mod refusals;

on_attachable_runtimes!(
    counts_from_a_barrier_on,
    what_was_inlined_before_counts,
    a_dial_says_of_how_many_calls_may_be_missing,
    the_catalogue_is_complete,
    modules_that_load_meanwhile_are_there_once,
    two_at_once,
);

/// Shop without the agent.
fn plain(runtime: Runtime, threads: u32, variables: &[(&str, &str)]) -> Result<LiveShop> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", &threads.to_string()]).envs(variables.iter().copied());
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok(LiveShop { host, pid })
}

/// `redial attach PID OPTIONS` to its end.
fn attach(pid: u32, options: &[&str]) -> Result<Outcome> {
    let pid = pid.to_string();
    host::run(host::redial(&[&["attach", pid.as_str()], options].concat())?)
}

fn attached(pid: u32) -> Result<()> {
    let outcome = attach(pid, &[])?.ok()?;
    ensure!(outcome.stdout.contains(NOW) && outcome.stderr.is_empty(), "{}", outcome.said());
    Ok(())
}

/// It failed with this code, a sentence that has all of `parts`, and nothing on standard output.
fn failed(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    ensure!(outcome.code()? == code, "not {code}: {}\n{}", outcome.status, outcome.said());
    ensure!(outcome.stdout.is_empty() && outcome.stderr.lines().count() == 1, "{}", outcome.said());
    for part in parts {
        ensure!(outcome.stderr.contains(part), "no {part:?} in: {}", outcome.stderr);
    }
    Ok(())
}

/// Nothing of ours is in the process, and it does its work.
fn is_untouched(shop: &mut LiveShop) -> Result<()> {
    let agent = artefacts::agent()?;
    let name = agent.file_name().and_then(|name| name.to_str()).context("a name")?;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", shop.pid))?;
    ensure!(!maps.contains(name), "the library is still mapped");
    for task in std::fs::read_dir(format!("/proc/{}/task", shop.pid))? {
        let thread = std::fs::read_to_string(task?.path().join("comm")).unwrap_or_default();
        ensure!(!thread.starts_with("redial-"), "a thread of ours runs: {thread}");
    }
    shop.rounds(1)
}

/// The row of `ps` for a process: the agent's state and why.
fn listed(pid: u32) -> Result<(String, String)> {
    let rows = host::run(host::redial(&["ps", "--json"])?)?.ok()?.json()?;
    let mut rows = rows.as_array().context("an array")?.iter();
    let row = rows.find(|row| row["pid"] == pid).context("ps does not list it")?;
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    Ok((text("agent"), text("reason")))
}

fn dial(shop: &LiveShop, patterns: &[&str]) -> Result<()> {
    for pattern in patterns {
        let dialled = shop.redial("dial", &[pattern, "count", "--json"])?.ok()?.json()?;
        ensure!(dialled["accepted"].as_u64() > Some(0), "{pattern}: {dialled}");
        ensure!(dialled["refused"] == serde_json::json!([]), "{pattern}: {dialled}");
    }
    Ok(())
}

fn ensure_exact(shop: &mut LiveShop, before: &Counts) -> Result<()> {
    let (truth, counts) = (shop.truth()?, shop.status()?);
    ensure!(truth.values().sum::<u64>() > 0, "nothing was called");
    let wrong = differences(&truth, before, &counts, |_, _| true);
    ensure!(wrong.is_empty(), "not exact:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Attached under way, once and again; exact from a barrier on; all off, and then nothing counts any more.
fn counts_from_a_barrier_on(runtime: Runtime) -> Result<()> {
    let known = shop::known_methods()?;
    for (threads, patterns) in [(1, &EVERYTHING[..]), (8, &EVERYTHING), (8, &KNOWN_TYPES)] {
        let mut shop = plain(runtime, threads, &[])?;
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(60)?;
        ensure!(listed(shop.pid)?.0 == "attachable");
        attached(shop.pid)?;
        let entries = Controller::connect(shop.pid)?.agent_status()?.audit;
        let [entry] = entries.as_slice() else { anyhow::bail!("not one entry: {entries:?}") };
        let user = redial_protocol::process::owner_of(std::process::id())?.word();
        ensure!(entry.program == "redial attach" && entry.user == user, "{entry:?}");
        let again = attach(shop.pid, &[])?.ok()?;
        ensure!(again.stdout.contains(BEFORE) && again.stderr.is_empty(), "{}", again.said());
        ensure!(listed(shop.pid)?.0 == "loaded");
        shop.host.ask("truth-reset", "reset")?;
        dial(&shop, patterns)?;
        let before = shop.status()?;
        ensure!(before.len() >= known.len(), "{before:?}");
        for rounds in [1, 40, 200] {
            shop.rounds(rounds)?;
            ensure_exact(&mut shop, &before)?;
        }
        let off = shop.redial("off", &["--json"])?.ok()?.json()?;
        ensure!(off["reverted"].as_u64() > Some(30) && off["remaining"] == 0, "{off}");
        let last = shop.status()?;
        shop.rounds(20)?;
        ensure!(shop.status()? == last, "something counts after all was turned off");
        ensure!(Controller::connect(shop.pid)?.agent_status()?.guard_trips == 0);
        shop.exit()?;
    }
    Ok(())
}

/// Callers were optimised before there was an agent to see it: the runtime, which knows what it inlined, recompiles them,
/// and every call counts; all off, nothing counts and nobody is recompiled.
fn what_was_inlined_before_counts(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime, 2, &EAGER)?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.rounds(20)?;
    attached(shop.pid)?;
    for _ in 0..3 {
        shop.host.ask("truth-reset", "reset")?;
        dial(&shop, &KNOWN_TYPES)?;
        let before = shop.status()?;
        shop.rounds(20)?;
        let counts = shop.status()?;
        let wrong = differences(&shop.truth()?, &before, &counts, |_, _| true);
        ensure!(wrong.is_empty(), "not exact:\n  {}", wrong.join("\n  "));
        let notes: Vec<_> = counts.iter().filter(|(_, counted)| counted.note.is_some()).collect();
        ensure!(notes.is_empty(), "{notes:?}");
        let recompiled = |sentence: &String| sentence.contains("were inlined there");
        let remains = Controller::connect(shop.pid)?.agent_status()?.remains;
        ensure!(remains.iter().any(recompiled), "nobody had inlined anything: {remains:?}");
        shop.redial("off", &[])?.ok()?;
        let remains = Controller::connect(shop.pid)?.agent_status()?.remains;
        ensure!(!remains.iter().any(recompiled), "{remains:?}");
        let off = shop.status()?;
        shop.rounds(20)?;
        ensure!(shop.status()? == off, "something counts after all was turned off");
    }
    shop.exit().map(drop)
}

/// The number that a dial tells is that of the rows that say so.
fn a_dial_says_of_how_many_calls_may_be_missing(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime, 1, &[])?;
    shop.rounds(20)?;
    attached(shop.pid)?;
    let (mut told, mut expected) = (0, 0);
    for pattern in ["Shop!*", "System.Private.CoreLib!System.*.*"] {
        let dialled = shop.redial("dial", &[pattern, "count", "--json"])?.json()?;
        let warnings = dialled["warnings"].as_array().context("warnings")?.iter().filter_map(Value::as_str);
        let inlined = warnings.filter(|warning| warning.contains("inlined before"));
        let missing: Vec<&str> = inlined.filter_map(|warning| warning.strip_prefix("calls of ")).collect();
        ensure!(missing.len() <= 1, "{missing:?}");
        for text in missing {
            told += text.split(' ').next().context("a number")?.replace(',', "").parse::<usize>()?;
        }
        let rows = shop.redial("status", &[pattern, "--json"])?.ok()?.json()?;
        let notes = rows.as_array().context("rows")?.iter().filter_map(|row| row["reason"].as_str());
        expected += notes.filter(|note| note.contains("already inlined")).count();
    }
    ensure!(told == expected, "{told} are told, {expected} say so");
    match runtime {
        Runtime::V8_0 => ensure!(told == 0, "the runtime knows what it inlined: {told}"),
        _ => ensure!(told > 100, "only {told} of the core library may have been inlined unseen"),
    }
    shop.exit().map(drop)
}

/// Modules as `redial modules --json` lists them, by path: name, mvid, number of methods, domain's name.
fn catalogue(shop: &LiveShop) -> Result<BTreeMap<String, Value>> {
    let told = shop.redial("modules", &["--json"])?.ok()?.json()?;
    let domains: BTreeMap<&str, &Value> = told["domains"]
        .as_array()
        .context("domains")?
        .iter()
        .filter_map(|domain| Some((domain["id"].as_str()?, &domain["name"])))
        .collect();
    let mut modules = BTreeMap::new();
    for row in told["modules"].as_array().context("modules")? {
        let users = row["domains"].as_array().context("domains")?.iter();
        let users: Vec<_> = users.filter_map(|id| domains.get(id.as_str()?).copied()).collect();
        let facts = serde_json::json!([row["name"], row["mvid"], row["methods"], row["dynamic"], users]);
        let path = row["path"].as_str().context("a path")?.to_owned();
        ensure!(modules.insert(path.clone(), facts).is_none(), "{path} is there twice");
    }
    Ok(modules)
}

/// The same modules and methods as in a process that had the agent from its start.
fn the_catalogue_is_complete(runtime: Runtime) -> Result<()> {
    let prepare = |shop: &mut LiveShop| -> Result<()> {
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(5)
    };
    let mut late = plain(runtime, 2, &[])?;
    prepare(&mut late)?;
    attached(late.pid)?;
    let mut early = LiveShop::start(runtime, &[], 2, &[])?;
    prepare(&mut early)?;
    let (found, expected) = (catalogue(&late)?, catalogue(&early)?);
    ensure!(expected.len() > 5, "{expected:?}");
    assert_eq!(found, expected);
    let methods = |shop: &LiveShop| -> Result<BTreeSet<String>> {
        let told = shop.redial("methods", &["Shop!*", "--limit", "100000", "--json"])?.ok()?.json()?;
        let rows = told.as_array().context("an array")?.iter();
        Ok(rows.map(|row| format!("{} {} {}", row["token"], row["method"], row["signature"])).collect())
    };
    assert_eq!(methods(&late)?, methods(&early)?);
    early.exit()?;
    late.exit().map(drop)
}

/// Two hundred modules load on eight threads while the agent is attached: each is there, and once.
fn modules_that_load_meanwhile_are_there_once(runtime: Runtime) -> Result<()> {
    const MODULES: u32 = 200;
    for before in [0, 60, 120] {
        let mut command = programs::named("modules")?.command(runtime)?;
        command.arg(generate::tiny_libraries(MODULES)?).arg("8");
        let mut host = Host::start(command)?;
        let pid: u32 = host.wait_for("ready")?.parse()?;
        if before > 0 {
            host.ask(&format!("start {before}"), "started")?;
            host.ask("wait", "loaded")?;
        }
        host.ask(&format!("start {}", MODULES - before), "started")?;
        attached(pid)?;
        host.ask("wait", "loaded")?;
        let mut controller = Controller::connect(pid)?;
        let (_, modules) = controller.modules()?;
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        modules.iter().for_each(|module| *times.entry(module.path.as_str()).or_default() += 1);
        ensure!(times.values().all(|times| *times == 1), "{times:?}");
        let libraries = modules.iter().filter(|module| module.name.starts_with("Lib")).count();
        ensure!(libraries == MODULES as usize, "{libraries} of {MODULES}");
        // Each of them can be dialled, whichever way it came into the catalogue.
        let report = controller.dial(
            "Lib*!Lib*.Worker.First",
            redial_protocol::level::Level::Count,
            redial_testbed::controller::Stay::Held,
        )?;
        ensure!(report.accepted == u64::from(MODULES), "{report:?}");
        let before = controller.status(None)?;
        host.ask("call", "called 200")?;
        let counted = controller.status(None)?.iter().map(|row| row.calls).sum::<u64>();
        ensure!(counted - before.iter().map(|row| row.calls).sum::<u64>() == u64::from(MODULES), "{counted}");
        ensure!(controller.agent_status()?.guard_trips == 0);
        host.close_input();
        host.finish()?.ok()?;
    }
    Ok(())
}

/// Of two at the same time one loads the agent, and both are content.
fn two_at_once(runtime: Runtime) -> Result<()> {
    let shop = plain(runtime, 1, &[])?;
    let pid = shop.pid.to_string();
    let both = [0, 1].map(|_| host::redial(&["attach", &pid]).and_then(Host::start));
    let mut loaded = 0;
    for one in both {
        let outcome = one?.finish()?.ok()?;
        ensure!(outcome.stdout.contains(NOW) || outcome.stdout.contains(BEFORE), "{}", outcome.said());
        loaded += u32::from(outcome.stdout.contains(NOW));
    }
    ensure!(loaded == 1, "{loaded} of two say that they loaded it");
    shop.exit().map(drop)
}

/// Dialled again and again under a loop that never pauses, right after the attach: exact from the next barrier on.
#[test]
fn while_the_loop_runs() -> Result<()> {
    let mut shop = plain(Runtime::V8_0, 8, &[])?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 300", "looped")?;
    attached(shop.pid)?;
    for _ in 0..5 {
        dial(&shop, &EVERYTHING)?;
        shop.redial("off", &[])?.ok()?;
    }
    dial(&shop, &EVERYTHING)?;
    shop.host.ask("loop wait 200", "looped")?;
    truth::ask(&mut shop.host, "loop off")?;
    shop.host.ask("truth-reset", "reset")?;
    let before = shop.status()?;
    shop.rounds(100)?;
    ensure_exact(&mut shop, &before)?;
    shop.exit().map(drop)
}
