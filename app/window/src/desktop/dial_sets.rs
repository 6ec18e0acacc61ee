//! Saves, applies and offers dial sets. None is ever applied by itself.

use super::App;
use crate::commands::UiCommand;
use crate::settings::programs::SavedDialSet;
use crate::views::dial_sets::DialSetsState;
use redial_model::connection::{Connection, Status};
use redial_model::log::LogKind;
use redial_protocol::dialset;
use redial_protocol::order::Order;
use redial_text::words;

/// Most orders of a set: the settings file holds its text.
const ORDERS: usize = 1_000;

impl App {
    /// Executes a command about dial sets of the current process.
    pub(super) fn execute_for_dial_sets(&mut self, command: UiCommand) {
        match command {
            UiCommand::DialSets => self.dialogs.dial_sets = Some(DialSetsState::default()),
            UiCommand::SaveDialSet(name) => self.save_dial_set(&name),
            UiCommand::ApplyDialSet(name) => self.apply_dial_set(&name),
            UiCommand::DeleteDialSet(name) => {
                if let Some(program) = self.model.current_process().map(|one| one.name.clone()) {
                    self.settings.programs.delete_dial_set(&program, &name);
                }
            }
            _ => {}
        }
    }

    fn save_dial_set(&mut self, name: &str) {
        let Some((program, orders)) = self.model.current_process().and_then(standing) else { return };
        let text = dialset::print(&orders);
        let reads_back = dialset::parse(&text).is_ok_and(|read| read.len() == orders.len());
        if orders.len() > ORDERS || !reads_back {
            let most = words::grouped(ORDERS as u64);
            let why = format!("a set holds at most {most} orders, and each must be a valid pattern");
            return self.refuse(&UiCommand::SaveDialSet(name.to_owned()), &why);
        }
        let set = SavedDialSet { name: name.to_owned(), text };
        if let Err(why) = self.settings.programs.save_dial_set(&program, set) {
            return self.refuse(&UiCommand::SaveDialSet(name.to_owned()), why);
        }
        let saved = words::count(orders.len() as u64, "order", "orders");
        let now = self.now();
        self.model.log.add(now, None, LogKind::Notice, format!("Saved “{name}” for {program}: {saved}"));
    }

    fn apply_dial_set(&mut self, name: &str) {
        let now = self.now();
        let Some(id) = self.model.current_process().map(|connection| connection.id) else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        let saved = self.settings.programs.get(&connection.name);
        let set = saved.and_then(|program| program.dial_sets.iter().find(|set| set.name == name));
        let Some(orders) = set.and_then(|set| dialset::parse(&set.text).ok()) else { return };
        let count = words::count(orders.len() as u64, "order", "orders");
        let words = format!("dial set “{name}”: {count}");
        // The log has the reason of a refusal.
        if let Ok(change) = connection.apply_orders(words, orders, &mut self.model.log, now) {
            self.workers.change(change);
            self.dialogs.dial_sets = None;
        }
    }

    /// Mentions the dial sets of a process once, when its agent answers and no dial is on.
    pub(super) fn offer_dial_sets(&mut self) {
        let Some(connection) = self.model.current_process() else { return };
        let id = connection.id;
        let is_ready = connection.session.status == Status::Live
            && connection.orders.as_ref().is_some_and(|orders| orders.standing.is_empty());
        let sets = self.settings.programs.get(&connection.name).map_or(0, |program| program.dial_sets.len());
        if !is_ready || sets == 0 || !self.offered_sets.insert(id) {
            return;
        }
        let sets = words::count(sets as u64, "saved dial set", "saved dial sets");
        let text = format!("{} has {sets}: see “Dial sets…” above the table", connection.title());
        let now = self.now();
        self.model.log.add(now, Some(id.into()), LogKind::Hint, text);
    }
}

/// Returns the program of a process and its standing orders, oldest first; `None` without any.
fn standing(connection: &Connection) -> Option<(String, Vec<Order>)> {
    let standing = &connection.orders.as_ref()?.standing;
    let orders: Vec<Order> = standing.iter().map(|standing| standing.order.clone()).collect();
    (!orders.is_empty()).then(|| (connection.name.clone(), orders))
}
