//! The tabs of the panel below the methods, and the states of those beside the events.

use super::calls::CallsState;
use super::charts::{ChartedKey, ChartsState};
use super::code::CodeState;
use super::timeline::TimelineState;
use crate::commands::UiCommand;
use crate::settings::LowerTab;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align, Button, Frame, Layout, Margin, Ui};

/// The states of the tabs.
#[derive(Debug, Default)]
pub struct LowerState {
    /// The timeline.
    pub timeline: TimelineState,
    /// The tree of calls.
    pub calls: CallsState,
    /// The charts.
    pub charts: ChartsState,
    /// Source and IL.
    pub code: CodeState,
    /// What decided the charted rows in the last frame.
    pub charted: Option<ChartedKey>,
}

impl LowerState {
    /// Forgets what refers to calls that were cleared.
    pub fn clear(&mut self) {
        self.timeline = TimelineState::default();
        self.calls.clear();
    }
}

const TABS: [(LowerTab, &str); 5] = [
    (LowerTab::Events, "Events"),
    (LowerTab::Timeline, "Timeline"),
    (LowerTab::Calls, "Calls"),
    (LowerTab::Charts, "Charts"),
    (LowerTab::Code, "Source"),
];

/// Shows the names of the tabs.
pub fn tabs(ui: &mut Ui, shown: LowerTab, commands: &mut Vec<UiCommand>) {
    let bar = Frame::new().fill(Palette::of(ui).raised).inner_margin(Margin::symmetric(8, 2));
    bar.show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.spacing_mut().interact_size.y = 22.0;
            for (tab, text) in TABS {
                let response = ui.selectable_label(shown == tab, text);
                response
                    .widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, shown == tab, text));
                let command = UiCommand::Lower(tab);
                let keys = match tab {
                    LowerTab::Events => UiCommand::Events.keys(ui.ctx()),
                    _ => command.keys(ui.ctx()),
                };
                let hint = format!(
                    "{}\n{}",
                    keys.unwrap_or_default(),
                    command.explained().or(UiCommand::Events.explained()).unwrap_or_default()
                );
                if response.on_hover_text(hint).clicked() && shown != tab {
                    commands.push(command);
                }
            }
            if shown != LowerTab::Events {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = ui.add(Button::new("×").small().frame(false));
                    close.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Hide panel"));
                    if close.on_hover_text("Hide panel").clicked() {
                        commands.push(UiCommand::Lower(shown));
                    }
                    if matches!(shown, LowerTab::Timeline | LowerTab::Calls) {
                        clear(ui, commands);
                    }
                });
            }
        });
    });
}

/// Shows the button that forgets the collected calls.
pub fn clear(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    let clear = ui.add(Button::new("Clear").small());
    if clear.on_hover_text("Forgets the calls collected so far").clicked() {
        commands.push(UiCommand::ClearEvents);
    }
}
