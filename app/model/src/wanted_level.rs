//! Methods with the level that is wanted for them.

use super::method_set::MethodSet;
use redial_protocol::level::Level;

/// Methods and their wanted level.
pub type WantedLevel = (Level, MethodSet);
