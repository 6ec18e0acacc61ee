//! What is asked before methods are turned that other AppDomains would see: one copy of their module serves them all.

use crate::commands::Command;
use crate::model::connection::Sharing;
use crate::output::words;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{self, Button, Id, Key, Modal, Modifiers, RichText, Ui, WidgetInfo};
use redial_protocol::level::Level;

/// Names that are told; of more only the number is.
const NAMED: usize = 12;

/// The question.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is shared, and the turn with and without it.
    pub sharing: Sharing,
    /// The level.
    pub level: Level,
    shown: bool,
}

impl Question {
    /// The question before it was shown.
    pub fn new(sharing: Sharing, level: Level) -> Question {
        Question { sharing, level, shown: false }
    }

    /// What there is to know, a sentence each.
    fn sentences(&self) -> Vec<String> {
        let Sharing { modules, domains, methods, .. } = &self.sharing;
        let (modules, number) = (named(modules), domains.len() as u64);
        let serves =
            format!("One copy of {modules} serves {}, all of them will see this:", words::grouped(number));
        vec![
            format!("{serves} {}.", named(domains)),
            format!(
                "{} of it would be turned. A dial there counts the calls of every one of these AppDomains together; the \
                 runtime has no way to turn it for one of them alone.",
                words::methods(*methods)
            ),
        ]
    }
}

fn named(names: &[String]) -> String {
    let mut first: Vec<String> = names.iter().take(NAMED).cloned().collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 {
        first.push(format!("{} more", words::grouped(more as u64)));
    }
    words::all(&first)
}

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context, question: &mut Question, commands: &mut Vec<Command>) -> bool {
    let entered = context.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    let modal = Modal::new(Id::unique("other AppDomains would see it"));
    let shown = modal.show(context, |ui| inside(ui, question));
    let answer = if entered { Some(Some(Command::ShareTurn)) } else { shown.inner };
    match answer {
        Some(Some(command)) => {
            commands.push(command);
            true
        }
        Some(None) => true,
        None => shown.backdrop_response.clicked(),
    }
}

/// What was clicked: a command, or no.
fn inside(ui: &mut Ui, question: &mut Question) -> Option<Option<Command>> {
    let palette = Palette::of(ui);
    ui.set_width(ui.ctx().content_rect().width().min(560.0) - 40.0);
    let number = words::count(question.sharing.domains.len() as u64, "AppDomain", "AppDomains");
    let title = ui.label(RichText::new(format!("Shared by {number}")).size(TITLE).strong());
    ui.separator();
    for sentence in question.sentences() {
        ui.label(sentence);
    }
    ui.add_space(8.0);
    ui.horizontal_wrapped(|ui| {
        let name = Command::ShareTurn.name();
        let all = Button::new(RichText::new(name).strong()).shortcut_text("Enter").fill(palette.selected);
        let all = ui.add(all).labelled_by(title.id);
        all.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, name));
        if !std::mem::replace(&mut question.shown, true) {
            all.request_focus();
        }
        if all.clicked() {
            return Some(Some(Command::ShareTurn));
        }
        if question.sharing.without.is_some() {
            let without = ui.button(Command::LeaveShared.name());
            if without.on_hover_text("turns what is in this AppDomain alone").clicked() {
                return Some(Some(Command::LeaveShared));
            }
        }
        ui.add(Button::new("Cancel").shortcut_text("Esc")).clicked().then_some(None)
    })
    .inner
}
