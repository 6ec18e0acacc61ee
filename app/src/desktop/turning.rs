//! Turning dials: what is asked about first, and what undoes it.

use super::App;
use crate::commands::Command;
use crate::link::worker::fit_one_request;
use crate::model::connection::{Connection, Shape, Targets};
use crate::model::ids::{ConnectionId, Node};
use crate::model::selection::Mode;
use crate::views::confirm::{Bulk, Plan};
use crate::views::sharing::Question;
use redial_protocol::level::Level;

/// How the selected dials are turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// On or off.
    Toggle,
    /// A level up.
    Up,
    /// A level down.
    Down,
    /// To a level.
    To(Level),
}

impl App {
    pub(super) fn turn_selected(&mut self, how: Move) {
        // Left and right open and close groups in the tree, as everywhere.
        let focus = self.model.list().filter(|list| list.shape == Shape::Tree);
        let focus = focus.and_then(|list| list.selection.focus());
        if let (Some(node), Move::Up | Move::Down) = (focus, how)
            && !matches!(node, Node::Method(_))
        {
            self.open_or_close(node, how == Move::Up);
            return;
        }
        let Some(connection) = self.model.current() else { return };
        let targets = connection.turned_by_selection();
        // Methods that cannot be on do not make a selection mixed, unless there are no others.
        let wanted = |able: bool| {
            let these = targets.methods.iter().filter(move |method| !able || !connection.is_unable(*method));
            these.map(|method| connection.dial(method).wanted)
        };
        let some_able = how == Move::Toggle && wanted(true).next().is_some();
        let levels = wanted(some_able);
        let (lowest, highest) =
            levels.fold((Level::Trace, Level::Off), |(low, high), level| (low.min(level), high.max(level)));
        let offered = connection.offered_to_picked();
        let first_on = offered.iter().copied().find(|level| *level != Level::Off);
        let level = match how {
            // A mixed selection is turned on first.
            Move::Toggle if lowest == Level::Off => first_on,
            Move::Toggle => Some(Level::Off),
            Move::Up => offered.iter().copied().filter(|level| *level > lowest).min(),
            Move::Down => offered.iter().copied().filter(|level| *level < highest).max(),
            // As by a knob: what is there already is not turned again.
            Move::To(level) => Some(level).filter(|level| (lowest, highest) != (*level, *level)),
        };
        match level {
            Some(level) => self.turn_or_ask(targets, level),
            None if how == Move::Toggle => {
                self.refuse(&Command::ToggleSelected, "this agent offers no level above off");
            }
            None => {}
        }
    }

    /// Opens a group of the tree, or goes into it if it is open; closes it, or goes to the one above it if it is closed.
    fn open_or_close(&mut self, node: Node, open: bool) {
        self.methods.follow = true;
        self.model.change_list(|connection| {
            let above = connection.catalogue.parent(node);
            match (open, connection.tree.is_expanded(node), above) {
                (true, true, _) => connection.step(1, false),
                (false, false, Some(above)) => connection.click(above, Mode::Replace),
                (false, false, None) => {}
                _ => connection.tree.set_expanded(node, open),
            }
        });
    }

    /// Asks first about what other AppDomains would see, and about what is large; turns the rest at once, and what is
    /// possible only as a refusal.
    pub(super) fn turn_or_ask(&mut self, targets: Targets, level: Level) {
        let connection = self.turning_connection(&targets, level);
        let sharing = connection.and_then(|connection| connection.sharing(&targets, level));
        match sharing {
            Some(sharing) => self.sharing = Some(Question::new(sharing, level)),
            None => self.turn_or_ask_large(targets, level),
        }
    }

    pub(super) fn turn_or_ask_large(&mut self, targets: Targets, level: Level) {
        let connection = self.turning_connection(&targets, level);
        self.confirm = connection.and_then(|connection| Bulk::of(connection, &targets, level));
        if self.confirm.is_none() {
            self.turn(targets, level, false);
            return;
        }
        // What the agents know of it comes while the question is read.
        let mut plan = Plan::default();
        for (id, asked) in self.model.ask_plans(&targets, level) {
            match asked {
                Ok((_, orders)) if !fit_one_request(&orders) => {
                    let why = "its patterns are too long to be asked about at once";
                    plan.unable.push((id, why.to_owned()));
                }
                Ok((ticket, orders)) => {
                    self.workers.plan(id, ticket, orders);
                    plan.asked.push((id, ticket));
                }
                Err(why) => plan.unable.push((id, why)),
            }
        }
        if let Some(bulk) = &mut self.confirm {
            bulk.plan = plan;
        }
    }

    /// The connection looked at, if such a turn is possible there.
    fn turning_connection(&self, targets: &Targets, level: Level) -> Option<&Connection> {
        self.model.current().filter(|connection| connection.turnable(targets, level).is_ok())
    }

    pub(super) fn turn(&mut self, targets: Targets, level: Level, take: bool) {
        let now = self.now();
        let Some(id) = self.model.current else { return };
        // Why not stands in the log already.
        if let Ok((ticket, errands)) = self.model.turn(id, (&targets, level, take), now) {
            self.last_turn = Some((ticket, targets, level));
            self.send(errands);
        }
    }

    pub(super) fn undo_of_anyone(&mut self) {
        let now = self.now();
        let Some(id) = self.model.current else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        if let Ok(ticket) = connection.undo_of_anyone(&mut self.model.log, now) {
            self.workers.undo_of_anyone(id, ticket);
        }
    }

    /// Takes back what the budget did last in a process, or in the one looked at.
    pub(super) fn undo_of_budget(&mut self, of: Option<ConnectionId>) {
        let now = self.now();
        let Some(id) = of.or(self.model.current) else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        if let Ok((ticket, change)) = connection.undo_of_budget(&mut self.model.log, now) {
            self.workers.undo_of(id, ticket, change);
        }
    }

    pub(super) fn undo(&mut self, redo: bool) {
        let now = self.now();
        let errands = self.model.undo(redo, now);
        self.send(errands);
    }
}
