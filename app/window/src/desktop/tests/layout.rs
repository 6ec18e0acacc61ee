//! Tests of the layout: room and overlaps.

use super::fixture::{crowd, deliver, execute, look_at_shop, minute, rows, window_of, with_shop};
use super::gestures::last_logged;
use super::times::painted;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Shape, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::log::LogKind;
use redial_model::update::ConnectionUpdate;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const HINT: &str = "Widen the window to see details";

fn counting(size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(Theme::Dark, size));
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness
}

/// Numbers are near the right edge of the details panel. Its scroll bar appears beside them when the panel is low, and moves
/// nothing.
#[test]
fn panel_scroll_bar_is_beside_the_numbers() {
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
    assert!(free > 1_150.0, "{free}: not near the edge");
    assert!(free < 1_160.0, "{free} is under the scroll bar");
    assert_eq!(free, scrolled);
}

#[test]
fn hidden_panel_explains_how_to_show_it() {
    let hinted = |harness: &Harness<'static, App>| harness.query_by_label(HINT).is_some();
    let harness = counting([900.0, 600.0]);
    assert!(hinted(&harness) && painted(&harness, HINT).is_some_and(|place| place.width() > 100.0));
    harness.get_by_label(HINT).hover();
    let mut harness = harness;
    harness.run_steps(40);
    assert!(harness.query_by_label_contains("widen the window").is_some());
    assert!(!hinted(&counting([1_180.0, 720.0])), "the panel is visible");
    let mut nothing = window_of(Theme::Dark, [900.0, 600.0]);
    nothing.run_steps(3);
    assert!(!hinted(&nothing), "there are no details");
}

/// A notification covers neither the log nor rows the user may be about to click.
#[test]
fn notification_covers_neither_rows_nor_log() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 100);
    let rows_end = |harness: &Harness<'static, App>| {
        let rows = harness.query_all_by_label_contains("Crowd!Crowd.Type0.Method");
        rows.map(|row| row.rect().bottom()).fold(0.0, f32::max)
    };
    for open in [true, false] {
        if harness.state().settings.log_open != open {
            execute(&mut harness, UiCommand::Log);
        }
        let first = harness.get_by_label("Crowd!Crowd.Type0.Method0()").rect();
        let end = rows_end(&harness);
        execute(&mut harness, UiCommand::NotOffered(Level::Trace));
        assert!(last_logged(&harness, LogKind::Refusal).contains("trace"));
        let notification = harness.get_by_label("Close").rect();
        let below = harness.get_by_label(if open { "Log" } else { "Connected" }).rect();
        assert!(
            notification.bottom() < below.top() && notification.bottom() > below.top() - 60.0,
            "{notification} {below}"
        );
        assert!(rows_end(&harness) <= notification.top(), "{} {notification}", rows_end(&harness));
        assert_eq!(rows_end(&harness) == end, open, "it takes room from the log while that is shown");
        assert_eq!(
            harness.get_by_label("Crowd!Crowd.Type0.Method0()").rect(),
            first,
            "rows keep their places"
        );
        harness.get_by_label("Close").click();
        harness.run_steps(3);
        assert_eq!(rows_end(&harness), end, "the rows get the room back");
    }
}

/// However low the log is, it keeps its size and keeps following its end.
#[test]
fn log_line_stays_visible_below_notification() {
    let mut harness = with_shop(Theme::Dark);
    harness.state_mut().settings.log_height = Some(60.0);
    harness.run_steps(3);
    for _ in 0..4 {
        execute(&mut harness, UiCommand::NotOffered(Level::Trace));
        harness.run_steps(2);
        let notification = harness.get_by_label("Close").rect();
        let lines = harness.query_all_by_label_contains("trace").map(|line| line.rect());
        let below = lines.filter(|line| line.top() > notification.bottom() && line.height() > 10.0).count();
        assert_eq!(below, 1, "the newest line");
        assert!(harness.query_by_label("Jump to newest").is_none(), "it is visible");
    }
    assert_eq!(harness.state().settings.log_height, Some(60.0));
}

/// Everything about one counted method, at the initial window size.
#[test]
fn last_line_of_the_panel_is_visible() {
    for height in [720.0, 800.0] {
        let harness = counting([1_180.0, height]);
        let token = painted(&harness, "0x06000001").expect("the token");
        let log = harness.get_by_label("Log").rect();
        assert!(token.bottom() + 6.0 <= log.top(), "{height}: {token} {log}");
    }
}

/// Nor does it stay over a confirmation.
#[test]
fn hint_of_large_knob_covers_neither_knob_nor_names() {
    let mut harness = counting([1_180.0, 720.0]);
    let knob = harness.get_by_label("Dial of the selection").rect();
    harness.get_by_label("Dial of the selection").hover();
    harness.run_steps(40);
    let shows = "Drag, wheel or arrow keys change the level; right-click lists all levels.";
    let hint = |harness: &Harness<'static, App>| painted(harness, shows);
    let place = hint(&harness).expect("a hint");
    let name = harness.get_by_label("Dial of the selection to count").rect();
    assert!(place.right() < name.left() && name.left() < knob.left(), "{place} {name} {knob}");
    // It ends above the numbers and is no wider than the panel, so that the covered content is recognizable.
    let calls = painted(&harness, "Now").expect("numbers");
    assert!(place.width() <= 250.0 && place.bottom() < calls.top(), "{place} {calls}");
    let listed = harness.query_all_by_label_contains("exact number of calls").count();
    assert_eq!(listed, 0, "names show the levels");
    crowd(&mut harness, 1_200);
    execute(&mut harness, UiCommand::SelectAll);
    execute(&mut harness, UiCommand::TurnTo(Level::Count));
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("dials to count?").is_some(), "a confirmation");
    assert!(hint(&harness).is_none(), "it stays over the confirmation");
}

/// Without a state, a row uses that column's room for its name.
#[test]
fn names_use_the_empty_state_column() {
    let mut harness = counting([1_180.0, 720.0]);
    let whole = "Pricing.Discount(Shop.Money, int)   Shop";
    assert!(painted(&harness, whole).is_some(), "never dialled");
    let dialled = super::fixture::row(6, CopyState::Off, Level::Off, 1, None);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![dialled] })]);
    assert!(painted(&harness, whole).is_none(), "its state needs the room");
}
