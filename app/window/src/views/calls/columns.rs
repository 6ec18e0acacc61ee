//! The columns of the tree.

use super::state::CallColumn;
use eframe::egui::{Rangef, Rect};
use redial_model::call_history::CallSums;
use redial_text::words;

/// Widths of number columns, points.
const WIDTH: f32 = 84.0;
/// Width of the share of the total, points.
const SHARE: f32 = 92.0;
/// Width of the table below which fewer columns are shown, points.
const NARROW: f32 = 520.0;
/// Widest column of methods: beyond it a row's numbers would stand too far from its name.
const MOST_METHOD: f32 = 760.0;

/// A column with its position.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPlace {
    /// The column.
    pub column: CallColumn,
    /// Its horizontal range.
    pub range: Rangef,
}

/// The positions of all columns.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The method's name.
    pub method: Rangef,
    /// The share of the total, as a bar; absent in a narrow table.
    pub share: Option<Rangef>,
    /// The numbers.
    pub numbers: Vec<ColumnPlace>,
}

impl Columns {
    /// Returns the columns in a table of this width.
    pub fn of(rect: Rect) -> Columns {
        let wide = rect.width() >= NARROW;
        let all = [CallColumn::Total, CallColumn::Own, CallColumn::Calls, CallColumn::Thrown];
        let shown = if wide { &all[..] } else { &all[..2] };
        let used = 20.0 + WIDTH * shown.len() as f32 + if wide { SHARE } else { 0.0 };
        let surplus = (rect.width() - used - MOST_METHOD).max(0.0);
        let mut right = rect.right() - 6.0 - surplus;
        let mut numbers: Vec<ColumnPlace> = shown
            .iter()
            .rev()
            .map(|column| {
                let range = Rangef::new(right - WIDTH, right);
                right -= WIDTH;
                ColumnPlace { column: *column, range }
            })
            .collect();
        numbers.reverse();
        let share = wide.then(|| Rangef::new(right - SHARE, right - 8.0));
        let end = share.map_or(right, |share| share.min - 8.0);
        Columns { method: Rangef::new(rect.left() + 6.0, end.max(rect.left() + 6.0)), share, numbers }
    }
}

/// Returns the name of a column.
pub fn title(column: CallColumn) -> &'static str {
    match column {
        CallColumn::Calls => "calls",
        CallColumn::Total => "total",
        CallColumn::Own => "self",
        CallColumn::Thrown => "exceptions",
    }
}

/// Returns the text of a cell.
pub fn text(column: CallColumn, sums: &CallSums) -> String {
    match column {
        CallColumn::Calls => words::grouped(sums.calls),
        CallColumn::Total => words::duration(sums.total_ns),
        CallColumn::Own => words::duration(sums.self_ns),
        CallColumn::Thrown if sums.thrown == 0 => "–".to_owned(),
        CallColumn::Thrown => words::grouped(sums.thrown),
    }
}
