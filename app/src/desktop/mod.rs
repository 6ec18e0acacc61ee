//! The window: it drains what the workers tell into the model, draws the views, and carries out their commands. The
//! thread that draws never waits for anything.
#![forbid(unsafe_code)]

mod act;
mod beside;
mod clock;
mod copy;
mod demo;
mod geometry;
mod input;
mod layout;
mod looked_at;
mod open;
mod opening;
mod pace;
mod panels;
mod several;
#[cfg(test)]
mod tests;
mod told;
mod turning;
mod unread;
mod workers;

pub use clock::Clock;
pub use open::{Options, open};

use crate::commands::{Situation, Switches};
use crate::model::Model;
use crate::model::connection::{Connection, Shape, Status, Targets};
use crate::model::ids::{ConnectionId, Node, Ticket};
use crate::model::log::Kind;
use crate::model::near::Near;
use crate::model::update::{Now, Retry, Update};
use crate::persist::{Settings, ThemeChoice};
use crate::ui::letters::Letters;
use crate::ui::theme;
use crate::views;
use eframe::egui;
use opening::Opening;
use pace::{Besides, Pace};
use redial_protocol::level::Level;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use workers::Workers;

/// How long a refusal stays in sight about which nothing can be done here; what is none (undone, a hint), half as long.
const TOAST: Duration = Duration::from_secs(8);

/// The window's state.
pub struct App {
    model: Model,
    workers: Workers,
    clock: Clock,
    settings: Settings,
    settings_path: Option<PathBuf>,
    saved: Settings,
    processes: views::processes::State,
    methods: views::methods::State,
    /// Of several side by side, the tables that are not looked at; and the place of the first shown.
    panes: BTreeMap<ConnectionId, views::methods::State>,
    beside_from: usize,
    /// All that are shown side by side, in their order.
    beside_order: Vec<ConnectionId>,
    /// Where all of them are scrolled to, points.
    beside_scroll: f64,
    /// How rows are shown; absent: nothing was looked at yet.
    looks: Option<several::Looks>,
    /// What a filter that finds nothing may have meant.
    near: Near,
    log: views::log::State,
    palette: Option<views::palette::State>,
    /// A large turn that waits for a yes.
    confirm: Option<views::confirm::Bulk>,
    /// A turn that other AppDomains would see, and that waits for a yes.
    sharing: Option<views::sharing::Question>,
    /// Whether control, orders and audit are shown.
    agent: bool,
    /// What dials may cost, to be set.
    budget: Option<views::budget::State>,
    /// Whether the last numbers of processes that have ended are shown.
    last_numbers: Option<views::last_numbers::State>,
    keys: bool,
    launch: bool,
    /// How to start a program with the agent.
    set_up: Option<views::setup::State>,
    /// The program that the launch dialog waits for, until it runs.
    asked: Option<Ticket>,
    /// Why what the launch dialog was filled with could not be started.
    launch_trouble: Option<(crate::persist::Launch, String)>,
    demo: Option<views::launch::Plan>,
    /// A process to look at as soon as it is known to have the agent.
    awaited: Option<u32>,
    /// Whether of that process the dialled methods are shown first.
    dialled: bool,
    /// The launched program to look at as soon as its agent is there.
    launching: Option<Ticket>,
    /// The last turn, to be done again with control taken.
    last_turn: Option<(Ticket, Targets, Level)>,
    /// The newest refusal that was shown.
    toast: told::Toast,
    /// Height of what was told last, points.
    told_height: f32,
    /// A text field that was just asked for.
    opening: Opening,
    /// What frames took of late.
    pace: Pace,
    /// The letters of names, made before they are needed.
    letters: Letters,
}

impl App {
    /// The window's state before its first frame.
    pub fn new(context: &egui::Context, options: Options) -> App {
        let workers = Workers::start(context, options.scan);
        App::with_workers(context, options, workers)
    }

    /// A window that is told `updates` in place of what the machine's processes say; nothing is told to processes.
    pub fn fed(context: &egui::Context, options: Options, updates: Receiver<Update>) -> App {
        App::with_workers(context, options, (Workers::given(updates), None))
    }

    fn with_workers(
        context: &egui::Context,
        options: Options,
        (workers, trouble): (Workers, Option<String>),
    ) -> App {
        theme::install(context);
        context.options_mut(|options| options.zoom_with_keyboard = false);
        let found = options.settings.as_deref().map(crate::persist::load);
        let settings_path = options.settings.filter(|_| found.as_ref().is_some_and(|one| one.may_be_saved));
        let (settings, notice) = found.map_or_else(Default::default, |one| (one.settings, one.notice));
        let mut app = App {
            model: Model::default(),
            workers,
            clock: options.clock,
            saved: settings.clone(),
            settings,
            settings_path,
            processes: views::processes::State::default(),
            methods: views::methods::State::default(),
            panes: BTreeMap::new(),
            beside_from: 0,
            beside_order: Vec::new(),
            beside_scroll: 0.0,
            looks: None,
            near: Near::default(),
            log: views::log::State::default(),
            palette: None,
            confirm: None,
            sharing: None,
            agent: false,
            last_numbers: None,
            keys: false,
            launch: false,
            set_up: None,
            budget: None,
            asked: None,
            launch_trouble: None,
            // A window that looks for no process starts none either.
            demo: if options.scan { demo::find() } else { None },
            awaited: options.pid,
            dialled: options.dialled,
            launching: None,
            last_turn: None,
            toast: told::Toast::default(),
            told_height: 0.0,
            opening: Opening::default(),
            pace: Pace::default(),
            letters: Letters::default(),
        };
        for notice in notice.into_iter().chain(trouble) {
            app.model.log.add(app.now(), None, Kind::Notice, notice);
        }
        app.apply_look(context);
        app
    }

    fn now(&self) -> Now {
        self.clock.now()
    }

    fn apply_look(&self, context: &egui::Context) {
        context.set_theme(match self.settings.theme {
            ThemeChoice::System => egui::ThemePreference::System,
            ThemeChoice::Dark => egui::ThemePreference::Dark,
            ThemeChoice::Light => egui::ThemePreference::Light,
        });
        context.set_zoom_factor(self.settings.zoom);
    }

    /// What decides which commands can be given.
    fn situation(&self) -> Situation {
        let connection = self.model.current();
        let live = connection.is_some_and(|connection| connection.status == Status::Live);
        let refused = connection.and_then(|connection| connection.last_refused());
        let mine = self.last_turn.as_ref().map(|(ticket, ..)| *ticket);
        let list = self.model.list();
        let all_ended = self.meant(|one| one.status.retry() != Some(Retry::Never)).is_empty();
        let mut situation = Situation {
            process: connection.is_some(),
            attachable: !self.meant(|one| self.is_attachable(one)).is_empty(),
            connected: live,
            ended: connection.is_some() && all_ended,
            lost: !self.meant(|one| one.status.retry().is_some_and(|retry| retry != Retry::Never)).is_empty(),
            selected: connection.map_or(0, |connection| connection.selection.len()),
            offered: Level::ALL
                .map(|level| connection.is_some_and(|one| one.offered_to_picked().contains(&level))),
            shown: list.map_or(0, Connection::row_count),
            filtered: list.is_some_and(|connection| !connection.list.filter().text.is_empty()),
            control_elsewhere: refused
                .is_some_and(|(ticket, refused)| refused.holder.is_some() && Some(*ticket) == mine),
            others: connection.is_some_and(Connection::is_others),
            undo: connection.is_some_and(|connection| connection.turns.undoable().is_some()),
            redo: connection.is_some_and(|connection| connection.turns.redoable().is_some()),
            undo_of_anyone: connection
                .and_then(|connection| connection.orders.as_ref())
                .is_some_and(|orders| orders.undoable > 0),
            undo_of_budget: connection.is_some_and(Connection::was_stepped),
            demo: self.demo.is_some(),
            stoppable: !self.model.launched_to_stop().is_empty(),
            switches: Switches {
                only_dialled: list.is_some_and(|connection| connection.list.filter().only_dialled),
                off_again: list.is_some_and(|connection| connection.list.filter().off_again),
                hide_framework: self.settings.hide_framework,
                tree: self.settings.tree,
                merge_copies: self.settings.merge_copies,
                hold_order: list.is_some_and(|connection| connection.list.hold()),
                log: self.settings.log_open,
                theme: self.settings.theme,
                ..Switches::default()
            },
            ..Situation::default()
        };
        self.situation_of_several(&mut situation);
        situation
    }

    /// Takes in what the workers told, as far as the budget lasts. What the frame has to do besides is done at the messages'
    /// expense: they come in the next.
    fn drain(&mut self, besides: Besides) -> Drained {
        let Some(budget) = self.pace.budget(besides) else {
            // Where nothing was told there is nothing to come back for.
            return if self.workers.have_news() { Drained::Part } else { Drained::Nothing };
        };
        let end = Instant::now() + budget;
        let mut drained = Drained::Nothing;
        while let Some(update) = self.workers.next() {
            let now = self.now();
            self.model.apply(update, now);
            if Instant::now() >= end {
                return Drained::Part;
            }
            drained = Drained::All;
        }
        drained
    }

    /// Puts in order what was taken in; whether there is more to do.
    fn put_in_order(&mut self, context: &egui::Context, busy: bool) -> bool {
        let still = self.methods.is_still(context) || self.panes.values().any(|pane| pane.is_still(context));
        self.model.change_list(|connection| {
            connection.list.set_still(still);
            connection.list.set_busy(busy);
            connection.list.set_picked(match connection.selection.focus() {
                Some(Node::Method(method)) => Some(method),
                _ => None,
            });
        });
        let (now, began) = (self.now(), Instant::now());
        let more = self.settle(context, now);
        self.pace.settled(began.elapsed());
        more
    }

    fn save_settings(&mut self) {
        if self.settings == self.saved {
            return;
        }
        self.saved = self.settings.clone();
        let Some(path) = &self.settings_path else { return };
        if let Err(error) = crate::persist::save(path, &self.settings) {
            let text = format!("the layout could not be saved to {}: {error}", path.display());
            self.model.log.add(self.now(), None, Kind::Notice, text);
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, context: &egui::Context, _frame: &mut eframe::Frame) {
        self.workers.set_focused(context.input(|input| input.focused));
        self.pace.begin();
        let numbering = |app: &App| app.model.current().map(|connection| connection.numbering);
        let before = numbering(self);
        self.model.processes.set_still(self.processes.is_still());
        let busy = context.input(|input| input.events.iter().any(may_command));
        // Of several processes, what came last is put in order before more is taken in: only then is it known what is left
        // of a frame that shows other rows. What is taken in then is seen in the next: the merged rows change only when they
        // are put in order.
        let merged = self.model.is_merged();
        let mut more = merged && self.put_in_order(context, busy);
        let shows_new = self.model.list().is_some_and(|list| self.methods.shows_new(list));
        let drained = self.drain(match (merged, busy) {
            (true, _) if shows_new => Besides::NewRows,
            (_, true) => Besides::Input,
            (true, false) => Besides::Merging,
            (false, false) => Besides::Nothing,
        });
        more |= drained == Drained::Part;
        if merged && drained == Drained::All {
            context.request_repaint_after(self.workers.pace());
        }
        if before != numbering(self) {
            // What they name by numbers are other methods now.
            (self.confirm, self.sharing, self.last_turn) = (None, None, None);
        }
        self.await_processes();
        self.await_newcomers();
        more |= self.unfold();
        if !merged {
            more |= self.put_in_order(context, busy);
        }
        let now = self.now();
        if more {
            context.request_repaint();
        }
        let waiting = self.model.current().is_some_and(|connection| !connection.turns.pending().is_empty());
        let due = self.model.list().filter(|connection| connection.shape == Shape::Tree);
        if let Some(due) = due.and_then(|connection| connection.tree.due()) {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        let sums = self.model.connections.values().filter_map(Connection::sum_due);
        if let Some(due) = sums.min() {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        let looked_at = |one: &&Connection| one.is_one_of_many || Some(one.id) == self.model.current;
        let live = self.model.connections.values().filter(looked_at).filter(|one| one.status == Status::Live);
        if let Some(soon) = live.filter_map(|connection| connection.live.curves_move()).min() {
            context.request_repaint_after(soon);
        }
        let tries =
            self.model.fleet().filter(|fleet| fleet.follow.is_on()).and_then(|fleet| fleet.follow.due());
        if let Some(due) = tries.filter(|due| *due > now.mono) {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        if waiting {
            // What was asked for is over after a while, answered or not.
            context.request_repaint_after(Duration::from_millis(500));
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let began = Instant::now();
        if self.letters.make_some(ui.ctx(), &theme::text_fonts()) {
            ui.ctx().request_repaint();
        }
        let mut commands = Vec::new();
        self.note_geometry(ui.ctx());
        self.input(ui.ctx(), &mut commands);
        self.layout(ui, &mut commands);
        if !commands.is_empty() {
            for command in commands {
                // What an earlier one of them selected is selected by now.
                if !command.turns_selected() || self.may(&command, &self.situation()) {
                    self.act(ui.ctx(), command);
                }
            }
            // The answer to a gesture is on screen in the very next frame.
            let now = self.now();
            self.settle_gesture(ui.ctx(), now);
            ui.ctx().request_repaint();
        }
        self.pace.drawn(began.elapsed());
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.save_settings();
        self.workers.stop();
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// What was taken in of what workers told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drained {
    Nothing,
    All,
    /// There was no more time.
    Part,
}

/// Whether an event may make the frame carry something out.
fn may_command(event: &egui::Event) -> bool {
    matches!(event, egui::Event::Text(_) | egui::Event::Key { .. } | egui::Event::PointerButton { .. })
}
