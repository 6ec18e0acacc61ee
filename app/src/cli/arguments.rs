//! What a user may type.

use clap::{Args, Parser, Subcommand};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER: &str = "\
PATTERN is [ASSEMBLY!]TYPE.METHOD[(PARAMS)] with C# names; * stands for anything.
  Shop.Cart.*    every method of that type      Shop.*.*    the namespace and below
  Shop!*         a whole assembly               *.Add       every method of that name
LEVEL is off, count, time or trace.

Exit codes: 0 done, 1 failed, 2 usage, 3 no such or unsuitable process,
4 no agent, 5 control held by another, 6 nothing matched, 7 done in part.
`run` ends with its command's code, or 125 to 127.";

/// Turn instrumentation dials on the methods of live .NET processes, and off again.
#[derive(Debug, Parser)]
#[command(name = "redial", version, after_help = AFTER, disable_help_subcommand = true)]
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
    Run(Run),
    /// List AppDomains and modules
    Modules(Modules),
    /// List methods
    Methods(Methods),
    /// Turn the dials of matching methods
    Dial(Dial),
    /// Show every dialled method: wanted, actual, calls
    Status(Status),
    /// Show the numbers as they change, until Ctrl-C (which changes no dial)
    Watch(Watch),
    /// Turn every dial off, and wait until it is done
    Off(Off),
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
    /// Set a dial before the program's first module loads; may be given more than once
    #[arg(long = "dial", value_name = "PATTERN=LEVEL")]
    pub dials: Vec<String>,
    /// Write the final status as JSON to FILE when the program ends
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Load the agent into programs the command starts, too
    #[arg(long)]
    pub children: bool,
    /// Keep the JIT from inlining anything, so that every call is seen
    #[arg(long)]
    pub no_inlining: bool,
    /// The program and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `modules`
#[derive(Debug, Args)]
pub struct Modules {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `methods`
#[derive(Debug, Args)]
pub struct Methods {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
    /// Only methods that match
    pub pattern: Option<String>,
    /// Most methods to list
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
    /// One JSON array
    #[arg(long)]
    pub json: bool,
}

/// `dial`
#[derive(Debug, Args)]
pub struct Dial {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
    /// Which methods
    pub pattern: String,
    /// How much to see: off, count, time or trace
    #[arg(value_parser = level)]
    pub level: Level,
    /// Stay in the foreground; the dials are turned off when this command ends
    #[arg(long)]
    pub hold: bool,
    /// Set the dial although nothing matches yet
    #[arg(long)]
    pub later: bool,
    /// Take control from whoever has it
    #[arg(long)]
    pub take: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `status`
#[derive(Debug, Args)]
pub struct Status {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
    /// Only methods that match
    #[arg(conflicts_with = "agent")]
    pub pattern: Option<String>,
    /// The agent's own account: control, memory, budgets, who turned what
    #[arg(long)]
    pub agent: bool,
    /// One JSON array (with --agent: one object)
    #[arg(long)]
    pub json: bool,
}

/// `watch`
#[derive(Debug, Args)]
pub struct Watch {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
    /// Only methods that match
    pub pattern: Option<String>,
    /// Milliseconds between updates
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    pub interval: u32,
    /// End after N updates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// `off`
#[derive(Debug, Args)]
pub struct Off {
    /// Process id
    #[arg(value_parser = pid)]
    pub pid: u32,
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

fn level(word: &str) -> Result<Level, String> {
    Level::from_word(word).ok_or_else(|| "a level is off, count, time or trace".to_owned())
}

/// Checks a pattern before anything else is done; the sentence of a bad one.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    Pattern::parse(pattern).map(drop).map_err(|error| error.to_string())
}

/// An order for every copy, in every domain.
pub fn order(pattern: &str, level: Level) -> Order {
    Order::new(pattern, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Command, clap::error::ErrorKind> {
        let words = std::iter::once("redial").chain(line.split_whitespace());
        Arguments::try_parse_from(words)
            .map_err(|error| error.kind())
            .map(|all| all.command.expect("a command"))
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn run_leaves_its_commands_options_alone() {
        let Ok(Command::Run(run)) = parse("run --dial A.B=count --dial C.*=off -- dotnet --dial x.dll -- y")
        else {
            panic!("a run");
        };
        assert_eq!(run.dials, ["A.B=count", "C.*=off"]);
        assert_eq!(run.command, ["dotnet", "--dial", "x.dll", "--", "y"]);
        assert!(parse("run").is_err() && parse("run --").is_err() && parse("run dotnet").is_err());
    }

    #[test]
    fn dial_takes_known_levels_only() {
        let Ok(Command::Dial(dial)) = parse("dial 42 Shop.Cart.* count --hold --take") else {
            panic!("a dial")
        };
        assert_eq!(
            (dial.pid, dial.level, dial.hold, dial.later, dial.take),
            (42, Level::Count, true, false, true)
        );
        for line in
            ["dial 42 A.B loud", "dial 42 A.B Count", "dial 0 A.B off", "dial x A.B off", "dial 42 A.B"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        for line in
            ["watch 1 --interval 9", "watch 1 --count 0", "methods 1 --limit 0", "modules 99999999999"]
        {
            assert_eq!(parse(line).err(), Some(clap::error::ErrorKind::ValueValidation), "{line}");
        }
        assert!(parse("status 1 A.B --agent").is_err(), "the agent's account has no pattern");
    }

    #[test]
    fn a_process_id_is_a_number() {
        for (word, good) in
            [("1", true), ("4294967295", true), ("abc", false), ("0", false), ("4294967296", false)]
        {
            let parsed = Arguments::try_parse_from(["redial", "dial", word, "A.B", "off"]);
            match parsed {
                Ok(_) => assert!(good, "{word}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!good && text.contains("a process id is a number"), "{word}: {text}");
                }
            }
        }
    }

    #[test]
    fn commands_of_later_do_not_exist() {
        for line in ["attach 1", "env", "apply 1 f", "save 1", "undo 1", "il 1 A.B", "events 1"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
