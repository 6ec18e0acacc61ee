//! The list of completions below a text field.

use crate::ui::theme::{Palette, SMALL};
use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::text_edit::TextEditState;
use eframe::egui::{
    self, Area, Button, Context, Frame, Id, Key, Modifiers, Order, Response, RichText, Ui, pos2,
};
use redial_model::events::Completions;

/// Width of the list, points.
const WIDTH: f32 = 260.0;

/// The completions of a text field.
#[derive(Debug, Default)]
pub struct CompletionList {
    /// Those shown in the last frame.
    shown: Completions,
    highlighted: Option<usize>,
    /// The list was closed and stays so until the text changes.
    is_dismissed: bool,
    clicked: Option<usize>,
}

impl CompletionList {
    /// Handles the keys of the list while the field has the focus. Call it before the field is shown. Returns whether a
    /// completion was inserted.
    pub fn keys(&mut self, ui: &mut Ui, field: Id, text: &mut String) -> bool {
        let focused = ui.memory(|memory| memory.has_focus(field));
        let count = self.shown.offers.len();
        if !focused || count == 0 {
            return false;
        }
        let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let last = count - 1;
        if pressed(Key::ArrowDown) {
            self.highlighted = Some(self.highlighted.map_or(0, |at| if at == last { 0 } else { at + 1 }));
        }
        if pressed(Key::ArrowUp) {
            self.highlighted = Some(self.highlighted.map_or(last, |at| at.checked_sub(1).unwrap_or(last)));
        }
        let chosen = match self.highlighted {
            Some(at) if pressed(Key::Enter) || pressed(Key::Tab) => Some(at),
            None if pressed(Key::Tab) => Some(0),
            _ => None,
        };
        let Some(new) = chosen.and_then(|at| self.insert(ui.ctx(), field, text, at)) else { return false };
        *text = new;
        true
    }

    /// Closes the list until the text changes. Returns whether it was open.
    pub fn dismiss(&mut self) -> bool {
        self.is_dismissed = true;
        !std::mem::take(&mut self.shown.offers).is_empty()
    }

    /// Shows the list at the cursor of `ui`, below its field, while that has the focus. `offers` returns the completions at a cursor.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        field: &Response,
        text: &str,
        offers: impl FnOnce(&str, usize) -> Completions,
        is_changed: bool,
    ) {
        if is_changed {
            (self.is_dismissed, self.highlighted) = (false, None);
        }
        let cursor = TextEditState::load(ui.ctx(), field.id).and_then(|state| state.cursor.char_range());
        let cursor =
            cursor.filter(|range| range.primary == range.secondary).map(|range| range.primary.index.0);
        let list = Id::unique("completions");
        // A click takes the focus before it ends on the list.
        let pointed = ui.ctx().read_response(list).is_some_and(|list| list.contains_pointer());
        if !field.has_focus() && !pointed || self.is_dismissed {
            self.shown = Completions::default();
            return;
        }
        if let Some(cursor) = cursor.filter(|_| field.has_focus()) {
            self.shown = offers(text, cursor);
        }
        if self.shown.offers.is_empty() {
            return;
        }
        self.highlighted = self.highlighted.filter(|at| *at < self.shown.offers.len());
        let area =
            Area::new(list).order(Order::Foreground).fixed_pos(pos2(field.rect.left(), ui.cursor().top()));
        area.show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_width(WIDTH);
                ui.spacing_mut().item_spacing.y = 1.0;
                ui.spacing_mut().interact_size.y = 20.0;
                for (index, offer) in self.shown.offers.iter().enumerate() {
                    let note = RichText::new(&offer.note).size(SMALL).color(Palette::of(ui).weak);
                    let name = RichText::new(&offer.text).monospace();
                    let button = Button::new(name).right_text(note).frame_when_inactive(false);
                    let button = button.selected(self.highlighted == Some(index));
                    let response = ui.add(button.min_size(egui::vec2(WIDTH, 20.0)));
                    response.widget_info(|| {
                        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Insert {}", offer.text))
                    });
                    if response.clicked() {
                        self.clicked = Some(index);
                    }
                }
            });
        });
    }

    /// Returns the text with the completion that was clicked.
    pub fn take_clicked(&mut self, context: &Context, field: Id, text: &str) -> Option<String> {
        let at = self.clicked.take()?;
        let inserted = self.insert(context, field, text, at);
        context.memory_mut(|memory| memory.request_focus(field));
        inserted
    }

    /// Returns the text with a completion, and puts the cursor behind it.
    fn insert(&mut self, context: &Context, field: Id, text: &str, at: usize) -> Option<String> {
        let offer = self.shown.offers.get(at)?;
        let range = self.shown.range.clone();
        let letters = || text.chars();
        let new: String =
            letters().take(range.start).chain(offer.text.chars()).chain(letters().skip(range.end)).collect();
        let cursor = range.start + offer.text.chars().count();
        let mut state = TextEditState::load(context, field).unwrap_or_default();
        state.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(cursor))));
        state.store(context, field);
        (self.highlighted, self.shown) = (None, Completions::default());
        Some(new)
    }
}
