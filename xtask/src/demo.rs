//! `cargo xtask demo`: the demo program under the agent, every method of it counted, shown as a live table.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;

use crate::build::{self, Profile};
use crate::process::{checkout, run, run_quietly};
use crate::setup;

/// Runs until Ctrl-C, or until `count` tables were shown.
///
/// # Errors
/// What could not be set up, built or started.
pub fn run_demo(count: Option<u32>) -> Result<()> {
    let shop = setup::for_demo()?;
    let built = build::native(Profile::Debug)?;
    let (dotnet, whose) = dotnet();
    println!("==> redial run --dial 'Shop!*=count' -- dotnet Shop.dll   (on {whose}; Ctrl-C ends it)");

    // Its standard input stays open as long as this process lives; at its end Shop ends by itself.
    let mut run_shop = Command::new(built.program());
    run_shop.args(["run", "--dial", "Shop!*=count", "--"]).arg(&dotnet).arg(shop.dll());
    Runtime::V8_0.settle_environment(&mut run_shop);
    if whose != OURS {
        run_shop.env_remove("DOTNET_ROOT");
    }
    built.tell(&mut run_shop);
    let mut shop = Host::start(run_shop)?;
    let first = shop.next_line()?;
    println!("    Shop says: {first}");
    let pid = process_number(&first).with_context(|| format!("no process number in {first:?}"))?;

    let mut watch = Command::new(built.program());
    watch.arg("watch").arg(pid.to_string()).current_dir(checkout());
    if let Some(count) = count {
        watch.args(["--count", &count.to_string()]);
    }
    built.tell(&mut watch);
    run(&mut watch)
}

/// The number after the word `process`.
fn process_number(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("process ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

const OURS: &str = "a .NET 8 fetched for this checkout";

/// The `dotnet` on the PATH when it has a base framework, else ours.
fn dotnet() -> (PathBuf, &'static str) {
    let listed = run_quietly(Command::new("dotnet").arg("--list-runtimes"));
    if listed.is_ok_and(|listed| listed.contains("Microsoft.NETCore.App ")) {
        return (PathBuf::from("dotnet"), "the dotnet on the PATH");
    }
    (Runtime::V8_0.dotnet(), OURS)
}
