//! The states of a copy, as only the agent's ledger may say them.

use crate::level::Level;
use serde::{Deserialize, Serialize};

/// What the runtime does with a copy right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum State {
    /// Runs its original IL.
    Off,
    /// The CLR accepted the request; nothing happens until the next call.
    Asked,
    /// The CLR compiled our body; calls go through it.
    Live,
    /// Reverted, while calls are still in flight in our bodies (time and trace only).
    Reverting,
    /// Nothing was requested, for the reason given.
    Refused,
    /// The CLR reported an error, or our body was found bad and withdrawn.
    Failed,
    /// Its module or AppDomain was unloaded.
    Lost,
}

impl State {
    /// The word used on the command line and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Off => "off",
            State::Asked => "asked",
            State::Live => "live",
            State::Reverting => "reverting",
            State::Refused => "refused",
            State::Failed => "failed",
            State::Lost => "lost",
        }
    }

    /// Whether calls are counted, or will be at the next one (*reverting*: those that are under way); else the number of
    /// calls is the last there was.
    pub fn counts(self) -> bool {
        matches!(self, State::Asked | State::Live | State::Reverting)
    }

    /// Whether calls of what is wanted at that level are timed, or will be at the next one; else times are the last there
    /// were.
    pub fn is_timed(self, wanted: Level) -> bool {
        self.counts() && (wanted >= Level::Time || self == State::Reverting)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
