//! Starting a program with the agent in it, and following what becomes of it.

use super::outlet::Outlet;
use super::tail::Tail;
use crate::link::checkout;
use crate::link::early::{Dials, Early};
use crate::link::launch::{self, Files, Mark, Wishes};
use crate::link::library;
use crate::link::unmatched::unmatched;
use crate::model::ids::Ticket;
use crate::model::update::{Launch, Update};
use crate::output::words;
use crate::signals::{self, Left};
use redial_protocol::dialset::print_order;
use redial_protocol::order::Order;
use redial_protocol::process;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the program and its agents' marks are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The same, once an agent is there.
const LOOK_LATER: Duration = Duration::from_millis(200);

/// What a stopped program started is given so long to end, before it is told that it has not.
const OUTLIVED: Duration = Duration::from_secs(2);
/// What a dial is called in sentences about it.
const DIAL: &str = "the dial";

/// What to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The program: a path, or a name to be found on the PATH.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it runs in; absent: this program's.
    pub folder: Option<PathBuf>,
    /// Variables added to its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Dials set before its first instruction; they are kept.
    pub orders: Vec<Order>,
    /// Whether programs that it starts get the agent too.
    pub children: bool,
}

/// How a launched program is to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is asked to end.
    Ask,
    /// It is ended.
    Kill,
}

/// A launched program's thread.
pub struct Launched {
    stop: Sender<Stop>,
    /// None: it could not be started.
    thread: Option<JoinHandle<()>>,
}

impl Launched {
    /// Has the program stopped; nothing where it has ended.
    pub fn stop(&self, stop: Stop) {
        let _ = self.stop.send(stop);
    }

    /// Whether the thread is gone, and with it the program.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Starts a program in a thread of its own, which can be told to stop it. Its input stays open, with nothing in it, for as
/// long as this program lives: it outlives this one unless it ends at the end of its input. What it writes is told, and
/// never makes it wait: what comes faster than it is told is left out. Once this program is gone nobody reads it, which a
/// .NET program does not mind.
pub fn start(ticket: Ticket, spec: LaunchSpec, outlet: Outlet) -> Launched {
    let (stop, stops) = channel();
    let tell = move |launch| drop(outlet.send(Update::Launch(ticket, launch)));
    let failed = tell.clone();
    let thread = std::thread::Builder::new().name("launch".into()).spawn(move || match begin(&spec, &tell) {
        Ok((child, files, tail)) => {
            let texts: Vec<String> = spec.orders.iter().map(print_order).collect();
            let dials =
                Dials { texts: texts.clone(), orders: spec.orders, what: DIAL, children: spec.children };
            let say = tell.clone();
            let early = Early::begin(dials, files.mark().to_owned(), move |text| {
                say(Launch::Unmatched { sentences: vec![text], ended: false });
            });
            let name = spec.program.to_string_lossy();
            follow((&name, child), (&files, &texts, early), &tail, &stops, &tell);
        }
        Err(why) => tell(Launch::Failed(why)),
    });
    let thread =
        thread.map_err(|error| failed(Launch::Failed(format!("no thread could be started: {error}")))).ok();
    Launched { stop, thread }
}

fn begin(spec: &LaunchSpec, tell: &impl Fn(Launch)) -> Result<(Child, Files, Tail), String> {
    let agent = library::find_here().map_err(|error| error.to_string())?;
    library::check(&agent)?;
    let wishes = Wishes { orders: spec.orders.clone(), children: spec.children, ..Wishes::default() };
    let files = Files::create(&wishes)
        .map_err(|error| format!("the dial set cannot be written for the agent: {error}"))?;
    let launcher = process::own_key().map_err(|error| error.to_string())?;
    let name = spec.program.to_string_lossy();
    if spec.program.is_empty() {
        return Err("there is no program to start".to_owned());
    }
    if let Some(folder) = spec.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(format!("{name} cannot be started: there is no folder {}", folder.display()));
    }
    let mut command = Command::new(&spec.program);
    // Nobody writes to the pipe: `follow` holds its end until the program or this one ends.
    command.args(&spec.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = &spec.folder {
        command.current_dir(folder);
    }
    signals::make_askable(&mut command);
    launch::prepare(&mut command, &agent, &wishes, launcher, &files);
    command.envs(spec.environment.iter().map(|(variable, value)| (variable, value)));
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{name}: there is no such program{}", checkout::instead_of(&name))
        }
        _ => format!("{name} cannot be started: {error}"),
    })?;
    tell(Launch::Started { pid: child.id() });
    let tail = Tail::default();
    let outputs = [
        child.stdout.take().map(|out| tail.read(out, false)),
        child.stderr.take().map(|out| tail.read(out, true)),
    ];
    for error in outputs.into_iter().flatten().filter_map(Result::err) {
        tell(Launch::Notice(format!("what {name} writes cannot be shown: {error}")));
    }
    Ok((child, files, tail))
}

fn follow(
    (name, mut child): (&str, Child),
    (files, dials, early): (&Files, &[String], Early),
    tail: &Tail,
    stops: &Receiver<Stop>,
    tell: &impl Fn(Launch),
) {
    let mut told = 0;
    let mut early = Some(early);
    let mut asked = false;
    let mut outlived: Option<Instant> = None;
    let mut told_of_others = false;
    loop {
        // The end first: what was noted before it is then surely read.
        let ended = match signals::left_of(&mut child) {
            Ok(Left::Child) => Ok(None),
            Ok(Left::Nobody(status)) => Ok(Some(status)),
            // It was asked to end for the sake of what it started: that is what is followed from now on.
            Ok(Left::Others(others)) if asked => {
                if outlived.get_or_insert_with(Instant::now).elapsed() >= OUTLIVED && !told_of_others {
                    told_of_others = true;
                    tell(Launch::Notice(outlives(name, others)));
                }
                Ok(None)
            }
            Ok(Left::Others(_)) => child.wait().map(Some),
            Err(error) => Err(error),
        };
        let text = std::fs::read_to_string(files.mark()).unwrap_or_default();
        let marks = launch::marks(&text);
        for mark in marks.iter().skip(told) {
            tell(match mark {
                Mark::Loaded(key) => Launch::Loaded(*key),
                Mark::Inert(why) => Launch::Notice(format!("the agent was loaded and does nothing: {why}")),
            });
        }
        told = told.max(marks.len());
        let has_ended = !matches!(ended, Ok(None));
        if has_ended {
            drop(early.take());
            if !dials.is_empty() {
                let left = unmatched(dials, &marks, &launch::noted(&text));
                let sentences = left.iter().map(|one| one.sentence(DIAL)).collect();
                tell(Launch::Unmatched { sentences, ended: true });
            }
        }
        if has_ended {
            tail.wait_for_end();
        }
        tail.take().into_iter().for_each(tell);
        match ended {
            Ok(None) => {
                let pause = if told == 0 && outlived.is_none() { LOOK } else { LOOK_LATER };
                match stops.recv_timeout(pause) {
                    Ok(stop) => {
                        asked = true;
                        tell(stopped(name, &mut child, stop));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    // Nobody is there any more who would stop it.
                    Err(RecvTimeoutError::Disconnected) => std::thread::sleep(pause),
                }
            }
            Ok(Some(status)) => {
                if told == 0 {
                    let text =
                        "it never loaded the agent: it is no .NET program, or its runtime ignores profilers";
                    tell(Launch::Notice(text.to_owned()));
                }
                tell(Launch::Ended { how: how(status) });
                return;
            }
            Err(error) => {
                tell(Launch::Ended { how: format!("unseen: {error}") });
                return;
            }
        }
    }
}

/// The signal that an exit code stands for, by the custom of shells and of .NET: 128 and its number.
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

/// Stops a child that was not seen to have ended; what there is to tell.
fn stopped(name: &str, child: &mut Child, stop: Stop) -> Launch {
    let done = match stop {
        Stop::Ask => signals::ask_to_end(child),
        Stop::Kill => signals::kill(child),
    };
    match done {
        Ok(()) => Launch::Stopping { killed: stop == Stop::Kill },
        Err(error) => Launch::Notice(not_stopped(name, stop, &error)),
    }
}

fn not_stopped(name: &str, stop: Stop, error: &std::io::Error) -> String {
    match stop {
        Stop::Ask => format!("{name} cannot be asked to end: {error}; “Kill” ends it"),
        Stop::Kill => format!("{name} cannot be killed: {error}"),
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
    fn what_cannot_be_stopped_is_named_and_what_else_to_do() {
        let error = std::io::Error::other("no console");
        assert_eq!(
            not_stopped("Shop", Stop::Ask, &error),
            "Shop cannot be asked to end: no console; “Kill” ends it"
        );
        assert_eq!(not_stopped("Shop", Stop::Kill, &error), "Shop cannot be killed: no console");
        assert_eq!(
            outlives("dotnet", 1),
            "dotnet has ended, and 1 process that it started still runs; “Kill” ends it"
        );
        assert!(outlives("sh", 2).contains("2 processes that it started still run; “Kill” ends them"));
    }
}
