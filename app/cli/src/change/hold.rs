//! Holds dials until Ctrl-C, and reports the actions of other controllers meanwhile.

use super::request::ChangeRequest;
use crate::output::json::ReleasedJson;
use crate::output::{Out, changes};
use crate::status;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::{PING_EVERY, Session};
use redial_model::dials::{DialledCopies, DialsUpdate};
use redial_protocol::cost::CostBudget;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, StatusRow, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use redial_text::budget;
use redial_text::programs::controller;
use std::time::Instant;

/// Milliseconds between counter snapshots, which are not shown.
const HOLD_INTERVAL_MS: u32 = 60_000;

/// Waits for Ctrl-C and reports the actions of other controllers with `say`. Afterwards [`release_dials`] turns the dials off;
/// the agent does so too whenever the session ends.
pub fn hold(
    session: &mut Session,
    wanted: &ChangeRequest<'_>,
    say: &dyn Fn(String),
) -> Result<(), LinkError> {
    session.keep_alive(PING_EVERY)?;
    let mut held = match HeldDials::subscribe(session, wanted) {
        Err(LinkError::Interrupted) => return Ok(()),
        subscribed => subscribed?,
    };
    loop {
        match session.next(held.deadline()) {
            Ok(event) => held.take(session.pid(), event, say)?,
            Err(LinkError::Interrupted) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Turns the held dials off and reports the agent's numbers. Returns `exit` if all of them are off.
pub fn release_dials(session: &mut Session, json: bool, exit: Exit) -> Result<Exit, Failure> {
    let gone = release_held(session)?;
    let mut out = Out::new();
    match json {
        true => out.json(&gone)?,
        false => out.line(&changes::released(&gone))?,
    }
    out.flush()?;
    Ok(if gone.remaining == 0 { exit } else { Exit::Partly })
}

/// Turns the held dials off and returns the agent's numbers.
pub fn release_held(session: &mut Session) -> Result<ReleasedJson, LinkError> {
    match session.ask(WireCommand::ReleaseHeld, &mut |_| {})? {
        Reply::ReleaseHeld { reverted, stay, remaining } => {
            Ok(ReleasedJson { pid: session.pid(), reverted, stay, remaining })
        }
        _ => Err(session.wrong_reply()),
    }
}

/// Watches held dials, to notice when others change them. Its rows are those of the order; for several orders they are
/// all dialled rows, because a subscription has only one pattern.
pub struct HeldDials<'a> {
    /// The name of the orders in messages.
    name: &'a str,
    only: Option<&'a Order>,
    dials: DialledCopies,
    /// Whether any was on at the last check.
    on: bool,
    changed: bool,
    /// The change number of the budget's last reported step; `None` until the first budget event.
    stepped: Option<Option<u64>>,
}

impl<'a> HeldDials<'a> {
    /// Subscribes to the rows of a change, to changes of control and to the end of the process; `watch` shows the numbers.
    pub fn subscribe(
        session: &mut Session,
        wanted: &'a ChangeRequest<'_>,
    ) -> Result<HeldDials<'a>, LinkError> {
        let only = match wanted.orders.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        let pattern = only.map(|order| order.pattern.clone());
        session.execute(WireCommand::Subscribe { pattern, interval_ms: HOLD_INTERVAL_MS })?;
        Ok(HeldDials::new(&wanted.name, only))
    }

    fn new(name: &'a str, only: Option<&'a Order>) -> HeldDials<'a> {
        HeldDials { name, only, dials: DialledCopies::default(), on: true, changed: true, stepped: None }
    }
}

impl HeldDials<'_> {
    /// Returns the deadline for the next event. While rows change, it is now: turning many dials off takes many events,
    /// and the check waits until none follows.
    pub fn deadline(&self) -> Option<Instant> {
        self.changed.then(Instant::now)
    }

    /// Takes an event of process `pid`, or none at the deadline, and reports with `say`.
    ///
    /// # Errors
    /// When the process is ending.
    pub fn take(&mut self, pid: u32, event: Option<Event>, say: &dyn Fn(String)) -> Result<(), LinkError> {
        match event {
            Some(Event::Control(Some(holder))) => say(format!(
                "{} took control; the dials stay held until this command ends",
                controller(&holder)
            )),
            Some(Event::Goodbye { .. }) => {
                self.report_if_off(say);
                return Err(LinkError::Ended(pid));
            }
            Some(Event::Budget(budget)) => self.note_budget(budget, say),
            Some(event) => self.apply(event),
            None => self.report_if_off(say),
        }
        Ok(())
    }

    fn apply(&mut self, event: Event) {
        self.changed |= self.dials.apply(event) == DialsUpdate::Rows;
    }

    /// Reports a new step of the budget, but not one from before this hold.
    fn note_budget(&mut self, budget: CostBudget, say: &dyn Fn(String)) {
        let change = budget.last.as_ref().map(|last| last.change);
        let before = self.stepped.replace(change);
        if let Some(last) = budget.last.filter(|_| before.is_some_and(|before| before != change)) {
            let name = self.dials.get(last.costliest.0).map(status::name);
            say(format!("{}; `redial undo` undoes that", budget::stepped(&last, name.as_deref())));
        }
    }

    /// Returns whether all dials went off since the last call.
    fn all_turned_off(&mut self) -> bool {
        self.changed = false;
        // An unloaded method was not turned off by anyone.
        let mut loaded = self
            .dials
            .iter()
            .filter(|dial| dial.row.state != CopyState::Lost && self.concerns(&dial.row))
            .peekable();
        if loaded.peek().is_none() {
            return false;
        }
        let on = loaded.any(|dial| dial.row.wanted > Level::Off);
        std::mem::replace(&mut self.on, on) && !on
    }

    fn concerns(&self, row: &StatusRow) -> bool {
        self.only.is_none_or(|order| {
            order.copy.is_none_or(|copy| row.copy.module.module_id == copy)
                && (order.all_domains
                    || order.domain.as_ref().is_none_or(|prefix| row.domain.starts_with(prefix)))
        })
    }

    fn report_if_off(&mut self, say: &dyn Fn(String)) {
        if self.all_turned_off() {
            let name = self.name;
            say(format!(
                "someone else turned {name} off; nothing is held any more, and Ctrl-C ends this command"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_once_when_others_turn_the_last_dial_off() {
        use redial_protocol::ids::RowId;
        use redial_protocol::message::Transition;
        use redial_protocol::order::TimeOptions;
        let level_of = |row, wanted, state| {
            let (version, instances, note) = (None, vec![], None);
            Event::Transition(Transition {
                row: RowId(row),
                t_ms: 1,
                wanted,
                state,
                version,
                instances,
                note,
                times_note: None,
                options: TimeOptions::default(),
            })
        };
        let rows = || Event::Rows {
            id: None,
            rows: [0, 1].map(|index| redial_model::fixtures::row(index, "Shop.Cart.Add", 0)).to_vec(),
        };
        let held = || HeldDials::new("it", None);
        let gone = |held: &mut HeldDials<'_>, events: Vec<Event>| {
            events.into_iter().for_each(|event| held.apply(event));
            held.all_turned_off()
        };
        let (off, lost) = (CopyState::Off, CopyState::Lost);
        let mut all = held();
        assert!(!gone(&mut all, vec![]), "no rows yet");
        assert!(!gone(&mut all, vec![rows()]));
        assert!(!gone(&mut all, vec![level_of(0, Level::Off, off)]), "one is left");
        assert!(gone(&mut all, vec![level_of(1, Level::Off, off)]));
        assert!(!gone(&mut all, vec![level_of(1, Level::Off, off)]), "it is reported once");
        assert!(!gone(&mut all, vec![level_of(1, Level::Count, CopyState::Asked)]));
        assert!(gone(&mut all, vec![level_of(1, Level::Off, off)]), "and again after another change");
        let first = vec![rows(), level_of(0, Level::Off, off), level_of(1, Level::Off, off)];
        assert!(gone(&mut held(), first), "it may go off before the first check");
        let unloaded = vec![rows(), level_of(0, Level::Count, lost), level_of(1, Level::Off, lost)];
        assert!(!gone(&mut held(), unloaded), "an unloaded method was not turned off");
    }

    #[test]
    fn one_order_concerns_only_its_domain_and_copy() {
        let row = redial_model::fixtures::row(0, "Shop.Cart.Add", 0);
        let order = Order {
            domain: Some("clr".into()),
            copy: Some(row.copy.module.module_id),
            ..Order::new("*", Level::Count)
        };
        let concerns = |order: &Order| HeldDials::new("it", Some(order)).concerns(&row);
        assert!(concerns(&order));
        assert!(!concerns(&Order { domain: Some("other".into()), ..order.clone() }));
        assert!(concerns(&Order { domain: Some("other".into()), all_domains: true, ..order.clone() }));
        assert!(!concerns(&Order { copy: Some(1), ..order.clone() }));
    }
}
