//! What the window keeps for each program: pinned methods and dial sets.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most pins of a program.
const PINS: usize = 500;
/// Why no more methods are pinned.
const PINS_FULL: &str = "a program can have at most 500 pinned methods: unpin some first";
/// Most dial sets of a program.
const DIAL_SETS: usize = 20;
/// Why no more dial sets are saved.
const DIAL_SETS_FULL: &str = "20 dial sets are saved for this program already: delete one first";
/// Most programs.
const PROGRAMS: usize = 200;
/// Why no more programs are kept.
const PROGRAMS_FULL: &str = "200 programs have pins or dial sets already: delete some first";

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
    ///
    /// # Errors
    ///
    /// Returns the reason if there is no room for all of them. None is pinned then.
    pub fn pin(&mut self, program: &str, methods: &[String], on: bool) -> Result<(), &'static str> {
        if !on {
            self.remove(program, |program| program.pins.retain(|pin| !methods.contains(pin)));
            return Ok(());
        }
        self.add(program, |program| {
            let mut pins = program.pins.clone();
            for method in methods {
                if pins.contains(method) {
                    continue;
                }
                if pins.len() >= PINS {
                    return Err(PINS_FULL);
                }
                pins.push(method.clone());
            }
            program.pins = pins;
            Ok(())
        })
    }

    /// Saves a dial set of a program in place of one with the same name.
    ///
    /// # Errors
    ///
    /// Returns the reason if there is no room for it. Nothing changes then.
    pub fn save_dial_set(&mut self, program: &str, set: SavedDialSet) -> Result<(), &'static str> {
        self.add(program, |program| {
            let is_new = program.dial_sets.iter().all(|one| one.name != set.name);
            if is_new && program.dial_sets.len() >= DIAL_SETS {
                return Err(DIAL_SETS_FULL);
            }
            program.dial_sets.retain(|one| one.name != set.name);
            program.dial_sets.push(set);
            Ok(())
        })
    }

    /// Deletes a dial set of a program.
    pub fn delete_dial_set(&mut self, program: &str, name: &str) {
        self.remove(program, |program| program.dial_sets.retain(|one| one.name != name));
    }

    fn add(
        &mut self,
        program: &str,
        change: impl FnOnce(&mut SavedProgram) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        if self.0.len() >= PROGRAMS && !self.0.contains_key(program) {
            return Err(PROGRAMS_FULL);
        }
        let added = change(self.0.entry(program.to_owned()).or_default());
        self.drop_empty();
        added
    }

    fn remove(&mut self, program: &str, change: impl FnOnce(&mut SavedProgram)) {
        if let Some(saved) = self.0.get_mut(program) {
            change(saved);
        }
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
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
        for _ in 0..2 {
            assert_eq!(programs.pin("Shop.dll", &add, true), Ok(()));
        }
        assert_eq!(programs.get("Shop.dll").map(|program| program.pins.as_slice()), Some(&add[..]));
        assert_eq!(programs.get("other"), None);
        assert_eq!(programs.pin("Shop.dll", &add, false), Ok(()));
        assert_eq!(programs, SavedPrograms::default(), "nothing is left of a program without pins");
    }

    #[test]
    fn dial_set_replaces_its_namesake() {
        let mut programs = SavedPrograms::default();
        let set = |name: &str, text: &str| SavedDialSet { name: name.into(), text: text.into() };
        for (name, text) in [("hot", "1"), ("cold", "2"), ("hot", "3")] {
            assert_eq!(programs.save_dial_set("Shop.dll", set(name, text)), Ok(()));
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
        let many: Vec<String> = (0..=PINS).map(|number| number.to_string()).collect();
        assert_eq!(programs.pin("Shop.dll", &many, true), Err(PINS_FULL));
        assert_eq!(programs, SavedPrograms::default(), "a refusal pins nothing");
        let most = &many[..PINS];
        for number in 0..PROGRAMS {
            assert_eq!(programs.pin(&number.to_string(), most, true), Ok(()));
        }
        assert_eq!(programs.pin("0", &many[PINS..], true), Err(PINS_FULL));
        assert_eq!(programs.pin("one more", most, true), Err(PROGRAMS_FULL));
        assert_eq!(programs.pin("one more", most, false), Ok(()), "it has no pins");
        assert_eq!(programs.0.len(), PROGRAMS);
        assert!(programs.0.values().all(|program| program.pins == most));
        for (limit, text) in [(PINS, PINS_FULL), (DIAL_SETS, DIAL_SETS_FULL), (PROGRAMS, PROGRAMS_FULL)] {
            assert!(text.contains(&limit.to_string()), "{text}");
        }
    }

    #[test]
    fn a_full_list_keeps_its_oldest_dial_set() {
        let mut programs = SavedPrograms::default();
        let set = |number: usize| SavedDialSet { name: number.to_string(), text: String::new() };
        for number in 0..DIAL_SETS {
            assert_eq!(programs.save_dial_set("Shop.dll", set(number)), Ok(()));
        }
        assert_eq!(programs.save_dial_set("Shop.dll", set(DIAL_SETS)), Err(DIAL_SETS_FULL));
        assert_eq!(programs.save_dial_set("Shop.dll", set(5)), Ok(()), "it replaces its namesake");
        let kept = &programs.get("Shop.dll").expect("kept").dial_sets;
        assert_eq!((kept.len(), &kept[0]), (DIAL_SETS, &set(0)));
    }
}
