//! Times: columns once something is timed, and the histogram of the method that is looked at.

use super::several::{ADD, told, value};
use super::snapshots::both;
use super::stage::{
    act, look_at_shop, look_at_shops, minute, row, second, status, tell, window, window_of, with_shop,
};
use crate::commands::{Command, Form};
use crate::desktop::App;
use crate::model::histograms::tests::histogram;
use crate::model::lines::Lines;
use crate::model::list::{Filter, Key, Sort};
use crate::model::update::{Retry, Told};
use crate::output::times::TimeColumn;
use crate::ui::theme::DARK;
use eframe::egui::accesskit::Role;
use eframe::egui::{Key as Button, Rect, Shape, Theme, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::cost::Cost;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event};
use redial_protocol::state::State;
use redial_protocol::times::Times;

const TOTAL: &str = "Shop!Shop.Cart.get_Total()";
const HISTOGRAM: &str = "latency histogram of Shop!Shop.Cart.Add(int)";

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// So many calls about a bucket, fewer and fewer away from it.
fn hump(middle: f64, width: f64, calls: f64) -> impl Fn(u16) -> u64 {
    move |bucket| (calls * (-((f64::from(bucket) - middle) / width).powi(2)).exp()).round() as u64
}

/// Calls that took some 120 µs, and a few that took 3 ms: `slow` of them for a hundred of the others.
fn two_humps(row: u32, calls: f64, slow: f64) -> RowHistogram {
    let (fast, late) = (hump(410.0, 30.0, calls), hump(557.0, 18.0, calls * slow / 100.0));
    let counts = (300..620).map(|bucket| (bucket, fast(bucket) + late(bucket)));
    histogram(row, &counts.filter(|(_, calls)| *calls > 0).collect::<Vec<_>>())
}

fn times_of(histogram: &RowHistogram) -> Times {
    Times { self_ns: histogram.times.total_ns / 3, exceptions: 7, in_flight: 2, ..histogram.times }
}

fn times(all: &[Times]) -> Told {
    Told::Event(Event::Times { id: None, times: all.to_vec() })
}

/// `Add`, `get_Total` and `Clear` at time, of which the last was not called; and others that only count.
fn timed_in(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    if let Some(facts) = harness.state_mut().model.current_mut().and_then(|shop| shop.facts.as_mut()) {
        facts.levels.push(Level::Time);
    }
    let rows = vec![
        row(0, State::Live, Level::Time, 0, None),
        row(1, State::Asked, Level::Time, 0, None),
        row(2, State::Live, Level::Time, 0, None),
        row(4, State::Off, Level::Off, 99, None),
    ];
    tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows })]);
    tell(&mut harness, minute());
    let add = times_of(&two_humps(0, 900.0, 12.0));
    let total = times_of(&histogram(2, &[(210, 9_000), (215, 800), (330, 12)]));
    tell(&mut harness, vec![times(&[add, total]), second(60, [41_000, 310])]);
    harness
}

fn timed(theme: Theme) -> Harness<'static, App> {
    timed_in(with_shop(theme))
}

/// `Add` is looked at, and its histogram is there.
fn looked_at(harness: &mut Harness<'static, App>, now: &RowHistogram) {
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    answer(harness, now);
}

fn answer(harness: &mut Harness<'static, App>, now: &RowHistogram) {
    let now = RowHistogram { times: times_of(now), ..now.clone() };
    tell(harness, vec![times(&[now.times]), Told::Histogram(RowId(0), Ok(Box::new(now)))]);
}

fn top(harness: &Harness<'static, App>, label: &str) -> f32 {
    harness.get_by_role_and_label(Role::Row, label).rect().top()
}

/// Windows as most are.
const SIZES: [[f32; 2]; 2] = [[1_280.0, 800.0], [900.0, 600.0]];

#[test]
fn the_state_and_calls_stay_beside_times_and_these_sort() {
    for size in SIZES {
        let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, size)));
        for column in ["state", "calls", "per second", "total"] {
            assert!(says(&harness, &format!("sort by {column}")), "{column} at {size:?}");
        }
        assert!(size[0] < 1_000.0 || says(&harness, "sort by self"), "where the time goes");
        for add_is_first in [true, false] {
            harness.get_by_label("sort by total").click();
            harness.run_steps(3);
            assert_eq!(top(&harness, ADD) < top(&harness, TOTAL), add_is_first, "at {size:?}");
        }
        assert_eq!(super::told::colours(&harness, "6.36 s").len(), 1, "at {size:?}");
    }
}

#[test]
fn columns_that_find_no_room_are_named() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_280.0, 800.0])));
    harness.get_by_label("+6 columns").hover();
    harness.run_steps(40);
    assert!(says(
        &harness,
        "no room for: p50, p90, max, exceptions, in flight, last minute\nMake the window wider"
    ));
    let wide = timed_in(look_at_shop(window_of(Theme::Dark, [1_800.0, 800.0])));
    assert!(!says(&wide, "columns"));
}

/// Where a text is painted.
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
fn that_the_order_is_held_is_said_beside_the_times_too() {
    for size in SIZES {
        let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, size)));
        harness.get_by_label("sort by total").click();
        harness.run_steps(3);
        harness.remove_cursor();
        harness.run_steps(12);
        let held = |harness: &Harness<'static, App>| harness.query_by_label("sort again").is_some();
        assert!(!held(&harness), "nothing is held");
        act(&mut harness, Command::HoldOrder);
        let longer = Times { total_ns: u64::MAX / 2, ..times_of(&histogram(2, &[(210, 9_000)])) };
        tell(&mut harness, vec![times(&[longer]), second(61, [41_000, 310])]);
        assert!(top(&harness, ADD) < top(&harness, TOTAL), "it is held");
        let head = painted(&harness, "order held · ").or_else(|| painted(&harness, "held · "));
        let (method, head) = (painted(&harness, "method").expect("its head"), head.expect("the sign"));
        let gone = painted_by(&harness, |text| text.starts_with('+')).expect("what found no room");
        let calls = painted(&harness, "calls").expect("its head");
        let sign = painted(&harness, "sort again").expect("the sign");
        assert!(method.right() < gone.left() && gone.right() < head.left(), "{method} {gone} {head}");
        assert!(head.right() <= sign.left() + 1.0, "{head} {sign}");
        assert!(sign.right() < calls.left() && sign.width() > 40.0, "{sign} {calls} at {size:?}");
        harness.get_by_label("sort again").click();
        harness.run_steps(3);
        assert!(top(&harness, ADD) > top(&harness, TOTAL) && !held(&harness), "at {size:?}");
    }
}

#[test]
fn columns_come_with_the_first_dial_at_time_and_sort() {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![super::stage::rows(), second(1, [5, 5])]);
    assert!(!says(&harness, "sort by p50"), "nothing is timed");
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_900.0, 900.0])));
    for column in TimeColumn::ALL {
        assert!(says(&harness, &format!("sort by {}", column.name())), "{column:?}");
    }
    assert!(value(&harness, ADD).contains(" calls, p50 124 µs, p90 "), "{}", value(&harness, ADD));
    assert!(value(&harness, TOTAL).ends_with(", exceptions 7, in flight 2"), "{}", value(&harness, TOTAL));
    let numbers = |harness: &Harness<'static, App>| -> Vec<Option<u64>> {
        let live = &harness.state().model.current().expect("Shop").live;
        let p50 = |id| TimeColumn::P50.number(live.row(RowId(id))?.times.as_deref()?);
        [0, 2].map(p50).to_vec()
    };
    let told = numbers(&harness);
    assert!(told[0] > told[1] && told[1].is_some(), "{told:?}");
    harness.get_by_label("sort by p50").click();
    harness.run_steps(3);
    assert!(top(&harness, ADD) < top(&harness, TOTAL), "the slowest first");
    harness.get_by_label("sort by p50").click();
    harness.run_steps(3);
    assert!(top(&harness, ADD) > top(&harness, TOTAL), "and the other way round");
}

/// Times are shown as live only while calls are timed.
#[test]
fn times_of_what_is_not_timed_any_more_are_the_last() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_800.0, 900.0])));
    looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
    let shown = |harness: &Harness<'static, App>, number: &str, of: &str| -> (usize, bool) {
        let colours = super::told::colours(harness, number);
        let weak = colours.iter().filter(|colour| **colour == DARK.weak).count();
        assert!(weak == 0 || weak == colours.len(), "{of}: {colours:?}");
        (colours.len(), weak > 0)
    };
    assert_eq!(shown(&harness, "124 µs", "live"), (2, false), "in the table and in the panel");
    for (state, wanted, calls_are_last, says) in [
        (State::Live, Level::Count, false, "last times: it is only counted now"),
        (State::Off, Level::Off, true, "last numbers: it is not counted now"),
    ] {
        let rows = vec![row(0, state, wanted, 2_663_290, None)];
        tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows })]);
        assert_eq!(shown(&harness, "124 µs", says), (2, true), "{says}");
        assert_eq!(shown(&harness, "2,663,290", says), (2, calls_are_last), "{says}");
        assert!(self::says(&harness, says), "{says}");
        assert!(
            value(&harness, ADD).contains(" calls, last times: p50 124 µs, "),
            "{}",
            value(&harness, ADD)
        );
    }
    let rows = vec![row(0, State::Reverting, Level::Off, 2_663_290, None)];
    tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows })]);
    assert_eq!(shown(&harness, "124 µs", "reverting"), (2, false), "calls under way may still end");
}

#[test]
fn what_is_copied_has_the_times() {
    let harness = timed(Theme::Dark);
    let shop = harness.state().model.current().expect("Shop");
    let copied = |form| crate::desktop::copy::table(Lines::of(shop), form).0;
    assert!(
        copied(Form::Csv).contains(",p50 ns,p90 ns,p99 ns,max ns,total ns,self ns,exceptions,in flight,")
    );
    assert!(copied(Form::Text).contains("124 µs"), "{}", copied(Form::Text));
}

#[test]
fn all_numbers_of_the_histogram_are_told_and_the_pointer_says_those_of_a_bar() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_180.0, 940.0])));
    let now = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &now);
    let told = value(&harness, HISTOGRAM);
    let calls = crate::output::words::grouped(now.times.exits);
    assert!(told.starts_with(&format!("{calls} calls: p50 124 µs, p90 ")), "{told}");
    assert!(told.lines().count() > 3 && told.lines().skip(1).all(|line| line.contains(" took ")), "{told}");
    let rect = harness.get_by_label(HISTOGRAM).rect();
    // The first hump stands left of the middle, on the axis.
    harness.hover_at(rect.center_bottom() - vec2(rect.width() * 0.2, 24.0));
    harness.run_steps(20);
    assert!(says(&harness, " calls took ") && says(&harness, " %)"), "no bar speaks");
    let hint = |harness: &Harness<'static, App>| painted_by(harness, |text| text.contains(" calls took "));
    let covers = hint(&harness).is_none_or(|hint| hint.intersects(rect));
    assert!(!covers, "{:?} covers the histogram's words: {rect}", hint(&harness));
    act(&mut harness, Command::Keys);
    assert_eq!(hint(&harness), None, "it stands beside a dialog");
    act(&mut harness, Command::Escape);
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
fn how_exact_percentiles_are_is_said_at_them() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_900.0, 900.0])));
    let costs = vec![Cost { level: Level::Time, picoseconds: 35_000 }];
    tell(&mut harness, vec![Told::AgentStatus(Box::new(AgentStatus { costs, ..status() }))]);
    looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
    for (at, tick) in [("sort by p90", "a tick of the clock:"), ("p99", "a tick of the clock (1.00 ns):")] {
        harness.get_all_by_label(at).last().expect("it is there").hover();
        harness.run_steps(40);
        assert!(says(&harness, "At most 2 % off") && says(&harness, tick), "{at}");
        assert!(says(&harness, "Timing a call costs 35 ns itself."), "{at}");
    }
}

#[test]
fn a_mark_compares_what_came_since_with_what_was_before() {
    let mut harness = timed(Theme::Dark);
    let before = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &before);
    assert!(!says(&harness, "Clear mark"));
    harness.get_by_label("Mark").click_accesskit();
    harness.run_steps(3);
    assert!(value(&harness, HISTOGRAM).starts_with("0 calls since the mark\n"), "nothing came since");
    let now = two_humps(0, 1_800.0, 40.0);
    answer(&mut harness, &now);
    let (since, all) = (now.times.exits - before.times.exits, before.times.exits);
    let [since, all] = [since, all].map(crate::output::words::grouped);
    let told = value(&harness, HISTOGRAM);
    assert!(told.starts_with(&format!("{since} calls since the mark: p50 ")), "{told}");
    assert!(told.contains(&format!("\n{all} calls before it: p50 124 µs")), "{told}");
    assert!(says(&harness, &format!("outline: {all} calls before it")));
    // Another row has no mark, and this one keeps it.
    harness.get_by_label(TOTAL).click();
    harness.run_steps(3);
    assert!(!says(&harness, "Clear mark"));
    looked_at(&mut harness, &now);
    harness.get_by_label("Clear mark").click_accesskit();
    harness.run_steps(3);
    let all = crate::output::words::grouped(now.times.exits);
    assert!(value(&harness, HISTOGRAM).starts_with(&format!("{all} calls: p50 ")));
    assert!(!says(&harness, "Clear mark") && says(&harness, "Mark"));
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
    assert!(!says(&harness, "Clear mark"));
}

#[test]
fn why_there_is_no_histogram_is_said() {
    let mut harness = timed(Theme::Dark);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(says(&harness, "The agent is asked for its histogram."));
    tell(&mut harness, vec![Told::Histogram(RowId(0), Err("its module was unloaded".into()))]);
    assert!(says(&harness, "There is no histogram: its module was unloaded."));
    harness.get_by_label("Shop!Shop.Cart.Clear()").click();
    harness.run_steps(3);
    assert!(says(&harness, "Its next calls are timed."));
}

#[test]
fn of_several_processes_times_add_up_without_percentiles() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        let rows = vec![row(0, State::Live, Level::Time, 10, None)];
        told(&mut harness, id, vec![Told::Event(Event::Rows { id: None, rows })]);
        let one = times_of(&histogram(0, &[(410, 10 * u64::from(id)), (410 + 32 * id as u16, 1)]));
        told(&mut harness, id, vec![times(&[one])]);
    }
    let said = value(&harness, ADD);
    let (_, told) = said.split_once(" calls, ").expect("times");
    assert!(told.starts_with("max 967 µs, total 7.55 ms"), "the longest of all, and a sum: {told}");
    assert!(told.ends_with("exceptions 21, in flight 6"), "{told}");
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(says(&harness, "do not add up: look at one of them") && !says(&harness, "latency histogram"));
}

/// A table in which methods are timed, wide enough for all columns.
#[test]
fn a_table_with_times() {
    both("times", |theme| {
        let mut harness = timed_in(look_at_shop(window_of(theme, [1_800.0, 900.0])));
        let filter = Filter { only_dialled: true, ..Filter::default() };
        harness.state_mut().model.current_mut().expect("Shop").set_filter(filter);
        let sort = Sort { key: Key::Time(TimeColumn::Max), descending: true };
        act(&mut harness, Command::Sort(sort));
        looked_at(&mut harness, &two_humps(0, 900.0, 12.0));
        harness
    });
}

/// What came since a mark, drawn against what was before.
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
fn what_takes_most_time_is_told_how_to_find() {
    let mut harness = timed(Theme::Dark);
    assert!(says(&harness, "Ctrl+A and 2 time all methods shown"));
    act(&mut harness, Command::Filter(ADD.to_owned()));
    assert!(says(&harness, "These are timed: sort by “self”."));
    act(&mut harness, Command::Sort(Sort { key: Key::Time(TimeColumn::Own), descending: true }));
    assert!(says(&harness, "sorted by “self”: the top row took most."));
}

/// Nobody can be asked for it any more, nor is anything called.
#[test]
fn what_was_not_looked_at_before_the_end_has_no_histogram_and_says_why() {
    let mut harness = timed(Theme::Dark);
    assert!(says(&harness, "What is called most?"));
    tell(&mut harness, vec![Told::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }]);
    assert!(says(&harness, "Nothing selected") && !says(&harness, "What is called most?"));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(says(&harness, "There is no histogram: the process is asked for it, and has ended."));
}
