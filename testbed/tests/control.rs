//! Control: one controller at a time changes dials, every controller may read and turn off, and held dials end
//! with their holder.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder, Refusal, Reply, Request, StatusRow, Transition, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::packet::ControllerPacket;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};

on_each_runtime!(
    second_command_learns_who_has_control,
    simultaneous_commands_all_succeed,
    change_waits_for_deferred_changes,
    holder_learns_who_took_control,
    command_beside_a_window_with_held_dials,
    anyone_may_read_and_turn_off,
    reports_released_dials_at_the_end,
    run_gives_control_back,
    merges_changes_of_one_session,
    failed_change_takes_no_control,
    takes_control_without_a_change,
    off_and_on_again_restores_the_dial,
);

const CART: &str = "Shop!Shop.Cart.*";
const ORDER: &str = "Shop!Shop.Order.*";

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

fn turn(pattern: &str, take: bool, held: bool) -> WireCommand {
    let order = Order::new(pattern, Level::Count);
    WireCommand::RequestReJit {
        orders: vec![order],
        later: false,
        take,
        lifetime: if held { Lifetime::Held } else { Lifetime::Kept },
    }
}

/// Returns the next notification about control and skips all other events.
fn control_event(controller: &mut Controller) -> Result<Option<Holder>> {
    controller.wait_for("words about control", |event| match event {
        Event::Control(holder) => Some(holder.clone()),
        _ => None,
    })
}

/// Returns the number of pending or live copies of methods whose names start with `name`.
fn on(dials: &Dials, name: &str) -> usize {
    let on = |row: &&StatusRow| {
        row.method.starts_with(name) && matches!(row.state, CopyState::Asked | CopyState::Live)
    };
    dials.values().filter(on).count()
}

fn second_command_learns_who_has_control(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(shop(runtime)?)?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    let mut holder = live.hold(CART)?;
    let name = format!("redial dial (pid {})", holder.pid());
    ensure_messages(&live.redial("dial", &[ORDER, "count"])?, 5, &[&name, "--take"])?;
    ensure_messages(&live.redial("dial", &[CART, "off"])?, 5, &[&name])?;
    ensure_messages(&live.redial("dial", &[ORDER, "count", "--hold"])?, 5, &[&name])?;
    ensure_messages(&live.redial("dial", &[ORDER, "count", "--later"])?, 5, &[&name])?;
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(
        agent["control"]["pid"] == holder.pid() && agent["control"]["program"] == "redial dial",
        "{agent}"
    );
    ensure!(agent["kept"] == 0 && agent["held"].as_u64() > Some(5), "{agent}");

    // `--take` takes control, the holder receives a notification, and its dials stay.
    ensure_messages(&live.redial("dial", &[ORDER, "count", "--take"])?, 0, &[])?;
    let line = holder.wait_for("redial: redial dial (pid ")?;
    ensure!(line.contains("took control; the dials stay held until this command ends"), "{line}");
    ensure!(holder.is_running()?);
    let after = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(after["control"].is_null(), "a command gives control back: {after}");
    ensure!(after["held"] == agent["held"] && after["kept"].as_u64() > Some(0), "{after}");

    // Control is free for a third session. The end of the first one removes its own dials only.
    ensure_messages(&live.redial("dial", &["Shop!Shop.Money.*", "count"])?, 0, &[])?;
    live.host.ask("round 3", "done")?;
    observer.wait_until("all three to be on", |dials| {
        ["Shop.Cart.", "Shop.Order.", "Shop.Money."].iter().all(|name| on(dials, name) > 0)
    })?;
    signals::interrupt(holder.pid())?;
    let ended = holder.finish()?;
    ensure!(ended.code()? == 0, "Ctrl-C of a held dial is no failure");
    let methods = agent["held"].as_u64().context("a number")?;
    let off = format!("off: {methods} methods reverted to the original IL");
    ensure!(ended.stdout.lines().last() == Some(off.as_str()), "{}", ended.output());
    observer.wait_until("the held dials to be off", |dials| on(dials, "Shop.Cart.") == 0)?;
    let rest = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(rest["held"] == 0 && rest["kept"].as_u64() > Some(0), "{rest}");
    ensure!(on(observer.dials(), "Shop.Order.") > 0 && on(observer.dials(), "Shop.Money.") > 0);
    Ok(())
}

/// Twenty at once, four of them for each dial, and an agent that serves sixteen.
fn simultaneous_commands_all_succeed(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let patterns = ["Shop!Shop.Cart.Add(int)", CART, ORDER, "Shop!Shop.Money.*", "Shop!*"];
    let start = |number: usize| {
        let level = if number.is_multiple_of(2) { "count" } else { "off" };
        Host::start(live.command("dial", &[patterns[number % patterns.len()], level, "--later"])?)
    };
    let commands: Vec<Host> = (0..20).map(start).collect::<Result<_>>()?;
    for command in commands {
        let outcome = command.finish()?;
        ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.output());
    }
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null(), "{agent}");
    let turned = agent["audit"].as_array().context("the audit ring")?;
    ensure!(turned.iter().filter(|entry| entry["program"] == "redial dial").count() == 20, "{agent}");
    Ok(())
}

/// The second change of a copy within a short time is deferred, and its session has control meanwhile. Another
/// session's change then waits for it and fails nothing.
fn change_waits_for_deferred_changes(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let mut first = Controller::connect_as(live.pid, "first")?;
    let mut second = Controller::connect_as(live.pid, "second")?;
    let revert = || WireCommand::RequestRevert { patterns: vec![CART.into()], take: false };
    for round in 0..5 {
        let id = 1_000 + 2 * round;
        for (id, command) in [(id, turn(CART, false, false)), (id + 1, revert())] {
            first.send(&ControllerPacket::Request(Request { id, command }))?;
        }
        first.wait_for("the first answer", |event| {
            matches!(event, Event::Reply { id: of, reply: Reply::Dialled(_) } if *of == id).then_some(())
        })?;
        second.turn(turn(CART, false, false))?.expect("it waits for what is on its way");
        let rows = second.status(Some("Shop!Shop.Cart.Add(int)"))?;
        ensure!(
            rows.iter().all(|row| row.wanted == Level::Count),
            "round {round}, the latest wins: {rows:?}"
        );
        second.turn(revert())?.expect("nobody has control");
    }
    // Changes do not wait for a session that holds dials.
    first.turn(turn(ORDER, false, true))?.expect("nobody has control");
    let refused = second.turn(turn(CART, false, false))?;
    ensure!(matches!(refused, Err(Refusal::ControlHeld(_))), "{refused:?}");
    Ok(())
}

fn holder_learns_who_took_control(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let own = std::process::id();
    let mut first = Controller::connect_as(live.pid, "first")?;
    let mut second = Controller::connect_as(live.pid, "second")?;
    let mut observer = Controller::connect_as(live.pid, "observer")?;
    for one in [&mut first, &mut second, &mut observer] {
        one.subscribe(None)?;
    }
    let [first_one, second_one] =
        ["first", "second"].map(|program| Holder { pid: own, program: program.into() });

    first.turn(turn(CART, false, true))?.expect("control is free");
    ensure!(control_event(&mut observer)?.as_ref() == Some(&first_one));
    ensure!(second.turn(turn(ORDER, false, true))? == Err(Refusal::ControlHeld(first_one.clone())));
    ensure!(second.turn(turn(ORDER, false, false))? == Err(Refusal::ControlHeld(first_one.clone())));
    let revert = WireCommand::RequestRevert { patterns: vec![CART.into()], take: false };
    ensure!(second.turn(revert)? == Err(Refusal::ControlHeld(first_one.clone())));
    ensure!(control_event(&mut first)?.as_ref() == Some(&first_one));

    second.turn(turn(ORDER, true, true))?.expect("it may take control");
    for one in [&mut first, &mut observer] {
        ensure!(control_event(one)?.as_ref() == Some(&second_one));
    }
    // The roles have changed; the first session's dials stand.
    ensure!(first.turn(turn(ORDER, false, true))? == Err(Refusal::ControlHeld(second_one)));
    let facts = Controller::connect(live.pid)?.facts().clone();
    ensure!(facts.kept == 0 && facts.held > 5, "{facts:?}");
    ensure!(first.status(Some(CART))?.iter().any(|row| row.state == CopyState::Asked));

    // The second session releases control without ending. Its dials stay too, and the first session's next
    // change takes control.
    second.execute(WireCommand::ReleaseControl)?;
    for one in [&mut first, &mut observer] {
        ensure!(control_event(one)?.is_none());
    }
    first.turn(turn("Shop!Shop.Money.*", false, true))?.expect("control is free again");
    ensure!(control_event(&mut observer)?.as_ref() == Some(&first_one));

    // The end of each session removes its own dials; the holder's end frees control.
    observer
        .wait_until("both to be on", |dials| on(dials, "Shop.Cart.") > 0 && on(dials, "Shop.Order.") > 0)?;
    drop(second);
    observer.wait_until("the second one's to be off", |dials| on(dials, "Shop.Order.") == 0)?;
    ensure!(on(observer.dials(), "Shop.Cart.") > 0 && on(observer.dials(), "Shop.Money.") > 0);
    drop(first);
    observer.wait_until("all to be off", |dials| on(dials, "Shop.") == 0)?;
    observer.turn(turn(CART, false, false))?.expect("nobody has control");
    Ok(())
}

/// A one-shot command while a session like the window's has held dials.
fn command_beside_a_window_with_held_dials(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(shop(runtime)?)?;
    let mut app = Controller::connect_as(live.pid, "redial app")?;
    app.subscribe(None)?;
    app.turn(turn(CART, false, true))?.expect("control is free");
    let own = Holder { pid: std::process::id(), program: "redial app".into() };
    ensure!(control_event(&mut app)?.as_ref() == Some(&own));
    live.host.ask("round 2", "done")?;
    app.wait_until("its dials to be live", |dials| on(dials, "Shop.Cart.") > 5)?;
    let (held, before) = (app.agent_status()?.held, calls(&live)?);

    let name = format!("the Redial window (pid {})", own.pid);
    for level in ["count", "off"] {
        ensure_messages(&live.redial("dial", &[ORDER, level])?, 5, &[&name, "--take"])?;
    }
    ensure_messages(&live.redial("dial", &[ORDER, "count", "--take"])?, 0, &[])?;
    // The window's session learns who took control, and that it is free once the command is done.
    let taker = control_event(&mut app)?.context("somebody has control")?;
    ensure!(taker.program == "redial dial", "{taker:?}");
    ensure!(control_event(&mut app)?.is_none());
    let status = app.agent_status()?;
    ensure!(status.control.is_none() && status.held == held && status.kept > 0, "{status:?}");
    // Its dials kept counting.
    live.host.ask("round 2", "done")?;
    let after = calls(&live)?;
    ensure!(after.iter().sum::<u64>() > before.iter().sum(), "{before:?} became {after:?}");
    // Its next change takes control again, and other commands are refused again.
    app.turn(turn("Shop!Shop.Money.*", false, true))?.expect("control is free again");
    ensure!(control_event(&mut app)?.as_ref() == Some(&own));
    ensure_messages(&live.redial("dial", &[ORDER, "off"])?, 5, &[&name])?;

    // Anyone may turn everything off: held, kept and future dials.
    ensure_messages(&live.redial("off", &[])?, 0, &[])?;
    app.wait_until("all to be off", |dials| on(dials, "Shop.") == 0)?;
    let before = calls(&live)?;
    live.host.ask("round 2", "done")?;
    ensure!(calls(&live)? == before, "calls were counted after off");
    let status = app.agent_status()?;
    ensure!((status.held, status.kept) == (0, 0), "{status:?}");
    Ok(())
}

fn anyone_may_read_and_turn_off(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(shop(runtime)?)?;
    let mut holder = live.hold(CART)?;
    live.host.ask("round 2", "done")?;
    for (command, arguments) in [
        ("modules", [].as_slice()),
        ("methods", &[CART]),
        ("status", &[]),
        ("watch", &["--interval", "20", "--count", "2"]),
    ] {
        let outcome = live.redial(command, arguments)?;
        ensure_messages(&outcome, 0, &[]).context(command)?;
        ensure!(outcome.stdout.contains("Shop"), "{}", outcome.output());
    }
    let outcome = live.redial("off", &[])?;
    ensure_messages(&outcome, 0, &[])?;
    ensure!(outcome.stdout.contains("every dial is off"), "{}", outcome.output());
    let before = calls(&live)?;
    live.host.ask("round 2", "done")?;
    ensure!(calls(&live)? == before, "calls were counted after off");
    // The holder reports that it holds nothing now, and its end changes nothing.
    holder.wait_for("redial: someone else turned")?;
    ensure!(holder.is_running()?);
    signals::interrupt(holder.pid())?;
    let ended = holder.finish()?;
    ensure!(
        ended.code()? == 0 && ended.stdout.ends_with("off: no dial was held any more\n"),
        "{}",
        ended.output()
    );
    ensure_messages(&live.redial("dial", &[CART, "count"])?, 0, &[])
}

/// Released dials return to the orders below them, and the command reports the numbers of both outcomes.
fn reports_released_dials_at_the_end(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let on = |pattern: &str| -> Result<usize> {
        let rows = live.rows(pattern)?;
        Ok(rows.iter().filter(|row| matches!(row["state"].as_str(), Some("asked" | "live"))).count())
    };
    ensure_messages(&live.redial("dial", &["Shop!Shop.Cart.Add(int)", "count"])?, 0, &[])?;
    let mut holder = Host::start(live.command("dial", &[CART, "count", "--hold", "--json"])?)?;
    holder.wait_for("{")?;
    let held = on(CART)?;
    ensure!(held > 5, "{held}");
    signals::interrupt(holder.pid())?;
    let ended = holder.finish()?;
    ensure_messages(&ended, 0, &[])?;
    let last: serde_json::Value = serde_json::from_str(ended.stdout.lines().last().unwrap_or_default())?;
    let expected = serde_json::json!({"pid": live.pid, "reverted": held - 1, "stay": 1, "remaining": 0});
    ensure!(last == expected, "{last} instead of {expected}");
    ensure!(on(CART)? == 1, "the kept one is on");
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["held"] == 0, "{agent}");
    Ok(())
}

fn calls(live: &LiveHost) -> Result<Vec<u64>> {
    let mut calls = Vec::new();
    for row in live.rows(CART)? {
        let Some(number) = row["calls"].as_u64() else { bail!("no number of calls in {row}") };
        calls.push(number);
    }
    Ok(calls)
}

fn run_gives_control_back(runtime: Runtime) -> Result<()> {
    let run = host::redial_run(&["--dial", &format!("{CART}=count")], &shop(runtime)?)?;
    let live = under_agent::start_prepared(run)?;
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["kept"].as_u64() > Some(5) && agent["held"] == 0, "{agent}");
    ensure_messages(&live.redial("dial", &[ORDER, "count"])?, 0, &[])?;
    // The launcher's order and this one come from the same user.
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    let [first, second] = [0, 1].map(|at| &agent["audit"][at]);
    ensure!(first["program"] == "redial run" && second["program"] == "redial dial", "{agent}");
    ensure!(
        first["user"] == second["user"] && first["user"].as_str().is_some_and(|user| !user.is_empty()),
        "{agent}"
    );
    ensure_messages(&live.redial("dial", &[CART, "off"])?, 0, &[])
}

/// The agent answers all changes that a session sends without waiting, and merges those close together into one
/// request. Fast movements of a knob must not cost one recompilation each.
fn merges_changes_of_one_session(runtime: Runtime) -> Result<()> {
    const CHANGES: u32 = 200;
    const FIRST_ID: u32 = 1_000_000;
    let live = under_agent::start(shop(runtime)?)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    let add = "Shop!Shop.Cart.Add(int)";
    controller.turn(turn(add, false, true))?.expect("control is free");
    let mut frames = Vec::new();
    for number in 0..CHANGES {
        let off = WireCommand::RequestRevert { patterns: vec![add.into()], take: false };
        let command = if number % 2 == 0 { off } else { turn(add, false, true) };
        frames.extend(ControllerPacket::Request(Request { id: FIRST_ID + number, command }).to_frame()?);
    }
    controller.send_bytes(&frames)?;
    let (mut answered, mut asked) = (0, 0);
    controller.wait_for("every answer", |event| {
        match event {
            Event::Reply { id, reply: Reply::Dialled(report) } if *id >= FIRST_ID => {
                assert_eq!((report.matched, report.accepted), (1, 1), "{report:?}");
                answered += 1;
            }
            Event::Reply { id, reply } if *id >= FIRST_ID => panic!("{id} was answered {reply:?}"),
            Event::Transition(Transition { state: CopyState::Asked, .. }) => asked += 1,
            _ => {}
        }
        (answered == CHANGES).then_some(())
    })?;
    ensure!(asked < CHANGES / 4, "{asked} requests for {CHANGES} turns");
    let row = controller.row(add)?;
    ensure!((row.wanted, row.state) == (Level::Count, CopyState::Asked), "the last turn decides: {row:?}");
    ensure!(live.controller()?.facts().holder.is_some(), "the session holds a dial");
    Ok(())
}

/// `--take` with a change that fails leaves control and rows as they were.
fn failed_change_takes_no_control(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let mut first = Controller::connect_as(live.pid, "first")?;
    first.turn(turn(CART, false, true))?.expect("control is free");
    let mut second = Controller::connect_as(live.pid, "second")?;
    let nothing = second.turn(turn("Shop!Shop.Cart.Nothing", true, false))?;
    ensure!(matches!(nothing, Err(Refusal::NothingMatched { .. })), "{nothing:?}");
    let refused = second.turn(turn(ORDER, false, false))?;
    ensure!(
        matches!(refused, Err(Refusal::ControlHeld(ref holder)) if holder.program == "first"),
        "{refused:?}"
    );
    ensure!(second.status(Some(ORDER))?.is_empty(), "a turn that was refused left rows");
    let holder = second.agent_status()?.control;
    ensure!(holder.is_some_and(|holder| holder.program == "first"));
    Ok(())
}

/// Taking control changes no dial and leaves nothing to undo. A session without held dials has control only
/// briefly.
fn takes_control_without_a_change(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let take =
        |take| WireCommand::RequestReJit { orders: Vec::new(), later: true, take, lifetime: Lifetime::Kept };
    let mut first = Controller::connect_as(live.pid, "first")?;
    first.turn(turn(CART, false, true))?.expect("control is free");
    let mut second = Controller::connect_as(live.pid, "second")?;
    let nothing = second.turn(take(false))?;
    ensure!(matches!(nothing, Err(Refusal::BadPattern(_))), "{nothing:?}");
    second.turn(turn(ORDER, true, true))?.expect("it takes control");
    let report = first.turn(take(true))?.expect("it takes control back");
    ensure!(report.matched == 0 && report.change == 0, "{report:?}");
    let holder = first.agent_status()?.control;
    ensure!(holder.is_some_and(|holder| holder.program == "first"), "it holds dials");
    let mut third = Controller::connect_as(live.pid, "third")?;
    third.turn(take(true))?.expect("it takes control");
    ensure!(third.agent_status()?.control.is_none(), "it holds none");
    ensure!(third.status(Some(CART))?.iter().all(|row| row.wanted == Level::Count));
    Ok(())
}

/// A knob moved through off in a window, whose dials are held and whose `off` is not.
fn off_and_on_again_restores_the_dial(runtime: Runtime) -> Result<()> {
    const ADD: &str = "Shop!Shop.Cart.Add(int)";
    let mut live = under_agent::start(shop(runtime)?)?;
    live.redial("dial", &[CART, "count"])?.ok()?;
    let ends_at = |turns: &[(&str, Level)]| -> Result<Level> {
        let mut window = live.controller()?;
        for (pattern, level) in turns {
            match level {
                Level::Off => window.off(pattern)?,
                level => window.dial(pattern, *level, Lifetime::Held)?,
            };
        }
        let mut observer = live.controller()?;
        observer.subscribe(Some(ADD))?;
        let is_timed = |dials: &Dials| dials.values().any(|row| row.wanted == Level::Time);
        observer.wait_until("the last turn", is_timed)?;
        drop(window);
        observer.wait_until("the end of what was held", |dials| !is_timed(dials))?;
        Ok(observer.row(ADD)?.wanted)
    };
    let (off, time) = (Level::Off, Level::Time);
    ensure!(ends_at(&[(ADD, off), (ADD, time)])? == Level::Count);
    ensure!(ends_at(&[(ADD, off), ("Shop!*", time)])? == Level::Count);
    ensure!(ends_at(&[(ADD, time), (ADD, off), (ADD, time)])? == Level::Count);
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}
