//! `redial attach` loads the agent into a running process. These tests check the catalogue and exact counts
//! from then on. `refusals` checks that a process that cannot be attached to stays as it was and gets a
//! sentence.

use redial_protocol::diagnostics::Remainder;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
#[cfg(target_os = "linux")]
use redial_testbed::artefacts;
use redial_testbed::controller::Controller;
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counts, EVERYTHING, KNOWN_TYPES, LiveShop, differences};
use redial_testbed::{generate, programs, truth};
use serde_json::Value;

const NOW: &str = "loaded the agent into process";
const BEFORE: &str = "already";
/// Optimises, and inlines, at the first compilation.
const EAGER: [(&str, &str); 2] = [("DOTNET_TieredCompilation", "0"), ("COMPlus_TieredCompilation", "0")];

/// One test per runtime that supports attach.
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

// They read `/proc`, or change users, namespaces and modes of files.
#[cfg(target_os = "linux")]
mod containers;
#[cfg(target_os = "linux")]
mod other_users;
#[cfg(target_os = "linux")]
mod process_end;
#[cfg(target_os = "linux")]
mod refusals;

on_attachable_runtimes!(
    counts_exactly_from_a_barrier_on,
    counts_methods_inlined_before_attach,
    reports_number_of_incomplete_counts,
    catalogue_is_complete,
    lists_modules_loaded_during_attach_once,
    simultaneous_attaches_both_succeed,
);

/// Starts Shop without the agent.
fn plain(runtime: Runtime, threads: u32, variables: &[(&str, &str)]) -> Result<LiveShop> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", &threads.to_string()]).envs(variables.iter().copied());
    let mut host = Host::start(command)?;
    let pid = host.wait_for("ready")?.parse()?;
    Ok(LiveShop { host, pid })
}

/// Runs `redial attach PID OPTIONS` to its end.
fn attach(pid: u32, options: &[&str]) -> Result<Outcome> {
    let pid = pid.to_string();
    host::run(host::redial(&[&["attach", pid.as_str()], options].concat())?)
}

fn ensure_attaches(pid: u32) -> Result<()> {
    let outcome = attach(pid, &[])?.ok()?;
    ensure!(outcome.stdout.contains(NOW) && outcome.stderr.is_empty(), "{}", outcome.output());
    Ok(())
}

/// Checks that a command failed with this code, a sentence that contains all `parts`, and empty standard
/// output.
#[cfg(target_os = "linux")]
fn ensure_failed(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    ensure!(outcome.code()? == code, "not {code}: {}\n{}", outcome.status, outcome.output());
    ensure!(outcome.stdout.is_empty() && outcome.stderr.lines().count() == 1, "{}", outcome.output());
    for part in parts {
        ensure!(outcome.stderr.contains(part), "no {part:?} in: {}", outcome.stderr);
    }
    Ok(())
}

/// Checks that the process contains nothing of Redial and still works.
#[cfg(target_os = "linux")]
fn ensure_untouched(shop: &mut LiveShop) -> Result<()> {
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

/// Returns the agent's state and its reason from the row of `ps` for a process.
fn listed_state(pid: u32) -> Result<(String, String)> {
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

/// Attaches twice to a busy process. Counts are exact from a barrier on, and after turning everything off
/// nothing counts.
fn counts_exactly_from_a_barrier_on(runtime: Runtime) -> Result<()> {
    let known = shop::known_methods()?;
    for (threads, patterns) in [(1, &EVERYTHING[..]), (8, &EVERYTHING), (8, &KNOWN_TYPES)] {
        let mut shop = plain(runtime, threads, &[])?;
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(60)?;
        ensure!(listed_state(shop.pid)?.0 == "attachable");
        ensure_attaches(shop.pid)?;
        let entries = Controller::connect(shop.pid)?.agent_status()?.audit;
        let [entry] = entries.as_slice() else { anyhow::bail!("not one entry: {entries:?}") };
        let user = redial_protocol::process::owner_of(std::process::id())?.word();
        ensure!(entry.program == "redial attach" && entry.user == user, "{entry:?}");
        let again = attach(shop.pid, &[])?.ok()?;
        ensure!(again.stdout.contains(BEFORE) && again.stderr.is_empty(), "{}", again.output());
        ensure!(listed_state(shop.pid)?.0 == "loaded");
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

/// Callers were optimised before the agent existed. The runtime knows what it inlined and recompiles them, so
/// every call counts. After all dials go off, nothing counts and no caller stays recompiled.
fn counts_methods_inlined_before_attach(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime, 2, &EAGER)?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.rounds(20)?;
    ensure_attaches(shop.pid)?;
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
        let recompiled = |one: &Remainder| matches!(one, Remainder::RecompiledCallers { .. });
        let remains = Controller::connect(shop.pid)?.agent_status()?.remains;
        ensure!(remains.iter().any(recompiled), "no caller had inlined anything: {remains:?}");
        shop.redial("off", &[])?.ok()?;
        let remains = Controller::connect(shop.pid)?.agent_status()?.remains;
        ensure!(!remains.iter().any(recompiled), "{remains:?}");
        let off = shop.status()?;
        shop.rounds(20)?;
        ensure!(shop.status()? == off, "something counts after all was turned off");
    }
    shop.exit().map(drop)
}

/// The number of incomplete counts that a dial reports equals the number of rows with that note.
fn reports_number_of_incomplete_counts(runtime: Runtime) -> Result<()> {
    let mut shop = plain(runtime, 1, &[])?;
    shop.rounds(20)?;
    ensure_attaches(shop.pid)?;
    let (mut reported, mut expected) = (0, 0);
    for pattern in ["Shop!*", "System.Private.CoreLib!System.*.*"] {
        let dialled = shop.redial("dial", &[pattern, "count", "--json"])?.json()?;
        let warnings = dialled["warnings"].as_array().context("warnings")?.iter().filter_map(Value::as_str);
        let inlined = warnings.filter(|warning| warning.contains("inlined into callers that are not"));
        let missing: Vec<&str> = inlined.filter_map(|warning| warning.strip_prefix("calls of ")).collect();
        ensure!(missing.len() <= 1, "{missing:?}");
        for text in missing {
            reported += text.split(' ').next().context("a number")?.replace(',', "").parse::<usize>()?;
        }
        let rows = shop.redial("status", &[pattern, "--json"])?.ok()?.json()?;
        let notes = rows.as_array().context("rows")?.iter().filter_map(|row| row["reason"].as_str());
        expected += notes.filter(|note| note.contains("already inlined")).count();
    }
    ensure!(reported == expected, "{reported} are reported, {expected} have the note");
    match runtime {
        Runtime::V8_0 => ensure!(reported == 0, "the runtime knows what it inlined: {reported}"),
        _ => ensure!(reported > 100, "only {reported} of the core library may have been inlined unseen"),
    }
    shop.exit().map(drop)
}

/// Returns modules by path from `redial modules --json`: name, mvid, number of methods, domain name.
fn catalogue(shop: &LiveShop) -> Result<BTreeMap<String, Value>> {
    let reported = shop.redial("modules", &["--json"])?.ok()?.json()?;
    let domains: BTreeMap<&str, &Value> = reported["domains"]
        .as_array()
        .context("domains")?
        .iter()
        .filter_map(|domain| Some((domain["id"].as_str()?, &domain["name"])))
        .collect();
    let mut modules = BTreeMap::new();
    for row in reported["modules"].as_array().context("modules")? {
        let users = row["domains"].as_array().context("domains")?.iter();
        let users: Vec<_> = users.filter_map(|id| domains.get(id.as_str()?).copied()).collect();
        let facts = serde_json::json!([row["name"], row["mvid"], row["methods"], row["dynamic"], users]);
        let path = row["path"].as_str().context("a path")?.to_owned();
        ensure!(modules.insert(path.clone(), facts).is_none(), "{path} is there twice");
    }
    Ok(modules)
}

/// The catalogue has the same modules and methods as in a process that loaded the agent at its start.
fn catalogue_is_complete(runtime: Runtime) -> Result<()> {
    let prepare = |shop: &mut LiveShop| -> Result<()> {
        shop.host.ask("load-plugin", "plugin")?;
        shop.rounds(5)
    };
    let mut late = plain(runtime, 2, &[])?;
    prepare(&mut late)?;
    ensure_attaches(late.pid)?;
    let mut early = LiveShop::start(runtime, &[], 2, &[])?;
    prepare(&mut early)?;
    let (found, expected) = (catalogue(&late)?, catalogue(&early)?);
    ensure!(expected.len() > 5, "{expected:?}");
    assert_eq!(found, expected);
    let methods = |shop: &LiveShop| -> Result<BTreeSet<String>> {
        let reported = shop.redial("methods", &["Shop!*", "--limit", "100000", "--json"])?.ok()?.json()?;
        let rows = reported.as_array().context("an array")?.iter();
        Ok(rows.map(|row| format!("{} {} {}", row["token"], row["method"], row["signature"])).collect())
    };
    assert_eq!(methods(&late)?, methods(&early)?);
    early.exit()?;
    late.exit().map(drop)
}

/// Two hundred modules load on eight threads during the attach. Each is listed exactly once.
fn lists_modules_loaded_during_attach_once(runtime: Runtime) -> Result<()> {
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
        ensure_attaches(pid)?;
        host.ask("wait", "loaded")?;
        let mut controller = Controller::connect(pid)?;
        let (_, modules) = controller.modules()?;
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        modules.iter().for_each(|module| *times.entry(module.path.as_str()).or_default() += 1);
        ensure!(times.values().all(|times| *times == 1), "{times:?}");
        let libraries = modules.iter().filter(|module| module.name.starts_with("Lib")).count();
        ensure!(libraries == MODULES as usize, "{libraries} of {MODULES}");
        // Each of them can be dialled, however it entered the catalogue.
        let report = controller.dial(
            "Lib*!Lib*.Worker.First",
            redial_protocol::level::Level::Count,
            redial_testbed::controller::Lifetime::Held,
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

/// Of two simultaneous attaches, one loads the agent and both succeed.
fn simultaneous_attaches_both_succeed(runtime: Runtime) -> Result<()> {
    let shop = plain(runtime, 1, &[])?;
    let pid = shop.pid.to_string();
    let both = [0, 1].map(|_| host::redial(&["attach", &pid]).and_then(Host::start));
    let mut loaded = 0;
    for one in both {
        let outcome = one?.finish()?.ok()?;
        ensure!(outcome.stdout.contains(NOW) || outcome.stdout.contains(BEFORE), "{}", outcome.output());
        loaded += u32::from(outcome.stdout.contains(NOW));
    }
    ensure!(loaded == 1, "{loaded} of two say that they loaded it");
    shop.exit().map(drop)
}

/// Dialled repeatedly during a loop without pauses, right after the attach; exact from the next barrier on.
#[test]
fn counts_exactly_after_dialling_a_busy_loop() -> Result<()> {
    let mut shop = plain(Runtime::V8_0, 8, &[])?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 300", "looped")?;
    ensure_attaches(shop.pid)?;
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
