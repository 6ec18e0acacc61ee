//! `redial watch`: the numbers as they change. It reads only; ending it changes no dial.

mod notes;
pub mod screen;
mod several;
mod sum;
mod threads;

use super::{arguments, duration, status};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::model::dials::{Change, Dials};
use crate::output::table::printable;
use crate::output::{sentence, words};
use crate::signals::Interrupts;
use redial_protocol::message::{Command, Event, Reply};
use screen::Screen;
use std::time::{Duration, Instant};

/// What this is called among an agent's controllers.
const PROGRAM: &str = "redial watch";

/// Longest interval, in milliseconds, whose first numbers are waited for without a word.
const LONG_MS: u32 = 2_000;

/// Watches until Ctrl-C, `--count`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::Watch) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let interrupts = Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    match arguments.target.only() {
        _ if arguments.sum => sum::run(arguments, &interrupts),
        Some(pid) => {
            let mut screen = Screen::new(pid, arguments);
            let mut session = connect::open(pid, PROGRAM)?;
            interrupts.deliver_to(session.interrupter());
            announce(arguments.interval);
            ended(watch(&mut session, arguments, &mut |dials| screen.show(dials), &|text| sentence(text)))
        }
        None => several::run(arguments, &interrupts),
    }
}

/// Says when the first numbers come, where that takes a while.
fn announce(interval_ms: u32) {
    if interval_ms > LONG_MS {
        let first = duration::words(interval_ms.into());
        sentence(format!("the first numbers come in {first}: a rate needs two looks"));
    }
}

/// How a watch ends that ended so.
fn ended(outcome: Result<Exit, Stop>) -> Result<Exit, Failure> {
    match outcome {
        Ok(exit) => Ok(exit),
        Err(Stop::Link(LinkError::Interrupted)) => Ok(Exit::Done),
        Err(Stop::Link(error)) => Err(error.into()),
        Err(Stop::Output(failure)) => Err(failure),
    }
}

/// Why the watch stopped before its count.
enum Stop {
    Link(LinkError),
    Output(Failure),
}

impl From<LinkError> for Stop {
    fn from(error: LinkError) -> Self {
        Stop::Link(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Output(failure)
    }
}

/// Shows the numbers with `show`, as they change, from the first that have rates on; what there is to remark is told to `say`.
fn watch(
    session: &mut Session,
    arguments: &arguments::Watch,
    show: &mut dyn FnMut(&Dials) -> Result<(), Failure>,
    say: &dyn Fn(String),
) -> Result<Exit, Stop> {
    let interval = Duration::from_millis(arguments.interval.into());
    let mut dials = Dials::default();
    dials.calls_cost(status::ask_costs(session)?);
    session
        .tell(Command::Subscribe { pattern: arguments.pattern.clone(), interval_ms: arguments.interval })?;
    while let Some(event) = session.next(Some(Instant::now()))? {
        dials.apply(event);
    }
    let pattern = arguments.pattern.as_deref();
    if let Some(pattern) = pattern.filter(|_| dials.is_empty()) {
        let why = unmatched(session, pattern)?;
        say(why);
    }
    let mut pace = Pace::new(interval);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    loop {
        match next_fold(session, &mut dials, &mut pace) {
            Ok(()) => show(&dials)?,
            // The last numbers came with the goodbye, or never will.
            Err(error @ LinkError::Ended(_)) => {
                show(&dials)?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
        left -= 1;
        if left == 0 {
            return match pattern.filter(|_| dials.is_empty()) {
                Some(pattern) => {
                    let why = format!("no dialled method matched '{}' in all that time", printable(pattern));
                    Err(Failure::new(Exit::NothingMatched, why).into())
                }
                None => Ok(Exit::Done),
            };
        }
    }
}

const GOES_ON: &str = "watching goes on, for what is dialled later";

/// Why a pattern matches no dialled method, and what to do about it.
fn unmatched(session: &mut Session, pattern: &str) -> Result<String, Stop> {
    let dialled = status::ask_rows(session, None)?;
    let command = Command::Methods { pattern: Some(pattern.to_owned()), limit: 1 };
    let Reply::Methods { matched, suggestions } = session.ask(command, &mut |_| {})? else {
        return Err(session.wrong_reply().into());
    };
    let near = (matched == 0).then_some(suggestions.as_slice());
    Ok(advice(session.pid(), pattern, &dialled, near))
}

/// `near`: patterns near one that matches no method at all.
fn advice(pid: u32, pattern: &str, dialled: &Dials, near: Option<&[String]>) -> String {
    let shown = printable(pattern);
    match near {
        None => {
            let why = status::unmatched(pattern, dialled);
            format!("{why}; `redial dial {pid} '{shown}' count` dials what does; {GOES_ON}")
        }
        Some([]) => format!("no method matches '{shown}', dialled or not; {GOES_ON}"),
        Some(near) => {
            let quoted: Vec<String> = near.iter().map(|one| format!("'{}'", printable(one))).collect();
            let meant = words::either(&quoted);
            format!("no method matches '{shown}', dialled or not; {GOES_ON}; did you mean {meant}?")
        }
    }
}

/// Takes events in until the counters were folded, or should have been.
fn next_fold(session: &mut Session, dials: &mut Dials, pace: &mut Pace) -> Result<(), LinkError> {
    loop {
        match session.next(Some(pace.deadline))? {
            Some(event) => match pace.apply(dials, event) {
                Change::Fold => {
                    pace.folded();
                    return Ok(());
                }
                Change::Ended => return Err(LinkError::Ended(session.pid())),
                Change::Rows | Change::None => {}
            },
            None => {
                dials.silence(pace.silent());
                return Ok(());
            }
        }
    }
}

/// When the next fold is overdue.
struct Pace {
    interval: Duration,
    /// The time up to which numbers are accounted for.
    known: Instant,
    deadline: Instant,
}

impl Pace {
    fn new(interval: Duration) -> Pace {
        let now = Instant::now();
        Pace { interval, known: now, deadline: now + interval + interval / 2 }
    }

    fn apply(&self, dials: &mut Dials, event: Event) -> Change {
        dials.first_fold_covers(self.known.elapsed().as_millis() as u64);
        dials.apply(event)
    }

    fn folded(&mut self) {
        *self = Pace::new(self.interval);
    }

    /// Notes that the deadline passed; the milliseconds without a fold that are now accounted for. The first
    /// deadline has half an interval of grace, so that a late fold is not taken for silence.
    fn silent(&mut self) -> u64 {
        let passed = self.deadline.saturating_duration_since(self.known);
        self.known = self.deadline;
        self.deadline += self.interval;
        passed.as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::row;

    #[test]
    fn what_matches_nothing_is_told_with_what_to_do() {
        let dials = |number: u32| {
            let mut dials = Dials::default();
            dials.rows((0..number).map(|index| row(index, "A.C", 0)).collect());
            dials
        };
        assert_eq!(
            advice(9, "Shop.Cart.*", &dials(3), None),
            "none of the 3 dialled methods matches 'Shop.Cart.*'; `redial dial 9 'Shop.Cart.*' count` dials what does; \
             watching goes on, for what is dialled later"
        );
        assert_eq!(
            advice(9, "A.B", &dials(0), Some(&[])),
            "no method matches 'A.B', dialled or not; watching goes on, for what is dialled later"
        );
        let near = ["A.C".to_owned(), "*.B".to_owned()];
        assert_eq!(
            advice(9, "A.B", &dials(1), Some(&near)),
            "no method matches 'A.B', dialled or not; watching goes on, for what is dialled later; did you mean 'A.C' or \
             '*.B'?"
        );
    }

    #[test]
    fn silence_is_accounted_for_once() {
        let mut pace = Pace::new(Duration::from_millis(200));
        assert_eq!([pace.silent(), pace.silent(), pace.silent()], [300, 200, 200]);
        pace.folded();
        assert_eq!(pace.silent(), 300);
    }
}
