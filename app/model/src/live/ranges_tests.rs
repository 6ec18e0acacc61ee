//! Tests numbers of rows in a range: from the agent's messages to the numbers of a table.

use crate::fixtures::{counters, row};
use crate::live::Live;
use crate::number_range::NumberRange;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::fixtures::times;
use std::time::Duration;

const MARK: NumberRange = NumberRange::Since { unix_ms: 1 };

fn live_row(id: u32, calls: u64) -> StatusRow {
    StatusRow { state: CopyState::Live, ..row(id, "Shop.Cart.Add", calls) }
}

fn count(live: &mut Live, t_ms: u64, calls: &[(u32, u64)]) {
    if let Event::Counters { delta, dropped } = counters(t_ms, calls) {
        live.take_counters(&delta, dropped);
    }
}

fn list(live: &mut Live, rows: Vec<StatusRow>) {
    live.take_rows(rows, &crate::catalogue::tests::small());
}

fn shown(live: &Live, id: u32) -> u64 {
    live.row(RowId(id)).expect("a row").shown_calls()
}

#[test]
fn calls_since_a_mark_begin_at_zero_and_totals_stay() {
    let mut live = Live::default();
    list(&mut live, vec![live_row(0, 100)]);
    count(&mut live, 1_000, &[]);
    count(&mut live, 1_250, &[(0, 5)]);
    let folds = live.folds();
    live.set_range(MARK);
    assert!(live.folds() > folds, "the order follows");
    assert_eq!((shown(&live, 0), live.row(RowId(0)).map(|row| row.calls)), (0, Some(105)));
    list(&mut live, vec![live_row(1, 0)]);
    count(&mut live, 1_500, &[(0, 7), (1, 2)]);
    assert_eq!((shown(&live, 0), shown(&live, 1)), (7, 2));
    live.set_range(MARK);
    assert_eq!((shown(&live, 0), shown(&live, 1)), (0, 0), "marked again");
    live.set_range(NumberRange::Total);
    assert_eq!((shown(&live, 0), shown(&live, 1)), (112, 2));
}

#[test]
fn calls_before_the_first_connection_are_not_since_the_mark() {
    let mut live = Live::default();
    live.set_range(MARK);
    list(&mut live, vec![live_row(0, 1_000)]);
    live.take_times(vec![times(0)]);
    count(&mut live, 1_000, &[]);
    assert_eq!(shown(&live, 0), 0);
    // Of a later session, all calls came after the mark.
    live.begin_session();
    list(&mut live, vec![live_row(0, 1_004), live_row(1, 30)]);
    let later = Times { exits: times(0).exits + 3, ..times(0) };
    live.take_times(vec![later]);
    count(&mut live, 9_000, &[(1, 1)]);
    assert_eq!((shown(&live, 0), shown(&live, 1)), (4, 31));
    let exits = live.row(RowId(0)).and_then(|row| row.shown_times()).map(|times| times.exits);
    assert_eq!(exits, Some(3));
}

#[test]
fn last_seconds_pass_without_calls() {
    let mut live = Live::default();
    list(&mut live, vec![live_row(0, 100)]);
    count(&mut live, 1_000, &[]);
    live.set_range(NumberRange::Recent);
    assert_eq!(live.recent_seconds(), 0);
    count(&mut live, 1_900, &[(0, 4)]);
    assert_eq!(shown(&live, 0), 0, "the second is not over");
    count(&mut live, 2_000, &[(0, 1)]);
    assert_eq!((shown(&live, 0), live.recent_seconds()), (4, 1));
    live.watch();
    live.take_changed();
    live.record_snapshot(Duration::ZERO, true);
    live.pass_to(Duration::from_millis(2_000));
    assert_eq!((shown(&live, 0), live.recent_seconds()), (5, 2));
    assert_eq!(live.take_changed(), [RowId(0)], "a fleet shows it, too");
    live.pass_to(Duration::from_millis(10_500));
    assert_eq!((shown(&live, 0), live.recent_seconds()), (5, 10));
    live.pass_to(Duration::from_millis(11_500));
    assert_eq!(shown(&live, 0), 1);
    live.pass_to(Duration::from_millis(12_500));
    assert_eq!(shown(&live, 0), 0);
}

#[test]
fn ended_process_keeps_its_last_numbers() {
    let mut live = Live::default();
    list(&mut live, vec![live_row(0, 100)]);
    count(&mut live, 1_000, &[]);
    live.set_range(NumberRange::Recent);
    count(&mut live, 1_250, &[(0, 4)]);
    live.end();
    live.pass_to(Duration::from_secs(1_000));
    assert_eq!(shown(&live, 0), 4, "also those of the last second");
}

#[test]
fn sums_and_shares_follow_the_range() {
    let mut live = Live::default();
    list(&mut live, vec![live_row(0, 100)]);
    live.take_times(vec![times(0)]);
    count(&mut live, 1_000, &[]);
    live.set_range(MARK);
    assert_eq!(live.self_time_of_all(), 0);
    live.take_times(vec![Times { exits: times(0).exits + 1, self_ns: times(0).self_ns + 70, ..times(0) }]);
    assert_eq!(live.self_time_of_all(), 70);
    let row = live.row(RowId(0)).expect("a row");
    assert_eq!(live.exits_before_range(row), Some(times(0).exits));
    assert_eq!(row.shown_times().map(|times| (times.exits, times.percentiles)), Some((1, None)));
}

/// The agent sends times after counts, and those of many rows with later snapshots.
#[test]
fn times_that_follow_the_first_counts_were_before_the_range() {
    for range in [MARK, NumberRange::Recent] {
        let mut live = Live::default();
        live.set_range(range);
        list(&mut live, vec![StatusRow { wanted: Level::Time, ..live_row(0, 1_000) }]);
        count(&mut live, 1_000, &[]);
        let before = times(0);
        live.take_times(vec![before]);
        count(&mut live, 2_000, &[(0, 3)]);
        let after = Times { exits: before.exits + 3, total_ns: before.total_ns + 30, ..before };
        live.take_times(vec![after]);
        count(&mut live, 3_000, &[]);
        let row = live.row(RowId(0)).expect("a row");
        let exits = row.shown_times().map(|times| (times.exits, times.total_ns));
        assert_eq!((row.shown_calls(), exits), (3, Some((3, 30))), "{range:?}");
    }
}
