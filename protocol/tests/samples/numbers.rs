//! Samples of numbers about calls: counts, durations and callers.

use super::copy_key;
use redial_protocol::callers::{CallOrigin, Caller, RowCallers};
use redial_protocol::counters::CounterDelta;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::{MethodToken, RowId};
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};
use redial_protocol::times::{Completions, Percentiles, Times};

pub fn counters() -> CounterDelta {
    CounterDelta { t_ms: 1250, rows: vec![RowId(0), RowId(300)], calls: vec![1, u64::MAX] }
}

pub fn times() -> Vec<Times> {
    let percentiles = Percentiles { p50_ns: 1_200, p90_ns: 250_000, p99_ns: 1 << 33 };
    let first = Times {
        row: RowId(7),
        in_flight: 3,
        exits: 1_000,
        exceptions: 20,
        total_ns: 1 << 40,
        self_ns: 1 << 39,
        max_ns: 1 << 34,
        percentiles: Some(percentiles),
        completions: None,
        move_next: Some(MethodToken(0x0600_0012)),
    };
    let completions =
        Completions { starts: 900, completions: 880, in_flight: 22, before: 2, waited_ns: 1 << 41 };
    let first = Times { completions: Some(completions), ..first };
    vec![first, Times { row: RowId(300), percentiles: None, completions: None, move_next: None, ..first }]
}

pub fn slowest_calls() -> RowSlowestCalls {
    let failed = SlowCall {
        ended_unix_ms: 1_700_000_000_000,
        took_ns: 12_345_678,
        thread: 4321,
        failed: true,
        exception: Some("System.TimeoutException".into()),
        stack: origins().into(),
    };
    let returned = SlowCall { failed: false, exception: None, stack: vec![], ..failed.clone() };
    RowSlowestCalls { row: RowId(7), calls: vec![failed, returned], met: 300, missed: 1 }
}

pub fn histogram() -> RowHistogram {
    let buckets = vec![0, 31, 300, 1_535];
    RowHistogram { times: times()[0], tick_fs: 333_333, buckets, calls: vec![1, 2, 1 << 40, u64::MAX] }
}

fn origins() -> [CallOrigin; 4] {
    let method = CallOrigin::Method {
        copy: copy_key(),
        module: "Shop".into(),
        method: "Shop.Till.Ring".into(),
        signature: "(Item)".into(),
    };
    [method, CallOrigin::Dynamic { name: "lambda_method".into() }, CallOrigin::Native, CallOrigin::Gone]
}

pub fn callers() -> RowCallers {
    let callers = origins().into_iter().zip(1..).map(|(origin, sites)| Caller {
        origin,
        sites,
        calls: 1 << (40 / sites),
    });
    RowCallers { row: RowId(3), callers: callers.collect(), others: 300 }
}
