//! One thread per process requests numbers and sends them to the thread that shows all of them.

use super::screen::DrawnLines;
use super::stream::{PROGRAM, announce, ended, watch};
use crate::arguments;
use crate::multi_process::about;
use crate::output::sentence;
use crate::target::TargetProcess;
use redial_link::connect;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_model::dials::DialledCopies;
use std::sync::Once;
use std::sync::mpsc::{Receiver, sync_channel};

/// The capacity of the channel, in snapshots: each may be large, so none waits there. A thread blocks until its
/// snapshot is taken, and its agent drops and counts updates.
const WAITING: usize = 0;

/// A message from the thread of a process, with the process's index.
pub type WatchMessage<N> = (usize, WatchEvent<N>);

/// The content of a message.
pub enum WatchEvent<N> {
    /// The numbers of the process.
    Numbers(N),
    /// The watch of the process ended.
    Ended(Result<Exit, Failure>),
}

/// Watches all processes until `take`, which receives the messages, returns; returns its result. `numbers` returns a
/// function that turns the dials of a process into numbers.
pub fn watch_each<N: Send, M: FnMut(&DialledCopies) -> Result<N, Failure>>(
    members: &[TargetProcess],
    arguments: &arguments::WatchArguments,
    interrupts: &Interrupts,
    numbers: impl Fn(&TargetProcess) -> M + Sync,
    take: impl FnOnce(&Receiver<WatchMessage<N>>) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let (sender, messages) = sync_channel(WAITING);
    let announced = Once::new();
    let connected = || announced.call_once(|| announce(arguments.interval));
    std::thread::scope(|scope| {
        for (place, member) in members.iter().enumerate() {
            let (sender, numbers, connected) = (sender.clone(), &numbers, &connected);
            scope.spawn(move || {
                let outcome = one(member, arguments, interrupts, connected, numbers(member), |numbers| {
                    sender.send((place, WatchEvent::Numbers(numbers))).map_err(|_| Failure::ClosedPipe)
                });
                // The receiver is gone if the output was closed or the count was reached.
                let _ = sender.send((place, WatchEvent::Ended(outcome)));
            });
        }
        drop(sender);
        let taken = take(&messages);
        drop(messages);
        interrupts.stop();
        taken
    })
}

fn one<N>(
    member: &TargetProcess,
    arguments: &arguments::WatchArguments,
    interrupts: &Interrupts,
    connected: impl Fn(),
    mut numbers: impl FnMut(&DialledCopies) -> Result<N, Failure>,
    send: impl Fn(N) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let mut session = connect::open(member.key.pid, PROGRAM)?;
    interrupts.deliver_to(session.interrupter());
    connected();
    let show = &mut |dials: &_| send(numbers(dials)?);
    ended(watch(&mut session, arguments, show, &|text| sentence(about(member, &text))))
}

/// Returns the exit code of a process whose watch ended. Prints a failure below the lines on the terminal.
pub fn exit(member: &TargetProcess, outcome: Result<Exit, Failure>, drawn: &mut DrawnLines) -> Exit {
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            if matches!(failure, Failure::Sentence { .. }) {
                *drawn = DrawnLines(0);
                sentence(about(member, &failure.to_string()));
            }
            failure.exit()
        }
    }
}
