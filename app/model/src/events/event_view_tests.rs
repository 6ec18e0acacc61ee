//! Filtering and sorting calls while others arrive and the oldest are dropped.

use super::*;
use crate::catalogue::synthetic::PseudoRandom;
use crate::events::MAX_EVENTS;
use redial_protocol::ids::RowId;
use redial_protocol::trace::{TracedCall, TracedMethod, Value};
use redial_text::fixtures::{traced_call, traced_method};

fn event(row: u32, number: u64, order: i64, duration_ns: u64) -> Arc<TracedEvent> {
    let method = TracedMethod { row: RowId(row), ..traced_method() };
    let arguments = vec![Value::Int(order), Value::Null];
    let start_unix_ns = number * 1_000;
    let duration_ns = Some(duration_ns);
    let call = TracedCall { number, start_unix_ns, duration_ns, arguments, ..traced_call() };
    Arc::new(TracedEvent::new(Arc::new(method), call))
}

fn numbers(view: &EventView) -> Vec<u64> {
    (0..view.len()).filter_map(|row| view.at(row)).map(|event| event.call.number).collect()
}

fn up_to_date(view: &mut EventView, ring: &EventRing) {
    while view.step(ring, &mut vec![]) {}
}

#[test]
fn the_latest_call_comes_first() {
    let (mut ring, mut view) = (EventRing::default(), EventView::default());
    assert!(!view.step(&ring, &mut vec![]) && view.is_empty());
    [1, 2, 3].into_iter().for_each(|number| ring.push(event(1, number, 0, 5), &mut vec![]));
    up_to_date(&mut view, &ring);
    assert_eq!(numbers(&view), [3, 2, 1]);
    ring.push(event(1, 4, 0, 5), &mut vec![]);
    assert!(view.is_behind(&ring));
    up_to_date(&mut view, &ring);
    assert_eq!(numbers(&view), [4, 3, 2, 1]);
    let third = view.at(2).cloned().expect("a call");
    assert_eq!(view.row_of(&third), Some(2));
    view.set_query(EventQuery { ascending: true, ..view.query().clone() });
    assert_eq!(
        (numbers(&view), view.row_of(&third)),
        (vec![1, 2, 3, 4], Some(1)),
        "nothing is searched again"
    );
}

#[test]
fn filters_by_words_and_rows() {
    let (mut ring, mut view) = (EventRing::default(), EventView::default());
    for number in 0..20_u32 {
        ring.push(event(number % 2, number.into(), (number / 2).into(), 5), &mut vec![]);
    }
    let mut query = EventQuery { ascending: true, ..EventQuery::default() };
    query.set_text("ORDER:  9");
    view.set_query(query.clone());
    up_to_date(&mut view, &ring);
    assert_eq!(numbers(&view), [18, 19]);
    query.rows = Some(BTreeSet::from([(RowId(1), ConnectionId(0))]));
    view.set_query(query.clone());
    up_to_date(&mut view, &ring);
    assert_eq!(numbers(&view), [19]);
    query.set_text("order: 9, nothing");
    view.set_query(query);
    up_to_date(&mut view, &ring);
    assert!(view.is_empty());
}

/// A view that follows a ring shows what one that begins with it shows.
#[test]
fn follows_calls_that_come_and_go() {
    let mut chance = PseudoRandom::new(3);
    let pool: Vec<_> = (0..300).map(|number| event(0, number, number as i64 % 50, number % 70)).collect();
    for column in EventColumn::ALL {
        let (mut ring, mut view) = (EventRing::default(), EventView::default());
        view.set_query(EventQuery { column, ascending: true, ..EventQuery::default() });
        for _ in 0..9 {
            for _ in 0..chance.below(30_000) {
                ring.push(Arc::clone(&pool[chance.below(pool.len())]), &mut vec![]);
            }
            if chance.below(2) == 0 {
                view.step(&ring, &mut vec![]);
            }
        }
        up_to_date(&mut view, &ring);
        let mut fresh = EventView::default();
        fresh.set_query(view.query().clone());
        up_to_date(&mut fresh, &ring);
        let kept = |view: &EventView| {
            let first = ring.places().start;
            view.rows.iter().filter(|row| row.place >= first).map(|row| row.place).collect::<Vec<_>>()
        };
        assert_eq!(kept(&view), kept(&fresh), "{column:?}");
        assert_eq!(fresh.len(), ring.len());
        assert!(view.len() as u64 <= MAX_EVENTS as u64 + MAX_GONE, "{}", view.len());
        assert!(view.rows.is_sorted_by(|one, other| order(column, one, other) == Ordering::Less));
    }
}

#[test]
fn steps_are_bounded_and_begin_with_the_latest() {
    let (mut ring, mut view) = (EventRing::default(), EventView::default());
    let many = event(0, 1, 0, 5);
    (2..3 * STEP).for_each(|_| ring.push(Arc::clone(&many), &mut vec![]));
    ring.push(event(0, 2, 0, 5), &mut vec![]);
    ring.push(event(0, 3, 0, 5), &mut vec![]);
    assert!(view.step(&ring, &mut vec![]));
    assert_eq!((view.len() as u64, view.at(0).map(|event| event.call.number)), (STEP, Some(3)));
    ring.push(event(0, 4, 0, 5), &mut vec![]);
    assert!(view.step_back(&ring), "held, it shows earlier calls only");
    assert_eq!(view.at(0).map(|event| event.call.number), Some(3));
    up_to_date(&mut view, &ring);
    assert_eq!(view.len(), ring.len());
}
