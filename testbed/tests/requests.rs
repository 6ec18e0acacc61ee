//! Failing requests on real runtimes, provoked by hooks of test builds. `ReJITError` inside `RequestReJIT`:
//! every request includes a method that does not exist; the agent notes the error and dials everything else. A
//! request that does not return: the agent reports it, and only changes wait for it.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::{AuditAction, Remainder};
use redial_protocol::ids::MethodToken;
use redial_protocol::level::Level;
use redial_protocol::message::AuditEntry;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::hang::Hang;
use redial_testbed::host::{self, Host};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, LiveShop};

fn survives_an_error_inside_the_request(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 2, &[("REDIAL_TEST_BAD_TOKEN", "1")])?;
    let mut controller = Controller::connect(shop.pid)?;
    let errors = |controller: &mut Controller| -> Result<usize> {
        let audit = controller.agent_status()?.audit;
        let is_error = |entry: &&AuditEntry| {
            matches!(entry.action, AuditAction::RuntimeError { token: MethodToken(0x06ff_ff00), .. })
        };
        Ok(audit.iter().filter(is_error).count())
    };
    assert_eq!(errors(&mut controller)?, 0);
    for turn in 1..=3 {
        let report = controller.dial("Shop!Shop.Cart.Add(int)", Level::Count, Lifetime::Kept)?;
        assert_eq!((report.matched, report.accepted), (1, 1));
        assert_eq!(errors(&mut controller)?, turn, "the runtime answered the token that does not exist");
        let before = controller.row("Shop!Shop.Cart.Add(int)")?.calls;
        shop.host.ask("truth-reset", "reset")?;
        shop.rounds(3)?;
        let row = controller.row("Shop!Shop.Cart.Add(int)")?;
        assert_eq!(row.state, CopyState::Live);
        assert_eq!(row.calls - before, shop.truth()?["Shop.Cart.Add(int)"]);
        controller.off("Shop!Shop.Cart.Add(int)")?;
    }
    shop.exit().map(drop)
}

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const TAKE: &str = "Shop!Shop.Cart.TryTake(int, out int)";

fn hanging_request_blocks_only_changes(runtime: Runtime) -> Result<()> {
    let hang = Hang::default();
    let mut shop = LiveShop::start(runtime, &[], 2, &[hang.variable()])?;
    let mut looking = Controller::connect(shop.pid)?;
    looking.dial(ADD, Level::Count, Lifetime::Kept)?;
    shop.rounds(3)?;

    hang.begin()?;
    let pid = shop.pid.to_string();
    let dialling = Host::start(host::redial(&["dial", &pid, TAKE, "count"])?)?;
    let has_overdue_request = |looking: &mut Controller| -> Result<bool> {
        let remains = looking.agent_status()?.remains;
        Ok(remains.iter().any(|one| matches!(one, Remainder::RuntimeSilent { .. })))
    };
    while !has_overdue_request(&mut looking)? {}
    // The program continues, a loading module does not wait, numbers are sent, and other sessions can read.
    shop.host.ask("load-plugin", "plugin")?;
    let before = looking.row(ADD)?.calls;
    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(20)?;
    ensure!(looking.row(ADD)?.calls - before == shop.truth()?["Shop.Cart.Add(int)"]);
    ensure!(shop.redial("status", &[])?.ok()?.stdout.contains("Shop.Cart.Add"));
    let said = shop.redial("status", &["--agent"])?.ok()?.stdout;
    ensure!(said.contains("until it does, dials do not change"), "{said}");
    ensure!(shop.redial("methods", &["Shop.Cart.*"])?.ok()?.stdout.contains("TryTake"));

    hang.end()?;
    dialling.finish()?.ok()?;
    // The answer is sent from within the request, which returns right after.
    while has_overdue_request(&mut looking)? {}
    let before = shop.status()?;
    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(3)?;
    let truth = shop.truth()?;
    let wrong = shop::differences(&truth, &before, &shop.status()?, |method, _| {
        ["Shop.Cart.Add(int)", "Shop.Cart.TryTake(int, ref int)"].contains(&method)
    });
    ensure!(wrong.is_empty(), "{wrong:?}");
    ensure!(looking.all_off()? == (2, 0));
    shop.exit().map(drop)
}

on_each_runtime!(survives_an_error_inside_the_request, hanging_request_blocks_only_changes,);
