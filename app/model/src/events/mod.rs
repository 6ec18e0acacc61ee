//! The traced calls of one process, or of several together: the latest ones, those in flight, and what is shown of them.
//!
//! - Worker threads make [`TracedEvent`]s; an [`EventRing`] keeps the latest.
//! - An [`EventView`] filters and sorts them in steps.
//! - *Pause* keeps a copy of the ring, which shares the calls, and shows that one; collecting goes on.

mod call_values;
mod completions;
mod condition_scope;
mod event_filter;
mod event_groups;
mod event_ring;
mod event_view;
mod in_flight;
mod sort_keys;
mod traced_event;

pub use completions::{Completion, Completions, completions};
pub use condition_scope::condition_scope;
pub use event_filter::EventFilter;
pub use event_groups::EventGroups;
pub use event_ring::{EventRing, MAX_BYTES, MAX_EVENTS};
pub use event_view::{EventQuery, EventView};
use in_flight::{EndedCalls, is_same};
pub use traced_event::{EventColumn, EventRow, TracedEvent, method_bytes};

use crate::call_groups::GroupKey;
use crate::call_history::CallHistory;
use crate::ids::ConnectionId;
use redial_protocol::condition::ConditionError;
use redial_protocol::ids::RowId;
use redial_protocol::report::total;
use redial_protocol::trace::{DroppedCalls, TracedMethod};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Number of the last collected calls among which some are searched.
const LOOKED_AT: usize = 2_000;
/// The shortest time between requests for calls in flight.
const POLL: Duration = Duration::from_secs(1);

/// News about traced calls.
#[derive(Clone, Debug)]
pub enum EventsUpdate {
    /// Calls that ended before the stream began, oldest first; some may be known.
    Earlier(Vec<Arc<TracedEvent>>),
    /// Calls that ended, and the number of those that the agent dropped because this program read too slowly, so far.
    Ended(Vec<Arc<TracedEvent>>, u64),
    /// All calls in flight, or why they are unknown, as a sentence.
    InFlight(Result<Vec<Arc<TracedEvent>>, String>),
    /// Rows whose number of calls that were not captured changed.
    Dropped(Vec<DroppedCalls>),
}

/// The traced calls of one process, or of several.
#[derive(Debug, Default)]
pub struct Events {
    /// Whether they are of several processes, whose own [`Events`] have their history.
    is_merged: bool,
    ring: EventRing,
    /// The ring when it was paused.
    paused: Option<EventRing>,
    view: EventView,
    groups: Option<EventGroups>,
    in_flight: Vec<Arc<TracedEvent>>,
    /// Why the calls in flight of a process are unknown.
    trouble: BTreeMap<ConnectionId, String>,
    /// The forms in which methods were traced, by row: the latest one.
    methods: BTreeMap<EventRow, Arc<TracedMethod>>,
    dropped: BTreeMap<EventRow, u64>,
    unread: BTreeMap<ConnectionId, u64>,
    /// Number of the last call of each process.
    last: BTreeMap<ConnectionId, u64>,
    /// Calls that arrived, ever.
    arrived: u64,
    /// `arrived` when the view was last brought up to date.
    shown: u64,
    is_streaming: bool,
    polled: Option<Duration>,
    is_polling: bool,
    selected: Option<Arc<TracedEvent>>,
    /// Calls that are no longer kept.
    gone: Vec<Arc<TracedEvent>>,
    history: CallHistory,
}

impl Events {
    /// Begins to merge the calls of several processes.
    pub fn merged() -> Events {
        Events { is_merged: true, ..Events::default() }
    }

    /// Adds the calls of another process that it has collected so far.
    pub fn join(&mut self, connection: ConnectionId, theirs: &Events) {
        let known = theirs.ring.at(0..u64::MAX).map(|(_, event)| Arc::clone(event)).collect();
        // All in the order of their ends, so that the latest of all processes are kept.
        let empty = self.ring.emptied();
        let others = std::mem::replace(&mut self.ring, empty);
        self.take(connection, EventsUpdate::Earlier(known));
        let empty = self.ring.emptied();
        let joined = std::mem::replace(&mut self.ring, empty);
        let mut all: Vec<_> = others.into_events().chain(joined.into_events()).collect();
        all.sort_by_key(|event| event.call.start_unix_ns.saturating_add(event.call.duration_ns.unwrap_or(0)));
        all.into_iter().for_each(|event| self.ring.push(event, &mut self.gone));
        self.restart_view();
        let dropped = theirs.dropped.iter().map(|((row, _), calls)| ((*row, connection), *calls));
        self.dropped.extend(dropped);
        self.unread.insert(connection, theirs.unread());
    }

    /// Forgets the calls of a process.
    pub fn leave(&mut self, connection: ConnectionId) {
        let others = self.ring.without(connection);
        let before = std::mem::replace(&mut self.ring, others);
        self.gone.extend(before.into_events());
        if let Some(paused) = &mut self.paused {
            *paused = paused.without(connection);
        }
        self.restart_view();
        self.selected.take_if(|event| event.connection == connection);
        self.clear_in_flight_of(connection);
        self.trouble.remove(&connection);
        self.methods.retain(|(_, of), _| *of != connection);
        self.dropped.retain(|(_, of), _| *of != connection);
        self.unread.remove(&connection);
        self.last.remove(&connection);
        let mut query = self.query().clone();
        if query.process.take_if(|process| *process == connection).is_some() {
            self.set_query(query);
        }
    }

    /// Takes in news of a process.
    pub fn take(&mut self, connection: ConnectionId, update: EventsUpdate) {
        match update {
            EventsUpdate::Earlier(events) => {
                let last = self.last.get(&connection).copied().unwrap_or(0);
                events
                    .into_iter()
                    .filter(|event| event.call.number > last)
                    .for_each(|event| self.add(connection, event));
            }
            EventsUpdate::Ended(events, unread) => {
                self.end_in_flight(connection, &events);
                events.into_iter().for_each(|event| self.add(connection, event));
                self.unread.insert(connection, unread);
            }
            EventsUpdate::InFlight(answer) => {
                self.is_polling = false;
                if self.paused.is_none() {
                    let (calls, trouble) = match answer {
                        Ok(calls) => (calls, None),
                        Err(why) => (Vec::new(), Some(why)),
                    };
                    calls.iter().for_each(|one| self.note_method(one));
                    self.clear_in_flight_of(connection);
                    // The list may be older than calls that came meanwhile.
                    let latest = self.ring.latest(LOOKED_AT).filter(|event| event.connection == connection);
                    let ended = EndedCalls::of(latest.map(|event| &**event));
                    self.in_flight.extend(calls.into_iter().filter(|one| !ended.include(one)));
                    self.in_flight.sort_by_key(|one| one.call.start_unix_ns);
                    match trouble {
                        Some(why) => drop(self.trouble.insert(connection, why)),
                        None => drop(self.trouble.remove(&connection)),
                    }
                }
            }
            EventsUpdate::Dropped(rows) => {
                for one in rows {
                    self.dropped
                        .insert((one.row, connection), total([one.over_rate, one.no_room, one.undecided]));
                }
            }
        }
    }

    fn add(&mut self, connection: ConnectionId, event: Arc<TracedEvent>) {
        let last = self.last.entry(connection).or_default();
        *last = (*last).max(event.call.number);
        self.arrived += 1;
        self.note_method(&event);
        if !self.is_merged {
            self.history.add(&event.method, &event.call);
        }
        self.ring.push(event, &mut self.gone);
    }

    /// Removes the calls in flight of a process that ended. The selected one is then the call with its end.
    fn end_in_flight(&mut self, connection: ConnectionId, events: &[Arc<TracedEvent>]) {
        let was_in_flight =
            |event: &Arc<TracedEvent>| event.connection == connection && event.call.number == 0;
        let selected = self.selected.clone().filter(was_in_flight);
        if self.paused.is_some() || self.in_flight.is_empty() && selected.is_none() {
            return;
        }
        let ended = EndedCalls::of(events.iter().map(|event| &**event));
        self.in_flight.retain(|one| one.connection != connection || !ended.include(one));
        if let Some(selected) = selected {
            let same = events.iter().find(|event| is_same(event, &selected));
            self.selected = same.cloned().or(Some(selected));
        }
    }

    fn note_method(&mut self, event: &TracedEvent) {
        let method = &event.method;
        let known = self.methods.entry(event.row()).or_insert_with(|| Arc::clone(method));
        if !Arc::ptr_eq(known, method) && known.plan <= method.plan {
            *known = Arc::clone(method);
        }
    }

    /// Begins a new session: nothing streams, and requests are never answered.
    pub fn begin_session(&mut self) {
        (self.is_streaming, self.is_polling, self.polled) = (false, false, None);
        (self.unread, self.trouble) = (BTreeMap::new(), BTreeMap::new());
        self.in_flight.clear();
    }

    /// Returns whether to start or stop the stream so that it is as `wanted`; counts as done.
    pub fn change_stream(&mut self, wanted: bool) -> bool {
        std::mem::replace(&mut self.is_streaming, wanted) != wanted
    }

    /// Returns whether calls are collected.
    pub fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// Forgets the calls in flight, since nothing is traced any more.
    pub fn clear_in_flight(&mut self) {
        if self.paused.is_none() {
            self.in_flight.clear();
        }
    }

    /// Forgets the calls in flight of a process.
    pub fn clear_in_flight_of(&mut self, connection: ConnectionId) {
        if self.paused.is_none() {
            self.in_flight.retain(|event| self.is_merged && event.connection != connection);
        }
    }

    /// Returns whether to request the calls in flight now, which counts as done; otherwise when to ask again.
    pub fn poll(&mut self, now: Duration) -> Result<(), Option<Duration>> {
        if self.paused.is_some() { Err(None) } else { self.poll_for_merged(now) }
    }

    /// As [`Events::poll`], for a list of several processes, which is paused on its own.
    pub fn poll_for_merged(&mut self, now: Duration) -> Result<(), Option<Duration>> {
        if self.is_polling {
            return Err(None);
        }
        match self.polled.map(|polled| polled + POLL).filter(|due| *due > now) {
            Some(due) => Err(Some(due)),
            None => {
                (self.polled, self.is_polling) = (Some(now), true);
                Ok(())
            }
        }
    }

    fn restart_view(&mut self) {
        self.view.restart();
        self.groups.iter_mut().for_each(EventGroups::restart);
    }

    /// Shows calls by another query.
    pub fn set_query(&mut self, query: EventQuery) {
        if !query.shows_same(self.view.query()) {
            self.groups.iter_mut().for_each(EventGroups::restart);
        }
        self.view.set_query(query);
    }

    /// Groups the shown calls by a value, or no longer.
    pub fn group_by(&mut self, key: Option<GroupKey>) {
        if self.groups.as_ref().map(EventGroups::key) != key.as_ref() {
            self.groups = key.map(EventGroups::new);
        }
    }

    /// Returns the groups of the shown calls, if they are grouped.
    pub fn groups(&self) -> Option<&EventGroups> {
        self.groups.as_ref()
    }

    /// Returns the same, to sort them.
    pub fn groups_mut(&mut self) -> Option<&mut EventGroups> {
        self.groups.as_mut()
    }

    /// Returns the query.
    pub fn query(&self) -> &EventQuery {
        self.view.query()
    }

    /// Returns why no call can meet the filter's condition, or why a text is no condition.
    pub fn filter_problem(&self, text: &str) -> Option<ConditionError> {
        match EventFilter::parse(text) {
            Ok(filter) => filter.misfit(self.methods()),
            Err(error) => Some(error),
        }
    }

    /// Brings the view up to date, as far as a frame allows. With `held`, shows no calls that came after the last
    /// time. Returns whether there is more to do.
    pub fn refresh(&mut self, held: bool) -> bool {
        let ring = self.paused.as_ref().unwrap_or(&self.ring);
        let groups = self.groups.as_mut();
        let is_grouped = groups.is_some();
        let more_groups = groups.is_some_and(|groups| groups.step(ring, self.view.query(), held));
        // Groups that are held keep their places, not their numbers.
        if held && !is_grouped && self.view.has_examined_any() {
            return self.view.step_back(ring);
        }
        if self.paused.is_none() {
            self.shown = self.arrived;
        }
        self.view.step(ring, &mut self.gone) || more_groups
    }

    /// Returns the calls that are no longer kept. Freeing many takes longer than a frame has. Call it once a frame.
    pub fn take_gone(&mut self) -> Vec<Arc<TracedEvent>> {
        std::mem::take(&mut self.gone)
    }

    /// Shows the calls so far and no later ones, or all again.
    pub fn set_paused(&mut self, paused: bool) {
        if paused == self.is_paused() {
            return;
        }
        let before = std::mem::replace(&mut self.paused, paused.then(|| self.ring.clone()));
        self.gone.extend(before.into_iter().flat_map(EventRing::into_events));
        self.shown = self.arrived;
    }

    /// Returns whether later calls are not shown.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Returns the number of calls that arrived since the view was last brought up to date.
    pub fn later(&self) -> u64 {
        self.arrived - self.shown
    }

    /// Forgets the calls that ended.
    pub fn clear(&mut self) {
        let is_paused = self.paused.is_some();
        self.restart_view();
        let rings = self.paused.take().into_iter().chain([std::mem::take(&mut self.ring)]);
        self.gone.extend(rings.flat_map(EventRing::into_events));
        self.paused = is_paused.then(EventRing::default);
        self.shown = self.arrived;
        self.selected = None;
        self.history.clear();
    }

    /// Returns when calls ran and by whom they were called. It keeps more calls than are shown, also during a pause.
    pub fn history(&self) -> &CallHistory {
        &self.history
    }

    /// Returns the same to bring it up to date.
    pub fn history_mut(&mut self) -> &mut CallHistory {
        &mut self.history
    }

    /// Returns the call with this number, if it is among those that are shown.
    pub fn by_number(&self, number: u64) -> Option<&Arc<TracedEvent>> {
        self.paused.as_ref().unwrap_or(&self.ring).by_number(number)
    }

    /// Returns the calls that are shown.
    pub fn view(&self) -> &EventView {
        &self.view
    }

    /// Returns the shown calls in flight, the longest first.
    pub fn in_flight(&self) -> impl Iterator<Item = &Arc<TracedEvent>> {
        let is_shown = self.view.query().matcher();
        self.in_flight.iter().filter(move |event| is_shown(event))
    }

    /// Returns why the calls in flight are unknown.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.values().next().map(String::as_str)
    }

    /// Returns the number of calls that are kept, and of those dropped in favour of later ones.
    pub fn kept(&self) -> (usize, u64) {
        let ring = self.paused.as_ref().unwrap_or(&self.ring);
        (ring.len(), ring.dropped())
    }

    /// Returns the number of calls that were not captured, of rows that are shown.
    pub fn not_captured(&self) -> u64 {
        let rows = self.view.query().rows.as_ref();
        let shown = self.dropped.iter().filter(|(row, _)| rows.is_none_or(|rows| rows.contains(row)));
        total(shown.map(|(_, calls)| *calls))
    }

    /// Returns the number of calls of a call's row that were not captured.
    pub fn dropped_like(&self, event: &TracedEvent) -> u64 {
        self.dropped.get(&event.row()).copied().unwrap_or(0)
    }

    /// Returns the number of calls that the agent dropped because this program read too slowly.
    pub fn unread(&self) -> u64 {
        total(self.unread.values().copied())
    }

    /// Returns the methods that were traced in this or an earlier session.
    pub fn methods(&self) -> impl Iterator<Item = &Arc<TracedMethod>> {
        self.methods.values()
    }

    /// Returns the values of a row's method that a call has; None until a call was seen.
    pub fn method(&self, row: RowId) -> Option<&Arc<TracedMethod>> {
        of_row(&self.methods, row)
    }

    /// Returns the latest collected call of a row, if it is among the last ones.
    pub fn latest(&self, row: RowId) -> Option<&Arc<TracedEvent>> {
        self.ring.latest(LOOKED_AT).find(|event| event.method.row == row)
    }

    /// Selects a call, or none.
    pub fn select(&mut self, event: Option<Arc<TracedEvent>>) {
        self.selected = event;
    }

    /// Returns the selected call. It stays selected when it is no longer shown.
    pub fn selected(&self) -> Option<&Arc<TracedEvent>> {
        self.selected.as_ref()
    }

    /// Returns the rows of methods that were traced and that `wanted` accepts.
    pub fn rows_where(&self, wanted: impl Fn(EventRow) -> bool) -> BTreeSet<EventRow> {
        self.methods.keys().copied().filter(|row| wanted(*row)).collect()
    }
}

/// Returns the value of a row where all are of one process.
fn of_row<T>(all: &BTreeMap<EventRow, T>, row: RowId) -> Option<&T> {
    let range = (row, ConnectionId(0))..=(row, ConnectionId(u32::MAX));
    all.range(range).next().map(|(_, value)| value)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
