//! A list with any number of rows. It has an f64 scroll position of its own, because egui's f32 offsets lose
//! slow scrolling past some 700,000 rows, where a step of a point no longer changes the number.

use super::scroll_bar::{ScrollBar, WIDTH};
use eframe::egui::{Rect, Ui, pos2, vec2};
use std::ops::Range;

/// A scroll position, in points from the first row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scroll {
    offset: f64,
    /// The row to scroll into view when the list is next shown.
    wanted: Option<usize>,
    /// The position shared with neighbouring lists.
    shared: f64,
    /// The last possible position.
    end: f64,
    /// Height of the visible part when last shown, points.
    height: f64,
    bar: ScrollBar,
}

/// The rows to draw, and their positions.
#[derive(Clone, Debug)]
pub struct ListWindow {
    /// The rows at least partly visible.
    pub rows: Range<usize>,
    /// The area of rows, without the scroll bar.
    pub rect: Rect,
    offset: f64,
    row_height: f32,
}

impl ListWindow {
    /// Returns the position of a row, exact for any row because the difference is computed in f64.
    pub fn row_rect(&self, row: usize) -> Rect {
        let top = row as f64 * f64::from(self.row_height) - self.offset;
        let corner = pos2(self.rect.left(), self.rect.top() + top as f32);
        Rect::from_min_size(corner, vec2(self.rect.width(), self.row_height))
    }
}

impl Scroll {
    /// Scrolls a row into view when the list is next shown, as little as needed.
    pub fn bring_into_view(&mut self, row: usize) {
        self.wanted = Some(row);
    }

    /// Follows rows that moved by `rows` positions, so that they stay in place on screen.
    pub fn shift(&mut self, rows: f64, row_height: f32) {
        self.offset += rows * f64::from(row_height);
    }

    /// Returns whether a row was entirely visible when the list was last shown.
    pub fn shows(&self, row: usize, row_height: f32) -> bool {
        let top = row as f64 * f64::from(row_height);
        top >= self.offset && top + f64::from(row_height) <= self.offset + self.height
    }

    /// Returns whether the first row was almost entirely visible when the list was last shown.
    pub fn is_at_top(&self, row_height: f32) -> bool {
        self.offset < f64::from(row_height) / 2.0
    }

    /// Returns the number of rows that fit.
    pub fn page(&self, row_height: f32) -> usize {
        ((self.height / f64::from(row_height)) as usize).max(1)
    }

    /// Scrolls to the position of neighbouring lists; a shorter list stays at its end.
    pub fn share(&mut self, offset: f64) {
        (self.offset, self.shared) = (offset, offset);
    }

    /// Returns the user's new position since `share`; `None` if unchanged.
    pub fn moved(&self) -> Option<f64> {
        (self.offset != self.shared.min(self.end)).then_some(self.offset)
    }

    /// Returns the position in points from the first row.
    #[cfg(test)]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Lays out `count` rows of `row_height` in the rest of `ui`, handles wheel and scroll bar, and returns
    /// the rows to draw.
    pub fn show(&mut self, ui: &mut Ui, name: &str, count: usize, row_height: f32) -> ListWindow {
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
            rect.set_right(all.right() - WIDTH);
            let bar = Rect::from_min_max(pos2(rect.right(), all.top()), all.max);
            self.offset = self.bar.show(ui, id.with("bar"), bar, (self.offset, self.height, total));
        }
        // If the first row is cut, the last may be, too.
        if self.offset % f64::from(row_height) == 0.0 {
            rect.set_height(whole);
        }
        let rows = visible(self.offset, f64::from(rect.height().max(0.0)), count, row_height);
        ListWindow { rows, rect, offset: self.offset, row_height }
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
}

/// Returns the height of as many whole rows as fit; if none fits, the available height.
fn whole_rows(room: f32, row_height: f32) -> f32 {
    // Rounding must not cost a row.
    let rows = (room / row_height + 0.01).floor();
    if rows < 1.0 { room } else { rows * row_height }
}

/// Returns the rows at least partly within `height` points from `offset`.
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
        // Steps of a tenth of a point: 26,000,000.1 - 26,000,000 is zero in f32.
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
    fn scrolls_a_row_into_view_minimally() {
        let (mut harness, shown) = list(100);
        harness.run();
        shown.borrow_mut().0.bring_into_view(50);
        harness.run();
        let range = shown.borrow().1.clone();
        assert!(range.contains(&50) && range.end == 51, "{range:?}");
        let offset = shown.borrow().0.offset();
        shown.borrow_mut().0.bring_into_view(48);
        harness.run();
        assert_eq!(shown.borrow().0.offset(), offset, "it was visible already");
    }

    #[test]
    fn shrinking_list_is_not_scrolled_past_its_end() {
        let mut scroll = Scroll { offset: 1e6, height: 260.0, ..Scroll::default() };
        scroll.clamp(520.0);
        assert_eq!(scroll.offset(), 260.0);
        scroll.clamp(26.0);
        assert_eq!(scroll.offset(), 0.0);
        assert_eq!(visible(0.0, 260.0, 0, HEIGHT), 0..0);
    }
}
