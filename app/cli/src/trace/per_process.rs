//! Traces several processes at once: one thread each, whose lines one thread prints.

use super::call_stream::CallStream;
use super::printer::{CallPrinter, call_lines};
use crate::arguments;
use crate::change::ChangeRequest;
use crate::multi_process::{about, combined};
use crate::output::sentence;
use crate::target::TargetProcess;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use std::sync::mpsc::{Receiver, sync_channel};

/// The capacity of the channel, in pages. A thread blocks until its page is taken, and its agent drops and counts calls.
const WAITING: usize = 1;
/// Columns of the process id and its gap.
const PID_COLUMNS: usize = 10;

/// A message from the thread of a process.
enum TraceEvent {
    Calls(u32, Vec<String>),
    Ended(Exit),
}

/// Traces all processes until each has ended, Ctrl-C, or enough calls of all together.
pub fn run(
    wanted: &ChangeRequest<'_>,
    arguments: &arguments::TraceArguments,
    interrupts: &Interrupts,
) -> Result<Exit, Failure> {
    let members = arguments.target.find()?;
    let (sender, events) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        for member in &members {
            let sender = sender.clone();
            scope.spawn(move || {
                let pid = member.key.pid;
                let say = |text: String| sentence(about(member, &text));
                let lines = call_lines(pid, arguments, PID_COLUMNS);
                let mut stream = CallStream::new(wanted, lines, &say);
                let outcome = stream.run(pid, interrupts, &mut |lines| {
                    Ok(sender.send(TraceEvent::Calls(pid, lines)).is_ok())
                });
                let _ = sender.send(TraceEvent::Ended(exit(member, outcome)));
            });
        }
        drop(sender);
        // In a thread of its own: an interrupt waits for sessions whose lines wait for this thread.
        let stop = || drop(scope.spawn(|| interrupts.stop()));
        write(CallPrinter::new(arguments), arguments.json, &events, stop)
    })
}

fn exit(member: &TargetProcess, outcome: Result<Exit, Failure>) -> Exit {
    outcome.unwrap_or_else(|failure| {
        sentence(about(member, &failure.to_string()));
        failure.exit()
    })
}

/// Prints the calls. When no more are wanted, stops the traces and waits until all have turned their dials off.
fn write(
    mut printer: CallPrinter,
    json: bool,
    events: &Receiver<TraceEvent>,
    stop: impl Fn(),
) -> Result<Exit, Failure> {
    let mut exits = Vec::new();
    let mut failed = None;
    let mut stopped = false;
    while let Ok(event) = events.recv() {
        let more = match event {
            TraceEvent::Ended(exit) => {
                exits.push(exit);
                continue;
            }
            TraceEvent::Calls(..) if stopped => continue,
            TraceEvent::Calls(_, lines) if json => printer.print("", lines),
            TraceEvent::Calls(pid, lines) => printer.print(&format!("{pid:>8}  "), lines),
        };
        if !matches!(more, Ok(true)) {
            stopped = true;
            stop();
        }
        failed = failed.or(more.err());
    }
    match failed {
        Some(failure) => Err(failure),
        None => Ok(combined(exits.into_iter())),
    }
}
