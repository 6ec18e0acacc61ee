//! Arguments of `redial hot`.

use super::super::target::Target;
use super::values::{number, pattern};
use crate::duration;
use clap::Args;
use redial_model::hot::HotOptions;
use redial_protocol::cost::Share;

/// `hot`
#[derive(Debug, Args)]
pub struct HotArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Methods to search; without it, those of every module that is not part of a framework
    #[arg(value_parser = pattern)]
    pub pattern: Option<String>,
    /// Keep the N methods with the most self time
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = number(1, 1_000))]
    pub top: u64,
    /// Watch calls for this long: a quarter of it counts them, the rest times them
    #[arg(long = "for", value_name = "DURATION", default_value = "10s", value_parser = duration::watched_for)]
    pub watch_ms: u64,
    /// Time methods only as far as that costs at most PERCENT of one processor
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = limit)]
    pub budget: Share,
    /// Take control from the program that has it
    #[arg(long)]
    pub take: bool,
    /// Load the agent first if it is missing
    #[arg(long)]
    pub attach: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl HotArguments {
    /// Returns the options of the search.
    pub fn options(&self) -> HotOptions {
        HotOptions {
            pattern: self.pattern.clone(),
            top: usize::try_from(self.top).unwrap_or(usize::MAX),
            budget_percent: self.budget.percent(),
            watch_ms: self.watch_ms,
            take: self.take,
        }
    }
}

fn limit(word: &str) -> Result<Share, String> {
    let share = Share::parse_budget(word).map_err(|error| error.to_string())?;
    share.ok_or_else(|| {
        "the search needs a budget: a percentage of one processor, such as 5 or 0.5".to_owned()
    })
}
