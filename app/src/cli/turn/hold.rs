//! Holding what was turned: staying until Ctrl-C, and saying what others do meanwhile.

use super::Wanted;
use crate::exit::{Exit, Failure};
use crate::link::error::LinkError;
use crate::link::session::{PING_EVERY, Session};
use crate::model::dials::{Change, Dials};
use crate::output::json::LetGoJson;
use crate::output::{Out, turns};
use redial_protocol::level::Level;
use redial_protocol::message::{Command, Event, Reply, StatusRow};
use redial_protocol::order::Order;
use redial_protocol::state::State;
use std::time::Instant;

/// Milliseconds between folds that nobody looks at.
const HOLD_INTERVAL_MS: u32 = 60_000;

/// Stays until Ctrl-C; then [`let_go`] turns the dials off, and the agent does whenever the session ends. What others do
/// meanwhile is said with `say`.
pub fn hold(session: &mut Session, wanted: &Wanted<'_>, say: &dyn Fn(String)) -> Result<(), LinkError> {
    session.keep_alive(PING_EVERY)?;
    // Only for the words about control and the end of the process: the numbers are `watch`'s.
    let only = match wanted.orders.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let pattern = only.map(|order| order.pattern.clone());
    match session.tell(Command::Subscribe { pattern, interval_ms: HOLD_INTERVAL_MS }) {
        Err(LinkError::Interrupted) => return Ok(()),
        told => told?,
    }
    let mut held = Held { only, dials: Dials::default(), on: true, news: true };
    loop {
        // Judged when all is heard for now: turning many dials off takes many events.
        match session.next(held.news.then(Instant::now)) {
            Ok(Some(Event::Control(Some(holder)))) => {
                say(format!(
                    "{} (pid {}) took control; the dials stay held until this command ends",
                    holder.program, holder.pid
                ));
            }
            Ok(Some(Event::Goodbye { .. })) => {
                held.judge(&wanted.name, say);
                return Err(LinkError::Ended(session.pid()));
            }
            Ok(Some(event)) => held.apply(event),
            Ok(None) => held.judge(&wanted.name, say),
            Err(LinkError::Interrupted) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Ends what is held, and says what became of it by the agent's numbers; `exit` where all of it is off.
pub fn let_go(session: &mut Session, json: bool, exit: Exit) -> Result<Exit, Failure> {
    let gone = release(session)?;
    let mut out = Out::new();
    match json {
        true => out.json(&gone)?,
        false => out.line(&turns::let_go(&gone))?,
    }
    out.flush()?;
    Ok(if gone.remaining == 0 { exit } else { Exit::Partly })
}

/// Ends what is held: what became of it.
pub fn release(session: &mut Session) -> Result<LetGoJson, LinkError> {
    match session.ask(Command::LetGo, &mut |_| {})? {
        Reply::LetGo { reverted, stay, remaining } => {
            Ok(LetGoJson { pid: session.pid(), reverted, stay, remaining })
        }
        _ => Err(session.wrong_reply()),
    }
}

/// The rows of what is held, to notice when others turn all of it off. Of several orders: all that is dialled, because
/// a subscription has one pattern.
struct Held<'a> {
    only: Option<&'a Order>,
    dials: Dials,
    /// Whether any was on when it was judged last.
    on: bool,
    news: bool,
}

impl Held<'_> {
    fn apply(&mut self, event: Event) {
        self.news |= self.dials.apply(event) == Change::Rows;
    }

    /// Whether all of it was turned off since this was asked last.
    fn went_off(&mut self) -> bool {
        self.news = false;
        // What was unloaded was turned off by nobody.
        let mut loaded = self
            .dials
            .iter()
            .filter(|dial| dial.row.state != State::Lost && self.concerns(&dial.row))
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

    fn judge(&mut self, name: &str, say: &dyn Fn(String)) {
        if self.went_off() {
            say(format!(
                "someone else turned {name} off: nothing is held any more, and Ctrl-C ends this command"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dial_that_others_turn_off_is_noticed_once() {
        use redial_protocol::ids::RowId;
        use redial_protocol::message::Transition;
        use redial_protocol::order::TimeOptions;
        let turn = |row, wanted, state| {
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
            rows: [0, 1].map(|index| crate::model::dials::tests::row(index, "Shop.Cart.Add", 0)).to_vec(),
        };
        let held = || Held { only: None, dials: Dials::default(), on: true, news: true };
        let gone = |held: &mut Held<'_>, events: Vec<Event>| {
            events.into_iter().for_each(|event| held.apply(event));
            held.went_off()
        };
        let (off, lost) = (State::Off, State::Lost);
        let mut all = held();
        assert!(!gone(&mut all, vec![]), "nothing is known yet");
        assert!(!gone(&mut all, vec![rows()]));
        assert!(!gone(&mut all, vec![turn(0, Level::Off, off)]), "one is left");
        assert!(gone(&mut all, vec![turn(1, Level::Off, off)]));
        assert!(!gone(&mut all, vec![turn(1, Level::Off, off)]), "it is said once");
        assert!(!gone(&mut all, vec![turn(1, Level::Count, State::Asked)]));
        assert!(gone(&mut all, vec![turn(1, Level::Off, off)]), "and again after another turn");
        let first = vec![rows(), turn(0, Level::Off, off), turn(1, Level::Off, off)];
        assert!(gone(&mut held(), first), "it may be off before it is looked at");
        let unloaded = vec![rows(), turn(0, Level::Count, lost), turn(1, Level::Off, lost)];
        assert!(!gone(&mut held(), unloaded), "what is unloaded was not turned off");
    }

    #[test]
    fn of_one_order_only_its_own_domain_and_copy_matter() {
        let row = crate::model::dials::tests::row(0, "Shop.Cart.Add", 0);
        let order = Order {
            domain: Some("clr".into()),
            copy: Some(row.copy.module.module_id),
            ..Order::new("*", Level::Count)
        };
        let concerns = |order: &Order| {
            Held { only: Some(order), dials: Dials::default(), on: true, news: true }.concerns(&row)
        };
        assert!(concerns(&order));
        assert!(!concerns(&Order { domain: Some("other".into()), ..order.clone() }));
        assert!(concerns(&Order { domain: Some("other".into()), all_domains: true, ..order.clone() }));
        assert!(!concerns(&Order { copy: Some(1), ..order.clone() }));
    }
}
