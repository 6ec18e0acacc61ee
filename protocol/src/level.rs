//! Levels of a dial.

use serde::{Deserialize, Serialize};

/// The amount of instrumentation that a dial asks for. Ordered, so that a cap is a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Level {
    /// The original IL.
    #[default]
    Off = 0,
    /// The exact number of calls.
    Count = 1,
    /// Count, and the duration of calls.
    Time = 2,
    /// Time, and one event per call.
    Trace = 3,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 4] = [Level::Off, Level::Count, Level::Time, Level::Trace];

    /// Highest level that agents of this version carry out, unless `REDIAL_MAX_LEVEL` sets a lower one.
    pub const OFFERED: Level = Level::Trace;

    /// Returns the word used on the command line, in dial sets and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Count => "count",
            Level::Time => "time",
            Level::Trace => "trace",
        }
    }

    /// Returns the level that a word names, if any.
    pub fn from_word(word: &str) -> Option<Level> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }

    /// Returns the level for a wire byte.
    pub fn from_byte(byte: u8) -> Option<Level> {
        Self::ALL.into_iter().find(|level| *level as u8 == byte)
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
