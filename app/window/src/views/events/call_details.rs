//! The values of one call as a tree.

use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::local_time;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{self, CollapsingHeader, Label, RichText, ScrollArea, Sense, Ui};
use redial_model::events::TracedEvent;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{Outcome, Value};
use redial_text::stack_lines::{StackLine, stack_lines};
use redial_text::traced_calls::{course, duration, outcome, result_type};
use redial_text::values::{short_type, text};
use redial_text::{callers, words};

/// Most values of a collection that are listed.
const MAX_LISTED: usize = 1_000;

/// Shows a call in the rest of `ui`.
pub fn show(ui: &mut Ui, event: &TracedEvent, now: u64, commands: &mut Vec<UiCommand>) {
    let (method, call) = (&event.method, &event.call);
    ScrollArea::both().id_salt("selected call").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 18.0;
        let mut tree = Tree { commands, path: 0 };
        let title = clean(&method.method).into_owned();
        ui.add(Label::new(RichText::new(title).strong()).extend());
        let duration = duration(call, now);
        let thread =
            if call.thread == 0 { "an unknown thread".to_owned() } else { format!("thread {}", call.thread) };
        let when = format!("{} · {thread} · {duration}", local_time::time_of_day(call.start_unix_ns));
        ui.add(Label::new(RichText::new(when).small().color(Palette::of(ui).weak)).extend());
        let course = capitalized(course(call).trim_matches([' ', '(', ')']));
        if !course.is_empty() {
            ui.add(Label::new(RichText::new(course).small().color(Palette::of(ui).weak)).extend());
        }
        ui.add_space(4.0);
        for (place, value) in (0_u16..).zip(&call.arguments) {
            let parameter = method.parameters.get(usize::from(place));
            let name = parameter.map_or("", |one| one.name.as_str());
            let type_name = parameter.map_or("", |one| one.type_name.as_str());
            tree.node(ui, name, type_name, value);
            if let Some((_, after)) =
                call.arguments_after.iter().find(|(of, after)| *of == place && after != value)
            {
                tree.node(ui, &format!("{name} after the call"), type_name, after);
            }
        }
        match &call.outcome {
            Outcome::InFlight | Outcome::Returned(None) => {}
            Outcome::Returned(Some(value)) => {
                tree.node(ui, "result", result_type(method, call).unwrap_or_default(), value);
            }
            Outcome::Thrown { .. } => {
                let text = clean(outcome(call).trim_start()).into_owned();
                let label =
                    Label::new(RichText::new(&text).monospace().size(SMALL).color(Palette::of(ui).bad));
                tree.leaf(ui, label.extend(), &text);
            }
        }
        if !call.stack.is_empty() {
            let id = ui.scope_id().with("stack");
            CollapsingHeader::new("Called by").id_salt(id).default_open(true).show(ui, |ui| {
                for (place, line) in stack_lines(&call.stack).into_iter().enumerate() {
                    match line {
                        StackLine::Caller(_, name) => tree.caller(ui, &name),
                        StackLine::Runtime(frames) => {
                            let text = RichText::new(line.text()).small().color(Palette::of(ui).weak);
                            CollapsingHeader::new(text).id_salt((id, place)).show(ui, |ui| {
                                frames.iter().for_each(|frame| tree.caller(ui, &callers::name(frame)));
                            });
                        }
                    }
                }
            });
        }
    });
}

struct Tree<'a> {
    commands: &'a mut Vec<UiCommand>,
    /// Number of nodes so far, which tells nodes of one name apart.
    path: usize,
}

impl Tree<'_> {
    /// Shows a frame of a stack.
    fn caller(&mut self, ui: &mut Ui, name: &str) {
        let text = clean(name).into_owned();
        self.leaf(ui, Label::new(RichText::new(&text).monospace().size(SMALL)).extend(), &text);
    }

    /// Shows a value with its name; its parts below it.
    fn node(&mut self, ui: &mut Ui, name: &str, type_name: &str, value: &Value) {
        self.path += 1;
        let whole = clean(&text(value)).into_owned();
        let own = own_type(value).unwrap_or(type_name);
        let parts = parts(value);
        let line = match (name, parts.is_empty()) {
            ("", true) => whole.clone(),
            ("", false) => clean(&summary(value)).into_owned(),
            (name, true) => clean(&format!("{name}: {whole}")).into_owned(),
            (name, false) => clean(&format!("{name}: {}", summary(value))).into_owned(),
        };
        let line = RichText::new(line).monospace().size(SMALL);
        let hint = clean(own).into_owned();
        if parts.is_empty() {
            let response = self.leaf(ui, Label::new(line).extend(), &whole);
            if !hint.is_empty() {
                response.on_hover_text(hint);
            }
            return;
        }
        let header = CollapsingHeader::new(line).id_salt(self.path).default_open(self.path <= 12);
        let shown = header.show(ui, |ui| {
            for (name, value) in parts.iter().take(MAX_LISTED) {
                self.node(ui, name, "", value);
            }
        });
        self.menu(&shown.header_response, &whole);
        if !hint.is_empty() {
            shown.header_response.on_hover_text(hint);
        }
    }

    /// Shows a line that can be copied.
    fn leaf(&mut self, ui: &mut Ui, label: Label, whole: &str) -> egui::Response {
        let line = ui.horizontal(|ui| {
            // Below the text of lines that open.
            ui.add_space(ui.spacing().indent);
            ui.add(label.sense(Sense::click()))
        });
        self.menu(&line.inner, whole);
        line.inner
    }

    fn menu(&mut self, response: &egui::Response, whole: &str) {
        egui::Popup::context_menu(response).show(|ui| {
            if ui.button("Copy value").clicked() {
                self.commands.push(UiCommand::CopyValue(whole.to_owned()));
                ui.close();
            }
        });
    }
}

/// Returns the type that a value itself has.
fn own_type(value: &Value) -> Option<&str> {
    match value {
        Value::Enum { type_name, .. }
        | Value::Text { type_name, .. }
        | Value::Object { type_name, .. }
        | Value::Collection { type_name, .. }
        | Value::Dictionary { type_name, .. } => Some(type_name),
        _ => None,
    }
}

/// Returns the line of a value whose parts stand below it.
fn summary(value: &Value) -> String {
    match value {
        Value::Collection { type_name, length, .. } | Value::Dictionary { type_name, length, .. } => {
            format!("{} ({})", short_type(type_name), words::grouped(*length))
        }
        value => own_type(value).map_or(String::new(), |name| short_type(name).to_owned()),
    }
}

/// Returns the parts of a value with their names.
fn parts(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object { fields, .. } => {
            let name = |name: &str| if name.is_empty() { "…".to_owned() } else { name.to_owned() };
            fields.iter().map(|(field, value)| (name(field), value)).collect()
        }
        Value::Collection { items, .. } => {
            items.iter().enumerate().map(|(index, item)| (format!("[{index}]"), item)).collect()
        }
        Value::Dictionary { entries, .. } => {
            entries.iter().map(|(key, value)| (format!("[{}]", text(key)), value)).collect()
        }
        _ => Vec::new(),
    }
}
