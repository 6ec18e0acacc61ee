//! What became of the orders that the launcher gave (`redial run --dial`): which of them ever matched, and what the
//! others may have meant. Told through the launcher's mark file, line by line, so that it is known however the process
//! ends.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::catalogue::suggest;
use crate::planner::{OrderSeq, Orders};
use crate::sync::lock;
use redial_protocol::pattern::Pattern;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Orders whose meaning is looked for at the end.
const MEANT: usize = 5;
/// Longest time the host's end takes longer for that.
const LONGEST: Duration = Duration::from_millis(100);

/// The launcher's orders.
#[derive(Default)]
pub struct Launched(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    mark: Option<PathBuf>,
    /// Those that have matched nothing.
    waiting: Vec<Waiting>,
}

struct Waiting {
    /// Its place among the launcher's.
    index: usize,
    seq: OrderSeq,
    /// Nothing if it is for an AppDomain: then it is not the pattern that is wrong.
    pattern: Option<Arc<Pattern>>,
}

impl Launched {
    /// The orders that stand from the start; `seqs` are their numbers as they were given.
    pub fn begin(&self, mark: Option<PathBuf>, orders: &Orders, seqs: &[OrderSeq]) {
        let waiting = |(index, seq): (usize, &OrderSeq)| {
            let standing = orders.get(*seq)?;
            let pattern = standing.order.domain.is_none().then(|| Arc::clone(&standing.pattern));
            Some(Waiting { index, seq: *seq, pattern })
        };
        let mut inner = lock(&self.0);
        inner.waiting = seqs.iter().enumerate().filter_map(waiting).collect();
        inner.mark = mark;
    }

    /// Takes in which orders matched something.
    pub fn note(&self, matched: &BTreeSet<OrderSeq>) {
        let mut inner = lock(&self.0);
        let matched: Vec<Waiting> = inner.waiting.extract_if(.., |one| matched.contains(&one.seq)).collect();
        if let Some(mark) = inner.mark.as_ref().filter(|_| !matched.is_empty()) {
            let lines: Vec<String> = matched.iter().map(|one| format!("matched {}\n", one.index)).collect();
            append(mark, &lines.concat());
        }
    }

    /// Says what those that matched nothing may have meant. At the end of the process, while metadata can be read.
    pub fn say_what_was_meant(&self, agent: &Agent) {
        let inner = lock(&self.0);
        let Some(mark) = &inner.mark else { return };
        let unmatched: Vec<(usize, &Pattern)> = inner
            .waiting
            .iter()
            .filter_map(|one| Some((one.index, one.pattern.as_deref()?)))
            .take(MEANT)
            .collect();
        if unmatched.is_empty() {
            return;
        }
        let patterns: Vec<&Pattern> = unmatched.iter().map(|(_, pattern)| *pattern).collect();
        let near = suggest::nearest_within(agent, &patterns, LONGEST);
        let lines = unmatched.iter().zip(near).flat_map(|((index, _), near)| {
            near.into_iter().map(move |pattern| format!("near {index} {pattern}\n"))
        });
        append(mark, &lines.collect::<String>());
    }
}

/// A file that is gone stays gone, and a write that fails loses nothing of the host's.
fn append(mark: &Path, lines: &str) {
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(mark) {
        drop(file.write_all(lines.as_bytes()));
    }
}
