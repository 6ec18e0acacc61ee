//! Tests pending changes and undo.

use super::*;
use crate::catalogue::tests::small;

fn now(seconds: u64) -> Now {
    Now { mono: Duration::from_secs(seconds), unix_ms: 0 }
}

#[test]
fn changes_stay_pending_until_rows_arrive() {
    let live = Live::default();
    let mut history = ChangeHistory::default();
    let (one, other) = (MethodIx(3), MethodIx(4));
    history.begin(
        (Ticket(1), "count".into()),
        vec![(Level::Count, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(0),
    );
    assert_eq!(history.waits_for(one, Level::Off), Some(Level::Count));
    assert_eq!(history.waits_for(one, Level::Count), Some(Level::Count), "the agent has not answered");
    assert_eq!(history.waits_for(other, Level::Off), None);
    assert!(history.touches(&[0..9]) && !history.touches(&[4..9]));
    assert_eq!((history.whole(&[3..4]), history.whole(&[3..5])), (Some(Level::Count), None));
    history.accepted(Ticket(1), now(1));
    assert_eq!(history.waits_for(one, Level::Off), Some(Level::Count), "the row is on its way");
    assert_eq!(history.waits_for(one, Level::Count), None);
    history.forget_overdue(now(2));
    assert_eq!(history.pending().len(), 1);
    history.forget_overdue(now(9));
    assert_eq!(history.waits_for(one, Level::Off), None, "it never came: the agent's report counts");
    history.begin(
        (Ticket(2), "count".into()),
        vec![(Level::Count, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(9),
    );
    history.begin(
        (Ticket(3), "off".into()),
        vec![(Level::Off, MethodSet::one(one))],
        ChangeScope::Copies,
        &live,
        now(9),
    );
    assert_eq!(history.waits_for(one, Level::Count), Some(Level::Off), "the newest counts");
    assert!(history.failed(Ticket(3)).is_some() && history.failed(Ticket(3)).is_none());
    assert_eq!(history.waits_for(one, Level::Off), Some(Level::Count));
}

#[test]
fn undo_restores_mixed_levels() {
    let catalogue = small();
    let live = crate::list::tests::live(&catalogue, &[2, 3, 4], |_| 0);
    // Row 0 (method 2) is off; rows 1 and 2 (methods 3 and 4) count.
    let mut history = ChangeHistory::default();
    let all = vec![(Level::Off, MethodSet::range(2..6))];
    history.begin((Ticket(1), "off".into()), all.clone(), ChangeScope::Copies, &live, now(0));
    assert_eq!(history.undoable(), Some("off"), "at once");
    history.accepted(Ticket(1), now(0));
    assert_eq!(history.undoable(), Some("off"));
    let UndoRequest { words, wishes, .. } =
        history.begin_undo(Ticket(2), false, now(1)).expect("one to undo");
    let mut off = MethodSet::one(MethodIx(2));
    off.insert_one(MethodIx(5));
    assert_eq!(words, "undo off");
    assert_eq!(wishes, [(Level::Count, MethodSet::range(3..5)), (Level::Off, off)]);
    assert!(history.failed(Ticket(2)).is_some());
    assert_eq!(history.undoable(), Some("off"), "a failed undo can be tried again");
    history.begin_undo(Ticket(3), false, now(1));
    history.accepted(Ticket(3), now(1));
    assert_eq!((history.undoable(), history.redoable()), (None, Some("off")));
    let UndoRequest { wishes, .. } = history.begin_undo(Ticket(4), true, now(1)).expect("one to redo");
    assert_eq!(wishes, all);
    history.accepted(Ticket(4), now(1));
    assert_eq!((history.undoable(), history.redoable()), (Some("off"), None));
    history.clear();
    assert_eq!(history.undoable(), None);
}

/// Two changes and two undo steps, all unanswered.
#[test]
fn unanswered_changes_can_be_undone() {
    let live = Live::default();
    let mut history = ChangeHistory::default();
    let count = |method| vec![(Level::Count, MethodSet::one(MethodIx(method)))];
    let off = |method| vec![(Level::Off, MethodSet::one(MethodIx(method)))];
    history.begin((Ticket(1), "one".into()), count(3), ChangeScope::Copies, &live, now(0));
    history.begin((Ticket(2), "two".into()), count(4), ChangeScope::Copies, &live, now(0));
    history.begin((Ticket(3), "three".into()), off(3), ChangeScope::Copies, &live, now(0));
    let mut undone = |ticket| history.begin_undo(Ticket(ticket), false, now(0)).expect("one to undo");
    assert_eq!((undone(4).wishes), (count(3)), "the wish before, not what the agent last said");
    assert_eq!(undone(5).wishes, off(4));
    assert_eq!((history.undoable(), history.redoable()), (Some("one"), Some("two")));
    // Both undo steps fail: the changes return to their places.
    history.failed(Ticket(4));
    history.failed(Ticket(5));
    assert_eq!((history.undoable(), history.redoable()), (Some("three"), None));
    history.failed(Ticket(3));
    assert_eq!(history.undoable(), Some("two"), "a failed change needs no undo");
}
