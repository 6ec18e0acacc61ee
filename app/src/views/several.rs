//! What stands above the methods of several processes: how they are, how they are shown, who joins them.

use super::face::Face;
use crate::commands::{Command, Situation};
use crate::model::Model;
use crate::model::connection::{Connection, GroupDial, Status};
use crate::model::fleet::{has_ended, out_of_reach};
use crate::model::ids::MethodIx;
use crate::model::lines::Lines;
use crate::model::live::LiveRow;
use crate::model::methodset::MethodSet;
use crate::model::several::Arrangement;
use crate::model::update::{Now, Retry};
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{
    Align, Button, Color32, Frame, Label, Layout, Margin, RichText, Role, Sense, Stroke, Ui, WidgetInfo, vec2,
};
use redial_protocol::state::State;
use std::collections::BTreeMap;
use std::ops::Range;

/// Processes named with a reason; the rest stands in a hint.
const NAMED: usize = 3;
/// Room that a reason needs in a line, points.
const LEAST: f32 = 120.0;
/// Width that one of several side by side needs, and how many are shown at most.
const PANE: f32 = 400.0;
const PANES: usize = 6;
/// Width in which two are shown all the same: one beside nothing compares with nothing.
pub const TWO: f32 = 640.0;
/// Below this width what the processes are stands in a line of its own.
const ONE_LINE: f32 = 580.0;
/// Below this height only the first line is shown: the rest stands in menus.
const LOW: f32 = 330.0;

/// Shows it.
pub fn bar(ui: &mut Ui, model: &Model, time: Now, now: &Situation, commands: &mut Vec<Command>) {
    let Some(fleet) = model.fleet() else { return };
    let palette = Palette::of(ui);
    let is_low = ui.available_height() < LOW;
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 4.0;
        let status = |ui: &mut Ui, commands: &mut Vec<Command>| {
            // What comes and goes has a place of its own at the end of the line: nothing below moves for it.
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if now.several_ended > 0 {
                    ended(ui, now.several_ended, commands);
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| counts(ui, model, palette));
            });
        };
        let is_narrow = ui.available_width() < ONE_LINE;
        ui.horizontal(|ui| {
            ui.strong(words::count(now.running() as u64, "process", "processes"));
            for (arrangement, text) in [
                (Arrangement::Merged, "merged"),
                (Arrangement::Apart, "a row each"),
                (Arrangement::Beside, "side by side"),
            ] {
                let command = Command::Arrange(arrangement);
                let chosen = now.switches.arrangement == arrangement;
                let button = Button::new(text).selected(chosen);
                let response = ui.add_enabled(command.enabled(now).is_ok(), button);
                let hint = command.explained().unwrap_or_default();
                let keys = command.keys(ui.ctx()).map(|keys| format!(" ({keys})")).unwrap_or_default();
                if response.on_hover_text(format!("{hint}{keys}")).clicked() && !chosen {
                    commands.push(command);
                }
            }
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
                [only] => format!("also those named {only} that start later"),
                _ => "also those of these names that start later".to_owned(),
            };
            let mut follow = fleet.follow.is_on();
            let hint = Command::Follow.explained().unwrap_or_default();
            if ui.checkbox(&mut follow, of).on_hover_text(hint).changed() {
                commands.push(Command::Follow);
            }
            if fleet.follow.is_on() {
                let mut attach = fleet.follow.attach;
                let hint = Command::FollowAttach.explained().unwrap_or_default();
                if ui.checkbox(&mut attach, "load the agent into them").on_hover_text(hint).changed() {
                    commands.push(Command::FollowAttach);
                }
            }
            if now.attachable && ui.button("Load the agent into the others").clicked() {
                commands.push(Command::Attach);
            }
            show_troubles(ui, &troubles(model, time), palette);
        });
    });
}

/// Those that have ended, from right to left: one number for all of them, behind which each is told of.
fn ended(ui: &mut Ui, number: usize, commands: &mut Vec<Command>) {
    let clear = ui.button("clear");
    let name = Command::DropEnded.name();
    clear.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    let hint = Command::DropEnded.explained().unwrap_or_default();
    if clear.on_hover_text(format!("{name}: {hint}")).clicked() {
        commands.push(Command::DropEnded);
    }
    let hint = Command::LastNumbers.explained().unwrap_or_default();
    if ui.button(format!("{} ended", words::grouped(number as u64))).on_hover_text(hint).clicked() {
        commands.push(Command::LastNumbers);
    }
}

/// What the processes are called, each name once.
fn names(model: &Model) -> Vec<&str> {
    let mut names: Vec<&str> = match model.fleet() {
        Some(fleet) if fleet.follow.is_on() => fleet.follow.names().collect(),
        _ => model.members().map(|member| member.name.as_str()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names
}

fn counts(ui: &mut Ui, model: &Model, palette: &Palette) {
    let mut counts: BTreeMap<u8, (u64, &str, Color32)> = BTreeMap::new();
    for member in model.members().filter(|member| !has_ended(&member.status)) {
        let (rank, word, colour) = match &member.status {
            Status::Live => (0, "connected", palette.live),
            Status::Connecting => (1, "connecting", palette.asked),
            Status::Attaching => (2, "getting the agent", palette.asked),
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

/// Why some of them cannot be turned, or are not whole: reasons, and whom each concerns.
fn troubles(model: &Model, now: Now) -> BTreeMap<String, Vec<String>> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in model.members().filter(|member| !has_ended(&member.status)) {
        let waits = matches!(member.status, Status::Connecting | Status::Attaching);
        if let Some(why) = out_of_reach(&member.status).filter(|_| !waits) {
            // What it is not called in every reason.
            let why = member.not_attached.clone().unwrap_or(why);
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

/// They come and go while one is about to click a row below: they stand in what is left of a line that is there anyway,
/// and all of them in a hint.
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

/// Those shown side by side, of so many, from a place on, in that width.
pub fn shown_beside(all: usize, from: usize, width: f32) -> Range<usize> {
    let least = if width < TWO { 1 } else { 2 };
    let fit = ((width / PANE) as usize).clamp(least, PANES).min(all);
    let from = from.min(all - fit);
    from..from + fit
}

/// Side by side, whose details follow; and that it lacks what is picked, where it does.
pub fn whose(ui: &mut Ui, lines: Lines<'_>) {
    if !lines.is_beside() {
        return;
    }
    let palette = Palette::of(ui);
    ui.add(Label::new(RichText::new(lines.own.title()).color(palette.weak)).truncate());
    if lines.lacks_picked() {
        ui.add_space(10.0);
        ui.label(lines.lack().sentence("This process", "what is picked") + ".");
    }
}

/// Which of several with these titles are shown side by side, where not all are, and which are not. `sums`: the rows are in
/// the order of numbers.
pub fn paging(ui: &mut Ui, titles: &[String], shown: &Range<usize>, sums: bool, commands: &mut Vec<Command>) {
    let all = titles.len();
    if shown.len() == all {
        return;
    }
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let fit = shown.len();
        let before = ui.add_enabled(shown.start > 0, Button::new("◀ before"));
        if before.clicked() {
            commands.push(Command::BesideFrom(shown.start.saturating_sub(fit)));
        }
        ui.label(format!("{}–{} of {all} processes", shown.start + 1, shown.end));
        let after = ui.add_enabled(shown.end < all, Button::new("after ▶"));
        if after.clicked() {
            commands.push(Command::BesideFrom(shown.start + fit));
        }
        let (before, after) = (titles.iter().take(shown.start), titles.iter().skip(shown.end));
        let others: Vec<String> = before.chain(after).cloned().collect();
        let order = if sums { format!("; sorted by sums of all {all}") } else { String::new() };
        let text = RichText::new(format!("not in sight: {}{order}", shortened(&others))).small();
        let label = Label::new(text.color(Palette::of(ui).weak)).truncate();
        ui.add(label).on_hover_text(format!(
            "not in sight: {}\nRows that are sorted by numbers are in the order of the sums of all {all} processes, not of those \
             in sight alone.",
            words::all(&others)
        ));
    });
}

/// The head of one of several side by side. `chosen`: keys go to it.
pub fn head(ui: &mut Ui, connection: &Connection, chosen: bool, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let fill = if chosen { palette.selected } else { palette.raised };
    let frame = Frame::new().fill(fill).inner_margin(Margin::symmetric(8, 4)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            let live = connection.status == Status::Live;
            match live {
                true => ui.painter().circle_filled(rect.center(), 4.5, palette.live),
                false => ui.painter().circle_stroke(rect.center(), 4.0, Stroke::new(1.5, palette.weak)),
            };
            let on = [State::Asked, State::Live, State::Reverting]
                .map(|state| connection.live.count(state) as u64);
            let on: u64 = on.iter().sum();
            let says = match out_of_reach(&connection.status) {
                Some(why) => why,
                None if on > 0 => format!("{} on", words::grouped(on)),
                None => String::new(),
            };
            let text = RichText::new(connection.title()).strong();
            ui.add(Label::new(text).truncate());
            ui.add(Label::new(RichText::new(&says).color(palette.weak)).truncate()).on_hover_text(says);
        });
    });
    let response = ui.interact(frame.response.rect, ui.scope_id().with("head"), Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(Role::Button, true, chosen, format!("look at {}", connection.title()))
    });
    if response.clicked() {
        commands.push(Command::Focus(connection.id));
    }
}

/// What the knob and the words of a merged row say: in how many of the processes that answer it is live, those without the
/// method included.
pub fn face(connection: &Connection, group: &GroupDial, copies: &MethodSet, refused: usize) -> Face {
    let connected = connection.obstacle().is_none();
    let mut face = Face::of_group(group).seen(connected);
    let catalogue = &connection.catalogue;
    let on: u32 = group.by_level.iter().skip(1).sum();
    if catalogue.spans_processes() {
        let reached = |method: &MethodIx| {
            let module = catalogue.module(catalogue.module_of(*method));
            module.is_some_and(|module| !module.unloaded && catalogue.beyond(module).is_none())
        };
        let able = copies.iter().filter(reached).count() as u64;
        if on > 0 && !group.pending && connected {
            let is_live = |method: &MethodIx| {
                reached(method)
                    && connection.live.of_method(*method).is_some_and(|row| row.state == State::Live)
            };
            let live = domains(connection, copies.iter().filter(is_live));
            face.says = words::live_of(live as u64, catalogue.domains_in_reach() as u64);
        }
        face.several = face.several.filter(|_| able > 1).map(|_| (u64::from(on), able));
    }
    if refused > 0 {
        face.refused_in(refused);
    }
    face
}

/// What keeps a dial from being on in some of the processes behind a row: which, and why.
pub fn refusals(connection: &Connection, copies: &MethodSet) -> Vec<(String, String)> {
    let of_copy = |method: MethodIx| {
        let row = connection.live.of_method(method).filter(|row| is_refused(row))?;
        let why = row.note.as_deref().unwrap_or(row.state.word());
        Some((row.domain.to_string(), why.to_owned()))
    };
    let mut refusals: Vec<(String, String)> = copies.iter().filter_map(of_copy).collect();
    let touched =
        connection.untaken.iter().filter(|one| copies.ranges().any(|range| one.methods.touches(&range)));
    refusals.extend(touched.map(|one| (one.title.clone(), one.why.clone())));
    refusals
}

fn is_refused(row: &LiveRow) -> bool {
    matches!(row.state, State::Refused | State::Failed)
}

/// Processes that have a method, of all; those that have ended apart.
pub fn processes_of(connection: &Connection, copies: &MethodSet) -> (usize, usize) {
    let catalogue = &connection.catalogue;
    let there = |copy: &MethodIx| {
        let module = catalogue.module(catalogue.module_of(*copy));
        module.is_some_and(|module| !catalogue.is_over(module))
    };
    (domains(connection, copies.iter().filter(there)), catalogue.domains_there())
}

/// In how many domains these copies are.
fn domains(connection: &Connection, copies: impl Iterator<Item = MethodIx>) -> usize {
    let catalogue = &connection.catalogue;
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
        assert_eq!(shown_beside(20, 0, 1_210.0), 0..3);
        assert_eq!(shown_beside(20, 19, 1_210.0), 17..20, "the last ones");
        assert_eq!(shown_beside(2, 0, 5_000.0), 0..2);
        assert_eq!(shown_beside(20, 4, 50.0), 4..5, "one at least");
        assert_eq!(shown_beside(20, 4, TWO), 4..6, "two where they find room");
        assert_eq!(shown_beside(20, 0, 50_000.0), 0..PANES);
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        let titles: Vec<String> = (1..=5).map(|pid| format!("Shop ({pid})")).collect();
        assert_eq!(shortened(&titles), "Shop (1), Shop (2), Shop (3) and 2 more");
        assert_eq!(shortened(&titles[..1]), "Shop (1)");
    }
}
