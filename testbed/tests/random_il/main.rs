//! Random valid IL (4,000 methods in the gate, 200,000 in the soak). Every method behaves the same with and
//! without dials, in every phase, and its count equals its own count of entries.

use redial_text::diagnostics::{Reader, row_notes};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use redial_agent::il::opcodes::ALL;
use redial_agent::il::{Body, ClauseKind, Operand, decode};
use redial_agent::signature::{Method, Type, parse_locals, parse_method};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::WireCommand;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::generate::{RANDOM_METHODS, RANDOM_MODULES, RANDOM_NUMBERS, random_methods};
use redial_testbed::pe::{Assembly, MethodDef};
use redial_testbed::runtimes::Runtime;
use redial_testbed::{on_each_runtime, soak, traced, under_agent};

mod expected;

use expected::{Expected, OutputFiles, program};

on_each_runtime!(
    dials_change_nothing_and_count_exactly,
    times_change_nothing_and_count_exactly,
    traces_change_nothing_and_count_exactly,
);

/// Returns the number of modules, each with a thousand methods.
fn modules() -> usize {
    soak::scaled(4, (RANDOM_MODULES / 4) as u64) as usize
}

fn dials_change_nothing_and_count_exactly(runtime: Runtime) -> Result<()> {
    rounds(runtime, Level::Count)
}

fn times_change_nothing_and_count_exactly(runtime: Runtime) -> Result<()> {
    rounds(runtime, Level::Time)
}

fn traces_change_nothing_and_count_exactly(runtime: Runtime) -> Result<()> {
    rounds(runtime, Level::Trace)
}

fn rounds(runtime: Runtime, level: Level) -> Result<()> {
    let (mut seen, mut unfit) = (0, 0);
    for seed in seeds()? {
        let folder = random_methods(seed, modules())?;
        let files = OutputFiles::new(runtime, seed, level)?;
        let is_fit = test_seed(runtime, &folder, &files, level).with_context(|| format!("seed {seed}"))?;
        files.remove()?;
        let (number, says) = match is_fit {
            true => (&mut seen, "is the same and exact"),
            false => (&mut unfit, "cannot be run: it crashes without the agent"),
        };
        *number += 1;
        println!("{}: seed {seed} {says}", runtime.name());
    }
    ensure!(unfit <= 1 && seen > 0, "{seen} seeds were seen, and {unfit} cannot be run");
    Ok(())
}

/// Tests one seed. Returns whether the runtime can run the methods at all.
fn test_seed(runtime: Runtime, folder: &Path, files: &OutputFiles, level: Level) -> Result<bool> {
    let mut left_out = Vec::new();
    loop {
        let Some(expected) = Expected::find(runtime, folder, files, left_out)? else { return Ok(false) };
        let Err(error) = round(runtime, folder, files, &expected, level) else { return Ok(true) };
        left_out = expected.leave_out_crash(files, error)?;
    }
}

/// Returns the seeds: 1, in the soak 1 to 10, or those of `REDIAL_SEEDS` (`4` or `4-10`) to investigate a
/// failure.
fn seeds() -> Result<RangeInclusive<u64>> {
    let Ok(asked) = env::var("REDIAL_SEEDS") else { return Ok(1..=soak::scaled(1, 10)) };
    let (first, last) = asked.split_once('-').unwrap_or((&asked, &asked));
    let number =
        |text: &str| text.parse().with_context(|| format!("REDIAL_SEEDS={asked}: {text:?} is no seed"));
    let seeds = number(first)?..=number(last)?;
    ensure!(!seeds.is_empty(), "REDIAL_SEEDS={asked} names no seed");
    Ok(seeds)
}

fn round(
    runtime: Runtime,
    folder: &Path,
    files: &OutputFiles,
    expected: &Expected,
    level: Level,
) -> Result<()> {
    let mut live = under_agent::start(program(runtime, folder, &expected.left_out)?)?;
    let mut controller = live.controller()?;
    let every_other = |first: usize| -> Vec<String> {
        (first..modules()).step_by(2).map(|module| format!("Rand{module}!*")).collect()
    };
    let (before, later) = (every_other(0), every_other(1));

    // Half of them before their first call, the others during the pass, half of those after their first call.
    dial(&mut controller, &before, level)?;
    let middle = modules() / 4 * 2;
    controller.subscribe(Some(&format!("Rand{middle}!*")))?;
    let running = files.begin_pass(&mut live.host)?;
    controller.wait_until("half of the modules to be passed", |dials| {
        dials.values().any(|row| row.state == CopyState::Live)
    })?;
    dial(&mut controller, &later, level)?;
    expected.end_pass(&mut live.host, &running, "half of them counted, then all")?;
    let (first, counted_first) = (files.truth(&mut live.host)?, counts(&mut controller, true)?);

    if level > Level::Count {
        // Down and up again in place: no count is lost.
        let all: Vec<String> = before.iter().chain(&later).cloned().collect();
        dial(&mut controller, &all, Level::Count)?;
        expected.pass(&mut live.host, files, "all lowered to count")?;
        let ended = exits(&mut controller)?;
        let calls = counts(&mut controller, true)?;
        dial(&mut controller, &all, level)?;
        expected.pass(&mut live.host, files, "all timed again")?;
        ensure_timed(&ended, &calls, &mut controller)?;
    }
    if level == Level::Trace {
        // How many depends on the speed of the machine and the rate of the process.
        let kept = traced::list(&mut controller, false)?.methods.len();
        let dropped = traced::dropped(&mut controller, None)?.len();
        println!("calls of {kept} methods are kept, and calls of {dropped} methods were dropped");
        ensure!(kept > 100, "calls of {kept} methods are kept");
    }
    expected.pass(&mut live.host, files, "all counted")?;
    let (second, counted) = (files.truth(&mut live.host)?, counts(&mut controller, true)?);
    let known = |index: usize| (index / RANDOM_NUMBERS).is_multiple_of(2);
    ensure_exact("from the start", &first, &counted_first, known)?;
    ensure_exact("since the start", &second, &counted, known)?;
    let since =
        |then: &[u64], now: &[u64]| now.iter().zip(then).map(|(now, then)| now - then).collect::<Vec<_>>();
    ensure_exact("in one pass", &since(&first, &second), &since(&counted_first, &counted), |_| true)?;

    let all = (modules() * RANDOM_NUMBERS) as u64;
    ensure!(controller.all_off()? == (all, 0), "not all of {all} are off");
    expected.pass(&mut live.host, files, "all off again")?;
    ensure!(counts(&mut controller, false)? == counted, "counted while off");
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.kept) == (0, 0), "{status:?}");
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

fn dial(controller: &mut Controller, patterns: &[String], level: Level) -> Result<()> {
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let report = controller.dial_all(&patterns, level, Lifetime::Kept)?;
    let all = (patterns.len() * RANDOM_NUMBERS) as u64;
    ensure!((report.matched, report.accepted) == (all, all), "{report:?}");
    Ok(())
}

/// Returns the completed timed calls by row. No call may be in flight.
fn exits(controller: &mut Controller) -> Result<BTreeMap<RowId, u64>> {
    let times = controller.ask(WireCommand::Status { pattern: None })?.times;
    let odd = times.iter().find(|one| one.in_flight > 0 || one.exceptions > one.exits);
    ensure!(odd.is_none(), "{odd:?}");
    Ok(times.iter().map(|one| (one.row, one.exits)).collect())
}

/// Checks that every call since then was timed to its end, for methods that can be timed.
fn ensure_timed(before: &BTreeMap<RowId, u64>, counted: &[u64], controller: &mut Controller) -> Result<()> {
    let ended = exits(controller)?;
    let mut timed = 0;
    let mut only_counted: BTreeMap<String, usize> = BTreeMap::new();
    for row in controller.status(None)? {
        let module: usize = row.module.strip_prefix("Rand").context("a module of another name")?.parse()?;
        let number = (row.copy.token.0 & 0x00FF_FFFF) as usize - 1;
        let called = row.calls - counted[module * RANDOM_NUMBERS + number];
        let exits = ended.get(&row.row).map(|now| now - before.get(&row.row).unwrap_or(&0)).unwrap_or(0);
        match row.times_note {
            Some(note) => {
                let why = row_notes::times_note(&note, Reader::CommandLine);
                *only_counted.entry(why).or_default() += 1;
            }
            None => {
                ensure!(exits == called, "{exits} of {called} calls ended: {row:?}");
                timed += usize::from(exits > 0);
            }
        }
    }
    println!("{timed} methods are timed; {only_counted:#?}");
    let nearly_all = timed * 20 > modules() * RANDOM_METHODS * 19;
    // These modules have exceptionally many signatures, yet each has room for a thousand more.
    let room = !only_counted.keys().any(|why| why.contains("room"));
    ensure!(nearly_all && room, "{timed} methods are timed, {only_counted:#?}");
    Ok(())
}

/// Returns calls by the method's number.
fn counts(controller: &mut Controller, on: bool) -> Result<Vec<u64>> {
    let mut counts = vec![None; modules() * RANDOM_NUMBERS];
    for row in controller.status(None)? {
        let module: usize = row.module.strip_prefix("Rand").context("a module of another name")?.parse()?;
        let number = (row.copy.token.0 & 0x00FF_FFFF) as usize - 1;
        let sound = match row.state {
            CopyState::Off => !on,
            // Requested again for another level and not called since, as type initializers run once.
            CopyState::Asked => on && (row.calls == 0 || row.version.is_some()),
            CopyState::Live => on,
            CopyState::Refused | CopyState::Failed | CopyState::Reverting | CopyState::Lost => false,
        };
        ensure!(sound, "{row:?}");
        counts[module * RANDOM_NUMBERS + number] = Some(row.calls);
    }
    counts.into_iter().collect::<Option<_>>().context("not every method has a row")
}

fn ensure_exact(when: &str, truth: &[u64], counted: &[u64], of: impl Fn(usize) -> bool) -> Result<()> {
    ensure!(truth.len() == counted.len(), "{} rows for {} methods", counted.len(), truth.len());
    let wrong: Vec<_> = (0..truth.len())
        .filter(|&index| of(index) && truth[index] != counted[index])
        .map(|index| {
            let (module, method) = (index / RANDOM_NUMBERS, index % RANDOM_NUMBERS + 1);
            let (entered, counted) = (truth[index], counted[index]);
            format!("Rand{module}!0x{:08x}: entered {entered} times, counted {counted}", 0x0600_0000 + method)
        })
        .collect();
    ensure!(
        wrong.is_empty(),
        "{when}: {} counts are wrong: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(10)]
    );
    Ok(())
}

/// Checks the content of the generated bodies, so that the generator loses no kind unnoticed.
#[test]
fn bodies_are_of_every_kind() -> Result<()> {
    let folder = random_methods(1, RANDOM_MODULES)?;
    let mut found = BodyKinds::default();
    for module in 0..RANDOM_MODULES {
        let assembly = Assembly::read(&folder.join(format!("Rand{module}.dll")))?.context("no metadata")?;
        for method in assembly.methods() {
            let method = method?;
            let bytes = assembly.body(method.rva)?;
            let body = decode(bytes)?;
            let locals = match body.local_sig {
                0 => vec![],
                token => parse_locals(assembly.signature(token)?)?,
            };
            found.method(&method, &parse_method(method.signature)?);
            found.locals(&locals);
            found.add(bytes, &body);
        }
    }
    println!("{found:?}");
    let missing: Vec<_> = ALL.iter().map(|opcode| opcode.info().name).collect();
    let missing: Vec<_> = missing.into_iter().filter(|name| !found.opcodes.contains(name)).collect();
    ensure!(missing == NEVER_WRITTEN, "these instructions are not written: {missing:?}");
    for (what, least) in [
        ("tiny header", 100),
        ("fat clauses", 500),
        ("small clauses", 2000),
        ("more than 64 KiB", 2),
        ("switch", 2000),
        ("switch of 256 cases and more", 50),
        ("synchronized", 500),
        ("generic method", 1000),
        ("a reference returned", 1000),
        ("a span returned", 300),
        ("pinned local", 500),
        ("local reference", 5000),
        ("local span", 3000),
        ("short branch", 50_000),
        ("long branch", 10_000),
        ("branch to the start", 500),
        ("try from the start", 500),
        ("clause to the end", 500),
        ("nested clauses", 1000),
        ("several handlers of one block", 500),
        ("locals not zeroed", 1000),
        ("catch", 5000),
        ("filter", 1000),
        ("finally", 1000),
        ("fault", 500),
    ] {
        let times = found.traits.get(what).copied().unwrap_or_default();
        ensure!(times >= least, "{what}: {times} times, not {least}");
    }
    Ok(())
}

/// Valid IL that these bodies cannot contain: a break ends a program without a debugger, variable arguments
/// work only on Windows (`programs/shapes` covers them), and no runtime supports `no.`.
const NEVER_WRITTEN: [&str; 3] = ["break", "arglist", "no."];

/// `MethodImplAttributes.Synchronized` (ECMA-335 II.23.1.11).
const SYNCHRONIZED: u16 = 0x20;

/// Matches `Span<int>`: in these bodies it is the only type of another module with this argument alone.
fn is_span(local: &Type) -> bool {
    matches!(local, Type::Generic { token, arguments, .. } if token >> 24 == 0x01 && *arguments == [Type::I4])
}

#[derive(Debug, Default)]
struct BodyKinds {
    opcodes: BTreeSet<&'static str>,
    traits: BTreeMap<&'static str, usize>,
}

impl BodyKinds {
    fn note(&mut self, what: &'static str, holds: bool) {
        *self.traits.entry(what).or_default() += usize::from(holds);
    }

    fn method(&mut self, method: &MethodDef, signature: &Method) {
        self.note("synchronized", method.impl_flags & SYNCHRONIZED != 0);
        self.note("generic method", signature.generic > 0);
        self.note("a reference returned", matches!(signature.result, Type::ByRef(_)));
        self.note("a span returned", is_span(&signature.result));
    }

    fn locals(&mut self, locals: &[Type]) {
        let has = |kind: fn(&Type) -> bool| locals.iter().any(kind);
        self.note("pinned local", has(|local| matches!(local, Type::Pinned(_))));
        self.note("local reference", has(|local| matches!(local, Type::ByRef(_))));
        self.note("local span", has(is_span));
    }

    fn add(&mut self, bytes: &[u8], body: &Body) {
        self.note("tiny header", bytes[0] & 3 == 2);
        self.note("locals not zeroed", body.local_sig != 0 && !body.init_locals);
        self.note("more than 64 KiB", body.old_code_size > 0x1_0000);
        self.note("fat clauses", body.fat_clauses);
        self.note("small clauses", !body.clauses.is_empty() && !body.fat_clauses);
        for (index, clause) in body.clauses.iter().enumerate() {
            self.note(
                match clause.kind {
                    ClauseKind::Catch { .. } => "catch",
                    ClauseKind::Filter { .. } => "filter",
                    ClauseKind::Finally { .. } => "finally",
                    ClauseKind::Fault { .. } => "fault",
                },
                true,
            );
            self.note("try from the start", clause.try_region.start.0 == 0);
            self.note("clause to the end", clause.handler.end == body.end());
            let before = &body.clauses[..index];
            self.note(
                "nested clauses",
                before.iter().any(|inner| {
                    inner.try_region.start >= clause.try_region.start
                        && inner.handler.end <= clause.try_region.end
                }),
            );
            self.note(
                "several handlers of one block",
                before.iter().any(|other| other.try_region == clause.try_region),
            );
        }
        let mut to_start = false;
        for instruction in &body.instructions {
            self.opcodes.insert(instruction.opcode.info().name);
            match &instruction.operand {
                Operand::Switch(targets) => {
                    self.note("switch", true);
                    self.note("switch of 256 cases and more", targets.len() >= 256);
                }
                Operand::Target(label) => {
                    to_start |= label.0 == 0;
                    let short = instruction.opcode.info().name.ends_with(".s");
                    self.note(if short { "short branch" } else { "long branch" }, true);
                }
                _ => {}
            }
        }
        self.note("branch to the start", to_start);
    }
}
