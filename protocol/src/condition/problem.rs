//! Problems with conditions.

use crate::codec::capped;
use crate::limits::MAX_CONDITION_OFFERS;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A condition that cannot be parsed, or does not fit a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionError {
    /// The condition.
    pub text: String,
    /// The problem.
    pub problem: ConditionProblem,
}

impl std::error::Error for ConditionError {}

/// The problem, then the condition with a mark below the position.
impl Display for ConditionError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let before = self.text.chars().take(self.problem.at() as usize);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "{}\n  {}\n  {indent}^", self.problem, self.text)
    }
}

/// A problem at a position: the number of characters before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ConditionProblem {
    /// Something else must stand there.
    #[error("the condition needs {wanted} here")]
    Expected {
        /// Position.
        at: u32,
        /// Description of what must stand there.
        wanted: String,
    },
    /// The condition is longer or more deeply nested than allowed.
    #[error("the condition is too long")]
    TooLong {
        /// Position.
        at: u32,
    },
    /// A literal has a wrong form, or is out of range.
    #[error("'{text}' is not a valid {kind}")]
    BadLiteral {
        /// Position.
        at: u32,
        /// The literal.
        text: String,
        /// Its kind.
        kind: String,
    },
    /// A function is not known.
    #[error(
        "there is no function '{name}'; there are size, contains, startsWith, endsWith, has, duration, int, uint and double"
    )]
    UnknownFunction {
        /// Position.
        at: u32,
        /// Its name.
        name: String,
    },
    /// The method has no such value.
    #[error("the method has no value '{name}'; it has {}", list(offers))]
    UnknownName {
        /// Position.
        at: u32,
        /// The name.
        name: String,
        /// Names and types of the values that the method has.
        #[serde(deserialize_with = "capped::<_, _, MAX_CONDITION_OFFERS>")]
        offers: Vec<String>,
    },
    /// A value of the method cannot be used in conditions.
    #[error("the value of '{name}' is not available: {why}")]
    Unavailable {
        /// Position.
        at: u32,
        /// The name.
        name: String,
        /// The reason, a word.
        why: String,
    },
    /// An operator does not take values of these types.
    #[error("'{operator}' does not take {types}")]
    WrongTypes {
        /// Position.
        at: u32,
        /// The operator or function.
        operator: String,
        /// Description of the types.
        types: String,
    },
    /// The enum has no such value.
    #[error("{enum_name} has no value '{name}'; it has {}", list(offers))]
    UnknownEnumValue {
        /// Position.
        at: u32,
        /// The name.
        name: String,
        /// The enum.
        enum_name: String,
        /// Its values.
        #[serde(deserialize_with = "capped::<_, _, MAX_CONDITION_OFFERS>")]
        offers: Vec<String>,
    },
}

fn list(offers: &[String]) -> String {
    offers.join(", ")
}

impl ConditionProblem {
    /// Returns the position: the number of characters before it.
    pub fn at(&self) -> u32 {
        match self {
            ConditionProblem::Expected { at, .. }
            | ConditionProblem::TooLong { at }
            | ConditionProblem::BadLiteral { at, .. }
            | ConditionProblem::UnknownFunction { at, .. }
            | ConditionProblem::UnknownName { at, .. }
            | ConditionProblem::Unavailable { at, .. }
            | ConditionProblem::WrongTypes { at, .. }
            | ConditionProblem::UnknownEnumValue { at, .. } => *at,
        }
    }
}
