//! Traces several processes at once: one thread each, whose calls one thread prints.

use super::call_stream::{CallStream, Form};
use crate::change::ChangeRequest;
use crate::multi_process::{about, combined};
use crate::output::sentence;
use crate::target::TargetProcess;
use crate::traced_calls::CallLines;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use std::sync::mpsc::{Receiver, sync_channel};

/// The capacity of the channel, in pages. A thread blocks until its page is taken, and its agent drops and counts calls.
const WAITING: usize = 1;

/// Takes calls of a process in the form of the output and returns whether more are wanted.
pub type PrintOf<'p, C> = dyn FnMut(u32, Vec<C>) -> Result<bool, Failure> + 'p;

/// A message from the thread of a process.
enum TraceEvent<C> {
    Calls(u32, Vec<C>),
    Ended(Exit),
}

/// Traces all processes until each has ended, Ctrl-C, or enough calls of all together.
pub fn run<C: Send>(
    wanted: &ChangeRequest<'_>,
    members: &[TargetProcess],
    interrupts: &Interrupts,
    (lines, form): (&(dyn Fn(u32) -> CallLines + Sync), &Form<'_, C>),
    print: &mut PrintOf<'_, C>,
) -> Result<Exit, Failure> {
    let (sender, events) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        for member in members {
            let sender = sender.clone();
            scope.spawn(move || {
                let pid = member.key.pid;
                let say = |text: String| sentence(about(member, &text));
                let mut stream = CallStream::new(wanted, lines(pid), form, &say);
                let outcome = stream.run(pid, interrupts, &mut |calls| {
                    Ok(sender.send(TraceEvent::Calls(pid, calls)).is_ok())
                });
                let _ = sender.send(TraceEvent::Ended(exit(member, outcome)));
            });
        }
        drop(sender);
        // In a thread of its own: an interrupt waits for sessions whose calls wait for this thread.
        let stop = || drop(scope.spawn(|| interrupts.stop()));
        write(print, &events, stop)
    })
}

fn exit(member: &TargetProcess, outcome: Result<Exit, Failure>) -> Exit {
    outcome.unwrap_or_else(|failure| {
        sentence(about(member, &failure.to_string()));
        failure.exit()
    })
}

/// Prints the calls. When no more are wanted, stops the traces and waits until all have turned their dials off.
fn write<C>(
    print: &mut PrintOf<'_, C>,
    events: &Receiver<TraceEvent<C>>,
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
            TraceEvent::Calls(pid, calls) => print(pid, calls),
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
