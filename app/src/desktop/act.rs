//! What each command does.

use super::{App, copy};
use crate::commands::Command;
use crate::model::connection::{Connection, Shape, Status};
use crate::model::ids::Node;
use crate::model::list::{Key, Sort};
use crate::model::log::Kind;
use crate::model::methodset::MethodSet;
use crate::model::selection::Mode;
use crate::output::words;
use crate::views;
use crate::views::confirm::Bulk;
use crate::views::launch::Plan;
use eframe::egui;
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;

/// What a process is called until it is known.
const UNNAMED: &str = "process";

impl App {
    /// Carries a command out.
    pub(super) fn act(&mut self, context: &egui::Context, command: Command) {
        match command {
            Command::AllOff => self.all_off(),
            Command::ToggleSelected => self.turn_selected(Move::Toggle),
            Command::TurnUp => self.turn_selected(Move::Up),
            Command::TurnDown => self.turn_selected(Move::Down),
            Command::Turn { methods, level } => self.turn_or_ask(methods, level),
            Command::ConfirmTurn => {
                if let Some(bulk) = self.confirm.take() {
                    self.turn(bulk.methods, bulk.level, false);
                }
            }
            Command::NotOffered(level) => {
                self.refuse(
                    &Command::NotOffered(level),
                    &format!("{level} is {}", crate::ui::knob::why_not(level, views::face::NOT_OFFERED)),
                );
            }
            Command::Undo => self.undo(false),
            Command::Redo => self.undo(true),
            Command::TakeControl => {
                if let Some((_, methods, level)) = self.last_turn.clone() {
                    self.turn(methods, level, true);
                }
            }
            Command::Select(process) => self.select(process),
            Command::FindProcess(text) => self.find_process(&text),
            Command::AllProcesses(all) => self.model.processes.set_show_all(all),
            Command::Reconnect => self.reconnect(),
            Command::Disconnect => self.disconnect(),
            Command::Launch => self.launch = true,
            Command::StartLaunch => match views::launch::plan(&self.settings.launch) {
                Ok(plan) => {
                    self.start(plan);
                    self.asked = self.launching;
                }
                Err(why) => self.refuse(&Command::StartLaunch, &why),
            },
            Command::StartDemo => {
                if let Some(plan) = self.demo.clone() {
                    self.start(plan);
                }
            }
            Command::FocusFilter => self.methods.focus_filter = true,
            Command::Filter(text) => self.change(|connection| {
                let filter = crate::model::list::Filter { text, ..connection.list.filter().clone() };
                connection.set_filter(filter);
            }),
            Command::ClearFilter => self.clear_filter(),
            Command::Pick(node, mode) => self.change(|connection| connection.click(node, mode)),
            Command::Expand(node) => self.change(|connection| connection.tree.toggle(node)),
            Command::Sort(sort) => {
                self.change(|connection| connection.set_sort(sort));
                // Who sorts looks at what comes first, save for one row that is looked at already.
                self.methods.to_top =
                    self.model.current().is_some_and(|connection| connection.selection.len() != 1);
            }
            Command::OnlyDialled => self.change(|connection| {
                let mut filter = connection.list.filter().clone();
                filter.only_dialled = !filter.only_dialled;
                connection.set_filter(filter);
            }),
            Command::HideFramework => {
                self.settings.hide_framework = !self.settings.hide_framework;
                self.follow_settings();
            }
            Command::Tree => {
                self.settings.tree = !self.settings.tree;
                self.follow_settings();
            }
            Command::HoldOrder => self.change(|connection| {
                let hold = connection.list.hold();
                connection.list.set_hold(!hold);
            }),
            Command::SelectAll => self.change(Connection::select_all),
            Command::Copy(form) => self.copy(context, form),
            Command::Log => self.settings.log_open = !self.settings.log_open,
            Command::Theme(theme) => self.look(context, |settings| settings.theme = theme),
            Command::ZoomIn => self.look(context, |settings| settings.zoom = (settings.zoom + 0.1).min(3.0)),
            Command::ZoomOut => self.look(context, |settings| settings.zoom = (settings.zoom - 0.1).max(0.6)),
            Command::ZoomReset => self.look(context, |settings| settings.zoom = 1.0),
            Command::Palette => self.palette = Some(views::palette::State::default()),
            Command::Keys => self.keys = true,
            Command::Escape => self.escape(),
            Command::Quit => context.send_viewport_cmd(egui::ViewportCommand::Close),
        }
        self.save_settings();
    }

    /// Says why a command was not carried out.
    pub(super) fn refuse(&mut self, command: &Command, why: &str) {
        let now = self.now();
        self.model.log.add(now, None, Kind::Refusal, format!("{}: {why}", command.name()));
    }

    fn change(&mut self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.model.current_mut() {
            change(connection);
        }
    }

    fn look(&mut self, context: &egui::Context, change: impl FnOnce(&mut crate::persist::Settings)) {
        change(&mut self.settings);
        self.apply_look(context);
    }

    fn all_off(&mut self) {
        let now = self.now();
        let log = &mut self.model.log;
        let Some(id) = self.model.current else {
            log.add(
                now,
                None,
                Kind::Notice,
                "all dials off: no process is looked at, so this window holds no dial",
            );
            return;
        };
        if let Some(connection) = self.model.connections.get_mut(&id) {
            let ticket = connection.all_off(log, now);
            self.workers.all_off(id, ticket);
        }
    }

    fn turn_selected(&mut self, how: Move) {
        let Some(connection) = self.model.current() else { return };
        // Left and right open and close groups in the tree, as everywhere.
        if let (Shape::Tree, Some(node), Move::Up | Move::Down) =
            (connection.shape, connection.selection.focus(), how)
            && !matches!(node, Node::Method(_))
        {
            self.open_or_close(node, how == Move::Up);
            return;
        }
        let targets = connection.targets();
        // Methods that cannot be on do not make a selection mixed, unless there are no others.
        let wanted = |able: bool| {
            let these = targets.iter().filter(move |method| !able || !connection.is_unable(*method));
            these.map(|method| connection.dial(method).wanted)
        };
        let some_able = how == Move::Toggle && wanted(true).next().is_some();
        let levels = wanted(some_able);
        let (lowest, highest) =
            levels.fold((Level::Trace, Level::Off), |(low, high), level| (low.min(level), high.max(level)));
        let offered = connection.offered();
        let first_on = offered.iter().copied().find(|level| *level != Level::Off);
        let level = match how {
            // A mixed selection is turned on first.
            Move::Toggle if lowest == Level::Off => first_on,
            Move::Toggle => Some(Level::Off),
            Move::Up => offered.iter().copied().filter(|level| *level > lowest).min(),
            Move::Down => offered.iter().copied().filter(|level| *level < highest).max(),
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
        self.change(|connection| {
            let above = connection.catalogue.parent(node);
            match (open, connection.tree.is_expanded(node), above) {
                (true, true, _) => connection.step(1, false),
                (false, false, Some(above)) => connection.click(above, Mode::Replace),
                (false, false, None) => {}
                _ => connection.tree.set_expanded(node, open),
            }
        });
    }

    /// Turns at once what is small or possible anyway only as a refusal; asks first about what is large.
    fn turn_or_ask(&mut self, methods: MethodSet, level: Level) {
        let connection =
            self.model.current().filter(|connection| connection.turnable(&methods, level).is_ok());
        self.confirm = connection.and_then(|connection| Bulk::of(connection, &methods, level));
        if self.confirm.is_none() {
            self.turn(methods, level, false);
        }
    }

    fn turn(&mut self, methods: MethodSet, level: Level, take: bool) {
        let now = self.now();
        let Some(id) = self.model.current else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        // Why not stands in the log already.
        if let Ok(turn) = connection.turn(&methods, level, take, &mut self.model.log, now) {
            self.last_turn = Some((turn.ticket, methods, level));
            self.workers.turn(turn);
        }
    }

    fn undo(&mut self, redo: bool) {
        let now = self.now();
        let Some(id) = self.model.current else { return };
        let Some(connection) = self.model.connections.get_mut(&id) else { return };
        if let Ok(turn) = connection.undo(redo, &mut self.model.log, now) {
            self.workers.turn(turn);
        }
    }

    /// Looks at a process.
    fn select(&mut self, process: ProcessKey) {
        let launched = self.model.launched.values().find(|launched| launched.agent == Some(process));
        let launched = launched.and_then(|launched| views::processes::program(&launched.what));
        let known = self.model.processes.get(process).map(views::processes::title);
        let name = known.or(launched).unwrap_or_else(|| UNNAMED.to_owned());
        let before = self.model.current;
        let (id, new) = self.model.open(process, &name);
        if new {
            self.workers.connect(id, process);
        }
        if before != Some(id) {
            self.methods = views::methods::State::default();
            if let Some(connection) = self.model.current() {
                self.methods.text.clone_from(&connection.list.filter().text);
            }
            self.follow_settings();
        }
    }

    /// What is remembered of the methods' form, for the process looked at.
    fn follow_settings(&mut self) {
        let (hide_framework, tree) = (self.settings.hide_framework, self.settings.tree);
        self.methods.find_again = true;
        self.change(|connection| {
            let filter = crate::model::list::Filter { hide_framework, ..connection.list.filter().clone() };
            connection.set_filter(filter);
            connection.shape = if tree { Shape::Tree } else { Shape::List };
        });
    }

    fn dialled_first(&mut self) {
        self.change(|connection| {
            let filter = connection.list.filter().clone();
            connection.set_filter(crate::model::list::Filter { only_dialled: true, ..filter });
            connection.set_sort(Sort { key: Key::Calls, descending: true });
        });
    }

    /// Opens the groups of a tree that stand alone, once: of one AppDomain nothing but its name is to be seen else.
    /// Whether there may be more to open once these are shown.
    pub(super) fn unfold(&mut self) -> bool {
        let Some(connection) = self.model.current_mut().filter(|connection| connection.shape == Shape::Tree)
        else {
            return false;
        };
        if self.methods.unfolded || !connection.catalogue.is_complete() {
            return false;
        }
        let rows = connection.tree.rows();
        let alone = rows.last().filter(|last| rows.iter().filter(|row| row.depth == last.depth).count() == 1);
        match alone.filter(|row| !row.expanded && !matches!(row.node, Node::Method(_))).map(|row| row.node) {
            Some(node) => connection.tree.set_expanded(node, true),
            None => self.methods.unfolded = !rows.is_empty(),
        }
        !self.methods.unfolded
    }

    /// Looks at what was asked for on the command line or launched, once it is there.
    pub(super) fn await_processes(&mut self) {
        // A launched program has its agent before the list of processes has it.
        let unnamed = self.model.current().filter(|connection| connection.name == UNNAMED);
        let name = unnamed
            .and_then(|connection| self.model.processes.get(connection.process))
            .map(views::processes::title);
        if let Some(name) = name {
            self.change(|connection| connection.name = name);
        }
        if let Some(pid) = self.awaited
            && self.model.processes.is_scanned()
        {
            self.awaited = None;
            match self.model.processes.by_pid(pid).map(|row| row.key) {
                Some(key) => {
                    self.select(key);
                    if std::mem::take(&mut self.dialled) {
                        self.dialled_first();
                    }
                }
                None => {
                    let now = self.now();
                    self.model.log.add(now, None, Kind::Refusal, format!("there is no process {pid}"));
                }
            }
        }
        if let Some(id) = self.model.met_agent() {
            self.workers.retry(id);
        }
        self.await_start();
        let Some(launched) = self.launching.and_then(|ticket| self.model.launched.get(&ticket)) else {
            return;
        };
        if let Some(key) = launched.agent {
            self.launching = None;
            self.select(key);
        } else if launched.ended.is_some() {
            self.launching = None;
        }
    }

    /// Closes the launch dialog when its program runs; keeps it open, with the reason, when it cannot be started.
    fn await_start(&mut self) {
        let Some(launched) = self.asked.and_then(|ticket| self.model.launched.get(&ticket)) else { return };
        if launched.pid.is_some() {
            self.launch = false;
        } else if let Some(why) = &launched.ended {
            self.launch_trouble = Some((self.settings.launch.clone(), why.clone()));
        } else {
            return;
        }
        self.asked = None;
    }

    fn find_process(&mut self, text: &str) {
        self.model.processes.set_filter(text);
        self.processes.set_text(text);
    }

    fn reconnect(&mut self) {
        let Some(connection) = self.model.current() else { return };
        if connection.status == Status::Live {
            return;
        }
        self.workers.retry(connection.id);
    }

    fn disconnect(&mut self) {
        if let Some(id) = self.model.current {
            self.workers.disconnect(id);
            self.model.close(id);
        }
    }

    fn start(&mut self, plan: Plan) {
        let what =
            std::iter::once(&plan.program).chain(&plan.arguments).cloned().collect::<Vec<_>>().join(" ");
        let now = self.now();
        let ticket = self.model.begin_launch(&what, now);
        self.launching = Some(ticket);
        self.workers.launch(ticket, plan);
    }

    fn clear_filter(&mut self) {
        self.methods.text.clear();
        self.methods.find_again = true;
        self.change(|connection| {
            let filter = connection.list.filter().clone();
            connection.set_filter(crate::model::list::Filter { text: String::new(), ..filter });
        });
    }

    fn copy(&mut self, context: &egui::Context, form: crate::commands::Form) {
        let Some(connection) = self.model.current() else { return };
        let (text, rows) = copy::table(connection, form);
        context.copy_text(text);
        let rows = words::methods(rows as u64);
        let now = self.now();
        self.model.log.add(now, None, Kind::Notice, format!("copied {rows}"));
    }

    fn escape(&mut self) {
        if self.confirm.take().is_some() || self.palette.take().is_some() {
        } else if self.keys || self.launch {
            (self.keys, self.launch) = (false, false);
        } else {
            self.clear_filter();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Toggle,
    Up,
    Down,
}
