//! Controllers that die or go silent while holding dials: the dials soon go off by themselves, and kept ones
//! stay.

use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use redial_protocol::diagnostics::AuditAction;
use redial_protocol::level::Level;
use redial_protocol::message::{AuditEntry, Request, StatusRow, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::packet::ControllerPacket;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials, Lifetime};
use redial_testbed::hang::Hang;
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{generate, on_each_runtime, process_facts, programs, soak};

on_each_runtime!(
    killing_a_controller_ends_its_held_dials,
    killing_a_controller_stops_its_change,
    silence_ends_held_dials,
);

/// Held dials must be off within this time after their controller died.
const SOON: Duration = Duration::from_secs(2);

fn big(runtime: Runtime) -> Result<Command> {
    let mut command = programs::named("reflect")?.command(runtime)?;
    command.arg(generate::big_library()?).arg("1");
    Ok(command)
}

/// Returns whether each row of classes with this prefix is on.
fn on(dials: &Dials, class: &str) -> Vec<bool> {
    let of_class = dials.values().filter(|row| row.method.starts_with(class));
    of_class.map(|row| matches!(row.state, CopyState::Asked | CopyState::Live)).collect()
}

fn calls_of(controller: &mut Controller, pattern: &str) -> Result<Vec<(String, u64)>> {
    let name = |row: StatusRow| (row.method + &row.signature, row.calls);
    Ok(controller.status(Some(pattern))?.into_iter().map(name).collect())
}

/// `redial dial --hold` on eleven classes is killed while their methods are live; another class is kept.
fn killing_a_controller_ends_its_held_dials(runtime: Runtime) -> Result<()> {
    const HELD: &str = "Big!Big.C1*.M*";
    let mut live = under_agent::start(big(runtime)?)?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    for round in 1..=2 {
        observer.dial("Big!Big.C2.M*", Level::Count, Lifetime::Kept)?;
        let mut holder = Host::start(live.command("dial", &[HELD, "count", "--hold"])?)?;
        holder.wait_for("held while this command runs")?;
        live.host.ask("call 1", "called 1")?;
        // `Big.C1*` matches C1 and C10 to C19. Each has 101 methods, most of them called.
        let live_rows = |dials: &Dials| {
            dials
                .values()
                .filter(|row| row.method.starts_with("Big.C1") && row.state == CopyState::Live)
                .count()
        };
        observer.wait_until("1,000 held dials to be live", |dials| live_rows(dials) > 1000)?;

        let killed = Instant::now();
        holder.kill();
        observer.wait_until("the held dials to be off", |dials| on(dials, "Big.C1").iter().all(|on| !on))?;
        let took = killed.elapsed();
        ensure!(took < SOON, "it took {took:?} for the held dials to go off");
        drop(holder);
        ensure!(on(observer.dials(), "Big.C2.").iter().all(|on| *on), "kept dials went off too");

        let (held, kept) = (calls_of(&mut observer, HELD)?, calls_of(&mut observer, "Big!Big.C2.M*")?);
        // One call of each method per round, two of some; the iterators below them have their own calls.
        let own: Vec<_> = held.iter().filter(|(name, _)| !name.contains('+')).collect();
        ensure!(
            own.len() == 11 * 101 && own.iter().all(|(_, calls)| [round, 2 * round].contains(calls)),
            "{own:?}"
        );
        live.host.ask("call 1", "called 1")?;
        ensure!(calls_of(&mut observer, HELD)? == held, "calls were counted after the dials went off");
        ensure!(calls_of(&mut observer, "Big!Big.C2.M*")? != kept, "kept dials no longer count");
        let status = observer.agent_status()?;
        ensure!((status.control.is_none(), status.held, status.guard_trips) == (true, 0, 0), "{status:?}");
        observer.all_off()?;
    }
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// A controller dies while the first of several requests of its change is on its way.
fn killing_a_controller_stops_its_change(runtime: Runtime) -> Result<()> {
    const LIBRARY: &str = "System.Private.CoreLib!*";
    const SAMPLE: &str = "System.Private.CoreLib!System.String.*";
    let hang = Hang::default();
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]).envs([hang.variable()]);
    let mut live = under_agent::start(command)?;
    let mut observer = live.controller()?;
    observer.dial(SAMPLE, Level::Count, Lifetime::Kept)?;
    observer.subscribe(Some(SAMPLE))?;
    let is_any_on = |dials: &Dials| dials.values().any(|row| row.wanted == Level::Count);
    observer.wait_until("the sample to be on", is_any_on)?;
    let before = process_facts::connections(live.pid)?;

    hang.begin()?;
    let mut dying = live.controller()?;
    let orders = vec![Order::new(LIBRARY, Level::Count), Order::new(SAMPLE, Level::Off)];
    let command = WireCommand::RequestReJit { orders, later: false, take: false, lifetime: Lifetime::Held };
    dying.send(&ControllerPacket::Request(Request { id: 1_000, command }))?;
    observer.wait_until("the change to have begun", |dials| !is_any_on(dials))?;
    drop(dying);
    while process_facts::connections(live.pid)? > before {
        observer.execute(WireCommand::Ping)?;
    }
    hang.end()?;

    observer.wait_until("the sample to be on again", is_any_on)?;
    observer.settle(SAMPLE)?;
    let status = observer.agent_status()?;
    let is_cancelled = |entry: &AuditEntry| matches!(entry.action, AuditAction::Cancelled(_));
    ensure!(status.audit.iter().any(is_cancelled), "{:?}", status.audit);
    ensure!((status.control.is_none(), status.held, status.guard_trips) == (true, 0, 0), "{status:?}");
    live.host.say("exit 0")?;
    live.host.finish()?.ok().map(drop)
}

/// Two sessions hold dials. One goes silent, the other pings. The soak uses the agent's real time-out.
fn silence_ends_held_dials(runtime: Runtime) -> Result<()> {
    let mut command = big(runtime)?;
    if !soak::is_on() {
        command.env("REDIAL_SILENCE_MS", "1500");
    }
    let mut live = under_agent::start(command)?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    let mut silent = Controller::connect_silent(live.pid)?;
    silent.dial("Big!Big.C3.M*", Level::Count, Lifetime::Held)?;
    silent.execute(WireCommand::ReleaseControl)?;
    let pinging = ping_with_held_dials(&live, "Big!Big.C4.M*")?;
    live.host.ask("call 1", "called 1")?;
    observer.wait_until("both to be on", |dials| {
        [on(dials, "Big.C3."), on(dials, "Big.C4.")].iter().all(|rows| rows.iter().any(|on| *on))
    })?;
    observer
        .wait_until("the silent one's dials to be off", |dials| on(dials, "Big.C3.").iter().all(|on| !on))?;
    silent.wait_for_end()?;
    ensure!(on(observer.dials(), "Big.C4.").iter().any(|on| *on), "a session that pings lost its dials");
    pinging.stop()?;
    observer.wait_until("the other one's to be off", |dials| on(dials, "Big.C4.").iter().all(|on| !on))?;
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// A session that pings far more often than it must, until it is stopped.
struct Pinging {
    stop: std::sync::mpsc::Sender<()>,
    thread: thread::JoinHandle<Result<()>>,
}

impl Pinging {
    fn stop(self) -> Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow!("the pinging thread panicked"))?.context("pinging")
    }
}

fn ping_with_held_dials(live: &LiveHost, pattern: &str) -> Result<Pinging> {
    let mut session = Controller::connect_silent(live.pid)?;
    session.dial(pattern, Level::Count, Lifetime::Held)?;
    let (stop, stopped) = channel::<()>();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
            session.execute(WireCommand::Ping)?;
        }
        Ok(())
    });
    Ok(Pinging { stop, thread })
}
