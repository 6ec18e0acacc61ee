//! Changes of dials.

use super::{Controller, Lifetime};
use crate::host::DEADLINE;
use anyhow::{Result, anyhow, bail};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::report::DialReport;
use std::time::Instant;

impl Controller {
    /// Turns the dials of the methods that match `pattern`, without taking control from another session.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the agent refuses.
    pub fn dial(&mut self, pattern: &str, level: Level, lifetime: Lifetime) -> Result<DialReport> {
        self.dial_all(&[pattern], level, lifetime)
    }

    /// Like [`Controller::dial`], with several patterns in one command.
    ///
    /// # Errors
    /// Fails like [`Controller::dial`].
    pub fn dial_all(&mut self, patterns: &[&str], level: Level, lifetime: Lifetime) -> Result<DialReport> {
        self.order(patterns.iter().map(|pattern| Order::new(*pattern, level)).collect(), lifetime)
    }

    /// Like [`Controller::dial`], for orders of any scope.
    ///
    /// # Errors
    /// Fails like [`Controller::dial`].
    pub fn order(&mut self, orders: Vec<Order>, lifetime: Lifetime) -> Result<DialReport> {
        let what = format!("{orders:?}");
        match self.turn(WireCommand::RequestReJit { orders, later: false, take: false, lifetime })? {
            Ok(report) => Ok(report),
            Err(refusal) => Err(anyhow!("{what} was refused: {refusal:?}")),
        }
    }

    /// Turns off the dials that match `pattern`, without taking control from another session.
    ///
    /// # Errors
    /// Fails like [`Controller::dial`].
    pub fn off(&mut self, pattern: &str) -> Result<DialReport> {
        match self.turn(WireCommand::RequestRevert { patterns: vec![pattern.into()], take: false })? {
            Ok(report) => Ok(report),
            Err(refusal) => Err(anyhow!("{pattern} off was refused: {refusal:?}")),
        }
    }

    /// Sends `RequestReJit` or `RequestRevert` and returns the report or the refusal.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the reply is neither.
    pub fn turn(&mut self, command: WireCommand) -> Result<Result<DialReport, Refusal>> {
        match self.ask(command)?.reply {
            Reply::Dialled(report) => Ok(Ok(report)),
            Reply::Refused(refusal) => Ok(Err(refusal)),
            other => Err(anyhow!("answered {other:?}")),
        }
    }

    /// Waits until the agent's ReJIT thread has finished its work and published its orders, its last step.
    /// Requests a plan for turning `pattern` off, which the same thread answers and which changes nothing.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the reply is not a plan.
    pub fn settle(&mut self, pattern: &str) -> Result<()> {
        let orders = vec![Order::new(pattern, Level::Off)];
        match self.ask(WireCommand::Plan { orders, lifetime: Lifetime::Kept })?.reply {
            Reply::Plan(_) => Ok(()),
            other => Err(anyhow!("answered {other:?}")),
        }
    }

    /// Turns everything off. Returns the numbers of reverted copies and of copies that could not be reverted.
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
