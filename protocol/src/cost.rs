//! What dialled calls cost, and the budget for that.

use crate::level::Level;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// What one call costs more at a level than undialled, as measured in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The level.
    pub level: Level,
    /// Thousandths of a nanosecond of processor time.
    pub picoseconds: u64,
}

/// A share of one processor, in hundredths of a percent. Several processors are more than 10,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share(pub u32);

/// Picoseconds of processor time a second that are a hundredth of a percent.
const PICOSECONDS: u64 = 100_000_000;

/// What is no budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a budget is off, or so many percent of one processor, from 0.01 to 100000: 5 or 0.5, for example")]
pub struct NotABudget;

impl Share {
    /// The largest budget: a thousand processors.
    pub const MOST: Share = Share(10_000_000);

    /// The share that so many picoseconds of processor time a second are.
    pub fn of_picoseconds(picoseconds: u64) -> Share {
        let hundredths = (picoseconds.saturating_add(PICOSECONDS / 2)) / PICOSECONDS;
        Share(u32::try_from(hundredths).unwrap_or(u32::MAX))
    }

    /// Picoseconds of processor time a second.
    pub fn picoseconds(self) -> u64 {
        u64::from(self.0) * PICOSECONDS
    }

    /// Percent of one processor.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// As precise as a measured share can be: two digits.
    pub fn rounded(self) -> Share {
        let unit = [10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10];
        let unit = unit.into_iter().find(|unit| self.0 >= unit * 10).unwrap_or(1);
        Share(self.0.saturating_add(unit / 2) / unit * unit)
    }

    /// Reads a budget: percent of one processor, or `off`, which is None.
    ///
    /// # Errors
    /// [`NotABudget`] when it is neither, too large, or finer than a hundredth.
    pub fn parse_budget(word: &str) -> Result<Option<Share>, NotABudget> {
        if word == "off" {
            return Ok(None);
        }
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.strip_suffix('%').unwrap_or(word).trim_end();
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || whole.len() > 6 || part.len() > 2 || !digits(whole) || !digits(part) {
            return Err(NotABudget);
        }
        let hundredths = format!("{whole}{part:0<2}").parse().map_err(|_| NotABudget)?;
        let share = Share(hundredths);
        if share == Share(0) || share > Share::MOST { Err(NotABudget) } else { Ok(Some(share)) }
    }
}

impl Display for Share {
    /// `7.25 %`, `7.2 %`, `7 %`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match (part, part % 10) {
            (0, _) => write!(f, "{whole} %"),
            (part, 0) => write!(f, "{whole}.{} %", part / 10),
            (part, _) => write!(f, "{whole}.{part:02} %"),
        }
    }
}

/// The budget of what dials may cost, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostBudget {
    /// What they may cost together; absent: as much as they do.
    pub limit: Option<Share>,
    /// What they cost as of the last look; absent while nobody looks: no budget stands, or no dial is on.
    pub cost: Option<Share>,
    /// What of `cost` is of dials that the budget leaves alone, because a person turned them up again.
    pub spared_cost: Share,
    /// How many these are.
    pub spared: u64,
    /// Copies that the budget stepped down, and nobody turned since.
    pub stepped: u64,
    /// Why it cannot be kept, as a sentence.
    pub problem: Option<String>,
    /// What it did last.
    pub last: Option<SteppedDown>,
}

/// Dials that the budget stepped down together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteppedDown {
    /// The change's number, for `Command::TakeBack`.
    pub change: u64,
    /// How many copies.
    pub copies: u64,
    /// What all dials cost before that.
    pub cost: Share,
    /// What they may cost together.
    pub limit: Share,
    /// The costliest of them: its row, what it was stepped down to, and what it cost.
    pub costliest: (crate::ids::RowId, Level, Share),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_as_people_write_them() {
        for (word, share) in [
            ("5", 500),
            ("0.5", 50),
            ("0.01", 1),
            ("7.2%", 720),
            ("7.25 %", 725),
            ("800", 80_000),
            ("100000", 10_000_000),
        ] {
            assert_eq!(Share::parse_budget(word), Ok(Some(Share(share))), "{word}");
        }
        assert_eq!(Share::parse_budget("off"), Ok(None));
        for word in
            ["", "0", "0.00", "-1", "0.001", "5 percent", "1e3", "100001", "9999999", "Off", ".5", "NaN"]
        {
            assert_eq!(Share::parse_budget(word), Err(NotABudget), "{word}");
        }
    }

    #[test]
    fn shares_are_told_as_precisely_as_they_are() {
        let told = |share: u32| Share(share).to_string();
        assert_eq!([500, 720, 725, 1, 12_345].map(told), ["5 %", "7.2 %", "7.25 %", "0.01 %", "123.45 %"]);
        let rounded = |share: u32| Share(share).rounded().to_string();
        assert_eq!([7, 72, 725, 1_249, 12_345].map(rounded), ["0.07 %", "0.72 %", "7.3 %", "12 %", "120 %"]);
    }

    #[test]
    fn a_processor_is_a_second_a_second() {
        assert_eq!(Share::of_picoseconds(1_000_000_000_000), Share(10_000));
        assert_eq!(Share(10_000).picoseconds(), 1_000_000_000_000);
        assert_eq!(
            Share::of_picoseconds(u64::MAX),
            Share(u32::try_from(u64::MAX / PICOSECONDS).unwrap_or(u32::MAX))
        );
    }
}
