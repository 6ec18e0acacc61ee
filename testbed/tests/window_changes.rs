//! Changes by the window with a real agent: large ones planned, stopped and undone as a whole, with the orders
//! of other controllers restored.

#![cfg(target_os = "linux")]

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_protocol::ids::CopyKey;
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::{Lifetime, StandingOrder};
use redial_testbed::controller::Controller;
use redial_testbed::host::DEADLINE;
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals::Stopped;
use std::time::{Duration, Instant};
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const PEEK: &str = "Shop!Shop.Cart.Peek(int)";
/// Number of tries, because a change may finish before it can be stopped.
const TRIES: usize = 20;

/// All standing orders, and the resulting levels.
#[derive(Debug, PartialEq)]
struct DialState {
    /// Without the remaining time of orders.
    orders: Vec<StandingOrder>,
    wanted: Vec<(CopyKey, Level)>,
}

impl DialState {
    fn of(controller: &mut Controller) -> Result<DialState> {
        let Reply::Orders { mut orders, .. } = controller.ask(WireCommand::Orders)?.reply else {
            anyhow::bail!("no orders")
        };
        for one in &mut orders {
            if let Lifetime::KeptFor { ms } = &mut one.lifetime {
                ensure!(*ms > 500_000, "its time restarted, or is nearly over: {ms}");
                *ms = 0;
            }
        }
        let rows = controller.status(None)?;
        let mut wanted: Vec<_> =
            rows.iter().filter(|row| row.wanted > Level::Off).map(|row| (row.copy, row.wanted)).collect();
        wanted.sort_by_key(|(copy, _)| (copy.module.generation, copy.token.0));
        Ok(DialState { orders, wanted })
    }
}

/// Starts Shop, sets kept dials from another session, and opens a window on it.
fn start(runtime: Runtime) -> Result<(LiveShop, Controller, Window)> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    shop.redial("dial", &["Shop!Shop.Cart.*", "count", "--for", "10m"])?.ok()?;
    shop.redial("dial", &[ADD, "count"])?.ok()?;
    shop.redial("dial", &[PEEK, "off"])?.ok()?;
    let controller = Controller::connect(shop.pid)?;
    let mut window = Window::open();
    window.select(shop.pid)?;
    Ok((shop, controller, window))
}

fn undo(window: &mut Window) {
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.0.run_steps(2);
}

fn redo(window: &mut Window) {
    window.0.key_press_modifiers(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
    window.0.run_steps(2);
}

fn click(window: &mut Window, method: &str) {
    window.0.get_by_label(&format!("Dial of {method}")).click();
    window.0.run_steps(2);
}

/// Waits until the agent's dials are as expected: the window shows a change before the agent has made it.
fn wait_for(controller: &mut Controller, is_expected: impl Fn(&DialState) -> bool) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let state = DialState::of(controller)?;
        if is_expected(&state) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{state:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Undoing an off restores a kept dial with its lifetime and author; undoing "all off" restores everything.
fn undo_restores_kept_dials(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = DialState::of(&mut controller)?;
    ensure!(before.orders.len() == 3 && before.wanted.len() > 3, "{before:?}");
    window.filter("Shop.Cart.");
    window
        .until("the dials", |window| window.dial(ADD).starts_with("count") && window.dial(PEEK) == "off")?;
    click(&mut window, ADD);
    window.until("off", |window| window.dial(ADD) == "off")?;
    wait_for(&mut controller, |state| *state != before)?;
    undo(&mut window);
    window.until("on again", |window| window.dial(ADD).starts_with("count, "))?;
    wait_for(&mut controller, |state| *state == before)?;

    // Changes by another controller meanwhile stay.
    click(&mut window, PEEK);
    window.until("on", |window| window.dial(PEEK).starts_with("count, "))?;
    click(&mut window, ADD);
    window.until("off", |window| window.dial(ADD) == "off")?;
    window.0.key_press(Key::F9);
    window.until("all off", |window| window.shows("every dial is off"))?;
    ensure!(DialState::of(&mut controller)?.orders.is_empty());
    shop.redial("dial", &["Shop!Shop.Pricing.*", "count"])?.ok()?;
    let other = DialState::of(&mut controller)?;
    for _ in 0..3 {
        undo(&mut window);
    }
    window
        .until("as it was", |window| window.dial(ADD).starts_with("count, ") && window.dial(PEEK) == "off")?;
    let orders = [&before.orders[..], &other.orders].concat();
    let wanted = before.wanted.len() + other.wanted.len();
    wait_for(&mut controller, |state| state.orders == orders && state.wanted.len() == wanted)?;

    // All of it once more.
    for _ in 0..3 {
        redo(&mut window);
    }
    window.until("all off again", |window| window.dial(ADD) == "off" && window.dial(PEEK) == "off")?;
    ensure!(DialState::of(&mut controller)?.orders.is_empty());
    shop.exit().map(drop)
}

/// Selects all shown methods, asks to count them, and waits for the agent's plan.
fn plan_all_shown(window: &mut Window) -> Result<()> {
    // Out of the filter's field, which uses these keys too.
    window.0.key_press(Key::ArrowDown);
    window.0.run_steps(2);
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.0.run_steps(3);
    window.0.key_press(Key::Space);
    window.until("the plan", |window| {
        window.shows("matched, according to the agent") && window.shows("will be recompiled")
    })
}

/// Answers yes.
fn confirm(window: &mut Window) {
    window.0.key_press(Key::Enter);
    window.0.run_steps(3);
}

/// Returns whether the selection waits for the agent.
fn is_pending(window: &Window) -> bool {
    window.value("Dial of the selection").contains("requesting")
}

/// Undoes the change of the selection, and waits for the earlier state.
fn undo_all(window: &mut Window, before: &DialState) -> Result<()> {
    undo(window);
    let number = format!("All dials off ({}, none yours)", before.wanted.len());
    window.until("undone", |window| !is_pending(window) && window.shows(&number))
}

/// Individually selected methods: the agent plans all of them, and one undo restores them.
fn plans_and_undoes_thousands_of_single_methods(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = DialState::of(&mut controller)?;
    window.0.get_by_label("Hide framework").click();
    window.filter("System.Private.CoreLib! .ctor");
    window.until("constructors", |window| window.shows("..ctor("))?;
    plan_all_shown(&mut window)?;
    confirm(&mut window);
    window.until("the answer", |window| !is_pending(window))?;
    let orders = DialState::of(&mut controller)?.orders.len();
    ensure!(orders > before.orders.len() + 1_024, "{orders} orders: the test needs more");
    undo_all(&mut window, &before)?;
    ensure!(DialState::of(&mut controller)? == before, "something stays");
    shop.exit().map(drop)
}

/// The button beside the progress stops a change. To keep the change from finishing first, the process is
/// stopped meanwhile, as by a debugger; every other try stops it before the change is sent, since on a busy
/// machine a started change may finish first.
fn stopped_change_leaves_nothing(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = DialState::of(&mut controller)?;
    window.0.get_by_label("Hide framework").click();
    window.until("the framework", |window| window.shows("System."))?;
    for number in 0..TRIES {
        plan_all_shown(&mut window)?;
        let stopped = if number % 2 == 1 {
            let stopped = Stopped::stop(shop.pid)?;
            confirm(&mut window);
            stopped
        } else {
            let mut watcher = Controller::connect(shop.pid)?;
            watcher.subscribe(None)?;
            confirm(&mut window);
            // Rows alone prove nothing: those of an earlier try are still there.
            watcher.wait_until("that it has begun", |dials| {
                dials.values().filter(|row| row.wanted > Level::Off).count() > before.wanted.len()
            })?;
            Stopped::stop(shop.pid)?
        };
        window.until("the button", |window| window.shows("Stop this change") || !is_pending(window))?;
        if window.shows("Stop this change") {
            window.0.get_by_label("Stop this change").click();
            window.0.run_steps(3);
        }
        drop(stopped);
        window.until("its end", |window| !is_pending(window))?;
        if window.shows("refused: cancelled; all dials are as they were before") {
            ensure!(DialState::of(&mut controller)? == before, "stopped, it leaves nothing");
            return shop.exit().map(drop);
        }
        undo_all(&mut window, &before)?;
        ensure!(DialState::of(&mut controller)? == before, "undone, it leaves nothing either");
    }
    Err(anyhow::anyhow!("not one of {TRIES} turns could be stopped"))
}

on_each_runtime!(
    undo_restores_kept_dials,
    plans_and_undoes_thousands_of_single_methods,
    stopped_change_leaves_nothing,
);
