//! Coverage-guided fuzzing of the decoders with libFuzzer, on the pinned stable toolchain.

mod seeds;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::plan::{Plan, Tally};
use crate::build;
use crate::process::{cargo, checkout, command, run, run_quietly};

/// Inputs a target gets in the gate; enough for the whole corpus and many thousand mutations.
const SMOKE_RUNS: u32 = 100_000;

/// The flags of cargo-fuzz except the sanitizers, which need a nightly compiler: edge coverage for libFuzzer, and checks
/// that turn overflow into a panic.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions=on -Coverflow-checks=on";

/// Runs every target of `fuzz/`, starting from its committed corpus.
///
/// # Errors
/// When the targets do not build.
pub fn run_targets(plan: &Plan<'_>) -> Result<Tally> {
    let triple = host_triple()?;
    let target_folder = build::target_folder().join("fuzz");
    run(cargo(&[
        "build",
        "--quiet",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target",
        &triple,
    ])
    .env("CARGO_TARGET_DIR", &target_folder)
    .env("RUSTFLAGS", FLAGS))?;
    let programs = target_folder.join(&triple).join("release");
    let mut tally = Tally::default();
    for target in targets()? {
        println!("    fuzzing {target}");
        let program = programs.join(&target);
        match fuzz(&target, &program, plan) {
            Ok(inputs) => {
                tally.passed += 1;
                println!("    {inputs} inputs");
                tally.inputs.insert(target, inputs);
            }
            Err(error) => {
                eprintln!("error: fuzz target {target}: {error:#}");
                tally.failed += 1;
            }
        }
    }
    if tally == Tally::default() {
        bail!("there is no fuzz target");
    }
    Ok(tally)
}

/// Fuzzes one target. Returns the number of inputs that it ran.
fn fuzz(target: &str, program: &std::path::Path, plan: &Plan<'_>) -> Result<u64> {
    // libFuzzer writes new inputs to the first folder and only reads the others.
    let found = build::target_folder().join("fuzz-found").join(target);
    std::fs::create_dir_all(&found)?;
    let committed = checkout().join("fuzz/corpus").join(target);
    let artefacts = format!("-artifact_prefix={}/crash-", found.with_extension("failed").display());
    std::fs::create_dir_all(found.with_extension("failed"))?;
    let bound = match plan.fuzz_seconds {
        Some(seconds) => format!("-max_total_time={seconds}"),
        None => format!("-runs={SMOKE_RUNS}"),
    };
    let seed = if plan.fuzz_seconds.is_some() { "-seed=0" } else { "-seed=1" };
    let mut fuzzer = command(
        &program.to_string_lossy(),
        &[
            &bound,
            seed,
            &artefacts,
            "-max_len=65536",
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-malloc_limit_mb=256",
        ],
    );
    fuzzer.arg("-print_final_stats=1").arg(&found);
    if committed.is_dir() {
        fuzzer.arg(&committed);
    }
    if let Some(seeds) = seeds::write(target, &build::target_folder().join("fuzz-seeds"))? {
        fuzzer.arg(seeds);
    }
    // libFuzzer writes to standard error, and much; it is shown only on failure.
    let log = found.with_extension("log");
    fuzzer.stderr(std::fs::File::create(&log)?).stdin(Stdio::null()).stdout(Stdio::null());
    let status = fuzzer.status().with_context(|| format!("{target} cannot be started"))?;
    let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    if !status.success() {
        bail!("{target} ended with {status}:\n{}", said.trim_end());
    }
    inputs_run(&said).with_context(|| format!("{} does not say how many inputs it ran", log.display()))
}

/// Reads `stat::number_of_executed_units: N`.
fn inputs_run(said: &str) -> Option<u64> {
    let line = said.lines().rev().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    line?.trim().parse().ok()
}

fn targets() -> Result<Vec<String>> {
    let folder = checkout().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn host_triple() -> Result<String> {
    let said = run_quietly(&mut command("rustc", &["-vV"]))?;
    match said.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(triple) => Ok(triple.to_owned()),
        None => bail!("rustc does not name its host"),
    }
}
