//! A short continuous soak on each kind of program, and the proof that it notices a crash, a leak and wrong counts.
#![cfg(target_os = "linux")]

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use redial_testbed::continuous::{Length, Program, Settings, Step, StepCounts, Summary, run};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::soak;

fn short(program: Program, checkpoints: u32, fault: Option<&str>) -> Result<Summary> {
    let variables = fault.map(|fault| ("REDIAL_TEST_FAULT".to_owned(), fault.to_owned()));
    let settings = Settings {
        program,
        length: Length::Checkpoints(checkpoints),
        seed: 7,
        // Other tests may keep both cores busy.
        revert_bound: DEADLINE,
        variables: variables.into_iter().collect(),
    };
    let mut print = |line: &str, _: &StepCounts| {
        println!("{line}");
        ControlFlow::Continue(())
    };
    run(&settings, &mut print)
}

fn passes(program: Program) -> Result<()> {
    let summary = short(program, soak::scaled(2, 10) as u32, None)?;
    println!("{}; slowest revert {:.1?}; {}", summary.steps, summary.slowest_revert, summary.slopes);
    ensure!(summary.steps.of(Step::Change) > 5, "hardly any change: {}", summary.steps);
    Ok(())
}

#[test]
fn finds_no_fault_in_shop_on_2_1() -> Result<()> {
    passes(Program::Shop(Runtime::V2_1))
}

#[test]
fn finds_no_fault_in_shop_on_8_0() -> Result<()> {
    passes(Program::Shop(Runtime::V8_0))
}

#[test]
fn finds_no_fault_in_load_contexts_on_3_1() -> Result<()> {
    passes(Program::Contexts(Runtime::V3_1))
}

#[test]
fn finds_no_fault_in_the_server_on_10_0() -> Result<()> {
    passes(Program::Server)
}

/// Runs with a planted fault until it is noticed.
fn noticed(fault: &str) -> Result<String> {
    match short(Program::Shop(Runtime::V8_0), 5, Some(fault)) {
        Ok(summary) => anyhow::bail!("nothing noticed: {}, {}", summary.steps, summary.slopes),
        Err(error) => Ok(format!("{error:#}")),
    }
}

#[test]
fn notices_a_crash() -> Result<()> {
    let error = noticed("crash")?;
    ensure!(error.contains("signal: 6 (SIGABRT)"), "{error}");
    Ok(())
}

#[test]
fn notices_a_leak() -> Result<()> {
    let error = noticed("leak")?;
    ensure!(error.contains("the agent's memory grows"), "{error}");
    Ok(())
}

#[test]
fn notices_wrong_il() -> Result<()> {
    let error = noticed("wrong-il")?;
    ensure!(error.contains("wrong counts"), "{error}");
    Ok(())
}
