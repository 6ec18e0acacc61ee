//! Sample modules, rows and events for tests.

use crate::histograms::chart;
use crate::update::{ConnectionUpdate, Now};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::counters::CounterDelta;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow, Transition};
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use redial_protocol::times::{Percentiles, Times};
use std::collections::HashMap;
use std::time::Duration;

/// A row with a number of calls.
pub fn row(index: u32, method: &str, calls: u64) -> StatusRow {
    StatusRow {
        row: RowId(index),
        copy: CopyKey {
            module: ModuleKey { module_id: 0x7f00_1000, generation: 1 },
            token: MethodToken(0x0600_0001 + index),
        },
        method: method.to_owned(),
        signature: "()".to_owned(),
        module: "Shop".to_owned(),
        domain: "clrhost".to_owned(),
        wanted: Level::Count,
        state: CopyState::Asked,
        version: None,
        instances: Vec::new(),
        note: None,
        times_note: None,
        options: TimeOptions::default(),
        calls,
    }
}

/// A counter snapshot at `t_ms` with the calls of rows.
pub fn counters(t_ms: u64, rows: &[(u32, u64)]) -> Event {
    Event::Counters {
        delta: CounterDelta {
            t_ms,
            rows: rows.iter().map(|(row, _)| RowId(*row)).collect(),
            calls: rows.iter().map(|(_, calls)| *calls).collect(),
        },
        dropped: 0,
    }
}

/// A histogram of a row with calls in these buckets; a tick is a nanosecond.
pub fn histogram(row: u32, counts: &[(u16, u64)]) -> RowHistogram {
    let (buckets, calls): (Vec<u16>, Vec<u64>) = counts.iter().copied().unzip();
    let exits = calls.iter().sum();
    let mut histogram = RowHistogram {
        times: Times {
            row: RowId(row),
            in_flight: 0,
            exits,
            exceptions: 0,
            total_ns: 0,
            self_ns: 0,
            max_ns: 0,
            percentiles: None,
            completions: None,
            move_next: None,
        },
        tick_fs: 1_000_000,
        buckets,
        calls,
    };
    let [p50_ns, p90_ns, p99_ns] =
        chart::Chart::of(&histogram, None, 1).lines.map(|ns| ns.unwrap_or(0.0) as u64);
    histogram.times.percentiles = (exits > 0).then_some(Percentiles { p50_ns, p90_ns, p99_ns });
    let last = histogram.buckets.last().map_or(0, |last| u32::from(*last) + 1);
    let max = histogram.lower_ns(last) as u64;
    histogram.times =
        Times { max_ns: max, total_ns: exits * p50_ns, self_ns: exits * p50_ns, ..histogram.times };
    histogram
}

/// The facts of an agent of this version.
pub fn facts() -> AgentFacts {
    AgentFacts {
        protocol: PROTOCOL_VERSION,
        agent_version: "0.1.0".into(),
        process: ProcessKey { pid: 7, start: 1 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.31".into(),
        levels: vec![Level::Off, Level::Count],
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    }
}

/// The time `ms` milliseconds after the start.
pub fn now(ms: u64) -> Now {
    Now { mono: Duration::from_millis(ms), unix_ms: ms }
}

/// A transition of a row to a state.
pub fn transition(id: u32, state: CopyState) -> ConnectionUpdate {
    ConnectionUpdate::Event(Event::Transition(Transition {
        row: RowId(id),
        t_ms: 0,
        wanted: Level::Count,
        state,
        version: (state == CopyState::Live).then_some(1),
        instances: Vec::new(),
        note: None,
        times_note: None,
        options: TimeOptions::default(),
    }))
}

/// A module for tests; `index` determines its key.
pub fn module(index: u64, name: &str, path: &str) -> ModuleRow {
    ModuleRow {
        key: ModuleKey { module_id: 0x1000 + index, generation: 1 },
        name: name.to_owned(),
        path: path.to_owned(),
        mvid: format!("00000000-0000-0000-0000-{index:012}"),
        domains: vec![1],
        shared: false,
        dynamic: false,
        collectible: false,
        assembly: 0,
        methods: 0,
    }
}

/// Marks the methods with these tokens as having no body.
pub fn without_body(mut page: MethodPage, tokens: &[(u32, Reason)]) -> MethodPage {
    for (index, token) in (0..).zip(&page.token) {
        if let Some((_, reason)) = tokens.iter().find(|(of, _)| of == token) {
            page.bodyless.push(index);
            page.bodyless_reason.push(*reason);
        }
    }
    page
}

/// A page with methods of one module: type, method, signature, token.
pub fn page(key: ModuleKey, methods: &[(&str, &str, &str, u32)]) -> MethodPage {
    let mut page = MethodPage { modules: vec![key], ..MethodPage::default() };
    let mut types: HashMap<String, u32> = HashMap::new();
    for (type_name, name, signature, token) in methods {
        let index = *types.entry((*type_name).to_owned()).or_insert_with(|| {
            page.type_names.push(type_name);
            page.type_names.len() as u32 - 1
        });
        page.module.push(0);
        page.token.push(*token);
        page.type_index.push(index);
        page.name.push(name);
        page.signature.push(signature);
    }
    page
}
