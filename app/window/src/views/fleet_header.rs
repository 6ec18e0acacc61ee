//! The header of several processes: their states, their arrangement, and which processes join.

use super::knob_state::KnobState;
use crate::commands::{CommandContext, UiCommand};
use crate::ui::segmented::{self, Segment};
use crate::ui::theme::Palette;
use eframe::egui::{
    Align, Button, Color32, Frame, Label, Layout, Margin, RichText, Role, Sense, Stroke, Ui, WidgetInfo, vec2,
};
use redial_model::Model;
use redial_model::connection::{Connection, Status};
use redial_model::fleet::{Fleet, has_ended, out_of_reach};
use redial_model::ids::MethodIx;
use redial_model::live::LiveRow;
use redial_model::method_set::MethodSet;
use redial_model::method_table::{GroupDial, MethodTable};
use redial_model::process_choice::Arrangement;
use redial_model::subject::Subject;
use redial_model::update::{Now, Retry};
use redial_model::visible_rows::VisibleRows;
use redial_protocol::state::CopyState;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::words;
use std::collections::BTreeMap;
use std::ops::Range;

/// Processes named with a reason; a hint lists the rest.
const NAMED: usize = 3;
/// Least width for a reason, points.
const LEAST: f32 = 120.0;
/// Width of a table side by side without the names, points: dial, calls, calls per second and the scroll bar. And most
/// tables shown.
const PANE: f32 = 248.0;
const PANES: usize = 6;
/// Gap between two tables, points.
pub const GAP: f32 = 4.0;
/// Least width of the names, which only one table shows, points.
pub const NAMES: f32 = 160.0;
/// Width from which two are shown anyway: a single one leaves nothing to compare.
pub const TWO: f32 = 640.0;
/// Below this width the processes' states get a line of their own.
const ONE_LINE: f32 = 580.0;
/// Below this height only the first line is shown; menus have the rest.
const LOW: f32 = 330.0;

/// Shows the header.
pub fn bar(ui: &mut Ui, model: &Model, time: Now, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    let Some(fleet) = model.fleet() else { return };
    let palette = Palette::of(ui);
    let is_low = ui.available_height() < LOW;
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 4.0;
        let status = |ui: &mut Ui, commands: &mut Vec<UiCommand>| {
            // Changing items have fixed room at the line's end, so that nothing below moves.
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if now.processes.ended > 0 {
                    ended(ui, now.processes.ended, commands);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| counts(ui, model, palette));
            });
        };
        let is_narrow = ui.available_width() < ONE_LINE;
        ui.horizontal(|ui| {
            ui.strong(words::count(now.processes.running() as u64, "process", "processes"));
            let arrangements = [
                (Arrangement::Merged, "Merged"),
                (Arrangement::Separate, "Per process"),
                (Arrangement::SideBySide, "Side by side"),
            ];
            let segments = arrangements.map(|(arrangement, text)| {
                let command = UiCommand::Arrange(arrangement);
                let hint = command.explained().unwrap_or_default();
                let keys = command.keys(ui.ctx()).map(|keys| format!(" ({keys})")).unwrap_or_default();
                let enabled = command.enabled(now).is_ok();
                Segment { value: arrangement, text, hint: format!("{hint}{keys}"), enabled }
            });
            let chosen = segmented::show(ui, "Arrangement", &segments, Some(now.switches.arrangement));
            commands.extend(chosen.map(UiCommand::Arrange));
            if !is_narrow {
                ui.separator();
                status(ui, commands);
            }
        });
        if is_narrow {
            ui.horizontal(|ui| status(ui, commands));
        }
        if is_low {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let names: Vec<&str> = names(model);
            let of = match names.as_slice() {
                [only] => format!("Add processes named {only} that start later"),
                _ => "Add processes of these names that start later".to_owned(),
            };
            let mut follow = fleet.auto_join.is_on();
            let hint = UiCommand::Follow.explained().unwrap_or_default();
            if ui.checkbox(&mut follow, of).on_hover_text(hint).changed() {
                commands.push(UiCommand::Follow);
            }
            if fleet.auto_join.is_on() {
                let mut attach = fleet.auto_join.attach;
                let hint = UiCommand::FollowAttach.explained().unwrap_or_default();
                if ui.checkbox(&mut attach, "Load the agent into them").on_hover_text(hint).changed() {
                    commands.push(UiCommand::FollowAttach);
                }
            }
            if now.subject.is_some_and(|subject| subject.attachable)
                && ui.button("Load the agent into the others").clicked()
            {
                commands.push(UiCommand::Attach);
            }
            show_troubles(ui, &troubles(model, time), palette);
        });
    });
}

/// Shows the number of ended processes, right-aligned, as a button that lists them.
fn ended(ui: &mut Ui, number: usize, commands: &mut Vec<UiCommand>) {
    let clear = ui.button("Clear");
    let name = UiCommand::DropEnded.name();
    clear.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let hint = UiCommand::DropEnded.explained().unwrap_or_default();
    if clear.on_hover_text(format!("{name}. {hint}")).clicked() {
        commands.push(UiCommand::DropEnded);
    }
    let hint = UiCommand::LastNumbers.explained().unwrap_or_default();
    if ui.button(format!("{} ended", words::grouped(number as u64))).on_hover_text(hint).clicked() {
        commands.push(UiCommand::LastNumbers);
    }
}

/// Returns the distinct names of the processes.
fn names(model: &Model) -> Vec<&str> {
    let mut names: Vec<&str> = match model.fleet() {
        Some(fleet) if fleet.auto_join.is_on() => fleet.auto_join.names().collect(),
        _ => model.members().map(|member| member.name.as_str()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names
}

fn counts(ui: &mut Ui, model: &Model, palette: &Palette) {
    let mut counts: BTreeMap<u8, (u64, &str, Color32)> = BTreeMap::new();
    for member in model.members().filter(|member| !has_ended(&member.session.status)) {
        let (rank, word, colour) = match &member.session.status {
            Status::Live => (0, "connected", palette.live),
            Status::Connecting => (1, "connecting", palette.waiting),
            Status::Attaching => (2, "loading the agent", palette.waiting),
            Status::Lost { retry: Retry::WithAgent, .. } => (3, "without the agent", palette.weak),
            Status::Lost { .. } => (4, "not connected", palette.bad),
        };
        counts.entry(rank).or_insert((0, word, colour)).0 += 1;
    }
    for (number, word, colour) in counts.into_values() {
        let text = RichText::new(format!("{} {word}", words::grouped(number))).color(colour);
        ui.add(Label::new(text).truncate());
    }
}

/// Returns the reasons why some processes cannot be turned or are incomplete, with the processes concerned.
fn troubles(model: &Model, now: Now) -> BTreeMap<String, Vec<String>> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in model.members().filter(|member| !has_ended(&member.session.status)) {
        let status = &member.session.status;
        let waits = matches!(status, Status::Connecting | Status::Attaching);
        if let Some(why) = out_of_reach(status).filter(|_| !waits) {
            // The process's own pid does not belong in a shared reason.
            let why = member.session.not_attached.clone().unwrap_or(why);
            let why = why.replace(&format!("process {} ", member.process.pid), "the process ");
            reasons.entry(why).or_default().push(member.title());
        }
    }
    for member in model.fleet().into_iter().flat_map(|fleet| fleet.members()) {
        if let Some((why, connection)) =
            member.left_out.as_ref().zip(model.connections.get(&member.connection))
        {
            reasons.entry(why.clone()).or_default().push(connection.title());
        }
    }
    for (title, why) in model.left_behind(now) {
        reasons.entry(why).or_default().push(title);
    }
    reasons
}

/// Shows the reasons in the rest of an existing line, and all of them in a hint: they come and go while the
/// user may be about to click a row below.
fn show_troubles(ui: &mut Ui, reasons: &BTreeMap<String, Vec<String>>, palette: &Palette) {
    let Some((why, titles)) = reasons.first_key_value() else { return };
    let first = format!("{}: {why}", shortened(titles));
    let text = match reasons.len() {
        1 => first,
        all => format!("{all} reasons: {first}"),
    };
    let left = ui.available_size_before_wrap().x;
    let width = if left < LEAST { ui.available_width() } else { left - 1.0 };
    let label = Label::new(RichText::new(&text).color(palette.asked)).truncate();
    let height = ui.spacing().interact_size.y;
    let shown = ui.allocate_ui(vec2(width, height), |ui| ui.add(label)).inner;
    shown.on_hover_ui(|ui| {
        ui.set_max_width(560.0);
        for (why, titles) in reasons {
            ui.label(format!("{}: {why}", titles.join(", ")));
        }
    });
}

fn shortened(titles: &[String]) -> String {
    let first: Vec<&str> = titles.iter().take(NAMED).map(String::as_str).collect();
    match titles.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Returns the positions shown side by side, out of `all`, from `from` on, in this width.
pub fn shown_beside(all: usize, from: usize, width: f32) -> Range<usize> {
    let least = if width < TWO { 1 } else { 2 };
    let fit = (((width - NAMES + GAP) / (PANE + GAP)) as usize).clamp(least, PANES).min(all);
    let from = from.min(all - fit);
    from..from + fit
}

/// Shows, side by side, the process whose details follow; and a note if it lacks the selection.
pub fn current_process(ui: &mut Ui, lines: VisibleRows<'_>) {
    if !lines.is_beside() {
        return;
    }
    let palette = Palette::of(ui);
    ui.add(Label::new(RichText::new(lines.own.title()).color(palette.weak)).truncate());
    if lines.lacks_selection() {
        ui.add_space(10.0);
        ui.label(lines.lack().sentence("This process", "the selection") + ".");
    }
}

/// Shows which processes are visible side by side and which are not, unless all are. `sums`: rows are sorted
/// by numbers.
pub fn paging(
    ui: &mut Ui,
    titles: &[String],
    shown: &Range<usize>,
    sums: bool,
    commands: &mut Vec<UiCommand>,
) {
    let all = titles.len();
    if shown.len() == all {
        return;
    }
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let fit = shown.len();
        let before = ui.add_enabled(shown.start > 0, Button::new("◀ Previous"));
        if before.clicked() {
            commands.push(UiCommand::SideBySideFrom(shown.start.saturating_sub(fit)));
        }
        ui.label(format!("{}–{} of {all} processes", shown.start + 1, shown.end));
        let after = ui.add_enabled(shown.end < all, Button::new("Next ▶"));
        if after.clicked() {
            commands.push(UiCommand::SideBySideFrom(shown.start + fit));
        }
        let (before, after) = (titles.iter().take(shown.start), titles.iter().skip(shown.end));
        let others: Vec<String> = before.chain(after).cloned().collect();
        let order = if sums { format!("; sorted by sums of all {all}") } else { String::new() };
        let text = RichText::new(format!("Not visible: {}{order}", shortened(&others))).small();
        let label = Label::new(text.color(Palette::of(ui).weak)).truncate();
        ui.add(label).on_hover_text(format!(
            "Not visible: {}\nRows sorted by numbers use the sums of all {all} processes, not only of \
            the visible ones.",
            words::all(&others)
        ));
    });
}

/// Shows the header of one process side by side. `chosen`: keys go to it.
pub fn head(ui: &mut Ui, connection: &Connection, chosen: bool, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    let fill = if chosen { palette.selected } else { palette.raised };
    let frame = Frame::new().fill(fill).inner_margin(Margin::symmetric(8, 4)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            let live = connection.session.status == Status::Live;
            match live {
                true => ui.painter().circle_filled(rect.center(), 4.5, palette.live),
                false => ui.painter().circle_stroke(rect.center(), 4.0, Stroke::new(1.5, palette.weak)),
            };
            let on = [CopyState::Asked, CopyState::Live, CopyState::Reverting]
                .map(|state| connection.table.live.count(state) as u64);
            let on: u64 = on.iter().sum();
            let state_text = match out_of_reach(&connection.session.status) {
                Some(why) => why,
                None if on > 0 => format!("{} on", words::grouped(on)),
                None => String::new(),
            };
            let text = RichText::new(connection.title()).strong();
            ui.add(Label::new(text).truncate());
            ui.add(Label::new(RichText::new(&state_text).color(palette.weak)).truncate())
                .on_hover_text(state_text);
        });
    });
    let response = ui.interact(frame.response.rect, ui.scope_id().with("head"), Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(Role::Button, true, chosen, format!("Show {}", connection.title()))
    });
    if response.clicked() {
        commands.push(UiCommand::Focus(connection.id));
    }
}

/// Returns the state of a merged row. Its text counts the answering processes where the method is live, out
/// of all that answer, including those without the method.
pub fn face(subject: Subject<'_>, group: &GroupDial, copies: &MethodSet, refused: usize) -> KnobState {
    let table = subject.table();
    let connected = subject.obstacle().is_none();
    let mut face = KnobState::of_group(group).seen(connected);
    let catalogue = &table.catalogue;
    let on: u32 = group.by_level.iter().skip(1).sum();
    if catalogue.spans_processes() {
        let reached = |method: &MethodIx| {
            let module = catalogue.module(catalogue.module_of(*method));
            module.is_some_and(|module| !module.unloaded && catalogue.unavailable_reason(module).is_none())
        };
        let able = copies.iter().filter(reached).count() as u64;
        if on > 0 && !group.pending && connected {
            let is_live = |method: &MethodIx| {
                reached(method)
                    && table.live.of_method(*method).is_some_and(|row| row.state == CopyState::Live)
            };
            let live = domains(table, copies.iter().filter(is_live));
            face.state_text = words::live_of(live as u64, catalogue.available_domains() as u64);
        }
        face.several = face.several.filter(|_| able > 1).map(|_| (u64::from(on), able));
    }
    if refused > 0 {
        face.refused_in(refused);
    }
    face
}

/// Returns the processes behind a row that refused a dial, with reasons.
pub fn refusals(subject: Subject<'_>, copies: &MethodSet) -> Vec<(String, String)> {
    let table = subject.table();
    let of_copy = |method: MethodIx| {
        let row = table.live.of_method(method).filter(|row| is_refused(row))?;
        let why = row.note.map(|note| row_notes::note(note, Reader::Window));
        let why = why.unwrap_or(words::state_word(row.state).into());
        Some((row.domain.to_string(), why.into_owned()))
    };
    let mut refusals: Vec<(String, String)> = copies.iter().filter_map(of_copy).collect();
    let partial = subject.fleet().into_iter().flat_map(Fleet::partial_refusals);
    let touched = partial.filter(|one| copies.ranges().any(|range| one.methods.touches(&range)));
    refusals.extend(touched.map(|one| (one.title.clone(), one.why.clone())));
    refusals
}

fn is_refused(row: &LiveRow) -> bool {
    matches!(row.state, CopyState::Refused | CopyState::Failed)
}

/// Returns the number of processes that have a method, and of all; ended ones do not count.
pub fn processes_of(table: &MethodTable, copies: &MethodSet) -> (usize, usize) {
    let catalogue = &table.catalogue;
    let there = |copy: &MethodIx| {
        let module = catalogue.module(catalogue.module_of(*copy));
        module.is_some_and(|module| !catalogue.process_ended(module))
    };
    (domains(table, copies.iter().filter(there)), catalogue.running_domains())
}

/// Returns the number of domains with these copies.
fn domains(table: &MethodTable, copies: impl Iterator<Item = MethodIx>) -> usize {
    let catalogue = &table.catalogue;
    let domain = |copy| Some(catalogue.module(catalogue.module_of(copy))?.domain);
    let mut domains: Vec<u32> = copies.filter_map(domain).collect();
    domains.sort_unstable();
    domains.dedup();
    domains.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_shown_as_fit() {
        assert_eq!(shown_beside(20, 0, 912.0), 0..3);
        assert_eq!(shown_beside(20, 19, 912.0), 17..20, "the last ones");
        assert_eq!(shown_beside(2, 0, 5_000.0), 0..2);
        assert_eq!(shown_beside(20, 4, 50.0), 4..5, "at least one");
        assert_eq!(shown_beside(20, 4, TWO), 4..6, "two if they fit");
        assert_eq!(shown_beside(20, 0, 50_000.0), 0..PANES);
    }

    #[test]
    fn long_list_of_names_is_shortened() {
        let titles: Vec<String> = (1..=5).map(|pid| format!("Shop ({pid})")).collect();
        assert_eq!(shortened(&titles), "Shop (1), Shop (2), Shop (3) and 2 more");
        assert_eq!(shortened(&titles[..1]), "Shop (1)");
    }
}
