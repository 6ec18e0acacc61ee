//! Arguments of `redial trace` and `redial events`.

use super::super::target::Target;
use super::change::ChangeArguments;
use super::values::{number, pattern};
use clap::Args;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_CAPTURE_DEPTH;
use redial_protocol::order::{Order, TimeOptions};
use std::path::PathBuf;

/// `trace`
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Methods to trace
    #[arg(value_parser = pattern)]
    pub pattern: String,
    /// Stop after N calls
    #[arg(short = 'n', long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub count: Option<u64>,
    /// Capture at most N calls of a method in a second, instead of 1,000, within what the process allows
    #[arg(long, value_name = "N", value_parser = number(1, u64::from(u32::MAX)))]
    pub rate: Option<u64>,
    /// Capture objects within objects down to D levels, instead of 2: 0 only the types, at most 3
    #[arg(long, value_name = "D", value_parser = number(0, u64::from(MAX_CAPTURE_DEPTH)))]
    pub depth: Option<u64>,
    /// Capture the callers of each call, up to 32
    #[arg(long)]
    pub stack: bool,
    /// Capture only calls for which this is true, for example 'rate > 0.2 && order.Items.size() > 3' or 'duration >
    /// duration("10ms")'
    #[arg(long, value_name = "EXPR")]
    pub when: Option<String>,
    /// Only AppDomains whose name starts with PREFIX, including later ones
    #[arg(long, value_name = "PREFIX", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub domain: Option<String>,
    /// With --domain, also trace copies that other AppDomains share
    #[arg(long, requires = "domain")]
    pub all_domains: bool,
    /// Take control from the program that has it
    #[arg(long)]
    pub take: bool,
    /// Load the agent first if it is missing
    #[arg(long)]
    pub attach: bool,
    /// Do not cut lines to the width of the terminal
    #[arg(long)]
    pub wide: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Write the calls to FILE instead, as a trace for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "wide"])]
    pub perfetto: Option<PathBuf>,
}

impl TraceArguments {
    /// Returns the order that traces the methods.
    pub fn order(&self) -> Order {
        Order {
            domain: self.domain.clone(),
            all_domains: self.all_domains,
            options: TimeOptions {
                rate: self.rate.and_then(|rate| u32::try_from(rate).ok()),
                depth: self.depth.and_then(|depth| u8::try_from(depth).ok()),
                stack: self.stack,
                ..TimeOptions::default()
            },
            when: self.when.clone(),
            ..Order::new(&self.pattern, Level::Trace)
        }
    }

    /// Returns the options of the change that sets the dials.
    pub fn change(&self) -> ChangeArguments {
        ChangeArguments { hold: true, take: self.take, attach: self.attach, ..ChangeArguments::default() }
    }
}

/// `events`
#[derive(Debug, Args)]
pub struct EventsArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// List only calls of methods that match
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// List the latest calls, which the agent keeps for each method; the default
    #[arg(long, conflicts_with = "in_flight")]
    pub last: bool,
    /// List the calls in flight instead, the longest first
    #[arg(long)]
    pub in_flight: bool,
    /// List at most N calls
    #[arg(long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub count: Option<u64>,
    /// Do not cut lines to the width of the terminal
    #[arg(long)]
    pub wide: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}
