//! Keys and the wheel: each press counts, and what turns a dial scrolls nothing.

use super::stage::{act, crowd, look_at_shops, window, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::ids::Node;
use crate::model::log::Kind;
use crate::views::methods::filter_id;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Theme, TouchPhase, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const CLEAR: &str = "Shop!Shop.Cart.Clear()";

fn key(key: Key, modifiers: Modifiers) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers }
}

fn requests(harness: &Harness<'static, App>) -> Vec<String> {
    let entries = harness.state().model.log.entries().iter();
    entries.filter(|entry| entry.kind == Kind::Request).map(|entry| entry.text.clone()).collect()
}

fn press(harness: &mut Harness<'static, App>, keys: impl IntoIterator<Item = Event>) {
    harness.input_mut().events.extend(keys);
    harness.run_steps(3);
}

#[test]
fn two_steps_back_in_one_frame_undo_two_turns() {
    let mut harness = with_shop(Theme::Dark);
    for method in [ADD, CLEAR] {
        harness.get_by_label(&format!("dial of {method}")).click();
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

/// What was asked for last.
fn turned(harness: &Harness<'static, App>) -> Option<String> {
    harness.state().model.log.newest(Kind::Request).map(|entry| entry.text.clone())
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
    assert_eq!(requests(&harness).len(), 1, "they are there already");
    press(&mut harness, [key(Key::Num0, Modifiers::NONE)]);
    assert_eq!(turned(&harness), Some(format!("off on 2 methods ({ADD} and so on)")));
    // What is not offered says why, and Ctrl+0 is another command.
    press(&mut harness, [key(Key::Num2, Modifiers::NONE), key(Key::Num0, Modifiers::COMMAND)]);
    assert_eq!(requests(&harness).len(), 2);
    let refused = harness.state().model.log.newest(Kind::Refusal).map(|entry| entry.text.clone());
    assert!(refused.is_some_and(|why| why.contains("to time: not offered by this agent")));
}

/// Both may come in one frame, of a slow one: the second means what the first selected.
#[test]
fn a_level_after_select_all_means_what_that_selected() {
    for merged in [false, true] {
        let mut harness = match merged {
            true => look_at_shops(window(Theme::Dark)),
            false => with_shop(Theme::Dark),
        };
        press(&mut harness, [key(Key::A, Modifiers::COMMAND), key(Key::Num1, Modifiers::NONE)]);
        let asked = turned(&harness).unwrap_or_default();
        assert!(asked.starts_with("count on 10 methods"), "{asked}");
        assert!(harness.state().model.log.newest(Kind::Hint).is_none());
        press(&mut harness, [key(Key::A, Modifiers::COMMAND), key(Key::Num2, Modifiers::NONE)]);
        let refused = harness.state().model.log.newest(Kind::Refusal).map(|entry| entry.text.clone());
        assert!(
            refused.is_some_and(|why| why.contains("not offered by this agent")),
            "asked when it is its turn"
        );
    }
}

/// Who types faster than frames come means the field that opens, whichever frame a key falls into.
#[test]
fn what_is_typed_while_a_field_opens_is_the_fields() {
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
            assert_eq!(requests(&harness), [""; 0], "{text} {split}: no dial is turned");
            let field = match text {
                "/" => "filter of the methods",
                "P" => "find a command",
                _ => "Program",
            };
            let value = harness.get_by_label(field).value();
            assert_eq!(value.as_deref(), Some("01c2"), "{text} {split}");
        }
    }
}

/// Whatever had the focus, and wherever the cursor was left.
#[test]
fn a_field_that_opens_takes_the_keys_from_what_had_the_focus() {
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
    harness.get_by_label(&format!("dial of {CLEAR}")).focus();
    harness.run_steps(3);
    step(&mut harness, [vec![palette()], letter("1").to_vec()].concat());
    step(&mut harness, letter("0").to_vec());
    harness.run_steps(2);
    assert_eq!(requests(&harness), [""; 0], "the knob that had the focus stays");
    let value = |harness: &Harness<'static, App>, field: &str| harness.get_by_label(field).value();
    assert_eq!(value(&harness, "find a command").as_deref(), Some("10"));
    // The cursor was left behind the first letter, and the field opens anew.
    press(&mut harness, [key(Key::Home, Modifiers::NONE), key(Key::Escape, Modifiers::NONE)]);
    step(&mut harness, [vec![palette()], letter("L").to_vec()].concat());
    step(&mut harness, letter("O").to_vec());
    step(&mut harness, letter("G").to_vec());
    harness.run_steps(2);
    assert_eq!(value(&harness, "find a command").as_deref(), Some("LOG"));
    // What closes it ends it: the next key is the list's again.
    press(&mut harness, [key(Key::Escape, Modifiers::NONE)]);
    let close = key(Key::Escape, Modifiers::NONE);
    step(&mut harness, vec![palette(), close, key(Key::Num1, Modifiers::NONE)]);
    harness.run_steps(2);
    assert!(harness.query_by_label("find a command").is_none());
    assert_eq!(requests(&harness), [format!("count on {ADD}")]);
    // A blank picks nothing: Enter would turn everything off.
    step(&mut harness, vec![palette(), Event::Text(" ".into())]);
    step(&mut harness, vec![key(Key::Enter, Modifiers::NONE)]);
    harness.run_steps(2);
    press(&mut harness, [key(Key::Enter, Modifiers::NONE)]);
    assert_eq!(requests(&harness).len(), 1);
}

#[test]
fn a_long_reason_stands_below_its_command() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    press(&mut harness, [key(Key::P, Modifiers::COMMAND | Modifiers::SHIFT)]);
    harness.get_by_label("find a command").type_text("to time");
    harness.run_steps(3);
    let entry = harness.get_by_label_contains("Turn the selected dials to time").rect();
    let field = harness.get_by_label("find a command").rect();
    assert!(entry.width() <= field.width() + 1.0 && entry.height() < 70.0, "{entry:?} below {field:?}");
}

#[test]
fn digits_in_a_text_field_are_text() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.key_press(Key::Slash);
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::TextInput, "filter of the methods").type_text("1");
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!((harness.state().methods.text.as_str(), turned(&harness)), ("1", None));
}

#[test]
fn digits_of_a_focused_knob_are_for_that_one() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.get_by_label(&format!("dial of {CLEAR}")).focus();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(requests(&harness), [format!("count on {CLEAR}")]);
}

#[test]
fn digits_pick_in_the_menu_of_levels() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(ADD).click_secondary();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Num3, Modifiers::NONE)]);
    assert_eq!(turned(&harness), None, "trace is not offered");
    press(&mut harness, [key(Key::Num1, Modifiers::NONE)]);
    assert_eq!(requests(&harness), [format!("count on {ADD}")]);
    assert!(harness.query_by_label_contains("count the exact").is_none(), "it closes");
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

/// More rows than fit; the pointer rests on the dial of the row that was picked.
#[test]
fn the_wheel_on_the_picked_dial_turns_it_and_scrolls_nothing() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    wheel_over(&mut harness, ADD);
    let top = |harness: &Harness<'static, App>| harness.get_by_label(CLEAR).rect().top();
    let before = top(&harness);
    wheel(&mut harness, -60.0);
    assert!(top(&harness) < before, "not picked: the list scrolls");
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
    let at = harness.get_by_label(&format!("dial of {method}")).rect().center();
    harness.hover_at(at);
    harness.run_steps(3);
}

#[test]
fn right_and_left_open_and_close_go_in_and_out() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Tree);
    harness.get_by_label("namespace Shop").click();
    harness.run_steps(3);
    let shown = |harness: &Harness<'static, App>| harness.query_by_label("type Cart").is_some();
    let focus = |harness: &Harness<'static, App>| {
        let shop = harness.state().model.current().expect("Shop");
        shop.selection.focus().map(|node| shop.catalogue.label(node).to_owned())
    };
    let was = shown(&harness);
    let arrow = |right| key(if right { Key::ArrowRight } else { Key::ArrowLeft }, Modifiers::NONE);
    press(&mut harness, [arrow(!was)]);
    assert_eq!(shown(&harness), !was);
    if was {
        press(&mut harness, [arrow(true)]);
    }
    press(&mut harness, [arrow(true)]);
    let inner = harness.state().model.current().expect("Shop").selection.focus();
    assert!(matches!(inner, Some(Node::Type(_))), "{inner:?}");
    press(&mut harness, [arrow(false)]);
    assert_eq!(focus(&harness).as_deref(), Some("Shop"));
    act(&mut harness, Command::Keys);
    let sheet = "On a group of the tree: open or close it, go in or out";
    assert!(harness.query_by_label(sheet).is_some());
}

/// In the filter Ctrl+A selects what is written, though that be nothing, and what is typed then is the filter's; the arrows
/// leave it, and then the methods are meant.
#[test]
fn in_the_filter_all_that_is_written_is_selected_and_no_method() {
    let mut harness = with_shop(Theme::Dark);
    let filter = |harness: &mut Harness<'static, App>, text: &str| {
        harness.get_by_role_and_label(Role::TextInput, "filter of the methods").type_text(text);
        harness.run_steps(3);
    };
    let selected = |harness: &Harness<'static, App>| {
        harness.state().model.current().map_or(0, |shop| shop.selection.len())
    };
    let select_all = |harness: &mut Harness<'static, App>| {
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.run_steps(3);
    };
    harness.get_by_role_and_label(Role::TextInput, "filter of the methods").click();
    harness.run_steps(3);
    for text in ["Box", "Cart"] {
        select_all(&mut harness);
        select_all(&mut harness);
        assert_eq!(selected(&harness), 0);
        assert_eq!(harness.ctx.memory(|memory| memory.focused()), Some(filter_id()));
        filter(&mut harness, text);
        assert_eq!(harness.state().methods.text, text, "what was selected is replaced");
    }
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    select_all(&mut harness);
    assert_eq!(selected(&harness), 5);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(turned(&harness).is_some_and(|text| text.starts_with("count on 5 methods")), "Space turns them");
    assert_eq!(harness.state().methods.text, "Cart");
}

/// Keys that come faster than frames: what is typed behind the filter's key is the filter's, and turns no dial.
#[test]
fn what_is_typed_in_the_frame_of_the_filter_key_is_the_filters() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label(CLEAR).click();
    harness.run_steps(3);
    let typed = |letter: Key, text: &str| [key(letter, Modifiers::NONE), Event::Text(text.to_owned())];
    press(&mut harness, [typed(Key::Slash, "/"), typed(Key::B, "b"), typed(Key::Num1, "1")].concat());
    assert_eq!(harness.state().methods.text, "b1");
    assert_eq!(harness.state().model.current().expect("Shop").list.filter().text, "b1");
    assert_eq!(turned(&harness), None, "1 is a letter here");
    assert_eq!(harness.ctx.memory(|memory| memory.focused()), Some(filter_id()));
}

#[test]
fn down_from_the_filter_is_the_first_row_though_another_was_picked_before() {
    let mut harness = with_shop(Theme::Dark);
    harness.get_by_label("Shop!Shop.Pricing.Discount(Shop.Money, int)").click();
    harness.run_steps(3);
    press(&mut harness, [key(Key::Slash, Modifiers::NONE)]);
    harness.get_by_role_and_label(Role::TextInput, "filter of the methods").type_text("cart");
    harness.run_steps(3);
    press(&mut harness, [key(Key::ArrowDown, Modifiers::NONE)]);
    let shop = harness.state().model.current().expect("Shop");
    assert_eq!((shop.focus_place(), shop.selection.len()), (Some(0), 1));
}
