//! Dials turned at random, callers and callees alike, again and again: what is on counts every call, whoever holds it
//! inlined and whatever was turned before; what is off counts none; and at the end nobody is left recompiled.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Stay, full_name};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counted, EVERYTHING, LiveShop, differences};
use redial_testbed::soak;

/// Everything is optimised, and inlined, when it is first compiled.
const EAGER: [(&str, &str); 2] = [("DOTNET_TieredCompilation", "0"), ("COMPlus_TieredCompilation", "0")];
/// Turns of a process.
const TURNS: u64 = 40;

/// Numbers that look random and are the same every time (a linear congruential generator).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % sides as u64) as usize
    }
}

/// Orders for some of the methods, half of them on.
fn roll(dice: &mut Dice, methods: &[String]) -> Vec<Order> {
    let few = 1 + dice.below(6);
    let orders = (0..few).map(|_| {
        let level = if dice.below(2) == 0 { Level::Count } else { Level::Off };
        Order::new(methods[dice.below(methods.len())].as_str(), level)
    });
    orders.collect()
}

/// Methods recompiled for the sake of what was inlined into them.
fn is_anybody_recompiled(controller: &mut Controller) -> Result<bool> {
    let remains = controller.agent_status()?.remains;
    Ok(remains.iter().any(|sentence| sentence.contains("were inlined there")))
}

fn turned_at_random(runtime: Runtime, variables: &[(&str, &str)], seed: u64) -> Result<()> {
    let mut dice = Dice(seed);
    let mut shop = LiveShop::start(runtime, &[], 2, variables)?;
    shop.rounds(60)?;
    let mut controller = Controller::connect(shop.pid)?;
    // Every method of Shop's gets a row.
    controller.dial_all(&EVERYTHING[..1], Level::Count, Stay::Held)?;
    let dialable = |state| !matches!(state, CopyState::Refused | CopyState::Failed);
    let rows = controller.status(Some("Shop!*"))?;
    let methods: Vec<String> = rows.iter().filter(|row| dialable(row.state)).map(full_name).collect();
    controller.all_off()?;
    let mut helped = 0;
    for turn in 0..TURNS {
        let orders = roll(&mut dice, &methods);
        let said = format!("seed {seed}, turn {turn}: {orders:?}");
        controller.order(orders, Stay::Held)?;
        shop.host.ask("truth-reset", "reset")?;
        let before = shop::of_rows(&controller.status(Some("Shop!*"))?);
        shop.rounds(17)?;
        let truth = shop.truth()?;
        let rows = controller.status(Some("Shop!*"))?;
        let counts = shop::of_rows(&rows);
        let on = |counted: &Counted| matches!(counted.state.as_str(), "asked" | "live");
        let wrong = differences(&truth, &before, &counts, |_, counted| on(counted));
        ensure!(wrong.is_empty(), "{said}\n  {}", wrong.join("\n  "));
        for row in &rows {
            let is_on = matches!(row.state, CopyState::Asked | CopyState::Live);
            ensure!(is_on == (row.wanted > Level::Off) && row.note.is_none(), "{said}\n  {row:?}");
        }
        for (method, counted) in counts.iter().filter(|(_, counted)| !on(counted)) {
            ensure!(counted.calls == before[method].calls, "{said}\n  {method} is off, and counts");
        }
        helped += u64::from(is_anybody_recompiled(&mut controller)?);
    }
    ensure!(helped > 0 || variables.is_empty(), "nobody had inlined anything, so nothing was tested");
    controller.all_off()?;
    ensure!(!is_anybody_recompiled(&mut controller)?, "seed {seed}: somebody is left recompiled");
    shop.exit().map(drop)
}

/// Inlined at the first compilation.
fn with_everything_inlined(runtime: Runtime) -> Result<()> {
    (1..=soak::scaled(2, 20)).try_for_each(|seed| turned_at_random(runtime, &EAGER, seed))
}

/// As the runtime does it: methods are compiled anew when they turn out to be hot, in the middle of it all.
fn as_methods_get_hot(runtime: Runtime) -> Result<()> {
    (101..=100 + soak::scaled(2, 20)).try_for_each(|seed| turned_at_random(runtime, &[], seed))
}

on_each_runtime!(with_everything_inlined, as_methods_get_hot);
