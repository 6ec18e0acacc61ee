//! Dials for a domain or a copy on the command line, with several real AppDomains in one .NET Core 2.1.30
//! process: **an unsupported configuration of a real runtime** (see `src/bin/many-domains`).
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_testbed::domains;
use redial_testbed::host::{self, Outcome};
use redial_testbed::truth::Truth;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use serde_json::Value;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const ADD: &str = "domains!Domains.Work.Add(int)";
const CORE: &str = "System.Private.CoreLib!System.Version.ParseVersion";

fn start(names: &[&str]) -> Result<LiveHost> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    Ok(live)
}

/// Runs `redial dial PID PATTERN LEVEL OPTIONS` and checks the number of copies that it turns.
fn dial(live: &LiveHost, pattern: &str, level: &str, options: &[&str], copies: u64) -> Result<()> {
    let outcome = live.redial("dial", &[&[pattern, level, "--json"], options].concat())?;
    ensure_messages(&outcome, 0, &[])?;
    let report = outcome.json()?;
    ensure!(report["matched"] == copies && report["accepted"] == copies, "{options:?}: {report}");
    Ok(())
}

/// Returns the calls of a method by domain as `status --json` reports them, without zeros.
fn calls(live: &LiveHost, pattern: &str) -> Result<Truth> {
    let number = |row: &Value| Some((row["domain"].as_str()?.to_owned(), row["calls"].as_u64()?));
    let rows = live.rows(pattern)?;
    let all: Result<Truth> = rows.iter().map(|row| number(row).with_context(|| format!("{row}"))).collect();
    Ok(all?.into_iter().filter(|(_, calls)| *calls > 0).collect())
}

fn expect(live: &LiveHost, pattern: &str, expected: &[(&str, u64)]) -> Result<()> {
    let counted = calls(live, pattern)?;
    let expected: Truth = expected.iter().map(|(domain, calls)| ((*domain).to_owned(), *calls)).collect();
    ensure!(counted == expected, "{pattern}: counted {counted:?}, not {expected:?}");
    Ok(())
}

fn end(mut live: LiveHost) -> Result<()> {
    ensure_messages(&live.redial("off", &[])?, 0, &[])?;
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Checks the exit code, and that the sentences contain all `parts`.
fn ensure_mentions(outcome: &Outcome, code: i32, parts: &[&str]) -> Result<()> {
    ensure_messages(outcome, code, &[])?;
    let said = outcome.output();
    parts.iter().try_for_each(|part| {
        ensure!(said.contains(part), "nothing of {part:?} in:\n{said}");
        Ok(())
    })
}

#[test]
fn dials_one_domain() -> Result<()> {
    let mut live = start(&["Shop/1", "Shop/2", "Batch"])?;
    dial(&live, ADD, "count", &["--domain", "Batch"], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, ADD, &[("Batch", 10)])?;
    dial(&live, ADD, "count", &["--domain", "Shop/"], 2)?;
    dial(&live, ADD, "off", &["--domain", "Batch"], 1)?;
    domains::create(&mut live.host, &["Shop/3", "Batch/2"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Batch", 10), ("Shop/1", 5), ("Shop/2", 5), ("Shop/3", 5)])?;
    // A domain that does not exist yet, and one that never will.
    ensure_mentions(&live.redial("dial", &[ADD, "count", "--domain", "Night"])?, 6, &[])?;
    ensure!(live.redial("dial", &[ADD, "count", "--domain", ""])?.code()? == 2);
    ensure_messages(&live.redial("dial", &[ADD, "count", "--domain", "Night", "--later"])?, 0, &[])?;
    domains::create(&mut live.host, &["Night"])?;
    domains::call(&mut live.host, "Night", "add", 3)?;
    ensure!(calls(&live, ADD)?.get("Night") == Some(&3), "{:?}", calls(&live, ADD)?);
    end(live)
}

#[test]
fn dials_one_copy() -> Result<()> {
    let mut live = start(&["First", "Second", "Third"])?;
    let listed = live.redial("modules", &["--json"])?.ok()?.json()?;
    let second = listed["domains"].as_array().into_iter().flatten().find(|row| row["name"] == "Second");
    let second = second.context("the second domain is listed")?["id"].clone();
    let own = |row: &&Value| row["name"] == "domains" && row["domains"][0] == second;
    let module = listed["modules"].as_array().into_iter().flatten().find(own);
    let module = module.and_then(|row| row["id"].as_str()).context("its copy is listed")?;
    // `methods` lists which copy belongs to which domain.
    let methods = live.redial("methods", &[ADD])?;
    ensure_messages(&methods, 0, &["several copies of 'domains' are loaded", "id and AppDomain"])?;
    let line = methods.stdout.lines().find(|line| line.contains(module)).context("a line for the copy")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words[1..] == [module, "Second", ADD], "{line}");
    ensure!(methods.stdout.lines().count() == 3, "{}", methods.output());
    let once = live.redial("methods", &[CORE])?;
    ensure_messages(&once, 0, &[])?;
    ensure!(once.stderr.is_empty() && !once.stdout.contains("shared"), "{}", once.output());
    dial(&live, ADD, "count", &["--copy", module], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, ADD, &[("Second", 10)])?;
    dial(&live, ADD, "count", &[], 3)?;
    dial(&live, ADD, "off", &["--copy", module], 1)?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 5), ("Second", 10), ("Third", 5)])?;
    ensure_mentions(&live.redial("dial", &[ADD, "count", "--copy", "0x8"])?, 6, &[])?;
    ensure!(live.redial("dial", &[ADD, "count", "--copy", "Second"])?.code()? == 2);
    end(live)
}

#[test]
fn dials_a_shared_copy() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let mut live = start(&names)?;
    let refused = live.redial("dial", &[CORE, "count", "--domain", "Second"])?;
    ensure_mentions(&refused, 1, &[&names[..], &["--all-domains"]].concat())?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, CORE, &[])?;
    dial(&live, CORE, "count", &["--domain", "Second", "--all-domains"], 1)?;
    domains::ask(&mut live.host, "round 10", "round 10")?;
    expect(&live, CORE, &[("EE Shared Assembly Repository", 30)])?;
    end(live)
}

/// The launcher's orders apply before the first domain has its name.
#[test]
fn launcher_dials_apply_to_domains() -> Result<()> {
    let order = format!("{ADD}=count domain=Shop/");
    let run = host::redial_run(&["--dial", &order], &domains::command(HOST)?)?;
    let mut live = under_agent::start_prepared(run)?;
    domains::create(&mut live.host, &["Shop/1", "Batch", "Shop/2"])?;
    domains::ask(&mut live.host, "round 4", "round 4")?;
    expect(&live, ADD, &[("Shop/1", 4), ("Shop/2", 4)])?;
    end(live)
}

/// A plan reports the result of the dial and changes nothing; undo restores the earlier state.
#[test]
fn plans_and_undoes_domain_dials() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let mut live = start(&names)?;
    ensure_mentions(&live.redial("dial", &[CORE, "count", "--domain", "Second", "--plan"])?, 1, &names)?;
    let plan = live.redial("dial", &[ADD, "count", "--domain", "Second", "--plan", "--json"])?;
    let plan = plan.ok()?.json()?;
    ensure!(plan["matched"] == 1 && plan["to_recompile"] == 1 && plan["to_turn_off"] == 0, "{plan}");
    ensure!(live.rows("*")?.is_empty(), "a plan left rows");

    dial(&live, ADD, "count", &[], 3)?;
    dial(&live, ADD, "off", &["--domain", "Second"], 1)?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 5), ("Third", 5)])?;
    ensure_mentions(&live.redial("undo", &[])?, 0, &["domain=Second"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("First", 10), ("Second", 5), ("Third", 10)])?;
    end(live)
}

/// A set saved in one process can be applied in another, to existing and to later domains.
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
    ensure_messages(&applied?, 0, &[])?;
    domains::create(&mut second.host, &["Batch/2", "Shop/2"])?;
    domains::ask(&mut second.host, "round 4", "round 4")?;
    expect(&second, ADD, &[("Shop/1", 4), ("Shop/2", 4)])?;
    expect(&second, CORE, &[("EE Shared Assembly Repository", 16)])?;
    end(second)
}

/// A domain created while an order keeps it off has no row. Without that order it counts.
#[test]
fn domain_kept_off_by_order_has_no_row() -> Result<()> {
    let mut live = start(&["Shop", "Batch"])?;
    dial(&live, ADD, "count", &[], 2)?;
    dial(&live, ADD, "off", &["--domain", "Batch"], 1)?;
    domains::create(&mut live.host, &["Batch/2"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Shop", 5)])?;
    let rows = live.rows(ADD)?;
    ensure!(rows.iter().all(|row| row["domain"] != "Batch/2"), "{rows:?}");
    ensure_mentions(&live.redial("undo", &[])?, 0, &["domain=Batch"])?;
    domains::ask(&mut live.host, "round 5", "round 5")?;
    expect(&live, ADD, &[("Batch", 5), ("Batch/2", 5), ("Shop", 10)])?;
    end(live)
}
