//! Every copy of the selected method, with a small dial each.

use super::face::Face;
use crate::commands::Command;
use crate::model::connection::{Connection, Targets};
use crate::model::ids::MethodIx;
use crate::model::methodset::MethodSet;
use crate::model::orders::Reach;
use crate::output::words;
use crate::ui::knob::{self, Knob};
use crate::ui::theme::Palette;
use eframe::egui::{Label, RichText, Sense, Ui, vec2};
use redial_protocol::state::State;

const KNOB: f32 = 28.0;
/// Copies shown; more would be searched for, not read.
const SHOWN: usize = 100;

/// Shows them, where there are several.
pub fn show(ui: &mut Ui, connection: &Connection, method: MethodIx, commands: &mut Vec<Command>) {
    let copies = connection.catalogue.copies(method);
    if copies.len() < 2 {
        return;
    }
    let catalogue = &connection.catalogue;
    let is_over = |copy: &MethodIx| {
        catalogue.module(catalogue.module_of(*copy)).is_some_and(|one| catalogue.is_over(one))
    };
    let (over, copies): (Vec<MethodIx>, Vec<MethodIx>) = copies.into_iter().partition(is_over);
    ui.separator();
    if connection.catalogue.spans_processes() {
        ui.strong(format!("in {}", words::count(copies.len() as u64, "process", "processes")));
        ui.weak("a dial here is for one process alone, whatever is merged");
    } else {
        ui.strong(words::count(copies.len() as u64, "copy", "copies"));
        ui.weak("a dial here is for one copy alone, whatever is merged");
    }
    for copy in copies.iter().take(SHOWN) {
        ui.add_space(4.0);
        one(ui, connection, *copy, commands);
    }
    if !over.is_empty() {
        let calls = over.iter().filter_map(|copy| connection.live.of_method(*copy)).map(|row| row.calls);
        let (number, calls) = (words::grouped(over.len() as u64), words::count(calls.sum(), "call", "calls"));
        ui.add_space(4.0);
        ui.weak(format!("{number} ended, {calls}"));
    }
    let more = copies.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        ui.weak(format!("and {} more", words::grouped(more)));
    }
}

fn one(ui: &mut Ui, connection: &Connection, copy: MethodIx, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let catalogue = &connection.catalogue;
    let Some(module) = catalogue.module(catalogue.module_of(copy)) else { return };
    let dial = connection.dial(copy);
    let beyond = catalogue.beyond(module);
    let face = Face::of(&dial, connection.obstacle().is_none() && beyond.is_none());
    let domain = crate::model::ids::Node::Domain(module.domain);
    let label = format!(
        "dial of copy #{} in {} of {}",
        module.key.generation,
        catalogue.label(domain),
        catalogue.full_name(copy).text
    );
    ui.horizontal_top(|ui| {
        let enabled = beyond.map_or(face.enabled(connection), Err);
        let (place, _) = ui.allocate_exact_size(vec2(KNOB, KNOB), Sense::hover());
        let face_of_it = knob::Face { offered: connection.offered_to(copy), ..face.knob(connection, &label) };
        let knob = Knob::new(face_of_it, KNOB).enabled(enabled);
        let turned = knob.show_at(ui, ui.scope_id().with(("dial of a copy", copy)), place);
        if let Some(level) = turned.to {
            let targets = Targets::new(MethodSet::one(copy), Reach::Copies);
            commands.push(Command::Turn { targets, level });
        }
        commands.extend(turned.refused.map(Command::NotOffered));
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing = vec2(4.0, 1.0);
            ui.add(Label::new(catalogue.domain_title(domain)).truncate());
            let calls = dial.row.map_or(0, |row| row.calls);
            let says = beyond.unwrap_or(if face.says.is_empty() { "off" } else { &face.says });
            let state = RichText::new(format!("{says}, {}", words::count(calls, "call", "calls")));
            ui.add(Label::new(state.color(face.colour(palette))).truncate());
            let untaken = connection.untaken.iter().find(|one| one.methods.contains(copy));
            let note = dial.row.filter(|row| matches!(row.state, State::Refused | State::Failed));
            let note = note.and_then(|row| row.note.as_deref()).or(untaken.map(|one| one.why.as_str()));
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
