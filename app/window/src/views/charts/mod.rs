//! Charts over time of the selected methods: calls, durations and exceptions, on one axis of time.

mod chart;
mod grid;
mod lines;
mod state;

pub use state::{ChartedKey, ChartsState};

use self::chart::Chart;
use self::lines::{colour, segments};
use self::state::Span;
use crate::ui::segmented::{self, Segment};
use crate::ui::theme::{Palette, SMALL, digits};
use eframe::egui::{self, Color32, FontId, Id, Rangef, RichText, Sense, Ui, vec2};
use egui_plot::{AxisHints, Line, LineStyle, Plot, PlotPoints};
use redial_model::charts::{ChartSeries, Charts};
use redial_text::words;

/// Room that a chart needs, points.
const LEAST: f32 = 46.0;
/// Height of the axis of time, points.
const TIME_AXIS: f32 = 18.0;

/// Shows the line above the charts, and what belongs to which line.
pub fn header(ui: &mut Ui, state: &mut ChartsState, charts: &Charts) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let spans = Span::ALL.map(|span| Segment::new(span, span.name()));
        if let Some(span) = segmented::show(ui, "Time shown", &spans, state.follows.then_some(state.span)) {
            (state.span, state.follows) = (span, true);
        }
        let mut follows = state.follows;
        if ui.checkbox(&mut follows, "Follow").on_hover_text("Moves along until you pan or zoom").changed() {
            state.follows = follows;
        }
        ui.separator();
        for ((_, series), index) in charts.charted().zip(0..) {
            let text = RichText::new(legend(series)).size(SMALL);
            let font = FontId::proportional(SMALL);
            let width = ui.painter().layout_no_wrap(text.text().to_owned(), font, Color32::WHITE).size().x;
            // Colour and name stay together, and whole.
            if ui.available_size_before_wrap().x < width + 12.0 + ui.spacing().item_spacing.x {
                ui.end_row();
            }
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
                ui.painter().rect_filled(rect, 2.0, colour(ui, index));
                ui.label(text).on_hover_text("The numbers are those of the last second.");
            });
        }
    });
}

/// Returns a method's name with its latest numbers.
fn legend(series: &ChartSeries) -> String {
    let last = series.samples().next_back();
    let mut text = series.name.clone();
    if let Some(rate) = last.and_then(|sample| sample.rate) {
        text.push_str(&format!("  {}/s", words::rate(rate)));
    }
    if let Some(one) = series.durations().next_back() {
        let [p50, p99] = [one.p50_ns, one.p99_ns].map(|ns| words::duration(ns as u64));
        text.push_str(&format!("  p50 {p50}  p99 {p99}"));
    }
    if let Some(thrown) = last.and_then(|sample| sample.exceptions).filter(|thrown| *thrown > 0.0) {
        text.push_str(&format!("  {} exceptions/s", words::rate(thrown)));
    }
    text
}

/// Shows the charts in the rest of `ui`, as many as fit. `now` is Unix time in milliseconds.
pub fn show(ui: &mut Ui, state: &mut ChartsState, charts: &Charts, now: u64) {
    let room = ui.available_size();
    let shown = (((room.y - TIME_AXIS) / LEAST) as usize).clamp(1, Chart::ALL.len());
    let height = ((room.y - TIME_AXIS) / shown as f32 - 2.0).max(20.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    for (chart, number) in Chart::ALL.into_iter().zip(1..=shown) {
        // The last one has the times of all.
        let is_last = number == shown;
        let height = if is_last { height + TIME_AXIS } else { height };
        one(ui, state, charts, (chart, is_last), now, vec2(room.x, height));
    }
}

fn one(
    ui: &mut Ui,
    state: &mut ChartsState,
    charts: &Charts,
    (chart, shows_times): (Chart, bool),
    now: u64,
    size: egui::Vec2,
) {
    let palette = Palette::of(ui);
    let id = Id::unique("charts");
    let end = now as f64 / 1e3;
    let range = end - state.span.seconds()..=end;
    let (follows, moved) = (state.follows, state.moved);
    let visible = if follows { Some(range.clone()) } else { state.visible.clone() };
    let colours: Vec<egui::Color32> = (0..charts.charted().count()).map(|index| colour(ui, index)).collect();
    let plot = Plot::new(chart.title())
        .width(size.x)
        .height(size.y)
        .link_axis(id, [true, false])
        .link_cursor(id, [true, false])
        .allow_drag([true, false])
        .allow_zoom([true, false])
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .include_y(0.0)
        // Without calls there is still an axis, a microsecond or one call high.
        .include_y(if chart == Chart::Duration { 1_000.0 } else { 1.0 })
        .show_background(false)
        .show_axes([shows_times, true])
        .y_grid_spacer(|input| grid::marks(input.bounds, input.base_step_size))
        .grid_color(palette.line)
        .custom_x_axes(vec![
            AxisHints::new_x()
                .label_spacing(Rangef::new(70.0, 70.1))
                .tick_label_color(palette.weak)
                .tick_label_font(digits(SMALL))
                .formatter(|mark, _| time(mark.value)),
        ])
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label_spacing(Rangef::new(grid::LEAST_STEP - 1.0, grid::LEAST_STEP))
                .tick_label_color(palette.weak)
                .tick_label_font(digits(SMALL))
                .min_thickness(74.0)
                .formatter(move |mark, _| chart.format(mark.value)),
        ])
        .label_formatter(move |position| match position {
            egui_plot::HoverPosition::NearDataPoint { plot_name, position, .. } => {
                Some(format!("{plot_name}\n{}\n{}", chart.format(position.y), time(position.x)))
            }
            egui_plot::HoverPosition::Elsewhere { .. } => None,
        });
    let wheel = ui.input(|input| input.smooth_scroll_delta().y);
    let shown = plot.show(ui, |plot| {
        plot.set_auto_bounds([false, true]);
        if follows || moved.is_none() {
            plot.set_plot_bounds_x(range);
        }
        if plot.response().hovered() && wheel != 0.0 {
            plot.zoom_bounds_around_hovered(vec2((wheel / 200.0).exp(), 1.0));
        }
        for ((_, series), colour) in charts.charted().zip(&colours) {
            for (points, is_dashed) in segments(series, chart, visible.clone()) {
                let style = if is_dashed { LineStyle::dashed_dense() } else { LineStyle::Solid };
                let line = Line::new(series.name.clone(), PlotPoints::new(points));
                plot.line(line.color(*colour).width(1.6).style(style));
            }
        }
        plot.plot_bounds()
    });
    let response = shown.response;
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Image,
            true,
            format!("Chart of {}", chart.title().to_lowercase()),
        )
    });
    if response.double_clicked() {
        state.follows = true;
    } else if response.dragged()
        || response.hovered() && (wheel != 0.0 || ui.input(|input| input.zoom_delta() != 1.0))
    {
        state.follows = false;
    }
    state.moved = Some(());
    state.visible = Some(shown.inner.range_x());
    let place = response.rect.left_top() + vec2(8.0, 3.0);
    let font = egui::FontId::proportional(SMALL);
    ui.painter().text(place, egui::Align2::LEFT_TOP, chart.title(), font, palette.weak);
}

/// Formats Unix seconds as the time of the day.
fn time(seconds: f64) -> String {
    let text = redial_text::traced_calls::time_of_day((seconds.max(0.0) * 1e9) as u64);
    text.split('.').next().unwrap_or(&text).to_owned()
}
