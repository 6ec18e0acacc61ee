//! The palette: commands, methods, processes and columns, best match first as you type. Unavailable commands show the
//! reason.

use super::palette_search::{Hit, HitKind, PaletteSearch};
use crate::commands::{CommandContext, UiCommand};
use crate::settings::columns::ColumnLayout;
use crate::settings::layouts::Layouts;
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::text_width::GlyphWidths;
use crate::ui::theme::Palette;
use eframe::egui::text::LayoutJob;
use eframe::egui::{self, Align2, Button, Id, Key, RichText, TextEdit, TextFormat, TextStyle, Ui, vec2};
use redial_model::Model;

/// Width of the palette, points.
const WIDTH: f32 = 560.0;
/// Least gap between a command's name and the text beside it, including the button's margins, points.
const GAP: f32 = 40.0;

/// What Enter chooses.
#[derive(Debug, Default)]
enum Highlight {
    /// Nothing until the user types or uses the arrows.
    #[default]
    Nothing,
    /// The best hit of a search that may still find better ones, with the command of the one shown last.
    Best(Option<UiCommand>),
    /// The hit with this command, wherever it is in the list.
    Hit(UiCommand),
}

impl Highlight {
    /// Returns the highlight after the text changed.
    fn of(text: &str) -> Highlight {
        if text.trim().is_empty() { Highlight::Nothing } else { Highlight::Best(None) }
    }

    /// Returns the place of the highlighted hit; `as_shown`: in the frame before this one.
    fn place(&self, hits: &[Hit], as_shown: bool) -> Option<usize> {
        let place = |command: &UiCommand| hits.iter().position(|hit| hit.command == *command);
        match self {
            Highlight::Nothing => None,
            Highlight::Hit(command) => place(command),
            Highlight::Best(Some(command)) if as_shown => place(command),
            Highlight::Best(_) => (!hits.is_empty()).then_some(0),
        }
    }
}

/// The palette's state while it is open.
#[derive(Debug, Default)]
pub struct PaletteState {
    text: String,
    highlighted: Highlight,
    focused: bool,
    search: PaletteSearch,
}

/// What the palette searches and names.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    /// Processes and methods.
    pub model: &'a Model,
    /// The columns of the method table.
    pub columns: &'a ColumnLayout,
    /// Saved layouts.
    pub layouts: &'a Layouts,
    /// The facts that decide which commands are available.
    pub now: &'a CommandContext,
    /// The launched program that the stop command would stop.
    pub stops: Option<&'a str>,
}

impl PaletteState {
    /// Appends text typed before the field had the focus.
    pub fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.highlighted = Highlight::of(&self.text);
    }

    /// Returns the field's text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Returns the field's id.
pub fn field_id() -> Id {
    Id::unique("find a command")
}

/// Shows the palette; returns true when it should close.
pub fn show(
    context: &egui::Context,
    state: &mut PaletteState,
    searched: Searched<'_>,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let mut close = false;
    let response = egui::Window::new("Commands")
        .title_bar(false)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, vec2(0.0, 64.0))
        .fixed_size(vec2(WIDTH, 420.0))
        .show(context, |ui| close = inside(ui, state, searched, commands));
    let outside = response.is_some_and(|shown| {
        dialog::keep_focus(context, shown.response.layer_id);
        shown.response.clicked_elsewhere()
    }) && state.focused;
    state.focused = true;
    close || outside
}

fn inside(
    ui: &mut Ui,
    state: &mut PaletteState,
    searched: Searched<'_>,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let Searched { model, columns, layouts, now, stops } = searched;
    let mut matching = state.search.hits(&state.text, model, (columns, layouts));
    let moved = ui.input_mut(|input| {
        input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowDown) as isize
            - input.count_and_consume_key(egui::Modifiers::NONE, Key::ArrowUp) as isize
    });
    if moved != 0 {
        let last = matching.len().saturating_sub(1);
        let target = match state.highlighted.place(&matching, true) {
            Some(place) => Some(place.saturating_add_signed(moved).min(last)),
            None if moved > 0 => Some((moved as usize - 1).min(last)),
            None => None,
        };
        if let Some(hit) = target.and_then(|target| matching.get(target)) {
            state.highlighted = Highlight::Hit(hit.command.clone());
        }
    }
    let edit = TextEdit::singleline(&mut state.text)
        .id(field_id())
        .hint_text("Type a command, a method, a process or a setting")
        .desired_width(f32::INFINITY);
    let field = ui.add(edit).accessible_name("Find a command");
    if !state.focused {
        field.request_focus();
    }
    if field.changed() {
        state.highlighted = Highlight::of(&state.text);
        matching = state.search.hits(&state.text, model, (columns, layouts));
    }
    let is_pending = state.search.is_pending(model);
    if is_pending {
        ui.ctx().request_repaint();
    }
    let entered = ui.input(|input| input.key_pressed(Key::Enter));
    // Enter chooses what was shown when it was pressed, although better hits may have come since.
    let place = state.highlighted.place(&matching, entered);
    let mut done = false;
    egui::ScrollArea::vertical().max_height(360.0).auto_shrink(false).show(ui, |ui| {
        if matching.is_empty() {
            ui.weak(if is_pending { "Searching…" } else { "Nothing matches" });
        }
        for (index, hit) in matching.iter().enumerate() {
            let highlighted = place == Some(index);
            let chosen = entry(ui, hit, (highlighted, moved != 0), (now, stops));
            if chosen || (entered && highlighted && hit.command.enabled(now).is_ok()) {
                commands.push(hit.command.clone());
                done = true;
            }
        }
    });
    if matches!(state.highlighted, Highlight::Best(_))
        && let Some(hit) = place.and_then(|place| matching.get(place))
    {
        let command = hit.command.clone();
        state.highlighted = if is_pending { Highlight::Best(Some(command)) } else { Highlight::Hit(command) };
    }
    done
}

fn entry(
    ui: &mut Ui,
    hit: &Hit,
    (highlighted, moved): (bool, bool),
    (now, stops): (&CommandContext, Option<&str>),
) -> bool {
    let palette = Palette::of(ui);
    let command = &hit.command;
    let enabled = command.enabled(now);
    let name = label(hit, stops);
    let why = enabled.err().map(capitalized);
    let detail = match hit.kind {
        HitKind::Command => command.keys(ui.ctx()),
        HitKind::Column => Some("Column".to_owned()),
        HitKind::Layout => Some("Layout".to_owned()),
        HitKind::Method | HitKind::Process => Some(hit.detail.clone()),
    };
    let colour = if why.is_some() { palette.weak } else { palette.text };
    let plain = |style: TextStyle| TextFormat::simple(style.resolve(ui.style()), colour);
    let mut job = LayoutJob::default();
    job.append(&name, 0.0, plain(TextStyle::Button));
    let right = why.or(detail);
    if let Some(right) = &right {
        job.append(right, GAP, plain(TextStyle::Small));
    }
    // A reason can be longer than the room beside the name.
    let below = GlyphWidths::of(ui.ctx()).text(&job) > ui.available_width();
    let mut button = match (&right, below) {
        (Some(right), true) => {
            let mut job = LayoutJob::default();
            job.append(&format!("{name}\n"), 0.0, plain(TextStyle::Button));
            job.append(right, 0.0, plain(TextStyle::Small));
            Button::new(job).wrap()
        }
        (right, _) => {
            let button = Button::new(RichText::new(name).color(colour));
            match right {
                Some(right) => button.right_text(RichText::new(right).small().color(palette.weak)),
                None => button,
            }
        }
    };
    button = button
        .min_size(vec2(ui.available_width(), 0.0))
        .selected(highlighted)
        .frame_when_inactive(highlighted);
    let response = ui.add(button);
    if highlighted && moved {
        response.scroll_to_me(None);
    }
    response.clicked() && enabled.is_ok()
}

/// Returns a hit's text; the stop command names the program it would stop.
fn label(hit: &Hit, stops: Option<&str>) -> String {
    match (&hit.command, stops) {
        (UiCommand::Stop, Some(program)) => format!("{}: {program}", hit.text),
        _ => hit.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlight_stays_with_its_command() {
        let (model, columns) = (Model::default(), ColumnLayout::default());
        let mut hits = PaletteSearch::default().hits("theme", &model, (&columns, &Layouts::default()));
        let aimed = Highlight::Hit(hits[0].command.clone());
        let best = Highlight::Best(Some(hits[0].command.clone()));
        // Another hit comes above.
        hits.rotate_right(1);
        assert_eq!(aimed.place(&hits, false), Some(1));
        assert_eq!((best.place(&hits, false), best.place(&hits, true)), (Some(0), Some(1)));
        hits.remove(1);
        assert_eq!(aimed.place(&hits, false), None, "Enter does nothing without the hit");
    }
}
