//! The thread of one connection: its session that holds dials, commands and events, and reconnection.

use super::call_collector::{CallPage, TooMuch};
use super::catalogue_loader::{LoadedCatalogue, Loader};
use super::session_state::SessionState;
use super::update_batches::ROWS;
use super::update_sender::{ReceiverGone, UpdateSender};
use super::{error_text, update_batches};
use crate::attach::attach;
use crate::backoff::Backoff;
use crate::connect;
use crate::discover;
use crate::error::LinkError;
use crate::session::{PING_EVERY, Session};
use redial_model::changes::DialChange;
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::update::{ConnectionUpdate, RefusedRequest, Retry};
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::message::Event;
use redial_text::programs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Limit for one update in events: the window must process each update within a frame.
const BATCH: usize = 256;

/// Time limit for each answer of a runtime that loads the agent.
const ATTACHING: Duration = Duration::from_secs(10);

/// A request to the thread.
pub enum ConnectionRequest {
    /// Make a change.
    Change(DialChange),
    /// Turn everything off.
    AllOff(Ticket),
    /// Ask for a plan of a change.
    Plan(Ticket, Vec<redial_protocol::order::Order>),
    /// Cancel a change.
    Cancel(Ticket),
    /// Take back a change of this connection.
    UndoChange(Ticket, Ticket),
    /// Undo the change with that number, or the last one, whoever made it.
    UndoOfAnyone(Ticket, Option<u64>),
    /// Set the overhead budget.
    SetBudget(Option<Share>),
    /// Take control from its holder.
    TakeControl,
    /// Request the histogram of a row.
    Histogram(RowId),
    /// Request the histograms of rows, without their slowest calls.
    Histograms(Vec<RowId>),
    /// Request the callers of a row's method.
    Callers(RowId),
    /// Start or stop collecting traced calls.
    CollectCalls(bool),
    /// Request the calls in flight.
    CallsInFlight,
    /// Look for new modules.
    Reload,
    /// Reconnect now instead of after the delay.
    Retry,
    /// Load the agent into the process and connect.
    Attach,
}

/// Wakes a session that waits for events.
type Waker = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// Handle of the thread; dropping it ends the connection.
pub struct ConnectionThread {
    requests: Option<Sender<ConnectionRequest>>,
    waker: Waker,
}

impl ConnectionThread {
    /// Starts connecting.
    pub fn start(connection: ConnectionId, process: ProcessKey, sender: UpdateSender) -> ConnectionThread {
        let (requests, from) = channel();
        let waker = Waker::default();
        let loaded = Arc::default();
        let mut link = AgentLink {
            connection,
            process,
            sender,
            requests: from,
            waker: Arc::clone(&waker),
            loaded,
            loader: None,
            met: false,
            served: false,
            all_is_off: Arc::default(),
        };
        let sender = link.sender.clone();
        if let Err(error) = std::thread::Builder::new().name("agent".into()).spawn(move || link.run()) {
            let why = format!("cannot start a thread: {error}");
            drop(sender.report(connection, vec![ConnectionUpdate::Lost { why, retry: Retry::Asked }]));
        }
        ConnectionThread { requests: Some(requests), waker }
    }

    /// Sends a request to the thread without waiting.
    pub fn request(&self, request: ConnectionRequest) {
        if let Some(requests) = &self.requests {
            // Fails if the thread has ended; it has already reported why.
            let _ = requests.send(request);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(wake) = &*lock(&self.waker) {
            wake();
        }
    }
}

impl Drop for ConnectionThread {
    fn drop(&mut self) {
        self.requests = None;
        self.wake();
    }
}

struct AgentLink {
    connection: ConnectionId,
    process: ProcessKey,
    sender: UpdateSender,
    requests: Receiver<ConnectionRequest>,
    waker: Waker,
    loaded: Arc<Mutex<LoadedCatalogue>>,
    loader: Option<Loader>,
    /// Whether the agent ever answered. If so, it is in the process even if its endpoint is missing now.
    met: bool,
    /// Whether the session got past the hello.
    served: bool,
    /// Completed "all off" requests with the numbers of their changes: afterwards this session may hold
    /// nothing.
    all_is_off: Arc<Mutex<Vec<(Ticket, u64)>>>,
}

/// Why a session ended.
enum SessionEnd {
    Lost(LinkError),
    /// The connection was closed, or nobody receives updates.
    Asked,
}

impl From<LinkError> for SessionEnd {
    fn from(error: LinkError) -> SessionEnd {
        SessionEnd::Lost(error)
    }
}

impl From<ReceiverGone> for SessionEnd {
    fn from(_: ReceiverGone) -> SessionEnd {
        SessionEnd::Asked
    }
}

impl AgentLink {
    fn run(&mut self) {
        let mut backoff = Backoff::default();
        loop {
            if self.report(vec![ConnectionUpdate::Connecting]).is_err() {
                return;
            }
            let ended = match self.open() {
                Ok(session) => {
                    let ended = self.serve(session);
                    // An agent at its connection limit still answers the hello.
                    if std::mem::take(&mut self.served) {
                        backoff.worked();
                    }
                    ended
                }
                Err(error) => SessionEnd::Lost(error),
            };
            *lock(&self.waker) = None;
            self.loader = None;
            let SessionEnd::Lost(error) = ended else { return };
            let retry = self.retry(&error, &mut backoff);
            let why = self.sentence(&error);
            let lost = ConnectionUpdate::Lost { why: why.clone(), retry };
            if self.report(vec![lost]).is_err() || !self.pause(retry, &why) {
                return;
            }
        }
    }

    fn report(&self, updates: Vec<ConnectionUpdate>) -> Result<(), ReceiverGone> {
        self.sender.report(self.connection, updates)
    }

    /// Describes for the user why there is no connection.
    fn sentence(&self, error: &LinkError) -> String {
        match error {
            LinkError::NoAgent { pid, .. } if self.met => format!(
                "process {pid} is running, but its agent can no longer be found: its socket was moved or deleted, or \
                 the agent shut down"
            ),
            LinkError::NoProcess(pid) => LinkError::Ended(*pid).to_string(),
            error => error_text::sentence(error),
        }
    }

    /// Returns how to continue after the connection failed with `error`.
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
            | LinkError::Unfinished { .. }
            | LinkError::TooMuch { .. }
            | LinkError::Halted { .. }
            | LinkError::Garbled { .. } => Retry::After(backoff.failed()),
        }
    }

    fn open(&self) -> Result<Session, LinkError> {
        match discover::is_another(self.process) {
            true => Err(LinkError::Ended(self.process.pid)),
            false => connect::open(self.process.pid, programs::WINDOW),
        }
    }

    /// Waits until the next attempt is due or requested; returns false if the connection is to end.
    fn pause(&mut self, retry: Retry, why: &str) -> bool {
        let until = match retry {
            Retry::After(wait) => Some(Instant::now() + wait),
            Retry::WithAgent | Retry::Asked | Retry::Never => None,
        };
        loop {
            let request = match until {
                Some(until) => {
                    match self.requests.recv_timeout(until.saturating_duration_since(Instant::now())) {
                        Ok(request) => request,
                        Err(RecvTimeoutError::Timeout) => return true,
                        Err(RecvTimeoutError::Disconnected) => return false,
                    }
                }
                None => match self.requests.recv() {
                    Ok(request) => request,
                    Err(_) => return false,
                },
            };
            match request {
                ConnectionRequest::Retry => return true,
                ConnectionRequest::Attach => match self.attach() {
                    Ok(true) => return true,
                    Ok(false) => {}
                    Err(ReceiverGone) => return false,
                },
                ConnectionRequest::Reload
                | ConnectionRequest::Cancel(_)
                | ConnectionRequest::Histogram(_)
                | ConnectionRequest::Histograms(_)
                | ConnectionRequest::Callers(_)
                | ConnectionRequest::CollectCalls(_)
                | ConnectionRequest::CallsInFlight => {}
                // The lost session's holder is unknown by now.
                ConnectionRequest::TakeControl => {}
                ConnectionRequest::AllOff(ticket) => self.all_off(ticket),
                ConnectionRequest::SetBudget(_) => {
                    let refused = RefusedRequest { why: why.to_owned(), holder: None };
                    if self.report(vec![ConnectionUpdate::BudgetRefused(refused)]).is_err() {
                        return false;
                    }
                }
                ConnectionRequest::Change(DialChange { ticket, .. })
                | ConnectionRequest::UndoChange(ticket, _)
                | ConnectionRequest::Plan(ticket, _)
                | ConnectionRequest::UndoOfAnyone(ticket, _) => {
                    let why = why.to_owned();
                    let update = match request {
                        ConnectionRequest::Plan(..) => ConnectionUpdate::Plan(ticket, Err(why)),
                        ConnectionRequest::UndoOfAnyone(..) => {
                            ConnectionUpdate::Undone(ticket, Err(RefusedRequest { why, holder: None }))
                        }
                        _ => ConnectionUpdate::Unanswered(ticket, why),
                    };
                    if self.report(vec![update]).is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// Loads the agent into the process; returns whether it succeeded.
    fn attach(&self) -> Result<bool, ReceiverGone> {
        self.report(vec![ConnectionUpdate::Attaching])?;
        let loaded = match discover::is_another(self.process) {
            true => Err(LinkError::Ended(self.process.pid).to_string()),
            false => attach(self.process.pid, ATTACHING).map_err(|error| error_text::attach_error(&error)),
        };
        match loaded {
            Ok(_) => Ok(true),
            Err(why) => self.report(vec![ConnectionUpdate::NotAttached(why)]).map(|()| false),
        }
    }

    /// Turns everything off over a separate connection in a separate thread, so that nothing can delay it.
    fn all_off(&self, ticket: Ticket) {
        let (connection, sender, pid) = (self.connection, self.sender.clone(), self.process.pid);
        let failed = sender.clone();
        let (done, waker) = (Arc::clone(&self.all_is_off), Arc::clone(&self.waker));
        let thread = std::thread::Builder::new().name("all off".into()).spawn(move || {
            let result = connect::open(pid, programs::WINDOW).and_then(|mut session| session.all_off());
            let result = result.map_err(|error| error_text::sentence(&error));
            lock(&done).push((ticket, result.as_ref().map_or(0, |done| done.change)));
            if let Some(wake) = &*lock(&waker) {
                wake();
            }
            let result = result.map(|done| (done.reverted, done.remaining));
            drop(sender.report(connection, vec![ConnectionUpdate::AllOff(ticket, result)]));
        });
        if let Err(error) = thread {
            let why = format!("cannot start a thread: {error}");
            drop(failed.report(connection, vec![ConnectionUpdate::AllOff(ticket, Err(why))]));
        }
    }

    fn serve(&mut self, mut session: Session) -> SessionEnd {
        *lock(&self.waker) = Some(Box::new(session.waker()));
        self.loader = Some(Loader::start(
            self.process.pid,
            self.connection,
            Arc::clone(&self.loaded),
            self.sender.clone(),
        ));
        match self.run_session(&mut session) {
            Ok(()) => SessionEnd::Asked,
            Err(end) => end,
        }
    }

    fn run_session(&mut self, session: &mut Session) -> Result<(), SessionEnd> {
        self.met = true;
        self.report(vec![ConnectionUpdate::Connected(Box::new(session.facts().clone()))])?;
        session.keep_alive(PING_EVERY)?;
        let mut state = SessionState::begin(self.connection, session)?;
        loop {
            let mut updates = state.changes.overdue(session.pid(), Instant::now());
            loop {
                match self.requests.try_recv() {
                    Ok(request) => self.carry_out(request, session, &mut state, &mut updates)?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            let now = Instant::now();
            for (ticket, change) in std::mem::take(&mut *lock(&self.all_is_off)) {
                state.want_status(now);
                updates.extend(state.changes.off_is_done(ticket, change, session)?);
            }
            state.ask_status(session, now)?;
            let listened = self.listen(session, &mut state, &mut updates);
            state.withhold_empty_counters(&mut updates);
            updates.extend(state.paused(session.pid(), Instant::now()));
            // Report what arrived before the end, too.
            for part in update_batches::of(updates) {
                self.report(part)?;
            }
            listened?;
            self.served = true;
            state.silent(session.pid(), Instant::now())?;
        }
    }

    /// Processes the events that are there, waiting for the first one.
    fn listen(
        &self,
        session: &mut Session,
        state: &mut SessionState,
        updates: &mut Vec<ConnectionUpdate>,
    ) -> Result<(), LinkError> {
        let mut deadline = state.next_due(Instant::now());
        if !updates.is_empty() {
            deadline = Some(Instant::now());
        }
        let mut rows = 0;
        for _ in 0..BATCH {
            if rows >= ROWS {
                break;
            }
            let Some(event) = session.next_or_wake(deadline)? else { return Ok(()) };
            state.note_activity(Instant::now());
            match event {
                Event::Reply { id, reply } => state.reply(id, reply, session, updates)?,
                Event::Methods { .. }
                | Event::Il { .. }
                | Event::Rows { id: Some(_), .. }
                | Event::Times { id: Some(_), .. }
                | Event::Exceptions { .. } => {}
                Event::Calls { id, methods, calls, dropped, unread } => {
                    rows += calls.len();
                    let page = CallPage { methods, calls, dropped, unread };
                    let taken = state.calls.take(id, page).map_err(|TooMuch| session.wrong_reply())?;
                    updates.extend(taken.into_iter().map(ConnectionUpdate::Events));
                }
                Event::Progress { id, done, total } => {
                    updates.extend(state.changes.progress(id, done, total))
                }
                Event::Catalogue { .. } => self.loader.iter().for_each(Loader::reload),
                event => {
                    rows += match &event {
                        Event::Rows { rows, .. } => rows.len(),
                        Event::Counters { delta, .. } => delta.rows.len(),
                        Event::Times { times, .. } => times.len(),
                        _ => 0,
                    };
                    updates.push(ConnectionUpdate::Event(event));
                }
            }
            deadline = Some(Instant::now());
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        request: ConnectionRequest,
        session: &mut Session,
        state: &mut SessionState,
        updates: &mut Vec<ConnectionUpdate>,
    ) -> Result<(), LinkError> {
        match request {
            ConnectionRequest::Retry | ConnectionRequest::Attach => {}
            ConnectionRequest::Reload => self.loader.iter().for_each(Loader::reload),
            ConnectionRequest::AllOff(ticket) => {
                state.changes.expect_off(ticket);
                self.all_off(ticket);
            }
            ConnectionRequest::Change(change) => state.change(change, session)?,
            ConnectionRequest::UndoChange(ticket, of) => {
                updates.extend(state.take_back(ticket, of, session)?)
            }
            ConnectionRequest::Plan(ticket, orders) => state.plan(ticket, orders, session)?,
            ConnectionRequest::Cancel(ticket) => state.changes.cancel(ticket, session)?,
            ConnectionRequest::UndoOfAnyone(ticket, change) => state.undo(ticket, change, session)?,
            ConnectionRequest::SetBudget(limit) => state.set_budget(limit, session)?,
            ConnectionRequest::TakeControl => state.take_control(session)?,
            ConnectionRequest::Histogram(row) => state.histogram(row, session)?,
            ConnectionRequest::Histograms(rows) => state.histograms(&rows, session)?,
            ConnectionRequest::Callers(row) => state.callers(row, session)?,
            ConnectionRequest::CollectCalls(wanted) => state.calls.collect(wanted, session)?,
            ConnectionRequest::CallsInFlight => state.calls.ask_in_flight(session)?,
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
