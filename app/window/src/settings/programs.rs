//! What the window keeps for each program: pinned methods.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most pins of a program.
const PINS: usize = 500;
/// Most programs.
const PROGRAMS: usize = 200;

/// Programs by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedPrograms(BTreeMap<String, SavedProgram>);

/// What is kept for one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedProgram {
    /// The full names of pinned methods, with their modules.
    pub pins: Vec<String>,
}

impl SavedPrograms {
    /// Returns what is kept for a program.
    pub fn get(&self, name: &str) -> Option<&SavedProgram> {
        self.0.get(name)
    }

    /// Pins methods of a program, or unpins them.
    pub fn pin(&mut self, program: &str, methods: &[String], on: bool) {
        if self.0.len() >= PROGRAMS && !self.0.contains_key(program) {
            return;
        }
        let pins = &mut self.0.entry(program.to_owned()).or_default().pins;
        pins.retain(|pin| !methods.contains(pin));
        if on {
            pins.extend_from_slice(methods);
            pins.truncate(PINS);
        }
        self.0.retain(|_, program| *program != SavedProgram::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_kept_once_and_per_program() {
        let mut programs = SavedPrograms::default();
        let add = ["Shop!Shop.Cart.Add(int)".to_owned()];
        programs.pin("Shop.dll", &add, true);
        programs.pin("Shop.dll", &add, true);
        assert_eq!(programs.get("Shop.dll").map(|program| program.pins.as_slice()), Some(&add[..]));
        assert_eq!(programs.get("other"), None);
        programs.pin("Shop.dll", &add, false);
        assert_eq!(programs, SavedPrograms::default(), "nothing is left of a program without pins");
    }

    #[test]
    fn memory_is_bounded() {
        let mut programs = SavedPrograms::default();
        let many: Vec<String> = (0..2 * PINS).map(|number| number.to_string()).collect();
        (0..2 * PROGRAMS).for_each(|number| programs.pin(&number.to_string(), &many, true));
        assert_eq!(programs.0.len(), PROGRAMS);
        assert!(programs.0.values().all(|program| program.pins.len() == PINS));
    }
}
