//! Tests of the output of `redial watch`.

use super::*;
use redial_model::fixtures::{counters, row};
use redial_protocol::cost::{BudgetStep, Cost, CostBudget, Share};
use redial_protocol::diagnostics::RowNote;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_text::fixtures::times;

fn dials(count: u32) -> DialledCopies {
    let mut dials = DialledCopies::default();
    dials.rows(
        (0..count)
            .map(|index| row(index, &format!("Shop.Cart.Method{index:03}"), u64::from(index)))
            .collect(),
    );
    dials
}

fn inlined(index: u32, state: CopyState) -> StatusRow {
    let note = Some(RowNote::Inlined);
    StatusRow { note, state, ..row(index, "Shop.Cart.Inlined", 1_500) }
}

/// Returns `count` dials with times, of which the first `number` are still timed.
fn timed(count: u32, number: u32) -> DialledCopies {
    let mut dials = dials(count);
    dials.rows(
        (0..number)
            .map(|index| StatusRow {
                wanted: Level::Time,
                state: CopyState::Live,
                ..row(index, &format!("Shop.Cart.Method{index:03}"), 1_234_567)
            })
            .collect(),
    );
    dials.times((0..count).map(times).collect());
    dials
}

fn view() -> View {
    View {
        pid: 42,
        title: "process 42".to_owned(),
        json: false,
        began: Instant::now(),
        order: ByRate::default(),
        limit: None,
        paint: Paint::default(),
        plain: PlainLines::default(),
        stepped: None,
    }
}

fn drawn(dials: &DialledCopies, columns: usize, rows: usize) -> Vec<String> {
    let view = view();
    let (shown, over) = on_first(ByRate::default().order(dials), false);
    table(&[view.head(dials, &shown, over, columns)], &shown, dials, (columns, rows), None)
}

#[test]
fn the_table_never_leaves_the_terminal() {
    let mut marked = dials(100);
    marked.rows(vec![inlined(100, CopyState::Live)]);
    for (columns, rows) in [(80, 24), (40, 8), (20, 5), (80, 5), (80, 6), (200, 60)] {
        for dials in [&dials(100), &marked, &timed(100, 100), &timed(100, 50)] {
            let lines = drawn(dials, columns, rows);
            assert!(lines.len() < rows, "{} lines on {rows}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
        }
    }
    let lines = drawn(&dials(100), 80, 24);
    assert!(lines[0].contains("100 dials"));
    assert!(lines[2].ends_with("Method099()"), "the most called is first: {lines:#?}");
    assert!(lines[lines.len() - 1].contains("and 80 called less often"), "{lines:#?}");
}

#[test]
fn names_fit_beside_times_on_terminals_of_any_width() {
    let dials = timed(9, 9);
    for (columns, left_out) in [
        (80, Some("no room for P90, MAX, SELF, EXCEPTIONS, IN FLIGHT; --json has them")),
        (100, Some("no room for P90, EXCEPTIONS, IN FLIGHT; --json has them")),
        (120, Some("no room for P90; --json has it")),
        (160, Some(times::TIMED)),
    ] {
        let lines = drawn(&dials, columns, 24);
        assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
        assert!(lines[2].ends_with("Shop!Shop.Cart.Method000()"), "{columns}: {lines:#?}");
        assert_eq!(lines.get(11).map(String::as_str), left_out, "{columns}: {lines:#?}");
    }
}

#[test]
fn marks_the_last_times() {
    let mut dials = timed(3, 1);
    let lines = drawn(&dials, 200, 24);
    assert!(lines[2].contains("  1.20 µs  ") && lines[3].contains("  (1.20 µs)  "), "{lines:#?}");
    assert_eq!(lines[lines.len() - 1], times::LAST);
    let (mut plain, mut order) = (PlainLines::default(), ByRate::default());
    let lines = plain.lines(0, &order.order(&dials), &dials);
    assert_eq!(lines[1], times::TIMED, "once");
    assert!(lines[2].contains("Method000()  p50 1.20 µs"), "{lines:#?}");
    assert!(lines[3].contains("()  last times: p50 1.20 µs"), "{lines:#?}");
    // The end of timing is a change, though the state is the same.
    let mut down = row(0, "Shop.Cart.Method000", 1_234_567);
    down.state = CopyState::Live;
    dials.rows(vec![down]);
    let lines = plain.lines(1_000, &order.order(&dials), &dials);
    assert!(lines.len() == 1 && lines[0].contains("last times: "), "{lines:#?}");
}

#[test]
fn methods_that_are_off_have_no_rate() {
    let mut dials = dials(1);
    dials.rows(vec![StatusRow {
        wanted: Level::Off,
        state: CopyState::Off,
        ..row(0, "Shop.Cart.Method000", 7)
    }]);
    dials.apply(counters(1_000, &[]));
    dials.apply(counters(2_000, &[]));
    let mut all = PlainLines { all: true, ..PlainLines::default() };
    let lines = all.lines(0, &ByRate::default().order(&dials), &dials);
    assert!(lines[1].contains(" -  off "), "{lines:#?}");
}

#[test]
fn the_first_line_shows_the_cost_of_dials() {
    let mut dials = dials(1);
    dials.calls_cost(vec![Cost { level: Level::Count, picoseconds: 500 }]);
    assert_eq!(drawn(&dials, 80, 24)[0], "process 42: 1 dial");
    dials.apply(counters(1_000, &[]));
    dials.apply(counters(2_000, &[(0, 8_000_000)]));
    assert_eq!(drawn(&dials, 80, 24)[0], "process 42: 1 dial, cost about 0.4 % of a processor");
}

#[test]
fn reports_a_budget_step_while_it_applies() {
    let costliest = (RowId(0), Level::Count, Share(700));
    let last = BudgetStep { change: 7, copies: 1, cost: Share(720), limit: Share(500), costliest };
    let shows = |dials: &DialledCopies, view: &mut View, size| {
        let lines = view.lines(dials, size).expect("lines");
        lines.iter().any(|line| line.contains("the budget turned Shop!Shop.Cart.Method000() down to count"))
    };
    let wants = |level| vec![StatusRow { wanted: level, ..row(0, "Shop.Cart.Method000", 5) }];
    let mut dials = dials(1);
    dials.rows(wants(Level::Count));
    let (mut view, terminal) = (view(), Some((200, 24)));
    assert!(!shows(&dials, &mut view, terminal));
    dials.apply(Event::Budget(CostBudget { last: Some(last), stepped: 1, ..CostBudget::default() }));
    assert!(shows(&dials, &mut view, terminal) && shows(&dials, &mut view, None));
    assert!(!shows(&dials, &mut view, None), "lines report it once");
    dials.rows(wants(Level::Time));
    assert!(!shows(&dials, &mut view, terminal) && !shows(&dials, &mut view, None), "it was undone");
    assert!(!shows(&dials, &mut self::view(), None), "before this watch");
}

#[test]
fn marks_numbers_that_miss_calls() {
    let mut dials = dials(1);
    dials.rows(vec![inlined(1, CopyState::Live), inlined(2, CopyState::Refused)]);
    let lines = drawn(&dials, 80, 24);
    assert!(lines[2].starts_with("≥1,500 ") || lines[3].starts_with("≥1,500 "), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("≥1,500")).count(), 1, "{lines:#?}");
    assert_eq!(lines[lines.len() - 1], EXPLAINED);
    let mut plain = PlainLines::default();
    let lines = plain.lines(0, &ByRate::default().order(&dials), &dials);
    assert_eq!(lines.iter().filter(|line| **line == EXPLAINED).count(), 1, "{lines:#?}");
    assert_eq!(plain.lines(0, &ByRate::default().order(&dials), &dials), Vec::<String>::new());
}

#[test]
fn a_file_gets_headings_once_and_then_changes() {
    let mut plain = PlainLines::default();
    let lines = plain.lines(1500, &[], &DialledCopies::default());
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with("METHOD") && lines[1] == "    1.500 s  no method is dialled", "{lines:#?}");
    assert!(plain.lines(2500, &[], &DialledCopies::default()).is_empty());

    let mut dials = dials(100);
    let (mut plain, mut order) = (PlainLines::default(), ByRate::default());
    assert_eq!(plain.lines(0, &order.order(&dials), &dials).len(), 101);
    assert!(plain.lines(1_000, &order.order(&dials), &dials).is_empty(), "nothing changed");
    dials.first_interval_covers(1_000);
    dials.apply(counters(1_000, &[(7, 2)]));
    let lines = plain.lines(61_000, &order.order(&dials), &dials);
    assert_eq!(
        lines,
        ["   61.000 s                9           2.0  pending        Shop!Shop.Cart.Method007()"]
    );
    dials.apply(counters(2_000, &[]));
    let lines = plain.lines(62_000, &order.order(&dials), &dials);
    assert_eq!(lines.len(), 1, "reports once that calls stopped: {lines:#?}");
    assert!(lines[0].contains(" 0.0 "), "{lines:#?}");
    dials.apply(counters(3_000, &[]));
    assert!(plain.lines(63_000, &order.order(&dials), &dials).is_empty());
}

#[test]
fn counts_methods_off_again_and_reports_new_ones() {
    let mut dials = dials(3);
    let off = |index: u32| {
        let mut row = row(index, &format!("Shop.Cart.Method{index:03}"), u64::from(index));
        (row.wanted, row.state) = (Level::Off, CopyState::Off);
        row
    };
    dials.rows(vec![off(2)]);
    let lines = drawn(&dials, 80, 24);
    assert_eq!((lines[0].as_str(), lines.len()), ("process 42: 2 dials, 1 off again (--all lists it)", 4));
    assert_eq!(drawn(&dials, 40, 24)[0], "process 42: 2 dials, 1 off again");
    let (mut plain, mut order) = (PlainLines::default(), ByRate::default());
    let lines = plain.lines(0, &order.order(&dials), &dials);
    assert!(lines.len() == 4 && lines[1].ends_with("(2 calls); --all lists it"), "{lines:#?}");
    dials.rows(vec![off(1)]);
    let lines = plain.lines(1_000, &order.order(&dials), &dials);
    assert!(lines.len() == 1 && lines[0].contains(" off "), "{lines:#?}");
    let mut all = PlainLines { all: true, ..PlainLines::default() };
    assert_eq!(all.lines(0, &order.order(&dials), &dials).len(), 4);
}

#[test]
fn a_json_line_has_the_documented_fields() {
    let dials = dials(1);
    let rows = DialsJson::new(42, &dials);
    let line = {
        let (cost_percent, cost_budget) = (None, None);
        serde_json::to_value(WatchJson {
            pid: 42,
            t_ms: 5,
            dials: rows,
            dropped: 0,
            cost_percent,
            cost_budget,
        })
    }
    .expect("JSON");
    assert_eq!((&line["pid"], &line["t_ms"], &line["dropped"]), (&42.into(), &5.into(), &0.into()));
    assert_eq!(line["dials"][0]["method"], "Shop.Cart.Method000");
}
