//! Dial sets on real runtimes: applied, saved, planned, undone, kept for a time and cancelled, each exactly.
//! `unmatched` tests lines that match nothing.

mod unmatched;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::diagnostics::AuditAction;
use redial_protocol::dialset;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Refusal, Reply, Request, StatusRow, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::packet::ControllerPacket;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Dials};
use redial_testbed::hang::Hang;
use redial_testbed::host::{self, Host};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::signals;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs};
use serde_json::Value;

on_each_runtime!(
    saved_set_can_be_applied,
    undo_restores_the_earlier_state,
    undoes_changes_of_any_controller,
    plan_predicts_the_change,
    dials_kept_for_a_time_end_by_themselves,
    cancelled_change_leaves_nothing,
    ctrl_c_undoes_a_change,
    wrong_set_changes_nothing,
    holds_a_dial_set,
    run_accepts_dial_set_lines,
);

const CART: &str = "Shop!Shop.Cart.*";
const ADD: &str = "Shop!Shop.Cart.Add(int)";
const ORDER: &str = "Shop!Shop.Order.*";
/// Enough copies for several requests of the agent, so that a change can be stopped between two of them.
const LARGE: &str = "System.Private.CoreLib!*";
/// Some of those copies.
const STRINGS: &str = "System.Private.CoreLib!System.String.*";
/// Number of tries, because a change may finish before the agent receives the cancellation.
const TRIES: usize = 10;

fn start(runtime: Runtime) -> Result<LiveHost> {
    under_agent::start(shop(runtime)?)
}

fn shop(runtime: Runtime) -> Result<Command> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    Ok(command)
}

fn end(mut live: LiveHost) -> Result<()> {
    live.host.say("exit 0")?;
    live.host.finish()?.ok().map(drop)
}

/// A file with a dial set. Dropping it removes the file.
struct DialSet(PathBuf);

impl DialSet {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("redial-{name}-{}.dials", std::process::id())))
    }

    fn of(name: &str, lines: &[&str]) -> Result<Self> {
        let set = Self::new(name);
        std::fs::write(&set.0, format!("# redial dials 1\n{}\n", lines.join("\n")))?;
        Ok(set)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for DialSet {
    fn drop(&mut self) {
        // A test may have failed before it was written.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The standing orders and the dials that are on because of them.
#[derive(Debug, PartialEq)]
struct DialState {
    orders: Vec<Order>,
    /// Wanted level, and whether the runtime was asked, by copy; without copies that are off.
    on: BTreeMap<String, (String, bool)>,
}

impl DialState {
    fn of(live: &LiveHost) -> Result<Self> {
        let saved = live.redial("save", &[])?.ok()?;
        let orders = dialset::parse(&saved.stdout).with_context(|| format!("saved:\n{}", saved.stdout))?;
        let rows = live.redial("status", &["--json"])?.ok()?.json()?;
        let mut on = BTreeMap::new();
        for row in rows.as_array().context("status is an array")? {
            let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
            let is_on = matches!(row["state"].as_str(), Some("asked" | "live"));
            if is_on || row["wanted"] != "off" {
                on.insert(format!("{} {}", text("module_id"), text("token")), (text("wanted"), is_on));
            }
        }
        Ok(Self { orders, on })
    }

    /// Returns the number of copies requested from the runtime, without refused ones.
    fn copies(&self) -> u64 {
        self.on.values().filter(|(_, is_on)| *is_on).count() as u64
    }

    fn is_empty(&self) -> bool {
        self.orders.is_empty() && self.on.is_empty()
    }
}

fn numbers(report: &Value) -> Value {
    ["matched", "accepted", "bodyless", "refused", "shared"]
        .map(|field| report[field].clone())
        .to_vec()
        .into()
}

fn saved_set_can_be_applied(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    ensure_messages(&live.redial("dial", &[CART, "count", "--for", "1h"])?, 0, &[])?;
    ensure_messages(&live.redial("dial", &[ADD, "off"])?, 0, &[])?;
    ensure_messages(&live.redial("dial", &["*!Not.Yet.*", "count", "--later"])?, 0, &[])?;
    let before = DialState::of(&live)?;
    ensure!(before.orders.len() == 3 && before.on.len() > 5, "{before:?}");

    let file = DialSet::new("saved");
    ensure_messages(&live.redial("save", &[file.path()])?, 0, &["3 orders saved"])?;
    ensure_messages(&live.redial("save", &[file.path()])?, 1, &["--force"])?;
    let text = std::fs::read_to_string(&file.0)?;
    ensure!(
        text.contains("# kept for another 59m ") && text.contains("# kept, set by redial dial"),
        "{text}"
    );

    live.redial("off", &[])?.ok()?;
    ensure!(DialState::of(&live)?.is_empty());
    let applied = live.redial("apply", &[file.path(), "--later"])?;
    ensure_messages(&applied, 0, &[])?;
    ensure!(DialState::of(&live)? == before, "{}", applied.output());
    ensure_messages(&live.redial("save", &[file.path(), "--force"])?, 0, &[])?;
    ensure!(dialset::parse(&std::fs::read_to_string(&file.0)?)? == before.orders);

    // The same from standard input. Without --later, an order that matches nothing is reported and not set.
    live.redial("off", &[])?.ok()?;
    let mut apply = Host::start(live.command("apply", &["-"])?)?;
    text.lines().try_for_each(|line| apply.say(line))?;
    apply.close_input();
    let applied = apply.finish()?;
    ensure_messages(&applied, 7, &[])?;
    ensure!(
        applied.stdout.contains("nothing matches *!Not.Yet.* yet; it was not set"),
        "{}",
        applied.output()
    );
    let after = DialState::of(&live)?;
    ensure!(after.on == before.on && after.orders == before.orders[..2], "{after:?}");
    end(live)
}

fn undo_restores_the_earlier_state(runtime: Runtime) -> Result<()> {
    let mut live = start(runtime)?;
    let set = DialSet::of("undo", &["Shop!* = count", "Shop!Shop.Cart.* = off", &format!("{ADD} = count")])?;
    ensure_messages(&live.redial("undo", &[])?, 6, &["no change to undo"])?;
    let changes: [(&str, &[&str]); 6] = [
        ("dial", &[CART, "count"]),
        ("apply", &[set.path()]),
        ("dial", &[ADD, "off"]),
        ("off", &[]),
        ("dial", &[ORDER, "count"]),
        ("dial", &["Shop!*", "off"]),
    ];
    let mut stood = Vec::new();
    for (command, arguments) in changes {
        stood.push(DialState::of(&live)?);
        live.redial(command, arguments)?.ok()?;
        live.host.ask("round 2", "done")?;
    }
    ensure!(stood[0].is_empty() && stood[2].on.len() > stood[1].on.len(), "{stood:?}");
    for (before, (command, _)) in stood.iter().zip(changes).rev() {
        let undone = live.redial("undo", &[])?;
        ensure_messages(&undone, 0, &[])?;
        ensure!(undone.stdout.starts_with("undone: "), "{}", undone.output());
        let now = DialState::of(&live)?;
        ensure!(now == *before, "undo of {command}:\n{now:?}\ninstead of\n{before:?}\n{}", undone.output());
        live.host.ask("round 2", "done")?;
        ensure!(DialState::of(&live)? == *before, "after calls");
    }
    ensure_messages(&live.redial("undo", &[])?, 6, &["no change to undo"])?;
    end(live)
}

fn undoes_changes_of_any_controller(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    live.redial("dial", &[ORDER, "count"])?.ok()?;
    let before = DialState::of(&live)?;
    let mut other = live.controller()?;
    other.dial(CART, Level::Count, Lifetime::Held)?;
    let held = DialState::of(&live)?;
    ensure_messages(&live.redial("undo", &[])?, 5, &["redial testbed", "--take"])?;
    ensure!(DialState::of(&live)? == held, "a refused undo changes nothing");
    let undone = live.redial("undo", &["--take", "--json"])?;
    ensure_messages(&undone, 0, &[])?;
    let undone = undone.json()?;
    ensure!(
        undone["undone"]["program"] == "redial testbed"
            && undone["undone"]["order"] == format!("{CART} = count"),
        "{undone}"
    );
    ensure!(DialState::of(&live)? == before);
    let agent = live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(agent["control"].is_null() && agent["undoable"] == 1, "{agent}");
    ensure!(agent["orders"][0]["by"]["program"] == "redial dial" && agent["held"] == 0, "{agent}");
    drop(other);
    end(live)
}

fn plan_predicts_the_change(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    live.redial("dial", &[ADD, "count"])?.ok()?;
    let set =
        DialSet::of("plan", &["Shop!* = count", "", &format!("{ORDER} = off"), "No.Such.Thing = count"])?;
    let turns: [(&str, Vec<&str>); 7] = [
        ("dial", vec![CART, "count"]),
        ("dial", vec![STRINGS, "count"]),
        ("dial", vec!["System.Private.CoreLib!System.Runtime.*.*", "count"]),
        ("dial", vec![ADD, "off"]),
        ("dial", vec!["Shop!Shop.Nothing.Here", "count"]),
        ("dial", vec!["Shop!Shop.ICart.*", "count"]),
        ("apply", vec![set.path()]),
    ];
    for (command, arguments) in &turns {
        let before = DialState::of(&live)?;
        let run = |more: &[&str]| {
            let words: Vec<&str> = arguments.iter().chain(more).copied().collect();
            live.redial(command, &words)
        };
        let planned = run(&["--plan", "--json"])?;
        ensure!(DialState::of(&live)? == before, "a plan changes nothing: {arguments:?}");
        let for_people = run(&["--plan"])?;
        ensure!(for_people.stdout.contains("nothing was changed (--plan)"), "{}", for_people.output());
        let done = run(&["--json"])?;
        let codes = [planned.code()?, for_people.code()?, done.code()?];
        ensure!(codes == [done.code()?; 3], "{arguments:?} ended with {codes:?}");
        if done.code()? == 6 {
            ensure!(planned.stderr == done.stderr, "{}{}", planned.output(), done.output());
            continue;
        }
        let (plan, done) = (planned.json()?, done.json()?);
        ensure!(numbers(&plan) == numbers(&done), "{arguments:?}: planned {plan}, did {done}");
        let on = DialState::of(&live)?.copies();
        let expected = before.copies() + number(&plan, "to_recompile")? - number(&plan, "to_turn_off")?;
        ensure!(on == expected, "{arguments:?}: {on} are on after {plan}, not {expected}");
    }
    let again = live.redial("apply", &[set.path(), "--plan", "--json"])?;
    ensure_messages(&again, 7, &[])?;
    let again = again.json()?;
    ensure!(again["to_recompile"] == 0 && again["to_turn_off"] == 0, "{again}");
    let lines: Vec<&Value> =
        again["orders"].as_array().context("orders")?.iter().map(|o| &o["line"]).collect();
    ensure!(lines == [2, 4, 5], "{again}");
    end(live)
}

fn number(report: &Value, field: &str) -> Result<u64> {
    report[field].as_u64().with_context(|| format!("no number {field} in {report}"))
}

fn dials_kept_for_a_time_end_by_themselves(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    // An observer that already knows the rows receives every step.
    live.redial("dial", &[CART, "count"])?.ok()?;
    live.redial("dial", &[CART, "off"])?.ok()?;
    live.redial("dial", &[ADD, "count"])?.ok()?;
    let before = DialState::of(&live)?;
    let mut observer = live.controller()?;
    observer.subscribe(Some(CART))?;
    let is_on = |row: &&StatusRow| row.wanted > Level::Off || row.state != CopyState::Off;
    let on = |dials: &Dials| dials.values().filter(is_on).count();
    observer.wait_until("the rows", |dials| dials.len() > 5 && on(dials) == 1)?;
    let dialled = live.redial("dial", &[CART, "count", "--for", "700ms"])?;
    ensure_messages(&dialled, 0, &[])?;
    ensure!(dialled.stdout.contains("kept for 700ms"), "{}", dialled.output());
    observer.wait_until("all on", |dials| on(dials) == dials.len())?;
    observer.wait_until("all but one off again", |dials| on(dials) == 1)?;
    observer.settle(CART)?;
    ensure!(DialState::of(&live)? == before, "what stood below stands again");
    for (arguments, part) in
        [(["0s"], "the shortest duration is 1 ms"), (["367d"], "366 days"), (["10"], "a number with a unit")]
    {
        let refused = live.redial("dial", &[&[CART, "count", "--for"], &arguments[..]].concat())?;
        ensure!(refused.code()? == 2 && refused.stderr.contains(part), "{}", refused.output());
    }
    ensure_messages(&live.redial("dial", &[CART, "off", "--for", "1s"])?, 2, &["no effect with off"])?;
    end(live)
}

/// Sets some orders that a large change overlaps, above and below it.
fn set_some_orders(live: &LiveHost) -> Result<DialState> {
    live.redial("dial", &[CART, "count"])?.ok()?;
    let strings = live.redial("dial", &[STRINGS, "count"])?;
    ensure!(matches!(strings.code()?, 0 | 7), "{}", strings.output());
    DialState::of(live)
}

/// Starts Shop with a hang for its requests, some dials, and an observer of the strings among them.
fn start_hanging(runtime: Runtime) -> Result<(LiveHost, Hang, DialState, Controller)> {
    let hang = Hang::default();
    let mut command = shop(runtime)?;
    command.envs([hang.variable()]);
    let live = under_agent::start(command)?;
    let before = set_some_orders(&live)?;
    let mut observer = live.controller()?;
    observer.subscribe(Some(STRINGS))?;
    wait_for_strings(&mut observer)?;
    Ok((live, hang, before, observer))
}

fn wait_for_strings(observer: &mut Controller) -> Result<()> {
    observer.wait_until("the strings to be on", |dials| dials.values().any(|row| row.wanted > Level::Off))
}

/// Waits until a large change has started. It needs several requests, and the strings are off before the first.
fn wait_for_first_request(observer: &mut Controller) -> Result<()> {
    let are_off = |dials: &Dials| dials.values().all(|row| row.wanted == Level::Off);
    observer.wait_until("the turn to have begun", are_off)
}

fn cancelled_change_leaves_nothing(runtime: Runtime) -> Result<()> {
    let (live, hang, before, mut observer) = start_hanging(runtime)?;
    hang.begin()?;
    let mut controller = live.controller()?;
    let orders = vec![Order::new(LARGE, Level::Count), Order::new(STRINGS, Level::Off)];
    let command = WireCommand::RequestReJit { orders, later: false, take: false, lifetime: Lifetime::Kept };
    controller.send(&ControllerPacket::Request(Request { id: 1_000, command }))?;
    wait_for_first_request(&mut observer)?;
    controller.execute(WireCommand::Cancel { request: 1_000 })?;
    hang.end()?;
    let reply = controller.wait_for("its answer", |event| match event {
        Event::Reply { id: 1_000, reply } => Some(reply.clone()),
        _ => None,
    })?;
    ensure!(matches!(reply, Reply::Refused(Refusal::Cancelled)), "answered {reply:?}");
    ensure!(DialState::of(&live)? == before, "cancelled, it leaves nothing");
    let agent = controller.agent_status()?;
    ensure!(agent.control.is_none(), "{:?}", agent.control);
    ensure!(
        agent.audit.last().is_some_and(|entry| matches!(entry.action, AuditAction::Cancelled(_))),
        "{:?}",
        agent.audit
    );
    drop(controller);
    end(live)
}

fn ctrl_c_undoes_a_change(runtime: Runtime) -> Result<()> {
    let (live, hang, before, mut observer) = start_hanging(runtime)?;
    let set = DialSet::of("ctrl-c", &[&format!("{LARGE} = count"), &format!("{STRINGS} = off")])?;
    for attempt in 1..=TRIES {
        hang.begin()?;
        let mut apply = Host::start_with_merged_output(live.command("apply", &[set.path()])?)?;
        wait_for_first_request(&mut observer)?;
        signals::interrupt(apply.pid())?;
        // The command has told the agent, which receives that while the first request runs.
        apply.wait_for("redial: stopping")?;
        hang.end()?;
        let outcome = apply.finish()?;
        if outcome.stdout.contains("cancelled") {
            ensure!(
                outcome.code()? == 1 && outcome.stdout.contains("all dials are as they were before"),
                "{}",
                outcome.output()
            );
            ensure!(DialState::of(&live)? == before, "{}", outcome.output());
            return end(live);
        }
        // On a busy machine the change may finish before the agent receives the cancellation.
        ensure!(matches!(outcome.code(), Ok(0 | 7)), "{}", outcome.output());
        live.redial("undo", &[])?.ok()?;
        ensure!(DialState::of(&live)? == before, "attempt {attempt}: {}", outcome.output());
        wait_for_strings(&mut observer)?;
    }
    anyhow::bail!("not one of {TRIES} turns could be stopped")
}

fn wrong_set_changes_nothing(runtime: Runtime) -> Result<()> {
    let mut command = shop(runtime)?;
    command.env("REDIAL_MAX_LEVEL", "time");
    let live = under_agent::start(command)?;
    live.redial("dial", &[ADD, "count"])?.ok()?;
    let before = DialState::of(&live)?;
    let cart = format!("{CART} = count");
    let cases: [(&[&str], i32, &str); 7] = [
        (&[&cart, "", "Shop.Order.* count"], 2, "line 4: 'Shop.Order.* count' is not an order"),
        (&[&cart, "# fine", "Shop.Order.* = loud"], 2, "line 4: 'loud' is not a level"),
        (&[&cart, "Shop.Order.*( = count"], 2, "line 3: the brackets"),
        (&[&cart, "Shop.Order.* = count copy=12"], 2, "line 3: '12' is not a module id"),
        (&["Shop!* = count copy=0x12"], 6, "nothing matched"),
        (&[&cart, "Shop.Order.* = trace"], 1, "level trace is not offered"),
        (&["No.Such.Thing = count"], 6, "nothing matched"),
    ];
    for (lines, code, part) in cases {
        let set = DialSet::of("wrong", lines)?;
        for more in [&[][..], &["--plan"]] {
            let arguments: Vec<&str> = [set.path()].iter().chain(more).copied().collect();
            ensure_messages(&live.redial("apply", &arguments)?, code, &[part])?;
            ensure!(DialState::of(&live)? == before, "{lines:?} {more:?}");
        }
    }
    let headless = DialSet::new("wrong");
    std::fs::write(&headless.0, &cart)?;
    ensure_messages(&live.redial("apply", &[headless.path()])?, 2, &["line 1: a dial set begins with"])?;
    std::fs::write(&headless.0, b"# redial dials 1\n\xff = count\n")?;
    ensure_messages(&live.redial("apply", &[headless.path()])?, 2, &["UTF-8"])?;
    std::fs::write(&headless.0, "# redial dials 1\n# nothing\n")?;
    ensure_messages(&live.redial("apply", &[headless.path()])?, 0, &["has no orders"])?;
    ensure_messages(&live.redial("apply", &["/no/such/file"])?, 2, &["cannot read /no/such/file"])?;
    ensure!(DialState::of(&live)? == before);
    // A saved set may name a copy that no longer exists; the rest of it is valid.
    let old = DialSet::of("wrong", &[&cart, "Shop!* = count copy=0x12"])?;
    let warning = "nothing in a module with the id 0x12 matches Shop!*; it was not set";
    let said = live.redial("apply", &[old.path()])?;
    ensure_messages(&said, 7, &[])?;
    ensure!(said.stdout.contains(&format!("line 3: {warning}\n")), "{}", said.output());
    end(live)
}

fn holds_a_dial_set(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    live.redial("dial", &[CART, "count"])?.ok()?;
    let before = DialState::of(&live)?;
    let set = DialSet::of("held", &[&format!("{ORDER} = count"), &format!("{ADD} = off")])?;
    let mut observer = live.controller()?;
    observer.subscribe(None)?;
    let mut holder = Host::start(live.command("apply", &[set.path(), "--hold"])?)?;
    let said = holder.wait_for("held while this command runs")?;
    ensure!(said.contains("2 dials of ") && said.contains(set.path()), "{said}");
    let held = DialState::of(&live)?;
    ensure!(held.orders.len() == 3 && held != before, "{held:?}");
    signals::interrupt(holder.pid())?;
    ensure_messages(&holder.finish()?, 0, &[])?;
    let on = |row: &StatusRow| matches!(row.state, CopyState::Asked | CopyState::Live);
    observer.wait_until("all as it was", |dials| {
        dials.values().filter(|row| on(row)).count() == before.on.len()
            && dials.values().all(|row| on(row) == row.method.starts_with("Shop.Cart."))
    })?;
    ensure!(DialState::of(&live)? == before, "what was held is gone, its `off` included");
    drop(observer);
    end(live)
}

fn run_accepts_dial_set_lines(runtime: Runtime) -> Result<()> {
    let here = format!("{CART} = count domain=clr");
    let elsewhere = format!("{ORDER} = count domain=Elsewhere all-domains");
    let mut shop = LiveShop::start(runtime, &["--dial", &here, "--dial", &elsewhere], 2, &[])?;
    shop.rounds(2)?;
    let rows = shop.status()?;
    ensure!(rows.len() > 5 && rows.keys().all(|method| method.starts_with("Shop.Cart.")), "{rows:?}");
    let saved = shop.redial("save", &[])?.ok()?.stdout;
    ensure!(saved.contains("redial run at the start"), "{saved}");
    ensure!(dialset::parse(&saved)?.iter().map(dialset::print_order).eq([here, elsewhere]), "{saved}");
    shop.host.say("exit 0")?;
    // Orders for AppDomains that never appeared are reported at the end.
    ensure_messages(&shop.host.finish()?, 0, &["domain=Elsewhere all-domains' matched nothing"])?;
    let mut command = host::redial(&["run", "--dial", &format!("{CART}=count copy=0x7f10"), "--"])?;
    command.arg("true");
    ensure_messages(&host::run(command)?, 125, &["only after it loads"])
}
