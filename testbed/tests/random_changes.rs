//! Random changes of callers and callees, repeated. A dial that is on counts every call, whichever callers have
//! inlined the method and whatever changed before; one that is off counts none. At the end no caller stays
//! recompiled.

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::Remainder;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::on_each_runtime;
use redial_testbed::rng::Rng;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, EVERYTHING, LiveShop, MethodCount, differences};
use redial_testbed::soak;

/// Optimises, and inlines, at the first compilation.
const EAGER: [(&str, &str); 2] = [("DOTNET_TieredCompilation", "0"), ("COMPlus_TieredCompilation", "0")];
/// Changes per process.
const CHANGES: u64 = 40;

/// Returns orders for some of the methods, half of them on.
fn random_orders(rng: &mut Rng, methods: &[String]) -> Vec<Order> {
    let few = 1 + rng.below(6);
    let orders = (0..few).map(|_| {
        let level = if rng.below(2) == 0 { Level::Count } else { Level::Off };
        Order::new(methods[rng.below(methods.len())].as_str(), level)
    });
    orders.collect()
}

/// Returns whether any caller is still recompiled.
fn has_recompiled_callers(controller: &mut Controller) -> Result<bool> {
    let remains = controller.agent_status()?.remains;
    Ok(remains.iter().any(|one| matches!(one, Remainder::RecompiledCallers { .. })))
}

fn ensure_exact_under_random_changes(runtime: Runtime, variables: &[(&str, &str)], seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let mut shop = LiveShop::start(runtime, &[], 2, variables)?;
    shop.rounds(60)?;
    let mut controller = Controller::connect(shop.pid)?;
    // Creates a row for every method of Shop.
    controller.dial_all(&EVERYTHING[..1], Level::Count, Lifetime::Held)?;
    let dialable = |state| !matches!(state, CopyState::Refused | CopyState::Failed);
    let rows = controller.status(Some("Shop!*"))?;
    let methods: Vec<String> = rows.iter().filter(|row| dialable(row.state)).map(full_name).collect();
    controller.all_off()?;
    let mut helped = 0;
    for turn in 0..CHANGES {
        let orders = random_orders(&mut rng, &methods);
        let said = format!("seed {seed}, turn {turn}: {orders:?}");
        controller.order(orders, Lifetime::Held)?;
        shop.host.ask("truth-reset", "reset")?;
        let before = shop::of_rows(&controller.status(Some("Shop!*"))?);
        shop.rounds(17)?;
        let truth = shop.truth()?;
        let rows = controller.status(Some("Shop!*"))?;
        let counts = shop::of_rows(&rows);
        let on = |counted: &MethodCount| matches!(counted.state.as_str(), "asked" | "live");
        let wrong = differences(&truth, &before, &counts, |_, counted| on(counted));
        ensure!(wrong.is_empty(), "{said}\n  {}", wrong.join("\n  "));
        for row in &rows {
            let is_on = matches!(row.state, CopyState::Asked | CopyState::Live);
            ensure!(is_on == (row.wanted > Level::Off) && row.note.is_none(), "{said}\n  {row:?}");
        }
        for (method, counted) in counts.iter().filter(|(_, counted)| !on(counted)) {
            ensure!(counted.calls == before[method].calls, "{said}\n  {method} is off, and counts");
        }
        helped += u64::from(has_recompiled_callers(&mut controller)?);
    }
    ensure!(helped > 0 || variables.is_empty(), "no caller had inlined anything, so nothing was tested");
    controller.all_off()?;
    ensure!(!has_recompiled_callers(&mut controller)?, "seed {seed}: a caller is still recompiled");
    shop.exit().map(drop)
}

/// Inlined at the first compilation.
fn random_changes_with_everything_inlined(runtime: Runtime) -> Result<()> {
    (1..=soak::scaled(2, 20)).try_for_each(|seed| ensure_exact_under_random_changes(runtime, &EAGER, seed))
}

/// With tiering: the runtime recompiles methods that turn out to be hot in the middle of the test.
fn random_changes_while_methods_get_hot(runtime: Runtime) -> Result<()> {
    (101..=100 + soak::scaled(2, 20))
        .try_for_each(|seed| ensure_exact_under_random_changes(runtime, &[], seed))
}

on_each_runtime!(random_changes_with_everything_inlined, random_changes_while_methods_get_hot);
