//! The charts' own state.

use redial_model::ids::SubjectId;
use std::ops::RangeInclusive;

/// How much time is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// One minute.
    Minute,
    /// Five minutes.
    #[default]
    FiveMinutes,
    /// An hour.
    Hour,
}

impl Span {
    /// Every span, the shortest first.
    pub const ALL: [Span; 3] = [Span::Minute, Span::FiveMinutes, Span::Hour];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Span::Minute => "1 min",
            Span::FiveMinutes => "5 min",
            Span::Hour => "1 h",
        }
    }

    /// Returns its length.
    pub fn seconds(self) -> f64 {
        match self {
            Span::Minute => 60.0,
            Span::FiveMinutes => 300.0,
            Span::Hour => 3_600.0,
        }
    }
}

/// What decides which rows are charted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartedKey {
    /// The process or the fleet.
    pub subject: Option<SubjectId>,
    /// Edition of the selection.
    pub selection: u64,
    /// Editions of catalogue and rows.
    pub methods: (u64, u64),
}

/// The view's own state.
#[derive(Debug)]
pub struct ChartsState {
    /// How much time is shown while it follows.
    pub span: Span,
    /// Whether the charts move along.
    pub follows: bool,
    /// Whether they were shown before.
    pub(super) moved: Option<()>,
    /// The seconds that are shown, Unix time.
    pub(super) visible: Option<RangeInclusive<f64>>,
}

impl ChartsState {
    /// Returns the seconds that are shown, Unix time.
    #[cfg(test)]
    pub fn visible(&self) -> Option<&RangeInclusive<f64>> {
        self.visible.as_ref()
    }
}

impl Default for ChartsState {
    fn default() -> ChartsState {
        ChartsState { span: Span::default(), follows: true, moved: None, visible: None }
    }
}
