//! What a user does, and what the window makes of it, without an agent: what must happen before it answers.

use super::stage::{CONNECTION, act, crowd, feed, minute, row, rows, second, status, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::lines::Lines;
use crate::model::log::Kind;
use crate::model::update::{Launch, Refused, Retry, Told, Update, Written};
use eframe::egui::accesskit::{self, Role};
use eframe::egui::{self, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event, Holder};
use redial_protocol::state::State;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const ADD_DIAL: &str = "dial of Shop!Shop.Cart.Add(int)";

/// The newest line of the log of that kind.
pub fn said(harness: &Harness<'static, App>, kind: Kind) -> String {
    harness.state().model.log.newest(kind).map(|entry| entry.text.clone()).unwrap_or_default()
}

/// The value of what is called so.
pub fn value(harness: &Harness<'static, App>, label: &str) -> String {
    harness.get_by_label(label).value().unwrap_or_default()
}

#[test]
fn a_turn_is_pending_in_the_same_frame_and_the_agents_word_replaces_it() {
    let mut harness = with_shop(Theme::Dark);
    assert_eq!(value(&harness, ADD_DIAL), "off");
    harness.get_by_label(ADD_DIAL).click();
    harness.run_steps(3);
    assert_eq!(value(&harness, ADD_DIAL), "count, asking…");
    assert_eq!(said(&harness, Kind::Request), format!("count on {ADD}"));
    let rows = vec![row(0, State::Live, Level::Count, 3, None)];
    let ticket = harness.state().last_turn.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
    tell(
        &mut harness,
        vec![Told::Dialled(ticket, Ok(Default::default())), Told::Event(Event::Rows { id: None, rows })],
    );
    assert_eq!(value(&harness, ADD_DIAL), "count, live");
    assert_eq!(value(&harness, ADD), "live, 3 calls");
}

#[test]
fn the_keyboard_alone_finds_and_turns() {
    let mut harness = with_shop(Theme::Dark);
    harness.key_press(Key::Slash);
    harness.run_steps(3);
    harness.get_by_label("filter of the methods").type_text("cart add");
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().map(|shop| shop.list.len()), Some(1));
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert_eq!(said(&harness, Kind::Request), format!("count on {ADD}"));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    let shop = harness.state().model.current().expect("Shop");
    assert!(shop.list.len() > 1 && shop.list.filter().text.is_empty());
    assert_eq!(shop.selection.len(), 1, "it stays selected");
}

#[test]
fn writing_in_the_filter_turns_nothing() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.get_by_label("filter of the methods").focus();
    harness.run_steps(2);
    for key in [Key::Space, Key::ArrowRight, Key::Slash] {
        harness.key_press(key);
        harness.run_steps(2);
    }
    assert_eq!(said(&harness, Kind::Request), "");
}

#[test]
fn a_level_that_is_not_offered_is_refused_with_its_reason() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD_DIAL).set_value_accesskit(3.0);
    harness.run_steps(3);
    assert!(said(&harness, Kind::Refusal).contains("trace is to come in a later version"));
    assert_eq!(value(&harness, ADD_DIAL), "off");
}

#[test]
fn all_off_is_one_key_and_turns_every_dial_pending() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![rows()]);
    assert!(harness.query_by_label_contains("All dials off (3)").is_some(), "asked and live ones");
    harness.key_press(Key::F9);
    harness.run_steps(3);
    assert_eq!(value(&harness, ADD_DIAL), "off, asking…");
    assert_eq!(said(&harness, Kind::Request), "all dials off");
}

#[test]
fn the_strip_says_at_once_that_none_is_on() {
    let mut harness = with_shop(Theme::Dark);
    let on = AgentStatus { kept: 174, ..status() };
    tell(&mut harness, vec![rows(), Told::AgentStatus(Box::new(on))]);
    assert!(harness.query_by_label("174 on, kept").is_some());
    tell(&mut harness, vec![Told::AllOff(crate::model::ids::Ticket(9), Ok((170, 4)))]);
    assert!(harness.query_by_label("174 on, kept").is_some(), "some could not be turned off");
    tell(&mut harness, vec![Told::AllOff(crate::model::ids::Ticket(9), Ok((4, 0)))]);
    assert!(harness.query_by_label("174 on, kept").is_none());
}

#[test]
fn that_all_is_off_is_said_only_while_it_is() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![Told::AllOff(crate::model::ids::Ticket(9), Ok((2, 0)))]);
    let said =
        |harness: &Harness<'static, App>| harness.query_all_by_label_contains("every dial is off").count();
    assert_eq!(said(&harness), 2, "in the log and above everything");
    tell(&mut harness, vec![rows()]);
    assert_eq!(said(&harness), 1, "dials are on again");
}

#[test]
fn what_another_controls_can_be_taken() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD_DIAL).click();
    harness.run_steps(2);
    let ticket = harness.state().last_turn.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
    let refused = Refused {
        why: "the dials are controlled by redial watch (pid 9)".into(),
        holder: Some(Holder { pid: 9, program: "redial watch".into() }),
    };
    tell(&mut harness, vec![Told::Dialled(ticket, Err(refused))]);
    assert_eq!(value(&harness, ADD_DIAL), "off", "the wish is withdrawn");
    harness.get_by_label("Take control").click();
    harness.run_steps(3);
    let again = harness.state().last_turn.as_ref().map(|(ticket, ..)| *ticket);
    assert!(again.is_some_and(|again| again != ticket));
    assert_eq!(value(&harness, ADD_DIAL), "count, asking…");
}

#[test]
fn the_selected_row_stays_selected_while_numbers_reorder_the_table() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![rows()]);
    tell(&mut harness, minute());
    act(
        &mut harness,
        Command::Sort(crate::model::list::Sort { key: crate::model::list::Key::Rate, descending: true }),
    );
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    // While it is among the rows they keep their places.
    harness.remove_cursor();
    harness.run_steps(12);
    let top = |harness: &Harness<'static, App>| harness.get_by_label(ADD).rect().top();
    let before = top(&harness);
    tell(&mut harness, vec![second(61, [1, 900_000])]);
    assert!(top(&harness) > before, "the other one is first now");
    let shop = harness.state().model.connections.get(&CONNECTION).expect("Shop");
    assert_eq!(shop.selection.len(), 1);
    harness.key_press_modifiers(Modifiers::NONE, Key::Space);
    harness.run_steps(3);
    assert_eq!(said(&harness, Kind::Request), format!("off on {ADD}"));
}

#[test]
fn a_table_is_copied_as_shown() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![rows()]);
    let shop = harness.state().model.current().expect("Shop");
    let (text, rows) = crate::desktop::copy::table(Lines::of(shop), crate::commands::Form::Csv);
    assert_eq!(rows, shop.row_count());
    assert!(text.contains("Shop!Shop.Cart.get_Total(),count,live,17,,"), "{text}");
    assert!(!text.contains("System.String"), "the framework is hidden");
}

/// A large turn is asked about first: by Enter, by a click, or not at all; a small one is done at once.
#[test]
fn a_large_turn_is_asked_about_first() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    harness.state_mut().methods.text = "crowd".into();
    act(&mut harness, Command::Filter("crowd".into()));
    act(&mut harness, Command::SelectAll);
    let question = "Turn 1,500 dials to count?";
    let space = |harness: &mut Harness<'static, App>| {
        harness.key_press(Key::Space);
        harness.run_steps(3);
    };
    space(&mut harness);
    assert!(harness.query_by_label(question).is_some());
    assert!(harness.query_by_label_contains("1,500 methods in Crowd.").is_some());
    assert!(harness.query_by_label_contains("about 2.00 MiB in all").is_some());
    assert!(
        harness.state().model.current().expect("Shop").turns.pending().is_empty(),
        "nothing is asked yet"
    );

    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label(question).is_none());
    let shop = harness.state().model.current().expect("Shop");
    assert!(
        shop.turns.pending().is_empty() && shop.list.filter().text == "crowd",
        "only the question is gone"
    );

    space(&mut harness);
    harness.get_by_label_contains("Cancel").click();
    harness.run_steps(3);
    assert!(harness.state().model.current().expect("Shop").turns.pending().is_empty());

    space(&mut harness);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(harness.query_by_label(question).is_none());
    assert_eq!(harness.state().model.current().expect("Shop").turns.pending().len(), 1);
    let said_of_all = said(&harness, Kind::Request);
    assert!(said_of_all.starts_with("count on 1,500 methods"), "{said_of_all}");
}

#[test]
fn turning_a_hundred_on_or_everything_off_needs_no_question() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    act(&mut harness, Command::Tree);
    act(&mut harness, Command::Filter("type0".into()));
    harness.get_by_label("dial of type Type0").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").turns.pending().len(), 1, "a hundred at once");
    // So many are not unfolded by a search.
    act(&mut harness, Command::Filter("crowd".into()));
    let module = "dial of AppDomain clrhost";
    harness.get_by_label(module).set_value_accesskit(1.0);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "Turn 1,500 dials").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").turns.pending().len(), 2);
    harness.get_by_label(module).set_value_accesskit(0.0);
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").turns.pending().len(), 3, "off is never asked");
}

#[test]
fn a_row_has_a_menu_of_levels() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click_secondary();
    harness.run_steps(3);
    harness.get_by_label_contains("count the exact").click();
    harness.run_steps(3);
    assert_eq!(said(&harness, Kind::Request), format!("count on {ADD}"));
    assert_eq!(value(&harness, ADD_DIAL), "count, asking…");
}

#[test]
fn the_menu_of_one_of_several_selected_rows_is_for_all_of_them() {
    const CLEAR: &str = "Shop!Shop.Cart.Clear()";
    const FIND: &str = "Shop!Shop.Catalog.Find(string)";
    for dial in ["dial of ", ""] {
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
            harness.get_by_label_contains("count the exact").click();
            harness.run_steps(3);
        };
        pick(&mut harness, ADD, "2 selected methods");
        assert_eq!(said(&harness, Kind::Request), format!("count on 2 methods ({ADD} and so on)"));
        // One that is not among them is meant alone, and selected.
        pick(&mut harness, FIND, FIND);
        assert_eq!(said(&harness, Kind::Request), format!("count on {FIND}"));
        assert_eq!(harness.state().model.current().expect("Shop").selection.len(), 1);
    }
}

#[test]
fn the_menu_of_a_group_says_of_how_many_it_is() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Tree);
    harness.run_steps(6);
    harness.get_by_label("dial of type Cart").click_secondary();
    harness.run_steps(3);
    assert!(harness.query_by_label("type Cart: 4 methods").is_some());
    harness.get_by_label_contains("count the exact").click();
    harness.run_steps(3);
    assert!(said(&harness, Kind::Request).starts_with("count on 4 methods"));
}

#[test]
fn what_a_launched_program_writes_stands_under_output() {
    let mut harness = with_shop(Theme::Dark);
    let ticket = harness.state_mut().model.begin_launch("shop", Default::default());
    let written = |error, text: &str| Written { error, text: text.into() };
    let lines = vec![written(false, "listening"), written(true, "out of stock")];
    feed(
        &mut harness,
        vec![
            Update::Launch(ticket, Launch::Started { pid: 77 }),
            Update::Launch(ticket, Launch::Output { lines, left_out: 5 }),
        ],
    );
    assert!(harness.query_by_label_contains("listening").is_none(), "the log stays as it is");
    harness.get_by_label("Output (2)").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("77: listening").is_some());
    assert!(harness.query_by_label_contains("77 err: out of stock").is_some());
    assert!(harness.query_by_label_contains("5 older are gone").is_some());
}

#[test]
fn the_end_of_the_log_is_a_click_away() {
    let mut harness = with_shop(Theme::Dark);
    let time = harness.state().now();
    for number in 0..60 {
        harness.state_mut().model.log.add(time, None, Kind::Connection, format!("line {number} of them"));
    }
    harness.run_steps(3);
    let seen_text =
        |harness: &Harness<'static, App>, text: &str| harness.query_by_label_contains(text).is_some();
    let seen =
        |harness: &Harness<'static, App>, number| seen_text(harness, &format!("line {number} of them"));
    assert!(seen(&harness, 59) && harness.query_by_label("to the newest").is_none());
    for end in ["to the newest", "Log"] {
        let at = harness.get_by_label("Log").rect().translate(egui::vec2(60.0, 50.0));
        super::steady::scroll(&mut harness, at, -20.0);
        harness.run_steps(3);
        assert!(!seen(&harness, 59), "older lines are looked at");
        harness.state_mut().model.log.add(time, None, Kind::Connection, "one more".to_owned());
        harness.run_steps(3);
        assert!(harness.query_by_label_contains("one more").is_none(), "they stay");
        harness.get_by_label(end).click();
        harness.run_steps(3);
        assert!(harness.query_all_by_label_contains("one more").next().is_some(), "{end}");
        assert!(harness.query_by_label("to the newest").is_none());
        harness.state_mut().model.log.add(time, None, Kind::Connection, format!("then this, {end}"));
        harness.run_steps(3);
        assert!(seen_text(&harness, &format!("then this, {end}")), "it follows again");
    }
}

#[test]
fn a_launch_that_fails_says_why_in_its_dialog() {
    let mut harness = crate::desktop::tests::stage::window(Theme::Dark);
    harness.state_mut().settings.launch.program = "no-such-program".into();
    act(&mut harness, Command::Launch);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "Launch").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("being started").is_some());
    let ticket = harness.state().launching.expect("asked for");
    let failed = Launch::Failed("no-such-program: there is no such program".into());
    feed(&mut harness, vec![Update::Launch(ticket, failed)]);
    harness.run_steps(3);
    assert!(harness.state().launch, "it stays open");
    assert_eq!(
        harness.query_all_by_label_contains("there is no such program").count(),
        3,
        "the bar, the log, the dialog"
    );

    act(&mut harness, Command::StartLaunch);
    let ticket = harness.state().launching.expect("asked for");
    feed(&mut harness, vec![Update::Launch(ticket, Launch::Started { pid: 77 })]);
    assert!(!harness.state().launch, "it runs");
}

/// In a field of several lines Enter alone begins a new one.
#[test]
fn ctrl_enter_launches_from_every_field() {
    for (role, field) in [(Role::TextInput, "Program"), (Role::MultilineTextInput, "Dials")] {
        let mut harness = crate::desktop::tests::stage::window(Theme::Dark);
        harness.state_mut().settings.launch.program = "no-such-program".into();
        act(&mut harness, Command::Launch);
        harness.get_by_role_and_label(role, field).focus();
        harness.run_steps(3);
        harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
        harness.run_steps(3);
        assert!(harness.state().launching.is_some(), "{field}");
        assert_eq!(harness.state().settings.launch.dials, "", "it writes nothing");
    }
}

#[test]
fn a_launched_program_that_ended_says_how_and_what_it_wrote() {
    let mut harness = crate::desktop::tests::stage::window(Theme::Dark);
    let ticket = harness.state_mut().model.begin_launch("shop --exact", Default::default());
    harness.state_mut().launching = Some(ticket);
    let lines = vec![Written { error: true, text: "cannot use --exact".into() }];
    let launch = |launch| Update::Launch(ticket, launch);
    feed(
        &mut harness,
        vec![
            launch(Launch::Started { pid: 4242 }),
            launch(Launch::Loaded(crate::desktop::tests::stage::SHOP)),
            launch(Launch::Output { lines, left_out: 0 }),
        ],
    );
    tell(&mut harness, vec![Told::Connected(Box::new(crate::model::connection::tests::facts())), rows()]);
    tell(&mut harness, vec![Told::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }]);
    feed(&mut harness, vec![launch(Launch::Ended { how: "with code 2".into() })]);
    for part in ["shop --exact ended with code 2", "cannot use --exact", "99 calls  Shop!Shop.Catalog.Find"] {
        assert!(harness.query_all_by_label_contains(part).next().is_some(), "{part}");
    }
}

#[test]
fn keys_of_one_frame_are_carried_out_as_they_were_pressed() {
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
        assert_eq!(harness.state().palette.is_some(), open);
    }
}

#[test]
fn escape_closes_a_menu_and_nothing_else() {
    let mut harness = with_shop(Theme::Dark);
    harness.state_mut().methods.text = "cart".into();
    act(&mut harness, Command::Filter("cart".into()));
    harness.get_by_label("Methods").click();
    harness.run_steps(3);
    let entry = harness.get_by_role_and_label(Role::CheckBox, "Hide framework methods");
    assert_eq!(
        entry.accesskit_node().toggled(),
        Some(accesskit::Toggled::True),
        "a switch shows how it stands"
    );
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label("Hide framework methods").is_none());
    assert_eq!(harness.state().model.current().expect("Shop").list.filter().text, "cart");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert_eq!(harness.state().model.current().expect("Shop").list.filter().text, "");
}

#[test]
fn a_tree_opens_what_stands_alone() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Tree);
    harness.run_steps(6);
    for shown in ["AppDomain clrhost", "module Shop", "namespace Shop", "type Cart", "type Pricing"] {
        assert!(harness.query_by_label(shown).is_some(), "{shown}");
    }
    assert!(harness.query_by_label(ADD).is_none());
    harness.get_by_label("expand module Shop").click();
    harness.run_steps(6);
    assert!(harness.query_by_label("namespace Shop").is_none(), "closed by hand it stays closed");
}

#[test]
fn what_a_group_stands_for_is_selected_in_the_table() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Tree);
    harness.run_steps(6);
    harness.get_by_label("type Cart").click();
    harness.run_steps(3);
    act(&mut harness, Command::Tree);
    let selected = |harness: &Harness<'static, App>, label: &str| {
        harness.get_by_label(label).accesskit_node().toggled() == Some(accesskit::Toggled::True)
    };
    let cart = ["Add(int)", "Clear()", "TryTake(int, out int)", "get_Total()"]
        .map(|method| format!("Shop!Shop.Cart.{method}"));
    assert!(cart.iter().all(|method| selected(&harness, method)));
    assert!(!selected(&harness, "Shop!Shop.Catalog.Find(string)"));
    let context = harness.ctx.clone();
    let add = harness.state().model.current().and_then(|shop| {
        (0..shop.row_count()).filter_map(|place| shop.row_at(place)).find(|node| match node {
            crate::model::ids::Node::Method(method) => shop.catalogue.full_name(*method).text == ADD,
            _ => false,
        })
    });
    let pick = Command::Pick(add.expect("Add"), crate::model::selection::Mode::Toggle);
    harness.state_mut().act(&context, pick);
    harness.run_steps(3);
    assert!(!selected(&harness, ADD), "one of them is taken out");
    assert!(cart.iter().filter(|method| *method != ADD).all(|method| selected(&harness, method)));
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(said(&harness, Kind::Request).starts_with("count on 3 methods"));
}
