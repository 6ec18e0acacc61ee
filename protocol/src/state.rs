//! States of a copy. Only the agent's ledger assigns them.

use crate::level::Level;
use serde::{Deserialize, Serialize};

/// State of a copy in the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum CopyState {
    /// Runs its original IL.
    Off,
    /// The CLR accepted the request. Nothing happens until the next call.
    Asked,
    /// The CLR compiled the instrumented body; calls go through it.
    Live,
    /// Reverted, but calls are still in flight in instrumented bodies (time and trace only).
    Reverting,
    /// The agent requested nothing; the row has the reason.
    Refused,
    /// The CLR reported an error, or the agent withdrew a bad body.
    Failed,
    /// The module or AppDomain was unloaded.
    Lost,
}

impl CopyState {
    /// Returns the word used on the command line and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            CopyState::Off => "off",
            CopyState::Asked => "asked",
            CopyState::Live => "live",
            CopyState::Reverting => "reverting",
            CopyState::Refused => "refused",
            CopyState::Failed => "failed",
            CopyState::Lost => "lost",
        }
    }

    /// Returns whether calls are counted now or from the next call on (*reverting*: calls in flight). If not,
    /// the number of calls is final.
    pub fn counts(self) -> bool {
        matches!(self, CopyState::Asked | CopyState::Live | CopyState::Reverting)
    }

    /// Returns whether calls are timed now or from the next call on if the wanted level is `wanted`. If not,
    /// the times are final.
    pub fn is_timed(self, wanted: Level) -> bool {
        self.counts() && (wanted >= Level::Time || self == CopyState::Reverting)
    }
}

impl std::fmt::Display for CopyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
