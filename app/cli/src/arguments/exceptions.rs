//! Arguments of `redial exceptions`.

use super::super::target::Target;
use super::values::{number, pattern};
use crate::duration;
use clap::Args;

/// `exceptions`
#[derive(Debug, Args)]
pub struct ExceptionsArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Only exceptions of these types: [ASSEMBLY!]TYPE, for example 'Shop.*Exception'
    #[arg(value_name = "TYPE", value_parser = pattern)]
    pub types: Option<String>,
    /// Stop after N printed exceptions
    #[arg(short = 'n', long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub count: Option<u64>,
    /// Stop after this time, such as 90s, 10m or 2h
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::kept_for)]
    pub for_ms: Option<u64>,
    /// Print at most N exceptions of a process in a second, instead of 100, within what the process allows; all are
    /// counted
    #[arg(long, value_name = "N", value_parser = number(0, u64::from(u32::MAX)))]
    pub rate: Option<u64>,
    /// Load the agent first if it is missing
    #[arg(long)]
    pub attach: bool,
    /// Do not cut lines to the width of the terminal
    #[arg(long)]
    pub wide: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}
