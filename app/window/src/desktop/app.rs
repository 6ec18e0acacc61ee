//! The window's state and frame: applies the workers' updates to the model, draws the views and executes their commands.

use super::clock::Clock;
use super::columns::ProcessColumns;
use super::demo;
use super::dialogs::Dialogs;
use super::dock::Dock;
use super::folder_reader::FolderReader;
use super::frame_budget::{FrameBudget, OtherWork};
use super::history::History;
use super::list_options::ListOptions;
use super::options::Options;
use super::panel_areas::PanelAreas;
use super::pending_focus::PendingFocus;
use super::pending_start::PendingStart;
use super::pin_lookup::PinLookup;
use super::toast::Toast;
use super::workers::Workers;
use crate::commands::{
    CommandContext, ListFacts, ProcessCounts, ProcessFacts, RangeChoice, Reach, SubjectFacts, SubjectKind,
    Switches,
};
use crate::settings::layouts::PanelId;
use crate::settings::{Settings, ThemeChoice};
use crate::ui::glyph_warmup::GlyphWarmup;
use crate::ui::theme;
use crate::views;
use eframe::egui;
use redial_model::Model;
use redial_model::connection::{Connection, Status};
use redial_model::fleet::AutoJoin;
use redial_model::ids::{ConnectionId, Node, Ticket};
use redial_model::log::LogKind;
use redial_model::method_table::{MethodTable, Shape, Targets};
use redial_model::process_choice::Arrangement;
use redial_model::subject::Subject;
use redial_model::suggestions::Suggestions;
use redial_model::update::{Now, Retry, Update};
use redial_protocol::level::Level;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// The settings file, and the settings that it holds.
pub(super) struct SettingsFile {
    /// None if the settings must not be saved.
    pub path: Option<PathBuf>,
    /// The settings that were saved last, or whose saving was reported as failed.
    pub saved: Settings,
    /// The settings that this window last knew to be in the file.
    pub written: Settings,
}

/// The window's state.
pub struct App {
    pub(super) model: Model,
    pub(super) workers: Workers,
    pub(super) clock: Clock,
    pub(super) settings: Settings,
    pub(super) settings_file: SettingsFile,
    pub(super) processes: views::processes::ProcessListState,
    pub(super) methods: views::methods::MethodsState,
    /// Processes side by side.
    pub(super) columns: ProcessColumns,
    /// Filter and order of the rows; `None` until a process is shown.
    pub(super) looks: Option<ListOptions>,
    /// Suggestions for a filter without a match.
    pub(super) suggestions: Suggestions,
    pub(super) log: views::log::LogState,
    pub(super) events: views::events::EventsState,
    /// Folders for the file list.
    pub(super) folders: FolderReader,
    /// Processes whose dial sets were offered.
    pub(super) offered_sets: BTreeSet<ConnectionId>,
    /// The pinned methods, as last looked up.
    pub(super) pins: PinLookup,
    /// The methods looked at.
    pub(super) history: History,
    /// The other tabs of the panel below the methods.
    pub(super) lower: views::lower_panel::LowerState,
    /// The movable panels; `None` in the standard layout.
    pub(super) dock: Option<Dock>,
    /// The places of the panels drawn in this frame.
    pub(super) panel_areas: PanelAreas,
    /// Open dialogs.
    pub(super) dialogs: Dialogs,
    /// Launches and processes to show as soon as they are there.
    pub(super) pending: PendingStart,
    /// The demo program, if it is installed.
    pub(super) demo: Option<views::launch_dialog::LaunchPlan>,
    /// The last change, to repeat after control is taken.
    pub(super) last_change: Option<(Ticket, Targets, Level)>,
    /// The last notification.
    pub(super) toast: Toast,
    /// Height of the last notification, points.
    pub(super) notification_height: f32,
    /// A text field about to get the focus.
    pub(super) opening: PendingFocus,
    /// Time spent in recent frames.
    pub(super) pace: FrameBudget,
    /// Glyphs of names, rendered before they are needed.
    pub(super) letters: GlyphWarmup,
}

impl App {
    /// Returns the window's state before its first frame.
    pub fn new(context: &egui::Context, options: Options) -> App {
        let workers = Workers::start(context, options.scan);
        App::with_workers(context, options, workers)
    }

    /// Returns a window that gets `updates` instead of the machine's processes and sends nothing to
    /// processes.
    pub fn with_updates(context: &egui::Context, options: Options, updates: Receiver<Update>) -> App {
        App::with_workers(context, options, (Workers::without_processes(updates), None))
    }

    pub(super) fn with_workers(
        context: &egui::Context,
        options: Options,
        (workers, trouble): (Workers, Option<String>),
    ) -> App {
        theme::install(context);
        context.options_mut(|options| options.zoom_with_keyboard = false);
        let found = options.settings.as_deref().map(crate::settings::load);
        let settings_path = options.settings.filter(|_| found.as_ref().is_some_and(|one| one.may_be_saved));
        let (settings, notice) = found.map_or_else(Default::default, |one| (one.settings, one.notice));
        let mut app = App {
            model: Model::default(),
            workers,
            clock: options.clock,
            settings_file: SettingsFile {
                path: settings_path,
                saved: settings.clone(),
                written: settings.clone(),
            },
            settings,
            processes: views::processes::ProcessListState::default(),
            methods: views::methods::MethodsState::default(),
            columns: ProcessColumns::default(),
            looks: None,
            suggestions: Suggestions::default(),
            log: views::log::LogState::default(),
            events: views::events::EventsState::default(),
            folders: FolderReader::default(),
            offered_sets: BTreeSet::new(),
            pins: PinLookup::default(),
            history: History::default(),
            lower: views::lower_panel::LowerState::default(),
            dock: None,
            panel_areas: PanelAreas::default(),
            dialogs: Dialogs::default(),
            pending: PendingStart { pid: options.pid, dialled: options.dialled, ..PendingStart::default() },
            // A window that looks for no processes starts none either.
            demo: if options.scan { demo::find() } else { None },
            last_change: None,
            toast: Toast::default(),
            notification_height: 0.0,
            opening: PendingFocus::default(),
            pace: FrameBudget::default(),
            letters: GlyphWarmup::default(),
        };
        if app.pending.pid.is_none() {
            // Typing looks for a process from the first second.
            app.processes.focus();
        }
        for notice in notice.into_iter().chain(trouble) {
            app.model.log.add(app.now(), None, LogKind::Notice, notice);
        }
        app.restore_dock();
        app.apply_look(context);
        app
    }

    pub(super) fn now(&self) -> Now {
        self.clock.now()
    }

    pub(super) fn apply_look(&self, context: &egui::Context) {
        context.set_theme(match self.settings.theme {
            ThemeChoice::System => egui::ThemePreference::System,
            ThemeChoice::Dark => egui::ThemePreference::Dark,
            ThemeChoice::Light => egui::ThemePreference::Light,
        });
        context.set_zoom_factor(self.settings.zoom);
        theme::set_density(context, self.settings.compact);
    }

    /// Returns the facts that decide which commands are available.
    pub(super) fn command_context(&self) -> CommandContext {
        let list = self.model.list();
        let auto_join = self.model.fleet().map(|fleet| &fleet.auto_join);
        let members = || self.model.members();
        CommandContext {
            subject: self.model.current().map(|subject| self.subject_facts(subject)),
            list: ListFacts {
                shown: list.map_or(0, MethodTable::row_count),
                filtered: list.is_some_and(|table| !table.list.filter().text.is_empty()),
                back: self.history.has_back(),
                forward: self.history.has_forward(),
                call_selected: self.model.current().is_some_and(|one| one.events().selected().is_some()),
            },
            processes: ProcessCounts {
                selected: self.model.chosen().len(),
                ended: self.model.ended().len(),
                held_elsewhere: self.model.held_elsewhere().count(),
                namesakes: members()
                    .next()
                    .is_some_and(|first| self.model.named(&first.name).nth(1).is_some()),
            },
            dialog: self.dialogs.is_any_open(),
            demo: self.demo.is_some(),
            stoppable: !self.model.launched_to_stop().is_empty(),
            has_log: !self.model.log.entries().is_empty(),
            has_output: !self.model.output.lines().is_empty(),
            switches: Switches {
                only_dialled: list.is_some_and(|table| table.list.filter().only_dialled),
                off_again: list.is_some_and(|table| table.list.filter().off_again),
                hide_framework: self.settings.hide_framework,
                hide_generated: self.settings.hide_generated,
                tree: self.settings.tree,
                merge_copies: match self.model.fleet() {
                    Some(_) => self.model.arrangement() == Arrangement::Merged,
                    None => self.settings.merge_copies,
                },
                numbers: RangeChoice::of(self.model.range()),
                freeze_order: list.is_some_and(|table| table.list.is_frozen()),
                arrangement: self.model.arrangement(),
                follow: auto_join.is_some_and(AutoJoin::is_on),
                follow_attach: auto_join.is_some_and(|auto_join| auto_join.attach),
                events: self.shows_lower(),
                panels: PanelId::ALL.map(|panel| self.shows(panel)),
                movable_panels: self.dock.is_some(),
                events_paused: self.model.current().is_some_and(|one| one.events().is_paused()),
                events_of_all: self.events.of_all,
                compact: self.settings.compact,
                theme: self.settings.theme,
            },
        }
    }

    fn subject_facts(&self, subject: Subject<'_>) -> SubjectFacts {
        let retry = |one: &Connection| one.session.status.retry();
        let is_lost = |one: &Connection| retry(one).is_some_and(|retry| retry != Retry::Never);
        let all_ended = self.affected(|one| retry(one) != Some(Retry::Never)).is_empty();
        let some_are_lost = !self.affected(is_lost).is_empty();
        let mine = self.last_change.as_ref().map(|(ticket, ..)| *ticket);
        let changes = &subject.table().changes;
        SubjectFacts {
            kind: match subject {
                Subject::Fleet(_) => SubjectKind::Merged,
                Subject::Process(connection) => SubjectKind::Process(ProcessFacts {
                    controlled_elsewhere: connection.is_controlled_elsewhere(),
                    undo_of_anyone: connection.orders.as_ref().is_some_and(|orders| orders.undoable > 0),
                    undo_of_budget: connection.has_budget_step(),
                    finding_hot: connection.hot_search.is_on(),
                }),
            },
            reach: match (subject.is_live(), some_are_lost) {
                (true, false) => Reach::Live,
                (true, true) => Reach::Partly,
                (false, _) if all_ended => Reach::Ended,
                (false, _) => Reach::Unreachable,
            },
            attachable: !self.affected(|one| self.is_attachable(one)).is_empty(),
            selected: subject.table().selection.len(),
            offered: Level::ALL.map(|level| subject.offered_to_selection().contains(&level)),
            undo: changes.undoable().is_some(),
            redo: changes.redoable().is_some(),
            refused_for_control: subject
                .last_refusal()
                .is_some_and(|(ticket, refused)| refused.holder.is_some() && Some(*ticket) == mine),
        }
    }

    /// Applies the workers' updates as far as the time budget lasts; the rest follows in the next frames.
    pub(super) fn drain(&mut self, besides: OtherWork) -> Drained {
        let Some(budget) = self.pace.budget(besides) else {
            // Without updates there is nothing to come back for.
            return if self.workers.have_news() { Drained::Part } else { Drained::Nothing };
        };
        let end = Instant::now() + budget;
        let mut drained = Drained::Nothing;
        while let Some(update) = self.workers.next() {
            let now = self.now();
            self.model.apply(update, now);
            drained = Drained::All;
            if Instant::now() >= end && self.workers.have_news() {
                return Drained::Part;
            }
        }
        drained
    }

    /// Sorts new rows in; returns whether there is more to do.
    pub(super) fn sort_rows(&mut self, context: &egui::Context, busy: bool) -> bool {
        let still =
            self.methods.is_still(context) || self.columns.tables.values().any(|pane| pane.is_still(context));
        self.model.change_list(|table| {
            table.list.set_still(still);
            table.list.set_busy(busy);
            table.list.set_selected(match table.selection.focus() {
                Some(Node::Method(method)) => Some(method),
                _ => None,
            });
        });
        let (now, began) = (self.now(), Instant::now());
        let more = self.refresh(context, now);
        self.pace.settled(began.elapsed());
        more
    }

    pub(super) fn save_settings(&mut self) {
        if self.settings == self.settings_file.saved {
            return;
        }
        let file = &mut self.settings_file;
        file.saved = self.settings.clone();
        let Some(path) = &file.path else { return };
        match crate::settings::save_changes(path, &file.written, &self.settings) {
            Ok(()) => file.written = self.settings.clone(),
            Err(error) => {
                let text = format!("The settings could not be saved to {}: {error}", path.display());
                self.model.log.add(self.now(), None, LogKind::Notice, text);
            }
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, context: &egui::Context, _frame: &mut eframe::Frame) {
        self.workers.set_focused(context.input(|input| input.focused));
        self.pace.begin();
        let numbering = |app: &App| app.model.current_table().map(|table| table.numbering);
        let before = numbering(self);
        self.model.processes.set_frozen(self.processes.is_still());
        let busy = context.input(|input| input.events.iter().any(may_command));
        // With several processes, earlier updates are sorted in before more are applied: only then is it
        // known how much of a frame with new rows is left. Updates applied now appear in the next frame,
        // because merged rows change only when they are sorted in.
        let merged = self.model.is_merged();
        let mut more = merged && self.sort_rows(context, busy);
        let shows_new = self.model.list().is_some_and(|list| self.methods.shows_new(list));
        let drained = self.drain(match (merged, busy) {
            (true, _) if shows_new => OtherWork::NewRows,
            (_, true) => OtherWork::Input,
            (true, false) => OtherWork::Merging,
            (false, false) => OtherWork::Nothing,
        });
        more |= drained == Drained::Part;
        if merged && drained == Drained::All {
            context.request_repaint_after(self.workers.pace());
        }
        if before != numbering(self) {
            // Their method numbers no longer refer to the same methods.
            self.dialogs.close_questions();
            self.last_change = None;
            self.model.fleet_mut().into_iter().for_each(|fleet| fleet.histogram.clear());
            self.model.connections.values_mut().for_each(|connection| connection.merged_histogram.clear());
        }
        self.keep_processes_in_use();
        self.refresh_pins();
        self.offer_dial_sets();
        self.await_processes();
        self.await_newcomers();
        self.show_hot_found(context);
        self.take_session_answers();
        more |= self.unfold();
        if !merged {
            more |= self.sort_rows(context, busy);
        }
        more |= self.refresh_events(context);
        let now = self.now();
        if more {
            context.request_repaint();
        }
        let waiting = self.model.current_table().is_some_and(|table| !table.changes.pending().is_empty());
        let due = self.model.list().filter(|table| table.shape == Shape::Tree);
        if let Some(due) = due.and_then(|table| table.tree.due()) {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        let sums = self.model.connections.values().filter_map(Connection::summary_due);
        if let Some(due) = sums.min() {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        let current = self.model.current_process().map(|connection| connection.id);
        let is_shown = |one: &&Connection| one.in_fleet || Some(one.id) == current;
        let shown = self.model.connections.values().filter(is_shown);
        let live = shown.filter(|one| one.session.status == Status::Live);
        if let Some(soon) = live.filter_map(|connection| connection.table.live.curves_move()).min() {
            context.request_repaint_after(soon);
        }
        let auto_join =
            self.model.fleet().map(|fleet| &fleet.auto_join).filter(|auto_join| auto_join.is_on());
        let due = auto_join.and_then(AutoJoin::due);
        if let Some(due) = due.filter(|due| *due > now.mono) {
            context.request_repaint_after(due.saturating_sub(now.mono));
        }
        if waiting {
            // An unanswered request times out after a while.
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
        self.ask_for_range();
        self.refresh_picture(ui.ctx());
        if !commands.is_empty() {
            for command in commands {
                // An earlier command may have selected the methods only now.
                if !command.changes_selected() || self.may(&command, &self.command_context()) {
                    self.execute(ui.ctx(), command);
                }
            }
            // The next frame shows the answer to a gesture.
            let now = self.now();
            self.refresh_after_gesture(ui.ctx(), now);
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

/// How many of the waiting updates were applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    Nothing,
    All,
    /// The time ran out.
    Part,
}

/// Returns whether an event may lead to a command in this frame.
fn may_command(event: &egui::Event) -> bool {
    matches!(event, egui::Event::Text(_) | egui::Event::Key { .. } | egui::Event::PointerButton { .. })
}
