//! The test programs themselves, without an agent: every runtime gives the same results and the expected truth.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use redial_testbed::host::{Host, run};
use redial_testbed::runtimes::Runtime;
use redial_testbed::truth::{self, Truth};
use redial_testbed::{generate, programs};

fn start(mut command: Command, arguments: &[&str]) -> Result<Host> {
    command.args(arguments);
    let mut host = Host::start(command)?;
    host.wait_for("ready")?;
    Ok(host)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the cache folder's name is text")
}

#[test]
fn shop_prints_the_same_truth_on_every_runtime() -> Result<()> {
    let shop = programs::shop()?;
    let mut outputs = BTreeMap::new();
    for runtime in Runtime::all() {
        let mut command = shop.command(runtime)?;
        command.args(["--exact", "200", "--threads", "8"]);
        let outcome = run(command)?.ok()?;
        let truth = truth::read(&outcome.stdout)?;
        assert_eq!(truth["Shop.Cart.Add(int)"], 8 * 8 * 200, "{}", runtime.name());
        assert_eq!(truth["Shop.Pricing..cctor()"], 1, "{}", runtime.name());
        assert_eq!(truth["Plugin.Tax.Apply(int)"], 8 * 200, "{}", runtime.name());
        outputs.insert(outcome.stdout, runtime.name());
    }
    assert_eq!(outputs.len(), 1, "outputs differ: {outputs:#?}");
    Ok(())
}

#[test]
fn shop_executes_its_live_commands() -> Result<()> {
    let shop = programs::shop()?;
    for runtime in Runtime::all() {
        let mut host = start(shop.command(runtime)?, &["--live", "--threads", "4"])?;
        assert_eq!(host.ask("round 5", "done")?, "20");
        assert_eq!(truth::ask(&mut host, "truth")?["Shop.Cart.Add(int)"], 160);
        host.ask("truth-reset", "reset")?;
        assert_eq!(truth::ask(&mut host, "truth")?.values().sum::<u64>(), 0);

        assert_eq!(host.ask("park", "parked")?, "1");
        assert_eq!(host.ask("park", "parked")?, "2");
        assert_eq!(host.ask("unpark", "unparked")?, "800");
        assert_eq!(host.ask("load-plugin", "plugin")?, "120");
        assert_eq!(truth::ask(&mut host, "truth")?["Shop.Cart.Parked()"], 2);

        assert_eq!(host.ask("loop on", "looping")?, "4");
        host.ask("truth", "error truth")?;
        host.ask("loop wait 500", "looped")?;
        let looped = truth::ask(&mut host, "loop off")?;
        assert!(looped["Shop.Cart.Add(int)"] >= 8 * 500, "{looped:?}");
        assert_eq!(looped["Shop.Cart.Add(int)"] % 8, 0);
        assert_eq!(truth::ask(&mut host, "truth")?["Shop.Cart.Add(int)"], looped["Shop.Cart.Add(int)"]);

        host.say("exit 7")?;
        assert_eq!(host.finish()?.code()?, 7);
    }
    Ok(())
}

#[test]
fn reflection_over_the_big_library_never_throws() -> Result<()> {
    let (reflect, big) = (programs::named("reflect")?, generate::big_library()?);
    let mut results = Vec::new();
    for runtime in Runtime::all() {
        let mut host = start(reflect.command(runtime)?, &[text(&big), "4"])?;
        host.ask("start", "started")?;
        results.push(host.ask("call 2", "called")?);
        host.ask("passes 2", "passes")?;
        let stopped = host.ask("stop", "stopped")?;
        ensure!(stopped.ends_with(" exceptions 0"), "{}: {stopped}", runtime.name());
    }
    results.dedup();
    assert_eq!(results.len(), 1, "results differ: {results:?}");
    Ok(())
}

#[test]
fn two_hundred_libraries_load_on_eight_threads() -> Result<()> {
    let (modules, libraries) = (programs::named("modules")?, generate::tiny_libraries(200)?);
    for runtime in Runtime::all() {
        let mut host = start(modules.command(runtime)?, &[text(&libraries), "8"])?;
        host.ask("start 50", "started")?;
        assert_eq!(host.ask("wait", "loaded")?, "50");
        host.ask("start 150", "started")?;
        assert_eq!(host.ask("wait", "loaded")?, "200");
        assert_eq!(host.ask("call", "called")?, "200");
        let expected: Truth = (0..200)
            .flat_map(|k| {
                [("First", 4), ("Second", 2)]
                    .map(|(m, calls)| (format!("Lib{k}!Lib{k}.Worker.{m}(int)"), calls))
            })
            .collect();
        assert_eq!(truth::ask(&mut host, "truth")?, expected, "{}", runtime.name());
    }
    Ok(())
}

#[test]
fn runs_code_that_cannot_be_dialled() -> Result<()> {
    let (collectible, badil) = (programs::named("collectible")?, programs::named("badil")?);
    let bad = generate::bad_library()?;
    for runtime in Runtime::all() {
        let mut host = start(collectible.command(runtime)?, &[])?;
        for kind in ["plain", "run", "collect", "method"] {
            host.ask(&format!("load {kind}"), &format!("loaded {kind}"))?;
            host.ask(&format!("call {kind} 100"), &format!("called {kind} 100"))?;
        }
        if runtime == Runtime::V2_1 {
            host.ask("load collectible", "unsupported collectible")?;
        } else {
            host.ask("load collectible", "loaded collectible")?;
            host.ask("call collectible 100", "called collectible 100")?;
            host.ask("unload", "unloaded")?;
        }
        let mut host = start(badil.command(runtime)?, &[text(&bad)])?;
        assert_eq!(host.ask("good 3", "good")?, "4");
        assert_eq!(host.ask("broken 3", "threw")?, "InvalidProgramException");
    }
    Ok(())
}

#[test]
fn copies_have_their_own_statics() -> Result<()> {
    let alc = programs::named("alc")?;
    for runtime in Runtime::all() {
        let mut host = start(alc.command(runtime)?, &[])?;
        for copy in 0..3 {
            assert!(host.ask("load", "loaded")?.starts_with(&copy.to_string()));
        }
        assert_eq!(host.ask("call 0 5", "called")?, "0 5");
        assert_eq!(host.ask("call 2 7", "called")?, "2 7");
        assert_eq!(host.ask("call 0 1", "called")?, "0 6");
    }
    Ok(())
}

#[test]
fn child_is_the_same_program() -> Result<()> {
    let child = programs::named("child")?;
    for runtime in Runtime::all() {
        let mut command = child.command(runtime)?;
        command.env("REDIAL_X", "1").env_remove("REDIAL_FIRST_CALL_MS");
        let mut host = start(command, &[])?;
        assert_eq!(host.ask("env", "env")?, "REDIAL_X=1");
        host.ask("start", "started")?;
        assert_eq!(host.ask("ask env", "answer")?, "env REDIAL_X=1");
        assert_eq!(host.ask("ask call 100", "answer")?, "called 100 00025a26");
        assert_eq!(host.ask("end", "ended")?, "0");
    }
    Ok(())
}

#[test]
fn bench_program_measures() -> Result<()> {
    let loops = programs::named("loops")?;
    for runtime in Runtime::all() {
        let mut host = start(loops.command(runtime)?, &[])?;
        for (command, beginning) in [
            ("bench Plain 2 3", "bench Plain 2"),
            ("bench Throws 1 3", "bench Throws 1"),
            ("bench ThrowsDeep 1 3", "bench ThrowsDeep 1"),
            ("bench AtOnce 1 3", "bench AtOnce 1"),
            ("bench Suspends 2 3", "bench Suspends 2"),
            ("gc 5", "gc"),
        ] {
            let answer = host.ask(command, beginning)?;
            let numbers = answer.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
            assert!(numbers.len() == 2 && 0.0 < numbers[0] && numbers[0] <= numbers[1], "{answer}");
        }
    }
    Ok(())
}
