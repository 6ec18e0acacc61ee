//! What `watch` shows.

use super::*;
use crate::model::dials::tests::{counters, row, times};
use redial_protocol::cost::{Cost, CostBudget, Share, SteppedDown};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};

fn dials(count: u32) -> Dials {
    let mut dials = Dials::default();
    dials.rows(
        (0..count)
            .map(|index| row(index, &format!("Shop.Cart.Method{index:03}"), u64::from(index)))
            .collect(),
    );
    dials
}

fn inlined(index: u32, state: State) -> StatusRow {
    let note = Some("already inlined into compiled callers".to_owned());
    StatusRow { note, state, ..row(index, "Shop.Cart.Inlined", 1_500) }
}

/// The first `number` of so many are timed, the others were.
fn timed(count: u32, number: u32) -> Dials {
    let mut dials = dials(count);
    dials.rows(
        (0..number)
            .map(|index| StatusRow {
                wanted: Level::Time,
                state: State::Live,
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
        plain: Plain::default(),
        stepped: None,
    }
}

fn drawn(dials: &Dials, columns: usize, rows: usize) -> Vec<String> {
    let view = view();
    let (shown, over) = on_first(ByRate::default().order(dials), false);
    table(vec![view.head(dials, &shown, over, columns)], &shown, Places::of(dials), columns, rows)
}

#[test]
fn the_table_never_leaves_the_terminal() {
    let mut marked = dials(100);
    marked.rows(vec![inlined(100, State::Live)]);
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
fn names_are_read_beside_times_on_terminals_of_any_width() {
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
fn times_that_are_the_last_ones_say_so() {
    let mut dials = timed(3, 1);
    let lines = drawn(&dials, 200, 24);
    assert!(lines[2].contains("  1.20 µs  ") && lines[3].contains("  (1.20 µs)  "), "{lines:#?}");
    assert_eq!(lines[lines.len() - 1], times::LAST);
    let (mut plain, mut order) = (Plain::default(), ByRate::default());
    let lines = plain.lines(0, &order.order(&dials), Places::of(&dials));
    assert_eq!(lines[1], times::TIMED, "once");
    assert!(lines[2].contains("Method000()  p50 1.20 µs"), "{lines:#?}");
    assert!(lines[3].contains("()  last times: p50 1.20 µs"), "{lines:#?}");
    // That the times go on no more is news, though the state is the same.
    let mut down = row(0, "Shop.Cart.Method000", 1_234_567);
    down.state = State::Live;
    dials.rows(vec![down]);
    let lines = plain.lines(1_000, &order.order(&dials), Places::of(&dials));
    assert!(lines.len() == 1 && lines[0].contains("last times: "), "{lines:#?}");
}

#[test]
fn of_what_is_off_no_rate_is_known() {
    let mut dials = dials(1);
    dials.rows(vec![StatusRow { wanted: Level::Off, state: State::Off, ..row(0, "Shop.Cart.Method000", 7) }]);
    dials.apply(counters(1_000, &[]));
    dials.apply(counters(2_000, &[]));
    let mut all = Plain { all: true, ..Plain::default() };
    let lines = all.lines(0, &ByRate::default().order(&dials), Places::of(&dials));
    assert!(lines[1].contains(" -  off "), "{lines:#?}");
}

#[test]
fn the_first_line_says_what_the_dials_cost() {
    let mut dials = dials(1);
    dials.calls_cost(vec![Cost { level: Level::Count, picoseconds: 500 }]);
    assert_eq!(drawn(&dials, 80, 24)[0], "process 42: 1 dial");
    dials.apply(counters(1_000, &[]));
    dials.apply(counters(2_000, &[(0, 8_000_000)]));
    assert_eq!(drawn(&dials, 80, 24)[0], "process 42: 1 dial, cost about 0.4 % of a processor");
}

#[test]
fn a_step_of_the_budget_is_told_as_long_as_it_stands() {
    let costliest = (RowId(0), Level::Count, Share(700));
    let last = SteppedDown { change: 7, copies: 1, cost: Share(720), limit: Share(500), costliest };
    let told = |dials: &Dials, view: &mut View, size| {
        let lines = view.lines(dials, size).expect("lines");
        lines.iter().any(|line| line.contains("the budget turned Shop!Shop.Cart.Method000() down to count"))
    };
    let wants = |level| vec![StatusRow { wanted: level, ..row(0, "Shop.Cart.Method000", 5) }];
    let mut dials = dials(1);
    dials.rows(wants(Level::Count));
    let (mut view, terminal) = (view(), Some((200, 24)));
    assert!(!told(&dials, &mut view, terminal));
    dials.apply(Event::Budget(CostBudget { last: Some(last), stepped: 1, ..CostBudget::default() }));
    assert!(told(&dials, &mut view, terminal) && told(&dials, &mut view, None));
    assert!(!told(&dials, &mut view, None), "in lines it is told once");
    dials.rows(wants(Level::Time));
    assert!(!told(&dials, &mut view, terminal) && !told(&dials, &mut view, None), "it was undone");
    assert!(!told(&dials, &mut self::view(), None), "before anybody watched");
}

#[test]
fn a_number_that_leaves_calls_out_says_so() {
    let mut dials = dials(1);
    dials.rows(vec![inlined(1, State::Live), inlined(2, State::Refused)]);
    let lines = drawn(&dials, 80, 24);
    assert!(lines[2].starts_with("≥1,500 ") || lines[3].starts_with("≥1,500 "), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("≥1,500")).count(), 1, "{lines:#?}");
    assert_eq!(lines[lines.len() - 1], EXPLAINED);
    let mut plain = Plain::default();
    let lines = plain.lines(0, &ByRate::default().order(&dials), Places::of(&dials));
    assert_eq!(lines.iter().filter(|line| **line == EXPLAINED).count(), 1, "{lines:#?}");
    assert_eq!(plain.lines(0, &ByRate::default().order(&dials), Places::of(&dials)), Vec::<String>::new());
}

#[test]
fn a_file_gets_headings_once_and_then_what_changed() {
    let mut plain = Plain::default();
    let lines = plain.lines(1500, &[], Places::default());
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with("METHOD") && lines[1] == "    1.500 s  no method is dialled", "{lines:#?}");
    assert!(plain.lines(2500, &[], Places::default()).is_empty());

    let mut dials = dials(100);
    let (mut plain, mut order) = (Plain::default(), ByRate::default());
    assert_eq!(plain.lines(0, &order.order(&dials), Places::of(&dials)).len(), 101);
    assert!(plain.lines(1_000, &order.order(&dials), Places::of(&dials)).is_empty(), "nothing changed");
    dials.first_fold_covers(1_000);
    dials.apply(counters(1_000, &[(7, 2)]));
    let lines = plain.lines(61_000, &order.order(&dials), Places::of(&dials));
    assert_eq!(
        lines,
        ["   61.000 s                9           2.0  asked          Shop!Shop.Cart.Method007()"]
    );
    dials.apply(counters(2_000, &[]));
    let lines = plain.lines(62_000, &order.order(&dials), Places::of(&dials));
    assert_eq!(lines.len(), 1, "that it came to rest is told, once: {lines:#?}");
    assert!(lines[0].contains(" 0.0 "), "{lines:#?}");
    dials.apply(counters(3_000, &[]));
    assert!(plain.lines(63_000, &order.order(&dials), Places::of(&dials)).is_empty());
}

#[test]
fn what_is_off_again_is_a_number_and_what_goes_off_is_told() {
    let mut dials = dials(3);
    let off = |index: u32| {
        let mut row = row(index, &format!("Shop.Cart.Method{index:03}"), u64::from(index));
        (row.wanted, row.state) = (Level::Off, State::Off);
        row
    };
    dials.rows(vec![off(2)]);
    let lines = drawn(&dials, 80, 24);
    assert_eq!((lines[0].as_str(), lines.len()), ("process 42: 2 dials, 1 off again (--all lists it)", 4));
    assert_eq!(drawn(&dials, 40, 24)[0], "process 42: 2 dials, 1 off again");
    let (mut plain, mut order) = (Plain::default(), ByRate::default());
    let lines = plain.lines(0, &order.order(&dials), Places::of(&dials));
    assert!(lines.len() == 4 && lines[1].ends_with("(2 calls); --all lists it"), "{lines:#?}");
    dials.rows(vec![off(1)]);
    let lines = plain.lines(1_000, &order.order(&dials), Places::of(&dials));
    assert!(lines.len() == 1 && lines[0].contains(" off "), "{lines:#?}");
    let mut all = Plain { all: true, ..Plain::default() };
    assert_eq!(all.lines(0, &order.order(&dials), Places::of(&dials)).len(), 4);
}

#[test]
fn a_json_line_has_the_documented_fields() {
    let dials = dials(1);
    let rows = dials.iter().map(|dial| DialJson::new(42, dial)).collect();
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
