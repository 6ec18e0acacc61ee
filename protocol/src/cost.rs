//! Cost of dialled calls, and the budget for it.

use crate::diagnostics::BudgetProblem;
use crate::level::Level;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Additional cost of one call at a level, as measured in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The level.
    pub level: Level,
    /// Picoseconds of processor time.
    pub picoseconds: u64,
}

/// Share of one processor, in hundredths of a percent. More than 10,000 means several processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share(pub u32);

/// Bytes that the CLR keeps per recompilation, for code and IL, until the AppDomain unloads (measured: 660 to 1,230 for
/// the methods of a server; docs/design/memory.md).
pub const CLR_BYTES_PER_COMPILATION: u64 = 1_200;

/// Bytes that the CLR keeps per method and request for recompilation, called or not, until the process ends.
pub const CLR_BYTES_PER_REQUEST: u64 = 122;

/// Bytes that the CLR keeps per method and request to revert, until the process ends.
pub const CLR_BYTES_PER_REVERT: u64 = 32;

/// Picoseconds of processor time per second in a hundredth of a percent.
const PICOSECONDS: u64 = 100_000_000;

/// The text is not a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a budget is off or a percentage of one processor, from 0.01 to 100000, for example 5 or 0.5")]
pub struct BudgetParseError;

impl Share {
    /// Largest budget: a thousand processors.
    pub const MAX: Share = Share(10_000_000);

    /// Converts from picoseconds of processor time per second.
    pub fn from_picoseconds(picoseconds: u64) -> Share {
        let hundredths = (picoseconds.saturating_add(PICOSECONDS / 2)) / PICOSECONDS;
        Share(u32::try_from(hundredths).unwrap_or(u32::MAX))
    }

    /// Returns picoseconds of processor time per second.
    pub fn picoseconds(self) -> u64 {
        u64::from(self.0) * PICOSECONDS
    }

    /// Returns percent of one processor.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Rounds to two significant digits, the precision of a measured share.
    pub fn rounded(self) -> Share {
        let unit = [10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10];
        let unit = unit.into_iter().find(|unit| self.0 >= unit * 10).unwrap_or(1);
        Share(self.0.saturating_add(unit / 2) / unit * unit)
    }

    /// Parses a budget: percent of one processor, or `off`, which returns None.
    ///
    /// # Errors
    /// [`BudgetParseError`] if the text is neither, is too large, or is finer than a hundredth.
    pub fn parse_budget(word: &str) -> Result<Option<Share>, BudgetParseError> {
        if word == "off" {
            return Ok(None);
        }
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.strip_suffix('%').unwrap_or(word).trim_end();
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || whole.len() > 6 || part.len() > 2 || !digits(whole) || !digits(part) {
            return Err(BudgetParseError);
        }
        let hundredths = format!("{whole}{part:0<2}").parse().map_err(|_| BudgetParseError)?;
        let share = Share(hundredths);
        if share == Share(0) || share > Share::MAX { Err(BudgetParseError) } else { Ok(Some(share)) }
    }
}

impl Display for Share {
    /// Formats as `7.25 %`, `7.2 %` or `7 %`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match (part, part % 10) {
            (0, _) => write!(f, "{whole} %"),
            (part, 0) => write!(f, "{whole}.{} %", part / 10),
            (part, _) => write!(f, "{whole}.{part:02} %"),
        }
    }
}

/// The budget for the cost of dials, and its effects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostBudget {
    /// Limit for all dials together; absent: no limit.
    pub limit: Option<Share>,
    /// Cost at the last measurement; absent if nothing is measured because there is no budget or no dial is on.
    pub cost: Option<Share>,
    /// Part of `cost` from dials that the budget leaves alone because a person raised them again.
    pub spared_cost: Share,
    /// Number of these dials.
    pub spared: u64,
    /// Copies that the budget stepped down and that nobody has turned since.
    pub stepped: u64,
    /// Reason why the agent cannot keep the budget.
    pub problem: Option<BudgetProblem>,
    /// The last step.
    pub last: Option<BudgetStep>,
}

/// One step of the budget: dials that it turned down together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStep {
    /// Number of the change, for `WireCommand::UndoChange`.
    pub change: u64,
    /// Number of copies.
    pub copies: u64,
    /// Cost of all dials before the step.
    pub cost: Share,
    /// Limit for all dials together.
    pub limit: Share,
    /// The costliest of these dials: its row, its new level, and its cost before.
    pub costliest: (crate::ids::RowId, Level, Share),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_budgets_in_all_spellings() {
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
            assert_eq!(Share::parse_budget(word), Err(BudgetParseError), "{word}");
        }
    }

    #[test]
    fn shares_print_only_significant_digits() {
        let printed = |share: u32| Share(share).to_string();
        assert_eq!([500, 720, 725, 1, 12_345].map(printed), ["5 %", "7.2 %", "7.25 %", "0.01 %", "123.45 %"]);
        let rounded = |share: u32| Share(share).rounded().to_string();
        assert_eq!([7, 72, 725, 1_249, 12_345].map(rounded), ["0.07 %", "0.72 %", "7.3 %", "12 %", "120 %"]);
    }

    #[test]
    fn one_processor_is_one_second_per_second() {
        assert_eq!(Share::from_picoseconds(1_000_000_000_000), Share(10_000));
        assert_eq!(Share(10_000).picoseconds(), 1_000_000_000_000);
        assert_eq!(
            Share::from_picoseconds(u64::MAX),
            Share(u32::try_from(u64::MAX / PICOSECONDS).unwrap_or(u32::MAX))
        );
    }
}
