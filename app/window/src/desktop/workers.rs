//! The window's side of the worker threads, which own the pipes. They wake the window when they have updates.

use crate::views::launch_dialog::LaunchPlan;
use eframe::egui::{self, ColorImage};
use redial_link::worker::{
    CodeRequest, LaunchSpec, SnapshotAnswer, SnapshotJob, StopSignal, Wake, Worker, WorkerCommand,
    start_snapshot_job,
};
use redial_model::changes::DialChange;
use redial_model::events::TracedEvent;
use redial_model::hot::HotOptions;
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::update::Update;
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::order::Order;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Time between frames caused by updates while the window has the focus.
const LOOKED_AT: Duration = Duration::from_millis(33);
/// The same while another window has the focus.
const ASIDE: Duration = Duration::from_millis(200);

fn pace(looked_at: &AtomicBool) -> Duration {
    if looked_at.load(Ordering::Relaxed) { LOOKED_AT } else { ASIDE }
}

/// The worker threads; none in tests and benchmarks without processes.
pub struct Workers {
    worker: Option<Worker>,
    /// Updates that come from elsewhere instead of workers.
    given: Option<Receiver<Update>>,
    /// An update already received but not yet applied.
    first: Option<Update>,
    focused: Arc<AtomicBool>,
    /// Calls to free, on a thread of their own.
    freed: Option<Sender<Vec<Arc<TracedEvent>>>>,
    /// The answers of jobs about snapshots, and what wakes the window.
    snapshots: Option<(Sender<SnapshotAnswer>, Receiver<SnapshotAnswer>, Wake)>,
}

impl Workers {
    /// Starts the threads, or returns why they cannot start.
    pub fn start(context: &egui::Context, scan: bool) -> (Workers, Option<String>) {
        let focused = Arc::new(AtomicBool::new(true));
        if !scan {
            return (
                Workers { worker: None, given: None, first: None, focused, freed: None, snapshots: None },
                None,
            );
        }
        let (context, looked_at) = (context.clone(), Arc::clone(&focused));
        let wake: Wake = Arc::new(move || {
            context.request_repaint_after(pace(&looked_at));
        });
        let (to, from) = channel();
        let snapshots = Some((to, from, Arc::clone(&wake)));
        match Worker::start(wake) {
            Ok(worker) => (
                Workers { worker: Some(worker), given: None, first: None, focused, freed: None, snapshots },
                None,
            ),
            Err(error) => {
                let why = format!("Processes cannot be watched: {error}");
                (
                    Workers { worker: None, given: None, first: None, focused, freed: None, snapshots: None },
                    Some(why),
                )
            }
        }
    }

    /// Returns workers without threads: updates come from elsewhere, and commands go nowhere.
    pub fn without_processes(updates: Receiver<Update>) -> Workers {
        Workers {
            worker: None,
            given: Some(updates),
            first: None,
            focused: Arc::default(),
            freed: None,
            snapshots: None,
        }
    }

    /// Records whether the window has the focus.
    pub fn set_focused(&self, focused: bool) {
        self.focused.store(focused, Ordering::Relaxed);
    }

    /// Returns the time between frames caused by updates.
    pub fn pace(&self) -> Duration {
        pace(&self.focused)
    }

    /// Returns the next update without waiting.
    pub fn next(&mut self) -> Option<Update> {
        self.first.take().or_else(|| self.receive())
    }

    /// Returns whether an update is waiting.
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

    /// Connects to a process, and reconnects whenever the connection is lost.
    pub fn connect(&mut self, connection: ConnectionId, process: ProcessKey) {
        self.send(WorkerCommand::Connect { connection, process });
    }

    /// Loads the agent into a connection's process, and connects.
    pub fn attach(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::Attach(connection));
    }

    /// Retries a lost connection now.
    pub fn retry(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::Retry(connection));
    }

    /// Ends a connection; its held dials revert.
    pub fn disconnect(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::Disconnect(connection));
    }

    /// Sends a change of dials.
    pub fn change(&mut self, change: DialChange) {
        self.send(WorkerCommand::Change(change));
    }

    /// Turns every dial of a process off.
    pub fn all_off(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(WorkerCommand::AllOff(connection, ticket));
    }

    /// Requests the plan of a change with these orders.
    pub fn plan(&mut self, connection: ConnectionId, ticket: Ticket, orders: Vec<Order>) {
        self.send(WorkerCommand::Plan(connection, ticket, orders));
    }

    /// Stops a change in progress.
    pub fn cancel(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(WorkerCommand::Cancel(connection, ticket));
    }

    /// Undoes a change.
    pub fn take_back(&mut self, connection: ConnectionId, ticket: Ticket, of: Ticket) {
        self.send(WorkerCommand::UndoChange(connection, ticket, of));
    }

    /// Undoes the last change, whoever made it.
    pub fn undo_of_anyone(&mut self, connection: ConnectionId, ticket: Ticket) {
        self.send(WorkerCommand::UndoOfAnyone(connection, ticket, None));
    }

    /// Undoes the change with this number, whoever made it.
    pub fn undo_of(&mut self, connection: ConnectionId, ticket: Ticket, change: u64) {
        self.send(WorkerCommand::UndoOfAnyone(connection, ticket, Some(change)));
    }

    /// Sets the overhead budget of a process.
    pub fn set_budget(&mut self, connection: ConnectionId, limit: Option<Share>) {
        self.send(WorkerCommand::SetBudget(connection, limit));
    }

    /// Takes control of a process from its holder.
    pub fn take_control(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::TakeControl(connection));
    }

    /// Requests the histogram of a row.
    pub fn histogram(&mut self, connection: ConnectionId, row: RowId) {
        self.send(WorkerCommand::Histogram(connection, row));
    }

    /// Requests the histograms of rows.
    pub fn histograms(&mut self, connection: ConnectionId, rows: Vec<RowId>) {
        self.send(WorkerCommand::Histograms(connection, rows));
    }

    /// Requests the callers of a row's method.
    pub fn callers(&mut self, connection: ConnectionId, row: RowId) {
        self.send(WorkerCommand::Callers(connection, row));
    }

    /// Reads source and IL of a method.
    pub fn method_code(&mut self, connection: ConnectionId, request: CodeRequest) {
        self.send(WorkerCommand::MethodCode(connection, request));
    }

    /// Starts or stops collecting traced calls.
    pub fn collect_calls(&mut self, connection: ConnectionId, wanted: bool) {
        self.send(WorkerCommand::CollectCalls(connection, wanted));
    }

    /// Searches for hot methods.
    pub fn find_hot(&mut self, connection: ConnectionId, process: ProcessKey, options: HotOptions) {
        self.send(WorkerCommand::FindHot(connection, process, options));
    }

    /// Stops that.
    pub fn cancel_hot(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::CancelHot(connection));
    }

    /// Saves, opens or compares a snapshot.
    pub fn snapshot_job(&self, job: SnapshotJob) {
        if let Some((answers, _, wake)) = &self.snapshots {
            start_snapshot_job(job, answers.clone(), Arc::clone(wake));
        }
    }

    /// Returns a function that saves a picture as a file; `None` in tests without threads.
    pub fn picture_saver(&self, file: PathBuf) -> Option<impl FnOnce(&ColorImage) + Send + 'static> {
        let (answers, _, wake) = self.snapshots.as_ref()?;
        let (answers, wake) = (answers.clone(), Arc::clone(wake));
        Some(move |image: &ColorImage| {
            let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            let size = [side(image.width()), side(image.height())];
            let rgba = image.as_raw().to_vec();
            start_snapshot_job(SnapshotJob::Picture { rgba, size, file }, answers, wake);
        })
    }

    /// Returns the next result of such a job without waiting.
    pub fn next_snapshot_answer(&self) -> Option<SnapshotAnswer> {
        self.snapshots.as_ref()?.1.try_recv().ok()
    }

    /// Frees calls without waiting.
    pub fn free(&mut self, calls: Vec<Arc<TracedEvent>>) {
        if calls.is_empty() {
            return;
        }
        let freed = self.freed.get_or_insert_with(|| {
            let (to, from) = channel::<Vec<Arc<TracedEvent>>>();
            // Without the thread they are freed here: the channel has no receiver.
            let _ = std::thread::Builder::new()
                .name("free".into())
                .spawn(move || from.into_iter().for_each(drop));
            to
        });
        let _ = freed.send(calls);
    }

    /// Requests the calls in flight.
    pub fn calls_in_flight(&mut self, connection: ConnectionId) {
        self.send(WorkerCommand::CallsInFlight(connection));
    }

    /// Starts a program with the agent.
    pub fn launch(&mut self, ticket: Ticket, plan: LaunchPlan) {
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
        self.send(WorkerCommand::Launch(ticket, spec));
    }

    /// Stops a started program: asks it to end, or kills it.
    pub fn stop_launched(&mut self, ticket: Ticket, kill: bool) {
        self.send(WorkerCommand::Stop(ticket, if kill { StopSignal::Kill } else { StopSignal::Ask }));
    }

    /// Ends every connection without waiting.
    pub fn stop(&mut self) {
        self.worker = None;
    }

    fn send(&mut self, command: WorkerCommand) {
        if let Some(worker) = &mut self.worker {
            worker.send(command);
        }
    }
}
