//! Tracks which of the launcher's orders (`redial run --dial`) ever matched, and suggests patterns for the others.
//! Reports to the launcher through its mark file, line by line, so that the result is known however the process
//! ends.
#![forbid(unsafe_code)]

use crate::catalogue::{Modules, suggestions};
use crate::clr::ProfilerInfo;
use crate::planner::{OrderSeq, Orders};
use crate::sync::lock;
use redial_protocol::pattern::Pattern;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Number of unmatched orders that get suggestions at the end.
const MAX_SUGGESTED: usize = 5;
/// Longest delay of the host's exit by that.
const MAX_EXIT_DELAY: Duration = Duration::from_millis(100);

/// The launcher's orders.
#[derive(Default)]
pub struct LauncherOrders(Mutex<LauncherState>);

#[derive(Default)]
struct LauncherState {
    mark: Option<PathBuf>,
    /// Orders that have matched nothing yet.
    waiting: Vec<UnmatchedOrder>,
}

struct UnmatchedOrder {
    /// Its index among the launcher's orders.
    index: usize,
    seq: OrderSeq,
    /// None if the order is for an AppDomain: then the pattern is not the problem.
    pattern: Option<Arc<Pattern>>,
}

impl LauncherOrders {
    /// Starts with the orders that stand from the start; `seqs` are their numbers, in the given order.
    pub fn begin(&self, mark: Option<PathBuf>, orders: &Orders, seqs: &[OrderSeq]) {
        let waiting = |(index, seq): (usize, &OrderSeq)| {
            let standing = orders.get(*seq)?;
            let pattern = standing.order.domain.is_none().then(|| Arc::clone(&standing.pattern));
            Some(UnmatchedOrder { index, seq: *seq, pattern })
        };
        let mut inner = lock(&self.0);
        inner.waiting = seqs.iter().enumerate().filter_map(waiting).collect();
        inner.mark = mark;
    }

    /// Records which orders matched something.
    pub fn note(&self, matched: &BTreeSet<OrderSeq>) {
        let mut inner = lock(&self.0);
        let matched: Vec<UnmatchedOrder> =
            inner.waiting.extract_if(.., |one| matched.contains(&one.seq)).collect();
        if let Some(mark) = inner.mark.as_ref().filter(|_| !matched.is_empty()) {
            let lines: Vec<String> = matched.iter().map(|one| format!("matched {}\n", one.index)).collect();
            append(mark, &lines.concat());
        }
    }

    /// Writes suggestions for the orders that matched nothing. Runs at the end of the process, while metadata is
    /// still readable.
    pub fn write_suggestions(&self, info: &ProfilerInfo, modules: &Modules) {
        let inner = lock(&self.0);
        let Some(mark) = &inner.mark else { return };
        let unmatched: Vec<(usize, &Pattern)> = inner
            .waiting
            .iter()
            .filter_map(|one| Some((one.index, one.pattern.as_deref()?)))
            .take(MAX_SUGGESTED)
            .collect();
        if unmatched.is_empty() {
            return;
        }
        let patterns: Vec<&Pattern> = unmatched.iter().map(|(_, pattern)| *pattern).collect();
        let suggestions = suggestions::nearest_within(info, modules, &patterns, MAX_EXIT_DELAY);
        let lines = unmatched.iter().zip(suggestions).flat_map(|((index, _), patterns)| {
            patterns.into_iter().map(move |pattern| format!("near {index} {pattern}\n"))
        });
        append(mark, &lines.collect::<String>());
    }
}

/// Appends only to an existing file; a failed write does not affect the host.
fn append(mark: &Path, lines: &str) {
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(mark) {
        drop(file.write_all(lines.as_bytes()));
    }
}
