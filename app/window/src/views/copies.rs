//! The copies of the selected method, each with a small dial.

use super::knob_state::KnobState;
use crate::commands::UiCommand;
use crate::ui::knob::{self, Knob};
use crate::ui::theme::Palette;
use eframe::egui::{Label, RichText, Sense, Ui, vec2};
use redial_model::ids::MethodIx;
use redial_model::live::LiveRow;
use redial_model::method_set::MethodSet;
use redial_model::method_table::Targets;
use redial_model::orders::ChangeScope;
use redial_model::subject::Subject;
use redial_protocol::state::CopyState;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::words;

const KNOB: f32 = 28.0;
/// Most copies shown.
const SHOWN: usize = 100;

/// Shows the copies if there are several.
pub fn show(ui: &mut Ui, subject: Subject<'_>, method: MethodIx, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    let copies = table.catalogue.copies(method);
    if copies.len() < 2 {
        return;
    }
    let catalogue = &table.catalogue;
    let is_over = |copy: &MethodIx| {
        catalogue.module(catalogue.module_of(*copy)).is_some_and(|one| catalogue.process_ended(one))
    };
    let (over, copies): (Vec<MethodIx>, Vec<MethodIx>) = copies.into_iter().partition(is_over);
    ui.separator();
    if table.catalogue.spans_processes() {
        ui.strong(format!("In {}", words::count(copies.len() as u64, "process", "processes")));
        ui.weak("Each dial here is for one process only, even in the merged list.");
    } else {
        ui.strong(words::count(copies.len() as u64, "copy", "copies"));
        ui.weak("Each dial here is for one copy only, even with merged copies.");
    }
    for copy in copies.iter().take(SHOWN) {
        ui.add_space(4.0);
        one(ui, subject, *copy, commands);
    }
    if !over.is_empty() {
        let calls = over.iter().filter_map(|copy| table.live.of_method(*copy)).map(LiveRow::shown_calls);
        let (number, calls) = (words::grouped(over.len() as u64), words::count(calls.sum(), "call", "calls"));
        ui.add_space(4.0);
        ui.weak(format!("{number} ended, {calls}"));
    }
    let more = copies.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        ui.weak(format!("and {} more", words::grouped(more)));
    }
}

fn one(ui: &mut Ui, subject: Subject<'_>, copy: MethodIx, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    let palette = Palette::of(ui);
    let catalogue = &table.catalogue;
    let Some(module) = catalogue.module(catalogue.module_of(copy)) else { return };
    let dial = table.dial(copy);
    let beyond = catalogue.unavailable_reason(module);
    let face = KnobState::of(&dial, subject.obstacle().is_none() && beyond.is_none());
    let domain = redial_model::ids::Node::Domain(module.domain);
    let label = format!(
        "Dial of copy #{} in {} of {}",
        module.key.generation,
        catalogue.label(domain),
        catalogue.full_name(copy).text
    );
    ui.horizontal_top(|ui| {
        let enabled = beyond.map_or(face.enabled(subject), Err);
        let (place, _) = ui.allocate_exact_size(vec2(KNOB, KNOB), Sense::hover());
        let face_of_it = knob::KnobFace { offered: subject.offered_to(copy), ..face.knob(subject, &label) };
        let knob = Knob::new(face_of_it, KNOB).enabled(enabled);
        let turned = knob.show_at(ui, ui.scope_id().with(("Dial of a copy", copy)), place);
        if let Some(level) = turned.to {
            let targets = Targets::new(MethodSet::one(copy), ChangeScope::Copies);
            commands.push(UiCommand::Turn { targets, level });
        }
        commands.extend(turned.refused.map(UiCommand::NotOffered));
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing = vec2(4.0, 1.0);
            ui.add(Label::new(catalogue.domain_title(domain)).truncate());
            let calls = dial.row.map_or(0, LiveRow::shown_calls);
            let state_text =
                beyond.unwrap_or(if face.state_text.is_empty() { "off" } else { &face.state_text });
            let state = RichText::new(format!("{state_text}, {}", words::count(calls, "call", "calls")));
            ui.add(Label::new(state.color(face.colour(palette))).truncate());
            let untaken = subject
                .fleet()
                .and_then(|fleet| fleet.partial_refusals().iter().find(|one| one.methods.contains(copy)));
            let note = dial.row.filter(|row| matches!(row.state, CopyState::Refused | CopyState::Failed));
            let note = note.and_then(|row| row.note).map(|note| row_notes::note(note, Reader::Window));
            let note = note.or(untaken.map(|one| one.why.as_str().into()));
            if let Some(why) = note {
                ui.add(Label::new(RichText::new(why).small().color(palette.bad)).wrap());
            }
            if catalogue.spans_processes() {
                return;
            }
            let mvid = module.mvid.get(..8).unwrap_or(&module.mvid);
            let ids = format!("#{} module {:#x}, build {mvid}", module.key.generation, module.key.module_id);
            let ids = ui.add(Label::new(RichText::new(ids).small().color(palette.weak)).truncate());
            ids.on_hover_text(format!("MVID {}", module.mvid));
            let path = if module.path.is_empty() { "in memory" } else { &module.path };
            ui.add(Label::new(RichText::new(path).small().color(palette.weak)).truncate());
        });
    });
}
