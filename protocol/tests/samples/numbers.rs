//! What is told of calls: how many, how long, by whom.

use super::copy_key;
use redial_protocol::callers::{Caller, RowCallers, Who};
use redial_protocol::calls::{KeptCall, RowCalls};
use redial_protocol::counters::CounterDelta;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::{MethodToken, RowId};
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

pub fn kept_calls() -> RowCalls {
    let failed = KeptCall {
        ended_unix_ms: 1_700_000_000_000,
        took_ns: 12_345_678,
        thread: 4321,
        failed: true,
        exception: Some("System.TimeoutException".into()),
    };
    let returned = KeptCall { failed: false, exception: None, ..failed.clone() };
    RowCalls { row: RowId(7), calls: vec![failed, returned], met: 300, missed: 1 }
}

pub fn histogram() -> RowHistogram {
    let buckets = vec![0, 31, 300, 1_535];
    RowHistogram { times: times()[0], tick_fs: 333_333, buckets, calls: vec![1, 2, 1 << 40, u64::MAX] }
}

pub fn callers() -> RowCallers {
    let method = Who::Method {
        copy: copy_key(),
        module: "Shop".into(),
        method: "Shop.Till.Ring".into(),
        signature: "(Item)".into(),
    };
    let who = [method, Who::Dynamic { name: "lambda_method".into() }, Who::Native, Who::Gone];
    let callers =
        who.into_iter().zip(1..).map(|(who, sites)| Caller { who, sites, calls: 1 << (40 / sites) });
    RowCallers { row: RowId(3), callers: callers.collect(), others: 300 }
}
