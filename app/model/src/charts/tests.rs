//! Samples, their limits, and percentiles of intervals.

use super::*;
use crate::fixtures::histogram;
use crate::list::tests::live;
use redial_protocol::state::CopyState;
use redial_text::fixtures::times;

const KEY: ChartKey = ChartKey { connection: ConnectionId(1), row: RowId(0) };

fn row(calls: u64, exceptions: u64) -> LiveRow {
    let live = live(&crate::catalogue::tests::small(), &[0], |_| 1);
    let mut row = live.row(RowId(0)).expect("a row").clone();
    row.state = CopyState::Live;
    row.wanted = redial_protocol::level::Level::Time;
    row.calls = calls;
    row.times = Some(Box::new(redial_protocol::times::Times { exceptions, ..times(0) }));
    row
}

fn charted() -> Charts {
    let mut charts = Charts::default();
    charts.set_charted([(KEY, "A.B".to_owned())]);
    charts
}

fn samples(charts: &Charts) -> Vec<Sample> {
    charts.charted().flat_map(|(_, series)| series.samples().copied()).collect()
}

#[test]
fn rates_are_means_over_at_least_a_second() {
    let mut charts = charted();
    for (at, calls, exceptions) in
        [(0, 10, 0), (250, 20, 0), (1_000, 110, 3), (1_250, 120, 3), (3_000, 310, 3)]
    {
        charts.sample(KEY, &row(calls, exceptions), 5_000 + at);
    }
    let sample =
        |unix_ms, rate, exceptions| Sample { unix_ms, rate: Some(rate), exceptions: Some(exceptions) };
    assert_eq!(samples(&charts), [sample(6_000, 100.0, 3.0), sample(8_000, 100.0, 0.0)]);
}

#[test]
fn there_is_no_rate_while_calls_are_not_counted_or_begin_anew() {
    let mut charts = charted();
    charts.sample(KEY, &row(10, 0), 1_000);
    let mut off = row(20, 0);
    off.state = CopyState::Off;
    off.wanted = redial_protocol::level::Level::Off;
    charts.sample(KEY, &off, 2_000);
    charts.sample(KEY, &row(5, 0), 3_000);
    charts.sample(KEY, &row(9, 0), 4_000);
    let rates: Vec<_> = samples(&charts).iter().map(|sample| (sample.rate, sample.exceptions)).collect();
    assert_eq!(rates, [(None, None), (None, None), (Some(4.0), Some(0.0))]);
}

#[test]
fn percentiles_are_those_of_calls_between_two_histograms() {
    let mut charts = charted();
    let durations = |charts: &Charts| {
        charts.charted().flat_map(|(_, series)| series.durations().copied()).collect::<Vec<_>>()
    };
    charts.take_histogram(KEY, &histogram(0, &[(100, 1_000)]), 1_000);
    assert!(durations(&charts).is_empty(), "these calls may have ended long ago");
    charts.take_histogram(KEY, &histogram(0, &[(100, 1_000), (320, 10)]), 2_000);
    charts.take_histogram(KEY, &histogram(0, &[(100, 1_000), (320, 10)]), 3_000);
    let new = histogram(0, &[(100, 1_090), (320, 20)]);
    charts.take_histogram(KEY, &new, 4_000);
    let found = durations(&charts);
    let of = |unix_ms, p50: u32, p99: u32| DurationSample {
        unix_ms,
        p50_ns: new.lower_ns(p50 + 1),
        p99_ns: new.lower_ns(p99 + 1),
    };
    assert_eq!(found, [of(2_000, 320, 320), of(4_000, 100, 320)]);
    charts.take_histogram(KEY, &histogram(0, &[(100, 3)]), 5_000);
    assert_eq!(durations(&charts).len(), 2, "the row began anew");
}

#[test]
fn histograms_are_requested_once_a_second_while_calls_end() {
    let mut charts = charted();
    assert!(charts.ask(KEY, 5, 0));
    assert!(!charts.ask(KEY, 9, 5_000), "the answer is pending");
    assert!(charts.ask(KEY, 9, 10_000), "the answer is lost");
    charts.take_histogram(KEY, &histogram(0, &[(100, 9)]), 10_100);
    assert!(!charts.ask(KEY, 10, 10_500));
    assert!(!charts.ask(KEY, 9, 12_000), "nothing ended since");
    assert!(charts.ask(KEY, 10, 12_000));
    assert!(!charts.ask(ChartKey { row: RowId(9), ..KEY }, 1, 0), "it is not charted");
}

#[test]
fn memory_is_bounded() {
    let mut charts = Charts::default();
    let key = |row| ChartKey { row: RowId(row), ..KEY };
    for from in 0..50_u32 {
        charts.set_charted((0..20).map(|row| (key(from * 20 + row), String::new())));
        assert_eq!(charts.charted().count(), MAX_CHARTED);
        assert!(charts.series.len() <= MAX_SERIES);
    }
    charts.set_charted([(KEY, String::new())]);
    for second in 0..2 * MAX_SAMPLES as u64 {
        charts.sample(KEY, &row(second, 0), second * 1_000);
    }
    assert_eq!(samples(&charts).len(), MAX_SAMPLES);
    charts.forget(ConnectionId(1));
    assert!(charts.series.is_empty());
}
