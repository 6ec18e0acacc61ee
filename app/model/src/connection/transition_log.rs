//! Logs methods that change their state: a few per second singly, the others summarized, so that a change of
//! thousands of methods does not push everything else out of the log.

use crate::live::Live;
use redial_protocol::ids::RowId;
use redial_protocol::state::CopyState;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::words;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Lines per [`SPAN`] before transitions are summarized.
const SINGLY: usize = 12;
/// The time after which the rest is summarized.
pub const SPAN: Duration = Duration::from_secs(1);

/// The transitions of one message.
#[derive(Default)]
pub(super) struct Transitions {
    all: Vec<(RowId, CopyState, CopyState)>,
    only_bad: bool,
}

/// Whether a user should look at a method in that state.
fn is_bad(state: CopyState) -> bool {
    matches!(state, CopyState::Refused | CopyState::Failed | CopyState::Lost)
}

impl Transitions {
    /// Adds a row's transition from one state to another.
    pub fn add(&mut self, row: RowId, before: CopyState, after: CopyState) {
        self.all.push((row, before, after));
    }

    /// Keeps only the transitions that a user should look at. Returns the rows of the others that went live or off.
    pub fn keep_bad(&mut self) -> Vec<RowId> {
        let (bad, others): (Vec<_>, Vec<_>) = self.all.drain(..).partition(|(_, _, after)| is_bad(*after));
        (self.all, self.only_bad) = (bad, true);
        let finished = |after: &CopyState| matches!(after, CopyState::Live | CopyState::Off);
        others.into_iter().filter(|(_, _, after)| finished(after)).map(|(row, ..)| row).collect()
    }
}

/// The states before and after a transition.
type States = (CopyState, CopyState);

/// A transition in words: `pending → live`.
fn in_words((before, after): States) -> String {
    format!("{} → {}", words::state_word(before), words::state_word(after))
}

/// The lines logged within [`SPAN`].
#[derive(Debug, Default)]
struct Span {
    since: Duration,
    lines: usize,
    /// Transitions logged as a number of methods.
    counted: Vec<States>,
}

/// Groups rows without notes that make the same transition, if there are more of them than are logged singly.
fn group(all: &[(RowId, CopyState, CopyState)], live: &Live) -> BTreeMap<States, HashSet<RowId>> {
    let mut groups: BTreeMap<States, HashSet<RowId>> = BTreeMap::new();
    let plain = |id| live.row(id).is_some_and(|row| row.note.is_none() && row.times_note.is_none());
    for (id, before, after) in all.iter().filter(|(id, _, after)| !is_bad(*after) && plain(*id)) {
        groups.entry((*before, *after)).or_default().insert(*id);
    }
    groups.retain(|_, rows| rows.len() > SINGLY);
    groups
}

/// Decides which transitions are logged singly, and remembers the others.
#[derive(Debug, Default)]
pub(super) struct TransitionLog {
    /// The span since the first line.
    span: Option<Span>,
    /// Methods that were not logged singly in it.
    rest: HashSet<RowId>,
    /// Only transitions that a user should look at are logged.
    only_bad: bool,
    /// In a fleet, methods that went live or off, which the fleet logs for all processes together.
    deferred: HashSet<RowId>,
}

impl TransitionLog {
    /// Leaves rows that went live or off to the fleet.
    pub fn defer(&mut self, rows: Vec<RowId>) {
        self.deferred.extend(rows);
    }

    /// Returns and forgets the rows left to the fleet.
    pub fn take_deferred(&mut self) -> HashSet<RowId> {
        std::mem::take(&mut self.deferred)
    }

    /// Logs some transitions, each with the row's present notes, and remembers the others. Names none of many that make
    /// the same transition at once: a few names would look like all.
    pub fn log(
        &mut self,
        transitions: Transitions,
        live: &Live,
        now: Duration,
        mut line: impl FnMut(String),
    ) {
        self.summarize(live, now, &mut line);
        self.only_bad = transitions.only_bad;
        let groups = group(&transitions.all, live);
        let mut counted: Vec<States> = Vec::new();
        for (id, before, after) in transitions.all {
            let span = self.span.get_or_insert_with(|| Span { since: now, ..Span::default() });
            let states = (before, after);
            if let Some(rows) = groups.get(&states).filter(|rows| rows.contains(&id)) {
                if counted.contains(&states) {
                    continue;
                }
                counted.push(states);
                if span.lines >= SINGLY || span.counted.contains(&states) {
                    self.rest.extend(rows);
                } else {
                    span.lines += 1;
                    span.counted.push(states);
                    self.rest.retain(|row| !rows.contains(row));
                    line(format!("{}: {}", words::methods(rows.len() as u64), in_words(states)));
                }
                continue;
            }
            if span.lines >= SINGLY {
                self.rest.insert(id);
                continue;
            }
            let Some(row) = live.row(id) else { continue };
            span.lines += 1;
            let notes = row_notes::notes(row.note, row.times_note.as_deref(), Reader::Window);
            let notes = notes.map(|notes| format!(": {notes}")).unwrap_or_default();
            line(format!("{}: {}{notes}", row.name, in_words(states)));
        }
    }

    /// Once the span is over, logs how many of the remaining methods are in which state by now.
    pub fn summarize(&mut self, live: &Live, now: Duration, mut line: impl FnMut(String)) {
        if self.span.as_ref().is_none_or(|span| now.saturating_sub(span.since) < SPAN) {
            return;
        }
        self.span = None;
        let mut numbers: BTreeMap<CopyState, u64> = BTreeMap::new();
        let states = self.rest.drain().filter_map(|id| Some(live.row(id)?.state));
        let logged = states.filter(|state| is_bad(*state) || !self.only_bad);
        logged.for_each(|state| *numbers.entry(state).or_default() += 1);
        for (state, number) in numbers {
            let methods = words::count(number, "more method", "more methods");
            line(format!("… and {methods}: {} now", words::state_word(state)));
        }
    }

    /// When a summary is due.
    pub fn due(&self) -> Option<Duration> {
        self.span.as_ref().filter(|_| !self.rest.is_empty()).map(|span| span.since + SPAN)
    }
}
