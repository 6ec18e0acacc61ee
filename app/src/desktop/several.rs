//! Several processes: which are looked at, what goes to each, and those that join by themselves.

use super::App;
use crate::commands::{Command, Situation};
use crate::model::Model;
use crate::model::connection::{Connection, Status, Step};
use crate::model::fleet::{Errand, Join, MOST_PROCESSES, Settled};
use crate::model::ids::{ConnectionId, FLEET};
use crate::model::list::{Filter, Sort};
use crate::model::log::Kind;
use crate::model::processes::AgentState;
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::model::update::Now;
use crate::output::words;
use crate::views;
use crate::views::bar::On;
use eframe::egui;
use redial_protocol::ids::ProcessKey;
use redial_protocol::state::State;

/// Processes that have ended and stay in sight while others join.
const ENDED: usize = 8;
/// What a process is called until it is known.
pub(super) const UNNAMED: &str = "process";

/// How rows are shown. That is the window's: what stands in the filter stands whatever is looked at, and no other filter comes
/// back with a process.
#[derive(Clone, Debug)]
pub(super) struct Looks {
    filter: Filter,
    sort: Sort,
    hold: bool,
}

impl App {
    /// Chooses processes, or shows those that are chosen in another way.
    pub(super) fn act_on_several(&mut self, command: Command) {
        match command {
            Command::Choose(process, mode) => {
                self.model.choose(process, mode);
                self.beside_order.clear();
                self.look_at_chosen();
            }
            Command::ChooseNamed(name) => {
                self.model.choose_named(&name);
                self.beside_order.clear();
                self.look_at_chosen();
            }
            Command::ChooseNamesakes => {
                let named = self.model.members().next().or(self.model.current());
                if let Some(name) = named.map(|connection| connection.name.clone()) {
                    self.act_on_several(Command::ChooseNamed(name));
                }
            }
            Command::Arrange(arrangement) => {
                self.model.arrange(arrangement);
                self.beside_order.clear();
                self.look_at_chosen();
                let running = self.model.running();
                let place = running.iter().position(|one| Some(one.id) == self.model.current);
                self.beside_from = place.unwrap_or(0);
            }
            Command::Focus(id) => self.focus(id),
            Command::BesideFrom(place) => self.beside_from = place,
            Command::Follow => self.follow(),
            Command::FollowAttach => {
                if let Some(fleet) = self.model.fleet_mut() {
                    fleet.follow.attach = !fleet.follow.attach;
                    fleet.follow.look_again();
                }
            }
            Command::LastNumbers => {
                self.last_numbers = match self.last_numbers {
                    Some(_) => None,
                    None => Some(views::last_numbers::State::default()),
                };
            }
            Command::DropEnded => self.drop_ended(0),
            _ => {}
        }
    }

    /// Makes what is looked at what was chosen.
    pub(super) fn look_at_chosen(&mut self) {
        let (before, now) = (self.model.current, self.now());
        self.note_looks();
        let new = self.model.look_at_chosen(name_of, now);
        self.connect(&new);
        if let Some(Looks { mut filter, sort, hold }) = self.looks.clone() {
            // That one is a setting, which can change while nothing is looked at.
            filter.hide_framework = self.settings.hide_framework;
            self.model.change_list(|connection| {
                connection.set_sort(sort);
                connection.list.set_hold(hold);
                connection.set_filter(filter);
            });
        }
        self.model.forget_selections();
        let chosen: Vec<ConnectionId> = self.model.members().map(|member| member.id).collect();
        self.panes.retain(|id, _| chosen.contains(id));
        if before != self.model.current {
            self.looks_elsewhere();
        }
    }

    /// Keeps how rows are shown, for whatever is looked at next: to be called before a connection is closed.
    pub(super) fn note_looks(&mut self) {
        if let Some(list) = self.model.list().map(|connection| &connection.list) {
            let filter = list.filter().clone();
            self.looks = Some(Looks { filter, sort: list.sort(), hold: list.hold() });
        }
    }

    fn connect(&mut self, new: &[ConnectionId]) {
        for id in new {
            if let Some(connection) = self.model.connections.get(id) {
                self.workers.connect(*id, connection.process);
            }
        }
        // Those that are new are shown as the others are.
        self.follow_settings();
    }

    /// What is looked at is something else now.
    pub(super) fn looks_elsewhere(&mut self) {
        self.methods = views::methods::State::default();
        self.panes.clear();
        self.beside_scroll = 0.0;
        if let Some(connection) = self.model.current() {
            self.methods.text.clone_from(&connection.list.filter().text);
        }
        (self.confirm, self.sharing, self.last_turn) = (None, None, None);
        self.follow_settings();
    }

    /// Looks at one of those shown side by side.
    fn focus(&mut self, id: ConnectionId) {
        let before = self.model.current;
        self.model.focus(id);
        let Some(before) = before.filter(|before| *before != id && self.model.current == Some(id)) else {
            return;
        };
        let mut state = self.panes.remove(&id).unwrap_or_default();
        state.text.clone_from(&self.methods.text);
        self.panes.insert(before, std::mem::replace(&mut self.methods, state));
        (self.confirm, self.sharing) = (None, None);
    }

    /// One list of several processes: merged, or a row for each.
    pub(super) fn merge_or_part(&mut self) {
        let other = match self.model.arrangement() {
            Arrangement::Merged => Arrangement::Apart,
            Arrangement::Apart | Arrangement::Beside => Arrangement::Merged,
        };
        self.methods.find_again = true;
        self.act_on_several(Command::Arrange(other));
    }

    fn follow(&mut self) {
        let now = self.now();
        let names: Vec<String> = self.model.members().map(|member| member.name.clone()).collect();
        let on = self.model.fleet().is_some_and(|fleet| fleet.follow.is_on());
        let text = match on {
            true => {
                if let Some(fleet) = self.model.fleet_mut() {
                    fleet.follow.end();
                }
                "processes that start later do not join any more".to_owned()
            }
            false => {
                self.model.begin_follow(names);
                let names = self.model.fleet().into_iter().flat_map(|fleet| fleet.follow.names());
                let names: Vec<String> = names.map(str::to_owned).collect();
                format!("processes named {} that start from now on join", words::all(&names))
            }
        };
        self.model.log.add(now, Some(FLEET), Kind::Notice, text);
        self.look_at_chosen();
    }

    /// Makes room for so many processes: of those that have ended only some stay in sight.
    fn make_room(&mut self, number: usize) {
        let running = self.model.running().len();
        let keep = ENDED.min(MOST_PROCESSES.saturating_sub(running + number));
        let ended: Vec<String> = self.model.ended().into_iter().map(Connection::title).collect();
        let gone = ended.len().saturating_sub(keep);
        if gone == 0 {
            return;
        }
        let titles = words::all(ended.get(..gone).unwrap_or_default());
        let text = format!("{titles} ended before others and left the list, with the last numbers");
        let now = self.now();
        self.model.log.add(now, Some(FLEET), Kind::Notice, text);
        self.drop_ended(keep);
    }

    fn drop_ended(&mut self, keep: usize) {
        self.note_looks();
        let ended = self.model.drop_ended(keep);
        for id in ended {
            self.workers.disconnect(id);
            self.model.close(id);
            self.panes.remove(&id);
        }
        self.look_at_chosen();
    }

    /// Sends what is to be sent.
    pub(super) fn send(&mut self, errands: Vec<Errand>) {
        for Errand { connection, step } in errands {
            match step {
                Step::TakeBack { ticket, of } => self.workers.take_back(connection, ticket, of),
                Step::Turn(turn) => self.workers.turn(turn),
                Step::AllOff(ticket) => self.workers.all_off(connection, ticket),
            }
        }
    }

    /// Brings the model up to date, and sends what comes of it; whether there is more.
    pub(super) fn settle(&mut self, context: &egui::Context, now: Now) -> bool {
        let settled = self.model.settle(now);
        self.carry_out(context, settled, now)
    }

    /// The same in the frame of a gesture.
    pub(super) fn settle_gesture(&mut self, context: &egui::Context, now: Now) {
        let settled = self.model.settle_gesture(now);
        self.carry_out(context, settled, now);
    }

    fn carry_out(&mut self, context: &egui::Context, settled: Settled, now: Now) -> bool {
        let Settled { more, due, turns } = settled;
        if let Some(due) = due {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        turns.into_iter().for_each(|turn| self.workers.turn(turn));
        more
    }

    /// Lets processes join that started since, where that was asked for.
    pub(super) fn await_newcomers(&mut self) {
        let now = self.now();
        let found = self.model.newcomers(now);
        if !found.is_empty() {
            self.make_room(found.len());
            self.model.choose_more(found.iter().map(|(process, _)| *process));
            self.look_at_chosen();
        }
        for (process, join) in found {
            let Some(id) = self.model.connection_to(process).map(|connection| connection.id) else {
                continue;
            };
            let Some(fleet) = self.model.fleet_mut() else { return };
            fleet.is_new(id);
            if join == Join::Attach && fleet.follow.try_again(process, now.mono) {
                self.workers.attach(id);
            }
        }
        for (id, process) in self.model.not_attached() {
            let Some(fleet) = self.model.fleet_mut() else { return };
            if fleet.follow.try_again(process, now.mono) {
                self.workers.attach(id);
            }
        }
    }

    /// The connections that a command for what is looked at goes to.
    pub(super) fn meant(&self, which: impl Fn(&Connection) -> bool) -> Vec<ConnectionId> {
        let meant = self
            .model
            .members()
            .filter(|member| self.model.is_merged() || Some(member.id) == self.model.current);
        meant.filter(|member| which(member)).map(|member| member.id).collect()
    }

    /// Whether the agent can be loaded into the process of a connection.
    pub(super) fn is_attachable(&self, connection: &Connection) -> bool {
        let row = self.model.processes.get(connection.process);
        !matches!(connection.status, Status::Live | Status::Attaching)
            && row.is_some_and(|row| row.agent == AgentState::Attachable)
    }

    /// Dials that *All dials off* would turn off.
    pub(super) fn dials_on(&self) -> On {
        let all = || self.model.members().chain(self.model.held_elsewhere());
        let live = all().filter(|connection| connection.status == Status::Live);
        let on = [State::Asked, State::Live, State::Reverting];
        On {
            known: live.flat_map(|connection| on.map(|state| connection.live.count(state) as u64)).sum(),
            more: all().any(Connection::is_reading_dials),
        }
    }

    /// What several processes mean for commands.
    pub(super) fn situation_of_several(&self, situation: &mut Situation) {
        situation.several = self.model.chosen().len();
        situation.several_ended = self.model.ended().len();
        situation.held_elsewhere = self.model.held_elsewhere().count();
        situation.merged = self.model.is_merged();
        if self.model.fleet().is_some() {
            situation.switches.merge_copies = self.model.arrangement() == Arrangement::Merged;
        }
        situation.namesakes =
            self.model.members().next().is_some_and(|first| self.model.named(&first.name).nth(1).is_some());
        situation.switches.arrangement = self.model.arrangement();
        let follow = self.model.fleet().map(|fleet| &fleet.follow);
        situation.switches.follow = follow.is_some_and(|follow| follow.is_on());
        situation.switches.follow_attach = follow.is_some_and(|follow| follow.attach);
    }

    /// Looks at a process alone.
    pub(super) fn select(&mut self, process: ProcessKey) {
        self.model.choose(process, Mode::Replace);
        self.look_at_chosen();
    }

    /// Looks at a program that was launched: alone, or besides several that were chosen together.
    pub(super) fn look_at_launched(&mut self, process: ProcessKey) {
        if self.model.fleet().is_none() {
            return self.select(process);
        }
        let title = format!("{} ({})", name_of(&self.model, process), process.pid);
        let text =
            format!("{title} is chosen besides the others; a click on it in the list looks at it alone");
        let now = self.now();
        self.model.log.add(now, Some(FLEET), Kind::Notice, text);
        self.model.choose_more([process]);
        self.look_at_chosen();
    }

    /// Switches between rows a method and rows a process, where there are several.
    pub(super) fn split_or_merge(&mut self) {
        if self.model.fleet().is_none() {
            self.settings.merge_copies = !self.settings.merge_copies;
            return self.follow_settings();
        }
        self.merge_or_part();
    }
}

/// What a process is called.
fn name_of(model: &Model, process: ProcessKey) -> String {
    let launched = model.launched.values().find(|launched| launched.agent == Some(process));
    let launched = launched.and_then(|launched| views::processes::program(&launched.what));
    let known = model.processes.get(process).map(views::processes::title);
    known.or(launched).unwrap_or_else(|| UNNAMED.to_owned())
}
