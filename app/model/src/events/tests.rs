//! Collecting, pausing and clearing calls.

use super::*;
use crate::call_groups::GroupTitle;
use redial_protocol::trace::{Outcome, TracedCall, Value};
use redial_text::fixtures::{traced_call, traced_method};

fn events(numbers: std::ops::RangeInclusive<u64>) -> Vec<Arc<TracedEvent>> {
    let method = Arc::new(traced_method());
    let event = |number| TracedEvent::new(Arc::clone(&method), TracedCall { number, ..traced_call() });
    numbers.map(|number| Arc::new(event(number))).collect()
}

#[test]
fn earlier_calls_are_taken_once() {
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::Earlier(events(1..=3)));
    all.take(ConnectionId(0), EventsUpdate::Ended(events(4..=5), 0));
    all.take(ConnectionId(0), EventsUpdate::Earlier(events(2..=6)));
    all.refresh(false);
    assert_eq!(all.view().len(), 6);
    assert!(all.method(RowId(7)).is_some());
}

#[test]
fn a_pause_shows_no_later_calls_but_collects_them() {
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::Ended(events(1..=2), 0));
    all.refresh(false);
    all.set_paused(true);
    all.take(ConnectionId(0), EventsUpdate::Ended(events(3..=5), 0));
    assert!(!all.refresh(false));
    assert_eq!((all.view().len(), all.later(), all.kept()), (2, 3, (2, 0)));
    let mut query = all.query().clone();
    query.set_text("nothing");
    all.set_query(query.clone());
    all.refresh(false);
    assert!(all.view().is_empty());
    query.set_text("");
    all.set_query(query);
    all.refresh(false);
    assert_eq!(all.view().len(), 2, "another filter shows calls of before the pause only");
    all.set_paused(false);
    all.refresh(false);
    assert_eq!((all.view().len(), all.later()), (5, 0));
}

#[test]
fn held_rows_stay_while_calls_arrive() {
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::Ended(events(1..=2), 0));
    all.refresh(true);
    assert_eq!(all.view().len(), 2, "the first rows always come");
    all.take(ConnectionId(0), EventsUpdate::Ended(events(3..=3), 0));
    all.refresh(true);
    assert_eq!((all.view().len(), all.later()), (2, 1));
    all.refresh(false);
    assert_eq!((all.view().len(), all.later()), (3, 0));
}

#[test]
fn polls_calls_in_flight_once_a_second() {
    let (mut all, second) = (Events::default(), Duration::from_secs(1));
    assert_eq!(all.poll(second), Ok(()));
    assert_eq!(all.poll(9 * second), Err(None), "the answer is pending");
    let [first, later] = [5, 4].map(|start_unix_ns| {
        let call = TracedCall { start_unix_ns, number: 0, ..traced_call() };
        Arc::new(TracedEvent::new(Arc::new(traced_method()), call))
    });
    all.take(ConnectionId(0), EventsUpdate::InFlight(Ok(vec![first, later])));
    let starts: Vec<u64> = all.in_flight().map(|one| one.call.start_unix_ns).collect();
    assert_eq!(starts, [4, 5], "the longest first");
    assert_eq!(all.poll(second), Err(Some(2 * second)));
    assert_eq!(all.poll(2 * second), Ok(()));
    all.take(ConnectionId(0), EventsUpdate::InFlight(Err("the agent is off".into())));
    assert_eq!((all.in_flight().count(), all.trouble()), (0, Some("the agent is off")));
    all.set_paused(true);
    assert_eq!(all.poll(9 * second), Err(None));
}

#[test]
fn clears_calls_but_knows_their_methods() {
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::Ended(events(1..=3), 4));
    all.refresh(false);
    let first = all.view().at(0).cloned();
    all.select(first);
    all.clear();
    assert_eq!(all.take_gone().len(), 3);
    all.refresh(false);
    assert!(all.take_gone().is_empty());
    assert!(all.view().is_empty() && all.selected().is_none() && all.kept() == (0, 0));
    assert_eq!((all.methods().count(), all.unread()), (1, 4));
    let wanted = |(row, _): EventRow| row.0 == 7;
    assert_eq!((all.rows_where(wanted).len(), all.rows_where(|_| false).len()), (1, 0));
    all.take(ConnectionId(0), EventsUpdate::Ended(events(4..=4), 4));
    all.refresh(false);
    assert_eq!(all.view().len(), 1);
}

#[test]
fn calls_that_ended_are_no_longer_in_flight() {
    let event = |call: TracedCall| Arc::new(TracedEvent::new(Arc::new(traced_method()), call));
    let (number, duration_ns, outcome) = (0, None, Outcome::InFlight);
    let in_flight = event(TracedCall { number, duration_ns, outcome, ..traced_call() });
    let ended = event(TracedCall { number: 7, outcome: Outcome::Returned(None), ..traced_call() });
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::InFlight(Ok(vec![Arc::clone(&in_flight)])));
    all.select(Some(Arc::clone(&in_flight)));
    assert_eq!(all.in_flight().count(), 1);
    all.take(ConnectionId(0), EventsUpdate::Ended(vec![ended], 0));
    assert_eq!(all.in_flight().count(), 0);
    assert_eq!(all.selected().map(|event| event.call.number), Some(7), "with its end");
    all.take(ConnectionId(0), EventsUpdate::InFlight(Ok(vec![in_flight])));
    assert_eq!(all.in_flight().count(), 0, "the list is older than the end");
}

fn of_process(connection: u32, numbers: std::ops::RangeInclusive<u64>) -> Vec<Arc<TracedEvent>> {
    let method = Arc::new(traced_method());
    let event = |number: u64| {
        // Both processes make calls in turn.
        let start_unix_ns = 1_000 * number + u64::from(connection);
        let call = TracedCall { number, start_unix_ns, ..traced_call() };
        Arc::new(TracedEvent::new(Arc::clone(&method), call).of(ConnectionId(connection)))
    };
    numbers.map(event).collect()
}

fn shown(all: &mut Events) -> Vec<(u32, u64)> {
    while all.refresh(false) {}
    let events = (0..all.view().len()).filter_map(|row| all.view().at(row));
    events.map(|event| (event.connection.0, event.call.number)).collect()
}

#[test]
fn calls_of_several_processes_merge_by_time() {
    let (one, other) = (ConnectionId(1), ConnectionId(2));
    let mut first = Events::default();
    first.take(one, EventsUpdate::Ended(of_process(1, 1..=2), 0));
    let mut all = Events::merged();
    all.join(one, &first);
    all.take(other, EventsUpdate::Ended(of_process(2, 1..=2), 3));
    all.take(one, EventsUpdate::Earlier(of_process(1, 2..=3)));
    assert_eq!(shown(&mut all), [(1, 3), (2, 2), (1, 2), (2, 1), (1, 1)], "the latest first, each once");
    assert_eq!(all.unread(), 3);
    let mut query = all.query().clone();
    query.process = Some(other);
    all.set_query(query.clone());
    assert_eq!(shown(&mut all), [(2, 2), (2, 1)]);
    query.process = None;
    query.rows = Some(all.rows_where(|(_, connection)| connection == one));
    query.column = EventColumn::Process;
    all.set_query(query.clone());
    assert_eq!(shown(&mut all), [(1, 3), (1, 2), (1, 1)]);
    query.rows = None;
    all.set_query(query);
    all.select(all.view().at(0).cloned());
    all.take(one, EventsUpdate::InFlight(Ok(of_process(1, 99_999..=99_999))));
    all.take(other, EventsUpdate::InFlight(Ok(of_process(2, 99_999..=99_999))));
    assert_eq!(all.in_flight().count(), 2);
    all.take(one, EventsUpdate::InFlight(Ok(Vec::new())));
    assert_eq!(all.in_flight().count(), 1);
    all.leave(other);
    assert_eq!(shown(&mut all), [(1, 3), (1, 2), (1, 1)]);
    assert_eq!((all.in_flight().count(), all.unread(), all.selected().is_some()), (0, 0, false));
}

#[test]
fn the_latest_calls_of_all_processes_are_kept() {
    let half = event_ring::MAX_EVENTS as u64 / 2;
    let mut all = Events::merged();
    for id in [1, 2] {
        let mut one = Events::default();
        one.take(ConnectionId(id), EventsUpdate::Ended(of_process(id, 1..=half + 10), 0));
        all.join(ConnectionId(id), &one);
    }
    for id in [1, 2] {
        let of = all.ring.latest(usize::MAX).filter(|event| event.connection == ConnectionId(id));
        assert_eq!(of.count() as u64, half, "the ten oldest of each are gone");
    }
    assert_eq!(all.gone.len(), 20);
    assert_eq!(shown(&mut all).len() as u64, 2 * half);
}

#[test]
fn dropped_calls_are_those_of_the_process() {
    let mut all = Events::merged();
    let [mine, theirs] = [1, 2].map(|id| of_process(id, 1..=1).remove(0));
    let dropped = DroppedCalls { row: mine.method.row, over_rate: 500, no_room: 0, undecided: 0 };
    all.take(ConnectionId(1), EventsUpdate::Dropped(vec![dropped]));
    assert_eq!((all.dropped_like(&mine), all.dropped_like(&theirs)), (500, 0));
}

#[test]
fn a_paused_process_is_polled_for_a_merged_list() {
    let (mut one, second) = (Events::default(), Duration::from_secs(1));
    one.set_paused(true);
    assert_eq!(one.poll(second), Err(None));
    assert_eq!(one.poll_for_merged(second), Ok(()));
    one.take(ConnectionId(1), EventsUpdate::InFlight(Ok(of_process(1, 0..=0))));
    assert_eq!(one.in_flight().count(), 0, "its own list is paused");
    assert_eq!(one.poll_for_merged(2 * second), Ok(()));
}

#[test]
fn trouble_of_one_process_outlasts_answers_of_another() {
    let mut all = Events::merged();
    all.take(ConnectionId(1), EventsUpdate::InFlight(Err("the agent is off".into())));
    all.take(ConnectionId(2), EventsUpdate::InFlight(Ok(vec![])));
    assert_eq!(all.trouble(), Some("the agent is off"));
    all.take(ConnectionId(1), EventsUpdate::InFlight(Ok(vec![])));
    assert_eq!(all.trouble(), None);
}

#[test]
fn groups_follow_the_shown_calls() {
    let of = |numbers: std::ops::RangeInclusive<u64>| {
        let method = Arc::new(traced_method());
        let event = |number: u64| {
            let arguments = vec![Value::Int((number % 3) as i64), Value::Null];
            let call = TracedCall { number, arguments, duration_ns: Some(number), ..traced_call() };
            Arc::new(TracedEvent::new(Arc::clone(&method), call))
        };
        numbers.map(event).collect::<Vec<_>>()
    };
    let mut all = Events::default();
    all.take(ConnectionId(0), EventsUpdate::Ended(of(1..=5_000), 0));
    all.group_by(GroupKey::parse("order"));
    while all.refresh(false) {}
    let rows = |all: &Events| {
        let groups = all.groups().expect("groups");
        let row = |row: usize| groups.at(row).map(|group| (group.title.clone(), group.calls));
        (0..groups.len()).filter_map(row).collect::<Vec<_>>()
    };
    let value = |text: &str| GroupTitle::Value(text.to_owned());
    // The durations of 2, 5, … are the longest together.
    let expected = [(value("2"), 1_667), (value("1"), 1_667), (value("0"), 1_666)];
    assert_eq!(rows(&all), expected);
    all.take(ConnectionId(0), EventsUpdate::Ended(of(5_001..=5_001), 0));
    all.refresh(true);
    assert_eq!(rows(&all)[2], (value("0"), 1_667), "held rows keep places, not numbers");
    all.refresh(false);
    assert_eq!(rows(&all)[0], (value("0"), 1_667), "5,001 more nanoseconds");
    let mut query = all.query().clone();
    query.set_text("order == 1");
    all.set_query(query);
    while all.refresh(false) {}
    assert_eq!(rows(&all), [(value("1"), 1_667)]);
    all.clear();
    all.refresh(false);
    assert!(rows(&all).is_empty());
    all.group_by(None);
    assert!(all.groups().is_none());
}
