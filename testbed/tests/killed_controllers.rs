//! Controllers that are killed at any moment of a change of 72,000 methods. Every dial is off within two seconds, and the
//! server's answers stay the same.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redial_protocol::diagnostics::Remainder;
use redial_protocol::state::CopyState;
use redial_testbed::controller::Controller;
use redial_testbed::host::{self, DEADLINE, Host};
use redial_testbed::rng::Rng;
use redial_testbed::single_file::{self, Server, without_id};
use redial_testbed::soak;

/// All dials are off within this time after the kill.
const BOUND: Duration = Duration::from_secs(2);
/// Methods that a change of everything turns on.
const METHODS: u64 = 70_000;
/// Moments of the kill, in parts of the time that a whole change takes.
const MOMENTS: usize = 100;

fn conversation(server: &mut Server) -> Result<Vec<String>> {
    Ok(server.conversation()?.iter().map(|answer| without_id(answer).to_owned()).collect())
}

fn dial(server: &Server, level: &str) -> Result<Host> {
    let pid = server.host.pid().to_string();
    Host::start(host::redial(&["dial", &pid, "*", level, "--hold"])?)
}

/// Returns how long it took from `since` until nothing was on any more.
fn off_after(controller: &mut Controller, since: Instant) -> Result<Duration> {
    // The soak holds the bound; in the gate another test may keep both cores busy.
    let bound = if soak::is_on() { BOUND } else { DEADLINE };
    loop {
        let status = controller.agent_status()?;
        let took = since.elapsed();
        let awaiting = status.remains.iter().any(|one| matches!(one, Remainder::AwaitedReverts { .. }));
        if (status.held, status.kept, awaiting) == (0, 0, false) && status.control.is_none() {
            let rows = controller.status(None)?;
            let on = rows.iter().find(|row| matches!(row.state, CopyState::Asked | CopyState::Live));
            if on.is_none() {
                return Ok(took);
            }
            // The agent has just read the change of the killed command, and has yet to see the end of its session.
            ensure!(took < bound, "{took:.1?} after the kill it is still on: {on:?}");
        }
        ensure!(took < bound, "{took:.1?} after the kill: {status:?}");
        // Each answer takes the agent some time, with rows as many as here.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the runtime has no request left of methods that are off.
fn await_reverts(controller: &mut Controller) -> Result<()> {
    let began = Instant::now();
    loop {
        let remains = controller.agent_status()?.remains;
        if !remains.iter().any(|one| matches!(one, Remainder::CancelledRequests { .. })) {
            return Ok(());
        }
        ensure!(began.elapsed() < DEADLINE, "requests stay in the runtime: {remains:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn kills_during_changes_of_everything() -> Result<()> {
    let kills = soak::scaled(6, 34);
    let mut command = single_file::command()?;
    host::load_agent(&mut command)?;
    let mut server = Server::start(command)?;
    server.initialize()?;
    let expected = conversation(&mut server)?;
    let mut controller = Controller::connect(server.host.pid())?;

    // A whole change, for its size and duration.
    let began = Instant::now();
    let mut whole = dial(&server, "time")?;
    whole.wait_for("held while this command runs")?;
    let lasts = began.elapsed();
    let held = controller.agent_status()?.held;
    ensure!(held >= METHODS, "only {held} methods are on");
    let killed = Instant::now();
    whole.kill();
    let mut slowest = off_after(&mut controller, killed)?;

    let mut rng = Rng::new(1);
    let mut within = 0;
    for kill in 0..kills {
        let level = ["time", "count"][rng.below(2)];
        let moment = lasts.mul_f64(1.2 * rng.below(MOMENTS) as f64 / MOMENTS as f64);
        let mut holder = dial(&server, level)?;
        std::thread::sleep(moment);
        let held = controller.agent_status()?.held;
        within += u64::from(held > 0 && held < METHODS);
        let killed = Instant::now();
        holder.kill();
        let took = off_after(&mut controller, killed)?;
        slowest = slowest.max(took);
        let answers = conversation(&mut server)?;
        ensure!(answers == expected, "kill {kill}: other answers: {answers:?}");
        // Neither has a change begun since.
        off_after(&mut controller, killed)?;
        // Sometimes the next change begins before the runtime has let go of the last one.
        if rng.below(2) == 0 {
            await_reverts(&mut controller)?;
        }
    }
    println!(
        "{kills} kills, {within} of them in the middle of a change that takes {lasts:.1?}: all off after at most {slowest:.1?}"
    );
    await_reverts(&mut controller)?;
    ensure!(controller.agent_status()?.guard_trips == 0);
    drop(controller);
    server.finish().map(drop)
}
