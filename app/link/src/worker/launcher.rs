//! Starts a program with the agent and follows it until its end.

use super::output_reader::OutputTail;
use super::update_sender::UpdateSender;
use crate::checkout;
use crate::launch::{self, LaunchFiles, LaunchOptions, MarkEntry};
use crate::library;
use crate::signals::{self, Remainder};
use crate::unmatched::unmatched;
use crate::unmatched_monitor::{LaunchDials, UnmatchedMonitor};
use redial_model::ids::Ticket;
use redial_model::update::{LaunchUpdate, Update};
use redial_protocol::dialset::print_order;
use redial_protocol::order::Order;
use redial_protocol::process;
use redial_text::words;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often to check the program and its agents' marks.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The same once an agent is loaded.
const SLOW_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// How long child processes may outlive a stopped program before that is reported.
const OUTLIVE_GRACE: Duration = Duration::from_secs(2);
/// What messages call a dial.
const DIAL: &str = "the dial";

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The program: a path, or a name to look up on the PATH.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its working directory; the default is this program's.
    pub folder: Option<PathBuf>,
    /// Variables to add to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Dials to set before its first instruction; they are kept.
    pub orders: Vec<Order>,
    /// Whether child processes get the agent, too.
    pub children: bool,
}

/// How to stop a launched program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ask it to end.
    Ask,
    /// Kill it.
    Kill,
}

/// The thread of a launched program.
pub struct RunningProgram {
    stop: Sender<StopSignal>,
    /// `None` if the thread could not be started.
    thread: Option<JoinHandle<()>>,
}

impl RunningProgram {
    /// Stops the program if it still runs.
    pub fn stop(&self, stop: StopSignal) {
        let _ = self.stop.send(stop);
    }

    /// Returns whether the thread, and with it the program, has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Starts a program in its own thread, which can also stop it.
///
/// Its standard input stays open but empty for as long as this program lives. It outlives this program unless
/// it stops at the end of its input. Its output is passed on without ever blocking it: excess lines are
/// dropped. Nobody reads the output once this program is gone, which .NET programs tolerate.
pub fn start(ticket: Ticket, spec: LaunchSpec, sender: UpdateSender) -> RunningProgram {
    let (stop, stops) = channel();
    let report = move |launch| drop(sender.send(Update::Launch(ticket, launch)));
    let failed = report.clone();
    let thread =
        std::thread::Builder::new().name("launch".into()).spawn(move || match begin(&spec, &report) {
            Ok((child, files, tail)) => {
                let texts: Vec<String> = spec.orders.iter().map(print_order).collect();
                let dials = LaunchDials {
                    texts: texts.clone(),
                    orders: spec.orders,
                    what: DIAL,
                    children: spec.children,
                };
                let say = report.clone();
                let early = UnmatchedMonitor::begin(dials, files.mark().to_owned(), move |text| {
                    say(LaunchUpdate::Unmatched { sentences: vec![text], ended: false });
                });
                let name = spec.program.to_string_lossy();
                follow((&name, child), (&files, &texts, early), &tail, &stops, &report);
            }
            Err(why) => report(LaunchUpdate::Failed(why)),
        });
    let thread =
        thread.map_err(|error| failed(LaunchUpdate::Failed(format!("cannot start a thread: {error}")))).ok();
    RunningProgram { stop, thread }
}

fn begin(
    spec: &LaunchSpec,
    report: &impl Fn(LaunchUpdate),
) -> Result<(Child, LaunchFiles, OutputTail), String> {
    let agent = library::to_start(&spec.program)?;
    let wishes =
        LaunchOptions { orders: spec.orders.clone(), children: spec.children, ..LaunchOptions::default() };
    let files = LaunchFiles::create(&wishes)
        .map_err(|error| format!("the dial set cannot be written for the agent: {error}"))?;
    let launcher = process::own_key().map_err(|error| error.to_string())?;
    let name = spec.program.to_string_lossy();
    if spec.program.is_empty() {
        return Err("no program was given".to_owned());
    }
    if let Some(folder) = spec.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(format!("{name} cannot be started: the folder {} does not exist", folder.display()));
    }
    let mut command = Command::new(&spec.program);
    // Nobody writes to the pipe: `follow` holds its end until either program ends.
    command.args(&spec.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = &spec.folder {
        command.current_dir(folder);
    }
    signals::lead_process_group(&mut command);
    launch::prepare(&mut command, &agent, &wishes, launcher, &files);
    command.envs(spec.environment.iter().map(|(variable, value)| (variable, value)));
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{name}: program not found{}", checkout::replacement_for(&name))
        }
        _ => format!("{name} cannot be started: {error}"),
    })?;
    report(LaunchUpdate::Started { pid: child.id() });
    let tail = OutputTail::default();
    let outputs = [
        child.stdout.take().map(|out| tail.read(out, false)),
        child.stderr.take().map(|out| tail.read(out, true)),
    ];
    for error in outputs.into_iter().flatten().filter_map(Result::err) {
        report(LaunchUpdate::Notice(format!("the output of {name} cannot be shown: {error}")));
    }
    Ok((child, files, tail))
}

fn follow(
    (name, mut child): (&str, Child),
    (files, dials, early): (&LaunchFiles, &[String], UnmatchedMonitor),
    tail: &OutputTail,
    stops: &Receiver<StopSignal>,
    report: &impl Fn(LaunchUpdate),
) {
    let mut seen_marks = 0;
    let mut early = Some(early);
    let mut asked = false;
    let mut outlived: Option<Instant> = None;
    let mut reported_others = false;
    loop {
        // Check for the end first: then all earlier marks are certain to be read below.
        let ended = match signals::remainder_of(&mut child) {
            Ok(Remainder::Child) => Ok(None),
            Ok(Remainder::Nobody(status)) => Ok(Some(status)),
            // The stop request was also meant for its child processes; follow those from now on.
            Ok(Remainder::Others(others)) if asked => {
                if outlived.get_or_insert_with(Instant::now).elapsed() >= OUTLIVE_GRACE && !reported_others {
                    reported_others = true;
                    report(LaunchUpdate::Notice(outlives(name, others)));
                }
                Ok(None)
            }
            Ok(Remainder::Others(_)) => child.wait().map(Some),
            Err(error) => Err(error),
        };
        let text = std::fs::read_to_string(files.mark()).unwrap_or_default();
        let marks = launch::marks(&text);
        for mark in marks.iter().skip(seen_marks) {
            report(match mark {
                MarkEntry::Loaded(key) => LaunchUpdate::Loaded(*key),
                MarkEntry::Inert(why) => {
                    LaunchUpdate::Notice(format!("the agent was loaded but is inactive: {why}"))
                }
            });
        }
        seen_marks = seen_marks.max(marks.len());
        let has_ended = !matches!(ended, Ok(None));
        if has_ended {
            drop(early.take());
            if !dials.is_empty() {
                let left = unmatched(dials, &marks, &launch::parse_notes(&text));
                let sentences = left.iter().map(|one| one.sentence(DIAL)).collect();
                report(LaunchUpdate::Unmatched { sentences, ended: true });
            }
        }
        if has_ended {
            tail.wait_for_end();
        }
        tail.take().into_iter().for_each(report);
        match ended {
            Ok(None) => {
                let pause =
                    if seen_marks == 0 && outlived.is_none() { CHECK_INTERVAL } else { SLOW_CHECK_INTERVAL };
                match stops.recv_timeout(pause) {
                    Ok(stop) => {
                        asked = true;
                        report(stopped(name, &mut child, stop));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    // Nobody can stop it any more.
                    Err(RecvTimeoutError::Disconnected) => std::thread::sleep(pause),
                }
            }
            Ok(Some(status)) => {
                if seen_marks == 0 {
                    let text = "the program never loaded the agent: it is not a .NET program, or its runtime ignores profilers";
                    report(LaunchUpdate::Notice(text.to_owned()));
                }
                report(LaunchUpdate::Ended { how: how(status) });
                return;
            }
            Err(error) => {
                report(LaunchUpdate::Ended { how: format!("in an unknown way: {error}") });
                return;
            }
        }
    }
}

/// Names the signal behind an exit code, by the convention of shells and .NET: 128 plus its number.
fn by_signal(code: i32) -> &'static str {
    match code {
        _ if !cfg!(unix) => "",
        130 => " (SIGINT)",
        134 => " (SIGABRT)",
        137 => " (SIGKILL)",
        139 => " (SIGSEGV)",
        143 => " (SIGTERM)",
        _ => "",
    }
}

/// Stops a child that has not been seen to end; returns the update to send.
fn stopped(name: &str, child: &mut Child, stop: StopSignal) -> LaunchUpdate {
    let done = match stop {
        StopSignal::Ask => signals::terminate(child),
        StopSignal::Kill => signals::kill(child),
    };
    match done {
        Ok(()) => LaunchUpdate::Stopping { killed: stop == StopSignal::Kill },
        Err(error) => LaunchUpdate::Notice(not_stopped(name, stop, &error)),
    }
}

fn not_stopped(name: &str, stop: StopSignal, error: &std::io::Error) -> String {
    match stop {
        StopSignal::Ask => format!("{name} cannot be asked to end: {error}; “Kill” ends it"),
        StopSignal::Kill => format!("{name} cannot be killed: {error}"),
    }
}

fn outlives(name: &str, others: usize) -> String {
    let (them, run) = (words::them(others as u64), if others == 1 { "runs" } else { "run" });
    let processes = words::count(others as u64, "process", "processes");
    format!("{name} has ended, and {processes} that it started still {run}; “Kill” ends {them}")
}

fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("with code {code}{}", by_signal(code)),
        None => "without a code".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_how_to_stop_what_did_not_end() {
        let error = std::io::Error::other("no console");
        assert_eq!(
            not_stopped("Shop", StopSignal::Ask, &error),
            "Shop cannot be asked to end: no console; “Kill” ends it"
        );
        assert_eq!(not_stopped("Shop", StopSignal::Kill, &error), "Shop cannot be killed: no console");
        assert_eq!(
            outlives("dotnet", 1),
            "dotnet has ended, and 1 process that it started still runs; “Kill” ends it"
        );
        assert!(outlives("sh", 2).contains("2 processes that it started still run; “Kill” ends them"));
    }
}
