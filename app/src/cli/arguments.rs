//! What a user may type.

use super::duration;
use super::env::Means;
use super::target::Target;
use super::times;
use crate::output::words;
use clap::{Args, Parser, Subcommand};
use redial_protocol::cost::Share;
use redial_protocol::level::Level;
use redial_protocol::order::Stand;
use redial_protocol::pattern::Pattern;
use std::ffi::OsString;
use std::path::PathBuf;

mod dial;

pub use dial::Dial;

/// Which levels there are, for help; lines are broken where they are shown.
fn levels() -> String {
    format!("LEVEL is {}.\n{}.", words::levels(), words::max_level())
}

fn after() -> String {
    let levels = levels();
    format!(
        "\
PATTERN is [ASSEMBLY!]TYPE.METHOD[(PARAMS)] with C# names; * stands for anything.
  Shop.Cart.*    every method of that type      Shop.*.*    the namespace and below
  Shop!*         a whole assembly               *.Add       every method of that name
{levels}
PID is a process id; or several, 12,34; or name:NAME, every .NET process whose program or assembly is called so
(Shop for Shop, Shop.exe or dotnet Shop.dll); or pool:NAME, the worker processes of an IIS application pool.
A dial set is text: '# redial dials 1', then lines PATTERN = LEVEL [domain=PREFIX] [copy=0xMODULE] [all-domains],
with level time also [slower-than=DURATION] [failed-only] [callers].

Exit codes: 0 done, 1 failed, 2 usage, 3 no such or unsuitable process,
4 no agent, 5 control held by another, 6 nothing matched, 7 done in part.
`run` ends with its command's code, or 125 to 127."
    )
}

/// What the columns say; lines are broken where they are shown.
fn columns() -> String {
    format!(
        "{STATES}\n\nTimes (level time) in brackets are the last ones: the method is not timed any more. Where a terminal has \
         no room for all columns beside names, they are left out in this order, and named: {}. Into a file or pipe, and \
         with --json, all are there.",
        times::going()
    )
}

const STATES: &str = "\
STATE is asked (live from the method's next call), live v2 (calls run the second version of its code that was made), \
reverting (off from the next call), off, refused (the reason says why), failed (the runtime reported an error) or lost (its \
module was unloaded).";

/// Turn instrumentation dials on the methods of live .NET processes, and off again.
#[derive(Debug, Parser)]
#[command(name = "redial", version, after_help = after(), disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do; without one, the window opens.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Open the window on this process
    #[arg(long, value_parser = pid)]
    pub pid: Option<u32>,
    /// Begin with its dialled methods, the most called first
    #[arg(long, requires = "pid")]
    pub dialled: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List .NET processes, and what can be done with each
    Ps(Ps),
    /// Start a program with the agent in it
    #[command(after_help = levels())]
    Run(Run),
    /// Load the agent into a running process
    Attach(Attach),
    /// List AppDomains and modules
    Modules(Modules),
    /// List methods
    Methods(Methods),
    /// Show a method's IL, before and after
    Il(Il),
    /// Turn the dials of matching methods
    #[command(after_help = levels())]
    Dial(Dial),
    /// Turn dials as a dial set says, all in one change
    #[command(after_help = levels())]
    Apply(Apply),
    /// Write the orders that stand as a dial set
    Save(Save),
    /// Take back the last change, whoever made it
    Undo(Undo),
    /// Show or set what dials may cost; the agent steps the costliest down where they cost more
    Budget(Budget),
    /// Show every dialled method: wanted, actual, calls
    #[command(
        after_help = columns(),
        override_usage = "redial status [OPTIONS] <PID> [PATTERN]\n       redial status --agent <PID>"
    )]
    Status(Status),
    /// Show the numbers as they change, until Ctrl-C (which changes no dial)
    #[command(after_help = columns())]
    Watch(Watch),
    /// Turn every dial off, and wait until it is done
    Off(Off),
    /// Say how a program is started with the agent by other means: what to set, what to restart, how to undo it
    Env(Env),
    /// Say what is missing on this machine, and what to do about it
    Doctor(Doctor),
}

/// `ps`
#[derive(Debug, Args)]
pub struct Ps {
    /// Every process, not only .NET ones
    #[arg(long)]
    pub all: bool,
    /// One JSON array
    #[arg(long)]
    pub json: bool,
}

/// `run`
#[derive(Debug, Args)]
pub struct Run {
    /// Set a dial before the program's first module loads; may be given more than once, and may end with
    /// domain=PREFIX, all-domains and the like as a line of a dial set
    #[arg(long = "dial", value_name = "PATTERN=LEVEL")]
    pub dials: Vec<String>,
    /// Write the final status as JSON to FILE when the program ends
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Load the agent into programs the command starts, too
    #[arg(long)]
    pub children: bool,
    /// Step dials down by itself where they cost more than so many percent of one processor
    #[arg(long, value_name = "PERCENT", value_parser = budget)]
    pub budget: Option<Wanted>,
    /// Keep the JIT from inlining anything, so that every call is seen
    #[arg(long)]
    pub no_inlining: bool,
    /// The program and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `attach`
#[derive(Debug, Args)]
pub struct Attach {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Longest wait for an answer of its runtime
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = number(1, 3600))]
    pub timeout: u64,
}

/// `modules`
#[derive(Debug, Args)]
pub struct Modules {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `methods`
#[derive(Debug, Args)]
pub struct Methods {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Only methods that match
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// Most methods to list
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number(1, u64::MAX))]
    pub limit: u64,
    /// One JSON array
    #[arg(long)]
    pub json: bool,
}

/// `il`
#[derive(Debug, Args)]
pub struct Il {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Which method, as a pattern that matches just one
    #[arg(value_name = "METHOD", value_parser = pattern)]
    pub pattern: String,
    /// With the probe, as the runtime has it or would get it
    #[arg(long)]
    pub instrumented: bool,
    /// In this copy of its module: the id as `modules` lists it
    #[arg(long, value_name = "MODULE", value_parser = module_id)]
    pub copy: Option<u64>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// What `dial` and `apply` have in common.
#[derive(Debug, Default, Args)]
pub struct Turn {
    /// Stay in the foreground; the dials are turned off when this command ends
    #[arg(long)]
    pub hold: bool,
    /// Turn the dials off by themselves after DURATION: 90s, 10m, 2h, 1d
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::kept_for, conflicts_with = "hold")]
    pub kept_for: Option<u64>,
    /// Set also what matches nothing yet
    #[arg(long)]
    pub later: bool,
    /// Take control from whoever has it
    #[arg(long)]
    pub take: bool,
    /// Load the agent first, where it is not
    #[arg(long, conflicts_with = "plan")]
    pub attach: bool,
    /// Stay in the foreground, and do the same in every process of that name or pool that starts later
    #[arg(long, conflicts_with = "plan")]
    pub follow: bool,
    /// Only say what would be done
    #[arg(long)]
    pub plan: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

impl Turn {
    /// How long the orders are to stand.
    pub fn stand(&self) -> Stand {
        match (self.hold, self.kept_for) {
            (true, _) => Stand::Held,
            (false, Some(ms)) => Stand::KeptFor { ms },
            (false, None) => Stand::Kept,
        }
    }
}

/// `apply`
#[derive(Debug, Args)]
pub struct Apply {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// The dial set; - reads standard input
    pub file: PathBuf,
    /// How it is turned
    #[command(flatten)]
    pub turn: Turn,
}

/// `save`
#[derive(Debug, Args)]
pub struct Save {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Where to write it; without one, or with -, standard output
    pub file: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "file")]
    pub force: bool,
}

/// `undo`
#[derive(Debug, Args)]
pub struct Undo {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Take control from whoever has it
    #[arg(long)]
    pub take: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// A budget as it is wanted; None: off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted(pub Option<Share>);

/// `budget`
#[derive(Debug, Args)]
pub struct Budget {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Percent of one processor that all dials may cost together; or off
    #[arg(value_name = "PERCENT", value_parser = budget)]
    pub percent: Option<Wanted>,
    /// Take control from whoever has it
    #[arg(long, requires = "percent")]
    pub take: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `status`
#[derive(Debug, Args)]
pub struct Status {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Only methods that match
    #[arg(conflicts_with = "agent", value_parser = pattern)]
    pub pattern: Option<String>,
    /// Also list methods that are off again
    #[arg(long, conflicts_with = "agent")]
    pub all: bool,
    /// Below each method dialled with --slower-than or --failed-only, list its worst calls
    #[arg(long, conflicts_with_all = ["agent", "sum"])]
    pub calls: bool,
    /// Add up what all the processes say of a method: one row each
    #[arg(long, conflicts_with = "agent")]
    pub sum: bool,
    /// Who calls the methods whose callers are or were counted (dial … time --callers)
    #[arg(long, conflicts_with_all = ["agent", "sum", "all", "calls"])]
    pub callers: bool,
    /// The agent's own account: control, the orders that stand, memory, budgets, who turned what
    #[arg(long)]
    pub agent: bool,
    /// One JSON array (with --agent: one object)
    #[arg(long)]
    pub json: bool,
}

/// `watch`
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Only methods that match
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// Also list methods that are off again
    #[arg(long)]
    pub all: bool,
    /// Add up what all the processes say of a method: one row each
    #[arg(long)]
    pub sum: bool,
    /// Milliseconds between updates
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    pub interval: u32,
    /// End after N updates
    #[arg(long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub count: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `off`
#[derive(Debug, Args)]
pub struct Off {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `env`
#[derive(Debug, Args)]
pub struct Env {
    /// What starts the program: shell, powershell, systemd, docker, kubernetes, iis:POOL or windows-service:NAME
    #[arg(long = "for", value_name = "MEANS", value_parser = Means::parse)]
    pub means: Means,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// One JSON array
    #[arg(long)]
    pub json: bool,
}

fn pid(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|pid| *pid > 0);
    number.ok_or_else(|| "a process id is a number from 1 on; `redial ps` lists them".to_owned())
}

/// Reads whole numbers from `least` to `most`.
fn number(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone {
    let to = if most == u64::MAX { "on".to_owned() } else { format!("to {most}") };
    move |word| {
        let number = word.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("it is a whole number from {least} {to}"))
    }
}

fn pattern(word: &str) -> Result<String, String> {
    if word.starts_with('-') { Err("no name begins with '-'".to_owned()) } else { Ok(word.to_owned()) }
}

fn budget(word: &str) -> Result<Wanted, String> {
    Share::parse_budget(word).map(Wanted).map_err(|error| error.to_string())
}

fn level(word: &str) -> Result<Level, String> {
    Level::from_word(word).ok_or_else(|| format!("a level is {}", words::levels()))
}

/// Checks a pattern before anything else is done; the sentence of a bad one.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    Pattern::parse(pattern).map(drop).map_err(|error| error.to_string())
}

fn module_id(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("0x").filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    id.ok_or_else(|| {
        "a module's id is written as `redial modules` lists it, for example 0x7f31c0a84000".to_owned()
    })
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
