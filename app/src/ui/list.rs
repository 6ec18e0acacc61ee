//! A list of any number of rows. Its scroll position is an f64 of its own: egui's f32 offsets lose slow scrolling
//! past some 700,000 rows (a step of a point no longer changes the number).

use super::theme::Palette;
use eframe::egui::{self, CornerRadius, Rect, Sense, Ui, pos2, vec2};
use std::ops::Range;

/// Width of the scroll bar, points.
const BAR: f32 = 12.0;
/// Shortest handle of the scroll bar, points.
const SHORTEST: f32 = 28.0;

/// Where a list is scrolled to, in points from its first row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scroll {
    offset: f64,
    /// A row to bring into view when the list is next shown.
    wanted: Option<usize>,
    /// Where it was put to stand as the lists beside it do.
    shared: f64,
    /// The last place that it can be scrolled to.
    end: f64,
    /// Height of the part shown last, points.
    height: f64,
    /// While the handle is dragged: how far below its top it was taken, points.
    grabbed: Option<f32>,
}

/// What is to be drawn: rows and where they stand.
#[derive(Clone, Debug)]
pub struct Window {
    /// The rows at least partly in view.
    pub rows: Range<usize>,
    /// The place for rows, without the scroll bar.
    pub rect: Rect,
    offset: f64,
    row_height: f32,
}

impl Window {
    /// Where a row stands. Exact at any row: the difference is taken in f64.
    pub fn row_rect(&self, row: usize) -> Rect {
        let top = row as f64 * f64::from(self.row_height) - self.offset;
        let corner = pos2(self.rect.left(), self.rect.top() + top as f32);
        Rect::from_min_size(corner, vec2(self.rect.width(), self.row_height))
    }
}

impl Scroll {
    /// Brings a row into view when the list is next shown; as little as needed.
    pub fn bring_into_view(&mut self, row: usize) {
        self.wanted = Some(row);
    }

    /// Follows rows that were moved by so many places, so that they stay where they are on screen.
    pub fn shift(&mut self, rows: f64, row_height: f32) {
        self.offset += rows * f64::from(row_height);
    }

    /// Whether a row was wholly in view when the list was last shown.
    pub fn shows(&self, row: usize, row_height: f32) -> bool {
        let top = row as f64 * f64::from(row_height);
        top >= self.offset && top + f64::from(row_height) <= self.offset + self.height
    }

    /// Whether the first row was in view, all but a little, when the list was last shown.
    pub fn is_at_top(&self, row_height: f32) -> bool {
        self.offset < f64::from(row_height) / 2.0
    }

    /// Rows that fit.
    pub fn page(&self, row_height: f32) -> usize {
        ((self.height / f64::from(row_height)) as usize).max(1)
    }

    /// Scrolls to where the lists beside it are; a shorter one stands at its end meanwhile.
    pub fn share(&mut self, offset: f64) {
        (self.offset, self.shared) = (offset, offset);
    }

    /// Where it was scrolled to since it was put where the lists beside it are; None: it is there.
    pub fn moved(&self) -> Option<f64> {
        (self.offset != self.shared.min(self.end)).then_some(self.offset)
    }

    /// Points from the first row.
    #[cfg(test)]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Lays `count` rows of `row_height` out in the rest of `ui`, takes wheel and scroll bar in, and says what to
    /// draw.
    pub fn show(&mut self, ui: &mut Ui, name: &str, count: usize, row_height: f32) -> Window {
        let all = ui.available_rect_before_wrap();
        let id = ui.scope_id().with(name);
        ui.advance_cursor_after_rect(all);
        let mut rect = all;
        let whole = whole_rows(all.height().max(0.0), row_height);
        self.height = f64::from(whole);
        let total = count as f64 * f64::from(row_height);
        self.clamp(total);
        if ui.rect_contains_pointer(all) {
            self.offset -= f64::from(ui.input(|input| input.smooth_scroll_delta().y));
        }
        if let Some(row) = self.wanted.take() {
            self.reveal(row, row_height);
        }
        self.clamp(total);
        if total > self.height {
            rect.set_right(all.right() - BAR);
            let bar = Rect::from_min_max(pos2(rect.right(), all.top()), all.max);
            self.bar(ui, id.with("bar"), bar, total);
        }
        // Where the first row is cut, the last may be.
        if self.offset % f64::from(row_height) == 0.0 {
            rect.set_height(whole);
        }
        let rows = visible(self.offset, f64::from(rect.height().max(0.0)), count, row_height);
        Window { rows, rect, offset: self.offset, row_height }
    }

    fn reveal(&mut self, row: usize, row_height: f32) {
        let top = row as f64 * f64::from(row_height);
        let bottom = top + f64::from(row_height);
        if top < self.offset {
            self.offset = top;
        } else if bottom > self.offset + self.height {
            self.offset = bottom - self.height;
        }
    }

    fn clamp(&mut self, total: f64) {
        self.end = (total - self.height).max(0.0);
        self.offset = self.offset.clamp(0.0, self.end);
    }

    fn bar(&mut self, ui: &mut Ui, id: egui::Id, bar: Rect, total: f64) {
        let palette = Palette::of(ui);
        let length =
            ((self.height / total) as f32 * bar.height()).clamp(SHORTEST.min(bar.height()), bar.height());
        let (free, hidden) = (f64::from(bar.height() - length), total - self.height);
        let response = ui.interact(bar, id, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ScrollBar, true, "scroll bar"));
        let top = |offset: f64| if hidden > 0.0 { (offset / hidden * free) as f32 } else { 0.0 };
        if let Some(pointer) = response.interact_pointer_pos()
            && free > 0.0
        {
            let under = pointer.y - bar.top();
            let grabbed = *self.grabbed.get_or_insert_with(|| {
                let into = under - top(self.offset);
                // Beside the handle: the handle's middle jumps to the pointer.
                if (0.0..=length).contains(&into) { into } else { length / 2.0 }
            });
            self.offset = f64::from(under - grabbed) / free * hidden;
            self.clamp(total);
        } else {
            self.grabbed = None;
        }
        let handle = Rect::from_min_size(
            pos2(bar.left() + 3.0, bar.top() + top(self.offset)),
            vec2(BAR - 5.0, length),
        );
        let colour = if response.hovered() || response.dragged() { palette.weak } else { palette.groove };
        ui.painter().rect_filled(bar, CornerRadius::ZERO, palette.panel);
        ui.painter().rect_filled(handle, CornerRadius::same(3), colour);
    }
}

/// The height of as many whole rows as fit, so that the last one is not cut; of one that does not fit, what there is.
fn whole_rows(room: f32, row_height: f32) -> f32 {
    // Rounding must not cost a row.
    let rows = (room / row_height + 0.01).floor();
    if rows < 1.0 { room } else { rows * row_height }
}

/// The rows of which at least a part lies within `height` points from `offset`.
fn visible(offset: f64, height: f64, count: usize, row_height: f32) -> Range<usize> {
    let row_height = f64::from(row_height);
    let first = (offset / row_height).floor().max(0.0) as usize;
    let last = ((offset + height) / row_height).ceil().max(0.0) as usize;
    first.min(count)..last.min(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Event, Modifiers, MouseWheelSource, MouseWheelUnit, TouchPhase};
    use egui_kittest::Harness;
    use std::cell::RefCell;
    use std::rc::Rc;

    const ROWS: usize = 1_000_000;
    const HEIGHT: f32 = 26.0;

    type Shown = Rc<RefCell<(Scroll, Range<usize>, f32)>>;

    fn list(rows: usize) -> (Harness<'static>, Shown) {
        let shown: Shown = Rc::default();
        let inner = Rc::clone(&shown);
        let harness = Harness::builder().with_size([300.0, 260.0]).build_ui(move |ui| {
            let (scroll, range, first) = &mut *inner.borrow_mut();
            let window = scroll.show(ui, "list", rows, HEIGHT);
            *range = window.rows.clone();
            *first = window.row_rect(window.rows.start).top() - window.rect.top();
        });
        (harness, shown)
    }

    #[test]
    fn slow_scrolling_is_exact_at_the_end_of_a_million_rows() {
        let (mut harness, shown) = list(ROWS);
        shown.borrow_mut().0.bring_into_view(ROWS - 1);
        harness.run();
        let end = shown.borrow().0.offset();
        assert_eq!(shown.borrow().1.end, ROWS);
        harness.hover_at(pos2(100.0, 100.0));
        harness.run();
        // A tenth of a point at a time: 26,000,000.1 - 26,000,000 is nothing in f32.
        for _ in 0..50 {
            harness.event(Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, 0.1),
                phase: TouchPhase::Move,
                source: MouseWheelSource::Unknown,
                modifiers: Modifiers::NONE,
            });
            harness.run_steps(2);
        }
        harness.run_steps(20);
        let moved = end - shown.borrow().0.offset();
        assert!((moved - 5.0).abs() < 1e-3, "moved by {moved}");
        let first = shown.borrow().2;
        let expected = -(shown.borrow().0.offset() % f64::from(HEIGHT));
        assert!((f64::from(first) - expected).abs() < 1e-3, "{first} is not {expected}");
    }

    #[test]
    fn a_row_is_brought_into_view_as_little_as_needed() {
        let (mut harness, shown) = list(100);
        harness.run();
        shown.borrow_mut().0.bring_into_view(50);
        harness.run();
        let range = shown.borrow().1.clone();
        assert!(range.contains(&50) && range.end == 51, "{range:?}");
        let offset = shown.borrow().0.offset();
        shown.borrow_mut().0.bring_into_view(48);
        harness.run();
        assert_eq!(shown.borrow().0.offset(), offset, "it was in view");
    }

    #[test]
    fn a_list_that_shrinks_is_not_scrolled_past_its_end() {
        let mut scroll = Scroll { offset: 1e6, height: 260.0, ..Scroll::default() };
        scroll.clamp(520.0);
        assert_eq!(scroll.offset(), 260.0);
        scroll.clamp(26.0);
        assert_eq!(scroll.offset(), 0.0);
        assert_eq!(visible(0.0, 260.0, 0, HEIGHT), 0..0);
    }
}
