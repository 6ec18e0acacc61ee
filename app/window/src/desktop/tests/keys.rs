//! Tests of keys and the wheel: each press counts, and turning a dial scrolls nothing.

use super::fixture::{crowd, execute, look_at_shops, window, with_shop};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::views::methods_toolbar::filter_id;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Theme, TouchPhase, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::ids::Node;
use redial_model::log::LogKind;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const CLEAR: &str = "Shop!Shop.Cart.Clear()";

fn key(key: Key, modifiers: Modifiers) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers }
}

fn requests(harness: &Harness<'static, App>) -> Vec<String> {
    let entries = harness.state().model.log.entries().iter();
    entries.filter(|entry| entry.kind == LogKind::Request).map(|entry| entry.text.clone()).collect()
}

fn press(harness: &mut Harness<'static, App>, keys: impl IntoIterator<Item = Event>) {
    harness.input_mut().events.extend(keys);
    harness.run_steps(3);
}

#[test]
fn two_undo_keys_in_one_frame_undo_two_changes() {
    let mut harness = with_shop(Theme::Dark);
    for method in [ADD, CLEAR] {
        harness.get_by_label(&format!("Dial of {method}")).click();
        harness.run_steps(3);
    }
    let undo = key(Key::Z, Modifiers::COMMAND);
    let redo = key(Key::Z, Modifiers::COMMAND.plus(Modifiers::SHIFT));
    press(&mut harness, [undo.clone(), undo]);
    press(&mut harness, [redo.clone(), redo]);
    let (add, clear) = (format!("count on {ADD}"), format!("count on {CLEAR}"));
    let expected = ["", "", "undo ", "undo ", "redo ", "redo "]
        .into_iter()
        .zip([&add, &clear, &clear, &add, &add, &clear]);
    let expected: Vec<String> = expected.map(|(what, turn)| format!("{what}{turn}")).collect();
    assert_eq!(requests(&harness), expected);
}

/// Returns the last request.
fn turned(harness: &Harness<'static, App>) -> Option<String> {
    harness.state().model.log.newest(LogKind::Request).map(|entry| entry.text.clone())
}

#[test]
fn digits_turn_the_selected_methods() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    harness.run_steps(3);
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(turned(&harness), Some(format!("count on 2 methods ({ADD} and so on)")));
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(requests(&harness).len(), 1, "they have that level already");
    press(&mut harness, [key(Key::Num0, Modifiers::NONE)]);
    assert_eq!(turned(&harness), Some(format!("off on 2 methods ({ADD} and so on)")));
    // A level that is not offered gives the reason, and Ctrl+0 is another command.
    press(&mut harness, [key(Key::Num2, Modifiers::NONE), key(Key::Num0, Modifiers::COMMAND)]);
    assert_eq!(requests(&harness).len(), 2);
    let refused = harness.state().model.log.newest(LogKind::Refusal).map(|entry| entry.text.clone());
    assert!(refused.is_some_and(|why| why.contains("to time: not offered by this agent")));
}

/// In a slow frame both keys arrive together; the second applies to the selection of the first.
#[test]
fn level_key_applies_to_select_all_in_same_frame() {
    for merged in [false, true] {
        let mut harness = match merged {
            true => look_at_shops(window(Theme::Dark)),
            false => with_shop(Theme::Dark),
        };
        press(&mut harness, [key(Key::A, Modifiers::COMMAND), key(Key::Num1, Modifiers::NONE)]);
        let asked = turned(&harness).unwrap_or_default();
        assert!(asked.starts_with("count on 8 methods"), "{asked}");
        assert!(harness.state().model.log.newest(LogKind::Hint).is_none());
        press(&mut harness, [key(Key::A, Modifiers::COMMAND), key(Key::Num2, Modifiers::NONE)]);
        let refused = harness.state().model.log.newest(LogKind::Refusal).map(|entry| entry.text.clone());
        assert!(
            refused.is_some_and(|why| why.contains("not offered by this agent")),
            "checked when its turn comes"
        );
    }
}

/// Text typed faster than frames belongs to the opening field, whichever frame a key falls into.
#[test]
fn text_typed_while_a_field_opens_goes_there() {
    let typed = |letters: &str| -> Vec<Event> {
        let of = |letter: char| {
            let known = Key::from_name(&letter.to_string()).map(|one| key(one, Modifiers::NONE));
            known.into_iter().chain([Event::Text(letter.to_string())])
        };
        letters.chars().flat_map(of).collect()
    };
    let filter = || vec![key(Key::Slash, Modifiers::NONE), Event::Text("/".into())];
    let palette = || vec![key(Key::P, Modifiers::COMMAND | Modifiers::SHIFT)];
    let launch = || vec![key(Key::N, Modifiers::COMMAND)];
    for split in 0..=3 {
        for (opens, text) in [(filter(), "/"), (palette(), "P"), (launch(), "N")] {
            let mut harness = with_shop(Theme::Dark);
            harness.get_by_label(ADD).click();
            harness.run_steps(3);
            let (first, second) = "01c".split_at(split);
            for events in [[opens.clone(), typed(first)].concat(), typed(second)] {
                harness.input_mut().events.extend(events);
                harness.step();
            }
            press(&mut harness, typed("2"));
            assert_eq!(requests(&harness), [""; 0], "{text} {split}: no dial turned");
            let field = match text {
                "/" => "Method filter",
                "P" => "Find a command",
                _ => "Program",
            };
            let value = harness.get_by_label(field).value();
            assert_eq!(value.as_deref(), Some("01c2"), "{text} {split}");
        }
    }
}

/// Whatever had the focus, and wherever the cursor was.
#[test]
fn opening_field_takes_keys_from_the_focused_widget() {
    let palette = || key(Key::P, Modifiers::COMMAND | Modifiers::SHIFT);
    let letter =
        |text: &str| [key(Key::from_name(text).expect("a key"), Modifiers::NONE), Event::Text(text.into())];
    let step = |harness: &mut Harness<'static, App>, events: Vec<Event>| {
        harness.input_mut().events.extend(events);
        harness.step();
    };
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.get_by_label(&format!("Dial of {CLEAR}")).focus();
    harness.run_steps(3);
    step(&mut harness, [vec![palette()], letter("1").to_vec()].concat());
    step(&mut harness, letter("0").to_vec());
    harness.run_steps(2);
    assert_eq!(requests(&harness), [""; 0], "the focused knob stays as it was");
    let value = |harness: &Harness<'static, App>, field: &str| harness.get_by_label(field).value();
    assert_eq!(value(&harness, "Find a command").as_deref(), Some("10"));
    // The cursor was after the first letter, and the field opens again.
    press(&mut harness, [key(Key::Home, Modifiers::NONE), key(Key::Escape, Modifiers::NONE)]);
    step(&mut harness, [vec![palette()], letter("L").to_vec()].concat());
    step(&mut harness, letter("O").to_vec());
    step(&mut harness, letter("G").to_vec());
    harness.run_steps(2);
    assert_eq!(value(&harness, "Find a command").as_deref(), Some("LOG"));
    // After it is closed, the next key belongs to the list again.
    press(&mut harness, [key(Key::Escape, Modifiers::NONE)]);
    let close = key(Key::Escape, Modifiers::NONE);
    step(&mut harness, vec![palette(), close, key(Key::Num1, Modifiers::NONE)]);
    harness.run_steps(2);
    assert!(harness.query_by_label("Find a command").is_none());
    assert_eq!(requests(&harness), [format!("count on {ADD}")]);
    // A blank selects nothing; Enter would otherwise turn everything off.
    step(&mut harness, vec![palette(), Event::Text(" ".into())]);
    step(&mut harness, vec![key(Key::Enter, Modifiers::NONE)]);
    harness.run_steps(2);
    press(&mut harness, [key(Key::Enter, Modifiers::NONE)]);
    assert_eq!(requests(&harness).len(), 1);
}

#[test]
fn long_reason_is_below_its_command() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    press(&mut harness, [key(Key::P, Modifiers::COMMAND | Modifiers::SHIFT)]);
    harness.get_by_label("Find a command").type_text("to time");
    harness.run_steps(3);
    let entry = harness.get_by_label_contains("Set selected dials to time").rect();
    let field = harness.get_by_label("Find a command").rect();
    assert!(entry.width() <= field.width() + 1.0 && entry.height() < 70.0, "{entry:?} below {field:?}");
}

#[test]
fn digits_in_a_text_field_are_text() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.key_press(Key::Slash);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::TextInput, "Method filter").type_text("1");
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!((harness.state().methods.text.as_str(), turned(&harness)), ("1", None));
}

#[test]
fn digits_turn_the_focused_knob() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.get_by_label(&format!("Dial of {CLEAR}")).focus();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(requests(&harness), [format!("count on {CLEAR}")]);
}

#[test]
fn digits_choose_in_the_level_menu() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click_secondary();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Num3, Modifiers::NONE)]);
    assert_eq!(turned(&harness), None, "trace is not offered");
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(requests(&harness), [format!("count on {ADD}")]);
    assert!(harness.query_by_label_contains("count exact").is_none(), "it closes");
}

fn wheel(harness: &mut Harness<'static, App>, points: f32) {
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, points),
        phase: TouchPhase::Move,
        source: MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(20);
}

/// More rows than fit; the pointer rests on the dial of the selected row.
#[test]
fn wheel_on_selected_dial_turns_without_scrolling() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    wheel_over(&mut harness, ADD);
    let top = |harness: &Harness<'static, App>| harness.get_by_label(CLEAR).rect().top();
    let before = top(&harness);
    wheel(&mut harness, -60.0);
    assert!(top(&harness) < before, "not selected, so the list scrolls");
    wheel(&mut harness, 200.0);
    assert_eq!((top(&harness), requests(&harness).len()), (before, 0));

    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    wheel_over(&mut harness, ADD);
    wheel(&mut harness, 60.0);
    assert_eq!(requests(&harness), [format!("count on {ADD}")]);
    wheel(&mut harness, -200.0);
    assert_eq!(top(&harness), before);
    assert_eq!(requests(&harness).last(), Some(&format!("off on {ADD}")));
}

fn wheel_over(harness: &mut Harness<'static, App>, method: &str) {
    let at = harness.get_by_label(&format!("Dial of {method}")).rect().center();
    harness.hover_at(at);
    harness.run_steps(3);
}

#[test]
fn right_and_left_open_and_close_go_in_and_out() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Tree);
    harness.get_by_label("namespace Shop").click();
    harness.run_steps(3);
    let shown = |harness: &Harness<'static, App>| harness.query_by_label("type Cart").is_some();
    let focus = |harness: &Harness<'static, App>| {
        let shop = harness.state().model.current().expect("Shop");
        shop.table().selection.focus().map(|node| shop.table().catalogue.label(node).to_owned())
    };
    let was = shown(&harness);
    let arrow = |right| key(if right { Key::ArrowRight } else { Key::ArrowLeft }, Modifiers::NONE);
    press(&mut harness, [arrow(!was)]);
    assert_eq!(shown(&harness), !was);
    if was {
        press(&mut harness, [arrow(true)]);
    }
    press(&mut harness, [arrow(true)]);
    let inner = harness.state().model.current().expect("Shop").table().selection.focus();
    assert!(matches!(inner, Some(Node::Type(_))), "{inner:?}");
    press(&mut harness, [arrow(false)]);
    assert_eq!(focus(&harness).as_deref(), Some("Shop"));
    execute(&mut harness, UiCommand::Keys);
    let sheet = "In the tree: expand or collapse a group, go in or out";
    assert!(harness.query_by_label(sheet).is_some());
}

/// In the filter Ctrl+A selects its text, even if empty, and typing replaces it; after the arrow keys leave
/// it, Ctrl+A selects methods.
#[test]
fn select_all_in_filter_selects_its_text() {
    let mut harness = with_shop(Theme::Dark);
    let filter = |harness: &mut Harness<'static, App>, text: &str| {
        harness.get_by_role_and_label(Role::TextInput, "Method filter").type_text(text);
        harness.run_steps(3);
    };
    let selected = |harness: &Harness<'static, App>| {
        harness.state().model.current().map_or(0, |shop| shop.table().selection.len())
    };
    let select_all = |harness: &mut Harness<'static, App>| {
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.run_steps(3);
    };
    harness.get_by_role_and_label(Role::TextInput, "Method filter").click();
    harness.run_steps(3);
    for text in ["Box", "Cart"] {
        select_all(&mut harness);
        select_all(&mut harness);
        assert_eq!(selected(&harness), 0);
        assert_eq!(harness.ctx.memory(|memory| memory.focused()), Some(filter_id()));
        filter(&mut harness, text);
        assert_eq!(harness.state().methods.text, text, "the selected text is replaced");
    }
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    select_all(&mut harness);
    assert_eq!(selected(&harness), 5);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(turned(&harness).is_some_and(|text| text.starts_with("count on 4 methods")), "Space turns them");
    assert_eq!(harness.state().methods.text, "Cart");
}

/// Keys typed faster than frames: text after the filter's key belongs to the filter and turns no dial.
#[test]
fn text_in_frame_of_filter_key_goes_to_the_filter() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(CLEAR).click();
    harness.run_steps(3);
    let typed = |letter: Key, text: &str| [key(letter, Modifiers::NONE), Event::Text(text.to_owned())];
    press(&mut harness, [typed(Key::Slash, "/"), typed(Key::B, "b"), typed(Key::Num1, "1")].concat());
    assert_eq!(harness.state().methods.text, "b1");
    assert_eq!(harness.state().model.current().expect("Shop").table().list.filter().text, "b1");
    assert_eq!(turned(&harness), None, "1 is text here");
    assert_eq!(harness.ctx.memory(|memory| memory.focused()), Some(filter_id()));
}

#[test]
fn down_from_the_filter_goes_to_the_first_row() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label("Shop!Shop.Pricing.Discount(Shop.Money, int)").click();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Slash, Modifiers::NONE)]);
    harness.get_by_role_and_label(Role::TextInput, "Method filter").type_text("cart");
    harness.run_steps(3);
    press(&mut harness, [key(Key::ArrowDown, Modifiers::NONE)]);
    let shop = harness.state().model.current().expect("Shop");
    assert_eq!((shop.table().focus_place(), shop.table().selection.len()), (Some(0), 1));
}
