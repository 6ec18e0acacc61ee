//! What is under way in a session: requests by their ids, what their answers mean, and what is not worth telling.

use super::describe;
use super::turning::Turnings;
use crate::link::connect;
use crate::link::discover::{self, user_name};
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::model::ids::Ticket;
use crate::model::turns::Turn;
use crate::model::update::{Told, Undone};
use redial_protocol::cost::Share;
use redial_protocol::ids::RowId;
use redial_protocol::message::{AgentStatus, AuditEntry, Command, Event, Reply};
use redial_protocol::order::{Order, Stand};
use std::time::{Duration, Instant};

/// Milliseconds between folds of the counters.
const INTERVAL_MS: u32 = 250;
/// How often the agent is asked for its account of itself, which measures the latency too. In tests it is asked only
/// where there is a reason.
const STATUS_EVERY: Duration = Duration::from_secs(if cfg!(test) { 3600 } else { 2 });
/// An agent that owes an answer, and sends nothing at all for so long, is gone: it sends counters four times a
/// second, from threads that wait for no managed code.
const SILENCE: Duration = Duration::from_secs(10);
/// After so much of it one looks whether its process is stopped, which need not be the end.
const PAUSE: Duration = Duration::from_secs(1);

/// What is under way in a session.
#[derive(Default)]
pub struct Talk {
    subscribed: Option<u32>,
    /// The account that was asked for: its id and when.
    status: Option<(u32, Instant)>,
    status_due: Option<Instant>,
    account: Account,
    /// Whether the orders are asked for with the next account, too.
    orders_again: bool,
    /// When something was heard last.
    heard: Option<Instant>,
    /// Whether it was told that the process is stopped.
    paused: bool,
    /// Turns under way.
    pub turns: Turnings,
    /// Other questions that are out: the ids of requests and what their answers are.
    asked: Vec<(u32, Asked)>,
    /// What was asked about rows that are looked at, with the ids of requests.
    looks: Vec<(u32, Look)>,
    /// Whether control may be ours.
    turned: bool,
    /// Whether the counters told last were that nothing was called.
    silent: bool,
    /// The last word of a silence that goes on: told before the next thing that is news.
    silence: Option<Told>,
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

/// How long a round trip that is much like the last told is kept back.
const LATENCY_STAYS: Duration = Duration::from_secs(15);
/// What a round trip differs by at least to be told at once: on a busy machine one of a millisecond takes ten now and then,
/// and a window drawn for that would never be idle.
const NOTABLE: Duration = Duration::from_millis(25);

/// What was told of the agent's account last. The same again is not told: it would draw the window for nothing.
#[derive(Default)]
struct Account {
    status: Option<AgentStatus>,
    latency: Option<(Duration, Instant)>,
}

impl Account {
    fn status(&mut self, status: AgentStatus) -> Option<Told> {
        if self.status.as_ref() == Some(&status) {
            return None;
        }
        self.status = Some(status.clone());
        Some(Told::AgentStatus(Box::new(status)))
    }

    fn latency(&mut self, latency: Duration, now: Instant) -> Option<Told> {
        if let Some((before, at)) = self.latency {
            let much = NOTABLE.max(before / 2);
            let alike = latency.abs_diff(before) < much;
            if alike && now.saturating_duration_since(at) < LATENCY_STAYS {
                return None;
            }
        }
        self.latency = Some((latency, now));
        Some(Told::Latency(latency))
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
        self.heard = Some(now);
    }

    /// For how long the agent has said nothing though it was asked.
    fn unheard(&self, now: Instant) -> Option<Duration> {
        let (_, asked) = self.status?;
        let since = self.heard.map_or(asked, |heard| heard.max(asked));
        Some(now.saturating_duration_since(since))
    }

    /// The end of an agent that has nothing to say any more. While its ReJIT thread was asked for something it may be busy for
    /// long; `overdue` looks after that.
    pub fn silent(&self, pid: u32, now: Instant) -> Result<(), LinkError> {
        let is_waited_for = self.turns.is_empty() && self.asked.iter().all(|(_, it)| *it == Asked::Orders);
        match self.unheard(now).filter(|_| is_waited_for) {
            Some(silence) if silence > SILENCE => Err(connect::silent(pid, SILENCE)),
            _ => Ok(()),
        }
    }

    /// That a process whose agent says nothing is stopped, or that it goes on: once each.
    pub fn paused(&mut self, pid: u32, now: Instant) -> Option<Told> {
        let silent = self.unheard(now).is_some_and(|silence| silence >= PAUSE);
        match (self.paused, silent) {
            (false, true) => {
                let halt = discover::halted(pid)?;
                self.paused = true;
                Some(Told::Paused(Some(halt.to_string())))
            }
            (true, false) => {
                self.paused = false;
                Some(Told::Paused(None))
            }
            _ => None,
        }
    }

    /// When something is to be done though nothing is heard.
    pub fn next_due(&self) -> Option<Instant> {
        // While an account is awaited the next is not due: but overdue turns are to be looked for.
        self.status_due.map(|due| if self.status.is_some() { due.max(Instant::now() + PAUSE) } else { due })
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

    fn answered(&mut self, asked: Asked, reply: Reply, session: &Session) -> Result<Told, LinkError> {
        if matches!(asked, Asked::Undo(_) | Asked::Control) {
            self.want_status(Instant::now());
        }
        Ok(match (asked, reply) {
            (Asked::Plan(ticket), Reply::Plan(plan)) => Told::Plan(ticket, Ok(Box::new(plan))),
            (Asked::Undo(ticket), Reply::Undone { what, report }) => {
                let what = AuditEntry { user: user_name(&what.user), ..what };
                Told::Undone(ticket, Ok(Box::new(Undone { what, report })))
            }
            (Asked::Control, Reply::Dialled(_)) => Told::Notice("this window took control".to_owned()),
            (Asked::Budget, Reply::Budget(budget)) => Told::Event(Event::Budget(budget)),
            (Asked::Orders, Reply::Orders { orders, undoable }) => {
                Told::Orders(describe::orders(orders), undoable)
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
        })
    }

    /// Keeps back that there is still nothing to count, again and again: it would draw the window for nothing. The
    /// last such word goes before the next news, so that rates are measured from it.
    pub fn hold_silence(&mut self, told: &mut Vec<Told>) {
        let empty = |one: &Told| match one {
            Told::Event(Event::Counters { delta, .. }) => Some(delta.rows.is_empty()),
            _ => None,
        };
        if self.silent && told.iter().all(|one| empty(one) == Some(true)) {
            self.silence = told.pop().or(self.silence.take());
            told.clear();
            return;
        }
        self.silent = told.iter().rev().find_map(empty).unwrap_or(self.silent);
        if let Some(silence) = self.silence.take() {
            told.insert(0, silence);
        }
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
                // The agent lists orders after what follows from them is done: those of this account may be told with the next.
                let again = std::mem::replace(&mut self.orders_again, news.is_some());
                let is_asked = self.asked.iter().any(|(_, asked)| *asked == Asked::Orders);
                if (again || news.is_some()) && !is_asked {
                    self.asked.push((session.send(Command::Orders)?, Asked::Orders));
                }
                told.extend(news);
            }
        } else if let Some(at) = self.looks.iter().position(|(of, _)| *of == id) {
            told.push(self.looks.remove(at).1.answered(reply).ok_or_else(|| session.wrong_reply())?);
        } else if let Some(at) = self.asked.iter().position(|(of, _)| *of == id) {
            let (_, asked) = self.asked.remove(at);
            told.push(self.answered(asked, reply, session)?);
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
    use redial_protocol::counters::CounterDelta;

    fn counters(t_ms: u64, calls: &[u64]) -> Told {
        let rows = (0..calls.len() as u32).map(RowId).collect();
        Told::Event(Event::Counters { delta: CounterDelta { t_ms, rows, calls: calls.to_vec() }, dropped: 0 })
    }

    fn times(told: &[Told]) -> Vec<u64> {
        let time = |one: &Told| match one {
            Told::Event(Event::Counters { delta, .. }) => Some(delta.t_ms),
            _ => None,
        };
        told.iter().filter_map(time).collect()
    }

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
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn that_a_silent_process_is_stopped_is_told_once_and_that_it_goes_on() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let why = |told: Option<Told>| match told {
            Some(Told::Paused(why)) => why.unwrap_or("it goes on".to_owned()),
            other => format!("{other:?}"),
        };
        let stops = ["-c", "kill -STOP $$; exec sleep 600"];
        let mut child = std::process::Command::new("sh").args(stops).spawn().expect("a process");
        while discover::halted(child.id()).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut talk = Talk { status: Some((1, at(0))), ..Talk::default() };
        assert_eq!(why(talk.paused(std::process::id(), at(5))), "None", "it runs, and may answer yet");
        assert_eq!(why(talk.paused(child.id(), at(0))), "None");
        assert!(why(talk.paused(child.id(), at(1))).contains("it is stopped by a signal"));
        assert_eq!(why(talk.paused(child.id(), at(2))), "None", "once");
        talk.heard(at(3));
        assert_eq!(why(talk.paused(child.id(), at(3))), "it goes on");
        assert_eq!(why(talk.paused(child.id(), at(3))), "None");
        child.kill().and_then(|()| child.wait()).expect("its end");
    }

    #[test]
    fn a_silence_is_told_once_and_its_end_from_where_it_ends() {
        let mut talk = Talk::default();
        let mut heard = |told: Vec<Told>| {
            let mut told = told;
            talk.hold_silence(&mut told);
            times(&told)
        };
        assert_eq!(heard(vec![counters(250, &[7])]), [250]);
        assert_eq!(heard(vec![counters(500, &[])]), [500], "that it stopped is news");
        assert_eq!(heard(vec![counters(750, &[]), counters(1000, &[])]), [0u64; 0]);
        assert_eq!(heard(vec![]), [0u64; 0]);
        assert_eq!(heard(vec![counters(1250, &[])]), [0u64; 0]);
        assert_eq!(heard(vec![counters(1500, &[3])]), [1250, 1500]);
        assert_eq!(heard(vec![counters(1750, &[])]), [1750]);
    }

    #[test]
    fn an_account_is_told_when_it_says_something_new() {
        let mut account = Account::default();
        let status = AgentStatus {
            control: None,
            held: 0,
            kept: 0,
            memory_bytes: 1,
            budgets: Vec::new(),
            clr_kept_bytes: 0,
            missed_deadlines: 0,
            guard_trips: 0,
            audit: Vec::new(),
            remains: Vec::new(),
            costs: Vec::new(),
            cost_budget: Default::default(),
            callers_picoseconds: None,
        };
        assert!(account.status(status.clone()).is_some());
        assert!(account.status(status.clone()).is_none());
        assert!(account.status(AgentStatus { kept: 1, ..status.clone() }).is_some());
        assert!(account.status(status).is_some(), "back again is news too");
        let (began, ms) = (Instant::now(), Duration::from_millis);
        assert!(account.latency(ms(1), began).is_some());
        assert!(account.latency(ms(9), began).is_none());
        assert!(account.latency(ms(90), began).is_some());
        assert!(account.latency(ms(60), began).is_none());
        assert!(account.latency(ms(1), began).is_some(), "it was long once");
        assert!(account.latency(ms(8), began).is_none());
        assert!(account.latency(ms(8), began + LATENCY_STAYS).is_some());
        assert!(account.latency(ms(9), began + LATENCY_STAYS).is_none());
    }
}
