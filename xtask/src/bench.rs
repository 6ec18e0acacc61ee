//! `cargo xtask bench`: the cost of the agent, as medians of alternating pairs on real runtimes in one run, and the cost
//! of the window, against its targets.

mod awaited;
mod changes;
mod collector;
mod context;
mod count;
mod figures;
#[cfg(target_os = "linux")]
mod hostile;
mod idle;
mod machine;
mod many;
mod memory;
mod meter;
mod pace;
mod peers;
mod plan;
mod ps;
mod report;
mod shops;
#[cfg(unix)]
mod slices;
mod startup;
mod throughput;
mod thrown;
mod time;
mod timed;
mod trace;
mod trace_peers;
mod window;
mod window_benchmark;

use anyhow::{Result, bail};
use redial_testbed::runtimes::Runtime;

use crate::build::Built;
use crate::setup;
use context::Bench;
use figures::Figure;
use report::Row;

/// The way to measure a subject.
enum Measure {
    /// With and without, on each runtime.
    Pairs(fn(&Bench, Runtime) -> Result<Vec<Row>>),
    /// As figures against targets.
    Figures(fn(&Bench) -> Result<Vec<Figure>>),
}

/// One subject of measurement; it may give several rows (runtimes, threads).
struct Subject {
    name: &'static str,
    measure: Measure,
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "count", measure: Measure::Pairs(count::measure) },
    Subject { name: "time", measure: Measure::Pairs(time::measure) },
    Subject { name: "trace", measure: Measure::Pairs(trace::measure) },
    Subject { name: "trace-each", measure: Measure::Figures(trace::measure_each) },
    Subject { name: "startup", measure: Measure::Pairs(startup::measure) },
    Subject { name: "collector", measure: Measure::Pairs(collector::measure) },
    Subject { name: "idle", measure: Measure::Pairs(idle::measure) },
    Subject { name: "throughput", measure: Measure::Pairs(throughput::measure) },
    #[cfg(target_os = "linux")]
    Subject { name: "hostile", measure: Measure::Pairs(hostile::measure) },
    Subject { name: "changes", measure: Measure::Figures(changes::measure) },
    Subject { name: "plan", measure: Measure::Figures(plan::measure) },
    Subject { name: "memory", measure: Measure::Figures(memory::measure) },
    Subject { name: "ps", measure: Measure::Figures(ps::measure) },
    Subject { name: "window", measure: Measure::Figures(window::measure) },
];

/// Pairs of `--quick`: the fewest whose median means something.
const FEWEST: usize = 3;

/// Measures the subjects named, or all, of the agent and program `built`, on every runtime or the one named, and prints
/// tables for the terminal and in Markdown. A subject that fails costs its own rows, not those of the others.
///
/// # Errors
/// An unknown subject; or, after the tables, the subjects that failed.
pub fn run(built: Built, names: &[String], pairs: usize, on: Option<&str>, quick: bool) -> Result<()> {
    for name in names {
        if !SUBJECTS.iter().any(|subject| subject.name == name) {
            let known: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            bail!("there is no row {name}; the rows are {}", known.join(", "));
        }
    }
    if pairs < FEWEST {
        bail!("--pairs must be at least {FEWEST}, or a median means nothing");
    }
    let pairs = if quick { FEWEST } else { pairs };
    setup::for_demo()?;
    let wanted = |runtime: &Runtime| on.is_none_or(|name| runtime.name() == name);
    let runtimes = Runtime::all().into_iter().filter(wanted).collect();
    let bench = Bench { built, pairs, runtimes, quick };
    let begun = machine::busy();
    print!("{}", machine::describe());
    if let Some(sentence) = &begun {
        println!("{sentence}");
    }
    let (mut rows, mut figures, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut missed = |what: String, error: anyhow::Error| {
        eprintln!("{what} failed: {error:#}");
        failed.push(what);
    };
    let mut pace = pace::Pace::start();
    for Subject { name, measure } in SUBJECTS {
        if !names.is_empty() && !names.iter().any(|one| one == name) {
            continue;
        }
        match measure {
            Measure::Pairs(measure) => {
                for runtime in bench.runtimes.iter().copied() {
                    println!("==> {name} on {}: {pairs} pairs", runtime.name());
                    match measure(&bench, runtime) {
                        Ok(measured) => rows.extend(measured),
                        Err(error) => missed(format!("{name} on {}", runtime.name()), error),
                    }
                }
            }
            Measure::Figures(measure) => {
                println!("==> {name}");
                match measure(&bench) {
                    Ok(measured) => figures.extend(measured),
                    Err(error) => missed(name.to_string(), error),
                }
            }
        }
        let (chain, walk) = pace.look();
        println!(
            "    after it the machine computed at {:.0} % and read at {:.0} % of its best pace so far",
            100.0 * chain,
            100.0 * walk
        );
    }
    println!("\n{}", machine::describe());
    println!("{pairs} alternating pairs a row; load {:.1} at the end\n", machine::load().unwrap_or_default());
    println!("{}\n", pace.sentence());
    if let Some(sentence) = begun {
        println!("{sentence}\n");
    }
    if !rows.is_empty() {
        print(&report::cells(&rows));
    }
    if !figures.is_empty() {
        print(&figures::cells(&figures));
    }
    if !failed.is_empty() {
        bail!("no rows of {}: see above why", failed.join(", "));
    }
    Ok(())
}

fn print<const N: usize>(cells: &[[String; N]]) {
    println!("\n{}", report::terminal(cells));
    println!("{}", report::markdown(cells));
}
