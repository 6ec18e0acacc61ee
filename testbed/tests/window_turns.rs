//! Turns of the window against a real agent: large ones planned, stopped and undone as a whole; what others had set is
//! afterwards as they had set it.

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
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals::Stopped;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const PEEK: &str = "Shop!Shop.Cart.Peek(int)";
/// Turns that may be over before they can be stopped.
const TRIES: usize = 20;

/// Everything that stands, and what follows from it.
#[derive(Debug, PartialEq)]
struct Standing {
    /// The time an order is still kept for runs on: it is left out.
    orders: Vec<StandingOrder>,
    wanted: Vec<(CopyKey, Level)>,
}

impl Standing {
    fn of(controller: &mut Controller) -> Result<Standing> {
        let Reply::Orders { mut orders, .. } = controller.ask(WireCommand::Orders)?.reply else {
            anyhow::bail!("no orders")
        };
        for one in &mut orders {
            if let Lifetime::KeptFor { ms } = &mut one.lifetime {
                ensure!(*ms > 500_000, "its time began anew, or is nearly over: {ms}");
                *ms = 0;
            }
        }
        let rows = controller.status(None)?;
        let mut wanted: Vec<_> =
            rows.iter().filter(|row| row.wanted > Level::Off).map(|row| (row.copy, row.wanted)).collect();
        wanted.sort_by_key(|(copy, _)| (copy.module.generation, copy.token.0));
        Ok(Standing { orders, wanted })
    }
}

/// Shop, in which somebody has set dials that stay, and a window that looks at it.
fn start(runtime: Runtime) -> Result<(LiveShop, Controller, Window)> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    shop.redial("dial", &["Shop!Shop.Cart.*", "count", "--for", "10m"])?.ok()?;
    shop.redial("dial", &[ADD, "count"])?.ok()?;
    shop.redial("dial", &[PEEK, "off"])?.ok()?;
    let controller = Controller::connect(shop.pid)?;
    let mut window = Window::open();
    window.pick(shop.pid)?;
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

/// Off and undone, a kept dial is kept as it was, until when it was, by whom it was; so is everything after "all off".
fn what_was_kept_is_kept_again(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = Standing::of(&mut controller)?;
    ensure!(before.orders.len() == 3 && before.wanted.len() > 3, "{before:?}");
    window.filter("Shop.Cart.");
    window
        .until("the dials", |window| window.dial(ADD).starts_with("count") && window.dial(PEEK) == "off")?;
    click(&mut window, ADD);
    window.until("off", |window| window.dial(ADD) == "off")?;
    ensure!(Standing::of(&mut controller)? != before);
    undo(&mut window);
    window.until("on again", |window| window.dial(ADD).starts_with("count, "))?;
    ensure!(Standing::of(&mut controller)? == before, "{:?}", Standing::of(&mut controller)?);

    // What somebody else turns meanwhile stays.
    click(&mut window, PEEK);
    window.until("on", |window| window.dial(PEEK).starts_with("count, "))?;
    click(&mut window, ADD);
    window.until("off", |window| window.dial(ADD) == "off")?;
    window.0.key_press(Key::F9);
    window.until("all off", |window| window.says("every dial is off"))?;
    ensure!(Standing::of(&mut controller)?.orders.is_empty());
    shop.redial("dial", &["Shop!Shop.Pricing.*", "count"])?.ok()?;
    let other = Standing::of(&mut controller)?;
    for _ in 0..3 {
        undo(&mut window);
    }
    window
        .until("as it was", |window| window.dial(ADD).starts_with("count, ") && window.dial(PEEK) == "off")?;
    let after = Standing::of(&mut controller)?;
    ensure!(after.orders == [&before.orders[..], &other.orders].concat(), "{after:?}");
    ensure!(after.wanted.len() == before.wanted.len() + other.wanted.len(), "{after:?}");

    // And all of it once more.
    for _ in 0..3 {
        redo(&mut window);
    }
    window.until("all off again", |window| window.dial(ADD) == "off" && window.dial(PEEK) == "off")?;
    ensure!(Standing::of(&mut controller)?.orders.is_empty());
    shop.exit().map(drop)
}

/// Selects everything that is shown, has it counted, and waits for what the agent says of that.
fn ask_for_all_shown(window: &mut Window) -> Result<()> {
    // Out of the filter's field, whose keys these are too.
    window.0.key_press(Key::ArrowDown);
    window.0.run_steps(2);
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.0.run_steps(3);
    window.0.key_press(Key::Space);
    window.until("the plan", |window| {
        window.says("matched, according to the agent") && window.says("will be recompiled")
    })
}

/// Says yes.
fn confirm(window: &mut Window) {
    window.0.key_press(Key::Enter);
    window.0.run_steps(3);
}

/// Whether what is selected waits for the agent.
fn waits(window: &Window) -> bool {
    window.value("Dial of the selection").contains("requesting")
}

/// Undoes the turn of what is selected, and waits for what was on before.
fn undo_all(window: &mut Window, before: &Standing) -> Result<()> {
    undo(window);
    let number = format!("All dials off ({})", before.wanted.len());
    window.until("undone", |window| !waits(window) && window.says(&number))
}

/// Methods picked one by one: the agent is asked about all of them, and one undo takes them back.
fn thousands_of_single_methods_are_planned_and_undone(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = Standing::of(&mut controller)?;
    window.0.get_by_label("Hide framework").click();
    window.filter("System.Private.CoreLib! .ctor");
    window.until("constructors", |window| window.says("..ctor("))?;
    ask_for_all_shown(&mut window)?;
    confirm(&mut window);
    window.until("the answer", |window| !waits(window))?;
    let orders = Standing::of(&mut controller)?.orders.len();
    ensure!(orders > before.orders.len() + 1_024, "{orders} orders: the test needs more");
    undo_all(&mut window, &before)?;
    ensure!(Standing::of(&mut controller)? == before, "something stays");
    shop.exit().map(drop)
}

/// A turn is stopped by the button that stands beside how far it is. So that it is not over by then, the process is
/// stopped meanwhile, as a debugger might: in every other try before the turn is sent, since on a busy machine one that has
/// begun may be over first.
fn a_stopped_turn_leaves_nothing(runtime: Runtime) -> Result<()> {
    let (shop, mut controller, mut window) = start(runtime)?;
    let before = Standing::of(&mut controller)?;
    window.0.get_by_label("Hide framework").click();
    window.until("the framework", |window| window.says("System."))?;
    for number in 0..TRIES {
        ask_for_all_shown(&mut window)?;
        let stopped = if number % 2 == 1 {
            let stopped = Stopped::stop(shop.pid)?;
            confirm(&mut window);
            stopped
        } else {
            let mut watcher = Controller::connect(shop.pid)?;
            watcher.subscribe(None)?;
            confirm(&mut window);
            // Not rows alone: those of a turn that was tried before are still there.
            watcher.wait_until("that it has begun", |dials| {
                dials.values().filter(|row| row.wanted > Level::Off).count() > before.wanted.len()
            })?;
            Stopped::stop(shop.pid)?
        };
        window.until("the button", |window| window.says("Stop this change") || !waits(window))?;
        if window.says("Stop this change") {
            window.0.get_by_label("Stop this change").click();
            window.0.run_steps(3);
        }
        drop(stopped);
        window.until("its end", |window| !waits(window))?;
        if window.says("refused: cancelled; all dials are as they were before") {
            ensure!(Standing::of(&mut controller)? == before, "stopped, it leaves nothing");
            return shop.exit().map(drop);
        }
        undo_all(&mut window, &before)?;
        ensure!(Standing::of(&mut controller)? == before, "undone, it leaves nothing either");
    }
    Err(anyhow::anyhow!("not one of {TRIES} turns could be stopped"))
}

on_each_runtime!(
    what_was_kept_is_kept_again,
    thousands_of_single_methods_are_planned_and_undone,
    a_stopped_turn_leaves_nothing,
);
