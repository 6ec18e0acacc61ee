//! Changes of one process: *all off*, undo and redo.

use super::*;
use crate::catalogue::tests::method;
use crate::connection::tests::{connected, row, texts};
use crate::fixtures::now;
use crate::method_set::MethodSet;
use crate::update::{ConnectionUpdate, RefusedRequest};
use redial_protocol::message::Event;
use redial_protocol::report::DialReport;
use redial_protocol::state::CopyState;

#[test]
fn all_off_marks_dials_and_logs_the_outcome() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    let rows = vec![row(&connection, 0, add, CopyState::Live)];
    connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], &mut log, now(1));
    for (result, kind, part) in [
        (Ok((0, 0)), LogKind::NoneOn, "no dial was on"),
        (Ok((1, 0)), LogKind::AllOff, "every dial is off in shop (7), 1 reverted"),
        (Ok((1, 2)), LogKind::Failure, "2 not"),
        (Err("no process 7".to_owned()), LogKind::Failure, "all off failed: no process 7"),
    ] {
        let ticket = connection.all_off(&mut log, now(2));
        let dial = connection.table.dial(add);
        assert_eq!((dial.wanted, dial.pending), (Level::Off, true));
        connection.apply(vec![ConnectionUpdate::AllOff(ticket, result)], &mut log, now(3));
        assert!(texts(&log, kind).last().is_some_and(|text| text.contains(part)), "{part}");
    }
}

/// The agent undoes a change, because it knows the earlier orders. A redo is a new change.
#[test]
fn undo_names_the_last_ticket_of_the_change() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    let targets = connection.table.targets_for(&MethodSet::one(add));
    let change = connection.set_level(&targets, Level::Count, false, &mut log, now(1)).expect("possible");
    let done = |connection: &mut Connection, ticket| {
        let updates = vec![ConnectionUpdate::Dialled(ticket, Ok(DialReport::default()))];
        connection.apply(updates, &mut Log::default(), now(2));
    };
    done(&mut connection, change.ticket);
    let Ok(UndoStep::UndoChange { ticket, of }) = connection.undo(false, &mut log, now(3)) else {
        panic!("a step")
    };
    assert_eq!(of, change.ticket);
    assert_eq!((connection.table.dial(add).wanted, connection.table.dial(add).pending), (Level::Off, true));
    done(&mut connection, ticket);
    let Ok(UndoStep::Change(again)) = connection.undo(true, &mut log, now(4)) else { panic!("a step") };
    assert_eq!(again.orders, change.orders);
    assert!(connection.table.dial(add).pending);
    done(&mut connection, again.ticket);
    let Ok(UndoStep::UndoChange { ticket, of }) = connection.undo(false, &mut log, now(5)) else {
        panic!("a step")
    };
    assert_eq!(of, again.ticket, "it was done again by another turn");
    // Refused, it can be tried again; forgotten, it cannot.
    let refused = RefusedRequest { why: "the dials are controlled by another".into(), holder: None };
    connection.apply(vec![ConnectionUpdate::Dialled(ticket, Err(refused))], &mut log, now(6));
    let Ok(UndoStep::UndoChange { ticket, of }) = connection.undo(false, &mut log, now(7)) else {
        panic!("a step")
    };
    assert_eq!(of, again.ticket);
    connection.apply(vec![ConnectionUpdate::Forgotten(ticket)], &mut log, now(8));
    assert!(texts(&log, LogKind::Refusal).last().is_some_and(|text| text.contains("does not remember")));
    assert!(
        connection.undo(false, &mut log, now(9)).is_err() && connection.undo(true, &mut log, now(9)).is_err()
    );
    let off = connection.all_off(&mut log, now(10));
    let Ok(UndoStep::UndoChange { of, .. }) = connection.undo(false, &mut log, now(11)) else {
        panic!("a step")
    };
    assert_eq!(of, off);
    assert!(
        matches!(connection.undo(true, &mut log, now(12)), Ok(UndoStep::AllOff(ticket)) if ticket != off)
    );
}
