//! Times of the selected method, and a latency histogram that can be compared with an earlier one.

use super::cells::NumberAge;
use super::detail_lines::number;
use super::sections::Sections;
use crate::commands::UiCommand;
use crate::settings::sections::DetailSection;
use crate::ui::histogram::{self, Histogram, HistogramBar, HistogramLine};
use crate::ui::numbers;
use crate::ui::theme::Palette;
use crate::ui::{capitalized, hint};
use eframe::egui::{Align, Color32, Layout, RichText, TextStyle, Ui, vec2};
use redial_model::connection::{Connection, Status};
use redial_model::histograms::MAX_COPIES;
use redial_model::histograms::chart::{Chart, NAMES, coarse};
use redial_model::histograms::merged_method::MergedHistogram;
use redial_model::live::LiveRow;
use redial_model::number_range::NumberRange;
use redial_model::subject::Subject;
use redial_model::update::Retry;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::times::{TimeColumn, resolution};
use redial_text::words;

/// The histogram's hint outside of bars.
const AREAS: &str = "Distribution of call durations. The area of a bar is its share of all calls.";

/// Width that durations of one call need with their names; usual and least width of numbers about all calls,
/// points.
const SINGLE: f32 = 96.0;
const ALL: f32 = 140.0;
const LEAST: f32 = 126.0;
/// Widest gap between the two columns of numbers, points.
const GAP: f32 = 24.0;
/// Smaller differences are rounding errors, points.
const ROUNDING: f32 = 0.75;

/// Returns the row whose histogram is in view and how many of its calls have ended.
pub fn wanted(connection: &Connection) -> Option<(RowId, u64)> {
    let row = row_looked_at(connection)?;
    row.times.as_deref().filter(|times| times.exits > 0).map(|times| (row.id, times.exits))
}

/// Returns the row of the single method selected in one process, while the agent answers.
pub fn row_looked_at(connection: &Connection) -> Option<&LiveRow> {
    let table = &connection.table;
    let one = connection.session.status == Status::Live && table.selection.len() == 1;
    let targets = one.then(|| table.targets()).filter(|targets| targets.len() == 1)?;
    let method = targets.iter().next().filter(|method| table.merged(*method).is_none())?;
    table.live.of_method(method)
}

/// Shows the times of a method with a row of its own, if it is timed.
pub fn show(ui: &mut Ui, subject: Subject<'_>, row: &LiveRow) {
    let Some(times) = row.shown_times() else {
        let comes = matches!(row.state, CopyState::Asked | CopyState::Live) && row.times_note.is_none();
        if row.wanted >= Level::Time && comes && subject.obstacle().is_none() {
            ui.weak("Its next calls will be timed.");
        }
        return;
    };
    let timed = NumberAge::of(subject.obstacle().is_none() && row.is_timed());
    let histogram = subject.process().and_then(|connection| connection.histograms.of(row.id)?.as_ref().ok());
    both(ui, timed, times, &resolution(histogram.map(|histogram| histogram.tick_fs), subject.timing_cost()));
}

/// Shows the histogram of a method with ended calls.
pub fn spread(
    ui: &mut Ui,
    subject: Subject<'_>,
    row: &LiveRow,
    (name, sections): (&str, Sections<'_>),
    commands: &mut Vec<UiCommand>,
) {
    if row.times.as_deref().is_none_or(|times| times.exits == 0) {
        return;
    }
    let Some(connection) = subject.process() else {
        ui.weak("Select a single process to see its histogram.");
        return;
    };
    match connection.histograms.of(row.id) {
        Some(Ok(now)) if connection.table.live.range() == NumberRange::Total => {
            drawn(ui, (now, connection.histograms.marked(row.id)), (name, sections), commands);
        }
        Some(Ok(now)) if sections.heading(ui, DetailSection::Histogram, "Histogram", commands) => {
            match connection.in_range(row, now) {
                Some(now) if now.times.exits > 0 => merged(ui, &now, name),
                Some(_) if row.shown_times().is_some_and(|times| times.exits > 0) => {
                    drop(
                        ui.weak("No histogram: the calls of this range ended before its beginning was read."),
                    );
                }
                Some(_) => drop(ui.weak("No call has ended in this range.")),
                None if connection.awaits_range(row.id) => drop(ui.weak("Loading the histogram…")),
                None => drop(ui.weak("No histogram of this range: its beginning was not read.")),
            }
        }
        Some(Ok(_)) => {}
        Some(Err(why)) => drop(ui.weak(format!("No histogram to show: {why}."))),
        None if connection.obstacle().is_none() => drop(ui.weak("Loading the histogram…")),
        // Nobody viewed the histogram while the process still answered.
        None => drop(ui.weak(match connection.session.status.retry() {
            Some(Retry::Never) => "No histogram: the process ended before it was loaded.",
            _ => "No histogram yet: the process is out of reach.",
        })),
    }
}

/// Returns why the percentiles of a method's copies are missing.
pub fn missing_percentiles(histogram: &MergedHistogram, copies: u64) -> String {
    if histogram.is_awaited() {
        "Loading the histograms…".to_owned()
    } else if copies > MAX_COPIES as u64 {
        format!("Percentiles cover at most {MAX_COPIES} copies. Switch off “Merge copies” to see one copy.")
    } else {
        "Percentiles need the histograms of all copies. Select one copy to see its own.".to_owned()
    }
}

/// Shows the times of several copies together, with percentiles if their histograms are known, or why they are `missing`.
pub fn sums(
    ui: &mut Ui,
    timed: NumberAge,
    times: Option<&Times>,
    (histogram, missing): (Option<&RowHistogram>, &str),
) {
    if let Some(times) = times {
        let known = histogram.and_then(|histogram| histogram.times.percentiles);
        let times = &Times { percentiles: times.percentiles.or(known), ..*times };
        both(ui, timed, times, &resolution(histogram.map(|histogram| histogram.tick_fs), None));
        if times.exits > 0 && times.percentiles.is_none() {
            ui.label(RichText::new(missing).small().color(Palette::of(ui).weak));
        }
    }
}

/// Shows two columns: durations of one call, and sums over all calls.
fn both(ui: &mut Ui, timed: NumberAge, times: &Times, resolution: &str) {
    let (room, spacing) = (ui.available_width(), ui.spacing().item_spacing.x);
    let gap = (room - SINGLE - ALL).clamp(spacing, GAP);
    let room = room - gap;
    let column = |ui: &mut Ui, columns: &[TimeColumn]| {
        // Compact, so that the histogram below stays visible.
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
        ui.spacing_mut().item_spacing.x = gap;
        for (width, columns) in [(left, single), (room - left, all)] {
            ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::Min), |ui| {
                ui.spacing_mut().item_spacing.x = spacing;
                ui.set_width(width);
                column(ui, columns);
            });
        }
    });
}

/// Shows one number; a count that does not fit is abbreviated.
fn cell(ui: &mut Ui, column: TimeColumn, timed: NumberAge, times: &Times, resolution: &str) {
    let exact = column.cell(times).unwrap_or_else(|| "–".to_owned());
    let wide = |ui: &Ui, text: &str, font| {
        ui.painter().layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
    };
    let label = capitalized(column.name());
    let name = wide(ui, &label, TextStyle::Body.resolve(ui.style()));
    let room = ui.available_width() - name - ui.spacing().item_spacing.x - ROUNDING;
    let finds_room =
        column.is_duration() || wide(ui, &exact, TextStyle::Monospace.resolve(ui.style())) <= room;
    let number_of_calls = column.number(times).filter(|_| !finds_room);
    let is_zero = column == TimeColumn::Exceptions && exact == "0";
    let shown = match is_zero {
        true => "–".to_owned(),
        false => number_of_calls.map_or_else(|| exact.clone(), numbers::short),
    };
    let response = ui.scope(|ui| number(ui, &label, timed, &shown)).response;
    let first = if shown == exact { String::new() } else { format!("{exact}: ") };
    response.on_hover_text(match column.is_percentile() {
        true => format!("{}\n{resolution}", capitalized(column.meaning())),
        false => format!("{first}{}", capitalized(column.meaning())),
    });
}

/// Shows the histogram of several copies together.
pub fn merged(ui: &mut Ui, histogram: &RowHistogram, name: &str) {
    ui.add_space(4.0);
    chart(ui, histogram, None, name);
}

/// Shows a histogram and the buttons that mark it. They stand above it, where a low window shows them.
fn drawn(
    ui: &mut Ui,
    (now, mark): (&RowHistogram, Option<&RowHistogram>),
    (name, sections): (&str, Sections<'_>),
    commands: &mut Vec<UiCommand>,
) {
    ui.add_space(4.0);
    if marks(ui, (now.times.row, mark.is_some()), sections, commands) {
        chart(ui, now, mark, name);
    }
}

fn chart(ui: &mut Ui, now: &RowHistogram, mark: Option<&RowHistogram>, name: &str) {
    let weak = Palette::of(ui).weak;
    let chart = Chart::of(now, mark, histogram::room(ui.available_width()));
    let bars = heights(&chart);
    let named =
        |(name, at): (&'static str, &Option<f64>)| at.map(|at| HistogramLine { at, name: Some(name) });
    let nameless = |at: &Option<f64>| at.map(|at| HistogramLine { at, name: None });
    let lines: Vec<HistogramLine<'_>> = NAMES
        .into_iter()
        .zip(&chart.lines)
        .filter_map(named)
        .chain(chart.lines_before.iter().filter_map(nameless))
        .collect();
    let describe = |bar: Option<usize>| {
        let bar = bar.and_then(|index| chart.bars.get(index)).map(|bar| chart.describe(bar));
        bar.into_iter().chain([read_out(&chart, &coarse(now, mark))]).collect::<Vec<_>>().join("\n")
    };
    let label = format!("Latency histogram of {name}");
    let (response, bar) =
        Histogram { bars: &bars, lines: &lines, label: &label, describe: &describe }.show(ui);
    let bar = bar.and_then(|index| chart.bars.get(index));
    let text = bar.map_or_else(|| AREAS.to_owned(), |bar| chart.describe(bar));
    // A histogram with the keyboard focus shows its hint without the pointer.
    hint::beside(&response, bar.is_some() && !response.hovered(), text);
    let small = |ui: &mut Ui, text: String| {
        ui.label(RichText::new(text).small().color(weak));
    };
    if let Some(before) = chart.summary_before() {
        small(ui, format!("Filled: {}", chart.summary()));
        small(ui, format!("Outline: {before}"));
    }
    if chart.missing > 0 {
        let missing = words::count(chart.missing, "call is", "calls are");
        small(ui, format!("{missing} missing: the agent's memory for times is full"));
    }
}

/// Shows the heading, and the buttons that mark the histogram and clear the mark. Returns whether the section is open.
fn marks(
    ui: &mut Ui,
    (row, marked): (RowId, bool),
    sections: Sections<'_>,
    commands: &mut Vec<UiCommand>,
) -> bool {
    ui.horizontal(|ui| {
        let is_open = sections.toggle(ui, DetailSection::Histogram, "Histogram", commands);
        let hint = "Keeps this histogram as an outline to compare later calls with.";
        if ui.button(if marked { "Mark again" } else { "Mark" }).on_hover_text(hint).clicked() {
            commands.push(UiCommand::MarkHistogram(row));
        }
        let hint = "Shows all calls again.";
        if marked && ui.button("Clear mark").on_hover_text(hint).clicked() {
            commands.push(UiCommand::ClearMark(row));
        }
        is_open
    })
    .inner
}

/// Returns the bars' heights: calls by width on the axis, so that areas are shares of all calls, before and
/// after the mark.
fn heights(chart: &Chart) -> Vec<HistogramBar> {
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
    bars.map(|(bar, [height, outline])| HistogramBar {
        from: bar.from_ns,
        to: bar.to_ns,
        height: part(*height),
        outline: part(*outline),
    })
    .collect()
}

/// Returns the histogram as text: sums and percentiles, then a few lines of bars.
fn read_out(chart: &Chart, coarse: &Chart) -> String {
    let mut lines = vec![chart.summary()];
    lines.extend(chart.summary_before());
    lines.extend(coarse.bars.iter().map(|bar| coarse.describe(bar)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::histogram;

    #[test]
    fn bar_areas_are_shares_of_all_calls() {
        // As many calls in the bar of 64 to 128 ns as in that of 128 to 256 ns: both span an octave.
        let now = histogram(0, &[(64, 10), (95, 20), (96, 30)]);
        let octaves = heights(&Chart::of(&now, None, 2));
        assert_eq!(octaves.iter().map(|bar| bar.height).collect::<Vec<_>>(), [1.0, 1.0]);
        // 64 to 66 ns is a longer stretch of the axis than 126 to 128 ns.
        let fine = heights(&Chart::of(&histogram(0, &[(64, 10), (95, 10)]), None, 100));
        assert!(fine[1].height == 1.0 && (fine[0].height - 0.51).abs() < 0.01, "{fine:?}");
        assert!(fine.iter().all(|bar| bar.outline == 0.0));
    }

    #[test]
    fn before_and_after_are_compared_by_shares() {
        let before = histogram(0, &[(64, 1_000), (96, 1_000)]);
        let now = histogram(0, &[(64, 1_001), (96, 1_003)]);
        let bars = heights(&Chart::of(&now, Some(&before), 2));
        let both: Vec<(f32, f32)> = bars.iter().map(|bar| (bar.height, bar.outline)).collect();
        let third = 1.0 / 3.0;
        assert!(both[1].0 == 1.0 && (both[0].0 - third).abs() < 1e-6, "{both:?}");
        assert!(both.iter().all(|(_, outline)| (outline - 2.0 * third).abs() < 1e-6), "{both:?}");
    }

    #[test]
    fn histogram_text_contains_all_numbers() {
        let now = histogram(0, &[(64, 10), (96, 30)]);
        let histogram = read_out(&Chart::of(&now, None, 60), &coarse(&now, None));
        assert_eq!(
            histogram,
            "40 calls: p50 130 ns, p90 130 ns, p99 130 ns\n10 calls took 64–128 ns (25.0 %)\n\
             30 calls took 128–256 ns (75.0 %)"
        );
    }
}
