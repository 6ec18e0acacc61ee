//! What stands in the panel of the selection: nothing cut that matters, no holes, and the longest lists after the rest.

use super::several::ADD;
use super::stage::{act, look_at_shop, look_at_shops, row, second, tell, window_of};
use super::times::painted;
use crate::commands::Command;
use crate::desktop::App;
use crate::model::histograms::tests::histogram;
use crate::model::list::{Key, Sort};
use crate::model::several::Arrangement;
use crate::model::update::Told;
use crate::output::times::TimeColumn;
use crate::ui::theme::{DARK, LIGHT, tests::contrast};
use eframe::egui::{
    Event as Input, Modifiers, MouseWheelSource, MouseWheelUnit, Rect, Shape, Theme, TouchPhase, pos2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::callers::{Caller, RowCallers, Who};
use redial_protocol::calls::{KeptCall, RowCalls};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::order::TimeOptions;
use redial_protocol::state::State;
use redial_protocol::times::Times;

const SIZE: [f32; 2] = [1_280.0, 800.0];

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// `Add` is timed, and looked at.
fn looked_at(theme: Theme, size: [f32; 2], options: TimeOptions, exceptions: u64) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(theme, size));
    if let Some(facts) = harness.state_mut().model.current_mut().and_then(|shop| shop.facts.as_mut()) {
        facts.levels.push(Level::Time);
    }
    let mut add = row(0, State::Live, Level::Time, 1_000, None);
    add.options = options;
    let now = histogram(0, &[(210, 1_000)]);
    let times = Times { exceptions, ..now.times };
    let rows = Event::Rows { id: None, rows: vec![add] };
    tell(&mut harness, vec![Told::Event(rows), Told::Event(Event::Times { id: None, times: vec![times] })]);
    tell(&mut harness, vec![second(1, [0, 0])]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    tell(&mut harness, vec![Told::Histogram(RowId(0), Ok(Box::new(now)))]);
    harness
}

fn caller(method: &str, calls: u64) -> Caller {
    let module = ModuleKey { module_id: 1, generation: 1 };
    let copy = CopyKey { module, token: MethodToken(0x0600_0001) };
    let who = Who::Method { copy, module: "Shop".into(), method: method.into(), signature: "()".into() };
    Caller { who, sites: 1, calls }
}

fn called_by(harness: &mut Harness<'static, App>, callers: Vec<Caller>) {
    let told = RowCallers { row: RowId(0), callers, others: 0 };
    tell(harness, vec![Told::Callers(RowId(0), Ok(Box::new(told)))]);
}

fn place(harness: &Harness<'static, App>, label: &str) -> Rect {
    harness.get_by_label(label).rect()
}

#[test]
fn callers_stand_right_below_what_has_them_counted() {
    for height in [720.0, 1_080.0] {
        let options = TimeOptions { callers: true, ..TimeOptions::default() };
        let mut harness = looked_at(Theme::Dark, [1_280.0, height], options, 0);
        called_by(&mut harness, vec![caller("Shop.Till.Ring", 700), caller("Shop.Till.Open", 300)]);
        let tops = [
            "count who calls it",
            "called by",
            "Shop!Shop.Till.Ring()",
            "700  70 %",
            "Shop!Shop.Till.Open()",
        ]
        .map(|label| place(&harness, label).top());
        for two in tops.windows(2) {
            assert!(two[1] > two[0] && two[1] - two[0] < 40.0, "{tops:?} in {height}");
        }
    }
}

#[test]
fn of_a_long_caller_the_method_is_shown_and_the_whole_of_it_is_a_hint() {
    let options = TimeOptions { callers: true, ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, [1_280.0, 1_000.0], options, 0);
    let method = "Shop.Orders.Warehouse.Distribution.Runtime.DeliveryContext.RunInternal";
    let whole = format!("Shop!{method}()");
    called_by(&mut harness, vec![caller(method, 1)]);
    let shown = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
        Shape::Text(text) if text.galley.text().ends_with("RunInternal()") => {
            Some(text.galley.text().to_owned())
        }
        _ => None,
    });
    let shown: Vec<String> = shown.collect();
    assert!(shown.len() == 1 && shown[0].starts_with('…'), "{shown:?}");
    harness.get_by_label(&whole).hover();
    harness.run_steps(40);
    assert!(painted(&harness, &whole).is_some(), "the hint");
}

fn kept(number: u64, exception: Option<&str>) -> Told {
    let call = |index: u64| KeptCall {
        ended_unix_ms: 1_763_622_000_000,
        took_ns: (50 - index) * 1_000_000,
        thread: 4711,
        failed: exception.is_some(),
        exception: exception.map(str::to_owned),
    };
    let calls: Vec<KeptCall> = (0..number).map(call).collect();
    Told::KeptCalls(RowId(0), Some(Box::new(RowCalls { row: RowId(0), calls, met: number, missed: 0 })))
}

#[test]
fn worst_calls_say_how_long_they_took_whatever_ended_them() {
    let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, SIZE, options, 0);
    let exception = "System.Collections.Generic.KeyNotFoundInTheDictionaryException";
    tell(&mut harness, vec![kept(3, Some(exception))]);
    let panel = place(&harness, "count who calls it").left();
    for took in ["50.0 ms", "49.0 ms", "48.0 ms"] {
        let at = painted(&harness, took).expect(took);
        assert!(at.left() >= panel - 4.0 && at.width() > 40.0, "{took}: {at}");
    }
    let shapes = harness.output().shapes.iter();
    let type_name: Vec<Rect> = shapes
        .filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) if text.galley.text().ends_with("Exception") => {
                Some(text.visual_bounding_rect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(type_name.len(), 3);
    assert!(type_name.iter().all(|rect| rect.right() < 1_270.0), "{type_name:?}");
    assert!(painted(&harness, exception).is_none(), "it is longer than the panel is wide");
    harness.hover_at(type_name[0].center());
    harness.run_steps(40);
    let hint = format!("50.0 ms, {exception}\nended 2025-11-20 07:00:00Z, thread 4711");
    assert!(painted(&harness, &hint).is_some(), "it has all of it");
}

#[test]
fn of_many_worst_calls_the_longest_are_listed_and_the_rest_is_a_click_away() {
    let options = TimeOptions { slower_than_ns: Some(1_000_000), ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, SIZE, options, 0);
    tell(&mut harness, vec![kept(16, None)]);
    let listed = |harness: &Harness<'static, App>| harness.query_all_by_label("returned").count();
    assert_eq!(listed(&harness), 5);
    assert!(says(&harness, "50.0 ms") && says(&harness, "46.0 ms") && !says(&harness, "45.0 ms"));
    for (button, then) in [("all 16", 16), ("the 5 longest", 5)] {
        harness.get_by_label(button).click_accesskit();
        harness.run_steps(3);
        assert_eq!(listed(&harness), then, "{button}");
    }
    tell(&mut harness, vec![kept(4, None)]);
    assert!(listed(&harness) == 4 && !says(&harness, "all 4"));
}

#[test]
fn a_number_in_the_panel_is_never_cut() {
    for (exceptions, shown) in [(7, "7"), (99_999, "99,999"), (1_322_123, "1.32 M"), (88_322_123, "88.3 M")] {
        let mut harness = looked_at(Theme::Dark, SIZE, TimeOptions::default(), exceptions);
        let label = place(&harness, "exceptions");
        let number = painted(&harness, shown).unwrap_or_else(|| panic!("{exceptions} is not {shown}"));
        assert!(number.left() >= label.right() + 4.0, "{label} {number}");
        if shown.contains('M') {
            harness.get_by_label("exceptions").hover();
            harness.run_steps(40);
            let exact = crate::output::words::grouped(exceptions);
            assert!(says(&harness, &format!("{exact}: calls that ended by an exception")), "{exact}");
        }
    }
}

/// The agent tells more of the same method all the time.
#[test]
fn another_selection_is_told_of_from_its_beginning() {
    let mut harness = looked_at(Theme::Dark, [1_280.0, 600.0], TimeOptions::default(), 0);
    let top = |harness: &Harness<'static, App>| place(harness, "dial of the selection").top();
    let first = top(&harness);
    // Beside the dial, which the wheel would turn.
    harness.hover_at(pos2(1_255.0, place(&harness, "dial of the selection").center().y));
    harness.run_steps(2);
    harness.event(Input::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, -60.0),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: MouseWheelSource::Unknown,
    });
    harness.run_steps(12);
    let scrolled = top(&harness);
    assert!(scrolled < first - 20.0, "{scrolled} {first}");
    tell(&mut harness, vec![second(2, [5, 0]), second(3, [5, 0])]);
    assert_eq!(top(&harness), scrolled, "more is told of the same");
    harness.get_by_label("Shop!Shop.Cart.Clear()").click();
    harness.run_steps(3);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert_eq!(top(&harness), first);
}

#[test]
fn what_can_be_ticked_in_a_menu_has_an_outline() {
    for (theme, palette) in [(Theme::Dark, &DARK), (Theme::Light, &LIGHT)] {
        let mut harness = looked_at(theme, SIZE, TimeOptions::default(), 0);
        harness.get_by_label("Worst calls: none kept").click_accesskit();
        harness.run_steps(3);
        let texts = [("Longer than 1 ms", true), ("Only those that end by an exception", false)];
        for (text, round) in texts {
            let row = painted(&harness, text).expect(text);
            let outlines = harness.output().shapes.iter().filter_map(|clipped| match &clipped.shape {
                Shape::Circle(circle) if round => {
                    Some((circle.center, circle.stroke.color, circle.stroke.width))
                }
                Shape::Rect(rect) if !round => {
                    Some((rect.rect.center(), rect.stroke.color, rect.stroke.width))
                }
                _ => None,
            });
            let mut outlines = outlines.filter(|(centre, _, width)| {
                *width > 0.0
                    && (row.left() - 30.0..row.left()).contains(&centre.x)
                    && row.y_range().contains(centre.y)
            });
            let (_, colour, _) = outlines.next().unwrap_or_else(|| panic!("{text} has none"));
            assert!(contrast(colour, palette.panel) >= 3.0, "{text}: {colour:?}");
        }
    }
}

/// The heads of each table from left to right, from those of the leftmost table on.
fn heads(harness: &Harness<'static, App>) -> Vec<Vec<String>> {
    let names = ["state", "calls", "per second"].into_iter().chain(TimeColumn::ALL.map(TimeColumn::name));
    let mut all: Vec<(f32, String)> = names
        .flat_map(|name| {
            let label = format!("sort by {name}");
            let heads = harness.query_all_by_label(&label).map(|head| head.rect().left());
            heads.map(|left| (left, name.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut methods: Vec<f32> =
        harness.query_all_by_label("sort by method").map(|head| head.rect().left()).collect();
    methods.sort_by(f32::total_cmp);
    let ends = methods.iter().skip(1).copied().chain([f32::INFINITY]);
    let of = |(from, to): (&f32, f32)| {
        let here = all.iter().filter(|(left, _)| (*from..to).contains(left));
        here.map(|(_, name)| name.clone()).collect::<Vec<_>>()
    };
    methods.iter().zip(ends).map(of).collect()
}

#[test]
fn tables_side_by_side_have_the_same_columns_calls_and_calls_per_second_first() {
    let mut harness = look_at_shops(window_of(Theme::Dark, SIZE));
    // The last of the three is not timed.
    for id in 1..=3 {
        let level = if id == 3 { Level::Count } else { Level::Time };
        let rows = vec![row(0, State::Live, level, 10, None)];
        super::several::told(&mut harness, id, vec![Told::Event(Event::Rows { id: None, rows })]);
    }
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    for from in [0, 1] {
        act(&mut harness, Command::BesideFrom(from));
        assert_eq!(heads(&harness), [["calls", "per second"]; 2], "from {from}");
        act(&mut harness, Command::Sort(Sort { key: Key::Time(TimeColumn::Total), descending: true }));
        assert_eq!(heads(&harness), [["calls", "total"]; 2], "from {from}");
        act(&mut harness, Command::Sort(Sort { key: Key::Name, descending: false }));
    }
    let mut wide = look_at_shops(window_of(Theme::Dark, [1_920.0, 800.0]));
    act(&mut wide, Command::Arrange(Arrangement::Beside));
    assert!(
        heads(&wide).iter().all(|table| table[..] == ["state", "calls", "per second"]),
        "{:?}",
        heads(&wide)
    );
}

#[test]
fn columns_that_found_no_room_are_in_a_menu_and_sort() {
    let mut harness = looked_at(Theme::Dark, SIZE, TimeOptions::default(), 0);
    assert!(!says(&harness, "sort by p90"));
    let button = harness.get_by_label("+6 columns");
    button.click();
    harness.run_steps(3);
    for name in ["p90", "max", "in flight", "last minute"] {
        assert!(painted(&harness, name).is_some(), "{name}");
    }
    let menu = harness
        .query_all_by_label("p90")
        .min_by(|one, other| one.rect().left().total_cmp(&other.rect().left()));
    menu.expect("an entry").click();
    harness.run_steps(3);
    let by = harness.state().model.list().map(|list| list.list.sort());
    assert_eq!(by, Some(Sort { key: Key::Time(TimeColumn::P90), descending: true }));
    assert!(says(&harness, "sort by p90") && !says(&harness, "No room for these"));
}
