//! The command line's commands and options.

use super::target::Target;
use super::times;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use redial_link::setup::StartMethod;
use redial_text::words;
use std::ffi::OsString;
use std::path::PathBuf;

mod change;
mod dial;
mod exceptions;
mod hot;
mod snapshot;
mod trace;
mod values;

pub use change::ChangeArguments;
pub use dial::DialArguments;
pub use exceptions::ExceptionsArguments;
pub use hot::HotArguments;
pub use snapshot::{DiffArguments, SnapshotArguments, TableForm};
pub use trace::{EventsArguments, TraceArguments};
pub use values::{BudgetLimit, check_condition, check_pattern, check_types};
use values::{budget, module_id, number, pattern, pid};

/// Describes the levels for `--help`. clap wraps the lines.
fn levels() -> String {
    format!("LEVEL is {}.\n{}.", words::levels(), words::max_level())
}

fn after() -> String {
    let levels = levels();
    format!(
        "\
PATTERN is [ASSEMBLY!]TYPE.METHOD[(PARAMS)] with C# names; * matches anything.
  Shop.Cart.*    every method of that type      Shop.*.*    the namespace and below
  Shop!*         a whole assembly               *.Add       every method of that name
  [HttpGet]      methods with an attribute      implements:Shop.IOrderHandler    implementations of an interface
{levels}
PID is a process id; or a list, 12,34; or name:NAME, every .NET process whose program or assembly has that name
(Shop matches Shop, Shop.exe and dotnet Shop.dll); or pool:NAME, the worker processes of an IIS application pool.
A dial set is a text file: '# redial dials 1', then lines PATTERN = LEVEL [domain=PREFIX] [copy=0xMODULE]
[all-domains], at level time also [slower-than=DURATION] [failed-only] [callers].

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such or unsuitable process, 4 no agent,
5 another program has control, 6 nothing matched, 7 partly done.
`run` exits with its command's code, or 125 to 127."
    )
}

/// Explains the columns for `--help`. clap wraps the lines.
fn columns() -> String {
    format!(
        "{STATES}\n\nTimes in brackets are the last values: the method, or an async method's MoveNext, is no longer timed. On a narrow terminal, columns \
         are hidden in this order and listed below the table: {}. Output to a file or pipe, and --json, has all columns.",
        times::going()
    )
}

const STATES: &str = "\
STATE is pending (live from the method's next call; --json says asked), live v2 (calls run the second instrumented body), \
reverting (off from the next call), off, refused (see the reason), failed (the runtime reported an error) or lost (the module was unloaded).";

const COMPLETIONS: &str = "\
The deb and rpm packages install the scripts of bash, zsh and fish. Otherwise, in a folder that exists:
  bash         redial completions bash > ~/.local/share/bash-completion/completions/redial
  zsh          redial completions zsh > FOLDER/_redial, where FOLDER is in $fpath
  fish (3.2)   redial completions fish > ~/.config/fish/completions/redial.fish
  PowerShell   redial completions powershell | Out-String | Invoke-Expression, in $PROFILE";

/// Turn instrumentation dials on the methods of live .NET processes, and off again.
#[derive(Debug, Parser)]
#[command(name = "redial", after_help = after(), disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// The command; without one, the window opens.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Open the window on this process
    #[arg(long, value_parser = pid)]
    pub pid: Option<u32>,
    /// Show its dialled methods first, sorted by calls
    #[arg(long, requires = "pid")]
    pub dialled: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// List .NET processes and the state of the agent in each
    Ps(PsArguments),
    /// Start a program with the agent in it
    #[command(after_help = levels())]
    Run(RunArguments),
    /// Load the agent into a running process
    Attach(AttachArguments),
    /// List AppDomains and modules
    Modules(ModulesArguments),
    /// List methods
    Methods(MethodsArguments),
    /// Show a method's IL, original or instrumented
    Il(IlArguments),
    /// Turn the dials of matching methods
    #[command(after_help = levels())]
    Dial(DialArguments),
    /// Apply a dial set, all in one change
    #[command(after_help = levels())]
    Apply(ApplyArguments),
    /// Save the standing orders as a dial set
    Save(SaveArguments),
    /// Undo the last change, whoever made it
    Undo(UndoArguments),
    /// Show or set the overhead budget; the agent lowers the costliest dials when they exceed it
    Budget(BudgetArguments),
    /// Show every dialled method: wanted and actual level, calls
    #[command(
        after_help = columns(),
        override_usage = "redial status [OPTIONS] <PID> [PATTERN]\n       redial status --agent <PID>"
    )]
    Status(StatusArguments),
    /// Show live numbers until Ctrl-C (which changes no dial)
    #[command(after_help = columns())]
    Watch(WatchArguments),
    /// Find the methods with the most self time and keep them timed; Ctrl-C turns them off
    Hot(HotArguments),
    /// Print each call of matching methods with its arguments and result, until Ctrl-C (which turns these dials off)
    Trace(TraceArguments),
    /// List the latest calls of methods at level trace, or those in flight
    Events(EventsArguments),
    /// Count thrown exceptions by type and throwing method, and print them, until Ctrl-C; needs no dial
    Exceptions(ExceptionsArguments),
    /// Save the numbers, histograms, traced calls and log of a process, or show saved ones
    #[command(
        override_usage = "redial snapshot <PID> [OPTIONS]\n       redial snapshot --show <FILE> [OPTIONS]"
    )]
    Snapshot(SnapshotArguments),
    /// Compare saved numbers with others or with those of a running process, most changed self time first
    Diff(DiffArguments),
    /// Turn every dial off and wait for confirmation
    Off(OffArguments),
    /// Print agent setup for a shell, service manager, container or IIS: what to set, restart and undo
    Env(EnvArguments),
    /// Check this machine for problems and suggest fixes
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArguments),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Manual(ManualArguments),
}

/// `ps`
#[derive(Debug, Args)]
pub struct PsArguments {
    /// List every process, not only .NET ones
    #[arg(long)]
    pub all: bool,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// `run`
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Set a dial before the program's first module loads. Repeatable; accepts the options of a dial set line, such as
    /// domain=PREFIX
    #[arg(long = "dial", value_name = "PATTERN=LEVEL")]
    pub dials: Vec<String>,
    /// Write the final status as JSON to FILE when the program ends
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Also load the agent into programs that the command starts
    #[arg(long)]
    pub children: bool,
    /// Lower dials automatically when all together cost more than PERCENT of one processor
    #[arg(long, value_name = "PERCENT", value_parser = budget)]
    pub budget: Option<BudgetLimit>,
    /// Disable JIT inlining so that every call is counted
    #[arg(long)]
    pub no_inlining: bool,
    /// The program and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `attach`
#[derive(Debug, Args)]
pub struct AttachArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// How long to wait for the runtime's answer
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = number(1, 3600))]
    pub timeout: u64,
}

/// `modules`
#[derive(Debug, Args)]
pub struct ModulesArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `methods`
#[derive(Debug, Args)]
pub struct MethodsArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// List only methods that match
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// List at most N methods
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number(1, u64::MAX))]
    pub limit: u64,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// `il`
#[derive(Debug, Args)]
pub struct IlArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// A pattern that matches exactly one method
    #[arg(value_name = "METHOD", value_parser = pattern)]
    pub pattern: String,
    /// Include the probe, as the runtime has it or would get it
    #[arg(long)]
    pub instrumented: bool,
    /// Use this copy of its module: an id listed by `modules`
    #[arg(long, value_name = "MODULE", value_parser = module_id)]
    pub copy: Option<u64>,
    /// Also look for the module's PDB in this folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub symbols: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `apply`
#[derive(Debug, Args)]
pub struct ApplyArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Dial set to apply; - reads standard input
    pub file: PathBuf,
    /// Options shared with the other command that turns dials
    #[command(flatten)]
    pub change: ChangeArguments,
}

/// `save`
#[derive(Debug, Args)]
pub struct SaveArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Output file; standard output if missing or -
    pub file: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "file")]
    pub force: bool,
}

/// `undo`
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Take control from the program that has it
    #[arg(long)]
    pub take: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `budget`
#[derive(Debug, Args)]
pub struct BudgetArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Percent of one processor that all dials may cost together, or off
    #[arg(value_name = "PERCENT", value_parser = budget)]
    pub percent: Option<BudgetLimit>,
    /// Take control from the program that has it
    #[arg(long, requires = "percent")]
    pub take: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `status`
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// List only methods that match
    #[arg(conflicts_with = "agent", value_parser = pattern)]
    pub pattern: Option<String>,
    /// Also list methods whose dials are now off
    #[arg(long, conflicts_with = "agent")]
    pub all: bool,
    /// List the slowest calls of each method dialled with --slower-than or --failed-only
    #[arg(long, conflicts_with_all = ["agent", "sum"])]
    pub calls: bool,
    /// Add up the numbers of all processes: one row per method
    #[arg(long, conflicts_with = "agent")]
    pub sum: bool,
    /// List the callers of methods dialled with --callers
    #[arg(long, conflicts_with_all = ["agent", "sum", "all", "calls"])]
    pub callers: bool,
    /// Show the agent's own state: control, standing orders, memory, budgets, recent changes
    #[arg(long)]
    pub agent: bool,
    /// List at most N methods, most called first; without it, a terminal shows those that fit
    #[arg(long, value_name = "N", conflicts_with_all = ["agent", "callers"], value_parser = number(1, u64::MAX))]
    pub limit: Option<u64>,
    /// Print one JSON array (with --agent: one object)
    #[arg(long)]
    pub json: bool,
}

/// `watch`
#[derive(Clone, Debug, Args)]
pub struct WatchArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// List only methods that match
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// Also list methods whose dials are now off
    #[arg(long)]
    pub all: bool,
    /// Add up the numbers of all processes: one row per method
    #[arg(long)]
    pub sum: bool,
    /// Milliseconds between updates
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    pub interval: u32,
    /// Stop after N updates
    #[arg(long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub count: Option<u64>,
    /// List at most N methods, most called first; without it, a terminal shows those that fit
    #[arg(long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub limit: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

/// `off`
#[derive(Debug, Args)]
pub struct OffArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `env`
#[derive(Debug, Args)]
pub struct EnvArguments {
    /// How the program is started: shell, powershell, systemd, docker, kubernetes, init-container, nuget, iis:POOL or windows-service:NAME
    #[arg(long = "for", value_name = "MEANS", value_parser = StartMethod::parse)]
    pub means: StartMethod,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;

/// `completions`
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// bash, zsh, fish, powershell or elvish
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// `manual`
#[derive(Debug, Args)]
pub struct ManualArguments {
    /// An existing folder
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
