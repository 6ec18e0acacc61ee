//! Options that `dial` and `apply` share.

use super::super::duration;
use clap::Args;
use redial_protocol::order::Lifetime;

/// Options that `dial` and `apply` share.
#[derive(Debug, Default, Args)]
pub struct ChangeArguments {
    /// Stay in the foreground and turn the dials off when this command ends
    #[arg(long)]
    pub hold: bool,
    /// Turn the dials off automatically after DURATION: 90s, 10m, 2h, 1d
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::kept_for, conflicts_with = "hold")]
    pub kept_for: Option<u64>,
    /// Also set orders that match nothing yet
    #[arg(long)]
    pub later: bool,
    /// Take control from the program that has it
    #[arg(long)]
    pub take: bool,
    /// Load the agent first if it is missing
    #[arg(long, conflicts_with = "plan")]
    pub attach: bool,
    /// Stay in the foreground and dial every process of that name or pool that starts later
    #[arg(long, conflicts_with = "plan")]
    pub follow: bool,
    /// Show what would be done, without changing anything
    #[arg(long)]
    pub plan: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl ChangeArguments {
    /// Returns the lifetime of the orders.
    pub fn lifetime(&self) -> Lifetime {
        match (self.hold, self.kept_for) {
            (true, _) => Lifetime::Held,
            (false, Some(ms)) => Lifetime::KeptFor { ms },
            (false, None) => Lifetime::Kept,
        }
    }
}
