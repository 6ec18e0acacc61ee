//! Dials a domain at a time, with several real AppDomains in one .NET Core 2.1.30 process: **an unsupported
//! configuration of a real runtime** (see `src/bin/many-domains`), the only one here that has AppDomains at all.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::domains;
use redial_testbed::host::{self, Host};
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, Live, ensure_said};
use serde_json::Value;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const SHARED: &str = "EE Shared Assembly Repository";
/// Every method that the host calls and counts: three a domain.
const OWN: [&str; 2] = ["domains!Domains.Work.*", "domains!Domains.Box<T>.*"];
const METHODS: u64 = 3;
const CORE: &str = "System.Private.CoreLib!System.Version.ParseVersion";

/// The host under the agent, with these domains whose code has been compiled, and a session.
fn start(names: &[&str]) -> Result<(Live, Controller)> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, names)?;
    domains::ask(&mut live.host, "round 2", "round 2")?;
    let controller = live.controller()?;
    Ok((live, controller))
}

/// Orders for the host's own methods.
fn own(level: Level, domain: Option<&str>) -> Vec<Order> {
    let order = |pattern| Order { domain: domain.map(str::to_owned), ..Order::new(pattern, level) };
    OWN.map(order).to_vec()
}

fn core(domain: Option<&str>, all_domains: bool) -> Vec<Order> {
    vec![Order { domain: domain.map(str::to_owned), all_domains, ..Order::new(CORE, Level::Count) }]
}

/// Turns dials and checks that this many copies matched and were accepted.
fn turn(controller: &mut Controller, orders: Vec<Order>, copies: u64) -> Result<()> {
    let report = controller.order(orders.clone(), Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (copies, copies), "{orders:?}: {report:?}");
    ensure!(report.refused.is_empty() && report.shared.is_empty(), "{orders:?}: {report:?}");
    Ok(())
}

/// Calls every method in every domain, `times` more in the first than in the next one, so that no two have the same
/// number; what the agent counted of it and what the host did.
fn calls(live: &mut Live, controller: &mut Controller, names: &[&str], times: u32) -> Result<(Truth, Truth)> {
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

/// As [`calls`], and of the host's own methods exactly those of the domains of which `meant` holds are counted.
fn only(
    live: &mut Live,
    controller: &mut Controller,
    names: &[&str],
    meant: impl Fn(&str) -> bool,
) -> Result<()> {
    let (counted, did) = calls(live, controller, names, 50)?;
    let expected = domains::part(&did, meant, "domains!");
    ensure!(counted == expected, "counted {counted:?}\nof {did:?}");
    Ok(())
}

/// All off, nothing of the agent's went wrong, and the host ends well.
fn end(live: Live) -> Result<()> {
    let mut controller = live.controller()?;
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure!(controller.all_off()?.1 == 0);
    let mut host = live.host;
    host.close_input();
    ensure_said(&host.finish()?, 0, &[])
}

/// The numbers of the modules that bear this name in `modules --json`, by their domain's name.
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

/// Without the agent: what the host says is so is so.
#[test]
fn the_domains_are_real() -> Result<()> {
    let mut host = Host::start(domains::command(HOST)?)?;
    host.wait_for("ready")?;
    domains::create(&mut host, &["First", "Second", "Third"])?;
    for (number, name) in ["First", "Second", "Third"].iter().enumerate() {
        let seen = domains::ask(&mut host, &format!("where {name}"), &format!("where {name} "))?;
        ensure!(seen == (number + 1).to_string(), "{name} says that it is {seen}");
        // Statics are a domain's own.
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
    let mut live = under_agent::start_as_it_is(run)?;
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
fn a_dial_in_one_domain_counts_only_its_calls() -> Result<()> {
    let names = ["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own(Level::Count, Some("Second")), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain == "Second")?;
    let rows = controller.status(None)?;
    ensure!(rows.len() as u64 == METHODS, "the others have no rows: {rows:?}");
    ensure!(rows.iter().all(|row| row.domain == "Second" && row.state == CopyState::Live), "{rows:?}");
    end(live)
}

#[test]
fn a_dial_in_all_domains_counts_in_those_to_come_as_well() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own(Level::Count, None), 3 * METHODS)?;
    only(&mut live, &mut controller, &names, |_| true)?;
    // Nothing of the fourth has run before its calls are counted.
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    only(&mut live, &mut controller, &names, |_| true)?;
    turn(&mut controller, own(Level::Off, None), 4 * METHODS)?;
    only(&mut live, &mut controller, &names, |_| false)?;
    // The core library, one copy for all.
    turn(&mut controller, core(None, false), 1)?;
    let (counted, did) = calls(&mut live, &mut controller, &names, 10)?;
    let parsed: u64 = domains::part(&did, |_| true, CORE).values().sum();
    ensure!(counted == Truth::from([(format!("{SHARED}/{CORE}"), parsed)]), "{counted:?} of {did:?}");
    end(live)
}

#[test]
fn the_latest_order_decides_for_each_copy() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    turn(&mut controller, own(Level::Count, None), 3 * METHODS)?;
    turn(&mut controller, own(Level::Off, Some("Second")), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain != "Second")?;
    // Both stand for what comes: one more of each.
    domains::create(&mut live.host, &["SecondToo", "Fourth"])?;
    names.extend(["SecondToo", "Fourth"]);
    only(&mut live, &mut controller, &names, |domain| !domain.starts_with("Second"))?;
    // On in one of those that are off; then off everywhere, which is the latest for all.
    turn(&mut controller, own(Level::Count, Some("SecondToo")), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain != "Second")?;
    turn(&mut controller, own(Level::Off, None), 5 * METHODS)?;
    only(&mut live, &mut controller, &names, |_| false)?;
    turn(&mut controller, own(Level::Count, Some("Third")), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    end(live)
}

#[test]
fn a_domain_created_later_counts_from_its_first_call() -> Result<()> {
    let mut names = vec!["Shop/1", "Shop/2", "Batch"];
    let (mut live, mut controller) = start(&names)?;
    // Two of three by what their names begin with.
    turn(&mut controller, own(Level::Count, Some("Shop/")), 2 * METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain.starts_with("Shop/"))?;
    // Nothing has run in these before their calls are counted.
    domains::create(&mut live.host, &["Shop/3", "Batch/2"])?;
    names.extend(["Shop/3", "Batch/2"]);
    only(&mut live, &mut controller, &names, |domain| domain.starts_with("Shop/"))?;
    // An order for a domain that is still to come.
    let to_come = own(Level::Count, Some("Night"));
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
    only(&mut live, &mut controller, &names, |domain| domain.starts_with("Shop/") || domain == "Night")?;
    end(live)
}

#[test]
fn a_dial_of_one_copy_counts_only_its_calls() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    let (known, modules) = controller.modules()?;
    let third = known.iter().find(|domain| domain.name == "Third").context("there is a third domain")?.id;
    let own_module = modules.iter().find(|module| module.name == "domains" && module.domains == [third]);
    let module = own_module.context("the third domain has its module")?.key.module_id;
    let of_copy =
        |level| OWN.map(|pattern| Order { copy: Some(module), ..Order::new(pattern, level) }).to_vec();
    turn(&mut controller, of_copy(Level::Count), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    // No domain that comes later is that copy.
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    only(&mut live, &mut controller, &names, |domain| domain == "Third")?;
    // All on, that one off.
    turn(&mut controller, own(Level::Count, None), 4 * METHODS)?;
    turn(&mut controller, of_copy(Level::Off), METHODS)?;
    only(&mut live, &mut controller, &names, |domain| domain != "Third")?;
    let nowhere = OWN.map(|pattern| Order { copy: Some(8), ..Order::new(pattern, Level::Count) }).to_vec();
    ensure!(controller.order(nowhere, Stay::Kept).is_err(), "there is no module 8");
    end(live)
}

#[test]
fn a_shared_copy_is_dialled_for_all_domains_or_none() -> Result<()> {
    let mut names = vec!["First", "Second", "Third"];
    let (mut live, mut controller) = start(&names)?;
    let report = controller.order(core(Some("Second"), false), Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 0), "{report:?}");
    ensure!(report.refused_by_reason == [(Reason::Shared, 1)], "{report:?}");
    let [shared] = report.shared.as_slice() else { anyhow::bail!("{report:?}") };
    ensure!((shared.module.as_str(), shared.methods) == ("System.Private.CoreLib", 1), "{shared:?}");
    ensure!(shared.domains == names && shared.more_domains == 0 && !shared.accepted, "{shared:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.is_empty(), "{counted:?}");

    let report = controller.order(core(Some("Second"), true), Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    ensure!(report.shared.iter().all(|shared| shared.accepted && shared.domains == names), "{report:?}");
    domains::create(&mut live.host, &["Fourth"])?;
    names.push("Fourth");
    let (counted, did) = calls(&mut live, &mut controller, &names, 10)?;
    let parsed: u64 = domains::part(&did, |_| true, CORE).values().sum();
    ensure!(counted == Truth::from([(format!("{SHARED}/{CORE}"), parsed)]), "{counted:?} of {did:?}");

    // Off in one domain would be off in all: that is refused too, and for every domain it is not.
    let off = Order { level: Level::Off, ..core(Some("First"), false)[0].clone() };
    let report = controller.order(vec![off], Stay::Kept)?;
    ensure!(report.refused_by_reason == [(Reason::Shared, 1)], "{report:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.len() == 1, "{counted:?}");
    let report = controller.order(vec![Order::new(CORE, Level::Off)], Stay::Kept)?;
    ensure!((report.matched, report.accepted) == (1, 1), "{report:?}");
    let (counted, _) = calls(&mut live, &mut controller, &names, 10)?;
    ensure!(counted.is_empty(), "{counted:?}");
    end(live)
}
