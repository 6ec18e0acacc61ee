//! What is told of methods that go from one state to another: a few a second one by one, so that a turn of thousands
//! does not push everything else out of the log.

use crate::model::live::Live;
use crate::output::words;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Told one by one in each [`SPAN`].
const SINGLY: usize = 12;
/// The rest is summed up after this time.
pub const SPAN: Duration = Duration::from_secs(1);

/// Transitions of one message.
#[derive(Default)]
pub(super) struct Transitions(Vec<(RowId, State, State)>);

impl Transitions {
    /// A row went from one state to another.
    pub fn add(&mut self, row: RowId, before: State, after: State) {
        self.0.push((row, before, after));
    }

    /// Only those that somebody should look at.
    pub fn keep_bad(&mut self) {
        self.0.retain(|(_, _, after)| matches!(after, State::Refused | State::Failed | State::Lost));
    }
}

/// Transitions that were not told one by one.
#[derive(Debug, Default)]
pub(super) struct Untold {
    /// When the first of this span was told, and how many were since.
    span: Option<(Duration, usize)>,
    /// The state that each of the others came to last.
    rest: HashMap<RowId, State>,
}

impl Untold {
    /// Tells some transitions, each with what the row says by now, and counts the others.
    pub fn tell(
        &mut self,
        transitions: Transitions,
        live: &Live,
        now: Duration,
        mut say: impl FnMut(String),
    ) {
        self.sum_up(now, &mut say);
        for (id, before, after) in transitions.0 {
            let (_, told) = self.span.get_or_insert((now, 0));
            if *told >= SINGLY {
                self.rest.insert(id, after);
                continue;
            }
            let Some(row) = live.row(id) else { continue };
            *told += 1;
            let notes = words::notes(row.note.as_deref(), row.times_note.as_deref());
            let notes = notes.map(|notes| format!(": {notes}")).unwrap_or_default();
            say(format!("{}: {before} → {after}{notes}", row.name));
        }
    }

    /// Sums up what was not told, once the span is over: what has become of each method by then.
    pub fn sum_up(&mut self, now: Duration, mut say: impl FnMut(String)) {
        if self.span.is_none_or(|(since, _)| now.saturating_sub(since) < SPAN) {
            return;
        }
        self.span = None;
        let mut numbers: BTreeMap<State, u64> = BTreeMap::new();
        self.rest.drain().for_each(|(_, state)| *numbers.entry(state).or_default() += 1);
        for (state, number) in numbers {
            let are = if number == 1 { "method is" } else { "methods are" };
            say(format!("… and {} {are} {state} by now", words::grouped(number)));
        }
    }

    /// When there will be something to sum up.
    pub fn due(&self) -> Option<Duration> {
        self.span.filter(|_| !self.rest.is_empty()).map(|(since, _)| since + SPAN)
    }
}
