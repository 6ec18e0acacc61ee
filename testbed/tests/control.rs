//! Control: one controller changes dials at a time, everybody may look and stop, and held dials end with their holder.
#![cfg(unix)]

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{
    Event, Holder, Refusal, Reply, Request, StatusRow, Transition, WireCommand as Ask,
};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::packet::ControllerPacket;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials, Stay};
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::signals;
use redial_testbed::under_agent::{self, Live, ensure_said};
use redial_testbed::{on_each_runtime, programs};

on_each_runtime!(
    a_second_command_is_told_who_has_control,
    commands_at_the_same_moment_all_succeed,
    a_turn_waits_for_turns_that_are_on_their_way,
    the_holder_is_told_who_took_control,
    a_command_beside_an_app_that_holds_dials,
    anyone_may_look_and_stop,
    what_was_held_is_told_at_the_end,
    run_gives_control_back,
    turns_of_one_session_are_merged,
    what_fails_takes_no_control,
    control_is_taken_without_a_turn,
    what_one_turned_off_and_on_again_is_as_it_was_before,
);

const CART: &str = "Shop!Shop.Cart.*";
const ORDER: &str = "Shop!Shop.Order.*";

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

fn turn(pattern: &str, take: bool, held: bool) -> Ask {
    let order = Order::new(pattern, Level::Count);
    Ask::RequestReJit {
        orders: vec![order],
        later: false,
        take,
        lifetime: if held { Lifetime::Held } else { Lifetime::Kept },
    }
}

/// The next words about control; everything else is passed over.
fn control_event(controller: &mut Controller) -> Result<Option<Holder>> {
    controller.wait_for("words about control", |event| match event {
        Event::Control(holder) => Some(holder.clone()),
        _ => None,
    })
}

/// Copies of methods whose name begins so that are asked for or live.
fn on(dials: &Dials, name: &str) -> usize {
    let on = |row: &&StatusRow| {
        row.method.starts_with(name) && matches!(row.state, CopyState::Asked | CopyState::Live)
    };
    dials.values().filter(on).count()
}

fn a_second_command_is_told_who_has_control(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(shop(runtime)?)?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    let mut holder = live.hold(CART)?;
    let name = format!("redial dial (pid {})", holder.pid());
    ensure_said(&live.redial("dial", &[ORDER, "count"])?, 5, &[&name, "--take"])?;
    ensure_said(&live.redial("dial", &[CART, "off"])?, 5, &[&name])?;
    ensure_said(&live.redial("dial", &[ORDER, "count", "--hold"])?, 5, &[&name])?;
    ensure_said(&live.redial("dial", &[ORDER, "count", "--later"])?, 5, &[&name])?;
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(
        agent["control"]["pid"] == holder.pid() && agent["control"]["program"] == "redial dial",
        "{agent}"
    );
    ensure!(agent["kept"] == 0 && agent["held"].as_u64() > Some(5), "{agent}");

    // Whoever takes it does, the holder is told, and its dials stay.
    ensure_said(&live.redial("dial", &[ORDER, "count", "--take"])?, 0, &[])?;
    let told = holder.wait_for("redial: redial dial (pid ")?;
    ensure!(told.contains("took control; the dials stay held until this command ends"), "{told}");
    ensure!(holder.is_running()?);
    let after = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(after["control"].is_null(), "a command gives control back: {after}");
    ensure!(after["held"] == agent["held"] && after["kept"].as_u64() > Some(0), "{after}");

    // Control is free for a third, and the first one's end takes its own dials with it and no others.
    ensure_said(&live.redial("dial", &["Shop!Shop.Money.*", "count"])?, 0, &[])?;
    live.host.ask("round 3", "done")?;
    observer.wait_until("all three to be on", |dials| {
        ["Shop.Cart.", "Shop.Order.", "Shop.Money."].iter().all(|name| on(dials, name) > 0)
    })?;
    signals::send(holder.pid(), libc::SIGINT)?;
    let ended = holder.finish()?;
    ensure!(ended.code()? == 0, "Ctrl-C of a held dial is no failure");
    let methods = agent["held"].as_u64().context("a number")?;
    let off = format!("off: {methods} methods reverted to the original IL");
    ensure!(ended.stdout.lines().last() == Some(off.as_str()), "{}", ended.said());
    observer.wait_until("the held dials to be off", |dials| on(dials, "Shop.Cart.") == 0)?;
    let rest = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(rest["held"] == 0 && rest["kept"].as_u64() > Some(0), "{rest}");
    ensure!(on(observer.dials(), "Shop.Order.") > 0 && on(observer.dials(), "Shop.Money.") > 0);
    Ok(())
}

/// Twenty at once, of which four each pull at the same dial, and an agent that serves sixteen.
fn commands_at_the_same_moment_all_succeed(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let patterns = ["Shop!Shop.Cart.Add(int)", CART, ORDER, "Shop!Shop.Money.*", "Shop!*"];
    let start = |number: usize| {
        let level = if number.is_multiple_of(2) { "count" } else { "off" };
        Host::start(live.command("dial", &[patterns[number % patterns.len()], level, "--later"])?)
    };
    let commands: Vec<Host> = (0..20).map(start).collect::<Result<_>>()?;
    for command in commands {
        let outcome = command.finish()?;
        ensure!(outcome.code()? == 0 && outcome.stderr.is_empty(), "{}", outcome.said());
    }
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null(), "{agent}");
    let turned = agent["audit"].as_array().context("the audit ring")?;
    ensure!(turned.iter().filter(|entry| entry["program"] == "redial dial").count() == 20, "{agent}");
    Ok(())
}

/// The second turn of a copy within a moment is put off, and its session has control meanwhile: another one's turn
/// comes after it, and before nothing.
fn a_turn_waits_for_turns_that_are_on_their_way(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let mut first = Controller::connect_as(live.pid, "first")?;
    let mut second = Controller::connect_as(live.pid, "second")?;
    let revert = || Ask::RequestRevert { patterns: vec![CART.into()], take: false };
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
    // Who holds dials is not waited for.
    first.turn(turn(ORDER, false, true))?.expect("nobody has control");
    let refused = second.turn(turn(CART, false, false))?;
    ensure!(matches!(refused, Err(Refusal::ControlHeld(_))), "{refused:?}");
    Ok(())
}

fn the_holder_is_told_who_took_control(runtime: Runtime) -> Result<()> {
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
    let revert = Ask::RequestRevert { patterns: vec![CART.into()], take: false };
    ensure!(second.turn(revert)? == Err(Refusal::ControlHeld(first_one.clone())));
    ensure!(control_event(&mut first)?.as_ref() == Some(&first_one));

    second.turn(turn(ORDER, true, true))?.expect("it may take control");
    for one in [&mut first, &mut observer] {
        ensure!(control_event(one)?.as_ref() == Some(&second_one));
    }
    // The roles have changed; the first one's dials stand.
    ensure!(first.turn(turn(ORDER, false, true))? == Err(Refusal::ControlHeld(second_one)));
    let facts = Controller::connect(live.pid)?.facts().clone();
    ensure!(facts.kept == 0 && facts.held > 5, "{facts:?}");
    ensure!(first.status(Some(CART))?.iter().any(|row| row.state == CopyState::Asked));

    // The taker gives it back without ending: its dials stay too, and the first takes control with its next turn.
    second.tell(Ask::ReleaseControl)?;
    for one in [&mut first, &mut observer] {
        ensure!(control_event(one)?.is_none());
    }
    first.turn(turn("Shop!Shop.Money.*", false, true))?.expect("control is free again");
    ensure!(control_event(&mut observer)?.as_ref() == Some(&first_one));

    // Each one's end takes its own dials with it; the holder's end frees control.
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
fn a_command_beside_an_app_that_holds_dials(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(shop(runtime)?)?;
    let mut app = Controller::connect_as(live.pid, "redial app")?;
    app.subscribe(None)?;
    app.turn(turn(CART, false, true))?.expect("control is free");
    let own = Holder { pid: std::process::id(), program: "redial app".into() };
    ensure!(control_event(&mut app)?.as_ref() == Some(&own));
    live.host.ask("round 2", "done")?;
    app.wait_until("its dials to be live", |dials| on(dials, "Shop.Cart.") > 5)?;
    let (held, before) = (app.agent_status()?.held, calls(&live)?);

    let name = format!("redial app (pid {})", own.pid);
    for level in ["count", "off"] {
        ensure_said(&live.redial("dial", &[ORDER, level])?, 5, &[&name, "--take"])?;
    }
    ensure_said(&live.redial("dial", &[ORDER, "count", "--take"])?, 0, &[])?;
    // The app is told who took control, and that it is free again as soon as the command has done its turn.
    let taker = control_event(&mut app)?.context("somebody has control")?;
    ensure!(taker.program == "redial dial", "{taker:?}");
    ensure!(control_event(&mut app)?.is_none());
    let status = app.agent_status()?;
    ensure!(status.control.is_none() && status.held == held && status.kept > 0, "{status:?}");
    // Its dials went on counting all along.
    live.host.ask("round 2", "done")?;
    let after = calls(&live)?;
    ensure!(after.iter().sum::<u64>() > before.iter().sum(), "{before:?} became {after:?}");
    // Its next turn takes control again, and other commands are turned away again.
    app.turn(turn("Shop!Shop.Money.*", false, true))?.expect("control is free again");
    ensure!(control_event(&mut app)?.as_ref() == Some(&own));
    ensure_said(&live.redial("dial", &[ORDER, "off"])?, 5, &[&name])?;

    // Off is for anyone: what is held, what is kept, and what would come.
    ensure_said(&live.redial("off", &[])?, 0, &[])?;
    app.wait_until("all to be off", |dials| on(dials, "Shop.") == 0)?;
    let before = calls(&live)?;
    live.host.ask("round 2", "done")?;
    ensure!(calls(&live)? == before, "calls were counted after off");
    let status = app.agent_status()?;
    ensure!((status.held, status.kept) == (0, 0), "{status:?}");
    Ok(())
}

fn anyone_may_look_and_stop(runtime: Runtime) -> Result<()> {
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
        ensure_said(&outcome, 0, &[]).context(command)?;
        ensure!(outcome.stdout.contains("Shop"), "{}", outcome.said());
    }
    let outcome = live.redial("off", &[])?;
    ensure_said(&outcome, 0, &[])?;
    ensure!(outcome.stdout.contains("every dial is off"), "{}", outcome.said());
    let before = calls(&live)?;
    live.host.ask("round 2", "done")?;
    ensure!(calls(&live)? == before, "calls were counted after off");
    // The holder says that it goes on holding nothing, and its end changes nothing.
    holder.wait_for("redial: someone else turned")?;
    ensure!(holder.is_running()?);
    signals::send(holder.pid(), libc::SIGINT)?;
    let ended = holder.finish()?;
    ensure!(
        ended.code()? == 0 && ended.stdout.ends_with("off: no dial was held any more\n"),
        "{}",
        ended.said()
    );
    ensure_said(&live.redial("dial", &[CART, "count"])?, 0, &[])
}

/// What is let go goes back to what the orders below say, and the command says how many went which way.
fn what_was_held_is_told_at_the_end(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let on = |pattern: &str| -> Result<usize> {
        let rows = live.rows(pattern)?;
        Ok(rows.iter().filter(|row| matches!(row["state"].as_str(), Some("asked" | "live"))).count())
    };
    ensure_said(&live.redial("dial", &["Shop!Shop.Cart.Add(int)", "count"])?, 0, &[])?;
    let mut holder = Host::start(live.command("dial", &[CART, "count", "--hold", "--json"])?)?;
    holder.wait_for("{")?;
    let held = on(CART)?;
    ensure!(held > 5, "{held}");
    signals::send(holder.pid(), libc::SIGINT)?;
    let ended = holder.finish()?;
    ensure_said(&ended, 0, &[])?;
    let last: serde_json::Value = serde_json::from_str(ended.stdout.lines().last().unwrap_or_default())?;
    let expected = serde_json::json!({"pid": live.pid, "reverted": held - 1, "stay": 1, "remaining": 0});
    ensure!(last == expected, "{last} instead of {expected}");
    ensure!(on(CART)? == 1, "the kept one is on");
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["held"] == 0, "{agent}");
    Ok(())
}

fn calls(live: &Live) -> Result<Vec<u64>> {
    let mut calls = Vec::new();
    for row in live.rows(CART)? {
        let Some(number) = row["calls"].as_u64() else { bail!("no number of calls in {row}") };
        calls.push(number);
    }
    Ok(calls)
}

fn run_gives_control_back(runtime: Runtime) -> Result<()> {
    let run = host::redial_run(&["--dial", &format!("{CART}=count")], &shop(runtime)?)?;
    let live = under_agent::start_as_it_is(run)?;
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["kept"].as_u64() > Some(5) && agent["held"] == 0, "{agent}");
    ensure_said(&live.redial("dial", &[ORDER, "count"])?, 0, &[])?;
    // What the launcher ordered is of the same user as what this one did.
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    let [first, second] = [0, 1].map(|at| &agent["audit"][at]);
    ensure!(first["program"] == "redial run" && second["program"] == "redial dial", "{agent}");
    ensure!(
        first["user"] == second["user"] && first["user"].as_str().is_some_and(|user| !user.is_empty()),
        "{agent}"
    );
    ensure_said(&live.redial("dial", &[CART, "off"])?, 0, &[])
}

/// Turns that one session sends without waiting are all answered, and those of a moment are one request: a fidgety
/// hand on a knob must not cost a recompilation a twitch.
fn turns_of_one_session_are_merged(runtime: Runtime) -> Result<()> {
    const TURNS: u32 = 200;
    const FIRST_ID: u32 = 1_000_000;
    let live = under_agent::start(shop(runtime)?)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    let add = "Shop!Shop.Cart.Add(int)";
    controller.turn(turn(add, false, true))?.expect("control is free");
    let mut frames = Vec::new();
    for number in 0..TURNS {
        let off = Ask::RequestRevert { patterns: vec![add.into()], take: false };
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
        (answered == TURNS).then_some(())
    })?;
    ensure!(asked < TURNS / 4, "{asked} requests for {TURNS} turns");
    let row = controller.row(add)?;
    ensure!((row.wanted, row.state) == (Level::Count, CopyState::Asked), "the last turn decides: {row:?}");
    ensure!(live.controller()?.facts().holder.is_some(), "the session holds a dial");
    Ok(())
}

/// `--take` of a turn that does nothing leaves control, and the rows, as they were.
fn what_fails_takes_no_control(runtime: Runtime) -> Result<()> {
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

/// Nothing is turned, and nothing is there to be undone; who holds no dials has control for a moment only.
fn control_is_taken_without_a_turn(runtime: Runtime) -> Result<()> {
    let live = under_agent::start(shop(runtime)?)?;
    let take = |take| Ask::RequestReJit { orders: Vec::new(), later: true, take, lifetime: Lifetime::Kept };
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

/// A knob that passed through off on its way: as a window turns it, whose dials are held and whose `off` is not.
fn what_one_turned_off_and_on_again_is_as_it_was_before(runtime: Runtime) -> Result<()> {
    const ADD: &str = "Shop!Shop.Cart.Add(int)";
    let mut live = under_agent::start(shop(runtime)?)?;
    live.redial("dial", &[CART, "count"])?.ok()?;
    let ends_at = |turns: &[(&str, Level)]| -> Result<Level> {
        let mut window = live.controller()?;
        for (pattern, level) in turns {
            match level {
                Level::Off => window.off(pattern)?,
                level => window.dial(pattern, *level, Stay::Held)?,
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
