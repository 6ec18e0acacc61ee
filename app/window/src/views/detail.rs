//! The details panel: the selection with a large knob, its state and its numbers.

use super::cells::NumberAge;
use super::cost;
use super::detail_lines::{line_of, pair};
use super::knob_state::{KnobState, state_hint};
use super::number_range;
use super::sections::Sections;
use crate::commands::UiCommand;
use crate::settings::sections::DetailSection;
use crate::ui::capitalized;
use crate::ui::knob::{self, Knob};
use crate::ui::theme::{Palette, TITLE};
use crate::ui::{numbers, sparkline};
use eframe::egui::{Id, RichText, Sense, Ui, vec2};
use redial_model::catalogue::bit_set::BitSet;
use redial_model::ids::{MethodIx, Node};
use redial_model::list::{Sort, SortKey};
use redial_model::live::LiveRow;
use redial_model::method_set::MethodSet;
use redial_model::method_table::{MethodTable, Targets};
use redial_model::subject::Subject;
use redial_model::visible_rows::VisibleRows;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_text::budget;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::times::TimeColumn;
use redial_text::words;

const KNOB: f32 = 116.0;
/// From this number of methods on, timing all of them is no first step.
const MANY: usize = 1_000;

/// The knob's smallest size, in a low panel; and the height from which everything about one counted method is
/// visible.
const LOW_KNOB: f32 = 64.0;
const WHOLE: f32 = 520.0;
/// Below this height, where methods can be timed, the knob shrinks in favour of the histogram.
const LOW: f32 = 540.0;
/// Height of a line with a main number.
const FIGURE: f32 = 22.0;

/// Returns whether the selection changed since the last frame, so that the panel scrolls to its top. The same
/// method in a process beside keeps its place for comparison.
pub fn is_another(ui: &Ui, lines: VisibleRows<'_>) -> bool {
    let list = lines.list.table();
    // Compares names, because method numbers change when a module unloads.
    let focus = list.selection.focus().map(|node| match node {
        Node::Method(method) => {
            let module = list.catalogue.module(list.catalogue.module_of(method));
            format!("{:?} {}", module.map(|module| module.domain), list.catalogue.full_name(method).text)
        }
        group => format!("{group:?}"),
    });
    let shown = (!lines.is_beside()).then_some(lines.own.id());
    let now = Id::unique((shown, focus, list.selection.len()));
    let memory = Id::unique("selection in the panel");
    ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or(memory, now), now)) != now
}

/// Shows the panel in the rest of `ui`.
pub fn show(ui: &mut Ui, subject: Subject<'_>, sections: Sections<'_>, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    let targets = table.turned_by_selection();
    let shown = table.targets();
    let first = shown.iter().next();
    let hidden = table.selection.focus().filter(|focus| table.selection.contains(*focus));
    match (first, shown.len(), hidden) {
        (None, _, Some(Node::Method(method))) if table.selection.len() == 1 => {
            let palette = Palette::of(ui);
            let why = RichText::new("The filter hides this method's row.").small().color(palette.weak);
            ui.horizontal_wrapped(|ui| {
                ui.label(why);
                if ui.small_button("Show its row").clicked() {
                    commands.push(UiCommand::ShowHidden);
                }
            });
            one(ui, subject, method, sections, commands);
        }
        (None, ..) => nothing(ui, subject, commands),
        (Some(method), 1, _) => one(ui, subject, method, sections, commands),
        _ => many(ui, subject, targets, commands),
    }
}

fn nothing(ui: &mut Ui, subject: Subject<'_>, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    ui.add_space(16.0);
    ui.vertical_centered(|ui| {
        ui.strong("No method selected");
        ui.weak(match table.list.shown() {
            0 => "No methods match.",
            _ if subject.obstacle().is_some() => "Select a method in the list or move with the arrow keys.",
            _ => "Select a method in the list or move with the arrow keys. Space turns its dial.",
        });
        ui.add_space(10.0);
        if table.list.shown() == 0 || subject.obstacle().is_some() {
            // The empty state offers the next steps instead; and without an answering agent nothing is
            // counted.
            return;
        }
        let sorted = |key| table.list.sort() == Sort { key, descending: true };
        // A few methods may stay uncounted for a reason, such as modules loaded later.
        let are_most = |on: usize| on > 0 && on * 10 >= table.list.shown() * 9;
        ui.strong("Which methods are called most?");
        let on = table.live.count(CopyState::Live) + table.live.count(CopyState::Asked);
        ui.weak(match (are_most(on), sorted(SortKey::Rate)) {
            (true, true) => {
                "These methods are counted and sorted by “Per second”: the top row is called \
                            most now."
            }
            (true, false) => "These methods are counted. Sort by “Per second”.",
            (false, _) => {
                "Press Ctrl+A to select all methods shown and 1 to count them, then sort by \
                          “Per second”."
            }
        });
        if subject.offered().contains(&Level::Time) {
            ui.add_space(10.0);
            ui.strong("Which methods take most time?");
            let at = |level| table.live.wanted(level).map_or(0, BitSet::count);
            let timed = at(Level::Time) + at(Level::Trace);
            ui.weak(match (are_most(timed), sorted(SortKey::Time(TimeColumn::Own))) {
                (true, true) => "These methods are timed and sorted by “Self”: the top row took most.",
                (true, false) => "These methods are timed. Sort by “Self”.",
                (false, _) if table.list.shown() > MANY => {
                    "Let Redial count all, and time those that are called."
                }
                (false, _) => "Press Ctrl+A and 2 to time all methods shown, then sort by “Self”.",
            });
            if !are_most(timed) && subject.process().is_some() {
                let find = UiCommand::FindHot;
                let link = ui.link("Find the hottest");
                if link.on_hover_text(find.explained().unwrap_or_default()).clicked() {
                    commands.push(find);
                }
            }
        }
    });
}

fn one(
    ui: &mut Ui,
    subject: Subject<'_>,
    method: MethodIx,
    sections: Sections<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let table = subject.table();
    let palette = Palette::of(ui);
    let full = table.catalogue.full_name(method);
    let merged = table.merged(method);
    let dial = table.dial(method);
    let connected = subject.obstacle().is_none();
    let group = merged.as_ref().map(|copies| table.group_of_set(copies));
    let face = match merged.as_ref().zip(group.as_ref()) {
        Some((copies, group)) => {
            let refused = super::fleet_header::refusals(subject, copies).len();
            super::fleet_header::face(subject, group, copies, refused)
        }
        None => KnobState::of(&dial, connected),
    };
    ui.add(eframe::egui::Label::new(RichText::new(full.part(&full.method)).size(TITLE).strong()).truncate());
    ui.add(eframe::egui::Label::new(RichText::new(full.part(&full.type_name)).color(palette.weak)).wrap());
    let params = full.part(&full.signature);
    if params != "()" {
        ui.add(eframe::egui::Label::new(RichText::new(params).small().color(palette.weak)).wrap());
    }
    super::completions::method_of_body(ui, full.part(&full.type_name), full.part(&full.method), commands);
    let known = group.as_ref().map_or(dial.row.is_some(), |group| group.sums.known > 0);
    let stepped =
        dial.row.and_then(|row| row.times_note.as_deref()).filter(|note| budget::is_stepped(Some(note)));
    let stepped = stepped.filter(|_| merged.is_none());
    let stepped = stepped.map(|note| row_notes::times_note(note, Reader::Window));
    knob(
        ui,
        subject,
        (&face, known, stepped.as_deref()),
        table.targets_for(&MethodSet::one(method)),
        commands,
    );
    let numbers = group.is_some() || dial.row.is_some();
    let numbers_open = match numbers {
        true => sections.heading(ui, DetailSection::Numbers, "Numbers", commands),
        false => {
            ui.separator();
            false
        }
    };
    if numbers_open {
        number_range::caption(ui, &table.live);
    }
    if let Some(group) = group {
        let timed = NumberAge::of(connected && group.is_timed());
        let known = subject.merged_histogram();
        let histogram = known.of(method);
        let calls = words::grouped(group.sums.calls);
        if numbers_open {
            figures(ui, NumberAge::of(connected && group.counts()), &calls, group.counted_rate());
            // Always takes its line, so that nothing below moves when the dial goes off.
            last_numbers(
                ui,
                Some(super::row_notes::last_of_group(&group).filter(|_| connected).unwrap_or_default()),
            );
            let missing =
                super::latency::missing_percentiles(known, merged.as_ref().map_or(0, MethodSet::len));
            super::latency::sums(ui, timed, group.sums.times.as_ref(), (histogram, &missing));
        }
        if let Some(histogram) = histogram
            && sections.heading(ui, DetailSection::Histogram, "Histogram", commands)
        {
            super::latency::merged(ui, histogram, &full.text);
        }
        if numbers_open {
            group.sums.times.iter().for_each(|times| super::completions::numbers(ui, timed, times));
        }
    } else if let Some(row) = dial.row {
        let least = if super::row_notes::misses_calls(row) { "≥ " } else { "" };
        let calls = format!("{least}{}", words::grouped(row.shown_calls()));
        let counted = NumberAge::of(connected && row.counts());
        let last = super::row_notes::last_of_row(row).filter(|_| connected);
        // The graph's caption says it instead, so that nothing below moves when the dial goes off.
        let in_graph = row.series.is_some() && !row.counts();
        if numbers_open {
            figures(ui, counted, &calls, row.counted_rate().map(f64::from));
            last_numbers(ui, last.filter(|_| !in_graph));
            super::completions::show(ui, subject, row, commands);
            super::latency::show(ui, subject, row);
        }
        // Above the histogram, so that its checkbox does not move under the pointer when the callers appear.
        let targets = table.targets_for(&MethodSet::one(method));
        super::callers::show(ui, subject, row, (targets, sections), commands);
        if row.options.keeps_calls() {
            worst(ui, subject, (method, row), sections, commands);
        }
        if row.wanted >= Level::Trace {
            events_link(ui, commands);
        }
        super::latency::spread(ui, subject, row, (&full.text, sections), commands);
        if let Some(series) = &row.series {
            // The graph's points are a second apart; the current rate may lie between them.
            let top = series.at(table.live.tick()).fold(row.counted_rate().unwrap_or(0.0), f32::max);
            let text = match last.filter(|_| in_graph) {
                Some(last) => last.to_owned(),
                None => format!("Last minute, peak {}", numbers::rate(top.into())),
            };
            if sections.heading(ui, DetailSection::Rate, &text, commands) {
                let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 56.0), Sense::hover());
                sparkline::paint(ui.painter(), rect.shrink(2.0), series.at(table.live.tick()), palette);
            }
        }
        if !row.options.keeps_calls() {
            worst(ui, subject, (method, row), sections, commands);
        }
        let wanted = if dial.pending {
            format!("{} (waiting for the agent)", dial.wanted)
        } else {
            dial.wanted.to_string()
        };
        pair(ui, "Wanted", &wanted);
        let name = if connected { "Actual" } else { "Last seen" };
        let actual = ui.scope(|ui| pair(ui, name, words::state_word(dial.state)));
        actual.response.on_hover_ui(|ui| {
            ui.label(state_hint(dial.state, Some(row.wanted)));
            row.version.into_iter().for_each(|version| drop(ui.weak(words::version_means(version))));
        });
        if connected
            && matches!(
                dial.state,
                CopyState::Asked | CopyState::Reverting | CopyState::Failed | CopyState::Lost
            )
        {
            ui.label(RichText::new(state_hint(dial.state, Some(row.wanted))).small().color(palette.weak));
        }
        if let Some(note) = row.note {
            let colour = if matches!(row.state, CopyState::Refused | CopyState::Failed) {
                palette.bad
            } else {
                palette.asked
            };
            ui.add_space(4.0);
            ui.colored_label(colour, capitalized(&row_notes::note(note, Reader::Window)));
        }
        if let Some(note) = row.times_note.as_ref().filter(|_| stepped.is_none()) {
            ui.add_space(4.0);
            ui.colored_label(palette.asked, capitalized(&row_notes::times_note(note, Reader::Window)));
        }
        // Instances of earlier versions do not matter.
        let live = row.instances.iter().filter(|instance| instance.state == CopyState::Live).count();
        if live > 1 {
            pair(ui, "Compiled", &words::count(live as u64, "instance", "instances"));
        }
    }
    super::copies::show(ui, subject, method, commands);
    // The knob has a separator below it already.
    if numbers || table.catalogue.copies(method).len() > 1 {
        ui.separator();
    }
    home(ui, table, method);
}

/// Offers to show the panel with the traced calls.
fn events_link(ui: &mut Ui, commands: &mut Vec<UiCommand>) {
    let shown = ui.ctx().data(|data| data.get_temp::<bool>(super::events::shown_id()));
    if shown != Some(true) && ui.link("Show its calls").clicked() {
        commands.push(UiCommand::Events);
    }
}

/// Shows the slowest calls.
fn worst(
    ui: &mut Ui,
    subject: Subject<'_>,
    (method, row): (MethodIx, &LiveRow),
    sections: Sections<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let targets = subject.table().targets_for(&MethodSet::one(method));
    super::slowest_calls::show(ui, subject, row, (targets, sections), commands);
}

/// Shows the method's module, and the AppDomains that share its dial.
fn home(ui: &mut Ui, table: &MethodTable, method: MethodIx) {
    let palette = Palette::of(ui);
    let Some(module) = table.catalogue.module(table.catalogue.module_of(method)) else { return };
    pair(ui, "Module", &module.name);
    if table.catalogue.spans_processes() {
        pair(ui, "Token", &format!("{:#010x}", table.catalogue.token(method).0));
        return;
    }
    if let Some(domain) = table.catalogue.domains().get(module.domain as usize) {
        let title = table.catalogue.domain_title(Node::Domain(module.domain));
        let row = ui.scope(|ui| pair(ui, "AppDomain", &title));
        row.response.on_hover_text(&domain.name);
    }
    pair(ui, "Token", &format!("{:#010x}", table.catalogue.token(method).0));
    if table.catalogue.is_shared(module) {
        let names = table.catalogue.domain_titles(module);
        let count = names.len();
        let text =
            format!("Shared by {count} AppDomains; a change affects all of them: {}", names.join(", "));
        ui.colored_label(palette.asked, text);
    }
    if module.dynamic {
        ui.colored_label(
            palette.asked,
            "The module is dynamic or collectible, so the agent refuses to \
                                        dial its methods.",
        );
    }
}

fn many(ui: &mut Ui, subject: Subject<'_>, targets: Targets, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    let group = table.group_of_set(&targets.methods);
    let sums = group.sums;
    // Ended processes count in the sums but have no dials to turn. If all have ended, the panel shows them
    // only.
    let there = table.catalogue.in_running_processes(&targets.methods);
    let ended = targets.methods.len() - there.len();
    let these = if there.is_empty() { targets.methods.clone() } else { there.clone() };
    let wants = if ended == 0 { group } else { table.group_of_set(&these) };
    let face = KnobState::of_group(&wants).seen(subject.obstacle().is_none());
    let merged = table.catalogue.spans_processes() && table.catalogue.is_merged();
    if merged {
        let rows = words::methods(table.targets().len());
        let text = format!("{rows} in {}", subject.title());
        ui.label(RichText::new(text).size(TITLE).strong());
        ui.weak(format!("{} change together", words::count(there.len(), "copy", "copies")));
    } else {
        ui.label(RichText::new(words::methods(targets.methods.len())).size(TITLE).strong());
        ui.weak("Changed together");
    }
    knob(ui, subject, (&face, sums.known > 0, None), targets.clone(), commands);
    ui.separator();
    if let Some(level) = face.wanted.filter(|level| *level >= Level::Time) {
        super::slowest_calls::menu(ui, subject, (level, None), targets, commands);
    }
    if sums.known > 0 {
        number_range::caption(ui, &table.live);
        let counted = NumberAge::of(subject.obstacle().is_none() && group.counts());
        figures(ui, counted, &words::grouped(sums.calls), group.counted_rate());
        last_numbers(ui, super::row_notes::last_of_group(&group).filter(|_| subject.obstacle().is_none()));
    }
    for level in Level::ALL {
        // Methods without a body have a line of their own.
        let left_out = if level == Level::Off { wants.bodyless } else { 0 };
        let number = wants.by_level[level as usize].saturating_sub(left_out);
        if number > 0 {
            pair(ui, &format!("Set to {level}"), &words::grouped(number.into()));
        }
    }
    if wants.bodyless > 0 {
        let row = ui.scope(|ui| pair(ui, "Without a body", &words::grouped(wants.bodyless.into())));
        row.response.on_hover_ui(|ui| {
            ui.set_max_width(560.0);
            ui.label("Abstract, extern and P/Invoke methods have no code to instrument.");
            table.bodyless_named(&these).lines().for_each(|line| drop(ui.weak(line)));
        });
    }
    for state in [
        CopyState::Asked,
        CopyState::Live,
        CopyState::Reverting,
        CopyState::Refused,
        CopyState::Failed,
        CopyState::Lost,
    ] {
        let number = wants.sums.states.get(state as usize).copied().unwrap_or(0);
        if number > 0 {
            let passing = matches!(state, CopyState::Asked | CopyState::Live | CopyState::Reverting);
            let was = if passing && subject.obstacle().is_some() { "was " } else { "" };
            let waits = if state == CopyState::Asked && was.is_empty() { ", not called yet" } else { "" };
            let name = capitalized(&format!("{was}{}{waits}", words::state_word(state)));
            let row = ui.scope(|ui| pair(ui, &name, &words::grouped(number.into())));
            row.response.on_hover_text(state_hint(state, None));
        }
    }
    if ended > 0 && !there.is_empty() {
        let row = ui.scope(|ui| pair(ui, "In ended processes", &words::grouped(ended)));
        row.response.on_hover_text(
            "Copies in ended processes can no longer be turned. The sums include \
                                   their calls.",
        );
    }
}

/// `known`: at least one method was dialled; `stepped`: why the budget turned the method down.
fn knob(
    ui: &mut Ui,
    subject: Subject<'_>,
    (face, known, stepped): (&KnobState, bool, Option<&str>),
    targets: Targets,
    commands: &mut Vec<UiCommand>,
) {
    let size = knob_size(ui.clip_rect().height(), subject.offered().contains(&Level::Time));
    ui.add_space(if size < KNOB { 0.0 } else { 6.0 });
    ui.vertical_centered(|ui| {
        let enabled = face.enabled(subject);
        let costs = || cost::hints(subject, &targets.methods, face.wanted);
        let offered = subject.offered_to_selection();
        let face_of_it = knob::KnobFace { offered, ..face.knob(subject, "Dial of the selection") };
        let knob = Knob::new(face_of_it, size).hinting(&costs);
        let turned = knob.enabled(enabled).show(ui);
        if let Some(level) = turned.to {
            commands.push(UiCommand::Turn { targets, level });
        }
        if let Some(level) = turned.refused {
            commands.push(UiCommand::NotOffered(level));
        }
        let palette = Palette::of(ui);
        let wanted = face.wanted.map_or("mixed", Level::word);
        ui.label(RichText::new(wanted).size(16.0).strong());
        let original = face.state_text.is_empty()
            || face.state == Some(CopyState::Off) && face.wanted == Some(Level::Off);
        let connected = subject.obstacle().is_none();
        let state_text = match (face.unable, original, connected) {
            (Some(unable), ..) => unable,
            (None, true, true) => "Runs its original code",
            (None, true, _) if known => "Was off",
            (None, ..) if face.state_text.is_empty() => "Never dialled",
            _ => &face.state_text,
        };
        ui.label(RichText::new(capitalized(state_text)).color(face.colour(palette)));
        stepped
            .into_iter()
            .for_each(|why| drop(ui.label(RichText::new(capitalized(why)).small().color(palette.asked))));
    });
    ui.add_space(4.0);
}

/// Returns the knob's size in a panel of this height; `timed` if methods can be timed.
fn knob_size(height: f32, timed: bool) -> f32 {
    match timed && height < LOW {
        true => LOW_KNOB,
        false => (KNOB - (WHOLE - height)).clamp(LOW_KNOB, KNOB),
    }
}

/// Shows the main numbers; the rate is unknown while nothing is counted.
fn figures(ui: &mut Ui, counted: NumberAge, calls: &str, rate: Option<f64>) {
    let rate = rate.filter(|_| counted == NumberAge::Live).map_or("–".to_owned(), numbers::rate);
    let colour = counted.colour(Palette::of(ui));
    for (name, value) in [("Calls", calls), ("Now", rate.as_str())] {
        line_of(ui, FIGURE, name, RichText::new(value).monospace().size(TITLE).color(colour));
    }
}

/// Notes that the numbers are the last known values, if they are.
fn last_numbers(ui: &mut Ui, last: Option<&str>) {
    if let Some(last) = last {
        ui.label(RichText::new(last).small().color(Palette::of(ui).weak));
    }
}
