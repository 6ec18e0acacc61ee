//! Commands are told apart, and say why they cannot be given.

use super::*;
use eframe::egui::Key;
use std::collections::BTreeMap;

#[test]
fn names_and_keys_are_told_apart() {
    let mut names = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for command in listed() {
        assert!(names.insert(command.name(), ()).is_none(), "two are called {}", command.name());
        if let Some(shortcut) = command.shortcut() {
            let key = format!("{shortcut:?}");
            assert!(keys.insert(key.clone(), ()).is_none(), "{key} is taken twice");
        }
    }
}

#[test]
fn all_off_is_always_there_and_has_a_key() {
    assert_eq!(Command::AllOff.enabled(&Situation::default()), Ok(()));
    assert!(Command::AllOff.shortcut().is_some() && !Command::AllOff.gives_way_to_text());
}

#[test]
fn what_cannot_be_done_says_why() {
    const NONE: &str = "no method is selected: pick one in the list first";
    let nothing = Situation::default();
    for command in listed() {
        if let Err(why) = command.enabled(&nothing) {
            assert!(why.len() > 10 && !why.ends_with('.'), "{why}");
        }
    }
    assert_eq!(Command::ToggleSelected.enabled(&nothing), Err("no agent is connected"));
    let connected = Situation { connected: true, process: true, ..nothing };
    assert_eq!(Command::TurnUp.enabled(&connected), Err(NONE));
    let selected = Situation { selected: 1, offered: [true, true, false, false], ..connected };
    assert_eq!(Command::TurnUp.enabled(&selected), Ok(()));
    assert_eq!(Command::TurnTo(Level::Count).enabled(&connected), Err(NONE));
    assert_eq!(Command::TurnTo(Level::Count).enabled(&selected), Ok(()));
    let why = Command::TurnTo(Level::Time).enabled(&selected).expect_err("it is not offered");
    assert!(why.ends_with("its program was started with a lower REDIAL_MAX_LEVEL"), "{why}");
    assert_eq!(Command::TurnTo(Level::Trace).enabled(&selected), Err("to come in a later version"));
}

#[test]
fn keys_that_write_give_way_to_text() {
    for command in listed().filter(|command| !command.gives_way_to_text()) {
        if let Some(shortcut) = command.shortcut() {
            let function = format!("{:?}", shortcut.logical_key).starts_with('F');
            let silent = shortcut.logical_key == Key::Escape || (function && shortcut.logical_key != Key::F);
            assert!(shortcut.modifiers.command || silent, "{}", command.name());
        }
    }
}
