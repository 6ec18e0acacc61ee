//! Tests that command names and keys are distinct, and that unavailable commands give a reason.

use super::*;
use eframe::egui::Key;
use std::collections::BTreeMap;

#[test]
fn names_and_keys_are_distinct() {
    let mut names = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for command in listed() {
        assert!(names.insert(command.name(), ()).is_none(), "two commands are named {}", command.name());
        if let Some(shortcut) = command.shortcut() {
            let key = format!("{shortcut:?}");
            assert!(keys.insert(key.clone(), ()).is_none(), "{key} is used twice");
        }
    }
}

#[test]
fn all_off_is_always_available_and_has_a_key() {
    assert_eq!(UiCommand::AllOff.enabled(&CommandContext::default()), Ok(()));
    assert!(UiCommand::AllOff.shortcut().is_some() && !UiCommand::AllOff.gives_way_to_text());
}

#[test]
fn unavailable_commands_give_a_reason() {
    const NONE: &str = "no method is selected: select one in the list first";
    let nothing = CommandContext::default();
    for command in listed() {
        if let Err(why) = command.enabled(&nothing) {
            assert!(why.len() > 10 && !why.ends_with('.'), "{why}");
        }
    }
    assert_eq!(UiCommand::ToggleSelected.enabled(&nothing), Err("no agent is connected"));
    let live = SubjectFacts {
        kind: SubjectKind::Process(ProcessFacts::default()),
        reach: Reach::Live,
        attachable: false,
        selected: 0,
        offered: [false; Level::ALL.len()],
        undo: false,
        redo: false,
        refused_for_control: false,
    };
    let connected = CommandContext { subject: Some(live), ..nothing };
    assert_eq!(UiCommand::TurnUp.enabled(&connected), Err(NONE));
    let subject = SubjectFacts { selected: 1, offered: [true, true, false, false], ..live };
    let selected = CommandContext { subject: Some(subject), ..nothing };
    assert_eq!(UiCommand::TurnUp.enabled(&selected), Ok(()));
    assert_eq!(UiCommand::TurnTo(Level::Count).enabled(&connected), Err(NONE));
    assert_eq!(UiCommand::TurnTo(Level::Count).enabled(&selected), Ok(()));
    for level in [Level::Time, Level::Trace] {
        let why = UiCommand::TurnTo(level).enabled(&selected).expect_err("it is not offered");
        assert!(why.ends_with("its program was started with a lower REDIAL_MAX_LEVEL"), "{why}");
    }
    let all = SubjectFacts { offered: [true; Level::ALL.len()], ..subject };
    let all = CommandContext { subject: Some(all), ..nothing };
    assert_eq!(UiCommand::TurnTo(Level::Trace).enabled(&all), Ok(()));
}

#[test]
fn typing_keys_give_way_to_text() {
    for command in listed().filter(|command| !command.gives_way_to_text()) {
        if let Some(shortcut) = command.shortcut() {
            let function = format!("{:?}", shortcut.logical_key).starts_with('F');
            let silent = shortcut.logical_key == Key::Escape || (function && shortcut.logical_key != Key::F);
            assert!(shortcut.modifiers.command || shortcut.modifiers.alt || silent, "{}", command.name());
        }
    }
}
