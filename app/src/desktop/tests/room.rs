//! What finds room in the window, and what does not cover what.

use super::gestures::said;
use super::stage::{act, crowd, look_at_shop, minute, rows, tell, window_of, with_shop};
use super::times::painted;
use crate::commands::Command;
use crate::desktop::App;
use crate::model::log::Kind;
use crate::model::update::Told;
use eframe::egui::{Shape, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const HINT: &str = "a wider window shows the panel";

fn counting(size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(Theme::Dark, size));
    tell(&mut harness, vec![rows()]);
    tell(&mut harness, minute());
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness
}

/// Numbers stand at the right edge of the panel of the selection, where its scroll bar comes when it is low.
#[test]
fn the_scroll_bar_of_the_panel_stands_beside_its_numbers() {
    let right = |height: f32| {
        let harness = counting([1_180.0, height]);
        let places = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) if text.galley.text() == "43.6 k/s" => {
                Some(text.visual_bounding_rect().right())
            }
            _ => None,
        });
        places.reduce(f32::max).expect("the rate in the panel")
    };
    let (free, scrolled) = (right(1_400.0), right(640.0));
    assert!(free > 1_160.0, "{free}: at the edge");
    assert!(scrolled <= free - 10.0, "{scrolled} is under the bar");
}

#[test]
fn where_the_panel_finds_no_room_it_is_said_how_it_is_seen() {
    let hinted = |harness: &Harness<'static, App>| harness.query_by_label(HINT).is_some();
    let harness = counting([900.0, 600.0]);
    assert!(hinted(&harness) && painted(&harness, HINT).is_some_and(|place| place.width() > 100.0));
    harness.get_by_label(HINT).hover();
    let mut harness = harness;
    harness.run_steps(40);
    assert!(harness.query_by_label_contains("make the window wider").is_some());
    assert!(!hinted(&counting([1_180.0, 720.0])), "there it is");
    let mut nothing = window_of(Theme::Dark, [900.0, 600.0]);
    nothing.run_steps(3);
    assert!(!hinted(&nothing), "there is nothing to be seen");
}

/// Neither the log, which says more, nor rows, which are what the user is about to click.
#[test]
fn what_is_told_covers_neither_rows_nor_the_log() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 100);
    let rows_end = |harness: &Harness<'static, App>| {
        let rows = harness.query_all_by_label_contains("Crowd!Crowd.Type0.Method");
        rows.map(|row| row.rect().bottom()).fold(0.0, f32::max)
    };
    for open in [true, false] {
        if harness.state().settings.log_open != open {
            act(&mut harness, Command::Log);
        }
        let first = harness.get_by_label("Crowd!Crowd.Type0.Method0()").rect();
        let end = rows_end(&harness);
        act(&mut harness, Command::NotOffered(Level::Trace));
        assert!(said(&harness, Kind::Refusal).contains("trace"));
        let told = harness.get_by_label("Close").rect();
        let below = harness.get_by_label(if open { "Log" } else { "connected" }).rect();
        assert!(told.bottom() < below.top() && told.bottom() > below.top() - 60.0, "{told} {below}");
        assert!(rows_end(&harness) <= told.top(), "{} {told}", rows_end(&harness));
        assert_eq!(rows_end(&harness) == end, open, "it takes its room from the log while that is shown");
        assert_eq!(
            harness.get_by_label("Crowd!Crowd.Type0.Method0()").rect(),
            first,
            "rows keep their places"
        );
        harness.get_by_label("Close").click();
        harness.run_steps(3);
        assert_eq!(rows_end(&harness), end, "the room is theirs again");
    }
}

/// However low the log was made: it keeps its size, and goes on following its end.
#[test]
fn below_what_is_told_a_line_of_the_log_stays_in_sight() {
    let mut harness = with_shop(Theme::Dark);
    harness.state_mut().settings.log_height = Some(60.0);
    harness.run_steps(3);
    for _ in 0..4 {
        act(&mut harness, Command::NotOffered(Level::Trace));
        harness.run_steps(2);
        let told = harness.get_by_label("Close").rect();
        let lines = harness.query_all_by_label_contains("trace").map(|line| line.rect());
        let below = lines.filter(|line| line.top() > told.bottom() && line.height() > 10.0).count();
        assert_eq!(below, 1, "the newest line");
        assert!(harness.query_by_label("to the newest").is_none(), "it is in sight");
    }
    assert_eq!(harness.state().settings.log_height, Some(60.0));
}

/// All that is told of one counted method, at the size a window has first.
#[test]
fn the_panels_last_line_is_in_sight() {
    for height in [720.0, 800.0] {
        let harness = counting([1_180.0, height]);
        let token = painted(&harness, "0x06000001").expect("the token");
        let log = harness.get_by_label("Log").rect();
        assert!(token.bottom() + 6.0 <= log.top(), "{height}: {token} {log}");
    }
}

/// Nor does it stay over what is asked then.
#[test]
fn a_large_knobs_hint_covers_neither_it_nor_the_names_around_it() {
    let mut harness = counting([1_180.0, 720.0]);
    let knob = harness.get_by_label("dial of the selection").rect();
    harness.get_by_label("dial of the selection").hover();
    harness.run_steps(40);
    let says = "Drag, wheel and arrow keys go by levels; right-click lists them.";
    let hint = |harness: &Harness<'static, App>| painted(harness, says);
    let place = hint(&harness).expect("a hint");
    let name = harness.get_by_label("dial of the selection to count").rect();
    assert!(place.right() < name.left() && name.left() < knob.left(), "{place} {name} {knob}");
    // What it stands on is to be guessed: it ends above the numbers, and is no wider than the panel.
    let calls = painted(&harness, "now").expect("numbers");
    assert!(place.width() <= 250.0 && place.bottom() < calls.top(), "{place} {calls}");
    let listed = harness.query_all_by_label_contains("the exact number of calls").count();
    assert_eq!(listed, 0, "levels are told by their names");
    crowd(&mut harness, 1_200);
    act(&mut harness, Command::SelectAll);
    act(&mut harness, Command::TurnTo(Level::Count));
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("dials to count?").is_some(), "a question");
    assert!(hint(&harness).is_none(), "it stays over the question");
}

/// A row without a state has the state's room for its name.
#[test]
fn names_are_not_cut_where_nothing_stands_beside_them() {
    let mut harness = counting([1_180.0, 720.0]);
    let whole = "Shop.Pricing.Discount(Shop.Money, int)";
    assert!(painted(&harness, whole).is_some(), "never dialled");
    let dialled = super::stage::row(6, State::Off, Level::Off, 1, None);
    tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows: vec![dialled] })]);
    assert!(painted(&harness, whole).is_none(), "its state needs the room");
}
