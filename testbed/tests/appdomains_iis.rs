//! AppDomains named as IIS names them, through recycles: each unloads one and creates another with the next
//! number. Several real AppDomains in one .NET Core 2.1.30 process: **an unsupported configuration of a real
//! runtime** (see `src/bin/many-domains`). There is no IIS here.
#![cfg(target_os = "linux")]

use anyhow::{Context, Result, ensure};
use redial_testbed::domains;
use redial_testbed::truth::Truth;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use serde_json::{Value, json};

const HOST: &str = env!("CARGO_BIN_EXE_many-domains");
const ADD: &str = "domains!Domains.Work.Add(int)";
/// The application at the root of site 1. The default domain cannot be recycled.
const ROOT: &str = "/LM/W3SVC/1/ROOT-1-133012345678901234";
const SHOP: &str = "/LM/W3SVC/1/ROOT/Shop";
/// An application of the same path in another site.
const OTHER_SHOP: &str = "/LM/W3SVC/2/ROOT/Shop";

/// An application and how often it was started.
struct Application {
    path: &'static str,
    starts: u64,
}

impl Application {
    /// Starts an application for the first time.
    fn start(live: &mut LiveHost, path: &'static str) -> Result<Self> {
        let application = Self { path, starts: 1 };
        domains::create(&mut live.host, &[&application.name()])?;
        Ok(application)
    }

    /// Returns the name that IIS would give the AppDomain: application, count of starts, time.
    fn name(&self) -> String {
        format!("{}-{}-{}", self.path, self.starts, 133_012_345_678_901_234 + self.starts)
    }

    /// Unloads the AppDomain, then creates the next one.
    fn recycle(&mut self, live: &mut LiveHost) -> Result<()> {
        domains::unload(&mut live.host, &self.name())?;
        self.starts += 1;
        domains::create(&mut live.host, &[&self.name()])
    }

    /// Creates the next AppDomain, then unloads the one before it, as IIS does unless told otherwise.
    fn overlapped_recycle(&mut self, live: &mut LiveHost) -> Result<()> {
        let before = self.name();
        self.starts += 1;
        domains::create(&mut live.host, &[&self.name()])?;
        domains::unload(&mut live.host, &before)
    }
}

/// Starts the host with the agent and the root application.
fn start() -> Result<LiveHost> {
    let mut live = under_agent::start(domains::command(HOST)?)?;
    domains::create(&mut live.host, &[ROOT])?;
    Ok(live)
}

fn end(mut live: LiveHost) -> Result<()> {
    let status = live.controller()?.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    ensure_messages(&live.redial("off", &[])?, 0, &[])?;
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

/// Calls the method in every domain, and checks the calls of the loaded copies as `status --json` has them.
fn expect_calls(live: &mut LiveHost, times: u32, expected: &[(&str, u64)]) -> Result<()> {
    domains::ask(&mut live.host, &format!("round {times}"), &format!("round {times}"))?;
    let mut counted = Truth::new();
    for row in live.rows(ADD)?.iter().filter(|row| row["state"] == "live") {
        let domain = row["domain"].as_str().context("a domain")?.to_owned();
        let calls = row["calls"].as_u64().context("calls")?;
        ensure!(counted.insert(domain, calls).is_none(), "two rows of one copy");
    }
    let expected: Truth = expected.iter().map(|(domain, calls)| ((*domain).to_owned(), *calls)).collect();
    ensure!(counted == expected, "counted {counted:?}, not {expected:?}");
    Ok(())
}

/// Returns name, site and application of every AppDomain but the shared one, sorted by name.
fn applications(live: &LiveHost) -> Result<Vec<Value>> {
    let listed = live.redial("modules", &["--json"])?.ok()?.json()?;
    let rows = listed["domains"].as_array().context("a list")?;
    let own = rows.iter().filter(|row| row["shared"] == false);
    let mut own: Vec<Value> = own.map(|row| json!([row["name"], row["site"], row["application"]])).collect();
    own.sort_by_key(Value::to_string);
    Ok(own)
}

#[test]
fn lists_site_and_application() -> Result<()> {
    let mut live = start()?;
    let mut shop = Application::start(&mut live, SHOP)?;
    let other = Application::start(&mut live, OTHER_SHOP)?;
    let nested = Application::start(&mut live, "/LM/W3SVC/1/ROOT/Shop/api-v2")?;
    domains::create(&mut live.host, &["Batch-1-2"])?;
    let expected = |shop: &Application| {
        let mut rows = vec![
            json!([ROOT, 1, "/"]),
            json!([shop.name(), 1, "/Shop"]),
            json!([other.name(), 2, "/Shop"]),
            json!([nested.name(), 1, "/Shop/api-v2"]),
            json!(["Batch-1-2", null, null]),
        ];
        rows.sort_by_key(Value::to_string);
        rows
    };
    let listed = applications(&live)?;
    ensure!(listed == expected(&shop), "{listed:?}");
    shop.recycle(&mut live)?;
    let listed = applications(&live)?;
    ensure!(listed == expected(&shop), "after a recycle: {listed:?}");

    let table = live.redial("modules", &[])?.ok()?.stdout;
    let columns = |part: &str| {
        let line = table.lines().find(|line| line.contains(part)).unwrap_or_default();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    ensure!(columns("SITE") == ["NAME", "SITE", "APPLICATION"], "{table}");
    ensure!(columns(&nested.name()) == [nested.name().as_str(), "1", "/Shop/api-v2"], "{table}");
    end(live)
}

/// The order matches the application's later AppDomains before their code runs, and no other application.
#[test]
fn kept_dial_of_an_application_survives_recycles() -> Result<()> {
    let mut live = start()?;
    let mut shop = Application::start(&mut live, SHOP)?;
    let other = Application::start(&mut live, OTHER_SHOP)?;
    let dialled = live.redial("dial", &[ADD, "count", "--domain", SHOP, "--json"])?.ok()?.json()?;
    ensure!(dialled["matched"] == 1 && dialled["accepted"] == 1, "{dialled}");
    expect_calls(&mut live, 7, &[(&shop.name(), 7)])?;
    for times in [3, 4] {
        shop.recycle(&mut live)?;
        expect_calls(&mut live, times, &[(&shop.name(), times.into())])?;
        shop.overlapped_recycle(&mut live)?;
        expect_calls(&mut live, times, &[(&shop.name(), times.into())])?;
    }
    // Off in one application; the order for the other still stands.
    ensure_messages(&live.redial("dial", &[ADD, "count", "--domain", OTHER_SHOP])?, 0, &[])?;
    ensure_messages(&live.redial("dial", &[ADD, "off", "--domain", SHOP])?, 0, &[])?;
    shop.recycle(&mut live)?;
    expect_calls(&mut live, 5, &[(&other.name(), 5)])?;
    end(live)
}

/// Without a trailing hyphen, a prefix also selects applications whose names begin the same way.
#[test]
fn prefix_with_hyphen_selects_one_application() -> Result<()> {
    let mut live = start()?;
    let mut shop = Application::start(&mut live, SHOP)?;
    let shopping = Application::start(&mut live, "/LM/W3SVC/1/ROOT/Shopping")?;
    ensure_messages(&live.redial("dial", &[ADD, "count", "--domain", &format!("{SHOP}-")])?, 0, &[])?;
    shop.recycle(&mut live)?;
    expect_calls(&mut live, 2, &[(&shop.name(), 2)])?;
    ensure_messages(&live.redial("dial", &[ADD, "count", "--domain", SHOP])?, 0, &[])?;
    expect_calls(&mut live, 2, &[(&shop.name(), 4), (&shopping.name(), 2)])?;
    end(live)
}

/// A dial for an application that has not started, or that was unloaded before the dial.
#[test]
fn later_dial_waits_for_the_application() -> Result<()> {
    let mut live = start()?;
    let mut shop = Application::start(&mut live, SHOP)?;
    domains::unload(&mut live.host, &shop.name())?;
    ensure!(live.redial("dial", &[ADD, "count", "--domain", SHOP])?.code()? == 6, "nothing matches");
    ensure_messages(&live.redial("dial", &[ADD, "count", "--domain", SHOP, "--later"])?, 0, &[])?;
    shop.starts += 1;
    domains::create(&mut live.host, &[&shop.name()])?;
    expect_calls(&mut live, 6, &[(&shop.name(), 6)])?;
    end(live)
}
