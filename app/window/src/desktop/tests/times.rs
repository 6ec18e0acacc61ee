//! Tests of times: their columns, and the histogram of the current method.

use super::fixture::{
    deliver, execute, look_at_shop, look_at_shops, minute, row, second, status, window, window_of, with_shop,
};
use super::fleet::{ADD, deliver_to, value};
use super::snapshots::both;
use crate::commands::{CopyFormat, UiCommand};
use crate::desktop::App;
use crate::ui::theme::DARK;
use crate::views::latency::missing_percentiles;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key as Button, Rect, Shape, Theme, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::histogram;
use redial_model::histograms::merged_method::MergedHistogram;
use redial_model::list::{Filter, Sort, SortKey};
use redial_model::update::{ConnectionUpdate, Retry};
use redial_model::visible_rows::VisibleRows;
use redial_protocol::cost::Cost;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::times::TimeColumn;

const TOTAL: &str = "Shop!Shop.Cart.get_Total()";
const HISTOGRAM: &str = "Latency histogram of Shop!Shop.Cart.Add(int)";

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// Returns a distribution with `calls` calls around a bucket.
fn hump(middle: f64, width: f64, calls: f64) -> impl Fn(u16) -> u64 {
    move |bucket| (calls * (-((f64::from(bucket) - middle) / width).powi(2)).exp()).round() as u64
}

/// Returns calls of some 120 µs, with `slow` calls of 3 ms per hundred of them.
pub fn two_humps(row: u32, calls: f64, slow: f64) -> RowHistogram {
    let (fast, late) = (hump(410.0, 30.0, calls), hump(557.0, 18.0, calls * slow / 100.0));
    let counts = (300..620).map(|bucket| (bucket, fast(bucket) + late(bucket)));
    histogram(row, &counts.filter(|(_, calls)| *calls > 0).collect::<Vec<_>>())
}

fn times_of(histogram: &RowHistogram) -> Times {
    Times { self_ns: histogram.times.total_ns / 3, exceptions: 7, in_flight: 2, ..histogram.times }
}

fn times(all: &[Times]) -> ConnectionUpdate {
    ConnectionUpdate::Event(Event::Times { id: None, times: all.to_vec() })
}

/// Times `Add`, `get_Total` and `Clear`, the last without calls; other methods only count.
pub fn timed_in(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.push(Level::Time);
    }
    let rows = vec![
        row(0, CopyState::Live, Level::Time, 0, None),
        row(1, CopyState::Asked, Level::Time, 0, None),
        row(2, CopyState::Live, Level::Time, 0, None),
        row(4, CopyState::Off, Level::Off, 99, None),
    ];
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    deliver(&mut harness, minute());
    let add = times_of(&two_humps(0, 900.0, 12.0));
    let total = times_of(&histogram(2, &[(210, 9_000), (215, 800), (330, 12)]));
    deliver(&mut harness, vec![times(&[add, total]), second(60, [41_000, 310])]);
    harness
}

pub fn timed(theme: Theme) -> Harness<'static, App> {
    timed_in(with_shop(theme))
}

/// Selects `Add` and delivers its histogram.
pub fn looked_at(harness: &mut Harness<'static, App>, now: &RowHistogram) {
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    answer(harness, now);
}

pub fn answer(harness: &mut Harness<'static, App>, now: &RowHistogram) {
    let now = RowHistogram { times: times_of(now), ..now.clone() };
    deliver(harness, vec![times(&[now.times]), ConnectionUpdate::Histogram(RowId(0), Ok(Box::new(now)))]);
}

fn top(harness: &Harness<'static, App>, label: &str) -> f32 {
    harness.get_by_role_and_label(Role::Row, label).rect().top()
}

/// In windows of common sizes.
const SIZES: [[f32; 2]; 3] = [[1_280.0, 800.0], [1_024.0, 700.0], [900.0, 600.0]];

#[test]
fn state_and_calls_stay_beside_times() {
    for size in SIZES {
        let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, size)));
        for column in ["state", "calls", "per second", "total"] {
            assert!(shows(&harness, &format!("Sort by {column}")), "{column} at {size:?}");
        }
        assert!(size[0] < 1_100.0 || shows(&harness, "Sort by self"), "it shows where time goes");
        for add_is_first in [true, false] {
            harness.get_by_label("Sort by total").click();
            harness.run_steps(3);
            assert_eq!(top(&harness, ADD) < top(&harness, TOTAL), add_is_first, "at {size:?}");
        }
        assert_eq!(super::notifications::colours(&harness, "6.36 s").len(), 1, "at {size:?}");
    }
}

#[test]
fn hidden_columns_are_named() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_280.0, 800.0])));
    harness.get_by_label("+8 columns").hover();
    harness.run_steps(40);
    assert!(shows(
        &harness,
        "Hidden columns: p50, p90, p99, max, share, exceptions, in flight, last minute\nTo see more columns, widen \
        the window"
    ));
    let wide = timed_in(look_at_shop(window_of(Theme::Dark, [2_100.0, 800.0])));
    assert!(!shows(&wide, "columns"));
}

/// Returns where a text is painted.
pub(super) fn painted(harness: &Harness<'static, App>, text: &str) -> Option<Rect> {
    painted_by(harness, |one| one == text)
}

fn painted_by(harness: &Harness<'static, App>, is_it: impl Fn(&str) -> bool) -> Option<Rect> {
    harness.output().shapes.iter().find_map(|clipped| match &clipped.shape {
        Shape::Text(one) if is_it(one.galley.text()) => {
            Some(one.visual_bounding_rect().intersect(clipped.clip_rect))
        }
        _ => None,
    })
}

#[test]
fn held_order_is_shown_beside_times() {
    for size in SIZES {
        let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, size)));
        harness.get_by_label("Sort by total").click();
        harness.run_steps(3);
        harness.remove_cursor();
        harness.run_steps(12);
        let frozen = |harness: &Harness<'static, App>| harness.query_by_label("Sort again").is_some();
        assert!(!frozen(&harness), "nothing is frozen");
        let hidden = |harness: &Harness<'static, App>| {
            painted_by(harness, |text| text.starts_with('+')).expect("the button of hidden columns")
        };
        let before = hidden(&harness);
        execute(&mut harness, UiCommand::FreezeOrder);
        let longer = Times { total_ns: u64::MAX / 2, ..times_of(&histogram(2, &[(210, 9_000)])) };
        deliver(&mut harness, vec![times(&[longer]), second(61, [41_000, 310])]);
        assert!(top(&harness, ADD) < top(&harness, TOTAL), "it is frozen");
        let head = painted(&harness, "Order frozen · ").or_else(|| painted(&harness, "Frozen · "));
        let (method, head) = (painted(&harness, "Method").expect("its header"), head.expect("the button"));
        let gone = hidden(&harness);
        assert_eq!(gone, before, "it keeps its place");
        let calls = painted(&harness, "Calls").expect("its header");
        let sign = painted(&harness, "Sort again").expect("the button");
        assert!(method.right() < head.left(), "{method} {head}");
        assert!(head.right() <= sign.left() + 1.0, "{head} {sign}");
        assert!(sign.right() < gone.left() && sign.width() > 40.0, "{sign} {gone} at {size:?}");
        assert!(gone.right() < calls.left(), "{gone} {calls}");
        harness.get_by_label("Sort again").click();
        harness.run_steps(3);
        assert!(top(&harness, ADD) > top(&harness, TOTAL) && !frozen(&harness), "at {size:?}");
    }
}

#[test]
fn time_columns_appear_with_first_timing_and_sort() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![super::fixture::rows(), second(1, [5, 5])]);
    assert!(!shows(&harness, "Sort by p50"), "nothing is timed");
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [2_100.0, 900.0])));
    for column in TimeColumn::ALL {
        assert!(shows(&harness, &format!("Sort by {}", column.name())), "{column:?}");
    }
    assert!(value(&harness, ADD).contains(" calls, p50 124 µs, p90 "), "{}", value(&harness, ADD));
    assert!(value(&harness, TOTAL).ends_with(", exceptions 7, in flight 2"), "{}", value(&harness, TOTAL));
    let numbers = |harness: &Harness<'static, App>| -> Vec<Option<u64>> {
        let live = &harness.state().model.current().expect("Shop").table().live;
        let p50 = |id| TimeColumn::P50.number(live.row(RowId(id))?.times.as_deref()?);
        [0, 2].map(p50).to_vec()
    };
    let shown_text = numbers(&harness);
    assert!(shown_text[0] > shown_text[1] && shown_text[1].is_some(), "{shown_text:?}");
    harness.get_by_label("Sort by p50").click();
    harness.run_steps(3);
    assert!(top(&harness, ADD) < top(&harness, TOTAL), "the slowest first");
    harness.get_by_label("Sort by p50").click();
    harness.run_steps(3);
    assert!(top(&harness, ADD) > top(&harness, TOTAL), "reversed");
}

/// Times are shown as current only while calls are timed.
#[test]
fn untimed_method_keeps_its_last_times() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_800.0, 900.0])));
    looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
    let shown = |harness: &Harness<'static, App>, number: &str, of: &str| -> (usize, bool) {
        let colours = super::notifications::colours(harness, number);
        let weak = colours.iter().filter(|colour| **colour == DARK.weak).count();
        assert!(weak == 0 || weak == colours.len(), "{of}: {colours:?}");
        (colours.len(), weak > 0)
    };
    assert_eq!(shown(&harness, "124 µs", "live"), (2, false), "in the table and in the details panel");
    for (state, wanted, calls_are_last, shows) in [
        (CopyState::Live, Level::Count, false, "Timing is off; showing the last values."),
        (CopyState::Off, Level::Off, true, "Counting is off; showing the last values."),
    ] {
        let rows = vec![row(0, state, wanted, 2_663_290, None)];
        deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
        assert_eq!(shown(&harness, "124 µs", shows), (2, true), "{shows}");
        assert_eq!(shown(&harness, "2,663,290", shows), (2, calls_are_last), "{shows}");
        assert!(self::shows(&harness, shows), "{shows}");
        assert!(
            value(&harness, ADD).contains(" calls, last times: p50 124 µs, "),
            "{}",
            value(&harness, ADD)
        );
    }
    let rows = vec![row(0, CopyState::Reverting, Level::Off, 2_663_290, None)];
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    assert_eq!(shown(&harness, "124 µs", "reverting"), (2, false), "calls in progress may still end");
}

#[test]
fn copied_table_includes_times() {
    let harness = timed(Theme::Dark);
    let shop = harness.state().model.current().expect("Shop");
    let copied = |form| crate::desktop::clipboard::table(VisibleRows::of(shop), form).0;
    assert!(
        copied(CopyFormat::Csv)
            .contains(",p50 ns,p90 ns,p99 ns,max ns,total ns,self ns,exceptions,in flight,")
    );
    assert!(copied(CopyFormat::Text).contains("124 µs"), "{}", copied(CopyFormat::Text));
}

#[test]
fn histogram_describes_all_bars_and_the_hovered_one() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_180.0, 940.0])));
    let now = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &now);
    let shown_text = value(&harness, HISTOGRAM);
    let calls = redial_text::words::grouped(now.times.exits);
    assert!(shown_text.starts_with(&format!("{calls} calls: p50 124 µs, p90 ")), "{shown_text}");
    assert!(
        shown_text.lines().count() > 3 && shown_text.lines().skip(1).all(|line| line.contains(" took ")),
        "{shown_text}"
    );
    let rect = harness.get_by_label(HISTOGRAM).rect();
    // The first hump is left of the centre of the axis.
    harness.hover_at(rect.center_bottom() - vec2(rect.width() * 0.2, 24.0));
    harness.run_steps(20);
    assert!(shows(&harness, " calls took ") && shows(&harness, " %)"), "no bar is active");
    let hint = |harness: &Harness<'static, App>| painted_by(harness, |text| text.contains(" calls took "));
    let covers = hint(&harness).is_none_or(|hint| hint.intersects(rect));
    assert!(!covers, "{:?} covers the histogram's text: {rect}", hint(&harness));
    execute(&mut harness, UiCommand::Keys);
    assert_eq!(hint(&harness), None, "not while a dialog is open");
    execute(&mut harness, UiCommand::Escape);
    harness.remove_cursor();
    harness.run_steps(20);
    assert_eq!(hint(&harness), None, "the pointer is elsewhere");
    harness.get_by_label(HISTOGRAM).focus();
    harness.run_steps(3);
    let mut heard = Vec::new();
    for key in [Button::ArrowRight, Button::ArrowRight, Button::ArrowLeft] {
        harness.key_press(key);
        harness.run_steps(3);
        heard.push(value(&harness, HISTOGRAM).lines().next().unwrap_or_default().to_owned());
    }
    assert!(heard.iter().all(|line| line.contains(" took ")), "{heard:?}");
    assert!(heard[0] == heard[2] && heard[0] != heard[1], "{heard:?}");
}

/// Very short calls all have the same percentiles.
#[test]
fn percentile_hints_state_their_precision() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [2_100.0, 900.0])));
    let costs = vec![Cost { level: Level::Time, picoseconds: 35_000 }];
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(AgentStatus { costs, ..status() }))]);
    looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
    for (at, tick) in [("Sort by p90", "a clock tick:"), ("p99", "a clock tick (1.00 ns):")] {
        harness.get_all_by_label(at).last().expect("it is there").hover();
        harness.run_steps(40);
        assert!(shows(&harness, "At most 2 % off") && shows(&harness, tick), "{at}");
        assert!(shows(&harness, "Timing itself costs 35 ns per call."), "{at}");
    }
}

#[test]
fn mark_compares_calls_before_and_since() {
    let mut harness = timed(Theme::Dark);
    let before = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &before);
    assert!(!shows(&harness, "Clear mark"));
    harness.get_by_label("Mark").click_accesskit();
    harness.run_steps(3);
    assert!(value(&harness, HISTOGRAM).starts_with("0 calls since the mark\n"), "no calls since");
    let now = two_humps(0, 1_800.0, 40.0);
    answer(&mut harness, &now);
    let (since, all) = (now.times.exits - before.times.exits, before.times.exits);
    let [since, all] = [since, all].map(redial_text::words::grouped);
    let shown_text = value(&harness, HISTOGRAM);
    assert!(shown_text.starts_with(&format!("{since} calls since the mark: p50 ")), "{shown_text}");
    assert!(shown_text.contains(&format!("\n{all} calls before it: p50 124 µs")), "{shown_text}");
    assert!(shows(&harness, &format!("Outline: {all} calls before it")));
    // Another row has no mark, and this one keeps it.
    harness.get_by_label(TOTAL).click();
    harness.run_steps(3);
    assert!(!shows(&harness, "Clear mark"));
    looked_at(&mut harness, &now);
    harness.get_by_label("Clear mark").click_accesskit();
    harness.run_steps(3);
    let all = redial_text::words::grouped(now.times.exits);
    assert!(value(&harness, HISTOGRAM).starts_with(&format!("{all} calls: p50 ")));
    assert!(!shows(&harness, "Clear mark") && shows(&harness, "Mark"));
}

#[test]
fn a_low_window_shows_the_histogram_and_the_buttons_of_marks() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_280.0, 720.0])));
    looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
    harness.get_by_label("Mark").click();
    harness.run_steps(3);
    answer(&mut harness, &two_humps(0, 1_800.0, 40.0));
    let log = harness.get_by_label("Log").rect().top();
    for button in ["Mark again", "Clear mark"] {
        assert!(harness.get_by_label(button).rect().bottom() < log, "{button}");
    }
    let drawn = harness.get_by_label(HISTOGRAM).rect();
    assert!(drawn.bottom() < log, "{drawn} is cut at {log}");
    harness.get_by_label("Clear mark").click();
    harness.run_steps(3);
    assert!(!shows(&harness, "Clear mark"));
}

#[test]
fn missing_histogram_is_explained() {
    let mut harness = timed(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(shows(&harness, "Loading the histogram…"));
    deliver(&mut harness, vec![ConnectionUpdate::Histogram(RowId(0), Err("its module was unloaded".into()))]);
    assert!(shows(&harness, "No histogram to show: its module was unloaded."));
    harness.get_by_label("Shop!Shop.Cart.Clear()").click();
    harness.run_steps(3);
    assert!(shows(&harness, "Its next calls will be timed."));
}

#[test]
fn merged_times_add_up_without_percentiles() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        let rows = vec![row(0, CopyState::Live, Level::Time, 10, None)];
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
        let one = times_of(&histogram(0, &[(410, 10 * u64::from(id)), (410 + 32 * id as u16, 1)]));
        deliver_to(&mut harness, id, vec![times(&[one])]);
    }
    let row_value = value(&harness, ADD);
    let (_, shown_text) = row_value.split_once(" calls, ").expect("times");
    assert!(
        shown_text.starts_with("max 967 µs, total 7.55 ms"),
        "the longest of all, and a sum: {shown_text}"
    );
    assert!(shown_text.ends_with("exceptions 21, in flight 6"), "{shown_text}");
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(shows(&harness, "Loading the histograms…") && !shows(&harness, "Latency histogram"));
    let mut known = MergedHistogram::default();
    assert!(missing_percentiles(&known, 3).contains("Select one copy to see its own"));
    assert!(missing_percentiles(&known, 33).contains("at most 32 copies"));
    known.set_awaited(true);
    assert_eq!(missing_percentiles(&known, 33), "Loading the histograms…");
}

/// A table with timed methods, wide enough for all columns.
#[test]
fn a_table_with_times() {
    both("times", |theme| {
        let mut harness = timed_in(look_at_shop(window_of(theme, [1_800.0, 900.0])));
        let filter = Filter { only_dialled: true, ..Filter::default() };
        harness.state_mut().model.current_process_mut().expect("Shop").table.set_filter(filter);
        let sort = Sort { key: SortKey::Time(TimeColumn::Max), descending: true };
        execute(&mut harness, UiCommand::Sort(sort));
        looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
        harness
    });
}

/// Calls since a mark, drawn against those before.
#[test]
fn a_histogram_with_a_mark() {
    both("histogram", |theme| {
        let mut harness = timed_in(look_at_shop(window_of(theme, [1_180.0, 940.0])));
        looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
        harness.get_by_label("Mark").click_accesskit();
        harness.run_steps(3);
        answer(&mut harness, &two_humps(0, 1_800.0, 40.0));
        harness
    });
}

#[test]
fn explains_how_to_find_the_slowest_methods() {
    let mut harness = timed(Theme::Dark);
    assert!(shows(&harness, "Press Ctrl+A and 2 to time all methods shown"));
    execute(&mut harness, UiCommand::Filter(ADD.to_owned()));
    assert!(shows(&harness, "These methods are timed. Sort by “Self”."));
    execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Time(TimeColumn::Own), descending: true }));
    assert!(shows(&harness, "sorted by “Self”: the top row took most."));
}

/// No agent can be asked for it any more, and no calls are counted.
#[test]
fn ended_process_explains_missing_histogram() {
    let mut harness = timed(Theme::Dark);
    assert!(shows(&harness, "Which methods are called most?"));
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
    );
    assert!(shows(&harness, "No method selected") && !shows(&harness, "Which methods are called most?"));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(shows(&harness, "No histogram: the process ended before it was loaded."));
}
