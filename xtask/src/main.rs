//! Project tasks: `cargo xtask COMMAND`. One file per command; this one only dispatches.

mod bench;
mod bindings;
mod build;
mod demo;
mod dist;
mod process;
mod setup;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, tests, benchmarks and upkeep of Redial")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Get system packages, tools and the real .NET runtimes
    Setup,
    /// Run the demo program under the agent and see its calls being counted, in the window
    Demo {
        /// No window: show this many tables, then end
        #[arg(long, value_name = "N")]
        count: Option<u32>,
    },
    /// Compile the demo program that `redial` carries, in assets/demo/built
    DemoProgram,
    /// Build everything, then run all suites or those named
    Test {
        /// Suites to run, in this order
        #[arg(value_enum)]
        suites: Vec<test::suites::Suite>,
        /// Run only tests whose names contain this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
    },
    /// The same suites with larger numbers, real time-outs, and ten minutes of fuzzing per target; or hours of random use
    Soak {
        /// Suites to run, in this order (default: all that have larger numbers)
        #[arg(value_enum)]
        suites: Vec<test::suites::Suite>,
        /// Seconds of fuzzing per target
        #[arg(long, value_name = "SECONDS", default_value_t = 600)]
        fuzz: u32,
        /// Also run suites that have passed on this commit
        #[arg(long)]
        again: bool,
        /// Instead of suites: random dials, kills, attaches and unloads, until each program has run this long on this commit
        #[arg(long, value_name = "N", conflicts_with_all = ["suites", "again"], value_parser = parse_hours)]
        hours: Option<f64>,
        /// Only programs on this runtime, with --hours (default: 8.0 and 10.0)
        #[arg(long, value_name = "VERSION", requires = "hours", value_parser = ["2.1", "3.1", "8.0", "10.0"])]
        on: Vec<String>,
        /// Choice of steps, with --hours; a failure names it
        #[arg(long, value_name = "NUMBER", requires = "hours")]
        seed: Option<u64>,
    },
    /// Make the packages of a release: archives, deb, rpm, msi, NuGet, container files
    Dist {
        /// Formats to make (default: all)
        #[arg(value_enum)]
        formats: Vec<dist::Format>,
        /// Pack the debug builds of the tests instead, for this machine alone; to try changes of the packaging
        #[arg(long)]
        debug: bool,
    },
    /// Measure on real runtimes, as medians of alternating pairs, and the window against its targets
    Bench {
        /// Rows to measure (default: all)
        rows: Vec<String>,
        /// Pairs of runs per row
        #[arg(long, value_name = "N", default_value_t = 9)]
        pairs: usize,
        /// Only on this runtime
        #[arg(long, value_name = "VERSION", value_parser = ["2.1", "3.1", "8.0"])]
        on: Option<String>,
        /// A quick, rough answer: the fewest pairs, fewer frames
        #[arg(long, conflicts_with = "pairs")]
        quick: bool,
        /// Measure the agent and the program of the packages that `cargo xtask dist` made
        #[arg(long)]
        packages: bool,
    },
    /// Check project rules: dependency direction, circles, file lengths, documents, wording
    Tidy,
    /// Generate the profiling API's bindings again
    Bindings {
        /// Only compare with what is committed
        #[arg(long)]
        check: bool,
    },
}

fn parse_hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if hours > 0.0 && hours <= 1000.0 => Ok(hours),
        _ => Err("expected a number of hours, such as 0.5".to_owned()),
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup => setup::everything(),
        Task::Demo { count } => demo::run_demo(count),
        Task::DemoProgram => redial_testbed::shipped_demo::compile(&redial_testbed::shipped_demo::folder()),
        Task::Test { suites, only } => test::run(&suites, only.as_deref()),
        Task::Soak { hours: Some(hours), on, seed, .. } => soak::run_continuously(hours, &on, seed),
        Task::Soak { suites, fuzz, again, .. } => soak::run(&suites, fuzz, again),
        Task::Dist { formats, debug: false } => dist::run(&formats).map(drop),
        Task::Dist { formats, debug: true } => dist::run_with_debug_builds(&formats).map(drop),
        Task::Bench { rows, pairs, on, quick, packages } => {
            let built =
                if packages { dist::linux_programs()? } else { build::native(build::Profile::Release)? };
            bench::run(built, &rows, pairs, on.as_deref(), quick)
        }
        Task::Tidy => tidy::run(),
        Task::Bindings { check } => bindings::run(&process::checkout(), check),
    }
}
