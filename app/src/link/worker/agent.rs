//! The thread of one connection: the session that holds dials, its commands and events, and the way back when it is
//! lost.

use super::backoff::Backoff;
use super::chunks;
use super::loading::{Loaded, Loader};
use super::outlet::{Gone, Outlet};
use super::{PROGRAM, describe};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::{PING_EVERY, Session};
use crate::model::ids::{ConnectionId, Ticket};
use crate::model::turns::Turn;
use crate::model::update::{Refused, Told};
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::{Command, DialReport, Event, Reply};
use redial_protocol::process;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Milliseconds between folds of the counters.
const INTERVAL_MS: u32 = 250;
/// How often the agent is asked for its account of itself, which measures the latency too.
const STATUS_EVERY: Duration = Duration::from_secs(2);
/// An agent gives up after 30 s and says so; more than this is a hang.
const REPLY_PATIENCE: Duration = Duration::from_secs(40);
/// Events told at once.
const BATCH: usize = 256;

/// What the thread can be told.
pub enum Order {
    /// Turn dials.
    Turn(Turn),
    /// Turn everything off.
    AllOff(Ticket),
    /// Look for new modules.
    Reload,
    /// Do not wait for the next attempt.
    Retry,
}

type Waker = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// The thread; dropping it ends the connection.
pub struct Agent {
    orders: Option<Sender<Order>>,
    waker: Waker,
}

impl Agent {
    /// Starts connecting.
    pub fn start(connection: ConnectionId, process: ProcessKey, outlet: Outlet) -> Agent {
        let (orders, from) = channel();
        let waker = Waker::default();
        let loaded = Arc::default();
        let mut link = Link {
            connection,
            process,
            outlet,
            orders: from,
            waker: Arc::clone(&waker),
            loaded,
            loader: None,
        };
        let outlet = link.outlet.clone();
        if let Err(error) = std::thread::Builder::new().name("agent".into()).spawn(move || link.run()) {
            let why = format!("no thread could be started: {error}");
            drop(outlet.tell(connection, vec![Told::Lost { why, retry: None }]));
        }
        Agent { orders: Some(orders), waker }
    }

    /// Tells the thread something, without waiting.
    pub fn tell(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails when the thread has ended, and then it said why.
            let _ = orders.send(order);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(wake) = &*lock(&self.waker) {
            wake();
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.orders = None;
        self.wake();
    }
}

struct Link {
    connection: ConnectionId,
    process: ProcessKey,
    outlet: Outlet,
    orders: Receiver<Order>,
    waker: Waker,
    loaded: Arc<Mutex<Loaded>>,
    loader: Option<Loader>,
}

/// Why a session ended.
enum End {
    Lost(LinkError),
    /// It was asked to end, or nobody listens.
    Asked,
}

impl From<LinkError> for End {
    fn from(error: LinkError) -> End {
        End::Lost(error)
    }
}

impl From<Gone> for End {
    fn from(_: Gone) -> End {
        End::Asked
    }
}

impl Link {
    fn run(&mut self) {
        let mut backoff = Backoff::default();
        loop {
            if self.tell(vec![Told::Connecting]).is_err() {
                return;
            }
            let ended = match self.open() {
                Ok(session) => {
                    backoff.worked();
                    self.serve(session)
                }
                Err(error) => End::Lost(error),
            };
            *lock(&self.waker) = None;
            self.loader = None;
            let End::Lost(error) = ended else { return };
            let retry = worth_retrying(&error).then(|| backoff.failed());
            let lost = Told::Lost { why: error.to_string(), retry };
            if self.tell(vec![lost]).is_err() || !self.pause(retry, &error.to_string()) {
                return;
            }
        }
    }

    fn tell(&self, told: Vec<Told>) -> Result<(), Gone> {
        self.outlet.tell(self.connection, told)
    }

    fn open(&self) -> Result<Session, LinkError> {
        let ProcessKey { pid, start } = self.process;
        match process::key_of(pid) {
            // The pid is another process's now.
            Ok(key) if start != 0 && key.start != start => return Err(LinkError::Ended(pid)),
            _ => {}
        }
        connect::open(pid, PROGRAM)
    }

    /// Waits for the next attempt, or for somebody to ask for it; false when the connection is to end.
    fn pause(&mut self, wait: Option<Duration>, why: &str) -> bool {
        let until = wait.map(|wait| Instant::now() + wait);
        loop {
            let order = match until {
                Some(until) => {
                    match self.orders.recv_timeout(until.saturating_duration_since(Instant::now())) {
                        Ok(order) => order,
                        Err(RecvTimeoutError::Timeout) => return true,
                        Err(RecvTimeoutError::Disconnected) => return false,
                    }
                }
                None => match self.orders.recv() {
                    Ok(order) => order,
                    Err(_) => return false,
                },
            };
            match order {
                Order::Retry => return true,
                Order::Reload => {}
                Order::AllOff(ticket) => self.all_off(ticket),
                Order::Turn(turn) => {
                    let refused = Refused { why: why.to_owned(), holder: None };
                    if self.tell(vec![Told::Dialled(turn.ticket, Err(refused))]).is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// By a connection of its own, in a thread of its own: nothing that goes on delays it.
    fn all_off(&self, ticket: Ticket) {
        let (connection, outlet, pid) = (self.connection, self.outlet.clone(), self.process.pid);
        let failed = outlet.clone();
        let thread = std::thread::Builder::new().name("all off".into()).spawn(move || {
            let result = connect::open(pid, PROGRAM).and_then(|mut session| session.all_off());
            let result = result.map_err(|error| error.to_string());
            drop(outlet.tell(connection, vec![Told::AllOff(ticket, result)]));
        });
        if let Err(error) = thread {
            let why = format!("no thread could be started: {error}");
            drop(failed.tell(connection, vec![Told::AllOff(ticket, Err(why))]));
        }
    }

    fn serve(&mut self, mut session: Session) -> End {
        *lock(&self.waker) = Some(Box::new(session.waker()));
        self.loader = Some(Loader::start(
            self.process.pid,
            self.connection,
            Arc::clone(&self.loaded),
            self.outlet.clone(),
        ));
        match self.converse(&mut session) {
            Ok(()) => End::Asked,
            Err(end) => end,
        }
    }

    fn converse(&mut self, session: &mut Session) -> Result<(), End> {
        self.tell(vec![Told::Connected(Box::new(session.facts().clone()))])?;
        session.keep_alive(PING_EVERY)?;
        let subscribed = session.send(Command::Subscribe { pattern: None, interval_ms: INTERVAL_MS })?;
        let mut talk = Talk { subscribed: Some(subscribed), ..Talk::default() };
        loop {
            loop {
                match self.orders.try_recv() {
                    Ok(order) => self.obey(order, session, &mut talk)?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            let now = Instant::now();
            if talk.status_due.is_none_or(|due| due <= now) && talk.status.is_none() {
                talk.status = Some((session.send(Command::AgentStatus)?, now));
                talk.status_due = Some(now + STATUS_EVERY);
            }
            let mut told = talk.overdue(session.pid(), now);
            let heard = self.listen(session, &mut talk, &mut told);
            talk.hold_silence(&mut told);
            // What was heard before the end counts.
            self.tell(told)?;
            heard?;
        }
    }

    /// Takes in what there is, waiting for the first of it.
    fn listen(&self, session: &mut Session, talk: &mut Talk, told: &mut Vec<Told>) -> Result<(), LinkError> {
        let mut deadline = talk.status_due;
        if !told.is_empty() {
            deadline = Some(Instant::now());
        }
        for _ in 0..BATCH {
            let Some(event) = session.hear(deadline)? else { return Ok(()) };
            match event {
                Event::Reply { id, reply } => talk.reply(id, reply, session, told)?,
                Event::Methods { .. } | Event::Rows { id: Some(_), .. } => {}
                event => told.push(Told::Event(event)),
            }
            deadline = Some(Instant::now());
        }
        Ok(())
    }

    fn obey(&mut self, order: Order, session: &mut Session, talk: &mut Talk) -> Result<(), LinkError> {
        match order {
            Order::Retry => {}
            Order::Reload => self.loader.iter().for_each(Loader::again),
            Order::AllOff(ticket) => self.all_off(ticket),
            Order::Turn(turn) => {
                let waiting = chunks::requests(turn.orders, turn.take);
                let mut turning = Turning {
                    ticket: turn.ticket,
                    waiting,
                    report: DialReport::default(),
                    sent: None,
                    done: 0,
                };
                turning.go_on(session)?;
                talk.turned = true;
                talk.turns.push(turning);
            }
        }
        Ok(())
    }
}

/// What is under way in a session.
#[derive(Default)]
struct Talk {
    subscribed: Option<u32>,
    /// The account that was asked for: its id and when.
    status: Option<(u32, Instant)>,
    status_due: Option<Instant>,
    turns: Vec<Turning>,
    /// Whether control may be ours.
    turned: bool,
    /// Whether the counters told last were that nothing was called.
    silent: bool,
    /// The last word of a silence that goes on: told before the next thing that is news.
    silence: Option<Told>,
}

/// A turn under way.
struct Turning {
    ticket: Ticket,
    waiting: VecDeque<Command>,
    report: DialReport,
    /// The request that is out: its id and when.
    sent: Option<(u32, Instant)>,
    done: usize,
}

impl Turning {
    fn go_on(&mut self, session: &mut Session) -> Result<(), LinkError> {
        self.sent = match self.waiting.pop_front() {
            Some(command) => Some((session.send(command)?, Instant::now())),
            None => None,
        };
        Ok(())
    }
}

impl Talk {
    /// Keeps back that there is still nothing to count, again and again: it would draw the window for nothing. The
    /// last such word goes before the next news, so that rates are measured from it.
    fn hold_silence(&mut self, told: &mut Vec<Told>) {
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

    fn reply(
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
                told.push(Told::Latency(asked.elapsed()));
            }
            if let Reply::AgentStatus(status) = reply {
                // Control is for whoever has dials on.
                if status.held == 0 && std::mem::take(&mut self.turned) && self.turns.is_empty() {
                    session.send(Command::ReleaseControl)?;
                }
                told.push(Told::AgentStatus(Box::new(status)));
            }
        } else if let Some(at) = self.turns.iter().position(|turn| turn.sent.is_some_and(|(of, _)| of == id))
        {
            self.turn_answered(at, reply, session, told)?;
        }
        Ok(())
    }

    fn turn_answered(
        &mut self,
        at: usize,
        reply: Reply,
        session: &mut Session,
        told: &mut Vec<Told>,
    ) -> Result<(), LinkError> {
        let Some(turn) = self.turns.get_mut(at) else { return Ok(()) };
        let result = match reply {
            Reply::Dialled(report) => {
                chunks::add(&mut turn.report, report);
                turn.done += 1;
                turn.go_on(session)?;
                if turn.sent.is_some() {
                    return Ok(());
                }
                Ok(std::mem::take(&mut turn.report))
            }
            Reply::Refused(refusal) => {
                let mut refused = describe::refused(&LinkError::Refused(refusal));
                if turn.done > 0 {
                    let all = turn.done + 1 + turn.waiting.len();
                    refused.why = format!("{} ({} of {all} parts were carried out)", refused.why, turn.done);
                }
                Err(refused)
            }
            _ => return Err(session.wrong_reply()),
        };
        told.push(Told::Dialled(turn.ticket, result));
        self.turns.remove(at);
        // Whether control can be given back is seen by the next account.
        self.status_due = Some(Instant::now());
        Ok(())
    }

    /// Turns that should have been answered.
    fn overdue(&mut self, pid: u32, now: Instant) -> Vec<Told> {
        let late = |turn: &Turning| {
            turn.sent.is_some_and(|(_, sent)| now.saturating_duration_since(sent) > REPLY_PATIENCE)
        };
        let (overdue, on_time): (Vec<Turning>, Vec<Turning>) =
            std::mem::take(&mut self.turns).into_iter().partition(late);
        self.turns = on_time;
        let silent = LinkError::Silent { pid, seconds: REPLY_PATIENCE.as_secs() };
        let told = |turn: Turning| Told::Dialled(turn.ticket, Err(describe::refused(&silent)));
        overdue.into_iter().map(told).collect()
    }
}

/// Whether a connection that ended so can come back.
fn worth_retrying(error: &LinkError) -> bool {
    match error {
        LinkError::NoProcess(_)
        | LinkError::Ended(_)
        | LinkError::Unsuitable { .. }
        | LinkError::NotAllowed { .. }
        | LinkError::Version { .. }
        | LinkError::Interrupted => false,
        LinkError::NoAgent { .. }
        | LinkError::Connect { .. }
        | LinkError::Refused(_)
        | LinkError::Closed { .. }
        | LinkError::Silent { .. }
        | LinkError::Garbled { .. } => true,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::counters::CounterDelta;
    use redial_protocol::ids::RowId;

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
    fn a_silence_is_told_once_and_its_end_from_where_it_ends() {
        let mut talk = Talk::default();
        let mut heard = |told: Vec<Told>| {
            let mut told = told;
            talk.hold_silence(&mut told);
            times(&told)
        };
        assert_eq!(heard(vec![counters(250, &[7])]), [250]);
        assert_eq!(heard(vec![counters(500, &[])]), [500], "that it stopped is news");
        assert_eq!(heard(vec![counters(750, &[]), counters(1000, &[])]), []);
        assert_eq!(heard(vec![]), []);
        assert_eq!(heard(vec![counters(1250, &[])]), []);
        assert_eq!(heard(vec![counters(1500, &[3])]), [1250, 1500]);
        assert_eq!(heard(vec![counters(1750, &[])]), [1750]);
    }
}
