//! The states of a dial on real runtimes: asked until the next call, live once the CLR has compiled the
//! instrumented body, off with a constant counter, live again as a later version. A frame stays in the version
//! that it entered.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, ensure};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow, Transition, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials, full_name};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::truth::Truth;

/// Called eight times per round, and never inlined.
const ADD: &str = "Shop!Shop.Cart.Add(int)";
const ADD_TRUTH: &str = "Shop.Cart.Add(int)";
const PARKED: &str = "Shop!Shop.Cart.Parked()";

/// Changes of a copy closer together than this are merged.
const MERGED_MS: u64 = 50;

/// The content of a transition: wanted level, state, version.
type Step = (Level, CopyState, Option<u32>);

const ASKED: Step = (Level::Count, CopyState::Asked, None);
const LIVE: Step = live(1);
const OFF: Step = (Level::Off, CopyState::Off, None);

const fn live(version: u32) -> Step {
    (Level::Count, CopyState::Live, Some(version))
}

fn step_of(transition: &Transition) -> Step {
    (transition.wanted, transition.state, transition.version)
}

fn now(row: &StatusRow) -> Step {
    (row.wanted, row.state, row.version)
}

/// Takes events until the row reaches `last`, and returns every step on the way. A row's first page is not a
/// step.
fn steps_until(controller: &mut Controller, row: RowId, last: Step) -> Result<Vec<Step>> {
    let is_there = |dials: &Dials| dials.get(&row).map(now) == Some(last);
    let events = controller.take_until(&format!("{row:?} {last:?}"), is_there)?;
    Ok(transitions_of(&events, row).map(step_of).collect())
}

fn transitions_of(events: &[Event], row: RowId) -> impl Iterator<Item = &Transition> {
    events.iter().filter_map(move |event| match event {
        Event::Transition(transition) if transition.row == row => Some(transition),
        _ => None,
    })
}

/// Returns when the row's changes reached the CLR, in milliseconds of the agent's own clock, and checks their
/// distance.
fn turned_at(events: &[Event], row: RowId) -> Result<Vec<u64>> {
    let steps = transitions_of(events, row).filter(|step| step.state != CopyState::Live);
    let turns: Vec<u64> = steps.map(|step| step.t_ms).collect();
    // Both times are truncated to whole milliseconds, so one may be missing.
    ensure!(turns.windows(2).all(|pair| pair[1] - pair[0] + 1 >= MERGED_MS), "turned at {turns:?}");
    Ok(turns)
}

/// Returns the row of a method dialled for the first time, from the event stream.
fn first_row(controller: &mut Controller, name: &str) -> Result<RowId> {
    controller
        .wait_until(&format!("the row of {name}"), |dials| dials.values().any(|r| full_name(r) == name))?;
    let found = controller.dials().values().find(|row| full_name(row) == name);
    found.map(|row| row.row).ok_or_else(|| anyhow!("no row of {name}"))
}

fn start(runtime: Runtime) -> Result<(LiveShop, Controller)> {
    let shop = LiveShop::start(runtime, &[], 4, &[])?;
    let mut controller = Controller::connect(shop.pid)?;
    controller.subscribe(None)?;
    Ok((shop, controller))
}

fn calls_of_add(shop: &mut LiveShop) -> Result<u64> {
    let truth: Truth = shop.truth()?;
    Ok(truth[ADD_TRUTH])
}

fn goes_through_all_states(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    shop.rounds(3)?;
    let before = calls_of_add(&mut shop)?;

    let report = controller.dial(ADD, Level::Count, Lifetime::Kept)?;
    assert_eq!((report.matched, report.accepted, report.refused.len()), (1, 1, 0));
    let row = first_row(&mut controller, ADD)?;
    // Nothing calls it, so it stays `asked`.
    let row_now = controller.row(ADD)?;
    assert_eq!((now(&row_now), row_now.instances.len(), row_now.calls), (ASKED, 0, 0));
    shop.truth()?;
    assert_eq!(now(&controller.row(ADD)?), ASKED);

    shop.rounds(5)?;
    // `asked` is its own step unless the row's first page already had it.
    let steps = steps_until(&mut controller, row, live(1))?;
    ensure!([&[ASKED, LIVE][..], &[LIVE], &[]].contains(&steps.as_slice()), "{steps:?}");
    let after_five = calls_of_add(&mut shop)?;
    let row_now = controller.row(ADD)?;
    assert_eq!((now(&row_now), row_now.calls), (live(1), after_five - before));
    let states: Vec<CopyState> = row_now.instances.iter().map(|instance| instance.state).collect();
    assert_eq!(states, [CopyState::Live], "one instance of ours");
    let first_id = row_now.instances[0].id;
    assert_ne!(first_id.rejit_id, 0, "the original body is none of ours");

    let report = controller.off(ADD)?;
    assert_eq!((report.matched, report.accepted), (1, 1));
    assert_eq!(steps_until(&mut controller, row, OFF)?, [OFF]);
    // Calls continue long enough for tier 1, but the counter stands still.
    shop.rounds(400)?;
    let still = controller.row(ADD)?;
    assert_eq!((now(&still), still.calls), (OFF, after_five - before));
    assert!(still.instances.iter().all(|instance| instance.state == CopyState::Off), "{still:?}");
    let before_again = calls_of_add(&mut shop)?;
    assert!(before_again > after_five);

    controller.dial(ADD, Level::Count, Lifetime::Kept)?;
    assert_eq!(now(&controller.row(ADD)?), ASKED);
    shop.rounds(5)?;
    assert_eq!(steps_until(&mut controller, row, live(2))?, [ASKED, live(2)]);
    let again = controller.row(ADD)?;
    let counted_again = calls_of_add(&mut shop)? - before_again;
    assert_eq!((now(&again), again.calls), (live(2), after_five - before + counted_again));
    let live_ids: Vec<u64> =
        again.instances.iter().filter(|i| i.state == CopyState::Live).map(|i| i.id.rejit_id).collect();
    assert!(live_ids.len() == 1 && live_ids[0] > first_id.rejit_id, "{again:?}");
    shop.exit().map(drop)
}

fn frame_stays_in_its_version(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    controller.dial(PARKED, Level::Count, Lifetime::Kept)?;
    let row = first_row(&mut controller, PARKED)?;
    shop.host.ask("park", "parked")?;
    steps_until(&mut controller, row, live(1))?;
    assert_eq!(controller.row(PARKED)?.calls, 1);

    controller.off(PARKED)?;
    controller.dial(PARKED, Level::Count, Lifetime::Kept)?;
    assert_eq!(now(&controller.row(PARKED)?), ASKED, "the parked frame is no call");
    assert_eq!(shop.host.ask("park", "parked")?, "2");
    steps_until(&mut controller, row, live(2))?;
    let both = controller.row(PARKED)?;
    assert_eq!(both.calls, 2);
    let mut instances: Vec<(u64, CopyState)> =
        both.instances.iter().map(|i| (i.id.rejit_id, i.state)).collect();
    instances.sort_by_key(|(rejit_id, _)| *rejit_id);
    assert_eq!(
        instances.iter().map(|(_, state)| *state).collect::<Vec<_>>(),
        [CopyState::Off, CopyState::Live]
    );
    assert_eq!(both.instances[0].id.function_id, both.instances[1].id.function_id);

    // Off while both are inside: each returns the right value to its caller, from its own version.
    controller.off(PARKED)?;
    steps_until(&mut controller, row, OFF)?;
    shop.host.ask("park", "parked")?;
    for _ in 0..3 {
        assert_eq!(shop.host.ask("unpark", "unparked")?, "800");
    }
    assert_eq!(controller.row(PARKED)?.calls, 2, "the third call was of the original");
    shop.exit().map(drop)
}

fn is_live_only_when_compiled(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    shop.rounds(2)?;
    let report = controller.dial("Shop!*", Level::Count, Lifetime::Kept)?;
    assert_eq!(report.accepted, report.matched - report.bodyless);
    // Threads wait at a barrier and Main waits for a line. No method can have been called, so none may be live.
    let rows = controller.status(None)?;
    assert_eq!(rows.len() as u64, report.accepted);
    let early: Vec<String> = rows.iter().filter(|row| now(row) != ASKED).map(full_name).collect();
    assert!(early.is_empty(), "live before any call: {early:?}");
    shop.rounds(2)?;
    let called = controller.status(None)?;
    for row in &called {
        let expected = if row.calls > 0 { live(1) } else { ASKED };
        // A frame entered once that stays (Main, the barrier's loop) is never called again.
        assert_eq!(now(row), expected, "{}", full_name(row));
    }
    assert!(called.iter().filter(|row| row.state == CopyState::Live).count() > 40);
    // In the stream each row was asked before it was live, without other steps. A row's first page may come at
    // any of them.
    let mut seen: BTreeMap<RowId, Vec<Step>> = BTreeMap::new();
    let mut missing: BTreeSet<RowId> =
        called.iter().filter(|row| row.state == CopyState::Live).map(|row| row.row).collect();
    controller.wait_for("every row live", |event| {
        let mut step = |row, step: Step| {
            seen.entry(row).or_default().push(step);
            if step.1 == CopyState::Live {
                missing.remove(&row);
            }
        };
        match event {
            Event::Transition(transition) => step(transition.row, step_of(transition)),
            Event::Rows { rows, .. } => rows.iter().for_each(|row| step(row.row, now(row))),
            _ => {}
        }
        missing.is_empty().then_some(())
    })?;
    for (row, steps) in seen {
        // A first page may also come before the CLR has accepted.
        let mut since_new: Vec<Step> =
            steps.iter().copied().skip_while(|(_, state, _)| *state == CopyState::Off).collect();
        since_new.dedup();
        ensure!(matches!(since_new.as_slice(), [] | [ASKED] | [LIVE] | [ASKED, LIVE]), "{row:?}: {steps:?}");
    }
    shop.exit().map(drop)
}

fn held_dials_end_with_their_session(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    let kept = "Shop!Shop.Money.CompareTo(Shop.Money)";
    controller.dial(kept, Level::Count, Lifetime::Kept)?;
    let mut holder = Controller::connect(shop.pid)?;
    holder.dial(ADD, Level::Count, Lifetime::Held)?;
    let row = first_row(&mut controller, ADD)?;
    shop.rounds(5)?;
    steps_until(&mut controller, row, live(1))?;
    let status = controller.agent_status()?;
    assert_eq!((status.held, status.kept), (1, 1));
    let counted = controller.row(ADD)?.calls;
    assert_eq!(counted, calls_of_add(&mut shop)?);

    drop(holder);
    assert_eq!(steps_until(&mut controller, row, OFF)?, [OFF]);
    shop.rounds(20)?;
    assert_eq!(controller.row(ADD)?.calls, counted);
    let stays = controller.row(kept)?;
    assert_eq!(now(&stays), live(1));
    assert_eq!(stays.calls, shop.truth()?["Shop.Money.CompareTo(Money)"]);
    let status = controller.agent_status()?;
    assert_eq!((status.held, status.kept, status.control), (0, 1, None));

    // Kept dials outlive the session that set them.
    drop(controller);
    let mut later = Controller::connect(shop.pid)?;
    shop.rounds(5)?;
    let stays = later.row(kept)?;
    assert_eq!((now(&stays), stays.calls), (live(1), shop.truth()?["Shop.Money.CompareTo(Money)"]));
    shop.exit().map(drop)
}

/// Rows and transitions agree on one sequence per row, off, asked, live, without a step back, although each row
/// is sent in its state at that moment.
fn streams_each_step_in_order(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 20", "looped")?;
    controller.dial("Shop!*", Level::Count, Lifetime::Kept)?;
    shop.host.ask("loop wait 20", "looped")?;
    let called: Vec<RowId> = controller
        .status(None)?
        .iter()
        .filter(|row| row.state == CopyState::Live)
        .map(|row| row.row)
        .collect();
    assert!(called.len() > 40, "{}", called.len());
    let mut sequences: BTreeMap<RowId, Vec<CopyState>> = BTreeMap::new();
    let mut note = |row, state| {
        let states = sequences.entry(row).or_default();
        if states.last() != Some(&state) {
            states.push(state);
        }
    };
    let mut waiting: BTreeSet<RowId> = called.into_iter().collect();
    controller.wait_for("every called row live", |event| {
        match event {
            Event::Transition(transition) => {
                note(transition.row, transition.state);
                if transition.state == CopyState::Live {
                    waiting.remove(&transition.row);
                }
            }
            Event::Rows { rows, .. } => rows.iter().for_each(|row| {
                note(row.row, row.state);
                if row.state == CopyState::Live {
                    waiting.remove(&row.row);
                }
            }),
            _ => {}
        }
        waiting.is_empty().then_some(())
    })?;
    // Later events after the last row went live belong to the sequence too.
    controller.off("Shop!*")?;
    controller.wait_for("a row off", |event| match event {
        Event::Transition(transition) => {
            note(transition.row, transition.state);
            (transition.state == CopyState::Off).then_some(())
        }
        _ => None,
    })?;
    let order = |state: &CopyState| {
        [CopyState::Off, CopyState::Asked, CopyState::Live].iter().position(|known| known == state)
    };
    for (row, mut states) in sequences {
        if states.len() > 1 && states.last() == Some(&CopyState::Off) {
            states.pop();
        }
        let places: Vec<Option<usize>> = states.iter().map(order).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{row:?}: {states:?}");
    }
    shop.exit().map(drop)
}

/// Changes faster than the agent merges them, during calls: the last one decides and counts exactly.
fn last_of_quick_changes_decides(runtime: Runtime) -> Result<()> {
    let (mut shop, mut controller) = start(runtime)?;
    shop.host.ask("loop on", "looping")?;
    shop.host.ask("loop wait 50", "looped")?;
    for turn in 0..30 {
        let report = match turn % 2 {
            0 => controller.dial(ADD, Level::Count, Lifetime::Kept)?,
            _ => controller.off(ADD)?,
        };
        assert_eq!((report.matched, report.accepted), (1, 1), "turn {turn}");
        let wanted = if turn % 2 == 0 { Level::Count } else { Level::Off };
        assert_eq!(controller.row(ADD)?.wanted, wanted, "turn {turn}");
    }
    let off = controller.row(ADD)?;
    let row = off.row;
    assert_eq!(now(&off), OFF);
    shop.host.ask("loop wait 50", "looped")?;
    // Each of the four threads may still have been entering the old body.
    let late = controller.row(ADD)?.calls - off.calls;
    assert!(late <= 4, "off, yet it counted {late} more");
    controller.dial(ADD, Level::Count, Lifetime::Kept)?;
    shop.host.ask("loop wait 50", "looped")?;
    redial_testbed::truth::ask(&mut shop.host, "loop off")?;
    let on = controller.row(ADD)?;
    assert_eq!((on.wanted, on.state), (Level::Count, CopyState::Live));
    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(10)?;
    assert_eq!(controller.row(ADD)?.calls - on.calls, calls_of_add(&mut shop)?);
    let last = live(on.version.unwrap_or_default());
    let events = controller.take_until("the last", |dials| dials.get(&row).map(now) == Some(last))?;
    // Each change was answered after it was done, so none was merged, only delayed. The row's first page has
    // the first one.
    let turns = turned_at(&events, row)?.len();
    assert!((30..=31).contains(&turns), "{turns} turns");
    controller.off(ADD)?;
    assert_eq!(steps_until(&mut controller, row, OFF)?, [OFF]);
    assert!(on.version.is_some_and(|version| version <= 16), "a version a turn at most: {on:?}");
    shop.exit().map(drop)
}

/// Two sessions change the same dial without waiting for each other. The agent merges their changes, and the
/// last one decides.
fn merges_competing_changes(runtime: Runtime) -> Result<()> {
    const CHANGES: usize = 40;
    let (mut shop, mut controller) = start(runtime)?;
    shop.host.ask("loop on", "looping")?;
    let pid = shop.pid;
    let turn = |level| {
        move || -> Result<()> {
            let mut own = Controller::connect(pid)?;
            for _ in 0..CHANGES {
                let orders = vec![Order::new(ADD, level)];
                let report = own.turn(WireCommand::RequestReJit {
                    orders,
                    later: false,
                    take: true,
                    lifetime: Lifetime::Kept,
                })?;
                ensure!(report.is_ok(), "{report:?}");
            }
            Ok(())
        }
    };
    std::thread::scope(|scope| {
        let turning = [scope.spawn(turn(Level::Count)), scope.spawn(turn(Level::Off))];
        turning
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("it panicked"))))
    })?;
    controller.dial(ADD, Level::Count, Lifetime::Kept)?;
    shop.host.ask("loop wait 50", "looped")?;
    redial_testbed::truth::ask(&mut shop.host, "loop off")?;
    let on = controller.row(ADD)?;
    assert_eq!((on.wanted, on.state), (Level::Count, CopyState::Live));
    let last = live(on.version.unwrap_or_default());
    let events = controller.take_until("the last", |dials| dials.get(&on.row).map(now) == Some(last))?;
    assert!(turned_at(&events, on.row)?.len() < CHANGES, "nothing was merged");
    shop.host.ask("truth-reset", "reset")?;
    shop.rounds(10)?;
    assert_eq!(controller.row(ADD)?.calls - on.calls, calls_of_add(&mut shop)?);
    controller.off(ADD)?;
    shop.rounds(10)?;
    let off = controller.row(ADD)?;
    assert_eq!((now(&off), off.calls - on.calls), (OFF, calls_of_add(&mut shop)? / 2));
    shop.exit().map(drop)
}

on_each_runtime!(
    goes_through_all_states,
    frame_stays_in_its_version,
    is_live_only_when_compiled,
    held_dials_end_with_their_session,
    streams_each_step_in_order,
    last_of_quick_changes_decides,
    merges_competing_changes,
);
