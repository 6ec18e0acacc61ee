//! A thread for each of several processes: it asks for the numbers, and one that shows them hears of all.

use super::screen::Drawn;
use super::{PROGRAM, announce, arguments, ended, watch};
use crate::cli::several::about;
use crate::cli::target::Member;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::model::dials::Dials;
use crate::output::sentence;
use crate::signals::Interrupts;
use std::sync::Once;
use std::sync::mpsc::{Receiver, sync_channel};

/// Folds that wait to be taken; whoever has more waits itself, and its agent leaves updates out and counts them.
const WAITING: usize = 64;

/// What a process's thread has to tell: its place among all, and what.
pub type News<N> = (usize, What<N>);

/// What is told of a process.
pub enum What<N> {
    /// Its numbers, made of its dials.
    Numbers(N),
    /// It is watched no more.
    Ended(Result<Exit, Failure>),
}

/// Watches all of them until `take`, which hears what they tell, has ended; what that gave. `numbers` gives for a process
/// what makes numbers of its dials.
pub fn watch_each<N: Send, M: FnMut(&Dials) -> Result<N, Failure>>(
    members: &[Member],
    arguments: &arguments::Watch,
    interrupts: &Interrupts,
    numbers: impl Fn(&Member) -> M + Sync,
    take: impl FnOnce(&Receiver<News<N>>) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let (sender, news) = sync_channel(WAITING);
    let announced = Once::new();
    let connected = || announced.call_once(|| announce(arguments.interval));
    std::thread::scope(|scope| {
        for (place, member) in members.iter().enumerate() {
            let (sender, numbers, connected) = (sender.clone(), &numbers, &connected);
            scope.spawn(move || {
                let outcome = one(member, arguments, interrupts, connected, numbers(member), |numbers| {
                    sender.send((place, What::Numbers(numbers))).map_err(|_| Failure::ClosedPipe)
                });
                // Nobody listens any more when the output was closed, or enough was written.
                let _ = sender.send((place, What::Ended(outcome)));
            });
        }
        drop(sender);
        let taken = take(&news);
        drop(news);
        interrupts.stop();
        taken
    })
}

fn one<N>(
    member: &Member,
    arguments: &arguments::Watch,
    interrupts: &Interrupts,
    connected: impl Fn(),
    mut numbers: impl FnMut(&Dials) -> Result<N, Failure>,
    send: impl Fn(N) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let mut session = connect::open(member.key.pid, PROGRAM)?;
    interrupts.deliver_to(session.interrupter());
    connected();
    let show = &mut |dials: &_| send(numbers(dials)?);
    ended(watch(&mut session, arguments, show, &|text| sentence(about(member, &text))))
}

/// The exit code of a process that is watched no more. A failure is said, and what stood on the terminal stays above it.
pub fn exit(member: &Member, outcome: Result<Exit, Failure>, drawn: &mut Drawn) -> Exit {
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            if matches!(failure, Failure::Sentence { .. }) {
                *drawn = Drawn(0);
                sentence(about(member, &failure.to_string()));
            }
            failure.exit()
        }
    }
}
