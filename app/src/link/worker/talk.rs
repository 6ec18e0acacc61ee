//! What is under way in a session: requests by their ids, what their answers mean, and what is not worth telling.

use super::account::Account;
use super::describe;
use super::silence::{self, Silence};
use super::turning::{REPLY_PATIENCE, Turnings};
use crate::link::discover::user_name;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::model::ids::Ticket;
use crate::model::turns::Turn;
use crate::model::update::{Told, Undone};
use redial_protocol::cost::Share;
use redial_protocol::ids::RowId;
use redial_protocol::message::{AuditEntry, Command, Event, Reply};
use redial_protocol::order::{Order, Stand};
use std::time::{Duration, Instant};

/// Milliseconds between folds of the counters.
const INTERVAL_MS: u32 = 250;
/// How often the agent is asked for its account of itself, which measures the latency too. In tests it is asked only
/// where there is a reason.
const STATUS_EVERY: Duration = Duration::from_secs(if cfg!(test) { 3600 } else { 2 });

/// What is under way in a session.
#[derive(Default)]
pub struct Talk {
    subscribed: Option<u32>,
    /// The account that was asked for: its id and when.
    status: Option<(u32, Instant)>,
    status_due: Option<Instant>,
    account: Account,
    silence: Silence,
    /// Turns under way.
    pub turns: Turnings,
    /// Other questions that are out: the ids of requests and what their answers are.
    asked: Vec<(u32, Asked)>,
    /// What was asked about rows that are looked at, with the ids of requests.
    looks: Vec<(u32, Look)>,
    /// Whether control may be ours.
    turned: bool,
}

/// What may be asked about a row that is looked at.
enum Look {
    Histogram(RowId),
    KeptCalls(RowId),
    Callers(RowId),
}

impl Look {
    /// What is told of the answer; None of one that answers something else.
    fn answered(self, reply: Reply) -> Option<Told> {
        let why = |refusal| describe::refused(&LinkError::Refused(refusal)).why;
        Some(match (self, reply) {
            (Look::Histogram(row), Reply::Histogram(told)) if told.times.row == row => {
                Told::Histogram(row, Ok(Box::new(told)))
            }
            (Look::KeptCalls(row), Reply::KeptCalls(mut kept)) if kept.iter().all(|one| one.row == row) => {
                Told::KeptCalls(row, kept.pop().map(Box::new))
            }
            (Look::KeptCalls(row), Reply::Refused(_)) => Told::KeptCalls(row, None),
            (Look::Callers(row), Reply::Callers(told)) if told.row == row => {
                Told::Callers(row, Ok(Box::new(told)))
            }
            (Look::Histogram(row), Reply::Refused(refusal)) => Told::Histogram(row, Err(why(refusal))),
            (Look::Callers(row), Reply::Refused(refusal)) => Told::Callers(row, Err(why(refusal))),
            _ => return None,
        })
    }
}

/// A question that is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// What a turn would do.
    Plan(Ticket),
    /// The last change taken back.
    Undo(Ticket),
    /// The orders that stand.
    Orders,
    /// The budget, to be set.
    Budget,
    /// Control, to be taken.
    Control,
}

impl Talk {
    /// Begins with a subscription to everything.
    pub fn begin(session: &mut Session) -> Result<Talk, LinkError> {
        let subscribed = session.send(Command::Subscribe { pattern: None, interval_ms: INTERVAL_MS })?;
        Ok(Talk { subscribed: Some(subscribed), ..Talk::default() })
    }

    /// Asks the agent for its account of itself when it is time.
    pub fn ask_status(&mut self, session: &mut Session, now: Instant) -> Result<(), LinkError> {
        if self.status.is_none() && self.status_due.is_none_or(|due| due <= now) {
            self.status = Some((session.send(Command::AgentStatus)?, now));
            self.status_due = Some(now + STATUS_EVERY);
        }
        Ok(())
    }

    /// Lets the agent be asked for its account again, at once: whether control can be given back is seen by it.
    pub fn want_status(&mut self, now: Instant) {
        self.status_due = Some(now);
    }

    /// Notes a sign of life.
    pub fn heard(&mut self, now: Instant) {
        self.silence.heard(now);
    }

    /// For how long the agent has said nothing though it was asked.
    fn unheard(&self, now: Instant) -> Option<Duration> {
        self.status.map(|(_, asked)| self.silence.since(asked, now))
    }

    /// The end of an agent that has nothing to say any more. While its ReJIT thread was asked for something it has longer: that
    /// may keep locks.
    pub fn silent(&self, pid: u32, now: Instant) -> Result<(), LinkError> {
        let only_lists = self.turns.is_empty() && self.asked.iter().all(|(_, it)| *it == Asked::Orders);
        silence::end(pid, self.unheard(now), if only_lists { silence::PATIENCE } else { REPLY_PATIENCE })
    }

    /// That a process whose agent says nothing is stopped, or that it goes on: once each.
    pub fn paused(&mut self, pid: u32, now: Instant) -> Option<Told> {
        let unheard = self.unheard(now);
        self.silence.paused(pid, unheard)
    }

    /// Keeps back that there is still nothing to count.
    pub fn hold_silence(&mut self, told: &mut Vec<Told>) {
        self.silence.hold(told);
    }

    /// When something is to be done though nothing is heard.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        match self.status {
            // Whether it is paused is to be looked for, and overdue turns.
            Some((_, asked)) => Some(self.silence.next_look(asked, now)),
            None => self.status_due,
        }
    }

    /// Sends a turn, or the first part of it.
    pub fn turn(&mut self, turn: Turn, session: &mut Session) -> Result<(), LinkError> {
        self.turned = true;
        self.turns.turn(turn, session)
    }

    /// Takes a turn of this session back; what there is to tell at once.
    pub fn take_back(
        &mut self,
        ticket: Ticket,
        of: Ticket,
        session: &mut Session,
    ) -> Result<Option<Told>, LinkError> {
        self.turned = true;
        self.turns.take_back(ticket, of, session)
    }

    /// Asks what a turn would do.
    pub fn plan(
        &mut self,
        ticket: Ticket,
        orders: Vec<Order>,
        session: &mut Session,
    ) -> Result<(), LinkError> {
        self.asked.push((session.send(Command::Plan { orders, stand: Stand::Held })?, Asked::Plan(ticket)));
        Ok(())
    }

    /// Takes the last change back, whoever made it, or the one of that number.
    pub fn undo(
        &mut self,
        ticket: Ticket,
        change: Option<u64>,
        session: &mut Session,
    ) -> Result<(), LinkError> {
        let undo = Command::Undo { take: false };
        let command = change.map_or(undo, |change| Command::TakeBack { change, take: false });
        self.asked.push((session.send(command)?, Asked::Undo(ticket)));
        self.turned = true;
        Ok(())
    }

    /// Sets what dials may cost. How it stands then is told to all who subscribed.
    pub fn set_budget(&mut self, limit: Option<Share>, session: &mut Session) -> Result<(), LinkError> {
        self.asked.push((session.send(Command::SetBudget { limit, take: false })?, Asked::Budget));
        Ok(())
    }

    /// Takes control, and turns nothing. Who has it then is told to all who subscribed.
    pub fn take_control(&mut self, session: &mut Session) -> Result<(), LinkError> {
        let (orders, stand) = (Vec::new(), Stand::Kept);
        let take = Command::RequestReJit { orders, later: true, take: true, stand };
        self.asked.push((session.send(take)?, Asked::Control));
        self.turned = true;
        Ok(())
    }

    /// Asks how the durations of a row's calls are spread, and for the worst of them. That is answered at once, or the agent is
    /// silent.
    pub fn histogram(&mut self, row: RowId, session: &mut Session) -> Result<(), LinkError> {
        self.looks.push((session.send(Command::Histogram { row })?, Look::Histogram(row)));
        // Nothing that is kept is news unless calls have ended, and then the histogram is.
        let rows = vec![row];
        self.looks.push((session.send(Command::KeptCalls { rows })?, Look::KeptCalls(row)));
        Ok(())
    }

    /// Asks who calls a row's method; as [`Talk::histogram`].
    pub fn callers(&mut self, row: RowId, session: &mut Session) -> Result<(), LinkError> {
        self.looks.push((session.send(Command::Callers { row })?, Look::Callers(row)));
        Ok(())
    }

    fn answered(&mut self, asked: Asked, reply: Reply, session: &Session) -> Result<Option<Told>, LinkError> {
        if matches!(asked, Asked::Undo(_) | Asked::Control) {
            self.want_status(Instant::now());
        }
        Ok(Some(match (asked, reply) {
            (Asked::Plan(ticket), Reply::Plan(plan)) => Told::Plan(ticket, Ok(Box::new(plan))),
            (Asked::Undo(ticket), Reply::Undone { what, report }) => {
                let what = AuditEntry { user: user_name(&what.user), ..what };
                Told::Undone(ticket, Ok(Box::new(Undone { what, report })))
            }
            (Asked::Control, Reply::Dialled(_)) => Told::Notice("this window took control".to_owned()),
            (Asked::Budget, Reply::Budget(budget)) => Told::Event(Event::Budget(budget)),
            (Asked::Orders, Reply::Orders { orders, undoable }) => {
                return Ok(self.account.orders(describe::orders(orders), undoable));
            }
            (asked, Reply::Refused(refusal)) => {
                let refused = describe::refused(&LinkError::Refused(refusal));
                match asked {
                    Asked::Plan(ticket) => Told::Plan(ticket, Err(refused.why)),
                    Asked::Undo(ticket) => Told::Undone(ticket, Err(refused)),
                    Asked::Budget => Told::BudgetRefused(refused),
                    Asked::Control => Told::Notice(format!("control was not taken: {}", refused.why)),
                    Asked::Orders => {
                        Told::Notice(format!("the orders that stand are not known: {}", refused.why))
                    }
                }
            }
            _ => return Err(session.wrong_reply()),
        }))
    }

    pub fn reply(
        &mut self,
        id: u32,
        reply: Reply,
        session: &mut Session,
        told: &mut Vec<Told>,
    ) -> Result<(), LinkError> {
        if self.subscribed == Some(id) {
            self.subscribed = None;
            if let Reply::Refused(refusal) = reply {
                return Err(LinkError::Refused(refusal));
            }
        } else if self.status.is_some_and(|(of, _)| of == id) {
            if let Some((_, asked)) = self.status.take() {
                told.extend(self.account.latency(asked.elapsed(), Instant::now()));
            }
            if let Reply::AgentStatus(status) = reply {
                // Control is for whoever has dials on.
                if status.held == 0 && self.turns.is_empty() && std::mem::take(&mut self.turned) {
                    session.send(Command::ReleaseControl)?;
                }
                let news = self.account.status(describe::account(status));
                let is_asked = self.asked.iter().any(|(_, asked)| *asked == Asked::Orders);
                if self.account.wants_orders(news.is_some()) && !is_asked {
                    self.asked.push((session.send(Command::Orders)?, Asked::Orders));
                }
                told.extend(news);
            }
        } else if let Some(at) = self.looks.iter().position(|(of, _)| *of == id) {
            told.push(self.looks.remove(at).1.answered(reply).ok_or_else(|| session.wrong_reply())?);
        } else if let Some(at) = self.asked.iter().position(|(of, _)| *of == id) {
            let (_, asked) = self.asked.remove(at);
            told.extend(self.answered(asked, reply, session)?);
        } else {
            match self.turns.answered(id, reply, session) {
                Ok(Some((news, ended))) => {
                    told.extend(news);
                    if ended {
                        self.want_status(Instant::now());
                    }
                }
                Ok(None) => {}
                Err(error) => return Err(error.unwrap_or_else(|| session.wrong_reply())),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::ConnectionId;

    #[test]
    fn only_who_owes_an_answer_and_says_nothing_is_silent() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut talk = Talk::default();
        assert!(talk.silent(7, at(1_000)).is_ok(), "nothing was asked");
        talk.status = Some((1, at(0)));
        assert!(talk.silent(7, at(10)).is_ok());
        let why = talk.silent(7, at(11)).expect_err("nothing was heard").to_string();
        assert_eq!(why, "the agent in process 7 did not answer within 10 s");
        talk.heard(at(5));
        assert!(talk.silent(7, at(11)).is_ok(), "counters are a sign of life");
        assert!(talk.silent(7, at(16)).is_err());
        struct Nobody;
        impl crate::link::worker::turning::Send for Nobody {
            fn send(&mut self, _: Command) -> Result<u32, LinkError> {
                Ok(2)
            }
        }
        talk.asked.push((3, Asked::Orders));
        assert!(talk.silent(7, at(16)).is_err(), "a list is told at once");
        talk.asked.push((4, Asked::Plan(Ticket(9))));
        assert!(talk.silent(7, at(16)).is_ok(), "a plan may take long");
        talk.asked.clear();
        let orders = vec![Order::new("A.B", redial_protocol::level::Level::Count)];
        let turn = Turn { connection: ConnectionId(1), ticket: Ticket(1), orders, take: false, later: false };
        talk.turns.turn(turn, &mut Nobody).expect("sent");
        assert!(talk.silent(7, at(16)).is_ok(), "a turn may take long");
        assert!(talk.silent(7, at(46)).is_err(), "not for ever");
    }

    #[test]
    fn a_pause_is_looked_for_soon_after_the_last_word() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut talk = Talk { status_due: Some(at(2_000)), ..Talk::default() };
        assert_eq!(talk.next_due(at(0)), Some(at(2_000)));
        (talk.status, talk.status_due) = (Some((1, at(2_000))), Some(at(4_000)));
        talk.heard(at(2_250));
        assert_eq!(talk.next_due(at(2_300)), Some(at(3_250)));
        assert_eq!(talk.next_due(at(3_250)), Some(at(4_250)), "and each second from then on");
    }
}
