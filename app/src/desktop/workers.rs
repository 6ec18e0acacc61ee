//! The threads that own pipes, as the window speaks to them. They wake it when they have something to tell.

use crate::link::worker::{Command, LaunchSpec, Stop, Wake, Worker};
use crate::model::ids::{ConnectionId, Ticket};
use crate::model::turns::Turn;
use crate::model::update::Update;
use crate::views::launch::Plan;
use eframe::egui;
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::order::Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Time between frames that news may cause while the user looks at the window.
const LOOKED_AT: Duration = Duration::from_millis(33);
/// The same, while another window has the keyboard.
const ASIDE: Duration = Duration::from_millis(200);

fn pace(looked_at: &AtomicBool) -> Duration {
    if looked_at.load(Ordering::Relaxed) { LOOKED_AT } else { ASIDE }
}

/// The worker threads; none in tests and measurements that need no process.
pub struct Workers {
    worker: Option<Worker>,
    /// What is told in place of workers.
    given: Option<Receiver<Update>>,
    /// One that was looked for, and not taken in yet.
    first: Option<Update>,
    focused: Arc<AtomicBool>,
}

impl Workers {
    /// Starts the threads, or says why they cannot be.
    pub fn start(context: &egui::Context, scan: bool) -> (Workers, Option<String>) {
        let focused = Arc::new(AtomicBool::new(true));
        if !scan {
            return (Workers { worker: None, given: None, first: None, focused }, None);
        }
        let (context, looked_at) = (context.clone(), Arc::clone(&focused));
        let wake: Wake = Arc::new(move || {
            context.request_repaint_after(pace(&looked_at));
        });
        match Worker::start(wake) {
            Ok(worker) => (Workers { worker: Some(worker), given: None, first: None, focused }, None),
            Err(error) => {
                let why = format!("processes cannot be looked at: {error}");
                (Workers { worker: None, given: None, first: None, focused }, Some(why))
            }
        }
    }

    /// No threads: what there is to tell comes from elsewhere, and commands go nowhere.
    pub fn given(updates: Receiver<Update>) -> Workers {
        Workers { worker: None, given: Some(updates), first: None, focused: Arc::default() }
    }

    /// Notes whether the window has the keyboard.
    pub fn set_focused(&self, focused: bool) {
        self.focused.store(focused, Ordering::Relaxed);
    }

    /// The time between frames that news may cause.
    pub fn pace(&self) -> Duration {
        pace(&self.focused)
    }

    /// The next update, without waiting.
    pub fn next(&mut self) -> Option<Update> {
        self.first.take().or_else(|| self.receive())
    }

    /// Whether there is one to be taken in.
    pub fn have_news(&mut self) -> bool {
        self.first = self.next();
        self.first.is_some()
    }

    fn receive(&self) -> Option<Update> {
        if let Some(given) = &self.given {
            return given.try_recv().ok();
        }
        self.worker.as_ref()?.take()
    }

    /// Connects to a process, and again whenever the connection is lost.
    pub fn connect(&mut self, connection: ConnectionId, process: ProcessKey) {
        self.send(Command::Connect { connection, process });
    }

    /// Loads the agent into the process of a connection, and connects.
    pub fn attach(&mut self, connection: ConnectionId) {
        self.send(Command::Attach(connection));
    }

    /// Tries a lost connection again now.
    pub fn retry(&mut self, connection: ConnectionId) {
        self.send(Command::Retry(connection));
    }

    /// Ends a connection; its held dials revert.
    pub fn disconnect(&mut self, connection: ConnectionId) {
        self.send(Command::Disconnect(connection));
    }

    /// Turns dials.
    pub fn turn(&mut self, turn: Turn) {
        self.send(Command::Turn(turn));
    }

    /// Turns every dial of a process off.
    pub fn all_off(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(Command::AllOff(connection, ticket));
    }

    /// Asks what a turn with these orders would do.
    pub fn plan(&mut self, connection: ConnectionId, ticket: Ticket, orders: Vec<Order>) {
        self.send(Command::Plan(connection, ticket, orders));
    }

    /// Stops a turn that is under way.
    pub fn cancel(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(Command::Cancel(connection, ticket));
    }

    /// Takes a turn back.
    pub fn take_back(&mut self, connection: ConnectionId, ticket: Ticket, of: Ticket) {
        self.send(Command::TakeBack(connection, ticket, of));
    }

    /// Takes the last change back, whoever made it.
    pub fn undo_of_anyone(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(Command::UndoOfAnyone(connection, ticket, None));
    }

    /// Takes the change of that number back, whoever made it.
    pub fn undo_of(&mut self, connection: ConnectionId, ticket: Ticket, change: u64) {
        self.send(Command::UndoOfAnyone(connection, ticket, Some(change)));
    }

    /// Sets what dials of a process may cost.
    pub fn set_budget(&mut self, connection: ConnectionId, limit: Option<Share>) {
        self.send(Command::SetBudget(connection, limit));
    }

    /// Takes control of a process from whoever has it.
    pub fn take_control(&mut self, connection: ConnectionId) {
        self.send(Command::TakeControl(connection));
    }

    /// Asks for the histogram of a row.
    pub fn histogram(&mut self, connection: ConnectionId, row: RowId) {
        self.send(Command::Histogram(connection, row));
    }

    /// Asks who calls a row's method.
    pub fn callers(&mut self, connection: ConnectionId, row: RowId) {
        self.send(Command::Callers(connection, row));
    }

    /// Starts a program with the agent in it.
    pub fn launch(&mut self, ticket: Ticket, plan: Plan) {
        let spec = LaunchSpec {
            program: plan.program.into(),
            arguments: plan.arguments.into_iter().map(Into::into).collect(),
            folder: plan.folder,
            environment: plan
                .environment
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            orders: plan.orders,
            children: false,
        };
        self.send(Command::Launch(ticket, spec));
    }

    /// Stops a program that was started: asks it to end, or kills it.
    pub fn stop_launched(&mut self, ticket: Ticket, kill: bool) {
        self.send(Command::Stop(ticket, if kill { Stop::Kill } else { Stop::Ask }));
    }

    /// Ends every connection, and waits for nothing.
    pub fn stop(&mut self) {
        self.worker = None;
    }

    fn send(&mut self, command: Command) {
        if let Some(worker) = &mut self.worker {
            worker.send(command);
        }
    }
}
