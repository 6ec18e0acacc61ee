//! Dials of a domain and of a copy by command line, with several real AppDomains in one .NET Core 2.1.30 process: **an
//! unsupported configuration of a real runtime** (see `src/bin/many-domains`).
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_testbed::domains;
use redial_testbed::host::{self, Outcome};
use redial_testbed::truth::Truth;
use redial_testbed::under_agent::{self, Live, ensure_said};
use serde_json::Value;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const ADD: &str = "domains!Domains.Work.Add(int)";
const CORE: &str = "System.Private.CoreLib!System.Version.ParseVersion";

fn start(names: &[&str]) -> Result<Live> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    Ok(live)
}

/// `redial dial PID PATTERN LEVEL OPTIONS`, which turns this many copies.
fn dial(live: &Live, pattern: &str, level: &str, options: &[&str], copies: u64) -> Result<()> {
    let outcome = live.redial("dial", &[&[pattern, level, "--json"], options].concat())?;
    ensure_said(&outcome, 0, &[])?;
    let report = outcome.json()?;
    ensure!(report["matched"] == copies && report["accepted"] == copies, "{options:?}: {report}");
    Ok(())
}

/// Calls of the copies of a method by domain, as `status --json` says, where there were any.
fn calls(live: &Live, pattern: &str) -> Result<Truth> {
    let number = |row: &Value| Some((row["domain"].as_str()?.to_owned(), row["calls"].as_u64()?));
    let rows = live.rows(pattern)?;
    let all: Result<Truth> = rows.iter().map(|row| number(row).with_context(|| format!("{row}"))).collect();
    Ok(all?.into_iter().filter(|(_, calls)| *calls > 0).collect())
}

fn expect(live: &Live, pattern: &str, expected: &[(&str, u64)]) -> Result<()> {
    let counted = calls(live, pattern)?;
    let expected: Truth = expected.iter().map(|(domain, calls)| ((*domain).to_owned(), *calls)).collect();
    ensure!(counted == expected, "{pattern}: counted {counted:?}, not {expected:?}");
    Ok(())
}

fn end(mut live: Live) -> Result<()> {
    ensure_said(&live.redial("off", &[])?, 0, &[])?;
    live.host.close_input();
    ensure_said(&live.host.finish()?, 0, &[])
}

/// Ends with this code and sentences that name all of these.
fn named(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    ensure_said(outcome, code, &[])?;
    let said = outcome.said();
    parts.iter().try_for_each(|part| {
        ensure!(said.contains(part), "nothing of {part:?} in:\n{said}");
        Ok(())
    })
}

#[test]
fn dials_of_domains() -> Result<()> {
    let mut live = start(&["Shop/1", "Shop/2", "Batch"])?;
    dial(&live, ADD, "count", &["--domain", "Batch"], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, ADD, &[("Batch", 10)])?;
    dial(&live, ADD, "count", &["--domain", "Shop/"], 2)?;
    dial(&live, ADD, "off", &["--domain", "Batch"], 1)?;
    domains::create(&mut live.host, &["Shop/3", "Batch/2"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Batch", 10), ("Shop/1", 5), ("Shop/2", 5), ("Shop/3", 5)])?;
    // One that is still to come, and one that never comes.
    named(&live.redial("dial", &[ADD, "count", "--domain", "Night"])?, 6, &[])?;
    ensure!(live.redial("dial", &[ADD, "count", "--domain", ""])?.code()? == 2);
    ensure_said(&live.redial("dial", &[ADD, "count", "--domain", "Night", "--later"])?, 0, &[])?;
    domains::create(&mut live.host, &["Night"])?;
    domains::call(&mut live.host, "Night", "add", 3)?;
    ensure!(calls(&live, ADD)?.get("Night") == Some(&3), "{:?}", calls(&live, ADD)?);
    end(live)
}

#[test]
fn dials_of_one_copy() -> Result<()> {
    let mut live = start(&["First", "Second", "Third"])?;
    let listed = live.redial("modules", &["--json"])?.ok()?.json()?;
    let second = listed["domains"].as_array().into_iter().flatten().find(|row| row["name"] == "Second");
    let second = second.context("the second domain is listed")?["id"].clone();
    let own = |row: &&Value| row["name"] == "domains" && row["domains"][0] == second;
    let module = listed["modules"].as_array().into_iter().flatten().find(own);
    let module = module.and_then(|row| row["id"].as_str()).context("its copy is listed")?;
    // `methods` says which copy is whose.
    let methods = live.redial("methods", &[ADD])?;
    ensure_said(&methods, 0, &["several copies of 'domains' are loaded", "id and AppDomain"])?;
    let line = methods.stdout.lines().find(|line| line.contains(module)).context("a line for the copy")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words[1..] == [module, "Second", ADD], "{line}");
    ensure!(methods.stdout.lines().count() == 3, "{}", methods.said());
    let once = live.redial("methods", &[CORE])?;
    ensure_said(&once, 0, &[])?;
    ensure!(once.stderr.is_empty() && !once.stdout.contains("shared"), "{}", once.said());
    dial(&live, ADD, "count", &["--copy", module], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, ADD, &[("Second", 10)])?;
    dial(&live, ADD, "count", &[], 3)?;
    dial(&live, ADD, "off", &["--copy", module], 1)?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 5), ("Second", 10), ("Third", 5)])?;
    named(&live.redial("dial", &[ADD, "count", "--copy", "0x8"])?, 6, &[])?;
    ensure!(live.redial("dial", &[ADD, "count", "--copy", "Second"])?.code()? == 2);
    end(live)
}

#[test]
fn dials_of_a_shared_copy() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let mut live = start(&names)?;
    let refused = live.redial("dial", &[CORE, "count", "--domain", "Second"])?;
    named(&refused, 1, &[&names[..], &["--all-domains"]].concat())?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, CORE, &[])?;
    dial(&live, CORE, "count", &["--domain", "Second", "--all-domains"], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, CORE, &[("EE Shared Assembly Repository", 30)])?;
    end(live)
}

/// Orders that the launcher gives stand before the first domain has its name.
#[test]
fn dials_of_the_launcher() -> Result<()> {
    let order = format!("{ADD}=count domain=Shop/");
    let run = host::redial_run(&["--dial", &order], &domains::command(HOST)?)?;
    let mut live = under_agent::start_as_it_is(run)?;
    domains::create(&mut live.host, &["Shop/1", "Batch", "Shop/2"])?;
    domains::ask(&mut live.host, "round 4", "round 4")?;
    expect(&live, ADD, &[("Shop/1", 4), ("Shop/2", 4)])?;
    end(live)
}

/// A plan says what the dial would, and changes nothing; what a change took is given back.
#[test]
fn plans_and_undo() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let mut live = start(&names)?;
    named(&live.redial("dial", &[CORE, "count", "--domain", "Second", "--plan"])?, 1, &names)?;
    let plan = live.redial("dial", &[ADD, "count", "--domain", "Second", "--plan", "--json"])?;
    let plan = plan.ok()?.json()?;
    ensure!(plan["matched"] == 1 && plan["to_recompile"] == 1 && plan["to_turn_off"] == 0, "{plan}");
    ensure!(live.rows("*")?.is_empty(), "a plan left rows");

    dial(&live, ADD, "count", &[], 3)?;
    dial(&live, ADD, "off", &["--domain", "Second"], 1)?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 5), ("Third", 5)])?;
    named(&live.redial("undo", &[])?, 0, &["domain=Second"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 10), ("Second", 5), ("Third", 10)])?;
    end(live)
}

/// What one process saves, another applies: domains that are there and those that come.
#[test]
fn dial_sets_keep_their_domains() -> Result<()> {
    let first = start(&["Shop/1", "Batch"])?;
    dial(&first, ADD, "count", &[], 2)?;
    dial(&first, ADD, "off", &["--domain", "Batch"], 1)?;
    dial(&first, CORE, "count", &["--domain", "Shop/", "--all-domains"], 1)?;
    let set = first.redial("save", &[])?.ok()?.stdout;
    for part in ["domain=Batch", "domain=Shop/", "all-domains"] {
        ensure!(set.contains(part), "nothing of {part} in:\n{set}");
    }
    end(first)?;

    let mut second = start(&["Batch", "Shop/1"])?;
    let path = std::env::temp_dir().join(format!("redial-dials-{}", second.pid));
    std::fs::write(&path, set)?;
    let applied = second.redial("apply", &[&path.display().to_string()]);
    std::fs::remove_file(&path)?;
    ensure_said(&applied?, 0, &[])?;
    domains::create(&mut second.host, &["Batch/2", "Shop/2"])?;
    domains::ask(&mut second.host, "round 4", "round 4")?;
    expect(&second, ADD, &[("Shop/1", 4), ("Shop/2", 4)])?;
    expect(&second, CORE, &[("EE Shared Assembly Repository", 16)])?;
    end(second)
}

/// A domain that comes while an order keeps it off has nothing to show; once that order is gone it counts.
#[test]
fn what_is_off_by_order_only_has_no_row() -> Result<()> {
    let mut live = start(&["Shop", "Batch"])?;
    dial(&live, ADD, "count", &[], 2)?;
    dial(&live, ADD, "off", &["--domain", "Batch"], 1)?;
    domains::create(&mut live.host, &["Batch/2"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Shop", 5)])?;
    let rows = live.rows(ADD)?;
    ensure!(rows.iter().all(|row| row["domain"] != "Batch/2"), "{rows:?}");
    named(&live.redial("undo", &[])?, 0, &["domain=Batch"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Batch", 5), ("Batch/2", 5), ("Shop", 10)])?;
    end(live)
}
