//! How long calls of the selected method take: its numbers, and a histogram that can be compared with an earlier one.

use super::cells::Numbers;
use super::detail::number;
use crate::commands::Command;
use crate::model::connection::{Connection, Status};
use crate::model::histograms::chart::{Chart, NAMES, coarse};
use crate::model::ids::FLEET;
use crate::model::live::LiveRow;
use crate::model::update::Retry;
use crate::output::times::{TimeColumn, resolution};
use crate::output::words;
use crate::ui::hint;
use crate::ui::histogram::{self, Bar, Histogram, Line};
use crate::ui::numbers;
use crate::ui::theme::Palette;
use eframe::egui::{Align, Color32, Layout, RichText, TextStyle, Ui, vec2};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::state::State;
use redial_protocol::times::Times;

/// What the histogram says where no bar speaks.
const AREAS: &str = "How many calls took how long. The area of a bar is its part of them.";

/// Room that durations of one call need with what they are called, points; that numbers of all calls need as a rule, and the
/// least that they need.
const SINGLE: f32 = 96.0;
const ALL: f32 = 140.0;
const LEAST: f32 = 126.0;
/// Less is rounding, points.
const ROUNDING: f32 = 0.75;

/// The row whose histogram is looked at, and how many of its calls have ended; None: none is.
pub fn wanted(connection: &Connection) -> Option<(RowId, u64)> {
    let row = row_looked_at(connection)?;
    row.times.as_deref().filter(|times| times.exits > 0).map(|times| (row.id, times.exits))
}

/// The row of the one method that is selected in one process, while that answers.
pub fn row_looked_at(connection: &Connection) -> Option<&LiveRow> {
    let one = connection.id != FLEET && connection.status == Status::Live && connection.selection.len() == 1;
    let targets = one.then(|| connection.targets()).filter(|targets| targets.len() == 1)?;
    let method = targets.iter().next().filter(|method| connection.merged(*method).is_none())?;
    connection.live.of_method(method)
}

/// Numbers of a method with a row of its own; nothing where it is not timed.
pub fn show(ui: &mut Ui, connection: &Connection, row: &LiveRow) {
    let Some(times) = row.times.as_deref() else {
        let comes = matches!(row.state, State::Asked | State::Live) && row.times_note.is_none();
        if row.wanted >= Level::Time && comes && connection.obstacle().is_none() {
            ui.weak("Its next calls are timed.");
        }
        return;
    };
    let timed = Numbers::of(connection.obstacle().is_none() && row.is_timed());
    let told = connection.histograms.of(row.id).and_then(|told| told.as_ref().ok());
    both(ui, timed, times, &resolution(told.map(|told| told.tick_fs), connection.cost_of_timing()));
}

/// The histogram of one of which calls have ended.
pub fn spread(ui: &mut Ui, connection: &Connection, row: &LiveRow, name: &str, commands: &mut Vec<Command>) {
    if row.times.as_deref().is_none_or(|times| times.exits == 0) {
        return;
    }
    if connection.id == FLEET {
        ui.weak("A histogram is told of one process alone: look at that.");
        return;
    }
    match connection.histograms.of(row.id) {
        Some(Ok(now)) => drawn(ui, now, connection.histograms.marked(row.id), name, commands),
        Some(Err(why)) => drop(ui.weak(format!("There is no histogram: {why}."))),
        None if connection.obstacle().is_none() => drop(ui.weak("The agent is asked for its histogram.")),
        // Nobody looked at it while there was somebody to be asked.
        None => drop(ui.weak(match connection.status.retry() {
            Some(Retry::Never) => "There is no histogram: the process is asked for it, and has ended.",
            _ => "There is no histogram yet: the process is asked for it, and is out of reach.",
        })),
    }
}

/// Numbers of several copies together.
pub fn sums(ui: &mut Ui, timed: Numbers, times: Option<&Times>) {
    if let Some(times) = times {
        both(ui, timed, times, &resolution(None, None));
        if times.exits > 0 && times.percentiles.is_none() {
            ui.label(
                RichText::new("Percentiles of several copies do not add up: look at one of them.")
                    .small()
                    .color(Palette::of(ui).weak),
            );
        }
    }
}

/// In two columns: durations of one call, and what all of them amount to.
fn both(ui: &mut Ui, timed: Numbers, times: &Times, resolution: &str) {
    let gap = ui.spacing().item_spacing.x;
    let room = ui.available_width() - gap;
    let column = |ui: &mut Ui, columns: &[TimeColumn]| {
        // The histogram below is to be in sight as well.
        (ui.spacing_mut().interact_size.y, ui.spacing_mut().item_spacing.y) = (20.0, 2.0);
        columns.iter().for_each(|column| cell(ui, *column, timed, times, resolution));
    };
    if room < SINGLE + LEAST {
        ui.scope(|ui| column(ui, &TimeColumn::ALL));
        return;
    }
    let (single, all) = TimeColumn::ALL.split_at(4);
    let left = (room / 2.0).min(room - ALL).max(SINGLE);
    ui.horizontal_top(|ui| {
        for (width, columns) in [(left, single), (room - left, all)] {
            ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::Min), |ui| {
                ui.set_width(width);
                column(ui, columns);
            });
        }
    });
}

/// One of them; a number of calls that finds no room is written short.
fn cell(ui: &mut Ui, column: TimeColumn, timed: Numbers, times: &Times, resolution: &str) {
    let exact = column.cell(times).unwrap_or_else(|| "–".to_owned());
    let wide = |ui: &Ui, text: &str, font| {
        ui.painter().layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
    };
    let name = wide(ui, column.name(), TextStyle::Body.resolve(ui.style()));
    let room = ui.available_width() - name - ui.spacing().item_spacing.x - ROUNDING;
    let finds_room =
        column.is_duration() || wide(ui, &exact, TextStyle::Monospace.resolve(ui.style())) <= room;
    let number_of_calls = column.number(times).filter(|_| !finds_room);
    let shown = number_of_calls.map_or_else(|| exact.clone(), numbers::short);
    let response = ui.scope(|ui| number(ui, column.name(), timed, &shown)).response;
    let first = if shown == exact { String::new() } else { format!("{exact}: ") };
    response.on_hover_text(match column.is_percentile() {
        true => format!("{}\n{resolution}", column.meaning()),
        false => format!("{first}{}", column.meaning()),
    });
}

fn drawn(
    ui: &mut Ui,
    now: &RowHistogram,
    mark: Option<&RowHistogram>,
    name: &str,
    commands: &mut Vec<Command>,
) {
    let weak = Palette::of(ui).weak;
    let chart = Chart::of(now, mark, histogram::room(ui.available_width()));
    let bars = heights(&chart);
    let named = |(name, at): (&'static str, &Option<f64>)| at.map(|at| Line { at, name: Some(name) });
    let nameless = |at: &Option<f64>| at.map(|at| Line { at, name: None });
    let lines: Vec<Line<'_>> = NAMES
        .into_iter()
        .zip(&chart.lines)
        .filter_map(named)
        .chain(chart.lines_before.iter().filter_map(nameless))
        .collect();
    let says = |bar: Option<usize>| {
        let bar = bar.and_then(|index| chart.bars.get(index)).map(|bar| chart.says(bar));
        bar.into_iter().chain([read_out(&chart, &coarse(now, mark))]).collect::<Vec<_>>().join("\n")
    };
    let label = format!("latency histogram of {name}");
    ui.add_space(4.0);
    marks(ui, now.times.row, mark.is_some(), commands);
    let (response, bar) = Histogram { bars: &bars, lines: &lines, label: &label, says: &says }.show(ui);
    let bar = bar.and_then(|index| chart.bars.get(index));
    let text = bar.map_or_else(|| AREAS.to_owned(), |bar| chart.says(bar));
    // One that keys went to speaks without the pointer.
    hint::beside(&response, bar.is_some() && !response.hovered(), text);
    let small = |ui: &mut Ui, text: String| {
        ui.label(RichText::new(text).small().color(weak));
    };
    if let Some(before) = chart.summary_before() {
        small(ui, format!("filled: {}", chart.summary()));
        small(ui, format!("outline: {before}"));
    }
    if chart.missing > 0 {
        let missing = words::count(chart.missing, "call is", "calls are");
        small(ui, format!("{missing} missing: the agent's memory for times is used up"));
    }
}

/// The buttons that keep the present histogram, and forget it. They stand above it, where a low window shows them.
fn marks(ui: &mut Ui, row: RowId, marked: bool, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let hint = "Keeps this histogram: what comes from now on is drawn against it.";
        if ui.button(if marked { "Mark again" } else { "Mark" }).on_hover_text(hint).clicked() {
            commands.push(Command::MarkHistogram(row));
        }
        let hint = "Draws all calls again.";
        if marked && ui.button("Clear mark").on_hover_text(hint).clicked() {
            commands.push(Command::ClearMark(row));
        }
    });
}

/// Bars as high as their calls are dense on the axis, so that areas are parts of all calls, before the mark as after it.
fn heights(chart: &Chart) -> Vec<Bar> {
    let dense = |calls: u64, all: u64, octaves: f64| calls as f64 / all.max(1) as f64 / octaves;
    let each: Vec<[f64; 2]> = chart
        .bars
        .iter()
        .map(|bar| {
            let octaves = bar.octaves();
            [dense(bar.calls, chart.calls, octaves), dense(bar.before, chart.before.unwrap_or(0), octaves)]
        })
        .collect();
    let highest = each.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let part = |height: f64| (height / highest) as f32;
    let bars = chart.bars.iter().zip(&each);
    bars.map(|(bar, [height, outline])| Bar {
        from: bar.from_ns,
        to: bar.to_ns,
        height: part(*height),
        outline: part(*outline),
    })
    .collect()
}

/// All of it in words: sums and percentiles, then some lines of bars.
fn read_out(chart: &Chart, coarse: &Chart) -> String {
    let mut lines = vec![chart.summary()];
    lines.extend(chart.summary_before());
    lines.extend(coarse.bars.iter().map(|bar| coarse.says(bar)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::histograms::tests::histogram;

    #[test]
    fn areas_are_parts_of_all_calls() {
        // As many in a bar of 64 to 128 ns as in one of 128 to 256: both are an octave.
        let now = histogram(0, &[(64, 10), (95, 20), (96, 30)]);
        let octaves = heights(&Chart::of(&now, None, 2));
        assert_eq!(octaves.iter().map(|bar| bar.height).collect::<Vec<_>>(), [1.0, 1.0]);
        // 64 to 66 ns are more of the axis than 126 to 128.
        let fine = heights(&Chart::of(&histogram(0, &[(64, 10), (95, 10)]), None, 100));
        assert!(fine[1].height == 1.0 && (fine[0].height - 0.51).abs() < 0.01, "{fine:?}");
        assert!(fine.iter().all(|bar| bar.outline == 0.0));
    }

    #[test]
    fn before_and_after_are_compared_by_their_parts() {
        let before = histogram(0, &[(64, 1_000), (96, 1_000)]);
        let now = histogram(0, &[(64, 1_001), (96, 1_003)]);
        let bars = heights(&Chart::of(&now, Some(&before), 2));
        let both: Vec<(f32, f32)> = bars.iter().map(|bar| (bar.height, bar.outline)).collect();
        let third = 1.0 / 3.0;
        assert!(both[1].0 == 1.0 && (both[0].0 - third).abs() < 1e-6, "{both:?}");
        assert!(both.iter().all(|(_, outline)| (outline - 2.0 * third).abs() < 1e-6), "{both:?}");
    }

    #[test]
    fn all_numbers_can_be_heard() {
        let now = histogram(0, &[(64, 10), (96, 30)]);
        let told = read_out(&Chart::of(&now, None, 60), &coarse(&now, None));
        assert_eq!(
            told,
            "40 calls: p50 130 ns, p90 130 ns, p99 130 ns\n10 calls took 64–128 ns (25.0 %)\n30 calls took 128–256 ns (75.0 %)"
        );
    }
}
