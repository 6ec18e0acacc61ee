//! The thread of one connection: the session that holds dials, its commands and events, and the way back when it is
//! lost.

use super::loading::{Loaded, Loader};
use super::outlet::{Gone, Outlet};
use super::talk::Talk;
use super::{describe, parts};
use crate::link::attach::attach;
use crate::link::backoff::Backoff;
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::{PING_EVERY, Session};
use crate::model::connection::PROGRAM;
use crate::model::ids::{ConnectionId, Ticket};
use crate::model::turns::Turn;
use crate::model::update::{Refused, Retry, Told};
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::message::Event;
use redial_protocol::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Events told at once, and rows in them: the window takes an update in as a whole, within a frame.
const BATCH: usize = 256;
pub(super) const ROWS: usize = 2048;

/// How long each answer of a runtime that is to load the agent may take.
const ATTACHING: Duration = Duration::from_secs(10);

/// What the thread can be told.
pub enum Order {
    /// Turn dials.
    Turn(Turn),
    /// Turn everything off.
    AllOff(Ticket),
    /// Ask what a turn would do.
    Plan(Ticket, Vec<redial_protocol::order::Order>),
    /// Stop a turn.
    Cancel(Ticket),
    /// Take a turn of this connection back.
    TakeBack(Ticket, Ticket),
    /// Take the last change back, whoever made it, or the one of that number.
    UndoOfAnyone(Ticket, Option<u64>),
    /// Set what dials may cost.
    SetBudget(Option<Share>),
    /// Take control from whoever has it.
    TakeControl,
    /// Ask how the durations of a row's calls are spread.
    Histogram(RowId),
    /// Ask who calls a row's method.
    Callers(RowId),
    /// Look for new modules.
    Reload,
    /// Do not wait for the next attempt.
    Retry,
    /// Load the agent into the process, and connect.
    Attach,
}

/// Wakes a session that waits for news.
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
            met: false,
            served: false,
            all_is_off: Arc::default(),
        };
        let outlet = link.outlet.clone();
        if let Err(error) = std::thread::Builder::new().name("agent".into()).spawn(move || link.run()) {
            let why = format!("no thread could be started: {error}");
            drop(outlet.tell(connection, vec![Told::Lost { why, retry: Retry::Asked }]));
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
    /// Whether the agent answered before: then it is in the process, whatever hides it now.
    met: bool,
    /// Whether the session did more than say hello.
    served: bool,
    /// Every "all off" that was answered, with the number of its change: this session may hold nothing any more.
    all_is_off: Arc<Mutex<Vec<(Ticket, u64)>>>,
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
                    let ended = self.serve(session);
                    // An agent that has no room for one more says hello all the same.
                    if std::mem::take(&mut self.served) {
                        backoff.worked();
                    }
                    ended
                }
                Err(error) => End::Lost(error),
            };
            *lock(&self.waker) = None;
            self.loader = None;
            let End::Lost(error) = ended else { return };
            let retry = self.retry(&error, &mut backoff);
            let why = self.sentence(&error);
            let lost = Told::Lost { why: why.clone(), retry };
            if self.tell(vec![lost]).is_err() || !self.pause(retry, &why) {
                return;
            }
        }
    }

    fn tell(&self, told: Vec<Told>) -> Result<(), Gone> {
        self.outlet.tell(self.connection, told)
    }

    /// Why there is no connection, as the user is told.
    fn sentence(&self, error: &LinkError) -> String {
        match error {
            LinkError::NoAgent { pid, .. } if self.met => format!(
                "process {pid} runs, but its agent cannot be found any more: its socket was moved or deleted, or the \
                 agent has shut down"
            ),
            LinkError::NoProcess(pid) => LinkError::Ended(*pid).to_string(),
            error => describe::sentence(error),
        }
    }

    /// What follows a connection that ended so.
    fn retry(&self, error: &LinkError, backoff: &mut Backoff) -> Retry {
        match error {
            LinkError::NoProcess(_) | LinkError::Ended(_) => Retry::Never,
            LinkError::NotAllowed { .. } | LinkError::Version { .. } | LinkError::Interrupted => Retry::Asked,
            LinkError::Unsuitable { .. } | LinkError::NoAgent { .. } if !self.met => Retry::WithAgent,
            LinkError::Unsuitable { .. } => Retry::Asked,
            LinkError::NoAgent { .. }
            | LinkError::Connect { .. }
            | LinkError::Refused(_)
            | LinkError::Closed { .. }
            | LinkError::Silent { .. }
            | LinkError::Halted { .. }
            | LinkError::Garbled { .. } => Retry::After(backoff.failed()),
        }
    }

    fn open(&self) -> Result<Session, LinkError> {
        match self.is_another() {
            true => Err(LinkError::Ended(self.process.pid)),
            false => connect::open(self.process.pid, PROGRAM),
        }
    }

    /// Whether the pid is another process's by now.
    fn is_another(&self) -> bool {
        let ProcessKey { pid, start } = self.process;
        start != 0 && process::key_of(pid).is_ok_and(|key| key.start != start)
    }

    /// Waits for the next attempt, or for somebody to ask for it; false when the connection is to end.
    fn pause(&mut self, retry: Retry, why: &str) -> bool {
        let until = match retry {
            Retry::After(wait) => Some(Instant::now() + wait),
            Retry::WithAgent | Retry::Asked | Retry::Never => None,
        };
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
                Order::Attach => match self.attach() {
                    Ok(true) => return true,
                    Ok(false) => {}
                    Err(Gone) => return false,
                },
                Order::Reload | Order::Cancel(_) | Order::Histogram(_) | Order::Callers(_) => {}
                // Whoever had it has it no longer as far as is known.
                Order::TakeControl => {}
                Order::AllOff(ticket) => self.all_off(ticket),
                Order::SetBudget(_) => {
                    let refused = Refused { why: why.to_owned(), holder: None };
                    if self.tell(vec![Told::BudgetRefused(refused)]).is_err() {
                        return false;
                    }
                }
                Order::Turn(Turn { ticket, .. })
                | Order::TakeBack(ticket, _)
                | Order::Plan(ticket, _)
                | Order::UndoOfAnyone(ticket, _) => {
                    let why = why.to_owned();
                    let told = match order {
                        Order::Plan(..) => Told::Plan(ticket, Err(why)),
                        Order::UndoOfAnyone(..) => Told::Undone(ticket, Err(Refused { why, holder: None })),
                        _ => Told::Unanswered(ticket, why),
                    };
                    if self.tell(vec![told]).is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// Loads the agent into the process; whether it is there now.
    fn attach(&self) -> Result<bool, Gone> {
        self.tell(vec![Told::Attaching])?;
        let loaded = match self.is_another() {
            true => Err(LinkError::Ended(self.process.pid).to_string()),
            false => attach(self.process.pid, ATTACHING).map_err(|error| describe::not_attached(&error)),
        };
        match loaded {
            Ok(_) => Ok(true),
            Err(why) => self.tell(vec![Told::NotAttached(why)]).map(|()| false),
        }
    }

    /// By a connection of its own, in a thread of its own: nothing that goes on delays it.
    fn all_off(&self, ticket: Ticket) {
        let (connection, outlet, pid) = (self.connection, self.outlet.clone(), self.process.pid);
        let failed = outlet.clone();
        let (done, waker) = (Arc::clone(&self.all_is_off), Arc::clone(&self.waker));
        let thread = std::thread::Builder::new().name("all off".into()).spawn(move || {
            let result = connect::open(pid, PROGRAM).and_then(|mut session| session.all_off());
            let result = result.map_err(|error| describe::sentence(&error));
            lock(&done).push((ticket, result.as_ref().map_or(0, |done| done.change)));
            if let Some(wake) = &*lock(&waker) {
                wake();
            }
            let result = result.map(|done| (done.reverted, done.remaining));
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
        self.met = true;
        self.tell(vec![Told::Connected(Box::new(session.facts().clone()))])?;
        session.keep_alive(PING_EVERY)?;
        let mut talk = Talk::begin(session)?;
        loop {
            let mut told = talk.turns.overdue(session.pid(), Instant::now());
            loop {
                match self.orders.try_recv() {
                    Ok(order) => self.obey(order, session, &mut talk, &mut told)?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            let now = Instant::now();
            for (ticket, change) in std::mem::take(&mut *lock(&self.all_is_off)) {
                talk.want_status(now);
                told.extend(talk.turns.off_is_done(ticket, change, session)?);
            }
            talk.ask_status(session, now)?;
            let heard = self.listen(session, &mut talk, &mut told);
            talk.hold_silence(&mut told);
            told.extend(talk.paused(session.pid(), Instant::now()));
            // What was heard before the end counts.
            for part in parts::of(told) {
                self.tell(part)?;
            }
            heard?;
            self.served = true;
            talk.silent(session.pid(), Instant::now())?;
        }
    }

    /// Takes in what there is, waiting for the first of it.
    fn listen(&self, session: &mut Session, talk: &mut Talk, told: &mut Vec<Told>) -> Result<(), LinkError> {
        let mut deadline = talk.next_due(Instant::now());
        if !told.is_empty() {
            deadline = Some(Instant::now());
        }
        let mut rows = 0;
        for _ in 0..BATCH {
            if rows >= ROWS {
                break;
            }
            let Some(event) = session.hear(deadline)? else { return Ok(()) };
            talk.heard(Instant::now());
            match event {
                Event::Reply { id, reply } => talk.reply(id, reply, session, told)?,
                Event::Methods { .. }
                | Event::Rows { id: Some(_), .. }
                | Event::Times { id: Some(_), .. } => {}
                Event::Progress { id, done, total } => told.extend(talk.turns.progress(id, done, total)),
                Event::Catalogue { .. } => self.loader.iter().for_each(Loader::again),
                event => {
                    rows += match &event {
                        Event::Rows { rows, .. } => rows.len(),
                        Event::Counters { delta, .. } => delta.rows.len(),
                        Event::Times { times, .. } => times.len(),
                        _ => 0,
                    };
                    told.push(Told::Event(event));
                }
            }
            deadline = Some(Instant::now());
        }
        Ok(())
    }

    fn obey(
        &mut self,
        order: Order,
        session: &mut Session,
        talk: &mut Talk,
        told: &mut Vec<Told>,
    ) -> Result<(), LinkError> {
        match order {
            Order::Retry | Order::Attach => {}
            Order::Reload => self.loader.iter().for_each(Loader::again),
            Order::AllOff(ticket) => {
                talk.turns.expect_off(ticket);
                self.all_off(ticket);
            }
            Order::Turn(turn) => talk.turn(turn, session)?,
            Order::TakeBack(ticket, of) => told.extend(talk.take_back(ticket, of, session)?),
            Order::Plan(ticket, orders) => talk.plan(ticket, orders, session)?,
            Order::Cancel(ticket) => talk.turns.cancel(ticket, session)?,
            Order::UndoOfAnyone(ticket, change) => talk.undo(ticket, change, session)?,
            Order::SetBudget(limit) => talk.set_budget(limit, session)?,
            Order::TakeControl => talk.take_control(session)?,
            Order::Histogram(row) => talk.histogram(row, session)?,
            Order::Callers(row) => talk.callers(row, session)?,
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
