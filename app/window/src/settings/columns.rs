//! The columns that the user chose for the method table: their order, their widths, and which are hidden.

use redial_model::list::SortKey;
use redial_text::times::TimeColumn;
use serde::{Deserialize, Serialize};

/// The narrowest and the widest column, points.
pub const WIDTHS: std::ops::RangeInclusive<f32> = 40.0..=600.0;

/// A column of the method table beside dial and name, which stay at its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableColumn {
    /// The state of the dial.
    State,
    /// Calls.
    Calls,
    /// Calls per second.
    Rate,
    /// One of the times.
    Time(TimeColumn),
    /// The share of self time, with a bar.
    Share,
    /// The sparkline.
    Spark,
}

impl TableColumn {
    /// All columns, in their initial order.
    pub const ALL: [TableColumn; 13] = [
        TableColumn::State,
        TableColumn::Calls,
        TableColumn::Rate,
        TableColumn::Time(TimeColumn::P50),
        TableColumn::Time(TimeColumn::P90),
        TableColumn::Time(TimeColumn::P99),
        TableColumn::Time(TimeColumn::Max),
        TableColumn::Time(TimeColumn::Total),
        TableColumn::Time(TimeColumn::Own),
        TableColumn::Share,
        TableColumn::Time(TimeColumn::Exceptions),
        TableColumn::Time(TimeColumn::InFlight),
        TableColumn::Spark,
    ];

    /// Returns the name, as in the header and in the settings file.
    pub fn name(self) -> &'static str {
        match self {
            TableColumn::State => "state",
            TableColumn::Calls => "calls",
            TableColumn::Rate => "per second",
            TableColumn::Time(column) => column.name(),
            TableColumn::Share => "share",
            TableColumn::Spark => "last minute",
        }
    }

    /// Returns the number by which the column sorts rows.
    pub fn sort_key(self) -> Option<SortKey> {
        match self {
            TableColumn::State => Some(SortKey::State),
            TableColumn::Calls => Some(SortKey::Calls),
            TableColumn::Rate => Some(SortKey::Rate),
            TableColumn::Time(column) => Some(SortKey::Time(column)),
            TableColumn::Share => Some(SortKey::Time(TimeColumn::Own)),
            TableColumn::Spark => None,
        }
    }

    /// Returns whether it is empty without a timed method.
    pub fn is_timed(self) -> bool {
        matches!(self, TableColumn::Time(_) | TableColumn::Share)
    }

    /// Returns the initial width, points.
    pub fn width(self) -> f32 {
        match self {
            TableColumn::Spark => 96.0,
            TableColumn::State => 108.0,
            TableColumn::Rate | TableColumn::Time(TimeColumn::Exceptions) | TableColumn::Share => 88.0,
            TableColumn::Calls => 104.0,
            TableColumn::Time(_) => 72.0,
        }
    }
}

/// A column as the user wants it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnChoice {
    /// The column.
    pub column: TableColumn,
    /// Its width if the user changed it, points.
    pub width: Option<f32>,
    /// Whether it is hidden.
    pub hidden: bool,
}

/// All columns in the order that the user chose, each once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<SavedColumn>", into = "Vec<SavedColumn>")]
pub struct ColumnLayout(Vec<ColumnChoice>);

/// A column in the settings file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedColumn {
    #[serde(default)]
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<f32>,
    #[serde(default)]
    hidden: bool,
}

impl Default for ColumnLayout {
    fn default() -> ColumnLayout {
        let choice = |column| ColumnChoice { column, width: None, hidden: false };
        ColumnLayout(TableColumn::ALL.map(choice).into())
    }
}

impl ColumnLayout {
    /// Returns the columns in order.
    pub fn columns(&self) -> &[ColumnChoice] {
        &self.0
    }

    /// Returns the choices for a column.
    pub fn get(&self, column: TableColumn) -> ColumnChoice {
        let found = self.0.iter().find(|choice| choice.column == column);
        found.copied().unwrap_or(ColumnChoice { column, width: None, hidden: false })
    }

    /// Returns the column's width, points.
    pub fn width(&self, column: TableColumn) -> f32 {
        self.get(column).width.unwrap_or(column.width())
    }

    /// Returns the layout with another width; `None` restores the initial one.
    #[must_use]
    pub fn with_width(&self, column: TableColumn, width: Option<f32>) -> ColumnLayout {
        let width = width.map(|width| width.clamp(*WIDTHS.start(), *WIDTHS.end()));
        self.with(column, |choice| choice.width = width)
    }

    /// Returns the layout with a column hidden or shown.
    #[must_use]
    pub fn with_hidden(&self, column: TableColumn, hidden: bool) -> ColumnLayout {
        self.with(column, |choice| choice.hidden = hidden)
    }

    /// Returns the layout with a column moved to the place of `other`.
    #[must_use]
    pub fn with_moved(&self, column: TableColumn, other: TableColumn) -> ColumnLayout {
        let mut layout = self.clone();
        let place = |of: TableColumn| self.0.iter().position(|choice| choice.column == of);
        if let (Some(from), Some(to)) = (place(column), place(other)) {
            let moved = layout.0.remove(from);
            layout.0.insert(to, moved);
        }
        layout
    }

    fn with(&self, column: TableColumn, change: impl FnOnce(&mut ColumnChoice)) -> ColumnLayout {
        let mut layout = self.clone();
        if let Some(choice) = layout.0.iter_mut().find(|choice| choice.column == column) {
            change(choice);
        }
        layout
    }
}

impl From<Vec<SavedColumn>> for ColumnLayout {
    /// Ignores unknown columns, and puts missing ones after the column that initially precedes them.
    fn from(saved: Vec<SavedColumn>) -> ColumnLayout {
        let mut columns: Vec<ColumnChoice> = Vec::new();
        for SavedColumn { name, width, hidden } in saved {
            let known = TableColumn::ALL.into_iter().find(|column| column.name() == name);
            if let Some(column) = known.filter(|column| columns.iter().all(|one| one.column != *column)) {
                let width = width.filter(|width| width.is_finite() && WIDTHS.contains(width));
                columns.push(ColumnChoice { column, width, hidden });
            }
        }
        for (place, column) in TableColumn::ALL.into_iter().enumerate() {
            if columns.iter().any(|one| one.column == column) {
                continue;
            }
            let before = place.checked_sub(1).and_then(|before| TableColumn::ALL.get(before));
            let after = before.and_then(|before| columns.iter().position(|one| one.column == *before));
            columns.insert(after.map_or(0, |at| at + 1), ColumnChoice { column, width: None, hidden: false });
        }
        ColumnLayout(columns)
    }
}

impl From<ColumnLayout> for Vec<SavedColumn> {
    fn from(layout: ColumnLayout) -> Vec<SavedColumn> {
        let save = |ColumnChoice { column, width, hidden }| SavedColumn {
            name: column.name().to_owned(),
            width,
            hidden,
        };
        layout.0.into_iter().map(save).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_survives_the_settings_file() {
        let layout = ColumnLayout::default()
            .with_width(TableColumn::Calls, Some(150.0))
            .with_hidden(TableColumn::Spark, true)
            .with_moved(TableColumn::Share, TableColumn::State);
        let text = serde_json::to_string(&layout).expect("text");
        assert_eq!(serde_json::from_str::<ColumnLayout>(&text).expect("a layout"), layout);
        assert_eq!(layout.columns()[0].column, TableColumn::Share);
        assert_eq!(layout.width(TableColumn::Calls), 150.0);
        assert!(layout.get(TableColumn::Spark).hidden);
    }

    #[test]
    fn every_column_is_there_once() {
        let text =
            r#"[{"name": "calls", "width": 1e9}, {"name": "colour"}, {"name": "calls", "hidden": true}]"#;
        let layout: ColumnLayout = serde_json::from_str(text).expect("a layout");
        assert_eq!(layout.columns().len(), TableColumn::ALL.len());
        assert_eq!(layout.get(TableColumn::Calls).width, None, "a senseless width is dropped");
        assert!(!layout.get(TableColumn::Calls).hidden, "the first entry counts");
        let mut known: Vec<&str> = layout.columns().iter().map(|one| one.column.name()).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), TableColumn::ALL.len());
        assert_eq!(layout.columns()[0].column, TableColumn::State);
    }

    #[test]
    fn widths_stay_within_bounds() {
        let layout = ColumnLayout::default();
        assert_eq!(layout.with_width(TableColumn::Calls, Some(-9.0)).width(TableColumn::Calls), 40.0);
        assert_eq!(layout.with_width(TableColumn::Calls, Some(9e9)).width(TableColumn::Calls), 600.0);
        let reset = layout.with_width(TableColumn::Calls, Some(200.0)).with_width(TableColumn::Calls, None);
        assert_eq!(reset, layout);
    }
}
