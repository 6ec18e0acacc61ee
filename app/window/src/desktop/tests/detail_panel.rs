//! Tests of the details panel: no cut numbers, no gaps, and the longest lists last.

use super::fixture::{deliver, execute, look_at_shop, look_at_shops, row, second, window_of};
use super::fleet::ADD;
use super::times::painted;
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::ui::theme::{DARK, LIGHT, tests::contrast};
use eframe::egui::{
    Event as Input, Modifiers, MouseWheelSource, MouseWheelUnit, Rect, Shape, Theme, TouchPhase, pos2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::histogram;
use redial_model::list::{Sort, SortKey};
use redial_model::process_choice::Arrangement;
use redial_model::update::ConnectionUpdate;
use redial_protocol::callers::{CallOrigin, Caller, RowCallers};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::order::TimeOptions;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::times::TimeColumn;

const SIZE: [f32; 2] = [1_280.0, 800.0];

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// Times `Add` and selects it.
pub(super) fn looked_at(
    theme: Theme,
    size: [f32; 2],
    options: TimeOptions,
    exceptions: u64,
) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(theme, size));
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.push(Level::Time);
    }
    let mut add = row(0, CopyState::Live, Level::Time, 1_000, None);
    add.options = options;
    let now = histogram(0, &[(210, 1_000)]);
    let times = Times { exceptions, ..now.times };
    let rows = Event::Rows { id: None, rows: vec![add] };
    deliver(
        &mut harness,
        vec![
            ConnectionUpdate::Event(rows),
            ConnectionUpdate::Event(Event::Times { id: None, times: vec![times] }),
        ],
    );
    deliver(&mut harness, vec![second(1, [0, 0])]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    deliver(&mut harness, vec![ConnectionUpdate::Histogram(RowId(0), Ok(Box::new(now)))]);
    harness
}

fn caller(method: &str, calls: u64) -> Caller {
    let module = ModuleKey { module_id: 1, generation: 1 };
    let copy = CopyKey { module, token: MethodToken(0x0600_0001) };
    let who =
        CallOrigin::Method { copy, module: "Shop".into(), method: method.into(), signature: "()".into() };
    Caller { origin: who, sites: 1, calls }
}

fn called_by(harness: &mut Harness<'static, App>, callers: Vec<Caller>) {
    let update = RowCallers { row: RowId(0), callers, others: 0 };
    deliver(harness, vec![ConnectionUpdate::Callers(RowId(0), Ok(Box::new(update)))]);
}

fn place(harness: &Harness<'static, App>, label: &str) -> Rect {
    harness.get_by_label(label).rect()
}

#[test]
fn callers_are_right_below_their_checkbox() {
    for height in [720.0, 1_080.0] {
        let options = TimeOptions { callers: true, ..TimeOptions::default() };
        let mut harness = looked_at(Theme::Dark, [1_280.0, height], options, 0);
        called_by(&mut harness, vec![caller("Shop.Till.Ring", 700), caller("Shop.Till.Open", 300)]);
        let tops =
            ["Count callers", "Called by", "Shop!Shop.Till.Ring()", "700  70 %", "Shop!Shop.Till.Open()"]
                .map(|label| place(&harness, label).top());
        for two in tops.windows(2) {
            assert!(two[1] > two[0] && two[1] - two[0] < 40.0, "{tops:?} in {height}");
        }
    }
}

#[test]
fn long_caller_shows_its_method_and_full_hint() {
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
    assert_eq!(shown, ["DeliveryContext.RunInternal()"]);
    harness.get_by_label(&whole).hover();
    harness.run_steps(40);
    assert!(painted(&harness, &whole).is_some(), "the hint");
}

fn kept(number: u64, exception: Option<&str>) -> ConnectionUpdate {
    let call = |index: u64| SlowCall {
        ended_unix_ms: 1_763_622_000_000,
        took_ns: (50 - index) * 1_000_000,
        thread: 4711,
        failed: exception.is_some(),
        exception: exception.map(str::to_owned),
        stack: vec![],
    };
    let calls: Vec<SlowCall> = (0..number).map(call).collect();
    ConnectionUpdate::SlowestCalls(
        RowId(0),
        Some(Box::new(RowSlowestCalls { row: RowId(0), calls, met: number, missed: 0 })),
    )
}

#[test]
fn callers_of_a_slow_call_open_below_it() {
    let options = TimeOptions { slower_than_ns: Some(1_000_000), stack: true, ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, SIZE, options, 0);
    let ConnectionUpdate::SlowestCalls(row, Some(mut slowest)) = kept(3, None) else { panic!("calls") };
    let listed = caller("Shop.Cart.Total", 1).origin;
    slowest.calls[0].stack = vec![listed, CallOrigin::Native, caller("Shop.Program.Main", 1).origin];
    deliver(&mut harness, vec![ConnectionUpdate::SlowestCalls(row, Some(slowest))]);
    assert!(!shows(&harness, "Shop!Shop.Cart.Total()"), "closed at first");
    // Only calls with a stack have callers.
    harness.get_by_label("Called by").click();
    harness.run_steps(30);
    assert!(shows(&harness, "Shop!Shop.Program.Main()") && shows(&harness, "the runtime or native code"));
}

#[test]
fn slowest_calls_show_durations_beside_exceptions() {
    let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, SIZE, options, 0);
    let exception = "System.Collections.Generic.KeyNotFoundInTheDictionaryException";
    deliver(&mut harness, vec![kept(3, Some(exception))]);
    let panel = place(&harness, "Count callers").left();
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
    assert!(painted(&harness, exception).is_none(), "the panel is too narrow for it");
    harness.hover_at(type_name[0].center());
    harness.run_steps(40);
    let hint = format!("50.0 ms, {exception}\nEnded 2025-11-20 07:00:00, thread 4711");
    assert!(painted(&harness, &hint).is_some(), "the hint has the whole name");
}

#[test]
fn longest_calls_are_listed_and_the_rest_on_click() {
    let options = TimeOptions { slower_than_ns: Some(1_000_000), ..TimeOptions::default() };
    let mut harness = looked_at(Theme::Dark, SIZE, options, 0);
    deliver(&mut harness, vec![kept(16, None)]);
    let listed = |harness: &Harness<'static, App>| harness.query_all_by_label("returned").count();
    assert_eq!(listed(&harness), 5);
    assert!(shows(&harness, "50.0 ms") && shows(&harness, "46.0 ms") && !shows(&harness, "45.0 ms"));
    for (button, then) in [("Show all 16", 16), ("Show the 5 longest", 5)] {
        harness.get_by_label(button).click_accesskit();
        harness.run_steps(3);
        assert_eq!(listed(&harness), then, "{button}");
    }
    deliver(&mut harness, vec![kept(4, None)]);
    assert!(listed(&harness) == 4 && !shows(&harness, "Show all 4"));
}

#[test]
fn a_number_in_the_panel_is_never_cut() {
    for (exceptions, shown) in [(7, "7"), (99_999, "99,999"), (1_322_123, "1.32 M"), (88_322_123, "88.3 M")] {
        let mut harness = looked_at(Theme::Dark, SIZE, TimeOptions::default(), exceptions);
        let label = place(&harness, "Exceptions");
        let number = painted(&harness, shown).unwrap_or_else(|| panic!("{exceptions} is not {shown}"));
        assert!(number.left() >= label.right() + 4.0, "{label} {number}");
        if shown.contains('M') {
            harness.get_by_label("Exceptions").hover();
            harness.run_steps(40);
            let exact = redial_text::words::grouped(exceptions);
            assert!(shows(&harness, &format!("{exact}: Calls that ended with an exception")), "{exact}");
        }
    }
}

/// The agent keeps sending numbers of the same method.
#[test]
fn new_selection_scrolls_the_panel_to_its_top() {
    let mut harness = looked_at(Theme::Dark, [1_280.0, 600.0], TimeOptions::default(), 0);
    let top = |harness: &Harness<'static, App>| place(harness, "Dial of the selection").top();
    let first = top(&harness);
    // Not over the dial, which the wheel would turn.
    harness.hover_at(pos2(1_255.0, place(&harness, "Dial of the selection").center().y));
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
    deliver(&mut harness, vec![second(2, [5, 0]), second(3, [5, 0])]);
    assert_eq!(top(&harness), scrolled, "it is the same method");
    harness.get_by_label("Shop!Shop.Cart.Clear()").click();
    harness.run_steps(3);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert_eq!(top(&harness), first);
}

#[test]
fn checkboxes_in_menus_have_an_outline() {
    for (theme, palette) in [(Theme::Dark, &DARK), (Theme::Light, &LIGHT)] {
        let mut harness = looked_at(theme, SIZE, TimeOptions::default(), 0);
        harness.get_by_label("Keep slowest calls…").click_accesskit();
        harness.run_steps(3);
        let texts = [("Longer than 1 ms", true), ("Only calls that end with an exception", false)];
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
            let (_, colour, _) = outlines.next().unwrap_or_else(|| panic!("{text} has no outline"));
            assert!(contrast(colour, palette.panel) >= 3.0, "{text}: {colour:?}");
        }
    }
}

/// Returns the headers of each table from left to right, starting with the leftmost table.
fn heads(harness: &Harness<'static, App>) -> Vec<Vec<String>> {
    let names = ["state", "calls", "per second"].into_iter().chain(TimeColumn::ALL.map(TimeColumn::name));
    let mut all: Vec<(f32, String)> = names
        .flat_map(|name| {
            let label = format!("Sort by {name}");
            let heads = harness.query_all_by_label(&label).map(|head| head.rect().left());
            heads.map(|left| (left, name.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut dials: Vec<f32> =
        harness.query_all_by_label("Sort by dial").map(|head| head.rect().left()).collect();
    dials.sort_by(f32::total_cmp);
    let ends = dials.iter().skip(1).copied().chain([f32::INFINITY]);
    let of = |(from, to): (&f32, f32)| {
        let here = all.iter().filter(|(left, _)| (*from..to).contains(left));
        here.map(|(_, name)| name.clone()).collect::<Vec<_>>()
    };
    dials.iter().zip(ends).map(of).collect()
}

#[test]
fn side_by_side_tables_share_columns() {
    let mut harness = look_at_shops(window_of(Theme::Dark, SIZE));
    // The last of the three is not timed.
    for id in 1..=3 {
        let level = if id == 3 { Level::Count } else { Level::Time };
        let rows = vec![row(0, CopyState::Live, level, 10, None)];
        super::fleet::deliver_to(
            &mut harness,
            id,
            vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })],
        );
    }
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    for from in [0, 1] {
        execute(&mut harness, UiCommand::SideBySideFrom(from));
        assert_eq!(heads(&harness), [["calls", "per second"]; 2], "from {from}");
        execute(
            &mut harness,
            UiCommand::Sort(Sort { key: SortKey::Time(TimeColumn::Total), descending: true }),
        );
        assert_eq!(heads(&harness), [["calls", "total"]; 2], "from {from}");
        execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Name, descending: false }));
    }
    let mut wide = look_at_shops(window_of(Theme::Dark, [1_920.0, 800.0]));
    execute(&mut wide, UiCommand::Arrange(Arrangement::SideBySide));
    assert!(
        heads(&wide).iter().all(|table| table[..] == ["state", "calls", "per second"]),
        "{:?}",
        heads(&wide)
    );
}

#[test]
fn hidden_columns_are_in_a_menu_and_sort() {
    let mut harness = looked_at(Theme::Dark, SIZE, TimeOptions::default(), 0);
    assert!(!shows(&harness, "Sort by p90"));
    let button = harness.get_by_label("+8 columns");
    button.click();
    harness.run_steps(3);
    for name in ["p90", "Max", "In flight", "Last minute"] {
        assert!(painted(&harness, name).is_some(), "{name}");
    }
    let menu = harness
        .query_all_by_label("p90")
        .min_by(|one, other| one.rect().left().total_cmp(&other.rect().left()));
    menu.expect("an entry").click();
    harness.run_steps(3);
    let by = harness.state().model.list().map(|list| list.list.sort());
    assert_eq!(by, Some(Sort { key: SortKey::Time(TimeColumn::P90), descending: true }));
    assert!(shows(&harness, "Sort by p90") && !shows(&harness, "Hidden for lack of room"));
}
