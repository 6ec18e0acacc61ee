//! One command for many processes: by name or by a list, including those that start later. The tests run twenty
//! Shops under a name that no other process has.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use redial_testbed::artefacts;
use redial_testbed::fleet::Program;
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::shop::{self, LiveShop};
use redial_testbed::signals;
use redial_testbed::under_agent::ensure_messages;
use serde_json::Value;

const FLEET: usize = 20;
const CART: &str = "Shop!Shop.Cart.*";

fn pids(rows: &Value) -> Result<BTreeSet<u32>> {
    let rows = rows.as_array().with_context(|| format!("no array: {rows}"))?;
    Ok(rows.iter().filter_map(|row| row["pid"].as_u64()).map(|pid| pid as u32).collect())
}

fn pids_of(shops: &[LiveShop]) -> BTreeSet<u32> {
    shops.iter().map(|shop| shop.pid).collect()
}

/// Checks that each process counts exactly its own calls.
fn counts_are_exact(shops: &mut [LiveShop]) -> Result<()> {
    for shop in shops {
        shop.host.ask("truth-reset", "reset")?;
        let before = shop.status()?;
        shop.rounds(2)?;
        let counted = shop.status()?;
        let of_cart = |method: &str, _: &shop::MethodCount| method.starts_with("Shop.Cart.");
        let wrong = shop::differences(&shop.truth()?, &before, &counted, of_cart);
        let inlined = |line: &String| line.contains("already inlined");
        ensure!(wrong.iter().all(inlined), "{}:\n  {}", shop.pid, wrong.join("\n  "));
        ensure!(counted.values().any(|counted| counted.calls > 0), "nothing is counted in {}", shop.pid);
    }
    Ok(())
}

/// Every command on twenty processes at once, two of them without the agent at first.
#[test]
fn every_command_reaches_a_fleet_by_name() -> Result<()> {
    let program = Program::new("Fleet")?;
    let mut shops = program.start(FLEET, FLEET - 2)?;
    let (everyone, bare) = (pids_of(&shops), pids_of(&shops[FLEET - 2..]));

    let part = program.redial("dial", &[CART, "count", "--json"])?;
    ensure_messages(
        &part,
        7,
        &["runs without the agent", "redial attach", "or use --attach with this command"],
    )?;
    ensure!(part.stderr.lines().count() == 2, "{}", part.output());
    let with_agent: BTreeSet<u32> = everyone.difference(&bare).copied().collect();
    ensure!(pids(&part.json()?)? == with_agent, "{}", part.output());
    program.redial("off", &[])?;

    let dialled = program.redial("dial", &[CART, "count", "--attach"])?;
    ensure_messages(&dialled, 0, &["loaded the agent into process"])?;
    for shop in &shops {
        ensure!(dialled.stdout.contains(&format!("{}\n", program.title(shop))), "{}", dialled.output());
    }
    ensure!(dialled.stdout.matches(" methods matched, ").count() == FLEET, "{}", dialled.output());
    let last =
        format!("kept in 20 processes until turned off: `redial off {}` turns them off\n", program.target());
    ensure!(dialled.stdout.ends_with(&last), "{}", dialled.output());
    counts_are_exact(&mut shops)?;

    let status = program.redial("status", &["--json"])?.ok()?.json()?;
    ensure!(pids(&status)? == everyone, "{status}");
    let modules = program.redial("modules", &["--json"])?.ok()?.json()?;
    ensure!(pids(&modules)? == everyone && modules[0]["domains"].is_array());
    let methods = program.redial("methods", &["Shop!Shop.Cart.Add(int)", "--json"])?.ok()?.json()?;
    ensure!(
        pids(&methods)? == everyone && methods.as_array().is_some_and(|rows| rows.len() == FLEET),
        "{methods}"
    );
    let attached = program.redial("attach", &[])?.ok()?;
    ensure!(attached.stdout.matches("the agent is already loaded").count() == FLEET, "{}", attached.output());

    let watched = program.redial("watch", &["--count", "2", "--interval", "50", "--json"])?.ok()?;
    let mut lines =
        watched.stdout.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    ensure!(
        lines.len() == 2 * FLEET && pids(&Value::Array(lines.clone()))? == everyone,
        "{}",
        watched.output()
    );
    ensure!(lines.pop().is_some_and(|line| line["dials"].as_array().is_some_and(|dials| dials.len() > 5)));
    let watched = program.redial("watch", &["Shop.Cart.Add*", "--count", "1"])?.ok()?;
    for shop in &shops {
        ensure!(watched.stdout.lines().any(|line| line.trim().starts_with(&shop.pid.to_string())));
    }

    let list = format!("{},{}", shops[0].pid, shops[1].pid);
    let undone = host::run(host::redial(&["undo", &list, "--json"])?)?.ok()?.json()?;
    ensure!(pids(&undone)? == pids_of(&shops[..2]), "{undone}");
    let saved = program.redial("save", &[])?;
    ensure_messages(&saved, 2, &["`redial save` saves one process at a time"])?;
    let missing = format!("{},{}", shops[0].pid, u32::MAX);
    let off = host::run(host::redial(&["off", &missing])?)?;
    ensure_messages(&off, 7, &[&format!("no process {}", u32::MAX)])?;
    let off = program.redial("off", &["--json"])?.ok()?.json()?;
    ensure!(pids(&off)? == everyone, "{off}");
    let remaining = off.as_array().context("an array")?.iter().map(|row| row["remaining"].as_u64());
    ensure!(remaining.sum::<Option<u64>>() == Some(0), "{off}");
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))?;
    ensure_messages(&program.redial("off", &[])?, 3, &["no .NET process is called", "redial ps"])
}

/// Starts `redial dial name:NAME …` in the foreground, with its standard error in its output.
fn following(program: &Program, options: &[&str]) -> Result<Host> {
    following_with(program, options, &artefacts::agent()?)
}

/// The same with the given agent library.
fn following_with(program: &Program, options: &[&str], library: &Path) -> Result<Host> {
    let target = program.target();
    let words = [&["dial", target.as_str(), CART, "count", "--follow"], options].concat();
    let mut redial = host::redial(&words)?;
    redial.env("REDIAL_AGENT", library);
    Host::start_with_merged_output(redial)
}

fn interrupt(host: Host) -> Result<Outcome> {
    signals::interrupt(host.pid())?;
    host.finish()
}

/// Waits for the expected lines in any order.
fn wait_for_all(host: &mut Host, expected: impl Iterator<Item = String>) -> Result<()> {
    let mut expected: BTreeSet<String> = expected.collect();
    while !expected.is_empty() {
        let line = host.next_line().with_context(|| format!("still waiting for {expected:?}"))?;
        expected.remove(line.trim());
    }
    Ok(())
}

/// Twenty are dialled, two that start later join, two that are killed disappear. Ctrl-C leaves the dials on.
#[test]
fn processes_join_and_leave_while_following() -> Result<()> {
    let program = Program::new("Followed")?;
    let mut shops = program.start(FLEET, FLEET)?;
    let mut dial = following(&program, &[])?;
    for shop in &shops {
        dial.wait_for(&program.title(shop))?;
        let line = dial.next_line()?;
        ensure!(line.contains(" methods matched, ") && line.contains("accepted at count"), "{line}");
    }
    dial.wait_for(&format!("following {}; Ctrl-C stops following and leaves dials on", program.target()))?;
    let later = program.start(2, 2)?;
    wait_for_all(&mut dial, later.iter().map(|shop| program.title(shop) + " started"))?;
    shops.extend(later);
    let mut killed: Vec<LiveShop> = shops.drain(..2).collect();
    killed.iter_mut().for_each(|shop| shop.host.kill());
    wait_for_all(&mut dial, killed.iter().map(|shop| program.title(shop) + " has ended"))?;
    counts_are_exact(&mut shops)?;
    let status = program.redial("status", &["--json"])?.ok()?.json()?;
    ensure!(pids(&status)? == pids_of(&shops), "{status}");
    let ended = interrupt(dial)?;
    ensure!(ended.code()? == 0, "{}", ended.output());
    let status = program.redial("status", &["--json"])?.ok()?.json()?;
    let dialled = status.as_array().context("an array")?;
    ensure!(
        pids(&status)? == pids_of(&shops) && dialled.iter().all(|row| row["wanted"] == "count"),
        "{status}"
    );
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// No process of that name runs yet. One starts without the agent and is only reported. Held dials end with the
/// command.
#[test]
fn reports_processes_without_the_agent() -> Result<()> {
    let program = Program::new("Unready")?;
    let mut dial = following(&program, &["--hold"])?;
    dial.wait_for("redial: no .NET process is called")?;
    dial.wait_for(&format!("following {}; Ctrl-C turns all dials off", program.target()))?;
    let mut shops = program.start(2, 1)?;
    let (with_agent, bare) = (program.title(&shops[0]), program.title(&shops[1]));
    wait_for_all(&mut dial, std::iter::once(with_agent + " started"))?;
    let line = dial.wait_for(&format!("redial: {bare} runs without the agent"))?;
    ensure!(line.contains("redial attach"), "{line}");
    counts_are_exact(&mut shops[..1])?;
    let rows = host::run(host::redial(&["ps", "--json"])?)?.ok()?.json()?;
    let state = |pid: u32| rows.as_array()?.iter().find(|row| row["pid"] == pid)?["agent"].as_str();
    ensure!(state(shops[1].pid) == Some("attachable") && state(shops[0].pid) == Some("loaded"), "{rows}");
    // Another command loads the agent: then the process joins.
    shops[1].redial("attach", &[])?.ok()?;
    wait_for_all(&mut dial, std::iter::once(bare + " joined"))?;
    counts_are_exact(&mut shops)?;
    let ended = interrupt(dial)?.ok()?;
    for shop in &shops {
        let gone = ended.output().lines().any(|line| {
            line.contains(&program.title(shop))
                && line.contains("off: ")
                && line.ends_with("reverted to the original IL")
        });
        ensure!(gone, "nothing is said of {}: {}", program.title(shop), ended.output());
    }
    for mut shop in shops {
        let mut controller = redial_testbed::controller::Controller::connect(shop.pid)?;
        controller.subscribe(Some(CART))?;
        controller.wait_until("all off", |dials| {
            dials.values().all(|row| row.wanted == redial_protocol::level::Level::Off)
        })?;
        shop.rounds(1)?;
        shop.exit()?;
    }
    Ok(())
}

/// With `--attach` the agent is loaded into every new process; as JSON each event is one line.
#[test]
fn attach_option_loads_the_agent_into_new_processes() -> Result<()> {
    let program = Program::new("Attached")?;
    let target = program.target();
    let words = ["dial", &target, CART, "count", "--follow", "--attach", "--json"];
    let mut shops = program.start(1, 0)?;
    let mut dial = Host::start(host::redial(&words)?)?;
    let mut next = || -> Result<(u32, String, Value)> {
        let line: Value = serde_json::from_str(&dial.next_line()?)?;
        let pid = line["pid"].as_u64().context("a pid")? as u32;
        Ok((pid, line["event"].as_str().context("an event")?.to_owned(), line))
    };
    let (pid, event, line) = next()?;
    ensure!((pid, event.as_str()) == (shops[0].pid, "dialled"), "{line}");
    ensure!(line["dialled"]["accepted"].as_u64() > Some(5) && line["reason"].is_null(), "{line}");
    ensure!(line["name"] == format!("{}.dll", program.name) && line["t_ms"].is_u64(), "{line}");
    shops.extend(program.start(1, 0)?);
    let (pid, event, line) = next()?;
    ensure!((pid, event.as_str()) == (shops[1].pid, "dialled"), "{line}");
    shops[0].host.kill();
    let (pid, event, line) = next()?;
    ensure!((pid, event.as_str()) == (shops[0].pid, "ended") && line["dialled"].is_null(), "{line}");
    counts_are_exact(&mut shops[1..])?;
    interrupt(dial)?.ok().map(drop)
}

/// A failed attach is tried again and reported once. A process that ends before it worked blocks nothing.
#[test]
fn retries_a_failed_attach() -> Result<()> {
    let program = Program::new("Retried")?;
    let library = program.late_agent();
    let mut dial = following_with(&program, &["--attach"], &library)?;
    dial.wait_for(&format!("following {}; Ctrl-C stops following", program.target()))?;
    let mut shops = program.start(2, 0)?;
    let missing = library.to_str().context("a path")?;
    let mut failures = Vec::new();
    while failures.len() < 2 {
        let line = dial.next_line()?;
        if line.starts_with("redial: ") {
            ensure!(line.contains(missing), "{line}");
            failures.push(line);
        }
    }
    for shop in &shops {
        let of_it = failures.iter().filter(|line| line.contains(&program.title(shop)));
        ensure!(of_it.count() == 1, "{failures:?}");
    }
    let mut ended = shops.remove(0);
    ended.host.kill();
    program.put_agent(&artefacts::agent()?)?;
    wait_for_all(&mut dial, std::iter::once(program.title(&shops[0]) + " joined"))?;
    let later = program.start(1, 0)?;
    wait_for_all(&mut dial, later.iter().map(|shop| program.title(shop) + " started"))?;
    shops.extend(later);
    counts_are_exact(&mut shops)?;
    let done = interrupt(dial)?;
    ensure!(done.code()? == 7, "one was never turned: {}", done.output());
    ensure!(!done.stdout.contains(&(program.title(&ended) + " joined")), "{}", done.output());
    ensure!(done.stdout.matches(missing).count() == 2, "each failure is reported once: {}", done.output());
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// Dialling a process before its modules are loaded is not a failure: the command reports what it waits for.
#[test]
fn waits_for_modules_that_load_later() -> Result<()> {
    let program = Program::new("Awaited")?;
    let target = program.target();
    let redial = host::redial(&["dial", &target, "No.Such.Thing", "count", "--follow", "--later"])?;
    let mut dial = Host::start(redial)?;
    dial.wait_for(&format!("following {target}"))?;
    let shops = program.start(1, 1)?;
    dial.wait_for(&format!("{} started", program.title(&shops[0])))?;
    let line = dial.next_line()?;
    ensure!(line == "no loaded method matches; set at count for modules that load later", "{line}");
    interrupt(dial)?.ok()?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}

/// Calls of all processes are added up, as text and as JSON. Rows that are off again are a number, or rows with
/// `--all`.
#[test]
fn adds_up_numbers_and_folds_rows_that_are_off() -> Result<()> {
    let program = Program::new("Summed")?;
    let mut shops = program.start(3, 3)?;
    program.redial("dial", &[CART, "count"])?.ok()?;
    let mut truth = 0;
    for shop in &mut shops {
        shop.rounds(2)?;
        truth += shop.truth()?.get("Shop.Cart.Add(int)").copied().context("it is called")?;
    }
    let add = |rows: &Value| -> Result<Value> {
        let rows = rows.as_array().context("an array")?;
        let found = rows.iter().find(|row| row["method"] == "Shop.Cart.Add" && row["signature"] == "(int)");
        found.cloned().context("Add is not there")
    };
    let row = add(&program.redial("status", &["--sum", "--json"])?.ok()?.json()?)?;
    let numbers = ["processes", "wanted", "live", "calls"].map(|field| row[field].as_u64());
    ensure!(numbers == [Some(3), Some(3), Some(3), Some(truth)], "{row} for {truth} calls");
    let status = program.redial("status", &["--sum"])?.ok()?;
    ensure!(status.stdout.contains("3 of 3 live  Shop!Shop.Cart.Add(int)"), "{}", status.output());
    ensure!(
        status.stdout.lines().last().is_some_and(|line| line.starts_with("3 processes: ")),
        "{}",
        status.output()
    );

    let watched = program.redial("watch", &["--sum", "--json", "--count", "2", "--interval", "200"])?.ok()?;
    let lines: Vec<Value> = watched.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(lines.len() == 2 && lines[1]["processes"] == 3, "{}", watched.output());
    ensure!(add(&lines[1]["dials"])?["calls"] == truth, "{}", watched.output());
    let watched = program.redial("watch", &["--count", "1"])?.ok()?;
    let heads: Vec<&str> = watched.stdout.lines().filter(|line| line.contains("PER SECOND")).collect();
    ensure!(heads.len() == 1 && heads[0].trim().starts_with("PID "), "{}", watched.output());

    // One dial stays on, in one of the processes.
    program.redial("off", &[])?.ok()?;
    shops[0].redial("dial", &["Shop.Cart.Add", "count"])?.ok()?;
    let status = shops[0].redial("status", &[])?.ok()?;
    ensure!(
        status.stdout.contains("are off again (") && status.stdout.contains("--all"),
        "{}",
        status.output()
    );
    ensure!(!status.stdout.contains("Shop.Cart.Peek"), "{}", status.output());
    let all = shops[0].redial("status", &["--all"])?.ok()?;
    ensure!(all.stdout.contains("Shop.Cart.Peek") && !all.stdout.contains("--all"), "{}", all.output());
    let json = shops[0].redial("status", &["--json"])?.ok()?.json()?;
    ensure!(json.as_array().is_some_and(|rows| rows.len() > 5), "JSON leaves nothing out: {json}");
    let row = add(&program.redial("status", &["--sum", "--json"])?.ok()?.json()?)?;
    ensure!((row["processes"].as_u64(), row["wanted"].as_u64()) == (Some(3), Some(1)), "{row}");
    let watched = shops[1].redial("watch", &["--count", "1"])?.ok()?;
    ensure!(watched.stdout.contains("no method is dialled"), "{}", watched.output());
    let none = program.redial("watch", &["Nope.*", "--sum", "--count", "1", "--interval", "50"])?;
    ensure_messages(&none, 6, &["no dialled method matched 'Nope.*'"])?;
    shops.into_iter().try_for_each(|shop| shop.exit().map(drop))
}
