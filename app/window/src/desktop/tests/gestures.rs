//! Tests of user actions and their effect before an agent answers.

use super::fixture::{
    CONNECTION, crowd, deliver, execute, feed, minute, row, rows, second, status, with_shop,
};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::accesskit::{self, Role};
use eframe::egui::{self, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, LaunchUpdate, ProgramLine, RefusedRequest, Retry, Update};
use redial_model::visible_rows::VisibleRows;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event, Holder};
use redial_protocol::state::CopyState;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const ADD_DIAL: &str = "Dial of Shop!Shop.Cart.Add(int)";

/// Returns the newest log line of a kind.
pub fn last_logged(harness: &Harness<'static, App>, kind: LogKind) -> String {
    harness.state().model.log.newest(kind).map(|entry| entry.text.clone()).unwrap_or_default()
}

/// Returns the value of the widget with this label.
pub fn value(harness: &Harness<'static, App>, label: &str) -> String {
    harness.get_by_label(label).value().unwrap_or_default()
}

#[test]
fn change_is_pending_at_once_until_the_agent_answers() {
    let mut harness = with_shop(Theme::Dark);
    assert_eq!(value(&harness, ADD_DIAL), "off");
    harness.get_by_label(ADD_DIAL).click();
    harness.run_steps(3);
    assert_eq!(value(&harness, ADD_DIAL), "count, requesting…");
    assert_eq!(last_logged(&harness, LogKind::Request), format!("count on {ADD}"));
    let rows = vec![row(0, CopyState::Live, Level::Count, 3, None)];
    let ticket = harness.state().last_change.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
    deliver(
        &mut harness,
        vec![
            ConnectionUpdate::Dialled(ticket, Ok(Default::default())),
            ConnectionUpdate::Event(Event::Rows { id: None, rows }),
        ],
    );
    assert_eq!(value(&harness, ADD_DIAL), "count, live");
    assert_eq!(value(&harness, ADD), "live, 3 calls");
}

#[test]
fn the_keyboard_alone_finds_and_turns() {
    let mut harness = with_shop(Theme::Dark);
    harness.key_press(Key::Slash);
    harness.run_steps(3);
    harness.get_by_label("Method filter").type_text("cart add");
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().map(|shop| shop.table().list.len()), Some(1));
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert_eq!(last_logged(&harness, LogKind::Request), format!("count on {ADD}"));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    let shop = harness.state().model.current().expect("Shop");
    assert!(shop.table().list.len() > 1 && shop.table().list.filter().text.is_empty());
    assert_eq!(shop.table().selection.len(), 1, "it stays selected");
}

#[test]
fn writing_in_the_filter_turns_nothing() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.get_by_label("Method filter").focus();
    harness.run_steps(2);
    for key in [Key::Space, Key::ArrowRight, Key::Slash] {
        harness.key_press(key);
        harness.run_steps(2);
    }
    assert_eq!(last_logged(&harness, LogKind::Request), "");
}

#[test]
fn unoffered_level_is_refused_with_a_reason() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD_DIAL).set_value_accesskit(3.0);
    harness.run_steps(3);
    let why = last_logged(&harness, LogKind::Refusal);
    assert!(why.contains("trace is not offered by this agent"), "{why}");
    assert_eq!(value(&harness, ADD_DIAL), "off");
}

#[test]
fn all_off_key_makes_every_dial_pending() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    assert!(harness.query_by_label_contains("All dials off (3)").is_some(), "pending and live ones");
    harness.key_press(Key::F9);
    harness.run_steps(3);
    assert_eq!(value(&harness, ADD_DIAL), "off, requesting…");
    assert_eq!(last_logged(&harness, LogKind::Request), "all dials off");
}

#[test]
fn status_bar_updates_after_all_off() {
    let mut harness = with_shop(Theme::Dark);
    let on = AgentStatus { kept: 174, ..status() };
    deliver(&mut harness, vec![rows(), ConnectionUpdate::AgentStatus(Box::new(on))]);
    assert!(harness.query_by_label("174 on, kept").is_some());
    deliver(&mut harness, vec![ConnectionUpdate::AllOff(redial_model::ids::Ticket(9), Ok((170, 4)))]);
    assert!(harness.query_by_label("174 on, kept").is_some(), "some could not be turned off");
    deliver(&mut harness, vec![ConnectionUpdate::AllOff(redial_model::ids::Ticket(9), Ok((4, 0)))]);
    assert!(harness.query_by_label("174 on, kept").is_none());
}

#[test]
fn all_off_notification_lasts_while_true() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![ConnectionUpdate::AllOff(redial_model::ids::Ticket(9), Ok((2, 0)))]);
    let notes =
        |harness: &Harness<'static, App>| harness.query_all_by_label_contains("every dial is off").count();
    assert_eq!(notes(&harness), 2, "in the log and in the notification");
    deliver(&mut harness, vec![rows()]);
    assert_eq!(notes(&harness), 1, "dials are on again");
}

#[test]
fn takes_control_from_another_controller() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD_DIAL).click();
    harness.run_steps(2);
    let ticket = harness.state().last_change.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
    let refused = RefusedRequest {
        why: "the dials are controlled by redial watch (pid 9)".into(),
        holder: Some(Holder { pid: 9, program: "redial watch".into() }),
    };
    deliver(&mut harness, vec![ConnectionUpdate::Dialled(ticket, Err(refused))]);
    assert_eq!(value(&harness, ADD_DIAL), "off", "the request is withdrawn");
    harness.get_by_label("Take control").click();
    harness.run_steps(3);
    let again = harness.state().last_change.as_ref().map(|(ticket, ..)| *ticket);
    assert!(again.is_some_and(|again| again != ticket));
    assert_eq!(value(&harness, ADD_DIAL), "count, requesting…");
}

#[test]
fn selected_row_survives_reordering() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    execute(
        &mut harness,
        UiCommand::Sort(redial_model::list::Sort {
            key: redial_model::list::SortKey::Rate,
            descending: true,
        }),
    );
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    // While the pointer is over rows they keep their places.
    harness.remove_cursor();
    harness.run_steps(12);
    let top = |harness: &Harness<'static, App>| harness.get_by_label(ADD).rect().top();
    let before = top(&harness);
    deliver(&mut harness, vec![second(61, [1, 900_000])]);
    assert!(top(&harness) > before, "the other one is first now");
    let shop = harness.state().model.connections.get(&CONNECTION).expect("Shop");
    assert_eq!(shop.table.selection.len(), 1);
    harness.key_press_modifiers(Modifiers::NONE, Key::Space);
    harness.run_steps(3);
    assert_eq!(last_logged(&harness, LogKind::Request), format!("off on {ADD}"));
}

#[test]
fn a_table_is_copied_as_shown() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    let shop = harness.state().model.current().expect("Shop");
    let (text, rows) =
        crate::desktop::clipboard::table(VisibleRows::of(shop), crate::commands::CopyFormat::Csv);
    assert_eq!(rows, shop.table().row_count());
    assert!(text.contains("Shop!Shop.Cart.get_Total(),count,live,17,,"), "{text}");
    assert!(!text.contains("System.String"), "the framework is hidden");
}

/// A large change needs confirmation by Enter or a click, or is cancelled; a small one is made at once.
#[test]
fn large_change_asks_first() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    harness.state_mut().methods.text = "crowd".into();
    execute(&mut harness, UiCommand::Filter("crowd".into()));
    execute(&mut harness, UiCommand::SelectAll);
    let question = "Turn 1,500 dials to count?";
    let space = |harness: &mut Harness<'static, App>| {
        harness.key_press(Key::Space);
        harness.run_steps(3);
    };
    space(&mut harness);
    assert!(harness.query_by_label(question).is_some());
    assert!(harness.query_by_label_contains("1,500 methods in Crowd.").is_some());
    assert!(harness.query_by_label_contains("about 1.89 MiB in all").is_some());
    assert!(
        harness.state().model.current().expect("Shop").table().changes.pending().is_empty(),
        "nothing is requested yet"
    );

    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label(question).is_none());
    let shop = harness.state().model.current().expect("Shop");
    assert!(
        shop.table().changes.pending().is_empty() && shop.table().list.filter().text == "crowd",
        "only the question is gone"
    );

    space(&mut harness);
    harness.get_by_label_contains("Cancel").click();
    harness.run_steps(3);
    assert!(harness.state().model.current().expect("Shop").table().changes.pending().is_empty());

    space(&mut harness);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(harness.query_by_label(question).is_none());
    assert_eq!(harness.state().model.current().expect("Shop").table().changes.pending().len(), 1);
    let said_of_all = last_logged(&harness, LogKind::Request);
    assert!(said_of_all.starts_with("count on 1,500 methods"), "{said_of_all}");
}

#[test]
fn small_changes_and_off_need_no_confirmation() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    execute(&mut harness, UiCommand::Tree);
    execute(&mut harness, UiCommand::Filter("type0".into()));
    harness.get_by_label("Dial of type Type0").click();
    harness.run_steps(3);
    assert_eq!(
        harness.state().model.current().expect("Shop").table().changes.pending().len(),
        1,
        "a hundred at once"
    );
    // A search does not expand so many groups.
    execute(&mut harness, UiCommand::Filter("crowd".into()));
    let module = "Dial of module Crowd";
    harness.get_by_label(module).set_value_accesskit(1.0);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "Turn 1,500 dials").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").table().changes.pending().len(), 2);
    harness.get_by_label(module).set_value_accesskit(0.0);
    harness.run_steps(3);
    assert_eq!(
        harness.state().model.current().expect("Shop").table().changes.pending().len(),
        3,
        "off needs no confirmation"
    );
}

#[test]
fn a_row_has_a_menu_of_levels() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click_secondary();
    harness.run_steps(3);
    harness.get_by_label_contains("count exact").click();
    harness.run_steps(3);
    assert_eq!(last_logged(&harness, LogKind::Request), format!("count on {ADD}"));
    assert_eq!(value(&harness, ADD_DIAL), "count, requesting…");
}

#[test]
fn menu_applies_to_all_selected_rows() {
    const CLEAR: &str = "Shop!Shop.Cart.Clear()";
    const FIND: &str = "Shop!Shop.Catalog.Find(string)";
    for dial in ["Dial of ", ""] {
        let mut harness = with_shop(Theme::Dark);
        harness.get_by_label(ADD).click();
        harness.run_steps(3);
        harness.get_by_label(CLEAR).click_modifiers(Modifiers::SHIFT);
        harness.run_steps(3);
        let pick = |harness: &mut Harness<'static, App>, row: &str, title: &str| {
            harness.get_by_label(&format!("{dial}{row}")).click_secondary();
            harness.run_steps(3);
            let titles = harness.query_all_by_role_and_label(Role::Label, title).count();
            assert!(titles > 0, "{dial}{row}: {title}");
            harness.get_by_label_contains("count exact").click();
            harness.run_steps(3);
        };
        pick(&mut harness, ADD, "2 selected methods");
        assert_eq!(last_logged(&harness, LogKind::Request), format!("count on 2 methods ({ADD} and so on)"));
        // A row that is not among them is meant alone, and becomes selected.
        pick(&mut harness, FIND, FIND);
        assert_eq!(last_logged(&harness, LogKind::Request), format!("count on {FIND}"));
        assert_eq!(harness.state().model.current().expect("Shop").table().selection.len(), 1);
    }
}

#[test]
fn group_menu_shows_its_number_of_methods() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    harness.get_by_label("Dial of type Cart").click_secondary();
    harness.run_steps(3);
    assert!(harness.query_by_label("type Cart: 4 methods").is_some());
    harness.get_by_label_contains("count exact").click();
    harness.run_steps(3);
    assert!(last_logged(&harness, LogKind::Request).starts_with("count on 4 methods"));
}

#[test]
fn launched_program_output_has_a_tab() {
    let mut harness = with_shop(Theme::Dark);
    let ticket = harness.state_mut().model.begin_launch("shop", Default::default());
    let written = |error, text: &str| ProgramLine { error, text: text.into() };
    let lines = vec![written(false, "listening"), written(true, "out of stock")];
    feed(
        &mut harness,
        vec![
            Update::Launch(ticket, LaunchUpdate::Started { pid: 77 }),
            Update::Launch(ticket, LaunchUpdate::Output { lines, left_out: 5 }),
        ],
    );
    assert!(harness.query_by_label_contains("listening").is_none(), "the log stays open");
    harness.get_by_label("Output (2)").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("77: listening").is_some());
    assert!(harness.query_by_label_contains("77 err: out of stock").is_some());
    assert!(harness.query_by_label_contains("5 older ones were dropped").is_some());
}

#[test]
fn one_click_jumps_to_the_end_of_the_log() {
    let mut harness = with_shop(Theme::Dark);
    let time = harness.state().now();
    for number in 0..60 {
        harness.state_mut().model.log.add(time, None, LogKind::Connection, format!("Line {number} of them"));
    }
    harness.run_steps(3);
    let seen_text =
        |harness: &Harness<'static, App>, text: &str| harness.query_by_label_contains(text).is_some();
    let seen =
        |harness: &Harness<'static, App>, number| seen_text(harness, &format!("Line {number} of them"));
    assert!(seen(&harness, 59) && harness.query_by_label("Jump to newest").is_none());
    for end in ["Jump to newest", "Log"] {
        let at = harness.get_by_label("Log").rect().translate(egui::vec2(60.0, 50.0));
        super::stability::scroll(&mut harness, at, -20.0);
        harness.run_steps(3);
        assert!(!seen(&harness, 59), "older lines are visible");
        harness.state_mut().model.log.add(time, None, LogKind::Connection, "One more".to_owned());
        harness.run_steps(3);
        assert!(harness.query_by_label_contains("One more").is_none(), "they stay");
        harness.get_by_label(end).click();
        harness.run_steps(3);
        assert!(harness.query_all_by_label_contains("One more").next().is_some(), "{end}");
        assert!(harness.query_by_label("Jump to newest").is_none());
        harness.state_mut().model.log.add(time, None, LogKind::Connection, format!("Then this, {end}"));
        harness.run_steps(3);
        assert!(seen_text(&harness, &format!("Then this, {end}")), "it follows again");
    }
}

#[test]
fn failed_launch_shows_its_reason_in_the_dialog() {
    let mut harness = crate::desktop::tests::fixture::window(Theme::Dark);
    harness.state_mut().settings.launch.program = "no-such-program".into();
    execute(&mut harness, UiCommand::Launch);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "Launch").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("Starting…").is_some());
    let ticket = harness.state().pending.launch.expect("asked for");
    let failed = LaunchUpdate::Failed("no-such-program: program not found".into());
    feed(&mut harness, vec![Update::Launch(ticket, failed)]);
    harness.run_steps(3);
    assert!(harness.state().dialogs.launch, "it stays open");
    assert_eq!(
        harness.query_all_by_label_contains("program not found").count(),
        3,
        "the notification, the log, the dialog"
    );

    execute(&mut harness, UiCommand::StartLaunch);
    let ticket = harness.state().pending.launch.expect("asked for");
    feed(&mut harness, vec![Update::Launch(ticket, LaunchUpdate::Started { pid: 77 })]);
    assert!(!harness.state().dialogs.launch, "the program runs");
}

/// In a multi-line field plain Enter starts a new line.
#[test]
fn ctrl_enter_launches_from_every_field() {
    for (role, field) in [(Role::TextInput, "Program"), (Role::MultilineTextInput, "Dials")] {
        let mut harness = crate::desktop::tests::fixture::window(Theme::Dark);
        harness.state_mut().settings.launch.program = "no-such-program".into();
        execute(&mut harness, UiCommand::Launch);
        harness.get_by_role_and_label(role, field).focus();
        harness.run_steps(3);
        harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
        harness.run_steps(3);
        assert!(harness.state().pending.launch.is_some(), "{field}");
        assert_eq!(harness.state().settings.launch.dials, "", "the key types nothing");
    }
}

#[test]
fn ended_program_shows_its_end_and_output() {
    let mut harness = crate::desktop::tests::fixture::window(Theme::Dark);
    let ticket = harness.state_mut().model.begin_launch("shop --exact", Default::default());
    harness.state_mut().pending.launch = Some(ticket);
    let lines = vec![ProgramLine { error: true, text: "cannot use --exact".into() }];
    let launch = |launch| Update::Launch(ticket, launch);
    feed(
        &mut harness,
        vec![
            launch(LaunchUpdate::Started { pid: 4242 }),
            launch(LaunchUpdate::Loaded(crate::desktop::tests::fixture::SHOP)),
            launch(LaunchUpdate::Output { lines, left_out: 0 }),
        ],
    );
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Connected(Box::new(redial_model::fixtures::facts())), rows()],
    );
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
    );
    feed(&mut harness, vec![launch(LaunchUpdate::Ended { how: "with code 2".into() })]);
    for part in ["shop --exact ended with code 2", "cannot use --exact", "99 calls  Shop!Shop.Catalog.Find"] {
        assert!(harness.query_all_by_label_contains(part).next().is_some(), "{part}");
    }
}

#[test]
fn keys_of_one_frame_are_executed_in_order() {
    let key = |key, modifiers| egui::Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers,
    };
    let palette = key(Key::P, Modifiers::COMMAND.plus(Modifiers::SHIFT));
    let escape = key(Key::Escape, Modifiers::NONE);
    for (keys, open) in [([escape.clone(), palette.clone()], true), ([palette, escape], false)] {
        let mut harness = with_shop(Theme::Dark);
        harness.input_mut().events.extend(keys);
        harness.run_steps(3);
        assert_eq!(harness.state().dialogs.palette.is_some(), open);
    }
}

#[test]
fn escape_closes_a_menu_and_nothing_else() {
    let mut harness = with_shop(Theme::Dark);
    harness.state_mut().methods.text = "cart".into();
    execute(&mut harness, UiCommand::Filter("cart".into()));
    harness.get_by_label("Methods").click();
    harness.run_steps(3);
    let entry = harness.get_by_role_and_label(Role::CheckBox, "Hide framework methods");
    assert_eq!(entry.accesskit_node().toggled(), Some(accesskit::Toggled::True), "a switch shows its state");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label("Hide framework methods").is_none());
    assert_eq!(harness.state().model.current().expect("Shop").table().list.filter().text, "cart");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").table().list.filter().text, "");
}
