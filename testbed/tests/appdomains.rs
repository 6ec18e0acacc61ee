//! Dials for one domain at a time, with several real AppDomains in one .NET Core 2.1.30 process: **an
//! unsupported configuration of a real runtime** (see `src/bin/many-domains`), and the only one here with
//! AppDomains.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::Controller;
use redial_testbed::domains;
use redial_testbed::host::{self, Host};
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use serde_json::Value;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const SHARED: &str = "EE Shared Assembly Repository";
/// The methods that the host calls and counts: three per domain.
const OWN: [&str; 2] = ["domains!Domains.Work.*", "domains!Domains.Box<T>.*"];
const METHODS: u64 = 3;
const CORE: &str = "System.Private.CoreLib!System.Version.ParseVersion";

/// Starts the host with the agent, creates the domains, compiles their code, and connects a session.
fn start(names: &[&str]) -> Result<(LiveHost, Controller)> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    let controller = live.controller()?;
    Ok((live, controller))
}

/// Returns orders for the host's own methods.
fn own_orders(level: Level, domain: Option<&str>) -> Vec<Order> {
    let order = |pattern| Order { domain: domain.map(str::to_owned), ..Order::new(pattern, level) };
    OWN.map(order).to_vec()
}

fn core_orders(domain: Option<&str>, all_domains: bool) -> Vec<Order> {
    vec![Order { domain: domain.map(str::to_owned), all_domains, ..Order::new(CORE, Level::Count) }]
}

/// Turns dials and checks the number of matched and accepted copies.
fn turn(controller: &mut Controller, orders: Vec<Order>, copies: u64) -> Result<()> {
    let report = controller.order(orders.clone(), Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (copies, copies), "{orders:?}: {report:?}");
    ensure!(report.refused.is_empty() && report.shared.is_empty(), "{orders:?}: {report:?}");
    Ok(())
}

/// Calls every method in every domain, `times` more in each domain than in the next, so that no two numbers are
/// equal. Returns the agent's counts and the host's.
fn calls(
    live: &mut LiveHost,
    controller: &mut Controller,
    names: &[&str],
    times: u32,
) -> Result<(Truth, Truth)> {
    let before = (domains::counted(&controller.status(None)?)?, truth::ask(&mut live.host, "truth")?);
    for (number, name) in (1..).zip(names) {
        for kind in ["add", "same", "size", "parse"] {
            domains::call(&mut live.host, name, kind, number * times)?;
        }
    }
    let after = (domains::counted(&controller.status(None)?)?, truth::ask(&mut live.host, "truth")?);
    let did = domains::grown(&before.1, &after.1);
    ensure!(did.len() == names.len() * (METHODS as usize + 1), "{did:?}");
    Ok((domains::grown(&before.0, &after.0), did))
}

/// Like [`calls`], and checks that the agent counts the host's own methods exactly in the domains that `meant`
/// accepts.
fn ensure_only_counted_in(
    live: &mut LiveHost,
    controller: &mut Controller,
    names: &[&str],
    is_included: impl Fn(&str) -> bool,
) -> Result<()> {
    let (counted, did) = calls(live, controller, names, 50)?;
    let expected = domains::part(&did, is_included, "domains!");
    ensure!(counted == expected, "counted {counted:?}\nof {did:?}");
    Ok(())
}

/// Turns everything off, checks that no guard of the agent tripped, and ends the host.
fn end(live: LiveHost) -> Result<()> {
    let mut controller = live.controller()?;
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure!(controller.all_off()?.1 == 0);
    let mut host = live.host;
    host.close_input();
    ensure_messages(&host.finish()?, 0, &[])
}

/// Returns the ids of the modules named `name` in `modules --json`, with the names of their domains.
fn copies(modules: &Value, name: &str) -> Vec<(String, String)> {
    let rows = |what: &str| modules[what].as_array().cloned().unwrap_or_default();
    let domain_name = |id: &Value| {
        let domain = rows("domains").into_iter().find(|domain| domain["id"] == *id);
        domain.map_or_else(String::new, |domain| domain["name"].as_str().unwrap_or_default().to_owned())
    };
    let modules = rows("modules").into_iter().filter(|module| module["name"] == name);
    modules
        .map(|module| {
            let id = module["id"].as_str().unwrap_or_default().to_owned();
            (domain_name(&module["domains"][0]), id)
        })
        .collect()
}

/// Runs without the agent, to prove the host's claims.
#[test]
fn domains_are_real() -> Result<()> {
    let mut host = Host::start(domains::command(HOST)?)?;
    host.wait_for("ready")?;
    domains::create(&mut host, &["First", "Second", "Third"])?;
    for (number, name) in ["First", "Second", "Third"].iter().enumerate() {
        let seen = domains::ask(&mut host, &format!("where {name}"), &format!("where {name} "))?;
        ensure!(seen == (number + 1).to_string(), "{name} says that it is {seen}");
        // Each domain has its own statics.
        let total = domains::ask(&mut host, &format!("bump {name} 5"), &format!("bumped {name} "))?;
        ensure!(total == "5", "{name} has {total}");
    }
    domains::call(&mut host, "Second", "add", 7)?;
    domains::ask(&mut host, "round 2", "round 2")?;
    let truth = truth::ask(&mut host, "truth")?;
    ensure!(truth.len() == 12 && truth["Second/domains!Domains.Work.Add"] == 9, "{truth:?}");
    ensure!(truth.values().filter(|calls| **calls == 2).count() == 11, "{truth:?}");
    ensure!(domains::ask(&mut host, "create First", "error").is_ok(), "a second domain of one name");
    host.say("exit")?;
    ensure!(host.finish()?.code()? == 0);
    Ok(())
}

#[test]
fn each_domain_has_its_copy_and_the_core_library_is_shared() -> Result<()> {
    let run = host::redial_run(&[], &domains::command(HOST)?)?;
    let mut live = under_agent::start_prepared(run)?;
    domains::create(&mut live.host, &["First", "Second"])?;
    let modules = live.redial("modules", &["--json"])?.ok()?.json()?;
    let own = copies(&modules, "domains");
    ensure!(own.len() == 2 && own[0].0 == "First" && own[1].0 == "Second" && own[0].1 != own[1].1, "{own:?}");
    let core: Vec<&Value> = modules["modules"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|module| module["name"] == "System.Private.CoreLib")
        .collect();
    ensure!(core.len() == 1 && core[0]["shared"] == true, "{core:?}");
    let mut names: Vec<_> = modules["domains"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|domain| (domain["name"].as_str().unwrap_or_default(), domain["shared"] == true))
        .collect();
    names.sort_unstable();
    ensure!(names == [(SHARED, true), ("First", false), ("Second", false)], "{names:?}");
    end(live)
}

#[test]
fn dial_in_one_domain_counts_only_its_calls() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own_orders(Level::Count, Some("Second")), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain == "Second")?;
    let rows = controller.status(None)?;
    ensure!(rows.len() as u64 == METHODS, "the others have no rows: {rows:?}");
    ensure!(rows.iter().all(|row| row.domain == "Second" && row.state == CopyState::Live), "{rows:?}");
    end(live)
}

#[test]
fn dial_in_all_domains_includes_later_ones() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own_orders(Level::Count, None), 3 * METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |_| true)?;
    // The fourth domain has run no code before its calls are counted.
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    ensure_only_counted_in(&mut live, &mut controller, &names, |_| true)?;
    turn(&mut controller, own_orders(Level::Off, None), 4 * METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |_| false)?;
    // The core library has one copy for all domains.
    turn(&mut controller, core_orders(None, false), 1)?;
    let (counted, did) = calls(&mut live, &mut controller, &names, 10)?;
    let parsed: u64 = domains::part(&did, |_| true, CORE).values().sum();
    ensure!(counted == Truth::from([(format!("{SHARED}/{CORE}"), parsed)]), "{counted:?} of {did:?}");
    end(live)
}

#[test]
fn latest_order_decides_for_each_copy() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own_orders(Level::Count, None), 3 * METHODS)?;
    turn(&mut controller, own_orders(Level::Off, Some("Second")), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain != "Second")?;
    // Both orders apply to future domains, so each gets one more.
    domains::create(&mut live.host, &["SecondToo", "Fourth"])?;
    names.extend(["SecondToo", "Fourth"]);
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| !domain.starts_with("Second"))?;
    // First on in one of the domains that are off, then off everywhere, which is the latest order for all.
    turn(&mut controller, own_orders(Level::Count, Some("SecondToo")), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain != "Second")?;
    turn(&mut controller, own_orders(Level::Off, None), 5 * METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |_| false)?;
    turn(&mut controller, own_orders(Level::Count, Some("Third")), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    end(live)
}

#[test]
fn later_domain_counts_from_its_first_call() -> Result<()> {
    let mut names = vec!["Shop/1", "Shop/2", "Batch"];
    let (mut live, mut controller) = start(&names)?;
    // Two of three domains, by a prefix of their names.
    turn(&mut controller, own_orders(Level::Count, Some("Shop/")), 2 * METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain.starts_with("Shop/"))?;
    // These domains have run no code before their calls are counted.
    domains::create(&mut live.host, &["Shop/3", "Batch/2"])?;
    names.extend(["Shop/3", "Batch/2"]);
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain.starts_with("Shop/"))?;
    // An order for a domain that does not exist yet.
    let to_come = own_orders(Level::Count, Some("Night"));
    let command = |later| WireCommand::RequestReJit {
        orders: to_come.clone(),
        later,
        take: false,
        lifetime: Lifetime::Kept,
    };
    let refused = controller.turn(command(false))?;
    ensure!(matches!(refused, Err(Refusal::NothingMatched { .. })), "{refused:?}");
    let report = controller.turn(command(true))?;
    ensure!(report.as_ref().is_ok_and(|report| report.matched == 0), "{report:?}");
    domains::create(&mut live.host, &["Night"])?;
    names.push("Night");
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| {
        domain.starts_with("Shop/") || domain == "Night"
    })?;
    end(live)
}

#[test]
fn dial_of_one_copy_counts_only_its_calls() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    let (known, modules) = controller.modules()?;
    let third = known.iter().find(|domain| domain.name == "Third").context("there is a third domain")?.id;
    let own_module = modules.iter().find(|module| module.name == "domains" && module.domains == [third]);
    let module = own_module.context("the third domain has its module")?.key.module_id;
    let of_copy =
        |level| OWN.map(|pattern| Order { copy: Some(module), ..Order::new(pattern, level) }).to_vec();
    turn(&mut controller, of_copy(Level::Count), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    // No later domain contains that copy.
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    // All on except that copy.
    turn(&mut controller, own_orders(Level::Count, None), 4 * METHODS)?;
    turn(&mut controller, of_copy(Level::Off), METHODS)?;
    ensure_only_counted_in(&mut live, &mut controller, &names, |domain| domain != "Third")?;
    let nowhere = OWN.map(|pattern| Order { copy: Some(8), ..Order::new(pattern, Level::Count) }).to_vec();
    ensure!(controller.order(nowhere, Lifetime::Kept).is_err(), "there is no module 8");
    end(live)
}

#[test]
fn shared_copy_is_dialled_for_all_domains_or_none() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    let report = controller.order(core_orders(Some("Second"), false), Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 0), "{report:?}");
    ensure!(report.refused_by_reason == [(Reason::Shared, 1)], "{report:?}");
    let [shared] = report.shared.as_slice() else { anyhow::bail!("{report:?}") };
    ensure!((shared.module.as_str(), shared.methods) == ("System.Private.CoreLib", 1), "{shared:?}");
    ensure!(shared.domains == names && shared.more_domains == 0 && !shared.accepted, "{shared:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.is_empty(), "{counted:?}");

    let report = controller.order(core_orders(Some("Second"), true), Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    ensure!(report.shared.iter().all(|shared| shared.accepted && shared.domains == names), "{report:?}");
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    let (counted, did) = calls(&mut live, &mut controller, &names, 10)?;
    let parsed: u64 = domains::part(&did, |_| true, CORE).values().sum();
    ensure!(counted == Truth::from([(format!("{SHARED}/{CORE}"), parsed)]), "{counted:?} of {did:?}");

    // Off in one domain would mean off in all, so that is refused too; off in every domain is accepted.
    let off = Order { level: Level::Off, ..core_orders(Some("First"), false)[0].clone() };
    let report = controller.order(vec![off], Lifetime::Kept)?;
    ensure!(report.refused_by_reason == [(Reason::Shared, 1)], "{report:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.len() == 1, "{counted:?}");
    let report = controller.order(vec![Order::new(CORE, Level::Off)], Lifetime::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.is_empty(), "{counted:?}");
    end(live)
}
