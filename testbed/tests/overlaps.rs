//! Overlapping orders that come and go on real runtimes. For each copy the latest matching standing order
//! decides, and the memory for the others does not grow.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, Reply, StatusRow, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_testbed::controller::Controller;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{on_each_runtime, programs};

on_each_runtime!(latest_standing_order_decides, overlapping_orders_use_no_extra_memory);

/// Each overlaps most others; the last matches nothing before the plug-in is loaded.
const PATTERNS: [&str; 10] = [
    "Shop!*",
    "Shop!Shop.*.*",
    "Shop!Shop.Cart.*",
    "Shop!Shop.Cart.Add(int)",
    "Shop!Shop.C*.*",
    "*.Add",
    "Shop!Shop.Order.*",
    "Shop!*.get_*",
    "Shop!Shop.Pricing.*",
    "Plugin!*",
];
const STEPS: usize = 60;

/// A pseudo-random sequence, the same in every run (xorshift, Marsaglia 2003).
struct Rng(u64);

impl Rng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// A method's name and token: Shop is loaded once, and each overload has its token.
type MethodCopy = (String, u32);

fn copies<'a>(rows: impl Iterator<Item = &'a StatusRow>) -> BTreeSet<MethodCopy> {
    rows.map(|row| (row.method.clone(), row.copy.token.0)).collect()
}

/// The copies that each pattern matches, as `methods` lists them, without those that have no body.
struct Reference(BTreeMap<&'static str, BTreeSet<MethodCopy>>);

impl Reference {
    fn read(controller: &mut Controller, bodies: &BTreeSet<MethodCopy>) -> Result<Self> {
        let mut matches = BTreeMap::new();
        for pattern in PATTERNS {
            let answer =
                controller.ask(WireCommand::Methods { pattern: Some(pattern.into()), limit: 100_000 })?;
            let mut copies = BTreeSet::new();
            for page in &answer.methods {
                for (index, token) in page.token.iter().enumerate() {
                    let type_name =
                        page.type_index.get(index).and_then(|at| page.type_names.get(*at as usize));
                    let name = type_name.zip(page.name.get(index)).context("a whole page")?;
                    copies.insert((format!("{}.{}", name.0, name.1), *token));
                }
            }
            copies.retain(|copy| bodies.contains(copy));
            matches.insert(pattern, copies);
        }
        Ok(Self(matches))
    }

    /// Returns the copies that these orders turn on, by checking every order for every copy.
    fn on(&self, orders: &[Order]) -> BTreeSet<MethodCopy> {
        let is_on = |copy: &&MethodCopy| {
            let means = |order: &&Order| self.0[order.pattern.as_str()].contains(*copy);
            orders.iter().rev().find(means).is_some_and(|order| order.level > Level::Off)
        };
        self.0.values().flatten().filter(is_on).cloned().collect()
    }
}

/// Returns every copy that can be dialled, read from another process.
fn bodies(runtime: Runtime) -> Result<BTreeSet<MethodCopy>> {
    let mut live = shop(runtime)?;
    live.host.ask("load-plugin", "plugin")?;
    let mut controller = live.controller()?;
    for pattern in PATTERNS {
        turn(&mut controller, Order::new(pattern, Level::Count), Lifetime::Kept)?;
    }
    let rows = controller.status(None)?;
    end(live)?;
    Ok(copies(rows.iter().filter(|row| row.wanted > Level::Off)))
}

fn shop(runtime: Runtime) -> Result<LiveHost> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    under_agent::start(command)
}

fn orders(controller: &mut Controller) -> Result<Vec<Order>> {
    match controller.ask(WireCommand::Orders)?.reply {
        Reply::Orders { orders, .. } => Ok(orders.into_iter().map(|standing| standing.order).collect()),
        other => bail!("orders answered {other:?}"),
    }
}

fn check(controller: &mut Controller, reference: &Reference, step: &str) -> Result<()> {
    let orders = orders(controller)?;
    let expected = reference.on(&orders);
    let rows = controller.status(None)?;
    let on = copies(rows.iter().filter(|row| row.wanted > Level::Off));
    let missing: Vec<_> = expected.difference(&on).collect();
    let surplus: Vec<_> = on.difference(&expected).collect();
    ensure!(
        missing.is_empty() && surplus.is_empty(),
        "{step}: missing {missing:?}, surplus {surplus:?} of {orders:#?}"
    );
    Ok(())
}

fn turn(controller: &mut Controller, order: Order, lifetime: Lifetime) -> Result<()> {
    let command = WireCommand::RequestReJit { orders: vec![order], later: true, take: true, lifetime };
    match controller.ask(command)?.reply {
        Reply::Dialled(_) => Ok(()),
        other => bail!("answered {other:?}"),
    }
}

/// Two sessions set, hold, undo, end and clear orders, with a module that loads in between.
fn latest_standing_order_decides(runtime: Runtime) -> Result<()> {
    let bodies = bodies(runtime)?;
    ensure!(bodies.len() > 100, "{bodies:?}");
    for seed in [0x5eed, 0x0dd_ba11] {
        let mut rng = Rng(seed);
        let mut live = shop(runtime)?;
        let mut controller = live.controller()?;
        let mut holder = live.controller()?;
        let mut reference = Reference::read(&mut controller, &bodies)?;
        for number in 0..STEPS {
            let pattern = PATTERNS[rng.roll(PATTERNS.len())];
            let level = if rng.roll(3) == 0 { Level::Off } else { Level::Count };
            let order = Order::new(pattern, level);
            let step = match rng.roll(10) {
                _ if number == STEPS / 2 => {
                    live.host.ask("load-plugin", "plugin")?;
                    reference = Reference::read(&mut controller, &bodies)?;
                    ensure!(!reference.0["Plugin!*"].is_empty(), "the plug-in is loaded");
                    "the plug-in".to_owned()
                }
                0..=3 => {
                    turn(&mut controller, order, Lifetime::Kept)?;
                    format!("kept {pattern} {level}")
                }
                4..=6 => {
                    turn(&mut holder, order, Lifetime::Held)?;
                    format!("held {pattern} {level}")
                }
                7 => {
                    // The holder has control, and its session can still end.
                    end_session(&mut controller, holder)?;
                    holder = live.controller()?;
                    "the holder's end".to_owned()
                }
                8 => match controller.ask(WireCommand::Undo { take: true })?.reply {
                    Reply::Undone { entry, .. } => format!("undo of {:?}", entry.action),
                    Reply::Refused(Refusal::NothingToUndo) => "nothing to undo".to_owned(),
                    other => bail!("undo answered {other:?}"),
                },
                _ if rng.roll(4) == 0 => {
                    controller.all_off()?;
                    "all off".to_owned()
                }
                _ => continue,
            };
            check(&mut controller, &reference, &format!("seed {seed:#x}, step {number}, {step}"))?;
        }
        ensure!(controller.agent_status()?.guard_trips == 0);
        end(live)?;
    }
    Ok(())
}

/// Ends a session and waits until its orders are gone, because a thread of the agent handles the end.
fn end_session(controller: &mut Controller, holder: Controller) -> Result<()> {
    drop(holder);
    loop {
        match controller.ask(WireCommand::Orders)?.reply {
            Reply::Orders { orders, .. } if orders.iter().all(|one| one.lifetime != Lifetime::Held) => {
                return Ok(());
            }
            Reply::Orders { .. } => {}
            other => bail!("orders answered {other:?}"),
        }
    }
}

fn overlapping_orders_use_no_extra_memory(runtime: Runtime) -> Result<()> {
    const MORE: u64 = 32;
    let live = shop(runtime)?;
    let mut controller = live.controller()?;
    let all = |stars| Order::new(format!("System.Private.C{}b!*", "*".repeat(stars as usize)), Level::Count);
    turn(&mut controller, all(1), Lifetime::Kept)?;
    let rows = controller.status(None)?.len() as u64;
    ensure!(rows > 15_000, "{rows} rows");
    let before = controller.agent_status()?.memory_bytes;
    for stars in 2..=MORE {
        turn(&mut controller, all(stars), Lifetime::Kept)?;
    }
    ensure!(orders(&mut controller)?.len() as u64 == MORE);
    let after = controller.agent_status()?.memory_bytes;
    let grown = after.saturating_sub(before);
    ensure!(grown < rows * MORE * 2, "{rows} copies under {MORE} orders: {before} bytes became {after}");
    // Orders for off do not create rows for methods that are already off.
    controller.all_off()?;
    let known = controller.status(None)?.len();
    turn(&mut controller, Order::new("Shop!*", Level::Off), Lifetime::Kept)?;
    ensure!(controller.status(None)?.len() == known, "an order that changes nothing made rows");
    end(live)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit 0")?;
    live.host.finish()?.ok().map(drop)
}
