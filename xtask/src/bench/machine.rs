//! Description of the machine: hardware, load, versions.

use std::fmt::Write as _;
use std::fs;

use redial_testbed::runtimes::Runtime;

use crate::process::{command, run_quietly};

/// Load, as a share of the cores, above which differences are not trustworthy.
const BUSY: f64 = 0.5;

/// Returns machine and versions, one Markdown line each.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut text = String::new();
    let runtimes = Runtime::all().map(Runtime::version).join(", ");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "- machine: {}, {cores} cores{}, {} of memory", model(), hypervisor(), memory());
    let _ = writeln!(text, "- system: {} {}", std::env::consts::OS, first_line("/proc/sys/kernel/osrelease"));
    let _ = writeln!(text, "- versions: redial {}, {}; .NET {runtimes}", env!("CARGO_PKG_VERSION"), rustc());
    text
}

/// Returns a warning when the machine is busy; `None` when it is quiet or the load is unknown.
pub fn busy() -> Option<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let load = load()?;
    (load > cores * BUSY).then(|| {
        format!(
            "the load was {load:.1} on {cores} cores as it began: times are blurred, look at the spreads; what two \
             threads share looks cheaper than it is, since they seldom ran at the same time"
        )
    })
}

/// Returns the load average of the last minute.
pub fn load() -> Option<f64> {
    first_line("/proc/loadavg").split(' ').next()?.parse().ok()
}

fn model() -> String {
    cpu_line("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn hypervisor() -> &'static str {
    if cpu_line("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")) {
        " of a virtual machine"
    } else {
        ""
    }
}

fn cpu_line(name: &str) -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory() -> String {
    let line = first_line("/proc/meminfo");
    let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kib.map_or_else(|| "an unknown amount".to_owned(), |kib| format!("{:.0} GiB", kib / f64::from(1 << 20)))
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
}

fn rustc() -> String {
    let said = run_quietly(&mut command("rustc", &["--version"])).unwrap_or_default();
    said.split(" (").next().unwrap_or_default().trim().to_owned()
}
