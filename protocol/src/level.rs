//! The levels a dial can be turned to.

use serde::{Deserialize, Serialize};

/// How much a dial asks for; ordered, so that a cap is a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Level {
    /// The original IL.
    Off = 0,
    /// The exact number of calls.
    Count = 1,
    /// Count, and how long calls take.
    Time = 2,
    /// Time, and one event per call.
    Trace = 3,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 4] = [Level::Off, Level::Count, Level::Time, Level::Trace];

    /// The highest level that agents of this version carry out, unless `REDIAL_MAX_LEVEL` says less.
    pub const OFFERED: Level = Level::Time;

    /// The word used on the command line, in dial sets and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Count => "count",
            Level::Time => "time",
            Level::Trace => "trace",
        }
    }

    /// The level a word names, if it names one.
    pub fn from_word(word: &str) -> Option<Level> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }

    /// The level a wire byte stands for.
    pub fn from_byte(byte: u8) -> Option<Level> {
        Self::ALL.into_iter().find(|level| *level as u8 == byte)
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
