//! The toolbar of the method panel: filter, switches, and links that come and go.

use super::methods::MethodsState;
use super::number_range;
use crate::commands::{CommandContext, UiCommand};
use crate::settings::{self, Settings};
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::theme::Palette;
use eframe::egui::{
    Align, Button, Color32, Id, Label, Layout, RichText, Role, Sense, TextEdit, TextStyle, Ui, WidgetInfo,
    vec2,
};
use redial_model::method_table::{MethodTable, Shape};
use redial_model::subject::Subject;
use redial_protocol::state::CopyState as DialState;
use redial_text::words;

/// Width of the button of saved filters with the space before it, points.
const FILTERS: f32 = 42.0;
/// Width of the buttons *Back* and *Forward*, points.
const STEP: f32 = 26.0;
/// Least width for the hint about the details panel, points.
const HINT: f32 = 60.0;
/// Width of the menu of links that do not fit, with the space before it, points.
const MENU: f32 = 36.0;

/// A link that comes and goes.
struct ToolbarLink {
    /// Its text, and its name for screen readers.
    text: String,
    /// A text for less room.
    short: String,
    command: UiCommand,
}

/// Returns the id of the filter field.
pub fn filter_id() -> Id {
    Id::unique("Method filter")
}

/// Shows the filter and the switches.
pub fn show(
    ui: &mut Ui,
    state: &mut MethodsState,
    subject: Subject<'_>,
    (now, settings): (&CommandContext, &Settings),
    commands: &mut Vec<UiCommand>,
) {
    let table = subject.table();
    state.begin_frame();
    let spans = table.catalogue.spans_processes();
    ui.horizontal(|ui| {
        for (command, way) in
            [(UiCommand::Back, TriangleDirection::Left), (UiCommand::Forward, TriangleDirection::Right)]
        {
            step_button(ui, command, way, now, commands);
        }
        let (text, hint) = totals(subject);
        let font = TextStyle::Body.resolve(ui.style());
        let galley = ui.painter().layout_no_wrap(text.clone(), font, Palette::of(ui).text);
        // In steps, so that another digit does not move the field's end; leaves room for the spinner.
        let beside = ((galley.size().x / 30.0).ceil() * 30.0).max(110.0) + 40.0 + FILTERS;
        let edit = TextEdit::singleline(&mut state.text)
            .id(filter_id())
            .hint_text("Parts of a name, in any order  ( / )")
            .desired_width((ui.available_width() - beside).max(80.0));
        let field = ui.add(edit).accessible_name("Method filter");
        if std::mem::take(&mut state.focus_filter) {
            field.request_focus();
        }
        if field.changed() {
            commands.push(UiCommand::Filter(state.text.clone()));
        }
        saved_filters(ui, state.text.trim(), &settings.filters, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(text).truncate()).on_hover_text(hint);
            if !table.catalogue.is_complete() && now.is_live() {
                ui.spinner();
            }
        });
    });
    ui.horizontal_wrapped(|ui| {
        let filter = table.list.filter();
        // With several processes this is chosen above.
        let copies = !spans && (table.catalogue.has_copies() || table.catalogue.has_domains());
        for (there, on, text, command) in [
            (true, filter.only_dialled, "Only dialled", UiCommand::OnlyDialled),
            (true, filter.hide_framework, "Hide framework", UiCommand::HideFramework),
            (true, table.shape == Shape::Tree, "Tree", UiCommand::Tree),
            (copies, table.catalogue.is_merged(), "Merge copies", UiCommand::MergeCopies),
            (true, table.list.is_frozen(), "Freeze", UiCommand::FreezeOrder),
        ] {
            if !there {
                continue;
            }
            let mut value = on;
            let shortcut = command.keys(ui.ctx()).unwrap_or_default();
            let more = command.explained().map(|text| format!("\n{text}")).unwrap_or_default();
            if ui
                .checkbox(&mut value, text)
                .on_hover_text(format!("{} ({shortcut}){more}", command.name()))
                .changed()
            {
                commands.push(command.clone());
            }
        }
        number_range::choice(ui, now, commands);
        let links = [
            off_again(table).filter(|_| table.list.filter().only_dialled),
            hidden_generated(table),
            dial_sets(subject, settings),
        ];
        show_links(ui, links.into_iter().flatten().collect(), commands);
        if state.no_panel && ui.available_size_before_wrap().x > HINT {
            no_panel(ui);
        }
    });
}

/// Shows the menu of saved filters.
fn saved_filters(ui: &mut Ui, text: &str, saved: &[String], commands: &mut Vec<UiCommand>) {
    let menu = ui.menu_button("▼", |ui| {
        for filter in saved {
            if ui.button(filter).clicked() {
                commands.push(UiCommand::Filter(filter.clone()));
                ui.close();
            }
        }
        if saved.is_empty() {
            ui.weak("No filters saved yet");
        }
        ui.separator();
        let is_saved = saved.iter().any(|filter| filter == text);
        let name = if is_saved { "Remove this filter" } else { "Save this filter" };
        let is_full = !is_saved && saved.len() >= settings::FILTERS;
        let button = ui.add_enabled(!text.is_empty() && !is_full, Button::new(name));
        let why = match is_full {
            true => format!("{} filters are saved already. Remove one first.", settings::FILTERS),
            false => "The filter is empty.".to_owned(),
        };
        if button.on_disabled_hover_text(why).clicked() {
            commands.push(UiCommand::SaveFilter(text.to_owned()));
            ui.close();
        }
    });
    menu.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Saved filters"));
    menu.response.on_hover_text("Saved filters");
}

/// Shows a button that steps through the methods looked at.
fn step_button(
    ui: &mut Ui,
    command: UiCommand,
    way: TriangleDirection,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    let enabled = command.enabled(now);
    let button = ui.add_enabled(enabled.is_ok(), Button::new("").min_size(vec2(STEP, 0.0)));
    button.widget_info(|| WidgetInfo::labeled(Role::Button, enabled.is_ok(), command.name()));
    let palette = Palette::of(ui);
    let colour = if enabled.is_ok() { palette.text } else { palette.groove };
    icons::triangle(ui.painter(), button.rect.center(), way, 5.0, colour);
    let keys = command.keys(ui.ctx()).unwrap_or_default();
    let explained = command.explained().unwrap_or_default();
    let button = button.on_hover_text(format!("{} ({keys})\n{explained}", command.name()));
    if button.clicked() {
        commands.push(command);
    }
}

/// Explains at the end of the line how to see the details panel.
fn no_panel(ui: &mut Ui) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = RichText::new("Widen the window to see details").small().color(Palette::of(ui).weak);
        let keys = UiCommand::ZoomOut.keys(ui.ctx()).unwrap_or_default();
        ui.add(Label::new(text).truncate()).on_hover_text(format!(
            "The details panel (large knob, numbers, histogram, notes) appears on the right when there \
            is room: widen the window, shrink the process list, or zoom out ({keys})."
        ));
    });
}

/// Returns how many methods are shown out of how many, and an explanation.
fn totals(subject: Subject<'_>) -> (String, &'static str) {
    let table = subject.table();
    let (shown, all) = (table.list.shown() as u64, table.list.all() as u64);
    let text = match shown == all {
        true => words::methods(all),
        false => format!("{} of {}", words::grouped(shown), words::methods(all)),
    };
    let catalogue = &table.catalogue;
    match (catalogue.spans_processes(), catalogue.is_merged()) {
        (false, _) => (text, "Methods shown, out of all methods of the process"),
        (true, merged) => {
            let hint = match merged {
                true => "Methods shown, out of all methods. A method in several processes counts once.",
                false => {
                    "Methods shown, out of all methods. A method in several processes counts once \
                         per process."
                }
            };
            (format!("{text} in {}", subject.title()), hint)
        }
    }
}

/// Returns the link to the program's dial sets.
fn dial_sets(subject: Subject<'_>, settings: &Settings) -> Option<ToolbarLink> {
    let program = settings.programs.get(&subject.process()?.name)?;
    let command = UiCommand::DialSets;
    let text = command.name().to_owned();
    (!program.dial_sets.is_empty()).then(|| ToolbarLink { short: text.clone(), text, command })
}

/// Returns the number of dialled methods that are off again, as a link that lists them.
fn off_again(table: &MethodTable) -> Option<ToolbarLink> {
    let list = &table.list;
    let text = match (list.filter().off_again, list.off_again() as u64) {
        (true, _) if table.live.count(DialState::Off) == 0 => return None,
        (true, _) => "Hide methods now off".to_owned(),
        (false, 0) => return None,
        (false, methods) => format!("{} now off · show", words::grouped(methods)),
    };
    Some(ToolbarLink { short: text.clone(), text, command: UiCommand::OffAgain })
}

/// Returns the number of methods hidden because the compiler wrote them, as a link that lists them.
fn hidden_generated(table: &MethodTable) -> Option<ToolbarLink> {
    let list = &table.list;
    let command = UiCommand::HideGenerated;
    let (text, short) = match (list.filter().hide_generated, list.generated() as u64) {
        (true, 0) => return None,
        (true, methods) => {
            let number = words::grouped(methods);
            (format!("{number} compiler-generated hidden · show"), format!("{number} generated hidden"))
        }
        (false, _) if !table.catalogue.generated().any() => return None,
        (false, _) => (command.name().to_owned(), "Hide generated".to_owned()),
    };
    Some(ToolbarLink { text, short, command })
}

/// Shows links in the rest of the line, and those that do not fit in a menu: a second line that comes and goes would
/// move the rows below.
fn show_links(ui: &mut Ui, links: Vec<ToolbarLink>, commands: &mut Vec<UiCommand>) {
    if ui.available_size_before_wrap().x < MENU {
        ui.end_row();
        ui.allocate_exact_size(vec2(1.0, ui.spacing().interact_size.y), Sense::hover());
    }
    let font = TextStyle::Body.resolve(ui.style());
    let mut room = ui.available_size_before_wrap().x - MENU;
    let width = |text: &String| {
        let galley = ui.painter().layout_no_wrap(text.clone(), font.clone(), Color32::PLACEHOLDER);
        galley.size().x + ui.spacing().item_spacing.x
    };
    let (mut fitting, mut rest) = (Vec::new(), Vec::new());
    let is_roomy = links.iter().map(|link| width(&link.text)).sum::<f32>() <= room;
    for link in links {
        let text = if is_roomy { &link.text } else { &link.short };
        match Some(text).filter(|text| width(text) <= room).cloned() {
            Some(text) => {
                room -= width(&text);
                fitting.push((text, link));
            }
            None => rest.push(link),
        }
    }
    for (shown, ToolbarLink { text, command, .. }) in fitting {
        let hint = command.explained().unwrap_or_default();
        let link = ui.link(shown);
        link.widget_info(|| WidgetInfo::labeled(Role::Link, true, &text));
        if link.on_hover_text(format!("{text}\n{hint}")).clicked() {
            commands.push(command);
        }
    }
    if rest.is_empty() {
        return;
    }
    let menu = ui.menu_button("…", |ui| {
        for ToolbarLink { text, command, .. } in rest {
            let hint = command.explained().unwrap_or_default();
            if ui.button(text).on_hover_text(hint).clicked() {
                commands.push(command);
                ui.close();
            }
        }
    });
    menu.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "More"));
    menu.response.on_hover_text("More");
}
