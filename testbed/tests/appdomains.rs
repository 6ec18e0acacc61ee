//! Dials a domain at a time, with several real AppDomains in one .NET Core 2.1.30 process: **an unsupported
//! configuration of a real runtime** (see `src/bin/many-domains`), the only one here that has AppDomains at all.
#![cfg(target_os = "linux")]

use anyhow::{Result, ensure};
use redial_testbed::host::{self, Host};
use redial_testbed::under_agent::{self, Live, ensure_said};
use redial_testbed::{domains, truth};
use serde_json::Value;

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const SHARED: &str = "EE Shared Assembly Repository";

fn end(live: Live) -> Result<()> {
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
