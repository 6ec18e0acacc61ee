//! Changes of one and of several requests: finished, cancelled, refused, taken back.

use super::*;
use redial_model::ids::ConnectionId;
use redial_protocol::diagnostics::Limit;
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::level::Level;
use redial_protocol::message::{AuditEntry, Holder};
use redial_protocol::order::Order;

/// A fake agent that records commands; tests give its answers.
#[derive(Default)]
struct FakeAgent {
    sent: Vec<WireCommand>,
}

impl CommandSink for FakeAgent {
    fn send(&mut self, command: WireCommand) -> Result<u32, LinkError> {
        self.sent.push(command);
        Ok(self.sent.len() as u32)
    }
}

struct Case {
    changes: ActiveChanges,
    agent: FakeAgent,
}

impl Case {
    fn new() -> Case {
        Case { changes: ActiveChanges::default(), agent: FakeAgent::default() }
    }

    /// Begins a change of `parts` requests that alternate between on and off.
    fn change(&mut self, ticket: u64, parts: usize) {
        let level = |part: usize| if part.is_multiple_of(2) { Level::Count } else { Level::Off };
        let orders = (0..parts).map(|part| Order::new("A.B", level(part))).collect();
        let ticket = Ticket(ticket);
        let change = DialChange { connection: ConnectionId(1), ticket, orders, take: false, later: false };
        self.changes.change(change, &mut self.agent).expect("sent");
    }

    /// Answers the last request.
    fn answer(&mut self, reply: Reply) -> Vec<ConnectionUpdate> {
        let id = self.agent.sent.len() as u32;
        match self.changes.answered(id, reply, &mut self.agent) {
            Ok(Some((updates, _))) => updates,
            other => panic!("{other:?}"),
        }
    }

    fn take_back(&mut self, ticket: u64, of: u64) -> Option<ConnectionUpdate> {
        self.changes.take_back(Ticket(ticket), Ticket(of), &mut self.agent).expect("sent")
    }

    /// Returns the changes that were taken back, in order.
    fn taken_back(&self) -> Vec<u64> {
        let change = |command: &WireCommand| match command {
            WireCommand::UndoChange { change, take: false } => Some(*change),
            _ => None,
        };
        self.agent.sent.iter().filter_map(change).collect()
    }
}

fn done(change: u64) -> Reply {
    Reply::Dialled(DialReport { matched: 1, accepted: 1, change, ..DialReport::default() })
}

fn undone() -> Reply {
    let (user, program) = Default::default();
    let action = AuditAction::Changed(AuditedChange::AllOff);
    let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
    Reply::Undone { entry: AuditEntry { t_unix_ms: 0, user, program, action }, report }
}

fn refused(updates: &[ConnectionUpdate]) -> (u64, String) {
    let [ConnectionUpdate::Dialled(ticket, Err(refused))] = updates else { panic!("{updates:?}") };
    (ticket.0, refused.why.clone())
}

fn accepted(updates: &[ConnectionUpdate]) -> (u64, u64) {
    let [ConnectionUpdate::Dialled(ticket, Ok(report))] = updates else { panic!("{updates:?}") };
    (ticket.0, report.accepted)
}

#[test]
fn a_turn_is_taken_back_newest_part_first() {
    let mut case = Case::new();
    case.change(1, 3);
    assert!(case.answer(done(11)).is_empty() && case.answer(done(0)).is_empty());
    assert_eq!(accepted(&case.answer(done(13))), (1, 3));
    assert!(case.take_back(2, 1).is_none() && case.answer(undone()).is_empty());
    assert_eq!(accepted(&case.answer(undone())), (2, 2));
    assert_eq!(case.taken_back(), [13, 11], "the second changed nothing");
    let again = case.take_back(3, 1).expect("it is taken back already");
    assert_eq!(accepted(&[again]), (3, 0));
}

#[test]
fn a_cancelled_change_is_taken_back_completely() {
    // The outstanding part may have been cancelled in time or already done.
    for (reply, back) in [(Reply::Refused(Refusal::Cancelled), vec![11]), (done(12), vec![12, 11])] {
        let mut case = Case::new();
        case.change(1, 4);
        assert!(case.answer(done(11)).is_empty());
        case.changes.cancel(Ticket(1), &mut case.agent).expect("sent");
        assert_eq!(case.agent.sent.pop(), Some(WireCommand::Cancel { request: 2 }));
        assert!(case.answer(reply).is_empty());
        for _ in 1..back.len() {
            assert!(case.answer(undone()).is_empty());
        }
        let (ticket, why) = refused(&case.answer(undone()));
        assert_eq!((ticket, case.taken_back()), (1, back));
        assert!(why.contains("cancelled") && !why.contains("stay"), "{why}");
        assert!(case.changes.is_empty());
    }
}

#[test]
fn the_last_part_may_finish_before_it_is_cancelled() {
    let mut case = Case::new();
    case.change(1, 1);
    case.changes.cancel(Ticket(1), &mut case.agent).expect("sent");
    case.agent.sent.pop();
    assert_eq!(accepted(&case.answer(done(11))), (1, 1), "it is done, and can be undone");
}

#[test]
fn a_refused_change_is_taken_back_or_reports_the_rest() {
    let holder = || Reply::Refused(Refusal::ControlHeld(Holder { pid: 7, program: "redial dial".into() }));
    let mut case = Case::new();
    case.change(1, 2);
    case.answer(done(11));
    assert!(
        case.answer(Reply::Refused(Refusal::OverLimit(Limit::StandingOrders { limit: 4096 }))).is_empty()
    );
    let (_, why) = refused(&case.answer(undone()));
    assert!(why.contains("orders already stand") && !why.contains("stay"), "{why}");
    case.change(2, 3);
    case.answer(done(21));
    case.answer(done(22));
    assert!(case.answer(holder()).is_empty());
    let (_, why) = refused(&case.answer(holder()));
    assert!(
        why.contains("2 of its 3 parts were already done and stay: the dials are controlled by"),
        "{why}"
    );
    case.change(3, 3);
    case.answer(done(31));
    assert!(case.answer(holder()).is_empty());
    let (_, why) = refused(&case.answer(holder()));
    assert!(why.contains("1 of its 3 parts was already done and stays: the dials"), "{why}");
    assert!(case.changes.is_empty());
}

#[test]
fn an_unanswered_change_is_taken_back_once_answered() {
    let mut case = Case::new();
    case.change(1, 1);
    assert!(case.take_back(2, 1).is_none() && case.taken_back().is_empty());
    assert_eq!(accepted(&case.answer(done(11))), (1, 1));
    assert_eq!(case.taken_back(), [11]);
    assert_eq!(accepted(&case.answer(undone())), (2, 1));
    // If it is refused, there is nothing to take back.
    case.change(3, 1);
    assert!(case.take_back(4, 3).is_none());
    let updates = case.answer(Reply::Refused(Refusal::OverLimit(Limit::StandingOrders { limit: 4096 })));
    let [first, second] = updates.as_slice() else { panic!("{updates:?}") };
    assert!(matches!(first, ConnectionUpdate::Dialled(Ticket(3), Err(_))));
    assert!(matches!(second, ConnectionUpdate::Dialled(Ticket(4), Ok(report)) if report.matched == 0));
}

#[test]
fn all_off_is_taken_back_by_its_change() {
    let mut case = Case::new();
    case.changes.expect_off(Ticket(1));
    assert!(case.take_back(2, 1).is_none() && case.agent.sent.is_empty(), "it is not answered");
    assert!(case.changes.off_is_done(Ticket(1), 9, &mut case.agent).expect("sent").is_empty());
    assert_eq!(case.taken_back(), [9]);
    case.changes.expect_off(Ticket(3));
    assert!(case.changes.off_is_done(Ticket(3), 0, &mut case.agent).expect("sent").is_empty());
    let nothing = case.take_back(4, 3).expect("no order stood");
    assert_eq!(accepted(&[nothing]), (4, 0));
}

#[test]
fn reports_a_change_that_the_agent_has_forgotten() {
    let mut case = Case::new();
    case.change(1, 1);
    case.answer(done(11));
    case.take_back(2, 1);
    let updates = case.answer(Reply::Refused(Refusal::NothingToUndo));
    assert!(matches!(updates.as_slice(), [ConnectionUpdate::Forgotten(Ticket(2))]), "{updates:?}");
}

#[test]
fn an_unfit_answer_is_an_error() {
    let mut case = Case::new();
    case.change(1, 1);
    assert!(matches!(case.changes.answered(1, Reply::Done, &mut case.agent), Err(None)));
    assert!(matches!(case.changes.answered(7, Reply::Done, &mut case.agent), Ok(None)), "not a change's");
}

#[test]
fn remembers_a_limited_number_of_changes() {
    let mut case = Case::new();
    for ticket in 0..2 * REMEMBERED as u64 {
        case.change(ticket, 1);
        case.answer(done(ticket + 1));
    }
    assert_eq!(case.changes.done.len(), REMEMBERED);
}
