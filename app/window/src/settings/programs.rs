//! What the window keeps for each program: pinned methods and dial sets.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most pins of a program.
const PINS: usize = 500;
/// Most dial sets of a program; another one displaces the oldest.
const DIAL_SETS: usize = 20;
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
    /// Dial sets, in the order in which they were saved.
    pub dial_sets: Vec<SavedDialSet>,
}

/// A dial set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedDialSet {
    /// Its name.
    pub name: String,
    /// Its text, as in a file that `redial apply` reads.
    pub text: String,
}

impl SavedPrograms {
    /// Returns what is kept for a program.
    pub fn get(&self, name: &str) -> Option<&SavedProgram> {
        self.0.get(name)
    }

    /// Pins methods of a program, or unpins them.
    pub fn pin(&mut self, program: &str, methods: &[String], on: bool) {
        self.change(program, |program| {
            program.pins.retain(|pin| !methods.contains(pin));
            if on {
                program.pins.extend_from_slice(methods);
                program.pins.truncate(PINS);
            }
        });
    }

    /// Saves a dial set of a program in place of one with the same name.
    pub fn save_dial_set(&mut self, program: &str, set: SavedDialSet) {
        self.change(program, |program| {
            program.dial_sets.retain(|one| one.name != set.name);
            program.dial_sets.push(set);
            let excess = program.dial_sets.len().saturating_sub(DIAL_SETS);
            program.dial_sets.drain(..excess);
        });
    }

    /// Deletes a dial set of a program.
    pub fn delete_dial_set(&mut self, program: &str, name: &str) {
        self.change(program, |program| program.dial_sets.retain(|one| one.name != name));
    }

    fn change(&mut self, program: &str, change: impl FnOnce(&mut SavedProgram)) {
        if self.0.len() >= PROGRAMS && !self.0.contains_key(program) {
            return;
        }
        change(self.0.entry(program.to_owned()).or_default());
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
    fn dial_set_replaces_its_namesake() {
        let mut programs = SavedPrograms::default();
        let set = |name: &str, text: &str| SavedDialSet { name: name.into(), text: text.into() };
        for (name, text) in [("hot", "1"), ("cold", "2"), ("hot", "3")] {
            programs.save_dial_set("Shop.dll", set(name, text));
        }
        let kept = &programs.get("Shop.dll").expect("kept").dial_sets;
        assert_eq!(*kept, [set("cold", "2"), set("hot", "3")]);
        for name in ["hot", "cold"] {
            programs.delete_dial_set("Shop.dll", name);
        }
        assert_eq!(programs, SavedPrograms::default());
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
