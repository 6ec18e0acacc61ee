//! Tests connections against a scripted agent: lost, restored, refused, too late.

use super::*;
use crate::test_agent::{AgentEnd, facts, serve_many};
use redial_model::connection::Status;
use redial_model::fixtures::{module, page};
use redial_model::ids::MethodIx;
use redial_model::log::LogKind;
use redial_model::update::{Now, Retry};
use redial_model::{Model, method_set::MethodSet};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event, Holder, Refusal, Reply, WireCommand as Wire};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::process;
use redial_protocol::report::DialReport;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Answers like an agent with one module of two methods, until `ends` returns true for a request or the other
/// side is gone.
fn answer(end: AgentEnd, seen: &Mutex<Vec<Wire>>, ends: impl Fn(&Wire) -> bool) {
    answer_with_dials(end, seen, None, ends);
}

/// Like `talk`, and counts the held dials in `held`, if given.
fn answer_with_dials(
    mut end: AgentEnd,
    seen: &Mutex<Vec<Wire>>,
    held: Option<&AtomicU64>,
    ends: impl Fn(&Wire) -> bool,
) {
    let hold = |number: u64| held.map_or(0, |held| held.swap(number, Ordering::SeqCst));
    loop {
        let request = match end.receive() {
            Some(ControllerPacket::Hello(_)) => {
                end.offer(&AgentPacket::Hello(facts(0)));
                continue;
            }
            Some(ControllerPacket::AllOff) => {
                hold(0);
                end.offer(&AgentPacket::AllOffDone { reverted: 2, remaining: 0, change: 9 });
                continue;
            }
            Some(ControllerPacket::Request(request)) => request,
            Some(ControllerPacket::Status) | None => return,
        };
        if request.id != 0 {
            seen.lock().expect("no test panicked").push(request.command.clone());
        }
        if ends(&request.command) {
            return end.close();
        }
        let row = module(1, "Shop", "");
        let reply = match request.command {
            Wire::Modules => Reply::Modules { domains: vec![], modules: vec![row] },
            Wire::Methods { .. } => {
                let page = page(row.key, &[("N.A", "M", "()", 0x0600_0001), ("N.A", "O", "()", 0x0600_0002)]);
                end.offer(&AgentPacket::Event(Event::Methods { id: request.id, page }));
                Reply::Methods { matched: 2, suggestions: vec![] }
            }
            Wire::RequestReJit { take: false, .. } => {
                Reply::Refused(Refusal::ControlHeld(Holder { pid: 9, program: "redial dial".into() }))
            }
            Wire::RequestReJit { orders, .. } => {
                let matched = orders.len() as u64;
                hold(matched);
                Reply::Dialled(DialReport { matched, accepted: matched, ..DialReport::default() })
            }
            Wire::AgentStatus => Reply::AgentStatus(AgentStatus {
                held: held.map_or(0, |held| held.load(Ordering::SeqCst)),
                ..status()
            }),
            Wire::Orders => Reply::Orders { orders: vec![], undoable: 0 },
            _ => Reply::Done,
        };
        end.offer(&AgentPacket::Event(Event::Reply { id: request.id, reply }));
    }
}

fn status() -> AgentStatus {
    AgentStatus {
        control: None,
        held: 0,
        kept: 0,
        memory_bytes: 4_096,
        budgets: vec![],
        clr_kept_bytes: 0,
        missed_deadlines: 0,
        guard_trips: 0,
        audit: vec![],
        remains: vec![],
        costs: vec![],
        cost_budget: Default::default(),
        callers_picoseconds: None,
        exceptions_reported: false,
    }
}

struct FakeWindow {
    model: Model,
    updates: Receiver<Update>,
    agent: Option<connection_thread::ConnectionThread>,
    began: Instant,
}

impl FakeWindow {
    fn open(pid: u32) -> FakeWindow {
        let (sender, updates) = UpdateSender::new(Arc::new(|| {}));
        let mut model = Model::default();
        let process = ProcessKey { pid, start: process::own_key().expect("own key").start };
        let (id, _) = model.open(process, "test");
        let agent = Some(connection_thread::ConnectionThread::start(id, process, sender));
        FakeWindow { model, updates, agent, began: Instant::now() }
    }

    fn now(&self) -> Now {
        Now { mono: self.began.elapsed(), unix_ms: 0 }
    }

    fn until<T>(&mut self, event: &str, found: impl Fn(&Model) -> Option<T>) -> T {
        loop {
            let now = self.now();
            self.model.refresh(now);
            if let Some(answer) = found(&self.model) {
                return answer;
            }
            let update = self.updates.recv_timeout(PATIENCE);
            let update = update.unwrap_or_else(|_| panic!("{event} did not come: {:#?}", self.model.log));
            let now = self.now();
            self.model.apply(update, now);
        }
    }

    fn until_live(&mut self) {
        self.until("the catalogue", |model| {
            let connection = model.current_process()?;
            (connection.session.status == Status::Live && connection.table.catalogue.is_complete())
                .then_some(())
        });
    }

    fn set_level(&mut self, set: &MethodSet, take: bool) {
        let now = self.now();
        let Model { connections, log, .. } = &mut self.model;
        let connection = connections.values_mut().next().expect("one connection");
        let change = connection
            .set_level(&connection.table.targets_for(set), Level::Count, take, log, now)
            .expect("possible");
        self.request(ConnectionRequest::Change(change));
    }

    fn request(&self, request: ConnectionRequest) {
        self.agent.as_ref().expect("not closed").request(request);
    }
}

fn count(seen: &Mutex<Vec<Wire>>, which: impl Fn(&Wire) -> bool) -> usize {
    seen.lock().expect("no test panicked").iter().filter(|command| which(command)).count()
}

#[test]
fn reconnects_without_loading_the_catalogue_again() {
    let seen = Mutex::default();
    let changes = |command: &Wire| matches!(command, Wire::RequestReJit { .. });
    serve_many(
        // Closes the connection at the first change.
        |_, end| answer(end, &seen, |command| changes(command) && count(&seen, changes) == 1),
        |pid| {
            let mut window = FakeWindow::open(pid);
            window.until_live();
            let loaded = |command: &Wire| matches!(command, Wire::Methods { .. });
            assert_eq!(count(&seen, loaded), 1);
            window.set_level(&MethodSet::one(MethodIx(0)), true);
            let retry = window.until("the loss", |model| match &model.current_process()?.session.status {
                Status::Lost { why, retry, .. } => Some((why.clone(), *retry)),
                _ => None,
            });
            assert!(
                retry.0.contains("closed the connection") && matches!(retry.1, Retry::After(_)),
                "{retry:?}"
            );
            assert!(
                window
                    .model
                    .log
                    .newest(LogKind::NoAnswer)
                    .is_some_and(|entry| entry.text.contains("not answered"))
            );
            window.until("the reconnection", |model| {
                (model.current_process()?.session.status == Status::Live).then_some(())
            });
            window.set_level(&MethodSet::one(MethodIx(1)), true);
            window.until("the answer", |model| model.current_process()?.table.changes.undoable().map(drop));
            assert_eq!(
                window.model.current_process().map(|connection| connection.table.catalogue.len()),
                Some(2)
            );
            window.agent = None;
        },
    );
}

#[test]
fn a_turn_is_refused_until_control_is_taken() {
    let seen = Mutex::default();
    serve_many(
        |_, end| answer(end, &seen, |_| false),
        |pid| {
            let mut window = FakeWindow::open(pid);
            window.until_live();
            window.set_level(&MethodSet::one(MethodIx(0)), false);
            let holder =
                window.until("a refusal", |model| model.current_process()?.last_refusal()?.1.holder.clone());
            assert_eq!((holder.pid, holder.program.as_str()), (9, "redial dial"));
            window.set_level(&MethodSet::one(MethodIx(0)), true);
            window.until("the answer", |model| model.current_process()?.table.changes.undoable().map(drop));
            // At the end nothing is held, so the session releases control.
            let until = Instant::now() + PATIENCE;
            while count(&seen, |command| matches!(command, Wire::ReleaseControl)) == 0 {
                assert!(Instant::now() < until, "control was not released: {seen:?}");
                // That may happen without an update to the window.
                if let Ok(update) = window.updates.recv_timeout(Duration::from_millis(5)) {
                    let now = window.now();
                    window.model.apply(update, now);
                }
            }
            window.until("an account", |model| model.current_process()?.agent.is_some().then_some(()));
            let connection = window.model.current_process().expect("one connection");
            assert!(connection.session.latency.is_some());
            assert_eq!(connection.agent.as_ref().map(|agent| agent.memory_bytes), Some(4_096));
            window.agent = None;
        },
    );
}

#[test]
fn all_off_works_while_the_session_hangs() {
    let seen = Mutex::default();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    serve_many(
        |number, end| match number {
            // The first session is the subscribed one: its change never gets an answer.
            0 => answer(end, &seen, |command| {
                if matches!(command, Wire::RequestReJit { .. }) {
                    let _ = held.lock().expect("no test panicked").recv();
                }
                false
            }),
            _ => answer(end, &seen, |_| false),
        },
        |pid| {
            let mut window = FakeWindow::open(pid);
            window.until_live();
            window.set_level(&MethodSet::one(MethodIx(0)), true);
            let now = window.now();
            let Model { connections, log, .. } = &mut window.model;
            let ticket = connections.values_mut().next().expect("one connection").all_off(log, now);
            window.request(ConnectionRequest::AllOff(ticket));
            let said = window
                .until("the end of all off", |model| Some(model.log.newest(LogKind::AllOff)?.text.clone()));
            assert!(said.starts_with("all off: every dial is off in "), "{said}");
            assert!(said.ends_with("), 2 reverted to the original IL"), "{said}");
            drop(release);
            window.agent = None;
        },
    );
}

#[test]
fn another_process_with_that_pid_has_ended() {
    let (sender, updates) = UpdateSender::new(Arc::new(|| {}));
    let process = ProcessKey { pid: std::process::id(), start: 1 };
    let _agent = connection_thread::ConnectionThread::start(ConnectionId(1), process, sender);
    let mut model = Model::default();
    model.open(process, "test");
    while !matches!(model.current_process().map(|one| &one.session.status), Some(Status::Lost { .. })) {
        model.apply(updates.recv_timeout(PATIENCE).expect("an update"), Now::default());
    }
    let Some(Status::Lost { why, retry: Retry::Never, .. }) =
        model.current_process().map(|one| &one.session.status)
    else {
        panic!("{:?}", model.current_process().map(|one| &one.session.status))
    };
    assert!(why.contains("has ended"), "{why}");
}

/// The agent does not report on its own that nothing is held; it is asked when everything is off.
#[test]
fn releases_control_when_all_is_off() {
    let (seen, held) = (Mutex::default(), AtomicU64::new(0));
    serve_many(
        |_, end| answer_with_dials(end, &seen, Some(&held), |_| false),
        |pid| {
            let mut window = FakeWindow::open(pid);
            window.until_live();
            window.set_level(&MethodSet::one(MethodIx(0)), true);
            window.until("a status with one held dial", |model| {
                model.current_process()?.agent.as_ref().filter(|agent| agent.held == 1).map(drop)
            });
            assert_eq!(count(&seen, |command| matches!(command, Wire::ReleaseControl)), 0);
            // Wait for the following status, not for the answer, which says the same.
            window.model.connections.values_mut().for_each(|connection| connection.agent = None);
            window.request(ConnectionRequest::AllOff(Ticket(77)));
            window.until("a status without held dials", |model| {
                model.current_process()?.agent.as_ref().filter(|agent| agent.held == 0).map(drop)
            });
            // The request was sent before the status was reported and arrives before the connection ends.
            window.agent = None;
        },
    );
    assert_eq!(count(&seen, |command| matches!(command, Wire::ReleaseControl)), 1);
}
