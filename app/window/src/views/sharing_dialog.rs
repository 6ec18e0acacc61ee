//! The question before a change that affects other AppDomains, because one copy of the module serves them
//! all.

use crate::commands::UiCommand;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{self, Button, Id, Key, Modal, Modifiers, RichText, Ui, WidgetInfo};
use redial_model::method_table::Sharing;
use redial_protocol::level::Level;
use redial_text::words;

/// Most names listed.
const NAMED: usize = 12;

/// The question.
#[derive(Clone, Debug)]
pub struct SharingQuestion {
    /// The shared modules, and the change with and without them.
    pub sharing: Sharing,
    /// The level.
    pub level: Level,
    shown: bool,
}

impl SharingQuestion {
    /// Returns a question that has not been shown yet.
    pub fn new(sharing: Sharing, level: Level) -> SharingQuestion {
        SharingQuestion { sharing, level, shown: false }
    }

    /// Returns one sentence per fact.
    fn sentences(&self) -> Vec<String> {
        let Sharing { modules, domains, methods, .. } = &self.sharing;
        let (modules, number) = (named(modules), domains.len() as u64);
        let serves = format!(
            "One copy of {modules} serves {} AppDomains, so the change affects all of them:",
            words::grouped(number)
        );
        vec![
            format!("{serves} {}.", named(domains)),
            format!(
                "It would change {} there. Such a dial counts the calls of all these AppDomains \
                together; the runtime cannot change it for one of them only.",
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

/// Shows the question; returns true when it should close.
pub fn show(context: &egui::Context, question: &mut SharingQuestion, commands: &mut Vec<UiCommand>) -> bool {
    let entered = context.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    let modal = Modal::new(Id::unique("other AppDomains would see it"));
    let shown = modal.show(context, |ui| inside(ui, question));
    let answer = if entered { Some(Some(UiCommand::ConfirmSharing)) } else { shown.inner };
    match answer {
        Some(Some(command)) => {
            commands.push(command);
            true
        }
        Some(None) => true,
        None => shown.backdrop_response.clicked(),
    }
}

/// Returns the clicked answer: a command, or `Some(None)` for *Cancel*.
fn inside(ui: &mut Ui, question: &mut SharingQuestion) -> Option<Option<UiCommand>> {
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
        let name = UiCommand::ConfirmSharing.name();
        let all = Button::new(RichText::new(name).strong()).shortcut_text("Enter").fill(palette.selected);
        let all = ui.add(all).labelled_by(title.id);
        all.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, name));
        if !std::mem::replace(&mut question.shown, true) {
            all.request_focus();
        }
        if all.clicked() {
            return Some(Some(UiCommand::ConfirmSharing));
        }
        if question.sharing.without.is_some() {
            let without = ui.button(UiCommand::ExcludeShared.name());
            if without.on_hover_text("Changes only methods of this AppDomain").clicked() {
                return Some(Some(UiCommand::ExcludeShared));
            }
        }
        ui.add(Button::new("Cancel").shortcut_text("Esc")).clicked().then_some(None)
    })
    .inner
}
