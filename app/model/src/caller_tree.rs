//! Callers of timed methods as a tree, from the counts that the agent keeps: each method with its callers, theirs, and so on. The counts of a method's callers are those of all its calls, whatever called the callers.

use super::callers::CallersAnswer;
use super::live::LiveRow;
use super::method_table::MethodTable;
use redial_protocol::callers::{CallOrigin, RowCallers};
use redial_protocol::ids::{CopyKey, RowId};
use redial_text::callers;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Most methods at the top, those called most.
const MAX_ROOTS: usize = 200;
/// Most lines.
const MAX_LINES: usize = 5_000;
/// The shortest time between two requests about a row.
const PACE: Duration = Duration::from_secs(1);
/// Time after which a request counts as lost.
const LOST: Duration = Duration::from_secs(10);
/// Most requests without an answer.
const MAX_AWAITED: usize = 16;

/// The callers of a process's methods as a tree.
#[derive(Debug, Default)]
pub struct CallerTree {
    known: HashMap<RowId, KnownCallers>,
    /// The paths of lines that are expanded.
    open: HashSet<Vec<CopyKey>>,
}

#[derive(Debug, Default)]
struct KnownCallers {
    callers: Option<RowCallers>,
    /// When they were last requested, and the row's calls then.
    asked: Option<(Duration, u64)>,
    is_awaited: bool,
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerLine {
    /// The methods from the top to this one.
    pub path: Vec<CopyKey>,
    /// Number of lines above it in the tree.
    pub depth: usize,
    /// The method, or another origin of calls.
    pub name: String,
    /// Calls of the method at the top; elsewhere calls that this caller made of the line above.
    pub calls: u64,
    /// All calls of the line above whose callers were counted.
    pub of: u64,
    /// Total and self time of the method itself, nanoseconds; absent if it is not timed.
    pub times: Option<(u64, u64)>,
    /// Whether it is expanded; absent if nothing is known of its callers.
    pub expanded: Option<bool>,
}

impl CallerTree {
    /// Applies an answer about a row's callers.
    pub fn take(&mut self, row: RowId, answer: &CallersAnswer) {
        let Some(known) = self.known.get_mut(&row) else { return };
        known.is_awaited = false;
        if let Ok(callers) = answer {
            known.callers = Some((**callers).clone());
        }
    }

    /// Begins a new session, in which earlier requests are never answered.
    pub fn begin_session(&mut self) {
        self.known.values_mut().for_each(|known| (known.is_awaited, known.asked) = (false, None));
    }

    /// Expands a line, or collapses it.
    pub fn toggle(&mut self, path: &[CopyKey]) {
        if !self.open.remove(path) {
            self.open.insert(path.to_vec());
        }
    }

    /// Returns the lines of the selected methods, or of all without a selection, as far as their callers are counted.
    pub fn lines(&self, table: &MethodTable) -> Vec<CallerLine> {
        let mut lines = Vec::new();
        for row in roots(table) {
            let path = vec![row.copy];
            let all = self.known.get(&row.id).and_then(|known| known.callers.as_ref());
            let calls = all.map_or(row.calls, RowCallers::calls);
            let expanded = Some(self.open.contains(&path));
            lines.push(CallerLine {
                name: row.name.to_string(),
                calls,
                of: calls,
                times: times(row),
                expanded,
                depth: 0,
                path: path.clone(),
            });
            self.add(row, &path, table, &mut lines);
        }
        lines
    }

    fn add(&self, row: &LiveRow, path: &[CopyKey], table: &MethodTable, lines: &mut Vec<CallerLine>) {
        let known = self.known.get(&row.id).and_then(|known| known.callers.as_ref());
        let Some(known) = known.filter(|_| self.open.contains(path)) else { return };
        let of = known.calls();
        for caller in &known.callers {
            if lines.len() >= MAX_LINES {
                return;
            }
            let copy = match &caller.origin {
                CallOrigin::Method { copy, .. } => Some(*copy),
                _ => None,
            };
            let theirs = copy.and_then(|copy| table.live.of_method(table.catalogue.find(copy)?));
            let mut below = path.to_vec();
            below.extend(copy);
            // A method that calls itself is not expanded again.
            let counted = theirs.filter(|row| row.options.callers && !path.contains(&row.copy));
            lines.push(CallerLine {
                name: callers::name(&caller.origin),
                calls: caller.calls,
                of,
                times: theirs.and_then(times),
                expanded: counted.map(|_| self.open.contains(&below)),
                depth: path.len(),
                path: below.clone(),
            });
            if let Some(row) = counted {
                self.add(row, &below, table, lines);
            }
        }
        if known.others > 0 {
            let name = callers::OTHERS.to_owned();
            let line = CallerLine {
                name,
                calls: known.others,
                of,
                times: None,
                expanded: None,
                depth: path.len(),
                path: path.to_vec(),
            };
            lines.push(line);
        }
    }

    /// Returns the rows whose callers to request now, which counts as done: those of expanded lines first, then those of the
    /// methods at the top.
    pub fn ask(&mut self, table: &MethodTable, now: Duration) -> Vec<RowId> {
        let mut wanted: Vec<(RowId, u64)> = Vec::new();
        for last in self.open.iter().filter_map(|path| path.last()) {
            let row = table.catalogue.find(*last).and_then(|method| table.live.of_method(method));
            wanted.extend(row.filter(|row| row.options.callers).map(|row| (row.id, row.calls)));
        }
        wanted.extend(roots(table).into_iter().map(|row| (row.id, row.calls)));
        let is_awaited =
            |known: &KnownCallers| known.is_awaited && known.asked.is_some_and(|(at, _)| now < at + LOST);
        let mut room =
            MAX_AWAITED.saturating_sub(self.known.values().filter(|known| is_awaited(known)).count());
        let mut asked = Vec::new();
        for (row, calls) in wanted {
            let known = self.known.entry(row).or_default();
            let is_due = known.asked.is_none_or(|(at, before)| {
                let is_lost = known.callers.is_none() && now >= at + LOST;
                calls != before && now >= at + PACE || is_lost
            });
            if room > 0 && is_due && !is_awaited(known) {
                (known.asked, known.is_awaited) = (Some((now, calls)), true);
                asked.push(row);
                room -= 1;
            }
        }
        asked
    }

    /// Returns whether callers of any method are counted.
    pub fn has_any(table: &MethodTable) -> bool {
        table.live.rows().any(|row| row.options.callers && row.method.is_some())
    }
}

fn times(row: &LiveRow) -> Option<(u64, u64)> {
    row.times.as_deref().filter(|times| times.exits > 0).map(|times| (times.total_ns, times.self_ns))
}

/// Returns the methods at the top, those called most first.
fn roots(table: &MethodTable) -> Vec<&LiveRow> {
    let selected = (!table.selection.is_empty()).then(|| table.turned_by_selection().methods);
    let is_meant = |row: &LiveRow| {
        let is_selected = |method| selected.as_ref().is_none_or(|selected| selected.contains(method));
        row.options.callers && row.method.is_some_and(is_selected)
    };
    let mut rows: Vec<&LiveRow> = table.live.rows().filter(|row| is_meant(row)).collect();
    rows.sort_by(|one, other| other.calls.cmp(&one.calls).then_with(|| one.name.cmp(&other.name)));
    rows.truncate(MAX_ROOTS);
    rows
}

#[cfg(test)]
#[path = "caller_tree_tests.rs"]
mod tests;
