//! Keeping spans, and what is drawn of them.

use super::*;

fn span(start: i64, end: i64) -> Span {
    Span { start, end, number: start.unsigned_abs(), method: 1, threw: false }
}

fn bars(spans: &Spans, from: i64, until: i64, grain: i64) -> Vec<(i64, i64, u32)> {
    let mut bars = Vec::new();
    for (_, _, lane) in spans.lanes() {
        lane.bars(from, until, grain, |bar| bars.push((bar.start, bar.end, bar.count)));
    }
    bars
}

/// Every ten nanoseconds a call of four.
fn regular(count: i64) -> Spans {
    let mut spans = Spans::default();
    (0..count).for_each(|index| spans.add_on_thread(1, 0, span(index * 10, index * 10 + 4)));
    spans
}

#[test]
fn long_spans_are_drawn_one_by_one_and_short_ones_as_runs() {
    let spans = regular(1_000);
    assert_eq!(bars(&spans, 100, 130, 1), [(100, 104, 1), (110, 114, 1), (120, 124, 1)]);
    assert_eq!(bars(&spans, 0, 10_000, 7), [(0, 9_994, 1_000)], "gaps of six are not visible");
    assert_eq!(bars(&spans, 0, 10_000, 5).len(), 1_000, "gaps of six are visible");
}

#[test]
fn a_long_span_is_never_hidden_in_a_run() {
    let mut spans = regular(500);
    spans.add_on_thread(1, 0, span(5_000, 9_000));
    (900..1_500).for_each(|index| spans.add_on_thread(1, 0, span(index * 10 + 5, index * 10 + 9)));
    let bars = bars(&spans, 0, 20_000, 100);
    assert_eq!(bars, [(0, 4_994, 500), (5_000, 9_000, 1), (9_005, 14_999, 600)]);
}

#[test]
fn runs_hold_as_many_calls_as_there_are_at_any_grain() {
    let spans = regular(100_000);
    for grain in [1, 3, 6, 7, 50, 1_000, 1_000_000, i64::MAX] {
        let counted: u64 = bars(&spans, i64::MIN, i64::MAX, grain).iter().map(|bar| u64::from(bar.2)).sum();
        assert_eq!(counted, 100_000, "grain {grain}");
    }
}

#[test]
fn spans_that_reach_into_the_range_are_drawn() {
    let mut spans = Spans::default();
    spans.add_on_thread(1, 0, span(0, 1_000_000));
    assert_eq!(bars(&spans, 500, 600, 1), [(0, 1_000_000, 1)]);
    assert_eq!(bars(&spans, -500, -1, 1), []);
}

#[test]
fn late_spans_are_sorted_in() {
    let mut spans = regular(200);
    spans.add_on_thread(1, 0, span(505, 508));
    let drawn = bars(&spans, 500, 515, 1);
    assert_eq!(drawn, [(500, 504, 1), (505, 508, 1), (510, 514, 1)]);
}

#[test]
fn the_oldest_spans_go_and_quiet_threads_keep_their_latest() {
    let mut spans = Spans::with_limit(1_000);
    spans.add_on_thread(2, 0, span(0, 5));
    spans.add_on_thread(2, 0, span(6, 9));
    for index in 0..10_000 {
        spans.add_on_thread(1, 0, span(index * 10, index * 10 + 4));
        assert!(spans.len() <= 1_000);
    }
    assert_eq!(spans.len() as u64 + spans.dropped(), 10_002);
    assert!(spans.len() > 1_000 - CHUNK, "{}", spans.len());
    let (start, end) = spans.range().expect("spans");
    assert!((90_000..91_000).contains(&start) && end == 99_994, "{start} {end}");
    assert_eq!(spans.lanes().count(), 1, "a thread without spans has no track");
}

#[test]
fn callers_are_those_around_on_the_same_thread() {
    let mut spans = Spans::default();
    spans.add_on_thread(1, 2, span(20, 30));
    spans.add_on_thread(1, 1, span(10, 40));
    spans.add_on_thread(1, 1, span(50, 60));
    spans.add_on_thread(1, 0, span(0, 100));
    spans.add_on_thread(2, 0, span(0, 100));
    let starts = |start, depth| spans.callers(1, start, depth).map(|one| one.start).collect::<Vec<_>>();
    assert_eq!(starts(25, 3), [0, 10, 20]);
    assert_eq!(starts(25, 1), [0]);
    assert_eq!(starts(45, 3), [0]);
    assert_eq!(starts(25, 0), [] as [i64; 0]);
}

#[test]
fn async_calls_that_overlap_get_lanes_of_their_own() {
    let mut spans = Spans::default();
    for (start, end) in [(0, 10), (5, 15), (11, 20), (16, 30)] {
        spans.add_async(span(start, end));
    }
    let lanes: Vec<_> = spans.lanes().map(|(track, lane, of)| (track, lane, of.spans().count())).collect();
    assert_eq!(lanes, [(TrackKey::Async(1), 0, 2), (TrackKey::Async(1), 1, 2)]);
    (0..1_000).for_each(|index| spans.add_async(span(100 - index, 200)));
    assert!(spans.lanes().count() <= MAX_ASYNC_LANES as usize);
}
