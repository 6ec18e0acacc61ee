//! Requests that change dials: confirmations, undo and redo.

use super::App;
use crate::commands::UiCommand;
use crate::settings::layouts::PanelId;
use crate::views::confirmation::{LargeChange, PlanRequests};
use crate::views::sharing_dialog::SharingQuestion;
use redial_link::worker::fit_one_request;
use redial_model::ids::SubjectId;
use redial_model::ids::{ConnectionId, Node};
use redial_model::method_table::{MethodTable, Shape, Targets};
use redial_model::selection::SelectionMode;
use redial_model::subject::Subject;
use redial_protocol::level::Level;

/// How to turn the selected dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnDirection {
    /// On if all are off, else off.
    Toggle,
    /// One level up.
    Up,
    /// One level down.
    Down,
    /// To a level.
    To(Level),
}

impl App {
    /// Takes control of the current process, and repeats a change that was refused without it.
    pub(super) fn take_control(&mut self) {
        match self.last_change.clone().filter(|_| self.command_context().is_refused_for_control()) {
            Some((_, targets, level)) => self.set_level(targets, level, true),
            None => {
                let id = self.model.current.and_then(SubjectId::process);
                id.into_iter().for_each(|id| self.workers.take_control(id));
            }
        }
    }

    pub(super) fn change_selected(&mut self, how: TurnDirection) {
        // In the tree, Left and Right collapse and expand groups.
        let focus = self.model.list().filter(|list| list.shape == Shape::Tree);
        let focus = focus.and_then(|list| list.selection.focus());
        if let (Some(node), TurnDirection::Up | TurnDirection::Down) = (focus, how)
            && !matches!(node, Node::Method(_))
        {
            self.open_or_close(node, how == TurnDirection::Up);
            return;
        }
        let Some(subject) = self.model.current() else { return };
        let table = subject.table();
        let targets = table.turned_by_selection();
        // Methods that cannot be on do not make a selection mixed, unless there are no others.
        let wanted = |able: bool| {
            let these = targets.methods.iter().filter(move |method| !able || !table.is_unavailable(*method));
            these.map(|method| table.dial(method).wanted)
        };
        let some_able = how == TurnDirection::Toggle && wanted(true).next().is_some();
        let levels = wanted(some_able);
        let (lowest, highest) =
            levels.fold((Level::Trace, Level::Off), |(low, high), level| (low.min(level), high.max(level)));
        let offered = subject.offered_to_selection();
        let first_on = offered.iter().copied().find(|level| *level != Level::Off);
        let level = match how {
            // A mixed selection is turned on first.
            TurnDirection::Toggle if lowest == Level::Off => first_on,
            TurnDirection::Toggle => Some(Level::Off),
            TurnDirection::Up => offered.iter().copied().filter(|level| *level > lowest).min(),
            TurnDirection::Down => offered.iter().copied().filter(|level| *level < highest).max(),
            // As with a knob, a level that is set already is not set again.
            TurnDirection::To(level) => Some(level).filter(|level| (lowest, highest) != (*level, *level)),
        };
        match level {
            Some(level) => self.set_or_ask(targets, level),
            None if how == TurnDirection::Toggle => {
                self.refuse(&UiCommand::ToggleSelected, "this agent offers no level above off");
            }
            None => {}
        }
    }

    /// Expands a group of the tree, or goes into an expanded one; collapses it, or goes to the parent of a
    /// collapsed one.
    fn open_or_close(&mut self, node: Node, open: bool) {
        self.methods.follow = true;
        self.model.change_list(|table| {
            let above = table.tree.parent_row(node, &table.catalogue);
            match (open, table.tree.is_expanded(node), above) {
                (true, true, _) => table.step(1, false),
                (false, false, Some(above)) => table.click(above, SelectionMode::Replace),
                (false, false, None) => {}
                _ => table.tree.set_expanded(node, open),
            }
        });
    }

    /// Asks before changes that affect other AppDomains and before large changes; makes other changes at
    /// once. An impossible change is made, too, so that its refusal is logged.
    pub(super) fn set_or_ask(&mut self, targets: Targets, level: Level) {
        let table = self.changeable_table(&targets, level);
        let sharing = table.and_then(|table| table.sharing(&targets, level));
        match sharing {
            Some(sharing) => self.dialogs.sharing = Some(SharingQuestion::new(sharing, level)),
            None => self.set_or_ask_large(targets, level),
        }
    }

    pub(super) fn set_or_ask_large(&mut self, targets: Targets, level: Level) {
        let table = self.changeable_table(&targets, level);
        self.dialogs.confirm = table.and_then(|table| LargeChange::of(table, &targets, level));
        if self.dialogs.confirm.is_none() {
            self.set_level(targets, level, false);
            return;
        }
        // The agents' plans arrive while the user reads the question.
        let mut plan = PlanRequests::default();
        for (id, asked) in self.model.ask_plans(&targets, level) {
            match asked {
                Ok((_, orders)) if !fit_one_request(&orders) => {
                    let why = "the patterns are too long for one request";
                    plan.unable.push((id, why.to_owned()));
                }
                Ok((ticket, orders)) => {
                    self.workers.plan(id, ticket, orders);
                    plan.asked.push((id, ticket));
                }
                Err(why) => plan.unable.push((id, why)),
            }
        }
        if let Some(bulk) = &mut self.dialogs.confirm {
            bulk.plan = plan;
        }
    }

    /// Returns the current methods if such a change is possible there.
    fn changeable_table(&self, targets: &Targets, level: Level) -> Option<&MethodTable> {
        let subject = self.model.current().filter(|subject| subject.check(targets, level).is_ok());
        subject.map(Subject::table)
    }

    pub(super) fn set_level(&mut self, targets: Targets, level: Level, take: bool) {
        let now = self.now();
        let Some(subject) = self.model.current else { return };
        // The log has the reason already.
        if let Ok((ticket, requests)) = self.model.set_level(subject, (&targets, level, take), now) {
            self.last_change = Some((ticket, targets, level));
            if level == Level::Trace {
                // Before the change is sent, so that no call is missed.
                if self.dock.is_some() && !self.shows_calls() {
                    self.show_panel(PanelId::Events);
                } else if !self.shows_lower() {
                    self.show_panel(PanelId::of_tab(self.settings.lower_tab));
                }
                self.methods.follow = true;
                self.stream_events();
            }
            self.send(requests);
        }
    }

    pub(super) fn undo_of_anyone(&mut self) {
        let now = self.now();
        let Some(id) = self.model.current.and_then(SubjectId::process) else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        if let Ok(ticket) = connection.undo_of_anyone(&mut self.model.log, now) {
            self.workers.undo_of_anyone(id, ticket);
        }
    }

    /// Undoes the budget's last step in the given process, or in the current one.
    pub(super) fn undo_of_budget(&mut self, of: Option<ConnectionId>) {
        let now = self.now();
        let Some(id) = of.or(self.model.current.and_then(SubjectId::process)) else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        if let Ok((ticket, change)) = connection.undo_of_budget(&mut self.model.log, now) {
            self.workers.undo_of(id, ticket, change);
        }
    }

    pub(super) fn undo(&mut self, redo: bool) {
        let now = self.now();
        let requests = self.model.undo(redo, now);
        self.send(requests);
    }
}
