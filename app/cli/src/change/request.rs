//! A requested change: its orders and options, and what follows from them without an agent.

use super::outcome::{ChangeTotals, outcome};
use crate::target::Target;
use crate::{arguments, duration};
use redial_link::exit::Exit;
use redial_protocol::level::Level;
use redial_protocol::message::{Holder, Refusal, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::report::{DialReport, PlanReport};

/// A requested change.
pub struct ChangeRequest<'a> {
    /// The processes.
    pub target: &'a Target,
    /// The name of this program for the agent.
    pub program: &'static str,
    /// The orders, sent as one change.
    pub orders: Vec<Order>,
    /// The line numbers of the orders in their dial set; empty for an order from the command line.
    pub lines: Vec<usize>,
    /// The name of the orders in messages: a quoted pattern, or a number of dials.
    pub name: String,
    /// The options of the command.
    pub options: &'a arguments::ChangeArguments,
}

impl ChangeRequest<'_> {
    /// Returns why the options contradict the orders, if they do.
    pub(super) fn contradiction(&self) -> Option<String> {
        let options = self.options;
        if options.follow && !self.target.can_grow() {
            return Some(
                "--follow needs name:NAME or pool:NAME; a process id names only one process".to_owned(),
            );
        }
        let all_off = self.orders.iter().all(|order| order.level == Level::Off);
        let option = match options.lifetime() {
            _ if options.follow => "--follow turns dials on in processes that start later",
            Lifetime::Held => "--hold keeps dials on while it runs",
            Lifetime::KeptFor { .. } => "--for keeps dials on for a time",
            Lifetime::Kept => return None,
        };
        all_off.then(|| format!("{option}; it has no effect with off"))
    }

    /// Returns the result that the change itself would have, with `holder` in control.
    pub(super) fn verdict(
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
        Ok(outcome(&ChangeTotals::planned(plan), self.options.later))
    }

    /// Returns whether no order would be set.
    pub(super) fn matches_nothing(&self, plan: &PlanReport) -> bool {
        !self.options.later && plan.unmatched.len() == self.orders.len()
    }

    pub(super) fn numbered(&self, at: usize, order: String) -> String {
        match self.lines.get(at) {
            Some(line) => format!("{line}: {order}"),
            None => order,
        }
    }

    /// Returns the command that makes the change; with `later`, it also sets orders that match nothing yet.
    pub fn command(&self, later: bool) -> WireCommand {
        let options = self.options;
        match self.orders.as_slice() {
            [Order { pattern, level: Level::Off, domain: None, copy: None, .. }] if !later => {
                WireCommand::RequestRevert { patterns: vec![pattern.clone()], take: options.take }
            }
            orders => WireCommand::RequestReJit {
                orders: orders.to_vec(),
                later,
                take: options.take,
                lifetime: options.lifetime(),
            },
        }
    }

    /// Returns the level that all orders share, if they do.
    pub(super) fn level(&self) -> Option<Level> {
        let first = self.orders.first()?.level;
        self.orders.iter().all(|order| order.level == first).then_some(first)
    }

    /// Returns the sentence about the lifetime of the dials.
    pub(super) fn lifetime_sentence(&self, report: &DialReport) -> String {
        let pid = self.target.text();
        match (self.level(), self.options.lifetime()) {
            (Some(Level::Off), _) => "off: the original IL runs again".to_owned(),
            (_, Lifetime::Held) => format!("held while this command runs; Ctrl-C turns {} off", self.name),
            (_, Lifetime::KeptFor { ms }) => {
                let time = duration::words(ms);
                format!("kept for {time}; `redial off {pid}` turns it off earlier")
            }
            (_, Lifetime::Kept) if report.matched == 0 => {
                format!("kept for modules that load later; `redial off {pid}` turns it off")
            }
            (_, Lifetime::Kept) => format!("kept until turned off, for example with `redial off {pid}`"),
        }
    }
}
