//! The budget: when dials cost too much, the agent lowers the costliest by itself, reports it, and undo works.
//! The program bounds its call rates (`programs/paced.cs`) and the agent measures the cost of a call, so each
//! budget here is clearly exceeded or kept, regardless of other load.

use anyhow::{Context, Result, ensure};
use redial_protocol::cost::{CostBudget, Share};
use redial_protocol::diagnostics::{AuditAction, AuditedChange, Limit};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Refusal, Reply, StatusRow, WireCommand};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials, Lifetime};
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};
use redial_text::diagnostics::{Reader, row_notes};

on_each_runtime!(
    lowers_the_costliest_dial_and_respects_undo,
    turns_costly_dials_off_and_keeps_lifetimes,
    spares_a_dial_after_its_second_step_is_undone,
    applies_from_the_start_without_controllers,
    changes_nothing_within_or_without_a_budget,
    setting_the_budget_needs_control,
    warns_about_costly_changes,
);

const HOT: &str = "paced!Paced.Hot(int)";
const WARM: &str = "paced!Paced.Warm(int)";
const COOL: &str = "paced!Paced.Cool(int)";

/// Calls per round, and the most rounds per second.
const MANY: u64 = 3_000;
const SOME: u64 = 300;
const FEW: u64 = 4;
const ROUNDS: u64 = 1_000;

fn start(runtime: Runtime) -> Result<LiveHost> {
    let command = programs::named("paced")?.command(runtime)?;
    under_agent::start(command)
}

/// Returns the costs of a counted and of a timed call here, in picoseconds.
fn costs(controller: &mut Controller) -> Result<(u64, u64)> {
    let costs = controller.agent_status()?.costs;
    let of = |level| costs.iter().find(|cost| cost.level == level).map(|cost| cost.picoseconds);
    of(Level::Count).zip(of(Level::Time)).context("both levels were measured")
}

/// Returns twice the share that so many picoseconds per round need at most: a budget that always suffices.
fn ample_budget(picoseconds_a_round: u64) -> Share {
    Share((2 * Share::from_picoseconds(picoseconds_a_round * ROUNDS).0).max(1))
}

fn set(controller: &mut Controller, limit: Option<Share>) -> Result<CostBudget> {
    match controller.ask(WireCommand::SetBudget { limit, take: false })?.reply {
        Reply::Budget(budget) => Ok(budget),
        other => anyhow::bail!("it was not set: {other:?}"),
    }
}

fn find_row<'a>(dials: &'a Dials, pattern: &str) -> Option<&'a StatusRow> {
    dials.values().find(|row| pattern.contains(&format!("!{}(", row.method)))
}

/// Takes events until a method's wanted level is `level`. Returns the agent's reason.
fn wait_for_level(controller: &mut Controller, pattern: &str, level: Level) -> Result<Option<String>> {
    let is = |row: &StatusRow| row.wanted == level && (level > Level::Off) == (row.state != CopyState::Off);
    controller
        .wait_until(&format!("{pattern} at {level}"), |dials| find_row(dials, pattern).is_some_and(is))?;
    let note = find_row(controller.dials(), pattern).and_then(|row| row.times_note.as_ref());
    Ok(note.map(|note| row_notes::times_note(note, Reader::CommandLine)))
}

fn level_of(controller: &mut Controller, pattern: &str) -> Result<Level> {
    Ok(controller.row(pattern)?.wanted)
}

/// Waits until the budget has measured a spared dial with a non-zero cost.
fn wait_for_spared(controller: &mut Controller) -> Result<CostBudget> {
    controller.wait_for("a look at what is left alone", |event| match event {
        Event::Budget(budget) if budget.spared_cost > Share(0) => Some(budget.clone()),
        _ => None,
    })
}

/// Waits until the budget has made a step after the change `after`.
fn wait_for_step(controller: &mut Controller, after: u64) -> Result<CostBudget> {
    controller.wait_for("a step of the budget", |event| match event {
        Event::Budget(budget) if budget.last.as_ref().is_some_and(|last| last.change > after) => {
            Some(budget.clone())
        }
        _ => None,
    })
}

fn lowers_the_costliest_dial_and_respects_undo(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    let (count, time) = costs(&mut controller)?;
    controller.dial_all(&[HOT, COOL], Level::Time, Lifetime::Kept)?;
    live.host.ask(&format!("pace {MANY} {MANY} {FEW}"), "pacing")?;
    // Counting both and timing the cheap one fits the budget at any speed.
    let limit = ample_budget(2 * MANY * count + FEW * time);
    let set_to = limit.percent().to_string();
    let set_it = live.redial("budget", &[&set_to, "--json"])?.ok()?.json()?;
    ensure!(
        set_it["budget_percent"].as_f64() == Some(limit.percent()) && set_it["last"].is_null(),
        "{set_it}"
    );

    let why = wait_for_level(&mut controller, HOT, Level::Count)?.context("it says why")?;
    let expected = format!("and all dials may cost {limit}");
    ensure!(
        why.starts_with("stepped down to count by the budget: it cost ") && why.ends_with(&expected),
        "{why}"
    );
    let step = wait_for_step(&mut controller, 0)?;
    let last = step.last.context("it did something")?;
    ensure!(last.copies == 1 && last.cost > limit && last.limit == limit, "{last:?}");
    ensure!(last.costliest.1 == Level::Count && step.stepped == 1, "{last:?}");
    ensure!(level_of(&mut controller, COOL)? == Level::Time, "the cheap one stays as it was");
    let status = controller.agent_status()?;
    let noted = status.audit.last().context("it is noted")?;
    ensure!(noted.program == "the budget" && !noted.user.is_empty(), "{noted:?}");
    let AuditAction::Changed(AuditedChange::Orders { first, more: 0 }) = &noted.action else {
        anyhow::bail!("{noted:?}")
    };
    ensure!(first.line == format!("{HOT} = count") && first.step.is_some(), "{noted:?}");
    ensure!(status.control.is_none(), "it takes no control");
    let rows = live.rows(HOT)?;
    ensure!(rows[0]["wanted"] == "count" && rows[0]["times_reason"] == why.as_str(), "{rows:?}");
    let said = live.redial("status", &[])?.ok()?.stdout;
    ensure!(said.contains("1 method is stepped down by the budget"), "{said}");

    // A user undoes the step. The budget spares the method from now on, and other methods do not pay for it.
    let undone = live.redial("undo", &[])?.ok()?.stdout;
    ensure!(undone.contains("by the budget") && undone.contains("leaves it alone from now on"), "{undone}");
    let why = wait_for_level(&mut controller, HOT, Level::Time)?.context("it says why it stays")?;
    ensure!(why.starts_with("the budget leaves it alone"), "{why}");
    controller.dial(WARM, Level::Time, Lifetime::Kept)?;
    wait_for_level(&mut controller, WARM, Level::Count)?;
    let step = wait_for_step(&mut controller, last.change)?;
    ensure!(step.spared == 1 && step.spared_cost > Share(0), "{step:?}");
    ensure!(level_of(&mut controller, HOT)? == Level::Time, "a person's wish stands");
    ensure!(level_of(&mut controller, COOL)? == Level::Time);

    // A new budget covers all of them again. Undoing its step by number restores the method too.
    let before = set(&mut controller, Some(limit))?;
    ensure!(before.spared == 0 && before.last.is_none(), "{before:?}");
    wait_for_level(&mut controller, HOT, Level::Count)?;
    let change = wait_for_step(&mut controller, 0)?.last.context("it did something")?.change;
    let reply = controller.ask(WireCommand::UndoChange { change, take: false })?.reply;
    ensure!(matches!(&reply, Reply::Undone { entry, .. } if entry.program == "the budget"), "{reply:?}");
    wait_for_level(&mut controller, HOT, Level::Time)?;
    // A method lowered by a user stays at that level.
    controller.dial(HOT, Level::Count, Lifetime::Kept)?;
    let row = controller.row(HOT)?;
    ensure!(row.wanted == Level::Count && row.times_note.is_none_or(|note| note.stepped_down.is_none()));
    drop(controller);
    end(live)
}

/// Steps from time to count, then to off. Undoing the second step spares the method although the first step
/// stands. So does undoing all off.
fn spares_a_dial_after_its_second_step_is_undone(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    let (count, _) = costs(&mut controller)?;
    controller.dial(HOT, Level::Time, Lifetime::Kept)?;
    wait_for_level(&mut controller, HOT, Level::Time)?;
    live.host.ask(&format!("pace {SOME} 0 0"), "pacing")?;
    // Enough to count these calls, but not to time them or to count ten times as many.
    set(&mut controller, Some(ample_budget(SOME * count)))?;
    wait_for_level(&mut controller, HOT, Level::Count)?;
    live.host.ask(&format!("pace {MANY} 0 0"), "pacing")?;
    wait_for_level(&mut controller, HOT, Level::Off)?;

    live.redial("undo", &[])?.ok()?;
    let said = live.redial("budget", &[])?.ok()?.stdout;
    ensure!(said.contains("1 method is exempt"), "it is reported at once: {said}");
    let why = wait_for_level(&mut controller, HOT, Level::Count)?.context("it says why it stays")?;
    ensure!(why.contains("stepped down to count") && why.contains("leaves it alone"), "{why}");
    let reported = wait_for_spared(&mut controller)?;
    ensure!(reported.spared == 1 && level_of(&mut controller, HOT)? == Level::Count, "{reported:?}");

    live.redial("off", &[])?.ok()?;
    wait_for_level(&mut controller, HOT, Level::Off)?;
    ensure!(controller.row(HOT)?.times_note.is_none(), "it is off by a person's wish");
    // Wait for a measurement without dials, so that the next reported one is later.
    controller.wait_for("a look at nothing", |event| match event {
        Event::Budget(budget) => (budget.spared_cost == Share(0)).then_some(()),
        _ => None,
    })?;
    live.redial("undo", &[])?.ok()?;
    wait_for_level(&mut controller, HOT, Level::Count)?;
    let reported = wait_for_spared(&mut controller)?;
    ensure!(reported.spared == 1 && level_of(&mut controller, HOT)? == Level::Count, "{reported:?}");
    drop(controller);
    end(live)
}

fn turns_costly_dials_off_and_keeps_lifetimes(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    let mut holder = live.controller()?;
    let (count, _) = costs(&mut holder)?;
    let dialled = holder.dial_all(&[HOT, COOL], Level::Count, Lifetime::Held)?;
    // A new row starts as off, which a watcher may see.
    wait_for_level(&mut observer, HOT, Level::Count)?;
    wait_for_level(&mut observer, COOL, Level::Count)?;
    live.host.ask(&format!("pace {MANY} 0 {FEW}"), "pacing")?;
    // Enough to count the cheap method, far from enough for the other.
    set(&mut holder, Some(ample_budget(FEW * count)))?;
    let why = wait_for_level(&mut observer, HOT, Level::Off)?.context("it says why")?;
    ensure!(why.starts_with("stepped down to off by the budget: "), "{why}");
    let step = wait_for_step(&mut observer, 0)?;
    ensure!(step.last.as_ref().is_some_and(|last| last.costliest.1 == Level::Off), "{step:?}");
    ensure!(level_of(&mut holder, COOL)? == Level::Count, "the cheap one stays on");
    let facts = holder.agent_status()?;
    ensure!((facts.held, facts.kept) == (1, 0), "{facts:?}");
    let held = |reply: Reply| match reply {
        Reply::Orders { orders, .. } => {
            Ok(orders.iter().filter(|one| one.lifetime == redial_protocol::order::Lifetime::Held).count())
        }
        other => anyhow::bail!("{other:?}"),
    };
    ensure!(held(holder.ask(WireCommand::Orders)?.reply)? == 2, "the step is held by the same session");

    // Undoing the change also removes the budget's step on it.
    let reply = holder.ask(WireCommand::UndoChange { change: dialled.change, take: false })?.reply;
    ensure!(matches!(reply, Reply::Undone { .. }), "{reply:?}");
    ensure!(held(holder.ask(WireCommand::Orders)?.reply)? == 0);
    wait_for_level(&mut observer, COOL, Level::Off)?;

    // The end of the holding session removes it too, as its other held dial shows.
    holder.dial_all(&[HOT, WARM], Level::Count, Lifetime::Held)?;
    wait_for_step(&mut observer, step.last.map_or(0, |last| last.change))?;
    ensure!(level_of(&mut holder, WARM)? == Level::Count, "it costs nothing");
    wait_for_level(&mut observer, WARM, Level::Count)?;
    drop(holder);
    wait_for_level(&mut observer, WARM, Level::Off)?;
    observer.settle(WARM)?;
    let Reply::Orders { orders, .. } = observer.ask(WireCommand::Orders)?.reply else {
        anyhow::bail!("no orders")
    };
    ensure!(orders.is_empty(), "{orders:?}");
    ensure!(observer.row(HOT)?.times_note.is_none(), "nothing of it is left");
    drop(observer);
    end(live)
}

fn applies_from_the_start_without_controllers(runtime: Runtime) -> Result<()> {
    // Both levels cost about the same in another process on this runtime, and the budget lies between them.
    let mut first = start(runtime)?;
    let (count, time) = costs(&mut first.controller()?)?;
    first.host.say("exit")?;
    first.host.finish()?.ok()?;
    let limit = Share::from_picoseconds(MANY * ROUNDS * (count * time).isqrt()).percent().to_string();
    let program = programs::named("paced")?.command(runtime)?;
    let dial = format!("{HOT}=time");
    let run = host::redial_run(&["--budget", &limit, "--dial", &dial], &program)?;
    let mut live = under_agent::start_prepared(run)?;
    live.host.ask(&format!("pace {MANY} 0 0"), "pacing")?;
    // Each reader disconnects at once.
    let mut looks = 0;
    let row = loop {
        live.host.ask("rounds 1000", "rounds")?;
        let row = live.rows(HOT)?.remove(0);
        if row["wanted"] == "count" {
            break row;
        }
        looks += 1;
        ensure!(row["wanted"] == "time" && looks < 100, "{row}");
    };
    ensure!(row["times_reason"].as_str().is_some_and(|why| why.contains("by the budget")), "{row}");
    let reported = live.redial("budget", &["--json"])?.ok()?.json()?;
    ensure!(
        reported["stepped_down"] == 1 && reported["budget_percent"].as_f64() == limit.parse().ok(),
        "{reported}"
    );
    end(live)
}

fn changes_nothing_within_or_without_a_budget(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let mut controller = live.controller()?;
    controller.subscribe(None)?;
    let changes = |controller: &mut Controller| -> Result<(Level, usize)> {
        Ok((level_of(controller, HOT)?, controller.agent_status()?.audit.len()))
    };
    controller.dial(HOT, Level::Time, Lifetime::Kept)?;
    live.host.ask(&format!("pace {MANY} 0 0"), "pacing")?;
    set(&mut controller, Some(Share::MAX))?;
    let before = changes(&mut controller)?;
    for _ in 0..2 {
        // Two more measurements than a step down needs.
        for _ in 0..2 {
            controller.wait_for("what dials cost", |event| match event {
                Event::Budget(CostBudget { cost: Some(cost), last: None, .. }) if *cost > Share(0) => {
                    Some(())
                }
                _ => None,
            })?;
            // The next measurement reports another rate.
            live.host.ask("pace 6000 0 0", "pacing")?;
        }
        live.host.ask(&format!("pace {MANY} 0 0"), "pacing")?;
    }
    ensure!(changes(&mut controller)? == before && before.0 == Level::Time);
    let off = set(&mut controller, None)?;
    ensure!(off.limit.is_none() && off.cost.is_none(), "{off:?}");
    let said = live.redial("budget", &[])?.ok()?.stdout;
    ensure!(said.contains("no budget"), "{said}");
    drop(controller);
    end(live)
}

fn warns_about_costly_changes(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let little = live.redial("dial", &[HOT, "time"])?.ok()?.output();
    ensure!(!little.contains("expect a cost"), "its call rate is not known yet: {little}");
    live.redial("dial", &[HOT, "count"])?.ok()?;
    live.host.ask(&format!("pace {} 0 0", 100 * MANY), "pacing")?;
    live.host.ask("rounds 1", "rounds")?;
    let much = live.redial("dial", &[HOT, "time"])?.ok()?.output();
    let bound = format!("`redial budget {} 5` limits it", live.pid);
    ensure!(much.contains("expect a cost of about ") && much.contains(&bound), "{much}");
    end(live)
}

fn setting_the_budget_needs_control(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let mut holder = live.controller()?;
    holder.dial(HOT, Level::Count, Lifetime::Held)?;
    let refused = live.redial("budget", &["5"])?;
    ensure_messages(&refused, 5, &["redial testbed"])?;
    ensure!(live.redial("budget", &["--json"])?.ok()?.json()?["budget_percent"].is_null());
    let taken = live.redial("budget", &["5", "--take"])?.ok()?.stdout;
    ensure!(taken.contains("all dials together may cost 5 % of a processor"), "{taken}");
    let noted = holder.agent_status()?.audit.pop().context("it is noted")?;
    let set = AuditAction::Budget { limit: Some(Share(500)) };
    ensure!((noted.program.as_str(), &noted.action) == ("redial budget", &set), "{noted:?}");
    let reply = holder.ask(WireCommand::SetBudget { limit: Some(Share(0)), take: false })?.reply;
    ensure!(matches!(&reply, Reply::Refused(Refusal::OverLimit(Limit::Budget))), "{reply:?}");
    for wrong in ["0", "much", "-1"] {
        let outcome = live.redial("budget", &[wrong])?;
        ensure!(outcome.code()? == 2, "{}", outcome.output());
    }
    ensure!(live.redial("budget", &["off", "--json"])?.ok()?.json()?["budget_percent"].is_null());
    drop(holder);
    end(live)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}
