//! Searches a process for its hot methods: counts, times, keeps the hottest, and turns everything else off again.
//! `redial_model::hot` decides; this sends and waits.

use super::change_wait::{self, ChangeNews, WaitOutcome};
use super::error::LinkError;
use super::session::{PING_EVERY, ReplyPage, Session};
use redial_model::dials::DialledCopies;
use redial_model::hot::{HotOptions, HotReport, HotSearch, HotStep};
use redial_protocol::catalogue::ModuleRow;
use redial_protocol::message::{AgentStatus, Refusal, Reply, WireCommand};
use redial_protocol::order::{Lifetime, Order, StandingOrder};
use redial_protocol::report::{DialReport, total};
use std::time::{Duration, Instant};

/// How often to check whether someone has turned the dials off.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The end of a search.
#[derive(Debug)]
pub enum HotOutcome {
    /// It is complete.
    Found(HotReport),
    /// The program has no module of its own, or the pattern matches nothing.
    NothingMatched {
        /// Patterns that would match.
        suggestions: Vec<String>,
    },
    /// No method was called while calls were counted. The dials of the search are off again.
    NothingCalled(HotReport),
    /// Someone turned the dials off during the search.
    TurnedOff,
    /// The session was interrupted. The dials of the search are off again, except for those that `remain`.
    Cancelled {
        /// Copies that are off again.
        reverted: u64,
        /// Copies that could not be turned off.
        remaining: u64,
    },
}

/// Searches the session's process for hot methods. Passes each step to `tell`. If it fails or is interrupted, the dials
/// that it has set go off again.
///
/// # Errors
/// When the agent refuses a change, another program takes control, or the process ends.
pub fn find_hot(
    session: &mut Session,
    options: HotOptions,
    tell: &mut dyn FnMut(HotStep),
) -> Result<HotOutcome, LinkError> {
    let search = match prepare(session, options) {
        Ok(Some(search)) => search,
        Ok(None) => return Ok(HotOutcome::NothingMatched { suggestions: vec![] }),
        Err(LinkError::Interrupted) => return Ok(HotOutcome::Cancelled { reverted: 0, remaining: 0 }),
        Err(error) => return Err(error),
    };
    let found = Search { session: &mut *session, search, tell: &mut *tell }.run();
    let cancelled = matches!(&found, Err(LinkError::Interrupted | LinkError::Refused(Refusal::Cancelled)));
    match found {
        Ok(outcome) => Ok(outcome),
        Err(LinkError::Refused(Refusal::NothingMatched { suggestions })) => {
            Ok(HotOutcome::NothingMatched { suggestions })
        }
        Err(error @ (LinkError::Interrupted | LinkError::Refused(_))) => {
            if cancelled {
                tell(HotStep::Reverting);
            }
            let (reverted, remaining) = release(session)?;
            if cancelled { Ok(HotOutcome::Cancelled { reverted, remaining }) } else { Err(error) }
        }
        // The session has ended, and with it the dials that it held.
        Err(error) => Err(error),
    }
}

/// Asks for everything that the search depends on.
fn prepare(session: &mut Session, options: HotOptions) -> Result<Option<HotSearch>, LinkError> {
    session.keep_alive(PING_EVERY)?;
    let modules = modules(session)?;
    let standing = standing(session)?;
    let costs = agent_status(session)?.costs;
    let before = rows(session, None)?;
    Ok(HotSearch::new(options, &modules, standing, &before, costs))
}

fn modules(session: &mut Session) -> Result<Vec<ModuleRow>, LinkError> {
    match session.ask(WireCommand::Modules, &mut |_| {})? {
        Reply::Modules { modules, .. } => Ok(modules),
        _ => Err(session.wrong_reply()),
    }
}

fn standing(session: &mut Session) -> Result<Vec<StandingOrder>, LinkError> {
    match session.ask(WireCommand::Orders, &mut |_| {})? {
        Reply::Orders { orders, .. } => Ok(orders),
        _ => Err(session.wrong_reply()),
    }
}

fn agent_status(session: &mut Session) -> Result<AgentStatus, LinkError> {
    // Nothing of earlier answers is kept.
    session.forget_answers();
    match session.ask(WireCommand::AgentStatus, &mut |_| {})? {
        Reply::AgentStatus(status) => Ok(status),
        _ => Err(session.wrong_reply()),
    }
}

fn rows(session: &mut Session, pattern: Option<String>) -> Result<DialledCopies, LinkError> {
    let mut dials = DialledCopies::default();
    let reply = session.ask(WireCommand::Status { pattern }, &mut |page| match page {
        ReplyPage::Rows(rows) => dials.rows(rows),
        ReplyPage::Times(times) => dials.times(times),
        _ => {}
    })?;
    // The tables of the steps replace each other.
    session.forget_answers();
    if matches!(reply, Reply::Status { .. }) { Ok(dials) } else { Err(session.wrong_reply()) }
}

/// Turns the dials that the session holds off, even if it is interrupted meanwhile. Returns how many copies went off and
/// how many could not.
fn release(session: &mut Session) -> Result<(u64, u64), LinkError> {
    let mut ask = || match session.ask(WireCommand::ReleaseHeld, &mut |_| {})? {
        Reply::ReleaseHeld { reverted, remaining, .. } => Ok((reverted, remaining)),
        _ => Err(session.wrong_reply()),
    };
    match ask() {
        Err(LinkError::Interrupted) => ask(),
        released => released,
    }
}

struct Search<'a> {
    session: &'a mut Session,
    search: HotSearch,
    tell: &'a mut dyn FnMut(HotStep),
}

impl Search<'_> {
    fn run(mut self) -> Result<HotOutcome, LinkError> {
        let options = self.search.options().clone();
        let counting = self.change(self.search.counting_orders(), Lifetime::Held)?;
        let start = self.rows()?;
        let mut report = HotReport {
            counted: self.search.begin_step(&start),
            refused: total(counting.refused_by_reason.iter().map(|(_, copies)| *copies)),
            left_alone: self.search.left_alone(),
            ..HotReport::default()
        };
        drop(start);
        if report.counted == 0 {
            (report.turned_off, report.remaining) = release(self.session)?;
            return Ok(HotOutcome::NothingCalled(report));
        }
        (self.tell)(HotStep::Counting { methods: report.counted, ms: options.count_ms() });
        let Some(counted_ms) = self.wait(options.count_ms())? else { return self.turned_off() };
        let dials = self.rows()?;
        let plan = self.search.plan_timing(&dials, counted_ms);
        drop(dials);
        (report.called, report.timed, report.too_costly) = (plan.called, plan.timed, plan.too_costly);
        if report.timed == 0 {
            (report.turned_off, report.remaining) = release(self.session)?;
            return Ok(match report.called {
                0 => HotOutcome::NothingCalled(report),
                _ => HotOutcome::Found(report),
            });
        }
        self.change(plan.orders, Lifetime::Held)?;
        (self.tell)(HotStep::Timing { methods: report.timed, ms: options.settle_ms() + options.time_ms() });
        if self.wait(options.settle_ms())?.is_none() {
            return self.turned_off();
        }
        let start = self.rows()?;
        self.search.begin_step(&start);
        drop(start);
        let Some(measured_ms) = self.wait(options.time_ms())? else { return self.turned_off() };
        report.measured_ms = measured_ms;
        let dials = self.rows()?;
        if self.search.is_turned_off(&dials) {
            return self.turned_off();
        }
        let mut methods = self.search.ranking(&dials);
        report.self_ns = total(methods.iter().map(|one| one.numbers.self_ns));
        report.more = methods.len().saturating_sub(options.top) as u64;
        methods.truncate(options.top);
        if !methods.is_empty() {
            report.change = self.change(HotSearch::keeping_orders(&dials, &methods), Lifetime::Kept)?.change;
        }
        report.methods = methods;
        (report.turned_off, report.remaining) = release(self.session)?;
        Ok(HotOutcome::Found(report))
    }

    fn turned_off(&mut self) -> Result<HotOutcome, LinkError> {
        release(self.session)?;
        Ok(HotOutcome::TurnedOff)
    }

    /// Sets orders. An interrupt that comes too late to cancel them is reported as one.
    fn change(&mut self, orders: Vec<Order>, lifetime: Lifetime) -> Result<DialReport, LinkError> {
        let take = self.search.options().take;
        let command = WireCommand::RequestReJit { orders, later: false, take, lifetime };
        let tell = &mut self.tell;
        let waited = change_wait::wait(self.session, command, &mut |news| match news {
            ChangeNews::Progress { done, total } => tell(HotStep::Turning { done, total }),
            ChangeNews::Event(_) | ChangeNews::Cancelling => {}
        })?;
        match waited {
            WaitOutcome { reply: Reply::Dialled(report), interrupted: false } => Ok(report),
            WaitOutcome { reply: Reply::Dialled(report), interrupted: true } => {
                // Held dials go off at the end. Kept ones would stay.
                if lifetime != Lifetime::Held && report.change > 0 {
                    let undo = WireCommand::UndoChange { change: report.change, take };
                    change_wait::wait(self.session, undo, &mut |_| {})?;
                }
                Err(LinkError::Interrupted)
            }
            _ => Err(self.session.wrong_reply()),
        }
    }

    fn rows(&mut self) -> Result<DialledCopies, LinkError> {
        rows(self.session, self.search.options().pattern.clone())
    }

    /// Waits, and returns the milliseconds that passed; `None` if someone turned the dials off meanwhile.
    fn wait(&mut self, ms: u64) -> Result<Option<u64>, LinkError> {
        let began = Instant::now();
        let until = began + Duration::from_millis(ms);
        let mut check = began + CHECK_INTERVAL;
        while Instant::now() < until {
            self.session.next(Some(until.min(check)))?;
            if Instant::now() >= check {
                check = Instant::now() + CHECK_INTERVAL;
                if agent_status(self.session)?.held == 0 {
                    return Ok(None);
                }
            }
        }
        let passed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Someone may have turned the dials off since the last check.
        Ok((agent_status(self.session)?.held > 0).then_some(passed))
    }
}
