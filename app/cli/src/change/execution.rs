//! Carries a change out in one process, or plans it there.

use super::outcome::{ChangeTotals, outcome};
use super::progress::wait;
use super::request::ChangeRequest;
use super::suggestions;
use crate::output::json::{DialledJson, PlanJson};
use crate::output::{Out, changes, terminal_columns};
use redial_link::attach::{self, Attached};
use redial_link::connect;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_link::signals::Interrupts;
use redial_protocol::dialset::print_order;
use redial_protocol::message::{Reply, WireCommand};
use redial_text::diagnostics::{Reader, change_warnings};
use std::time::Duration;

/// How long a runtime may take to load the agent.
const ATTACH_PATIENCE: Duration = Duration::from_secs(10);

/// A change that was carried out.
pub(super) struct CompletedChange {
    pub(super) exit: Exit,
    pub(super) session: Session,
    /// Whether Ctrl-C came too late to stop it.
    pub(super) interrupted: bool,
    /// The sentence about the lifetime of its dials.
    pub(super) lifetime: String,
}

/// Opens a session as `program`, after loading the agent if `attach` is set, which `say` reports. `later` ends the advice
/// to set it.
pub fn open_or_attach(
    pid: u32,
    program: &str,
    attach: bool,
    later: &str,
    say: &mut dyn FnMut(String),
) -> Result<Session, Failure> {
    match connect::open(pid, program) {
        Err(LinkError::NoAgent { .. }) if attach => {
            if attach::attach(pid, ATTACH_PATIENCE)? == Attached::Now {
                say(format!("loaded the agent into process {pid}"));
            }
            Ok(connect::open(pid, program)?)
        }
        Err(error @ LinkError::NoAgent { obstacle: None, .. }) => {
            let advice = format!("{error}, or use --attach with this command to load it first{later}");
            Err(Failure::new(Exit::NoAgent, advice))
        }
        opened => Ok(opened?),
    }
}

impl ChangeRequest<'_> {
    /// Connects to a process and carries out the change; with `later`, also sets orders that match nothing yet.
    pub(super) fn carry_out(
        &self,
        pid: u32,
        interrupts: &Interrupts,
        later: bool,
        out: &mut Out,
    ) -> Result<CompletedChange, Failure> {
        let mut session = self.open(pid, &mut |text| out.remark(text))?;
        interrupts.deliver_to(session.interrupter());
        let costly = self.costly(&mut session)?;
        let waited =
            wait(&mut session, self.command(later)).map_err(|error| self.explain(&mut session, error))?;
        let Reply::Dialled(report) = waited.reply else { return Err(session.wrong_reply().into()) };
        let mut warnings = change_warnings::sentences(&report.warnings, Reader::CommandLine);
        warnings.extend(costly);
        self.add_suggestions(&mut session, &report.unmatched, &mut warnings);
        let exit = outcome(&ChangeTotals::of(&report), later);
        if self.options.json {
            out.json(&DialledJson::new(pid, &report, &warnings))?;
        } else {
            for line in changes::done(&report, &warnings, self.level(), later) {
                out.line(&line)?;
            }
        }
        out.flush()?;
        if waited.interrupted {
            out.remark(match self.options.hold {
                true => "the change finished before it could be stopped; its dials now go off".to_owned(),
                false => {
                    format!("the change finished before it could be stopped; `redial undo {pid}` undoes it")
                }
            });
        }
        let lifetime = self.lifetime_sentence(&report);
        Ok(CompletedChange { exit, session, interrupted: waited.interrupted, lifetime })
    }

    /// Opens a session, after loading the agent if `--attach` is given, which `say` reports.
    pub fn open(&self, pid: u32, say: &mut dyn FnMut(String)) -> Result<Session, Failure> {
        let later = if self.options.follow { ", also into processes that start later" } else { "" };
        open_or_attach(pid, self.program, self.options.attach, later, say)
    }

    pub(super) fn plan(&self, pid: u32, interrupts: &Interrupts, out: &mut Out) -> Result<Exit, Failure> {
        let mut session = connect::open(pid, self.program)?;
        interrupts.deliver_to(session.interrupter());
        let session = &mut session;
        let asked = WireCommand::Plan { orders: self.orders.clone(), lifetime: self.options.lifetime() };
        let plan = match session.ask(asked, &mut |_| {}) {
            Ok(Reply::Plan(plan)) => plan,
            Ok(_) => return Err(session.wrong_reply().into()),
            Err(LinkError::Interrupted) => {
                return Err(Failure::new(Exit::Failed, "interrupted; nothing was changed"));
            }
            Err(error) => return Err(self.explain(session, error)),
        };
        let mut warnings = change_warnings::sentences(&plan.warnings, Reader::CommandLine);
        if !self.matches_nothing(&plan) {
            self.add_suggestions(session, &plan.unmatched, &mut warnings);
        }
        let estimate = self.estimate_cost(session)?;
        let orders: Vec<String> = self.orders.iter().map(print_order).collect();
        if self.options.json {
            let lines = self.lines.iter().copied().map(Some).chain(std::iter::repeat(None));
            let orders: Vec<_> = lines.zip(orders).collect();
            out.json(&PlanJson::new(pid, &orders, &plan, &warnings, estimate))?;
        } else {
            let orders: Vec<String> =
                orders.into_iter().enumerate().map(|(at, order)| self.numbered(at, order)).collect();
            let columns = terminal_columns();
            for line in changes::planned(&plan, &warnings, &orders, estimate, self.options.later, columns) {
                out.line(&line)?;
            }
        }
        out.flush()?;
        let holder = session.facts().holder.clone();
        let nothing = self.matches_nothing(&plan) && (holder.is_none() || self.options.take);
        let suggestions = match self.orders.first() {
            Some(order) if nothing => suggestions::suggestions(session, order),
            _ => vec![],
        };
        let verdict = self.verdict(&plan, holder, suggestions);
        verdict.map_err(|refusal| self.explain(session, LinkError::Refused(refusal)))
    }
}

/// Releases control at once instead of when the agent notices the end of the session: another command may be waiting.
pub fn release(mut session: Session) -> Result<(), LinkError> {
    match session.execute(WireCommand::ReleaseControl) {
        // Ctrl-C: the end of the session releases control.
        Err(LinkError::Interrupted) => Ok(()),
        result => result,
    }
}
