//! Histogram widget: filled bars on a logarithmic axis of durations, with optional outlined bars and named
//! lines.

use super::numbers::tick;
use super::theme::{Palette, SMALL, digits};
use eframe::egui::{
    self, Align2, EventFilter, FontId, Key, Painter, Rangef, Rect, Response, Sense, Shape, Stroke, Ui,
    WidgetInfo, pos2, vec2,
};

/// Height of the widget, and least height in a low panel, points.
const HEIGHT: f32 = 158.0;
const LOWEST: f32 = 96.0;
/// Height of a line's name above the bars, and of the axis labels below them.
const LINE: f32 = 14.0;
/// Least width of a bar, and least height of one that is not empty.
const LEAST: f32 = 1.5;
/// Largest distance between pointer and bar.
const NEAR: f32 = 4.0;
/// Least distance between two axis labels.
const GAP: f32 = 6.0;
/// How far a label may extend over the axis's end: the padding and a little more.
const OVER: f32 = 6.0;

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramBar {
    /// Its left edge, nanoseconds.
    pub from: f64,
    /// Its right edge.
    pub to: f64,
    /// Its height, at most 1.
    pub height: f32,
    /// The height of the outline, at most 1.
    pub outline: f32,
}

/// A vertical line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramLine<'a> {
    /// Position, nanoseconds.
    pub at: f64,
    /// The label above it; a line without one belongs to the outline.
    pub name: Option<&'a str>,
}

/// The content of a histogram, and its description.
#[derive(Clone, Copy)]
pub struct Histogram<'a> {
    /// In ascending order.
    pub bars: &'a [HistogramBar],
    /// Named ones from left to right.
    pub lines: &'a [HistogramLine<'a>],
    /// The accessible name.
    pub label: &'a str,
    /// The accessible description with all numbers; that of the given bar comes first.
    pub describe: &'a dyn Fn(Option<usize>) -> String,
}

/// Returns the number of bars that fit in this width.
pub fn room(width: f32) -> u32 {
    (width / NEAR).max(1.0) as u32
}

/// Returns the height: the visible part below the rest of the panel, within limits.
fn height(ui: &Ui) -> f32 {
    let above = ui.cursor().top() - ui.min_rect().top();
    (ui.clip_rect().height() - above - GAP).clamp(LOWEST, HEIGHT)
}

impl Histogram<'_> {
    /// Draws it over the available width. Returns the active bar: the one under the pointer or, with the
    /// keyboard focus, the one reached by Left and Right.
    pub fn show(self, ui: &mut Ui) -> (Response, Option<usize>) {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height(ui)), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, self.label));
        let palette = Palette::of(ui);
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 4.0, palette.base);
        if response.has_focus() {
            let stroke = Stroke::new(1.5, palette.accent);
            painter.rect_stroke(rect, 4.0, stroke, egui::StrokeKind::Inside);
        }
        let axis = Axis::of(self.bars, rect.shrink2(vec2(8.0, 0.0)).x_range());
        let hovered = response.hover_pos().zip(axis).and_then(|(at, axis)| axis.bar_at(self.bars, at.x));
        let active = hovered.or_else(|| self.by_keys(ui, &response));
        ui.ctx().accesskit_node_builder(response.id, |node| node.set_value((self.describe)(active)));
        let Some(axis) = axis else { return (response, None) };
        let plot = Rangef::new(rect.top() + 4.0 + 3.0 * LINE, rect.bottom() - LINE - 4.0);
        for (index, bar) in self.bars.iter().enumerate() {
            axis.paint_bar(&painter, plot, bar, active == Some(index), palette);
        }
        axis.paint_outline(&painter, plot, self.bars, palette);
        painter.hline(axis.x, plot.max, Stroke::new(1.0, palette.edge));
        axis.paint_ticks(&painter, plot.max, palette);
        self.paint_lines(&painter, &axis, plot, palette);
        (response, active)
    }

    /// Returns the bar reached by keys while the histogram has the focus.
    fn by_keys(&self, ui: &Ui, response: &Response) -> Option<usize> {
        if !response.has_focus() {
            return None;
        }
        let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        // Remembers its position, because bars come and go.
        let key = response.id.with("active bar");
        let before = ui.data(|data| data.get_temp::<f64>(key));
        let at = before.map(|from| self.bars.partition_point(|bar| bar.from <= from).saturating_sub(1));
        let pressed = |key| ui.input(|input| input.num_presses(key)) as isize;
        let by = pressed(Key::ArrowRight) - pressed(Key::ArrowLeft);
        let last = self.bars.len().checked_sub(1)?;
        let at = match (at, by) {
            (at, 0) => at,
            (Some(at), by) => Some(at.saturating_add_signed(by).min(last)),
            (None, 1..) => Some(0),
            (None, _) => Some(last),
        };
        let from = at.and_then(|at| self.bars.get(at)).map(|bar| bar.from);
        if let Some(from) = from.filter(|_| by != 0) {
            ui.data_mut(|data| data.insert_temp(key, from));
        }
        at
    }

    fn paint_lines(&self, painter: &Painter, axis: &Axis, plot: Rangef, palette: &Palette) {
        let mut names = Vec::new();
        for line in self.lines {
            let x = axis.place(line.at);
            let Some(name) = line.name else {
                let ends = [pos2(x, plot.min), pos2(x, plot.max)];
                let dashes = Shape::dashed_line(&ends, Stroke::new(1.25, palette.text), 4.0, 3.0);
                painter.extend(dashes);
                continue;
            };
            // Each name has its own row, because the lines may be close together.
            let top = plot.min - 3.0 * LINE + names.len() as f32 * LINE;
            painter.vline(x, Rangef::new(top + 2.0, plot.max), Stroke::new(1.0, palette.text));
            let font = FontId::proportional(SMALL);
            let text = painter.layout_no_wrap(name.to_owned(), font, palette.text);
            let fits = x + 3.0 + text.size().x <= axis.x.max;
            let left = if fits { x + 3.0 } else { x - 3.0 - text.size().x };
            names.push((pos2(left, top), text));
        }
        // A name to the left of its line may cover the line of an earlier name, which must not strike it through.
        for (at, text) in names {
            painter.rect_filled(Rect::from_min_size(at, text.size()), 0.0, palette.base);
            painter.galley(at, text, palette.text);
        }
    }
}

/// The axis of durations.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// In points.
    x: Rangef,
    /// Its ends as powers of two of nanoseconds.
    from: f64,
    to: f64,
}

impl Axis {
    /// Returns an axis that contains all bars; `None` without bars.
    fn of(bars: &[HistogramBar], x: Rangef) -> Option<Axis> {
        let (first, last) = (bars.first()?, bars.last()?);
        let (from, to) = (left(first).log2(), last.to.max(left(first)).log2());
        // A single bar must not fill the whole axis.
        let more = (to - from).max(0.5) * 0.04 + (0.5 - (to - from)).max(0.0) / 2.0;
        Some(Axis { x, from: from - more, to: to + more })
    }

    fn place(&self, ns: f64) -> f32 {
        let part = (ns.max(1e-3).log2() - self.from) / (self.to - self.from);
        self.x.min + part.clamp(0.0, 1.0) as f32 * self.x.span()
    }

    /// Returns the horizontal range of a bar, with a minimum width.
    fn across(&self, bar: &HistogramBar) -> Rangef {
        let (from, to) = (self.place(left(bar)), self.place(bar.to));
        let middle = (from + to) / 2.0;
        let half = ((to - from) / 2.0).max(LEAST / 2.0);
        Rangef::new(middle - half, middle + half)
    }

    fn bar_at(&self, bars: &[HistogramBar], x: f32) -> Option<usize> {
        let distance = |bar: &HistogramBar| {
            let across = self.across(bar);
            (across.min - x).max(x - across.max).max(0.0)
        };
        let all = bars.iter().map(distance).enumerate();
        let nearest = all.min_by(|(_, one), (_, other)| one.total_cmp(other));
        nearest.filter(|(_, distance)| *distance <= NEAR).map(|(index, _)| index)
    }

    fn paint_bar(
        &self,
        painter: &Painter,
        plot: Rangef,
        bar: &HistogramBar,
        hovered: bool,
        palette: &Palette,
    ) {
        let across = self.across(bar);
        if hovered {
            let column = Rect::from_x_y_ranges(across.expand(1.0), plot);
            painter.rect_filled(column, 0.0, palette.hover);
        }
        if bar.height > 0.0 {
            let top = plot.max - (bar.height.min(1.0) * plot.span()).max(LEAST);
            let rect = Rect::from_x_y_ranges(across, Rangef::new(top, plot.max));
            painter.rect_filled(rect, 0.0, palette.accent);
        }
    }

    /// Paints the outline over adjacent bars; it goes down to the axis at gaps.
    fn paint_outline(&self, painter: &Painter, plot: Rangef, bars: &[HistogramBar], palette: &Palette) {
        let mut points = Vec::new();
        let mut end = None;
        let stroke = Stroke::new(1.5, palette.text);
        let finish = |points: &mut Vec<_>, end: Option<f32>| {
            if let Some(x) = end {
                points.push(pos2(x, plot.max));
                painter.add(Shape::line(std::mem::take(points), stroke));
            }
        };
        for bar in bars.iter().filter(|bar| bar.outline > 0.0) {
            let across = self.across(bar);
            let top = plot.max - (bar.outline.min(1.0) * plot.span()).max(LEAST);
            if end.is_none_or(|end: f32| across.min - end > 0.5) {
                finish(&mut points, end);
                points.push(pos2(across.min, plot.max));
            }
            points.extend([pos2(across.min, top), pos2(across.max, top)]);
            end = Some(across.max);
        }
        finish(&mut points, end);
    }

    fn paint_ticks(&self, painter: &Painter, y: f32, palette: &Palette) {
        let laid_out = |text: &str| painter.layout_no_wrap(text.to_owned(), digits(SMALL), palette.weak);
        let ticks = ticks(2_f64.powf(self.from), 2_f64.powf(self.to));
        for ns in &ticks {
            painter.vline(self.place(*ns), Rangef::new(y, y + 3.0), Stroke::new(1.0, palette.edge));
        }
        for (middle, text) in self.words(&ticks, |text| laid_out(text).size().x) {
            let text = laid_out(&text);
            let place = Align2::CENTER_TOP.anchor_size(pos2(middle, y + 3.0), text.size());
            painter.galley(place.min, text, palette.weak);
        }
    }

    /// Returns the axis labels with units and the centre of each. If not all fit, only every second tick has
    /// one, or every third, and so on.
    fn words(&self, ticks: &[f64], width: impl Fn(&str) -> f32) -> Vec<(f32, String)> {
        let each: Vec<(f32, f32, String)> = ticks
            .iter()
            .map(|ns| {
                let text = tick(*ns);
                let half = width(&text) / 2.0;
                let room = self.x.expand(OVER - half);
                (self.place(*ns).clamp(room.min, room.max.max(room.min)), half, text)
            })
            .collect();
        let every = |step: usize| each.iter().step_by(step);
        let fit = |step: &usize| {
            let (first, second) = (every(*step), every(*step).skip(1));
            first.zip(second).all(|(one, next)| one.0 + one.1 + GAP <= next.0 - next.1)
        };
        let step = (1..=ticks.len()).find(fit).unwrap_or(1);
        every(step).map(|(middle, _, text)| (*middle, text.clone())).collect()
    }
}

/// Returns where a bar starts on an axis without zero.
fn left(bar: &HistogramBar) -> f64 {
    if bar.from > 0.0 { bar.from } else { bar.to.max(1.0) / 2.0 }
}

/// Returns round durations in a range: powers of ten; if fewer than two, also their double and fivefold; if
/// still fewer, both ends.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let powers = |factors: &[f64]| -> Vec<f64> {
        let all = (0..16).flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        all.filter(|ns| (from..=to).contains(ns)).collect()
    };
    let tens = powers(&[1.0]);
    if tens.len() > 1 {
        return tens;
    }
    let finer = powers(&[1.0, 2.0, 5.0]);
    if finer.len() > 1 { finer } else { vec![from, to] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(from: f64, to: f64) -> HistogramBar {
        HistogramBar { from, to, height: 0.5, outline: 0.0 }
    }

    #[test]
    fn octaves_have_equal_width() {
        let bars = [bar(1e3, 2e3), bar(2e3, 4e3), bar(4e3, 8e3)];
        let axis = Axis::of(&bars, Rangef::new(10.0, 310.0)).expect("there are bars");
        let widths = bars.map(|bar| axis.across(&bar).span());
        assert!(widths.iter().all(|width| (width - widths[0]).abs() < 0.01 && *width > 80.0), "{widths:?}");
        assert_eq!(axis.bar_at(&bars, axis.place(3e3)), Some(1));
        assert!(axis.place(1e3) > 10.0 && axis.place(8e3) < 310.0, "the ends are visible");
        assert!(Axis::of(&[], Rangef::new(0.0, 1.0)).is_none());
    }

    #[test]
    fn bars_at_zero_and_single_bars_are_visible() {
        for bars in [[bar(0.0, 1.0)], [bar(1e6, 1.01e6)], [bar(0.0, 0.0)], [bar(9e12, 9e12)]] {
            let axis = Axis::of(&bars, Rangef::new(0.0, 200.0)).expect("a bar");
            let across = axis.across(&bars[0]);
            assert!(across.min >= 0.0 && across.max <= 200.0 && across.span() >= LEAST, "{across:?}");
            assert_eq!(axis.bar_at(&bars, across.center()), Some(0));
        }
    }

    #[test]
    fn no_bar_far_from_all_bars() {
        let bars = [bar(1e3, 1.1e3), bar(1e6, 1.1e6)];
        let axis = Axis::of(&bars, Rangef::new(0.0, 300.0)).expect("there are bars");
        assert_eq!(axis.bar_at(&bars, axis.place(3e4)), None);
    }

    #[test]
    fn the_axis_has_round_numbers() {
        assert_eq!(ticks(900.0, 2e6), [1e3, 1e4, 1e5, 1e6]);
        assert_eq!(ticks(150.0, 1_500.0), [200.0, 500.0, 1_000.0]);
        assert_eq!(ticks(1_100.0, 1_300.0), [1_100.0, 1_300.0]);
    }

    #[test]
    fn labels_powers_of_ten_that_fit() {
        let words = |to: f64, width: f32| -> Vec<String> {
            let bars = [bar(8.0, 9.0), bar(to / 2.0, to)];
            let axis = Axis::of(&bars, Rangef::new(0.0, width)).expect("there are bars");
            let ticks = ticks(8.0, to);
            let words = axis.words(&ticks, |text| text.chars().count() as f32 * 6.0);
            words.into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(words(2e4, 250.0), ["10 ns", "100 ns", "1 µs", "10 µs"]);
        assert_eq!(words(2e7, 219.0), ["10 ns", "1 µs", "100 µs", "10 ms"]);
        assert_eq!(words(2e7, 130.0), ["10 ns", "10 µs", "10 ms"]);
        assert_eq!(words(2e7, 20.0), ["10 ns"]);
    }
}
