//! Tests pending changes and undo.

use super::*;
use crate::catalogue::tests::small;

fn now(seconds: u64) -> Now {
    Now { mono: Duration::from_secs(seconds), unix_ms: 0 }
}

#[test]
fn changes_stay_pending_until_rows_arrive() {
    let live = Live::default();
    let mut turns = ChangeHistory::default();
    let (one, other) = (MethodIx(3), MethodIx(4));
    turns.begin(
        (Ticket(1), "count".into()),
        vec![(Level::Count, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(0),
    );
    assert_eq!(turns.waits_for(one, Level::Off), Some(Level::Count));
    assert_eq!(turns.waits_for(one, Level::Count), Some(Level::Count), "the agent has not answered");
    assert_eq!(turns.waits_for(other, Level::Off), None);
    assert!(turns.touches(&[0..9]) && !turns.touches(&[4..9]));
    assert_eq!((turns.whole(&[3..4]), turns.whole(&[3..5])), (Some(Level::Count), None));
    turns.accepted(Ticket(1), now(1));
    assert_eq!(turns.waits_for(one, Level::Off), Some(Level::Count), "the row is on its way");
    assert_eq!(turns.waits_for(one, Level::Count), None);
    turns.settle(now(2));
    assert_eq!(turns.pending().len(), 1);
    turns.settle(now(9));
    assert_eq!(turns.waits_for(one, Level::Off), None, "it never came: the agent's report counts");
    turns.begin(
        (Ticket(2), "count".into()),
        vec![(Level::Count, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(9),
    );
    turns.begin(
        (Ticket(3), "off".into()),
        vec![(Level::Off, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(9),
    );
    assert_eq!(turns.waits_for(one, Level::Count), Some(Level::Off), "the newest counts");
    assert!(turns.failed(Ticket(3)).is_some() && turns.failed(Ticket(3)).is_none());
    assert_eq!(turns.waits_for(one, Level::Off), Some(Level::Count));
}

#[test]
fn undo_restores_mixed_levels() {
    let catalogue = small();
    let live = crate::list::tests::live(&catalogue, &[2, 3, 4], |_| 0);
    // Row 0 (method 2) is off; rows 1 and 2 (methods 3 and 4) count.
    let mut turns = ChangeHistory::default();
    let all = vec![(Level::Off, MethodSet::range(2..6))];
    turns.begin((Ticket(1), "off".into()), all.clone(), ChangeScope::Copies, &live, now(0));
    assert_eq!(turns.undoable(), Some("off"), "at once");
    turns.accepted(Ticket(1), now(0));
    assert_eq!(turns.undoable(), Some("off"));
    let UndoRequest { words, wishes, .. } = turns.begin_undo(Ticket(2), false, now(1)).expect("one to undo");
    let mut off = MethodSet::one(MethodIx(2));
    off.insert_one(MethodIx(5));
    assert_eq!(words, "undo off");
    assert_eq!(wishes, [(Level::Count, MethodSet::range(3..5)), (Level::Off, off)]);
    assert!(turns.failed(Ticket(2)).is_some());
    assert_eq!(turns.undoable(), Some("off"), "a failed undo can be tried again");
    turns.begin_undo(Ticket(3), false, now(1));
    turns.accepted(Ticket(3), now(1));
    assert_eq!((turns.undoable(), turns.redoable()), (None, Some("off")));
    let UndoRequest { wishes, .. } = turns.begin_undo(Ticket(4), true, now(1)).expect("one to redo");
    assert_eq!(wishes, all);
    turns.accepted(Ticket(4), now(1));
    assert_eq!((turns.undoable(), turns.redoable()), (Some("off"), None));
    turns.clear();
    assert_eq!(turns.undoable(), None);
}

/// Two changes and two undo steps, all unanswered.
#[test]
fn unanswered_changes_can_be_undone() {
    let live = Live::default();
    let mut turns = ChangeHistory::default();
    let count = |method| vec![(Level::Count, MethodSet::one(MethodIx(method)))];
    let off = |method| vec![(Level::Off, MethodSet::one(MethodIx(method)))];
    turns.begin((Ticket(1), "one".into()), count(3), ChangeScope::Copies, &live, now(0));
    turns.begin((Ticket(2), "two".into()), count(4), ChangeScope::Copies, &live, now(0));
    turns.begin((Ticket(3), "three".into()), off(3), ChangeScope::Copies, &live, now(0));
    let mut undone = |ticket| turns.begin_undo(Ticket(ticket), false, now(0)).expect("one to undo");
    assert_eq!((undone(4).wishes), (count(3)), "the wish before, not what the agent last said");
    assert_eq!(undone(5).wishes, off(4));
    assert_eq!((turns.undoable(), turns.redoable()), (Some("one"), Some("two")));
    // Both undo steps fail: the changes return to their places.
    turns.failed(Ticket(4));
    turns.failed(Ticket(5));
    assert_eq!((turns.undoable(), turns.redoable()), (Some("three"), None));
    turns.failed(Ticket(3));
    assert_eq!(turns.undoable(), Some("two"), "a failed change needs no undo");
}
