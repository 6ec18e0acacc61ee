//! Turns of one and of several requests: done, stopped, refused, taken back.

use super::*;
use crate::model::ids::ConnectionId;
use redial_protocol::level::Level;
use redial_protocol::message::{AuditEntry, Holder};
use redial_protocol::order::Order;

/// An agent that is told commands; it answers when a test does.
#[derive(Default)]
struct Agent {
    sent: Vec<Command>,
}

impl Send for Agent {
    fn send(&mut self, command: Command) -> Result<u32, LinkError> {
        self.sent.push(command);
        Ok(self.sent.len() as u32)
    }
}

struct Case {
    turns: Turnings,
    agent: Agent,
}

impl Case {
    fn new() -> Case {
        Case { turns: Turnings::default(), agent: Agent::default() }
    }

    /// Begins a turn of so many requests: on and off by turns.
    fn turn(&mut self, ticket: u64, parts: usize) {
        let level = |part: usize| if part.is_multiple_of(2) { Level::Count } else { Level::Off };
        let orders = (0..parts).map(|part| Order::new("A.B", level(part))).collect();
        let ticket = Ticket(ticket);
        let turn = Turn { connection: ConnectionId(1), ticket, orders, take: false, later: false };
        self.turns.turn(turn, &mut self.agent).expect("sent");
    }

    /// Answers the request that was sent last.
    fn answer(&mut self, reply: Reply) -> Vec<Told> {
        let id = self.agent.sent.len() as u32;
        match self.turns.answered(id, reply, &mut self.agent) {
            Ok(Some((told, _))) => told,
            other => panic!("{other:?}"),
        }
    }

    fn take_back(&mut self, ticket: u64, of: u64) -> Option<Told> {
        self.turns.take_back(Ticket(ticket), Ticket(of), &mut self.agent).expect("sent")
    }

    /// The changes that were asked to be taken back, in order.
    fn taken_back(&self) -> Vec<u64> {
        let change = |command: &Command| match command {
            Command::TakeBack { change, take: false } => Some(*change),
            _ => None,
        };
        self.agent.sent.iter().filter_map(change).collect()
    }
}

fn done(change: u64) -> Reply {
    Reply::Dialled(DialReport { matched: 1, accepted: 1, change, ..DialReport::default() })
}

fn undone() -> Reply {
    let (user, program, order) = Default::default();
    let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
    Reply::Undone { what: AuditEntry { t_unix_ms: 0, user, program, order }, report }
}

fn refused(told: &[Told]) -> (u64, String) {
    let [Told::Dialled(ticket, Err(refused))] = told else { panic!("{told:?}") };
    (ticket.0, refused.why.clone())
}

fn accepted(told: &[Told]) -> (u64, u64) {
    let [Told::Dialled(ticket, Ok(report))] = told else { panic!("{told:?}") };
    (ticket.0, report.accepted)
}

#[test]
fn a_turn_is_told_once_and_taken_back_by_its_changes_the_newest_first() {
    let mut case = Case::new();
    case.turn(1, 3);
    assert!(case.answer(done(11)).is_empty() && case.answer(done(0)).is_empty());
    assert_eq!(accepted(&case.answer(done(13))), (1, 3));
    assert!(case.take_back(2, 1).is_none() && case.answer(undone()).is_empty());
    assert_eq!(accepted(&case.answer(undone())), (2, 2));
    assert_eq!(case.taken_back(), [13, 11], "the second changed nothing");
    let again = case.take_back(3, 1).expect("it is taken back already");
    assert_eq!(accepted(&[again]), (3, 0));
}

#[test]
fn what_is_stopped_half_way_is_taken_back_whole() {
    // Whether the part that is out was stopped in time or was done by then.
    for (reply, back) in [(Reply::Refused(Refusal::Cancelled), vec![11]), (done(12), vec![12, 11])] {
        let mut case = Case::new();
        case.turn(1, 4);
        assert!(case.answer(done(11)).is_empty());
        case.turns.cancel(Ticket(1), &mut case.agent).expect("sent");
        assert_eq!(case.agent.sent.pop(), Some(Command::Cancel { request: 2 }));
        assert!(case.answer(reply).is_empty());
        for _ in 1..back.len() {
            assert!(case.answer(undone()).is_empty());
        }
        let (ticket, why) = refused(&case.answer(undone()));
        assert_eq!((ticket, case.taken_back()), (1, back));
        assert!(why.contains("cancelled") && !why.contains("stay"), "{why}");
        assert!(case.turns.is_empty());
    }
}

#[test]
fn the_last_part_may_be_done_before_it_is_stopped() {
    let mut case = Case::new();
    case.turn(1, 1);
    case.turns.cancel(Ticket(1), &mut case.agent).expect("sent");
    case.agent.sent.pop();
    assert_eq!(accepted(&case.answer(done(11))), (1, 1), "it is done, and can be undone");
}

#[test]
fn what_is_refused_half_way_is_taken_back_too_or_says_what_stays() {
    let holder = || Reply::Refused(Refusal::ControlHeld(Holder { pid: 7, program: "redial dial".into() }));
    let mut case = Case::new();
    case.turn(1, 2);
    case.answer(done(11));
    assert!(case.answer(Reply::Refused(Refusal::OverLimit("too many".into()))).is_empty());
    let (_, why) = refused(&case.answer(undone()));
    assert!(why.contains("too many") && !why.contains("stay"), "{why}");
    case.turn(2, 3);
    case.answer(done(21));
    case.answer(done(22));
    assert!(case.answer(holder()).is_empty());
    let (_, why) = refused(&case.answer(holder()));
    assert!(
        why.contains("2 of its 3 parts were done by then and stay: the dials are controlled by"),
        "{why}"
    );
    case.turn(3, 3);
    case.answer(done(31));
    assert!(case.answer(holder()).is_empty());
    let (_, why) = refused(&case.answer(holder()));
    assert!(why.contains("1 of its 3 parts was done by then and stays: the dials"), "{why}");
    assert!(case.turns.is_empty());
}

#[test]
fn what_is_not_answered_yet_is_taken_back_as_soon_as_it_is() {
    let mut case = Case::new();
    case.turn(1, 1);
    assert!(case.take_back(2, 1).is_none() && case.taken_back().is_empty());
    assert_eq!(accepted(&case.answer(done(11))), (1, 1));
    assert_eq!(case.taken_back(), [11]);
    assert_eq!(accepted(&case.answer(undone())), (2, 1));
    // Refused, there is nothing to take back.
    case.turn(3, 1);
    assert!(case.take_back(4, 3).is_none());
    let told = case.answer(Reply::Refused(Refusal::OverLimit("too many".into())));
    let [first, second] = told.as_slice() else { panic!("{told:?}") };
    assert!(matches!(first, Told::Dialled(Ticket(3), Err(_))));
    assert!(matches!(second, Told::Dialled(Ticket(4), Ok(report)) if report.matched == 0));
}

#[test]
fn all_off_is_taken_back_by_its_change() {
    let mut case = Case::new();
    case.turns.expect_off(Ticket(1));
    assert!(case.take_back(2, 1).is_none() && case.agent.sent.is_empty(), "it is not answered");
    assert!(case.turns.off_is_done(Ticket(1), 9, &mut case.agent).expect("sent").is_empty());
    assert_eq!(case.taken_back(), [9]);
    case.turns.expect_off(Ticket(3));
    assert!(case.turns.off_is_done(Ticket(3), 0, &mut case.agent).expect("sent").is_empty());
    let nothing = case.take_back(4, 3).expect("no order stood");
    assert_eq!(accepted(&[nothing]), (4, 0));
}

#[test]
fn what_the_agent_has_forgotten_is_told_as_that() {
    let mut case = Case::new();
    case.turn(1, 1);
    case.answer(done(11));
    case.take_back(2, 1);
    let told = case.answer(Reply::Refused(Refusal::NothingToUndo));
    assert!(matches!(told.as_slice(), [Told::Forgotten(Ticket(2))]), "{told:?}");
}

#[test]
fn an_answer_that_is_none_ends_the_session() {
    let mut case = Case::new();
    case.turn(1, 1);
    assert!(matches!(case.turns.answered(1, Reply::Done, &mut case.agent), Err(None)));
    assert!(matches!(case.turns.answered(7, Reply::Done, &mut case.agent), Ok(None)), "not a turn's");
}

#[test]
fn changes_are_not_remembered_for_ever() {
    let mut case = Case::new();
    for ticket in 0..2 * REMEMBERED as u64 {
        case.turn(ticket, 1);
        case.answer(done(ticket + 1));
    }
    assert_eq!(case.turns.done.len(), REMEMBERED);
}
