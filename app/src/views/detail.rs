//! The selection, large: its knob, its state in words, its numbers.

use super::cells::Numbers;
use super::cost;
use super::face::Face;
use crate::commands::Command;
use crate::model::catalogue::bits::Bits;
use crate::model::connection::{Connection, Targets};
use crate::model::ids::{MethodIx, Node};
use crate::model::lines::Lines;
use crate::model::list::{Key, Sort};
use crate::model::live::LiveRow;
use crate::model::methodset::MethodSet;
use crate::output::times::TimeColumn;
use crate::output::{budget, words};
use crate::ui::knob::{self, Knob};
use crate::ui::theme::{Palette, TITLE};
use crate::ui::{numbers, sparkline};
use eframe::egui::{Id, RichText, Sense, Ui, vec2};
use redial_protocol::level::Level;
use redial_protocol::state::State;

const KNOB: f32 = 116.0;
/// The smallest there is in a low panel, and the height from which on all that is told of one counted method is in sight.
const LOW_KNOB: f32 = 64.0;
const WHOLE: f32 = 520.0;
/// Below that height, where methods can be timed, the knob gives way to the histogram.
const LOW: f32 = 540.0;
/// Height of a line with a number that one looks for first.
const FIGURE: f32 = 22.0;

/// Whether another selection is told of than in the last frame: that begins at the top. The same method in a process beside is
/// compared at the same place.
pub fn is_another(ui: &Ui, lines: Lines<'_>) -> bool {
    let Lines { own, list, .. } = lines;
    // By names, for numbers of methods change when a module goes.
    let focus = list.selection.focus().map(|node| match node {
        Node::Method(method) => {
            let module = list.catalogue.module(list.catalogue.module_of(method));
            format!("{:?} {}", module.map(|module| module.domain), list.catalogue.full_name(method).text)
        }
        group => format!("{group:?}"),
    });
    let whose = (!lines.is_beside()).then_some(own.id.0);
    let now = Id::unique((whose, focus, list.selection.len()));
    let memory = Id::unique("what the panel tells of");
    ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or(memory, now), now)) != now
}

/// Shows it in the rest of `ui`.
pub fn show(ui: &mut Ui, connection: &Connection, commands: &mut Vec<Command>) {
    let targets = connection.turned_by_selection();
    let shown = connection.targets();
    let first = shown.iter().next();
    match (first, shown.len()) {
        (None, _) => nothing(ui, connection),
        (Some(method), 1) => one(ui, connection, method, commands),
        _ => many(ui, connection, targets, commands),
    }
}

fn nothing(ui: &mut Ui, connection: &Connection) {
    ui.add_space(16.0);
    ui.vertical_centered(|ui| {
        ui.strong("Nothing selected");
        ui.weak(match connection.list.shown() {
            0 => "The list shows no method that could be.",
            _ if connection.obstacle().is_some() => "Pick a method in the list, or move with the arrows.",
            _ => "Pick a method in the list, or move with the arrows. Space turns its dial.",
        });
        ui.add_space(10.0);
        if connection.list.shown() == 0 || connection.obstacle().is_some() {
            // What shows some stands in their place; and where nobody answers, nothing is called as far as is known.
            return;
        }
        let sorted = |key| connection.list.sort() == Sort { key, descending: true };
        // Of a few nobody counts there may be a reason, as of what loaded later.
        let are_most = |on: usize| on > 0 && on * 10 >= connection.list.shown() * 9;
        ui.strong("What is called most?");
        let on = connection.live.count(State::Live) + connection.live.count(State::Asked);
        ui.weak(match (are_most(on), sorted(Key::Rate)) {
            (true, true) => "These are counted and sorted by “per second”: the top row is called most now.",
            (true, false) => "These are counted: sort by “per second”.",
            (false, _) => "Ctrl+A selects all methods shown, 1 counts them; then sort by “per second”.",
        });
        if connection.offered().contains(&Level::Time) {
            ui.add_space(10.0);
            ui.strong("What takes most time?");
            let timed = connection.live.wanted(Level::Time).map_or(0, Bits::count);
            ui.weak(match (are_most(timed), sorted(Key::Time(TimeColumn::Own))) {
                (true, true) => "These are timed and sorted by “self”: the top row took most.",
                (true, false) => "These are timed: sort by “self”.",
                (false, _) => "Ctrl+A and 2 time all methods shown; then sort by “self”.",
            });
        }
    });
}

fn one(ui: &mut Ui, connection: &Connection, method: MethodIx, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let full = connection.catalogue.full_name(method);
    let merged = connection.merged(method);
    let dial = connection.dial(method);
    let connected = connection.obstacle().is_none();
    let group = merged.as_ref().map(|copies| connection.group_of_set(copies));
    let face = match merged.as_ref().zip(group.as_ref()) {
        Some((copies, group)) => {
            let refused = super::several::refusals(connection, copies).len();
            super::several::face(connection, group, copies, refused)
        }
        None => Face::of(&dial, connected),
    };
    ui.add(eframe::egui::Label::new(RichText::new(full.part(&full.method)).size(TITLE).strong()).truncate());
    ui.add(eframe::egui::Label::new(RichText::new(full.part(&full.type_name)).color(palette.weak)).wrap());
    let params = full.part(&full.signature);
    if params != "()" {
        ui.add(eframe::egui::Label::new(RichText::new(params).small().color(palette.weak)).wrap());
    }
    let known = group.as_ref().map_or(dial.row.is_some(), |group| group.sums.known > 0);
    let stepped =
        dial.row.and_then(|row| row.times_note.as_deref()).filter(|note| budget::is_stepped(Some(note)));
    let stepped = stepped.filter(|_| merged.is_none());
    knob(ui, connection, (&face, known, stepped), connection.reaching(&MethodSet::one(method)), commands);
    let numbers = group.is_some() || dial.row.is_some();
    if let Some(group) = group {
        let calls = words::grouped(group.sums.calls);
        figures(ui, Numbers::of(connected && group.counts()), &calls, group.counted_rate());
        // Nothing below moves when the dial goes off.
        last_numbers(ui, Some(super::rows::last_of_group(&group).filter(|_| connected).unwrap_or_default()));
        let timed = Numbers::of(connected && group.is_timed());
        super::latency::sums(ui, timed, group.sums.times.as_ref());
        group.sums.times.iter().for_each(|times| super::completions::numbers(ui, timed, times));
    } else if let Some(row) = dial.row {
        let least = if super::rows::misses_calls(row) { "≥ " } else { "" };
        let calls = format!("{least}{}", words::grouped(row.calls));
        let counted = Numbers::of(connected && row.counts());
        figures(ui, counted, &calls, row.counted_rate().map(f64::from));
        let last = super::rows::last_of_row(row).filter(|_| connected);
        // In the graph's line, so that nothing below moves when the dial goes off.
        let in_graph = row.series.is_some() && !row.counts();
        last_numbers(ui, last.filter(|_| !in_graph));
        super::completions::show(ui, connection, row, commands);
        super::latency::show(ui, connection, row);
        // Its tick stands still under the pointer that ticks it, and what was asked for above what is there anyway.
        super::callers::show(ui, connection, row, connection.reaching(&MethodSet::one(method)), commands);
        if row.options.keeps_calls() {
            worst(ui, connection, (method, row), commands);
        }
        super::latency::spread(ui, connection, row, &full.text, commands);
        if let Some(series) = &row.series {
            let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 56.0), Sense::hover());
            sparkline::paint(ui.painter(), rect.shrink(2.0), series.at(connection.live.tick()), palette);
            // Its points are a second apart; what is said to be now may lie between them.
            let top = series.at(connection.live.tick()).fold(row.counted_rate().unwrap_or(0.0), f32::max);
            let text = match last.filter(|_| in_graph) {
                Some(last) => last.to_owned(),
                None => format!("last minute, at most {}", numbers::rate(top.into())),
            };
            ui.label(RichText::new(text).small().color(palette.weak));
        }
        if !row.options.keeps_calls() {
            worst(ui, connection, (method, row), commands);
        }
        let wanted =
            if dial.pending { format!("{}, not answered yet", dial.wanted) } else { dial.wanted.to_string() };
        pair(ui, "wanted", &wanted);
        let name = if connected { "actual" } else { "last seen" };
        let actual = ui.scope(|ui| pair(ui, name, dial.state.word()));
        actual.response.on_hover_ui(|ui| {
            ui.label(words::state_means(dial.state, Some(row.wanted)));
            row.version.into_iter().for_each(|version| drop(ui.weak(words::version_means(version))));
        });
        if connected && matches!(dial.state, State::Asked | State::Reverting | State::Failed | State::Lost) {
            ui.label(
                RichText::new(words::state_means(dial.state, Some(row.wanted))).small().color(palette.weak),
            );
        }
        if let Some(note) = &row.note {
            let colour =
                if matches!(row.state, State::Refused | State::Failed) { palette.bad } else { palette.asked };
            ui.add_space(4.0);
            ui.colored_label(colour, note.as_ref());
        }
        if let Some(note) = row.times_note.as_ref().filter(|_| stepped.is_none()) {
            ui.add_space(4.0);
            ui.colored_label(palette.asked, note.as_ref());
        }
        // Those of earlier versions are of no interest.
        let live = row.instances.iter().filter(|instance| instance.state == State::Live).count();
        if live > 1 {
            pair(ui, "compiled", &words::count(live as u64, "instance", "instances"));
        }
    }
    super::copies::show(ui, connection, method, commands);
    // Below the knob there is one already.
    if numbers || connection.catalogue.copies(method).len() > 1 {
        ui.separator();
    }
    home(ui, connection, method);
}

/// Worst calls.
fn worst(
    ui: &mut Ui,
    connection: &Connection,
    (method, row): (MethodIx, &LiveRow),
    commands: &mut Vec<Command>,
) {
    super::worst::show(ui, connection, row, connection.reaching(&MethodSet::one(method)), commands);
}

/// Where the method is from, and who else would see its dial.
fn home(ui: &mut Ui, connection: &Connection, method: MethodIx) {
    let palette = Palette::of(ui);
    let Some(module) = connection.catalogue.module(connection.catalogue.module_of(method)) else { return };
    pair(ui, "module", &module.name);
    if connection.catalogue.spans_processes() {
        pair(ui, "token", &format!("{:#010x}", connection.catalogue.token(method).0));
        return;
    }
    if let Some(domain) = connection.catalogue.domains().get(module.domain as usize) {
        let title = connection.catalogue.domain_title(Node::Domain(module.domain));
        let row = ui.scope(|ui| pair(ui, "AppDomain", &title));
        row.response.on_hover_text(&domain.name);
    }
    pair(ui, "token", &format!("{:#010x}", connection.catalogue.token(method).0));
    if connection.catalogue.is_shared(module) {
        let names = connection.catalogue.domain_titles(module);
        let count = names.len();
        let text = format!("shared by {count} AppDomains, all of them will see this: {}", names.join(", "));
        ui.colored_label(palette.asked, text);
    }
    if module.dynamic {
        ui.colored_label(palette.asked, "its module is dynamic or collectible: the agent will refuse");
    }
}

fn many(ui: &mut Ui, connection: &Connection, targets: Targets, commands: &mut Vec<Command>) {
    let group = connection.group_of_set(&targets.methods);
    let sums = group.sums;
    // What has ended is part of the sums, and wants nothing any more; where all has, it is all there is to be told of.
    let there = connection.catalogue.not_over(&targets.methods);
    let ended = targets.methods.len() - there.len();
    let these = if there.is_empty() { targets.methods.clone() } else { there.clone() };
    let wants = if ended == 0 { group } else { connection.group_of_set(&these) };
    let face = Face::of_group(&wants).seen(connection.obstacle().is_none());
    let merged = connection.catalogue.spans_processes() && connection.catalogue.is_merged();
    if merged {
        let rows = words::methods(connection.targets().len());
        let text = format!("{rows} in {}", connection.title());
        ui.label(RichText::new(text).size(TITLE).strong());
        ui.weak(format!("{} turned together", words::count(there.len(), "copy", "copies")));
    } else {
        ui.label(RichText::new(words::methods(targets.methods.len())).size(TITLE).strong());
        ui.weak("turned together");
    }
    knob(ui, connection, (&face, sums.known > 0, None), targets.clone(), commands);
    if face.wanted == Some(Level::Time) {
        super::worst::menu(ui, connection, None, targets, commands);
    }
    if sums.known > 0 {
        let counted = Numbers::of(connection.obstacle().is_none() && group.counts());
        figures(ui, counted, &words::grouped(sums.calls), group.counted_rate());
        last_numbers(ui, super::rows::last_of_group(&group).filter(|_| connection.obstacle().is_none()));
    }
    for level in Level::ALL {
        // Those that cannot be on are told of by themselves.
        let left_out = if level == Level::Off { wants.bodyless } else { 0 };
        let number = wants.by_level[level as usize].saturating_sub(left_out);
        if number > 0 {
            pair(ui, &format!("want {level}"), &words::grouped(number.into()));
        }
    }
    if wants.bodyless > 0 {
        let row = ui.scope(|ui| pair(ui, "without a body", &words::grouped(wants.bodyless.into())));
        row.response.on_hover_ui(|ui| {
            ui.set_max_width(560.0);
            ui.label("abstract, extern and P/Invoke methods: there is no code to count in");
            connection.bodyless_named(&these).lines().for_each(|line| drop(ui.weak(line)));
        });
    }
    for state in [State::Asked, State::Live, State::Reverting, State::Refused, State::Failed, State::Lost] {
        let number = wants.sums.states.get(state as usize).copied().unwrap_or(0);
        if number > 0 {
            let passing = matches!(state, State::Asked | State::Live | State::Reverting);
            let was = if passing && connection.obstacle().is_some() { "was " } else { "" };
            let waits = if state == State::Asked && was.is_empty() { ", not called since" } else { "" };
            let name = format!("{was}{}{waits}", state.word());
            let row = ui.scope(|ui| pair(ui, &name, &words::grouped(number.into())));
            row.response.on_hover_text(words::state_means(state, None));
        }
    }
    if ended > 0 && !there.is_empty() {
        let row = ui.scope(|ui| pair(ui, "in ended processes", &words::grouped(ended)));
        row.response.on_hover_text("copies that nobody turns any more: their calls are part of the sums");
    }
}

/// `known`: some of what it turns was dialled; `stepped`: why the budget stepped it down.
fn knob(
    ui: &mut Ui,
    connection: &Connection,
    (face, known, stepped): (&Face, bool, Option<&str>),
    targets: Targets,
    commands: &mut Vec<Command>,
) {
    let size = knob_size(ui.clip_rect().height(), connection.offered().contains(&Level::Time));
    ui.add_space(if size < KNOB { 0.0 } else { 6.0 });
    ui.vertical_centered(|ui| {
        let enabled = face.enabled(connection);
        let costs = || cost::hints(connection, &targets.methods, face.wanted);
        let offered = connection.offered_to_picked();
        let face_of_it = knob::Face { offered, ..face.knob(connection, "dial of the selection") };
        let knob = Knob::new(face_of_it, size).hinting(&costs);
        let turned = knob.enabled(enabled).show(ui);
        if let Some(level) = turned.to {
            commands.push(Command::Turn { targets, level });
        }
        if let Some(level) = turned.refused {
            commands.push(Command::NotOffered(level));
        }
        let palette = Palette::of(ui);
        let wanted = face.wanted.map_or("mixed", Level::word);
        ui.label(RichText::new(wanted).size(16.0).strong());
        let original =
            face.says.is_empty() || face.state == Some(State::Off) && face.wanted == Some(Level::Off);
        let connected = connection.obstacle().is_none();
        let says = match (face.unable, original, connected) {
            (Some(unable), ..) => unable,
            (None, true, true) => "the original code runs",
            (None, true, _) if known => "nothing was on",
            (None, ..) if face.says.is_empty() => "never dialled",
            _ => &face.says,
        };
        ui.label(RichText::new(says).color(face.colour(palette)));
        stepped.into_iter().for_each(|why| drop(ui.label(RichText::new(why).small().color(palette.asked))));
    });
    ui.add_space(4.0);
    ui.separator();
}

/// How large the knob is in a panel of a height, `timed`: where methods can be timed.
fn knob_size(height: f32, timed: bool) -> f32 {
    match timed && height < LOW {
        true => LOW_KNOB,
        false => (KNOB - (WHOLE - height)).clamp(LOW_KNOB, KNOB),
    }
}

/// The numbers that one looks for first; of what is not counted now there is no rate to be known.
fn figures(ui: &mut Ui, counted: Numbers, calls: &str, rate: Option<f64>) {
    let rate = rate.filter(|_| counted == Numbers::Live).map_or("–".to_owned(), numbers::rate);
    let colour = counted.colour(Palette::of(ui));
    for (name, value) in [("calls", calls), ("now", rate.as_str())] {
        line_of(ui, FIGURE, name, RichText::new(value).monospace().size(TITLE).color(colour));
    }
}

/// That numbers are the last there were, where they are.
fn last_numbers(ui: &mut Ui, last: Option<&str>) {
    if let Some(last) = last {
        ui.label(RichText::new(last).small().color(Palette::of(ui).weak));
    }
}

/// A name and what it stands for, at both ends of a line.
pub fn pair(ui: &mut Ui, name: &str, value: &str) {
    line(ui, name, RichText::new(value).monospace());
}

/// The same of a number that may be the last there was.
pub fn number(ui: &mut Ui, name: &str, number: Numbers, value: &str) {
    let colour = number.colour(Palette::of(ui));
    line(ui, name, RichText::new(value).monospace().color(colour));
}

fn line(ui: &mut Ui, name: &str, value: RichText) {
    line_of(ui, 0.0, name, value);
}

/// Of a height at least, in whose middle both stand. Nothing here is clicked: lines stand closer than buttons would.
fn line_of(ui: &mut Ui, height: f32, name: &str, value: RichText) {
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = height;
        ui.horizontal(|ui| {
            ui.weak(name);
            ui.with_layout(eframe::egui::Layout::right_to_left(eframe::egui::Align::Center), |ui| {
                ui.add(eframe::egui::Label::new(value).truncate());
            });
        });
    });
}
