//! Turning dials.

use super::{Controller, Stay};
use crate::host::DEADLINE;
use anyhow::{Result, anyhow, bail};
use redial_protocol::level::Level;
use redial_protocol::message::{WireCommand, Refusal, Reply};
use redial_protocol::order::{Order, Lifetime};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::report::DialReport;
use std::time::Instant;

impl Controller {
    /// Turns the dials of what `pattern` matches, without taking control from another.
    ///
    /// # Errors
    /// As [`Controller::ask`], or with the refusal.
    pub fn dial(&mut self, pattern: &str, level: Level, stay: Stay) -> Result<DialReport> {
        self.dial_all(&[pattern], level, stay)
    }

    /// As [`Controller::dial`], all patterns in one command.
    ///
    /// # Errors
    /// As [`Controller::dial`].
    pub fn dial_all(&mut self, patterns: &[&str], level: Level, stay: Stay) -> Result<DialReport> {
        self.order(patterns.iter().map(|pattern| Order::new(*pattern, level)).collect(), stay)
    }

    /// As [`Controller::dial`], for orders of any scope.
    ///
    /// # Errors
    /// As [`Controller::dial`].
    pub fn order(&mut self, orders: Vec<Order>, stay: Stay) -> Result<DialReport> {
        let what = format!("{orders:?}");
        let lifetime = if stay == Stay::Held { Lifetime::Held } else { Lifetime::Kept };
        match self.turn(WireCommand::RequestReJit { orders, later: false, take: false, lifetime })? {
            Ok(report) => Ok(report),
            Err(refusal) => Err(anyhow!("{what} was refused: {refusal:?}")),
        }
    }

    /// Turns off what `pattern` matches, without taking control from another.
    ///
    /// # Errors
    /// As [`Controller::dial`].
    pub fn off(&mut self, pattern: &str) -> Result<DialReport> {
        match self.turn(WireCommand::RequestRevert { patterns: vec![pattern.into()], take: false })? {
            Ok(report) => Ok(report),
            Err(refusal) => Err(anyhow!("{pattern} off was refused: {refusal:?}")),
        }
    }

    /// Sends `RequestReJit` or `RequestRevert`; the report, or the refusal.
    ///
    /// # Errors
    /// As [`Controller::ask`], or with a reply that is neither.
    pub fn turn(&mut self, command: WireCommand) -> Result<Result<DialReport, Refusal>> {
        match self.ask(command)?.reply {
            Reply::Dialled(report) => Ok(Ok(report)),
            Reply::Refused(refusal) => Ok(Err(refusal)),
            other => Err(anyhow!("answered {other:?}")),
        }
    }

    /// Waits until the agent's ReJIT thread is done with what it was at, and has made its list of orders known, which it does
    /// last: asks for a plan of turning `pattern` off, which the same thread answers, and which changes nothing.
    ///
    /// # Errors
    /// As [`Controller::ask`], or with the reply when it is no plan.
    pub fn settle(&mut self, pattern: &str) -> Result<()> {
        let orders = vec![Order::new(pattern, Level::Off)];
        match self.ask(WireCommand::Plan { orders, lifetime: Lifetime::Kept })?.reply {
            Reply::Plan(_) => Ok(()),
            other => Err(anyhow!("answered {other:?}")),
        }
    }

    /// Turns everything off; copies reverted, copies that could not be.
    ///
    /// # Errors
    /// When the session ends or the deadline passes.
    pub fn all_off(&mut self) -> Result<(u64, u64)> {
        self.send(&ControllerPacket::AllOff)?;
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.packet(deadline, "that all is off")? {
                AgentPacket::AllOffDone { reverted, remaining, .. } => return Ok((reverted, remaining)),
                AgentPacket::Event(event) => self.queued.push_back(event),
                other => bail!("{} answered all-off with {other:?}", self.pid),
            }
        }
    }
}
