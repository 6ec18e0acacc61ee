//! What is told of methods that go from one state to another: a few a second one by one, so that a turn of thousands
//! does not push everything else out of the log.

use crate::model::live::Live;
use crate::output::words;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Told one by one in each [`SPAN`].
const SINGLY: usize = 12;
/// The rest is summed up after this time.
pub const SPAN: Duration = Duration::from_secs(1);

/// Transitions of one message.
#[derive(Default)]
pub(super) struct Transitions {
    all: Vec<(RowId, State, State)>,
    only_bad: bool,
}

/// Whether somebody should look at a method in that state.
fn is_bad(state: State) -> bool {
    matches!(state, State::Refused | State::Failed | State::Lost)
}

impl Transitions {
    /// A row went from one state to another.
    pub fn add(&mut self, row: RowId, before: State, after: State) {
        self.all.push((row, before, after));
    }

    /// Only those that somebody should look at. Of the others those are answered in which a method went on or off for good.
    pub fn keep_bad(&mut self) -> Vec<RowId> {
        let (bad, others): (Vec<_>, Vec<_>) = self.all.drain(..).partition(|(_, _, after)| is_bad(*after));
        (self.all, self.only_bad) = (bad, true);
        let over = others.into_iter().filter(|(_, _, after)| matches!(after, State::Live | State::Off));
        over.map(|(row, ..)| row).collect()
    }
}

/// From one state to another.
type Way = (State, State);

/// What was told within [`SPAN`].
#[derive(Debug, Default)]
struct Span {
    since: Duration,
    lines: usize,
    /// The ways of which a number was told.
    many: Vec<Way>,
}

/// More methods than are told one by one that go the same way, each with nothing else to be said of it.
fn many(all: &[(RowId, State, State)], live: &Live) -> BTreeMap<Way, HashSet<RowId>> {
    let mut many: BTreeMap<Way, HashSet<RowId>> = BTreeMap::new();
    let plain = |id| live.row(id).is_some_and(|row| row.note.is_none() && row.times_note.is_none());
    for (id, before, after) in all.iter().filter(|(id, _, after)| !is_bad(*after) && plain(*id)) {
        many.entry((*before, *after)).or_default().insert(*id);
    }
    many.retain(|_, rows| rows.len() > SINGLY);
    many
}

/// Transitions that were not told one by one.
#[derive(Debug, Default)]
pub(super) struct Untold {
    /// Since the first of them was told.
    span: Option<Span>,
    /// The others' methods.
    rest: HashSet<RowId>,
    /// Only those are told of that somebody should look at.
    only_bad: bool,
    /// Methods that went on or off where several processes are looked at, which is told of all together.
    together: HashSet<RowId>,
}

impl Untold {
    /// Notes methods that went on or off, to be told of together with those of other processes.
    pub fn leave(&mut self, rows: Vec<RowId>) {
        self.together.extend(rows);
    }

    /// Those that were noted.
    pub fn take(&mut self) -> HashSet<RowId> {
        std::mem::take(&mut self.together)
    }

    /// Tells some transitions, each with what the row says by now, and counts the others. Of many that go the same way at once
    /// none is named: a few names would look like all.
    pub fn tell(
        &mut self,
        transitions: Transitions,
        live: &Live,
        now: Duration,
        mut say: impl FnMut(String),
    ) {
        self.sum_up(live, now, &mut say);
        self.only_bad = transitions.only_bad;
        let many = many(&transitions.all, live);
        let mut numbered: Vec<Way> = Vec::new();
        for (id, before, after) in transitions.all {
            let span = self.span.get_or_insert_with(|| Span { since: now, ..Span::default() });
            let way = (before, after);
            if let Some(rows) = many.get(&way).filter(|rows| rows.contains(&id)) {
                if numbered.contains(&way) {
                    continue;
                }
                numbered.push(way);
                if span.lines >= SINGLY || span.many.contains(&way) {
                    self.rest.extend(rows);
                } else {
                    span.lines += 1;
                    span.many.push(way);
                    self.rest.retain(|row| !rows.contains(row));
                    say(format!("{}: {before} → {after}", words::methods(rows.len() as u64)));
                }
                continue;
            }
            if span.lines >= SINGLY {
                self.rest.insert(id);
                continue;
            }
            let Some(row) = live.row(id) else { continue };
            span.lines += 1;
            let notes = words::notes(row.note.as_deref(), row.times_note.as_deref());
            let notes = notes.map(|notes| format!(": {notes}")).unwrap_or_default();
            say(format!("{}: {before} → {after}{notes}", row.name));
        }
    }

    /// Sums up what was not told, once the span is over: what has become of each method by then.
    pub fn sum_up(&mut self, live: &Live, now: Duration, mut say: impl FnMut(String)) {
        if self.span.as_ref().is_none_or(|span| now.saturating_sub(span.since) < SPAN) {
            return;
        }
        self.span = None;
        let mut numbers: BTreeMap<State, u64> = BTreeMap::new();
        let states = self.rest.drain().filter_map(|id| Some(live.row(id)?.state));
        let told = states.filter(|state| is_bad(*state) || !self.only_bad);
        told.for_each(|state| *numbers.entry(state).or_default() += 1);
        for (state, number) in numbers {
            let methods = words::count(number, "more method", "more methods");
            say(format!("… and {methods}: {state} now"));
        }
    }

    /// When there will be something to sum up.
    pub fn due(&self) -> Option<Duration> {
        self.span.as_ref().filter(|_| !self.rest.is_empty()).map(|span| span.since + SPAN)
    }
}
