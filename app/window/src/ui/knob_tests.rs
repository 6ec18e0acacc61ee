//! Tests the knob with pointer, wheel, keys and AccessKit.

use super::*;
use eframe::egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, Pos2, TouchPhase};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::state::CopyState;

const TWO: [Level; 2] = [Level::Off, Level::Count];

struct Bench {
    wanted: Option<Level>,
    offered: Vec<Level>,
    wheel: bool,
    turns: Vec<Level>,
    refused: Vec<Level>,
    several: Option<(u64, u64)>,
}

fn bench(wanted: Option<Level>, offered: &[Level]) -> Harness<'static, Bench> {
    bench_at(0.25, wanted, offered)
}

/// A test window with frames of `step` seconds.
fn bench_at(step: f32, wanted: Option<Level>, offered: &[Level]) -> Harness<'static, Bench> {
    let state = Bench {
        wanted,
        offered: offered.to_vec(),
        wheel: true,
        turns: Vec::new(),
        refused: Vec::new(),
        several: None,
    };
    let show = |ui: &mut Ui, bench: &mut Bench| {
        let face = KnobFace {
            wanted: bench.wanted,
            actual: Some(CopyState::Off),
            runs: Level::Off,
            pending: false,
            offered: &bench.offered,
            not_offered: "the agent does not offer it",
            label: "Dial of A.B",
            state_text: "off",
            several: bench.several,
        };
        let turned = Knob::new(face, 60.0).wheel(bench.wheel).show(ui);
        bench.turns.extend(turned.to);
        bench.refused.extend(turned.refused);
        bench.wanted = turned.to.or(bench.wanted);
    };
    let builder = Harness::builder().with_size([200.0, 200.0]).with_step_dt(step);
    let mut harness = builder.build_ui_state(show, state);
    harness.run();
    harness
}

fn centre(harness: &Harness<'_, Bench>) -> Pos2 {
    harness.get_by_label("Dial of A.B").rect().center()
}

#[test]
fn a_click_toggles() {
    let mut harness = bench(Some(Level::Off), &TWO);
    for _ in 0..3 {
        harness.get_by_label("Dial of A.B").click();
        harness.run();
    }
    assert_eq!(harness.state().turns, [Level::Count, Level::Off, Level::Count]);
}

#[test]
fn knob_of_several_dials_explains_a_click() {
    for (wanted, on, state_text) in [
        (None, 5, "A click sets all 12 to count; 5 are on now."),
        (None, 1, "A click sets all 12 to count; 1 is on now."),
        (Some(Level::Off), 0, "A click sets all 12 to count."),
        (Some(Level::Count), 12, "A click turns all 12 off."),
    ] {
        let mut harness = bench(wanted, &TWO);
        harness.state_mut().several = Some((on, 12));
        harness.run();
        let knob = harness.get_by_label("Dial of A.B");
        assert_eq!(knob.accesskit_node().description().as_deref(), Some(state_text));
        knob.hover();
        harness.run_steps(40);
        assert!(harness.query_by_label(state_text).is_some(), "the hint says it, too");
        harness.get_by_label("Dial of A.B").click();
        harness.run();
        let to = if wanted == Some(Level::Count) { Level::Off } else { Level::Count };
        assert_eq!(harness.state().turns, [to], "the click does it");
    }
}

#[test]
fn keys_turn_the_focused_knob() {
    let mut harness = bench(Some(Level::Off), &Level::ALL);
    harness.key_press(Key::ArrowUp);
    harness.run();
    assert_eq!(harness.state().turns, [], "without the focus");
    harness.get_by_label("Dial of A.B").focus();
    harness.run();
    for key in [Key::Space, Key::ArrowUp, Key::ArrowLeft, Key::End, Key::Home, Key::Num2, Key::ArrowRight] {
        harness.key_press(key);
        harness.run();
    }
    use Level::*;
    assert_eq!(harness.state().turns, [Count, Time, Count, Trace, Off, Time, Trace]);
    harness.key_press(Key::ArrowUp);
    harness.run();
    assert_eq!(harness.state().turns.len(), 7, "there is no higher level");
}

#[test]
fn a_drag_that_moves_and_ends_in_one_frame_turns() {
    let mut harness = bench(Some(Level::Off), &TWO);
    let from = centre(&harness);
    let to = from + vec2(1.3 * DRAG_STEP, 0.0);
    harness.drag_at(from);
    harness.step();
    for event in [
        Event::PointerMoved(to),
        Event::PointerButton {
            pos: to,
            button: PointerButton::Primary,
            pressed: false,
            modifiers: Modifiers::NONE,
        },
    ] {
        harness.event(event);
    }
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count]);
}

#[test]
fn a_drag_passes_detents_and_stops_at_the_last() {
    let mut harness = bench(Some(Level::Off), &TWO);
    let from = centre(&harness);
    harness.drag_at(from);
    harness.run();
    harness.hover_at(from - vec2(0.0, 10.0 * DRAG_STEP));
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count]);
    harness.hover_at(from);
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count, Level::Off]);
    harness.drop_at(from);
    harness.run();
    assert_eq!(harness.state().turns.len(), 2, "releasing a dragged knob is not a click");
}

/// Sends notches of a mouse wheel, or fractions, spread over a third of a second of short frames.
fn notches(harness: &mut Harness<'_, Bench>, lines: f32) {
    wheel(harness, lines);
    harness.run_steps(FRAMES);
}

/// Sends notches within a third of a second.
const FRAMES: usize = 20;

fn wheel(harness: &mut Harness<'_, Bench>, lines: f32) {
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, lines),
        phase: TouchPhase::Move,
        source: MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
}

/// A test window with the pointer over the knob.
fn hovered(offered: &[Level]) -> Harness<'static, Bench> {
    let mut harness = bench_at(1.0 / 60.0, Some(Level::Off), offered);
    harness.hover_at(centre(&harness));
    harness.run();
    harness
}

#[test]
fn wheel_turns_only_where_allowed() {
    for (wheel, turns) in [(true, 1), (false, 0)] {
        let mut harness = hovered(&TWO);
        harness.state_mut().wheel = wheel;
        notches(&mut harness, 1.0);
        assert_eq!(harness.state().turns.len(), turns, "wheel {wheel}");
    }
}

#[test]
fn each_notch_of_the_wheel_is_one_detent() {
    for rest in [0, 10 * FRAMES] {
        let mut harness = hovered(&Level::ALL);
        let wanted = [1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0].map(|notch| {
            notches(&mut harness, notch);
            harness.run_steps(rest);
            harness.state().wanted.map(Level::word)
        });
        let words = ["count", "time", "count", "time", "trace", "time", "count", "off"];
        assert_eq!(wanted, words.map(Some), "rest {rest}");
    }
}

/// X reports a notch twice if it came over a network.
#[test]
fn notch_reported_twice_counts_once() {
    let mut harness = hovered(&Level::ALL);
    for words in ["count", "time", "count"] {
        let notch = if harness.state().wanted == Some(Level::Time) { -1.0 } else { 1.0 };
        wheel(&mut harness, notch);
        notches(&mut harness, notch);
        assert_eq!(harness.state().wanted.map(Level::word), Some(words));
    }
}

#[test]
fn trembling_wheel_turns_nothing() {
    for before in [0.0, 0.6, 1.0, 1.4] {
        let mut harness = hovered(&Level::ALL);
        notches(&mut harness, before);
        let turns = harness.state().turns.len();
        for _ in 0..8 {
            notches(&mut harness, -0.3);
            notches(&mut harness, 0.3);
        }
        assert_eq!(harness.state().turns.len(), turns, "after {before}");
    }
}

#[test]
fn small_steps_of_the_wheel_add_up_to_a_detent() {
    let mut harness = hovered(&Level::ALL);
    for _ in 0..4 {
        notches(&mut harness, 0.25);
    }
    assert_eq!(harness.state().turns, [Level::Count]);
}

/// A notch forth and one back before the first is spread leave the level unchanged.
#[test]
fn reversed_notch_leaves_the_level() {
    for frames in 1..8 {
        let mut harness = hovered(&Level::ALL);
        notches(&mut harness, 1.0);
        wheel(&mut harness, 1.0);
        harness.run_steps(frames);
        notches(&mut harness, -1.0);
        assert_eq!(harness.state().wanted, Some(Level::Count), "after {frames} frames");
    }
}

#[test]
fn accesskit_drives_it() {
    let mut harness = bench(Some(Level::Off), &TWO);
    let node = harness.get_by_label("Dial of A.B");
    assert_eq!(node.value().as_deref(), Some("off"));
    node.increment_accesskit();
    harness.run();
    harness.get_by_label("Dial of A.B").decrement_accesskit();
    harness.run();
    harness.get_by_label("Dial of A.B").set_value_accesskit(1.0);
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count, Level::Off, Level::Count]);
    assert_eq!(harness.get_by_label("Dial of A.B").value().as_deref(), Some("count, off"));
}

#[test]
fn unoffered_level_is_refused_and_skipped() {
    let mut harness = bench(Some(Level::Count), &TWO);
    harness.get_by_label("Dial of A.B").set_value_accesskit(3.0);
    harness.run();
    assert_eq!(harness.state().refused, [Level::Trace]);
    assert_eq!(harness.state().turns, []);
    let mut harness = bench(Some(Level::Off), &[Level::Off, Level::Time]);
    harness.get_by_label("Dial of A.B").increment_accesskit();
    harness.run();
    assert_eq!(harness.state().turns, [Level::Time]);
}

#[test]
fn click_on_mixed_knob_turns_all_on() {
    let mut harness = bench(None, &TWO);
    assert_eq!(harness.get_by_label("Dial of A.B").value().as_deref(), Some("mixed, off"));
    harness.get_by_label("Dial of A.B").click();
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count]);
    let mut harness = bench(None, &TWO);
    harness.get_by_label("Dial of A.B").set_value_accesskit(0.0);
    harness.run();
    assert_eq!(harness.state().turns, [Level::Off], "off turns a mixed knob off, too");
}

#[test]
fn level_name_on_the_face_sets_it() {
    let mut harness = bench(Some(Level::Off), &[Level::Off, Level::Count, Level::Trace]);
    for level in [Level::Trace, Level::Count, Level::Off] {
        harness.get_by_label(&format!("Dial of A.B to {level}")).click();
        harness.run();
        assert_eq!(harness.state().turns.last(), Some(&level));
    }
    harness.get_by_label("Dial of A.B to time").click();
    harness.run();
    assert_eq!((harness.state().turns.len(), harness.state().refused.as_slice()), (3, &[Level::Time][..]));
}

#[test]
fn every_point_of_a_level_name_is_clickable() {
    use egui::{Event, PointerButton};
    let all = Level::ALL;
    for level in all {
        let mut harness = bench(Some(Level::Off), &all);
        let name = harness.get_by_label(&format!("Dial of A.B to {level}")).rect().shrink(2.0);
        for pos in [name.left_top(), name.left_bottom(), name.right_top(), name.right_bottom(), name.center()]
        {
            harness.state_mut().wanted = None;
            harness.run();
            harness.event(Event::PointerMoved(pos));
            for pressed in [true, false] {
                let modifiers = egui::Modifiers::NONE;
                harness.event(Event::PointerButton {
                    pos,
                    button: PointerButton::Primary,
                    pressed,
                    modifiers,
                });
            }
            harness.run();
            assert_eq!(harness.state().turns.last(), Some(&level), "{pos:?}");
        }
    }
}

#[test]
fn menu_sets_levels_and_explains_unoffered_ones() {
    let mut harness = bench(Some(Level::Off), &TWO);
    harness.get_by_label("Dial of A.B").click_secondary();
    harness.run();
    assert!(harness.query_by_label_contains("time and trace: the agent does not offer it").is_some());
    let named = |harness: &Harness<'_, Bench>, part: &str| {
        let node = harness.get_by_label_contains(part);
        (node.accesskit_node().is_disabled(), node.rect().center())
    };
    let (disabled, at) = named(&harness, "trace one event");
    assert!(disabled);
    harness.event(Event::PointerMoved(at));
    harness.run();
    assert_eq!(harness.state().turns, [], "opening the menu turns nothing");
    assert!(!named(&harness, "count exact").0);
    harness.get_by_label_contains("count exact").click();
    harness.run();
    assert_eq!(harness.state().turns, [Level::Count]);
    assert!(harness.query_by_label_contains("count exact").is_none(), "it closes");
}
