//! Shows, hides and moves panels; saves, chooses and resets layouts.

use super::App;
use super::dock::Dock;
use crate::commands::UiCommand;
use crate::settings::LowerTab;
use crate::settings::layouts::{DockLayout, NamedLayout, PanelId, SavedPart, SavedTile, StandardLayout};
use redial_model::log::LogKind;

impl App {
    /// Returns whether a panel is on screen, if there is something to show and room for it.
    pub(super) fn shows(&self, panel: PanelId) -> bool {
        let settings = &self.settings;
        match (&self.dock, panel) {
            (Some(dock), _) => dock.shows(panel),
            (None, PanelId::Processes) => settings.processes_open,
            (None, PanelId::Methods) => true,
            (None, PanelId::Details) => settings.details_open,
            (None, PanelId::Log) => settings.log_open,
            (None, lower) => settings.events_open && lower.lower_tab() == Some(settings.lower_tab),
        }
    }

    /// Returns whether a panel with traced calls, charts or code is on screen.
    pub(super) fn shows_lower(&self) -> bool {
        LowerTab::ALL.into_iter().any(|tab| self.shows(PanelId::of_tab(tab)))
    }

    /// Returns whether a panel with traced calls is on screen.
    pub(super) fn shows_calls(&self) -> bool {
        [PanelId::Events, PanelId::Timeline, PanelId::Calls].into_iter().any(|panel| self.shows(panel))
    }

    /// Shows a panel.
    pub(super) fn show_panel(&mut self, panel: PanelId) {
        if let Some(dock) = &mut self.dock {
            dock.show(panel);
            return self.keep_dock();
        }
        match panel {
            PanelId::Methods => {}
            PanelId::Processes => self.settings.processes_open = true,
            PanelId::Details => self.settings.details_open = true,
            PanelId::Log => self.settings.log_open = true,
            lower => {
                self.settings.events_open = true;
                self.settings.lower_tab = lower.lower_tab().unwrap_or_default();
            }
        }
    }

    /// Hides a panel that is on screen, or shows it.
    pub(super) fn toggle_panel(&mut self, panel: PanelId) {
        if !self.shows(panel) {
            return self.show_panel(panel);
        }
        if let Some(dock) = &mut self.dock {
            dock.hide(panel);
            return self.keep_dock();
        }
        match panel {
            PanelId::Methods => {}
            PanelId::Processes => self.settings.processes_open = false,
            PanelId::Details => self.settings.details_open = false,
            PanelId::Log => self.settings.log_open = false,
            _ => self.settings.events_open = false,
        }
    }

    /// Makes the saved panels movable, if they were.
    pub(super) fn restore_dock(&mut self) {
        let layouts = &self.settings.layouts;
        self.dock = layouts.dock.as_ref().filter(|_| layouts.movable).map(Dock::new);
    }

    /// Executes a command about layouts.
    pub(super) fn execute_for_layouts(&mut self, command: UiCommand) {
        let layouts = &mut self.settings.layouts;
        match command {
            UiCommand::Panel(panel) => self.toggle_panel(panel),
            UiCommand::MovablePanels => {
                layouts.movable = !layouts.movable;
                if layouts.movable && layouts.dock.is_none() {
                    self.settings.layouts.dock = Some(movable(&self.settings.standard_layout()));
                }
                self.restore_dock();
            }
            UiCommand::MovePanel(panel, side) => {
                let standard = self.settings.standard_layout();
                let layouts = &mut self.settings.layouts;
                let mut layout = layouts.dock.take().unwrap_or_else(|| movable(&standard));
                layout.move_to(panel, side);
                (layouts.movable, layouts.dock) = (true, Some(layout));
                self.restore_dock();
                self.keep_dock();
            }
            UiCommand::Layouts => self.dialogs.layouts = Some(Default::default()),
            UiCommand::SaveLayout(name) => {
                let standard = self.settings.standard_layout();
                let layouts = &mut self.settings.layouts;
                let dock = layouts.dock.clone().filter(|_| layouts.movable);
                if let Err(why) = layouts.save(NamedLayout { name: name.clone(), standard, dock }) {
                    return self.refuse(&UiCommand::SaveLayout(name), why);
                }
                self.note(format!("Saved the layout “{name}”"));
            }
            UiCommand::ChooseLayout(name) => {
                let Some(NamedLayout { standard, dock, .. }) = layouts.get(&name).cloned() else { return };
                layouts.movable = dock.is_some();
                layouts.dock = dock.or(layouts.dock.take());
                self.settings.set_standard_layout(standard);
                self.restore_dock();
            }
            UiCommand::DeleteLayout(name) => layouts.delete(&name),
            UiCommand::ResetLayout => {
                (layouts.movable, layouts.dock) = (false, None);
                self.settings.set_standard_layout(StandardLayout::default());
                self.restore_dock();
            }
            _ => {}
        }
    }

    fn note(&mut self, text: String) {
        let now = self.now();
        self.model.log.add(now, None, LogKind::Notice, text);
    }
}

/// Returns the standard layout with movable panels: the same panels at the same places.
fn movable(standard: &StandardLayout) -> DockLayout {
    let lower = LowerTab::ALL.map(PanelId::of_tab);
    let shown = LowerTab::ALL.into_iter().position(|tab| tab == standard.lower_tab).unwrap_or(0);
    let mut below = SavedPart::tabs(1.0, &lower);
    if let SavedTile::Tabs { active, .. } = &mut below.tile {
        *active = shown;
    }
    let middle = SavedTile::Column(vec![SavedPart::tabs(1.0, &[PanelId::Methods]), below]);
    let row = SavedTile::Row(vec![
        SavedPart::tabs(0.21, &[PanelId::Processes]),
        SavedPart { share: 0.56, tile: middle },
        SavedPart::tabs(0.23, &[PanelId::Details]),
    ]);
    let root =
        SavedTile::Column(vec![SavedPart { share: 0.82, tile: row }, SavedPart::tabs(0.18, &[PanelId::Log])]);
    let side = [
        (PanelId::Processes, standard.processes_open),
        (PanelId::Details, standard.details_open),
        (PanelId::Log, standard.log_open),
    ];
    let hidden = side.into_iter().chain(lower.map(|panel| (panel, standard.events_open)));
    DockLayout { root, hidden: hidden.filter(|(_, open)| !open).map(|(panel, _)| panel).collect() }
}
