//! The window without its screen: worker threads feed the model, with a real agent in a real process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_link::worker::{LaunchSpec, Worker, WorkerCommand};
use redial_model::Model;
use redial_model::connection::{Connection, Status, UndoStep};
use redial_model::ids::{ConnectionId, MethodIx, SubjectId};
use redial_model::list::Filter;
use redial_model::log::LogKind;
use redial_model::method_set::MethodSet;
use redial_model::update::{Now, Retry};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand as Wire};
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::DEADLINE;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost};
use redial_testbed::{artefacts, programs, truth};

/// Every clerk calls Cart.Add in every round.
const ADD: &str = "Shop!Shop.Cart.Add(int)";

struct Window {
    model: Model,
    worker: Worker,
    began: Instant,
    woken: Arc<AtomicU64>,
}

impl Window {
    fn open() -> Result<Window> {
        let woken = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&woken);
        let wake = Arc::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        Ok(Window { model: Model::default(), worker: Worker::start(wake)?, began: Instant::now(), woken })
    }

    fn now(&self) -> Now {
        Now { mono: self.began.elapsed(), unix_ms: 0 }
    }

    /// Takes updates until `found` returns a value.
    fn until<T>(&mut self, what: &str, found: impl Fn(&Model) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let now = self.now();
            self.model.refresh(now);
            if let Some(answer) = found(&self.model) {
                return Ok(answer);
            }
            ensure!(Instant::now() < deadline, "{what} did not come; the log is {:#?}", self.log());
            if let Some(update) = self.worker.wait(Duration::from_millis(100)) {
                self.model.apply(update, self.now());
            }
        }
    }

    fn until_connection<T>(&mut self, what: &str, found: impl Fn(&Connection) -> Option<T>) -> Result<T> {
        self.until(what, |model| found(model.current_process()?))
    }

    fn log(&self) -> Vec<String> {
        let entries = self.model.log.entries().iter().rev().take(40).rev();
        entries.map(|entry| format!("{:?} {}", entry.kind, entry.text)).collect()
    }

    /// Finds the process in the list, connects, and waits for the whole catalogue.
    fn connect(&mut self, pid: u32) -> Result<ConnectionId> {
        let (process, name) = self.until("the process with its agent", |model| {
            let row = model.processes.by_pid(pid)?;
            row.agent.can_connect().then(|| (row.key, row.name.clone()))
        })?;
        let (connection, new) = self.model.open(process, &name);
        ensure!(new, "there was a connection already");
        self.worker.send(WorkerCommand::Connect { connection, process });
        self.until_connection("the catalogue", |connection| {
            (connection.session.status == Status::Live && connection.table.catalogue.is_complete())
                .then_some(())
        })?;
        Ok(connection)
    }

    fn current_connection(&mut self) -> Result<&mut Connection> {
        self.model.current_process_mut().context("no connection is looked at")
    }

    /// Returns the only method that a filter leaves.
    fn find(&mut self, text: &str) -> Result<MethodIx> {
        let now = self.now();
        let connection = self.current_connection()?;
        connection.table.set_filter(Filter { text: text.to_owned(), ..Filter::default() });
        connection.refresh(now);
        ensure!(connection.table.list.len() == 1, "{text} leaves {} methods", connection.table.list.len());
        let method = connection.table.list.at(0).context("there is one")?;
        let name = connection.table.catalogue.full_name(method).text;
        ensure!(name == text, "{text} leaves {name}");
        Ok(method)
    }

    fn set_level(&mut self, method: MethodIx, level: Level, take: bool) -> Result<()> {
        let now = self.now();
        let Model { connections, current, log, .. } = &mut self.model;
        let connection = current
            .and_then(SubjectId::process)
            .and_then(|id| connections.get_mut(&id))
            .context("no connection")?;
        let change = connection
            .set_level(&connection.table.targets_for(&MethodSet::one(method)), level, take, log, now)
            .map_err(anyhow::Error::msg)?;
        let dial = connection.table.dial(method);
        ensure!(dial.pending && dial.wanted == level, "it is pending before anything was sent: {dial:?}");
        self.worker.send(WorkerCommand::Change(change));
        Ok(())
    }

    fn until_dial(&mut self, method: MethodIx, wanted: Level, state: CopyState) -> Result<()> {
        self.until_connection(&format!("{wanted} and {state}"), |connection| {
            let dial = connection.table.dial(method);
            (dial.wanted == wanted && dial.state == state && !dial.pending).then_some(())
        })
    }

    fn calls(&mut self, method: MethodIx) -> Result<u64> {
        Ok(self.current_connection()?.table.dial(method).row.map_or(0, |row| row.calls))
    }
}

fn shop() -> Result<LiveHost> {
    let mut command = programs::shop()?.command(Runtime::V8_0)?;
    command.args(["--live", "--threads", "2"]);
    under_agent::start(command)
}

#[test]
fn dial_counts_exactly_and_all_goes_off() -> Result<()> {
    let mut live = shop()?;
    let mut window = Window::open()?;
    window.connect(live.pid)?;
    let mut controller = live.controller()?;
    let Reply::Modules { modules, .. } = controller.ask(Wire::Modules)?.reply else {
        anyhow::bail!("no modules")
    };
    let all: u64 = modules.iter().map(|module| u64::from(module.methods)).sum();
    let loaded = window.current_connection()?.table.catalogue.len() as u64;
    ensure!(loaded == all && all > 20_000, "{loaded} of {all} methods are in the list");

    let add = window.find(ADD)?;
    window.set_level(add, Level::Count, false)?;
    // Nothing calls it yet: a row that goes live has no transition to report.
    window.until_dial(add, Level::Count, CopyState::Asked)?;
    live.host.ask("round 1", "done")?;
    window.until_dial(add, Level::Count, CopyState::Live)?;
    live.host.ask("truth-reset", "reset")?;
    let before = window.until_connection("the calls up to here", |connection| {
        connection.table.live.of_method(add).map(|row| row.calls)
    })?;
    // Calls from before the reset may still arrive; wait for the same reading twice.
    let row = controller.row(ADD)?;
    window.until_connection("the calls the agent has", |connection| {
        (connection.table.live.of_method(add)?.calls == row.calls).then_some(())
    })?;
    ensure!(before <= row.calls, "{before} of {}", row.calls);
    live.host.ask("round 50", "done")?;
    let truth = truth::ask(&mut live.host, "truth")?;
    let expected = *truth.get("Shop.Cart.Add(int)").context("Shop knows Cart.Add(int)")?;
    ensure!(expected >= 100, "{truth:?}");
    window.until_connection("the exact number of calls", |connection| {
        (connection.table.live.of_method(add)?.calls == row.calls + expected).then_some(())
    })?;
    let connection = window.current_connection()?;
    ensure!(connection.update_rate() > 0.0 && connection.session.latency.is_some());
    let dial = connection.table.dial(add);
    let series = dial.row.and_then(|row| row.series.as_ref()).context("a sparkline")?;
    ensure!(series.at(connection.table.live.tick()).any(|rate| rate > 0.0), "{series:?}");

    let now = window.now();
    let Model { connections, current, log, .. } = &mut window.model;
    let connection = current
        .and_then(SubjectId::process)
        .and_then(|id| connections.get_mut(&id))
        .context("no connection")?;
    let (id, ticket) = (connection.id, connection.all_off(log, now));
    window.worker.send(WorkerCommand::AllOff(id, ticket));
    window.until_dial(add, Level::Off, CopyState::Off)?;
    let counted = window.calls(add)?;
    live.host.ask("round 5", "done")?;
    let folds = window.current_connection()?.table.live.folds();
    window.until_connection("two more folds", |connection| {
        (connection.table.live.folds() >= folds + 2).then_some(())
    })?;
    ensure!(window.calls(add)? == counted, "it counts on though it is off");
    window.until_connection("control given back", |connection| {
        connection.control.holder.is_none().then_some(())
    })?;
    ensure!(window.woken.load(Ordering::SeqCst) > 0);
    let log = window.log();
    for part in ["Request count on", "Answer count on", "pending → live", "every dial is off"] {
        ensure!(log.iter().any(|line| line.contains(part)), "nothing of {part:?} in {log:#?}");
    }
    Ok(())
}

#[test]
fn held_dials_end_with_the_connection_and_undo_restores() -> Result<()> {
    let mut live = shop()?;
    let mut window = Window::open()?;
    let id = window.connect(live.pid)?;
    let mut watcher = live.controller()?;
    watcher.subscribe(None)?;
    let wanted = |watcher: &mut Controller, level: Level| {
        watcher.wait_until(&format!("{ADD} at {level}"), |dials| {
            dials.values().any(|row| row.method == "Shop.Cart.Add" && row.wanted == level)
        })
    };
    let add = window.find(ADD)?;
    window.set_level(add, Level::Count, false)?;
    wanted(&mut watcher, Level::Count)?;
    window.until_connection("the answer", |connection| {
        (connection.table.changes.undoable().is_some() && !connection.table.dial(add).pending).then_some(())
    })?;
    for (redo, level) in [(false, Level::Off), (true, Level::Count)] {
        let now = window.now();
        let Model { connections, log, .. } = &mut window.model;
        let connection = connections.get_mut(&id).context("no connection")?;
        window.worker.send(match connection.undo(redo, log, now).map_err(anyhow::Error::msg)? {
            UndoStep::UndoChange { ticket, of } => WorkerCommand::UndoChange(id, ticket, of),
            UndoStep::Change(change) => WorkerCommand::Change(change),
            UndoStep::AllOff(ticket) => WorkerCommand::AllOff(id, ticket),
        });
        wanted(&mut watcher, level)?;
        window.until_connection("its answer", |connection| {
            let dial = connection.table.dial(add);
            (dial.wanted == level && !dial.pending).then_some(())
        })?;
    }
    live.host.ask("round 1", "done")?;
    window.until_dial(add, Level::Count, CopyState::Live)?;
    window.worker.send(WorkerCommand::Disconnect(id));
    window.model.close(id);
    wanted(&mut watcher, Level::Off)
}

#[test]
fn reports_refusals_and_control_in_sentences() -> Result<()> {
    let live = shop()?;
    let mut window = Window::open()?;
    window.connect(live.pid)?;
    let helper = window.find(
        "System.Private.CoreLib!System.Runtime.CompilerServices.CastHelpers.StelemRef(System.Array, nint, object)",
    )?;
    window.set_level(helper, Level::Count, false)?;
    let said = window
        .until("a refusal", |model| model.log.newest(LogKind::Refusal).map(|entry| entry.text.clone()))?;
    ensure!(said.contains("the runtime itself calls it"), "{said}");
    window.until_dial(helper, Level::Count, CopyState::Refused)?;
    let mut other = live.controller()?;
    // The window releases control once it knows that nothing is on.
    other.subscribe(None)?;
    if other.agent_status()?.control.is_some() {
        other
            .wait_for("that control is free", |event| matches!(event, Event::Control(None)).then_some(()))?;
    }
    let add = window.find(ADD)?;
    other.dial(ADD, Level::Count, Lifetime::Held)?;
    window.set_level(add, Level::Count, false)?;
    let holder = window.until_connection("that another has control", |connection| {
        connection.last_refusal()?.1.holder.clone()
    })?;
    ensure!(holder.pid == std::process::id() && holder.program == "redial testbed", "{holder:?}");
    window.set_level(add, Level::Count, true)?;
    window.until_connection("control", |connection| {
        (connection.control.holder.as_ref()?.program == "redial app").then_some(())
    })
}

#[test]
fn killed_process_stays_lost() -> Result<()> {
    let mut live = shop()?;
    let mut window = Window::open()?;
    window.connect(live.pid)?;
    let pid = live.pid;
    live.host.kill();
    let why = window.until_connection("the loss", |connection| match &connection.session.status {
        Status::Lost { why, retry: Retry::Never, .. } => Some(why.clone()),
        _ => None,
    })?;
    ensure!(why.contains("has ended"), "{why}");
    window.until("the row to go", |model| model.processes.by_pid(pid).is_none().then_some(()))
}

#[test]
fn later_module_joins_the_list() -> Result<()> {
    let mut live = shop()?;
    let mut window = Window::open()?;
    let id = window.connect(live.pid)?;
    let before = window.current_connection()?.table.catalogue.len();
    live.host.say("load-plugin")?;
    window.worker.send(WorkerCommand::Reload(id));
    window.until_connection("the plug-in's methods", |connection| {
        let plugin = connection.table.catalogue.modules().iter().find(|module| module.name == "Plugin")?;
        (!plugin.methods.is_empty() && connection.table.catalogue.len() > before).then_some(())
    })
}

#[test]
fn launches_a_program_with_dials_and_the_agent() -> Result<()> {
    // The window finds the library by this variable, or beside the program.
    if std::env::var_os("REDIAL_AGENT").is_none() {
        ensure!(artefacts::agent()?.is_file());
    }
    let command = programs::shop()?.command(Runtime::V8_0)?;
    let mut arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    arguments.extend(["--exact", "200", "--threads", "1"].map(Into::into));
    let spec = LaunchSpec {
        program: command.get_program().to_owned(),
        arguments,
        environment: command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect(),
        orders: vec![Order::new("Shop!*", Level::Count), Order::new("Shop!Shop.Cart.Ad", Level::Count)],
        ..LaunchSpec::default()
    };
    let mut window = Window::open()?;
    let ticket = window.model.begin_launch("Shop", window.now());
    window.worker.send(WorkerCommand::Launch(ticket, spec));
    let key: ProcessKey =
        window.until("the agent", |model| model.launched.get(&ticket).and_then(|one| one.agent))?;
    let launched = window.model.launched.get(&ticket).context("it was launched")?;
    ensure!(launched.pid == Some(key.pid), "{launched:?}");
    let ended = window.until("the end", |model| model.launched.get(&ticket)?.ended.clone())?;
    ensure!(ended == "with code 0", "{ended}");
    // Unmatched dials are reported with suggestions.
    let notes = window.model.log.entries().iter().filter(|entry| entry.kind == LogKind::Notice);
    // A program that runs long enough also gets the report while it runs.
    let notes = notes.filter(|entry| !entry.text.contains(" matched nothing at startup"));
    let notes: Vec<&str> = notes.map(|entry| entry.text.as_str()).collect();
    let expected = "the dial 'Shop!Shop.Cart.Ad = count' matched nothing; did you mean 'Shop!Shop.Cart.Add";
    ensure!(notes.len() == 1 && notes.iter().all(|note| note.starts_with(expected)), "{notes:?}");
    let output = window.model.output.lines();
    ensure!(!output.is_empty() && output.iter().all(|line| line.pid == key.pid), "what it wrote: {output:?}");
    let missing = LaunchSpec { program: "there-is-no-such-program".into(), ..LaunchSpec::default() };
    let ticket = window.model.begin_launch("nothing", window.now());
    window.worker.send(WorkerCommand::Launch(ticket, missing));
    let why = window.until("the failure", |model| model.launched.get(&ticket)?.ended.clone())?;
    ensure!(why.contains("program not found"), "{why}");
    Ok(())
}

/// Shop, started as by the launch dialog, ends at the end of its input, which stays open as long as the window.
#[test]
fn launched_program_keeps_its_input_open() -> Result<()> {
    let command = programs::shop()?.command(Runtime::V8_0)?;
    let spec = LaunchSpec {
        program: command.get_program().to_owned(),
        arguments: command.get_args().map(ToOwned::to_owned).collect(),
        environment: command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect(),
        ..LaunchSpec::default()
    };
    let mut window = Window::open()?;
    let ticket = window.model.begin_launch("Shop", window.now());
    window.worker.send(WorkerCommand::Launch(ticket, spec));
    // The load reports its end some seconds after it started to read.
    let ended = window.until("the load", |model| {
        let ended = model.launched.get(&ticket)?.ended.clone();
        let open = model.output.lines().iter().any(|line| line.written.text.contains("Plugin.dll is loaded"));
        (open || ended.is_some()).then_some(ended)
    })?;
    ensure!(ended.is_none(), "it ended at once: {ended:?}");
    Ok(())
}

/// First asked to end, so that it can clean up, then killed, however it handles signals.
#[test]
#[cfg(target_os = "linux")]
fn launched_program_is_asked_to_end_then_killed() -> Result<()> {
    let shell = |script: &str| LaunchSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        ..LaunchSpec::default()
    };
    let mut window = Window::open()?;
    let polite = "trap 'echo closing; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    // Its child receives the signal too, although the launcher passes nothing on.
    let launcher = format!("sh -c \"{polite}\"; exit 4");
    for (script, kills, how) in
        [(polite, false, "with code 3"), (stubborn, true, "by signal 9"), (&launcher, false, "by signal 15")]
    {
        let ticket = window.model.begin_launch("sh", window.now());
        window.worker.send(WorkerCommand::Launch(ticket, shell(script)));
        let pid = window.until("the start", |model| model.launched.get(&ticket)?.pid)?;
        let wrote = |model: &Model, what: &str| {
            let mut lines = model.output.lines().iter().filter(|line| line.pid == pid);
            lines.any(|line| line.written.text == what).then_some(())
        };
        window.until("its first line", |model| wrote(model, "ready"))?;
        let to_stop: Vec<_> = window.model.launched_to_stop().into_iter().map(|(one, _)| one).collect();
        ensure!(to_stop == [ticket], "{to_stop:?}");
        let now = window.now();
        ensure!(window.model.begin_stop(ticket, now) == Some(false), "it is asked first");
        window.worker.send(WorkerCommand::Stop(ticket, redial_link::worker::StopSignal::Ask));
        window.until("that it was asked", |model| {
            let mut entries = model.log.entries().iter().rev();
            entries.any(|entry| entry.text.starts_with("asked sh to end")).then_some(())
        })?;
        if kills {
            ensure!(window.model.begin_stop(ticket, now).is_none(), "not at once");
            let later = Now { mono: now.mono + Duration::from_secs(2), ..now };
            ensure!(window.model.begin_stop(ticket, later) == Some(true), "then killed");
            window.worker.send(WorkerCommand::Stop(ticket, redial_link::worker::StopSignal::Kill));
        }
        let ended = window.until("the end", |model| model.launched.get(&ticket)?.ended.clone())?;
        ensure!(ended == how, "{ended}");
        ensure!(kills || wrote(&window.model, "closing").is_some(), "what it says at its end is shown");
        ensure!(window.model.begin_stop(ticket, now).is_none(), "it has ended");
        window.worker.send(WorkerCommand::Stop(ticket, redial_link::worker::StopSignal::Kill));
        window.model.output = Default::default();
    }
    Ok(())
}

/// A program that writes endlessly never waits for a window that reads nothing; lost lines are counted.
#[test]
#[cfg(target_os = "linux")]
fn flooding_program_does_not_wait_for_the_window() -> Result<()> {
    const LINES: u64 = 300_000;
    let script = format!("yes 'a line of output' | head -n {LINES}; echo last words >&2");
    let spec = LaunchSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        ..LaunchSpec::default()
    };
    let mut window = Window::open()?;
    let ticket = window.model.begin_launch("sh", window.now());
    window.worker.send(WorkerCommand::Launch(ticket, spec));
    let pid = window.until("the start", |model| model.launched.get(&ticket)?.pid)?;
    // It ends although nothing is read; at most its exit status remains to be collected.
    let deadline = Instant::now() + DEADLINE;
    while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        ensure!(Instant::now() < deadline, "it waits");
        std::thread::sleep(Duration::from_millis(5));
    }
    window.until("the end", |model| model.launched.get(&ticket)?.ended.clone())?;
    let output = &window.model.output;
    let errors: Vec<&str> = output
        .lines()
        .iter()
        .filter(|line| line.written.error)
        .map(|line| line.written.text.as_str())
        .collect();
    ensure!(errors == ["last words"], "{errors:?}");
    let all = output.lines().len() as u64 + output.gone();
    ensure!(all == LINES + 1, "{all} lines are accounted for");
    Ok(())
}

#[test]
fn suggests_actions_for_processes_without_agent() -> Result<()> {
    for (runtime, state, part) in [
        (Runtime::V8_0, "attachable", "which can be loaded now"),
        (Runtime::V2_1, "launch-only", "loads the agent only when the program starts"),
    ] {
        let mut command = programs::shop()?.command(runtime)?;
        command.args(["--live", "--threads", "1"]);
        let mut host = redial_testbed::host::Host::start(command)?;
        let pid: u32 = host.wait_for("ready")?.parse()?;
        let mut window = Window::open()?;
        let row = window.until("the process", |model| {
            let row = model.processes.by_pid(pid)?;
            (row.agent.word() == state).then(|| row.clone())
        })?;
        ensure!(row.runtime.as_ref().is_some_and(|runtime| runtime.tested), "{row:?}");
        ensure!(row.agent.reason().unwrap_or(row.agent.meaning()).contains(part), "{row:?}");
    }
    Ok(())
}
