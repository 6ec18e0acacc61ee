//! A turn of some orders: planned, or carried out and said, and held where that was asked for. `dial` and `apply` are
//! two ways to name the orders.

mod explain;
mod fleet;
mod foresee;
mod hold;
mod meant;
mod wait;

use super::target::Target;
use super::{arguments, duration, several};
use crate::exit::{Exit, Failure};
use crate::link::attach::{self, Attached};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::output::json::{DialledJson, PlanJson};
use crate::output::{Out, sentence, terminal_columns, turns};
use crate::signals::Interrupts;
use redial_protocol::dialset::print_order;
use redial_protocol::level::Level;
use redial_protocol::message::{Command, Holder, Refusal, Reply};
use redial_protocol::order::{Order, Stand};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport};
use std::time::Duration;

pub use wait::wait;

/// How long a runtime may take to load the agent.
const ATTACH_PATIENCE: Duration = Duration::from_secs(10);

/// What is to be turned.
pub struct Wanted<'a> {
    /// The processes.
    pub target: &'a Target,
    /// What this program calls itself.
    pub program: &'static str,
    /// What is asked for, in one change.
    pub orders: Vec<Order>,
    /// The lines of a dial set that `orders` stand on; empty on the command line.
    pub lines: Vec<usize>,
    /// What the orders are called in a sentence: a pattern in quotes, a number of orders.
    pub name: String,
    /// How.
    pub options: &'a arguments::Turn,
}

/// Catches Ctrl-C. To be called before anything is done.
pub fn catch_interrupts() -> Result<Interrupts, Failure> {
    Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

/// Plans it, or does it.
pub fn run(wanted: &Wanted<'_>) -> Result<Exit, Failure> {
    if let Some(why) = wanted.pointless() {
        return Err(Failure::new(Exit::Usage, why));
    }
    let interrupts = catch_interrupts()?;
    let options = wanted.options;
    if options.plan {
        return several::each(wanted.target, options.json, |pid, out| wanted.plan(pid, &interrupts, out));
    }
    match wanted.target.only() {
        Some(pid) => wanted.turn_one(pid, &interrupts),
        None => fleet::run(wanted, &interrupts),
    }
}

/// A turn that was carried out.
struct Turned {
    exit: Exit,
    session: Session,
    /// Whether Ctrl-C came too late to stop it.
    interrupted: bool,
    /// How long its dials stand, in words.
    standing: String,
}

impl Wanted<'_> {
    /// Why it is no use to carry this out, if so.
    fn pointless(&self) -> Option<String> {
        let options = self.options;
        if options.follow && !self.target.can_grow() {
            return Some("--follow needs name:NAME or pool:NAME: a process id is one process".to_owned());
        }
        let all_off = self.orders.iter().all(|order| order.level == Level::Off);
        let option = match options.stand() {
            _ if options.follow => "--follow turns dials on wherever the next process starts",
            Stand::Held => "--hold keeps dials on while it runs",
            Stand::KeptFor { .. } => "--for keeps dials on for a time",
            Stand::Kept => return None,
        };
        all_off.then(|| format!("{option}; it has no use with off"))
    }

    fn turn_one(&self, pid: u32, interrupts: &Interrupts) -> Result<Exit, Failure> {
        let mut out = Out::new();
        let turned = self.turn(pid, interrupts, self.options.later, &mut out)?;
        if !self.options.json && turned.exit != Exit::Failed {
            out.line(&turned.standing)?;
        }
        out.flush()?;
        drop(out);
        let Turned { exit, mut session, interrupted, .. } = turned;
        if self.options.hold && (interrupted || exit != Exit::Failed) {
            if !interrupted {
                hold::hold(&mut session, self, &|text| sentence(text))?;
            }
            return hold::let_go(&mut session, self.options.json, exit);
        }
        release(session)?;
        Ok(exit)
    }

    /// Connects to a process, and turns there what is wanted; with `later` also where it matches nothing yet.
    fn turn(&self, pid: u32, interrupts: &Interrupts, later: bool, out: &mut Out) -> Result<Turned, Failure> {
        let mut session = self.open(pid, out)?;
        interrupts.deliver_to(session.interrupter());
        let waited =
            wait(&mut session, self.command(later)).map_err(|error| self.explain(&mut session, error))?;
        let Reply::Dialled(mut report) = waited.reply else { return Err(session.wrong_reply().into()) };
        self.say_what_was_meant(&mut session, &report.unmatched, &mut report.warnings);
        let exit = outcome(&Sums::of(&report), later);
        if self.options.json {
            out.json(&DialledJson::new(pid, &report))?;
        } else {
            for line in turns::done(&report, self.level(), later) {
                out.line(&line)?;
            }
        }
        out.flush()?;
        if waited.interrupted {
            out.remark(match self.options.hold {
                true => "it was done before it could be stopped; what it turned on goes off now".to_owned(),
                false => {
                    format!("it was done before it could be stopped; `redial undo {pid}` takes it back")
                }
            });
        }
        let standing = self.standing(&report);
        Ok(Turned { exit, session, interrupted: waited.interrupted, standing })
    }

    /// A session, after loading the agent where that is asked for.
    fn open(&self, pid: u32, out: &mut Out) -> Result<Session, Failure> {
        match connect::open(pid, self.program) {
            Err(LinkError::NoAgent { .. }) if self.options.attach => {
                if attach::attach(pid, ATTACH_PATIENCE)? == Attached::Now {
                    out.remark(format!("the agent is loaded into process {pid}"));
                }
                Ok(connect::open(pid, self.program)?)
            }
            Err(error @ LinkError::NoAgent { obstacle: None, .. }) => {
                let later = if self.options.follow { ", also into those that start later" } else { "" };
                let advice = format!("{error}, or give this command --attach, which loads it first{later}");
                Err(Failure::new(Exit::NoAgent, advice))
            }
            opened => Ok(opened?),
        }
    }

    fn plan(&self, pid: u32, interrupts: &Interrupts, out: &mut Out) -> Result<Exit, Failure> {
        let mut session = connect::open(pid, self.program)?;
        interrupts.deliver_to(session.interrupter());
        let session = &mut session;
        let asked = Command::Plan { orders: self.orders.clone(), stand: self.options.stand() };
        let mut plan = match session.ask(asked, &mut |_| {}) {
            Ok(Reply::Plan(plan)) => plan,
            Ok(_) => return Err(session.wrong_reply().into()),
            Err(LinkError::Interrupted) => {
                return Err(Failure::new(Exit::Failed, "interrupted; nothing was changed"));
            }
            Err(error) => return Err(self.explain(session, error)),
        };
        if !self.matches_nothing(&plan) {
            self.say_what_was_meant(session, &plan.unmatched, &mut plan.warnings);
        }
        let foreseen = self.foresee(session)?;
        let orders: Vec<String> = self.orders.iter().map(print_order).collect();
        if self.options.json {
            let lines = self.lines.iter().copied().map(Some).chain(std::iter::repeat(None));
            let orders: Vec<_> = lines.zip(orders).collect();
            out.json(&PlanJson::new(pid, &orders, &plan, foreseen))?;
        } else {
            let orders: Vec<String> =
                orders.into_iter().enumerate().map(|(at, order)| self.numbered(at, order)).collect();
            for line in turns::planned(&plan, &orders, foreseen, self.options.later, terminal_columns()) {
                out.line(&line)?;
            }
        }
        out.flush()?;
        let holder = session.facts().holder.clone();
        let nothing = self.matches_nothing(&plan) && (holder.is_none() || self.options.take);
        let suggestions = match self.orders.first() {
            Some(order) if nothing => meant::suggestions(session, order),
            _ => vec![],
        };
        let verdict = self.verdict(&plan, holder, suggestions);
        verdict.map_err(|refusal| self.explain(session, LinkError::Refused(refusal)))
    }

    /// How the real thing would end, with `holder` in control.
    fn verdict(
        &self,
        plan: &PlanReport,
        holder: Option<Holder>,
        suggestions: Vec<String>,
    ) -> Result<Exit, Refusal> {
        if let Some(holder) = holder.filter(|_| !self.options.take) {
            return Err(Refusal::ControlHeld(holder));
        }
        if self.matches_nothing(plan) {
            return Err(Refusal::NothingMatched { suggestions });
        }
        Ok(outcome(&Sums::planned(plan), self.options.later))
    }

    /// Whether none of the orders would be set.
    fn matches_nothing(&self, plan: &PlanReport) -> bool {
        !self.options.later && plan.unmatched.len() == self.orders.len()
    }

    fn numbered(&self, at: usize, order: String) -> String {
        match self.lines.get(at) {
            Some(line) => format!("{line}: {order}"),
            None => order,
        }
    }

    fn command(&self, later: bool) -> Command {
        let options = self.options;
        match self.orders.as_slice() {
            [Order { pattern, level: Level::Off, domain: None, copy: None, .. }] if !later => {
                Command::RequestRevert { patterns: vec![pattern.clone()], take: options.take }
            }
            orders => Command::RequestReJit {
                orders: orders.to_vec(),
                later,
                take: options.take,
                stand: options.stand(),
            },
        }
    }

    /// The one level all orders are about.
    fn level(&self) -> Option<Level> {
        let first = self.orders.first()?.level;
        self.orders.iter().all(|order| order.level == first).then_some(first)
    }

    /// How long the dials stand.
    fn standing(&self, report: &DialReport) -> String {
        let pid = self.target.text();
        match (self.level(), self.options.stand()) {
            (Some(Level::Off), _) => "off: the original IL runs again".to_owned(),
            (_, Stand::Held) => format!("held while this command runs; Ctrl-C turns {} off", self.name),
            (_, Stand::KeptFor { ms }) => {
                let time = duration::words(ms);
                format!("kept for {time}, then it ends by itself; `redial off {pid}` turns it off before")
            }
            (_, Stand::Kept) if report.matched == 0 => {
                format!("kept for what loads later; `redial off {pid}` turns it off")
            }
            (_, Stand::Kept) => format!("kept until it is turned off, by `redial off {pid}` for example"),
        }
    }
}

/// Gives control back at once, and not when the agent notices the end of the session: the next command may be waiting.
pub fn release(mut session: Session) -> Result<(), LinkError> {
    match session.tell(Command::ReleaseControl) {
        // All is done and said; the end of the session does the rest.
        Err(LinkError::Interrupted) => Ok(()),
        told => told,
    }
}

/// What a turn did, in numbers, or would do.
pub struct Sums {
    matched: u64,
    accepted: u64,
    refused: u64,
    /// Orders that were not set.
    unmatched: usize,
}

impl Sums {
    /// What it did.
    pub fn of(report: &DialReport) -> Sums {
        let refused = sum(&report.refused_by_reason);
        Sums {
            matched: report.matched,
            accepted: report.accepted,
            refused,
            unmatched: report.unmatched.len(),
        }
    }

    fn planned(plan: &PlanReport) -> Sums {
        let accepted = plan.accepted();
        let refused = sum(&plan.refused_by_reason);
        Sums { matched: plan.matched, accepted, refused, unmatched: plan.unmatched.len() }
    }
}

fn sum(by_reason: &[(Reason, u64)]) -> u64 {
    by_reason.iter().map(|(_, number)| number).sum()
}

/// What a turn amounts to; with `later` all orders were set. Copies without a body are nobody's fault, but a dial that
/// turned nothing failed, unless there was nothing to turn: then it took the place of an order that stood.
pub fn outcome(sums: &Sums, later: bool) -> Exit {
    let all = sums.refused == 0 && (later || sums.unmatched == 0);
    match sums.accepted {
        0 if sums.refused > 0 => Exit::Failed,
        0 if !later && sums.matched > 0 => Exit::Failed,
        _ if all => Exit::Done,
        _ => Exit::Partly,
    }
}

#[cfg(test)]
#[path = "turn/tests.rs"]
mod tests;
