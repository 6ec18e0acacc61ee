//! Everything dialled at once: every possible method of Shop and of the core library, and every method of a
//! real compiler. The programs behave as without the agent, and every refusal has a reason.

use redial_protocol::diagnostics::{ChangeWarning, RowNote};
use redial_text::diagnostics::{Reader, reasons};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{StatusRow, WireCommand};
use redial_protocol::reason::Reason;
use redial_protocol::report::DialReport;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::csharp::Compilation;
use redial_testbed::host::{Host, Outcome, redial_run, run};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counts, LiveShop, ReportFile, differences, has_last_numbers};
use redial_testbed::state_counts::StateCounts;
use redial_testbed::truth;
use redial_testbed::{cache, generate, programs, soak};

const CORE_LIBRARY: &str = "System.Private.CoreLib!*";
const PATTERNS: [&str; 3] = ["Shop!*", "Plugin!*", CORE_LIBRARY];

fn ensure_same(with: &Outcome, without: &Outcome) -> Result<()> {
    ensure!(with.code()? == without.code()?, "exit codes differ:\n{}\n{}", with.output(), without.output());
    ensure!(with.stdout == without.stdout, "outputs differ:\n{}\n{}", with.output(), without.output());
    ensure!(with.stderr == without.stderr, "errors differ:\n{}\n{}", with.output(), without.output());
    Ok(())
}

/// Set before the first instruction and on until the last: the core library starts and ends in instrumented
/// bodies.
fn program_is_unchanged_when_dialled_from_the_start(runtime: Runtime) -> Result<()> {
    let expected = without_agent(runtime)?;
    let report = ReportFile::new(&format!("everything-{}", runtime.name()))?;
    let orders = PATTERNS.map(|pattern| format!("{pattern}=count"));
    let mut options = vec!["--report", report.path()];
    orders.iter().for_each(|order| options.extend(["--dial", order.as_str()]));
    let mut shop = LiveShop::start(runtime, &options, 4, &[])?;
    // This takes longer than the launcher makes the program wait.
    let mut controller = Controller::connect(shop.pid)?;
    controller.subscribe(Some(CORE_LIBRARY))?;
    controller.wait_until("the whole core library dialled", |dials| {
        dials.len() > 10_000 && dials.values().all(|row| row.wanted == Level::Count)
    })?;
    let answers = drive(&mut shop.host, |_| Ok(()))?;
    assert_eq!(answers, expected);
    let outcome = shop.host.finish()?;
    assert_eq!((outcome.code()?, outcome.stderr.as_str()), (7, ""));

    let report = report.read()?;
    assert_eq!(report["exit_code"], 7);
    assert!(has_last_numbers(&report), "{}", report["note"]);
    let rows = report["status"].as_array().context("no status in the report")?;
    let mut of_core_library = BTreeMap::new();
    for row in rows {
        let state = row["state"].as_str().unwrap_or_default();
        match state {
            "asked" | "live" => assert_eq!(row["wanted"], "count", "{row}"),
            "refused" => assert!(is_sentence(row["reason"].as_str()), "refused without a reason: {row}"),
            _ => panic!("neither asked, live nor refused: {row}"),
        }
        if row["module"] == "System.Private.CoreLib" {
            let (copies, calls) = of_core_library.entry(state).or_insert((0u64, 0u64));
            *copies += 1;
            *calls += row["calls"].as_u64().unwrap_or_default();
        }
    }
    assert!(of_core_library["live"].0 > 500 && of_core_library["live"].1 > 10_000, "{of_core_library:?}");
    assert!(of_core_library["asked"].0 > 10_000, "{of_core_library:?}");
    Ok(())
}

/// The same in a program that ends at once, while its dials may still be pending.
fn short_program_is_unchanged(runtime: Runtime) -> Result<()> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--exact", "20", "--threads", "4"]);
    let orders = PATTERNS.map(|pattern| format!("{pattern}=count"));
    let mut options = Vec::new();
    orders.iter().for_each(|order| options.extend(["--dial", order.as_str()]));
    let with = run(redial_run(&options, &command)?)?.ok()?;
    ensure_same(&with, &run(command)?.ok()?)
}

/// Helpers that the runtime calls while it starts, dialled before that. Unlike the whole core library, so few
/// are requested in time. (.NET 5 to 8 crash when two particular ones are recompiled.)
fn program_is_unchanged_with_runtime_helpers_dialled(runtime: Runtime) -> Result<()> {
    let report = ReportFile::new(&format!("helpers-{}", runtime.name()))?;
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--exact", "20", "--threads", "4"]);
    let mut options = vec!["--report", report.path()];
    // 2.1 has no hooks, and a dial that matches nothing is reported.
    let hooks =
        (runtime != Runtime::V2_1).then_some("System.Private.CoreLib!System.StartupHookProvider.*=count");
    options.extend(hooks.iter().flat_map(|order| ["--dial", order]));
    for order in [
        "System.Private.CoreLib!System.Runtime.CompilerServices.*.*=count",
        "System.Private.CoreLib!System.Threading.Monitor.*=count",
        "System.Private.CoreLib!System.SpanHelpers.*=count",
        "System.Private.CoreLib!System.Environment.*=count",
        "System.Private.CoreLib!System.Buffer.*=count",
    ] {
        options.extend(["--dial", order]);
    }
    let with = run(redial_run(&options, &command)?)?.ok()?;
    ensure_same(&with, &run(command)?.ok()?)?;
    let report = report.read()?;
    let rows = report["status"].as_array().context("no status in the report")?;
    assert!(rows.iter().filter(|row| row["state"] == "live").count() > 3, "nothing was dialled in time");
    let refused: Vec<&str> = rows
        .iter()
        .filter(|row| row["state"] == "refused")
        .filter_map(|row| row["method"].as_str())
        .collect();
    let by_address = ["LdelemaRef", "StelemRef"]
        .map(|method| format!("System.Runtime.CompilerServices.CastHelpers.{method}"))
        .to_vec();
    assert_eq!(refused, if runtime == Runtime::V8_0 { by_address } else { vec![] });
    Ok(())
}

/// Sends commands to Shop, with a chance to turn dials between them, and returns its answers.
fn drive(host: &mut Host, mut between: impl FnMut(usize) -> Result<()>) -> Result<Vec<String>> {
    let mut answers = vec![host.ask("load-plugin", "plugin")?, host.ask("round 30", "done")?];
    for step in 0..4 {
        between(step)?;
        for (command, answer) in [
            ("park", "parked"),
            ("round 30", "done"),
            ("loop on", "looping"),
            ("reflect 2", "reflecting"),
            ("unpark", "unparked"),
            ("no such command", "error"),
            ("load-plugin", "plugin"),
        ] {
            answers.push(host.ask(command, answer)?);
        }
        host.ask("loop wait 20", "looped")?;
        truth::ask(host, "loop off")?;
        host.ask("reflect off", "reflected")?;
    }
    host.ask("truth-reset", "reset")?;
    answers.push(host.ask("round 20", "done")?);
    answers.push(format!("{:?}", truth::ask(host, "truth")?));
    host.say("exit 7")?;
    Ok(answers)
}

fn without_agent(runtime: Runtime) -> Result<Vec<String>> {
    let mut plain = programs::shop()?.command(runtime)?;
    plain.args(["--live", "--threads", "4"]);
    let mut plain = Host::start(plain)?;
    plain.wait_for("ready")?;
    let answers = drive(&mut plain, |_| Ok(()))?;
    assert_eq!(plain.finish()?.code()?, 7);
    Ok(answers)
}

/// On and off while it runs, with threads entering and leaving every method: counted first, then timed.
fn program_is_unchanged_when_dialled_while_it_runs(runtime: Runtime) -> Result<()> {
    let expected = without_agent(runtime)?;
    let mut shop = LiveShop::start(runtime, &[], 4, &[])?;
    let mut controller = Controller::connect(shop.pid)?;
    let mut reports = Vec::new();
    let answers = drive(&mut shop.host, |step| {
        let level = if step < 2 { Level::Count } else { Level::Time };
        if step % 2 == 0 {
            let report = controller.dial_all(&PATTERNS, level, Lifetime::Kept)?;
            ensure_sums(&report)?;
            let rows = controller.status(None)?;
            ensure_rows_match(&rows, &report, level)?;
            reports.push(report);
        } else {
            let on = controller.agent_status()?.kept;
            let (reverted, remaining) = controller.all_off()?;
            // Waiting threads of Shop or the runtime stay in timed bodies until they continue.
            assert_eq!(reverted + remaining, on, "step {step}");
            assert!(remaining == 0 || (level == Level::Time && remaining < 200), "{remaining} are not off");
            let rows = controller.status(None)?;
            let is_off = |row: &&StatusRow| match row.state {
                CopyState::Off | CopyState::Refused => true,
                CopyState::Reverting => level == Level::Time,
                _ => false,
            };
            let not_off: Vec<String> = rows.iter().filter(|row| !is_off(row)).map(full_name).collect();
            assert!(not_off.is_empty(), "still on: {not_off:?}");
            assert!(rows.iter().filter(|row| row.calls > 0).count() > 500, "hardly anything was called");
        }
        Ok(())
    })?;
    assert_eq!(answers, expected);
    let status = controller.agent_status();
    let outcome = shop.host.finish()?;
    assert_eq!((outcome.code()?, outcome.stderr.as_str()), (7, ""));
    // The process may have ended before the request.
    if let Ok(status) = status {
        assert_eq!(status.guard_trips, 0);
    }
    // The second time everything matches again, plus the modules loaded by the loop.
    assert!(reports[1].matched >= reports[0].matched, "{reports:?}");
    Ok(())
}

/// Counts stay exact while the whole core library counts too.
fn shop_stays_exact_beside_the_core_library(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 4, &[])?;
    shop.host.ask("load-plugin", "plugin")?;
    shop.rounds(20)?;
    shop.host.ask("truth-reset", "reset")?;
    let mut controller = Controller::connect(shop.pid)?;
    controller.dial_all(&PATTERNS, Level::Count, Lifetime::Kept)?;
    shop.rounds(50)?;
    let truth = shop.truth()?;
    let mut rows = controller.status(Some("Shop!*"))?;
    rows.extend(controller.status(Some("Plugin!*"))?);
    let wrong = differences(&truth, &Counts::new(), &shop::of_rows(&rows), |_, _| true);
    ensure!(wrong.is_empty(), "not exact:\n  {}", wrong.join("\n  "));
    let status = controller.agent_status()?;
    assert_eq!((status.guard_trips, status.missed_deadlines), (0, 0), "{status:?}");
    shop.exit().map(drop)
}

/// Methods that cannot be dialled are counted under a wildcard, and refused with a reason when named.
fn refuses_named_methods_without_il(runtime: Runtime) -> Result<()> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    for (pattern, reason) in [
        ("System.Private.CoreLib!System.Object.MemberwiseClone", None),
        ("System.Private.CoreLib!System.Func<T>.Invoke", Some(Reason::RuntimeImplemented)),
        ("System.Private.CoreLib!System.IDisposable.Dispose", Some(Reason::NoBody)),
        ("System.Private.CoreLib!System.Math.Sqrt", Some(Reason::RuntimeImplemented)),
    ] {
        let outcome = shop.redial("dial", &[pattern, "count", "--json"])?;
        let dialled = outcome.json()?;
        // A method implemented by one runtime may be C# in another.
        let Some(reason) = reason else { continue };
        assert_eq!((outcome.code()?, &dialled["matched"]), (1, &1.into()), "{pattern}: {dialled}");
        assert_eq!(
            dialled["refused"][0]["reason"],
            reasons::sentence(reason, Reader::CommandLine),
            "{pattern}"
        );
    }
    // The catalogue shows in advance which methods a wildcard will skip.
    let mut controller = Controller::connect(shop.pid)?;
    let everything = "System.Private.CoreLib!*";
    let answer =
        controller.ask(WireCommand::Methods { pattern: Some(everything.into()), limit: u64::MAX })?;
    let pages = answer.methods.iter().map(|page| page.bodyless().context("a torn page"));
    let bodyless: usize = pages.map(|page| page.map(|methods| methods.len())).sum::<Result<usize>>()?;
    let report = controller.dial_all(&[everything], Level::Count, Lifetime::Kept)?;
    assert_eq!((bodyless as u64, bodyless > 100), (report.bodyless, true), "{report:?}");
    drop(controller);
    shop.exit().map(drop)
}

/// By-reference parameters are listed with their keyword, and in a pattern each of the three keywords matches
/// all of them.
fn lists_parameters_with_their_keywords(runtime: Runtime) -> Result<()> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    for word in ["out", "ref", "in"] {
        let pattern = format!("Shop.Cart.TryTake(int, {word} int)");
        let listed = shop.redial("methods", &[&pattern])?.ok()?.stdout;
        let shown = "Shop!Shop.Cart.TryTake(int, out int)";
        ensure!(listed.trim_end().ends_with(shown) && listed.lines().count() == 1, "{pattern}: {listed}");
        let dialled = shop.redial("dial", &[&pattern, "count", "--json"])?.ok()?.json()?;
        assert_eq!((&dialled["matched"], &dialled["accepted"]), (&1.into(), &1.into()), "{dialled}");
    }
    let listed = shop.redial("methods", &["Shop.Cart.Raise"])?.ok()?.stdout;
    ensure!(listed.trim_end().ends_with("Raise(ref int, int)"), "{listed}");
    let listed = shop.redial("methods", &["System.Private.CoreLib!*", "--limit", "100000"])?.ok()?.stdout;
    let with = |word: &str| {
        let (first, later) = (format!("({word} "), format!(", {word} "));
        listed.lines().filter(|line| line.contains(&first) || line.contains(&later)).count()
    };
    let numbers = ["out", "ref", "in"].map(with);
    // 2.1 has none of the last kind.
    let some_in = numbers[2] > 10 || runtime == Runtime::V2_1;
    ensure!(numbers[0] > 500 && numbers[1] > 200 && some_in, "{numbers:?}");
    // `[In] ref` has the same flag as `in` and `ref readonly`; only those two have an attribute.
    let marshalled = "ICustomQueryInterface.GetInterface(ref System.Guid, out nint)";
    ensure!(listed.contains(marshalled), "{marshalled} is not in the list");
    if runtime == Runtime::V8_0 {
        for shown in ["Decimal.GetBytes(in decimal, ", "Interlocked.Read(ref readonly long)"] {
            ensure!(listed.contains(shown), "{shown} is not in the list");
        }
    }
    shop.exit().map(drop)
}

on_each_runtime!(
    program_is_unchanged_when_dialled_from_the_start,
    short_program_is_unchanged,
    program_is_unchanged_with_runtime_helpers_dialled,
    program_is_unchanged_when_dialled_while_it_runs,
    shop_stays_exact_beside_the_core_library,
    refuses_named_methods_without_il,
    lists_parameters_with_their_keywords,
);

/// The C# compiler, with every method of every assembly dialled, compiles to the same bytes: in the gate 3,000 lines with
/// every call counted, timed, and traced as far as rates and rings allow; in the soak 30,000 lines, also with less, and with
/// callers counted, which makes other bodies. Only on 8.0, because the cryptography of older runtimes needs an OpenSSL version that
/// current systems lack.
#[test]
fn compiler_output_is_the_same() -> Result<()> {
    compile_with_dials(Level::Trace, "")?;
    if soak::is_on() {
        // Callers are known on Linux only.
        let callers = if cfg!(windows) { "" } else { " callers" };
        for (level, more) in
            [(Level::Count, ""), (Level::Time, ""), (Level::Time, callers), (Level::Trace, callers)]
        {
            compile_with_dials(level, more)?;
        }
    }
    Ok(())
}

fn compile_with_dials(level: Level, more: &str) -> Result<()> {
    let folder = cache::folder().join(format!("everything-{level}{}-{}", more.trim(), std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let out = folder.join("Big.dll");
    let classes = if soak::is_on() { generate::BIG_CLASSES } else { generate::BIG_CLASSES / 10 };
    let source = generate::library_source(classes)?;
    let command = Compilation::library("Big", vec![source]).command(Runtime::V8_0, &out)?;
    let (report, order) =
        (ReportFile::new(&format!("compiler-{level}{}", more.trim()))?, format!("*={level}{more}"));
    let began = Instant::now();
    let dialled = redial_run(&["--report", report.path(), "--dial", &order], &command)?;
    let with = run(dialled)?.ok()?;
    let took = began.elapsed();
    let compiled = take_file(&out)?;
    let began = Instant::now();
    let without = run(command)?.ok()?;
    let alone = began.elapsed();
    ensure_same(&with, &without)?;
    assert!(compiled == take_file(&out)?, "it compiled to something else");
    std::fs::remove_dir_all(&folder)?;

    let report = report.read()?;
    assert_eq!(report["exit_code"], 0);
    let dialled = StateCounts::of_json(&report["status"])?;
    let rows = report["status"].as_array().context("no status in the report")?;
    let timed = rows.iter().filter(|row| row["total_ns"].as_u64() > Some(0)).count();
    assert!(level == Level::Count || timed > 10_000, "{timed} methods were timed");
    println!("the C# compiler, everything at {level}{more}: {dialled}; {took:.1?} beside {alone:.1?}");
    assert!(dialled.live > 10_000 && dialled.asked > 50_000, "{dialled}");
    dialled.ensure_sound()
}

fn take_file(file: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    std::fs::remove_file(file)?;
    Ok(bytes)
}

fn is_sentence(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.contains(' ') && text.len() > 20)
}

/// Checks that every copy is accepted, has no body, or is refused for a reason.
fn ensure_sums(report: &DialReport) -> Result<()> {
    let refused: u64 = report.refused_by_reason.iter().map(|(_, copies)| copies).sum();
    ensure!(report.matched == report.accepted + report.bodyless + refused, "{report:?}");
    ensure!(report.accepted > 10_000 && report.bodyless > 100, "{report:?}");
    // Calls inlined into methods that cannot be recompiled are missing, and a warning says so.
    let is_expected = |warning: &ChangeWarning| {
        matches!(
            warning,
            ChangeWarning::CallsInlined { .. }
                | ChangeWarning::CallsReplaced { .. }
                | ChangeWarning::OnlyCounted { .. }
        )
    };
    ensure!(report.warnings.iter().all(is_expected), "{:?}", report.warnings);
    ensure!(report.refused_by_reason.iter().all(|(reason, _)| *reason != Reason::Hresult), "{report:?}");
    Ok(())
}

/// Checks that the rows agree with the report.
fn ensure_rows_match(rows: &[StatusRow], report: &DialReport, level: Level) -> Result<()> {
    let on = rows.iter().filter(|row| matches!(row.state, CopyState::Asked | CopyState::Live)).count() as u64;
    ensure!(on == report.accepted, "{on} rows are on, {} copies were accepted", report.accepted);
    for row in rows {
        match row.state {
            CopyState::Asked | CopyState::Live => ensure!(row.wanted == level, "{row:?}"),
            CopyState::Refused => {
                let is_reason = matches!(row.note, Some(RowNote::NotDialled { .. }));
                ensure!(is_reason, "refused without a reason: {row:?}")
            }
            _ => ensure!(false, "neither on nor refused: {row:?}"),
        }
    }
    Ok(())
}
